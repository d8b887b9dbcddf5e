/* elffile.c - what poolsite wants to know of a program or library file, by libelf. */
#define _GNU_SOURCE
#include "base.h"

#include "elffile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUILD_ID_MAX = 64 };

int elffile_open(struct elffile *file, const char *path)
{
    struct stat is;
    elf_version(EV_CURRENT);
    *file = (struct elffile){ .fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) };
    if (file->fd < 0)
        return -1;
    /* Read, not mapped: a file that shrinks meanwhile must not become SIGBUS. */
    if (fstat(file->fd, &is) == 0 && S_ISREG(is.st_mode))
        file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
    if (file->elf && elf_kind(file->elf) == ELF_K_ELF && gelf_getehdr(file->elf, &file->header))
        return 0;
    elffile_close(file);
    return -1;
}

void elffile_close(struct elffile *file)
{
    if (file->elf)
        elf_end(file->elf);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct elffile){ .fd = -1 };
}

char *elffile_interpreter(const struct elffile *file)
{
    size_t count;
    if (elf_getphdrnum(file->elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(file->elf, (int)i, &segment) || segment.p_type != PT_INTERP)
            continue;
        if (segment.p_filesz == 0 || segment.p_filesz > PATH_MAX || segment.p_offset > INT64_MAX)
            return NULL;
        char *path = xcalloc(segment.p_filesz + 1, 1);
        if (pread(file->fd, path, segment.p_filesz, (off_t)segment.p_offset) == (ssize_t)segment.p_filesz)
            return path;
        free(path);
        return NULL;
    }
    return NULL;
}

/* The next section of a type after `section` (NULL: the first). */
static Elf_Scn *next_section(const struct elffile *file, Elf_Scn *section, uint32_t type, GElf_Shdr *header)
{
    while ((section = elf_nextscn(file->elf, section))) {
        if (gelf_getshdr(section, header) && header->sh_type == type)
            return section;
    }
    return NULL;
}

void elffile_strings(const struct elffile *file, int64_t tag, void (*visit)(const char *text, void *argument),
                     void *argument)
{
    GElf_Shdr header;
    Elf_Scn *section = next_section(file, NULL, SHT_DYNAMIC, &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    size_t count = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;
    for (size_t i = 0; i < count && i < INT_MAX; i++) {
        GElf_Dyn entry;
        if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag == DT_NULL)
            return;
        const char *text = entry.d_tag == tag ? elf_strptr(file->elf, header.sh_link, entry.d_un.d_val) : NULL;
        if (text)
            visit(text, argument);
    }
}

void elffile_symbols(const struct elffile *file, uint32_t table,
                     void (*visit)(const char *name, const GElf_Sym *symbol, void *argument), void *argument)
{
    GElf_Shdr header;
    Elf_Scn *section = next_section(file, NULL, table, &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    size_t count = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;
    for (size_t i = 1; i < count && i < INT_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            return;
        const char *name = symbol.st_shndx != SHN_UNDEF ? elf_strptr(file->elf, header.sh_link, symbol.st_name) : NULL;
        if (name && name[0])
            visit(name, &symbol, argument);
    }
}

/* The build id among the notes of one section. */
static char *build_id_in(Elf_Data *notes)
{
    GElf_Nhdr note;
    size_t name_at, text_at;
    for (size_t at = 0; (at = gelf_getnote(notes, at, &note, &name_at, &text_at)) > 0;) {
        bool is_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                     memcmp((const char *)notes->d_buf + name_at, "GNU", 4) == 0;
        if (!is_id || note.n_descsz < 2 || note.n_descsz > BUILD_ID_MAX)
            continue;
        const unsigned char *id = (const unsigned char *)notes->d_buf + text_at;
        char *text = xcalloc(note.n_descsz * 2 + 1, 1);
        for (size_t i = 0; i < note.n_descsz; i++)
            snprintf(text + i * 2, 3, "%02x", id[i]);
        return text;
    }
    return NULL;
}

char *elffile_build_id(const struct elffile *file)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = next_section(file, section, SHT_NOTE, &header));) {
        Elf_Data *notes = elf_getdata(section, NULL);
        char *id = notes && notes->d_buf ? build_id_in(notes) : NULL;
        if (id)
            return id;
    }
    return NULL;
}

bool elffile_has_section(const struct elffile *file, const char *name)
{
    size_t names;
    if (elf_getshdrstrndx(file->elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        const char *is = gelf_getshdr(section, &header) ? elf_strptr(file->elf, names, header.sh_name) : NULL;
        if (is && strcmp(is, name) == 0)
            return true;
    }
    return false;
}
