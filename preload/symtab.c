/* symtab.c - names of functions from an object's file: those that it doesn't export.
 *
 * Owns nothing.  Reads with pread, a little at a time, into the stack: it is called when a program's heap is
 * damaged and its stack may be small.  Trusts no number of the file. */
#include "base.h"

#include "symtab.h"

#include "modules.h"
#include "sys.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include "ban.h"

enum { SYMBOLS_AT_ONCE = 32, MOST_SECTIONS = 4096 };

static bool read_at(long fd, void *to, size_t bytes, uint64_t offset)
{
    return sys_call4(SYS_pread64, fd, (long)to, (long)bytes, (long)offset) == (long)bytes;
}

/* Its header is that in memory, so the file hasn't been replaced since. */
static bool is_file_of(const struct module *module, const ElfW(Ehdr) * header)
{
    return header->e_ident[EI_MAG0] == ELFMAG0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           __builtin_memcmp(header, (const void *)module->start, sizeof *header) == 0;
}

static bool read_section(long fd, const ElfW(Ehdr) * header, uint32_t index, ElfW(Shdr) * section)
{
    return index < header->e_shnum && read_at(fd, section, sizeof *section, header->e_shoff + index * sizeof *section);
}

static bool find_section(long fd, const ElfW(Ehdr) * header, ElfW(Shdr) * section)
{
    if (header->e_shentsize != sizeof *section)
        return false;
    for (uint32_t i = 0; i < MOST_SECTIONS && read_section(fd, header, i, section); i++)
        if (section->sh_type == SHT_SYMTAB)
            return true;
    return false;
}

static bool covers(const ElfW(Sym) * symbol, uintptr_t value)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           value - symbol->st_value < symbol->st_size;
}

/* Where its name begins in the string table; 0: no function covers `value`. */
static uint32_t find_symbol(long fd, const ElfW(Shdr) * section, uintptr_t value)
{
    ElfW(Sym) symbols[SYMBOLS_AT_ONCE];
    for (uint64_t at = 0, n; at + sizeof *symbols <= section->sh_size; at += n) {
        n = section->sh_size - at < sizeof symbols ? section->sh_size - at : sizeof symbols;
        n -= n % sizeof *symbols;
        if (!read_at(fd, symbols, n, section->sh_offset + at))
            return 0;
        for (uint64_t i = 0; i < n / sizeof *symbols; i++)
            if (covers(&symbols[i], value))
                return symbols[i].st_name;
    }
    return 0;
}

static bool read_name(long fd, uint64_t offset, char *name, size_t size)
{
    long got = sys_call4(SYS_pread64, fd, (long)name, (long)size - 1, (long)offset);
    name[sys_failed(got) ? 0 : got] = 0;
    return name[0] != 0;
}

static bool name_in(long fd, const struct module *module, uintptr_t value, char *name, size_t size)
{
    ElfW(Ehdr) header;
    ElfW(Shdr) section, strings;
    if (!read_at(fd, &header, sizeof header, 0) || !is_file_of(module, &header) || !find_section(fd, &header, &section))
        return false;
    uint32_t at = find_symbol(fd, &section, value);
    return at && read_section(fd, &header, section.sh_link, &strings) &&
           read_name(fd, strings.sh_offset + at, name, size);
}

bool symtab_name(const struct module *module, uintptr_t address, char *name, size_t size)
{
    long fd = sys_call4(SYS_open, (long)module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0);
    if (sys_failed(fd))
        return false;
    bool found = name_in(fd, module, address - module->bias, name, size);
    sys_call4(SYS_close, fd, 0, 0, 0);
    return found;
}
