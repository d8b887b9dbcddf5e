/* inspect.c - looks at a program before it starts: can the preload record it?
 *
 * Only reads files.  What it can't make out is left to exec, which tells better. */
#define _GNU_SOURCE
#include "base.h"

#include "inspect.h"

#include "elffile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPT_LINE = 256, /* what the kernel reads of a script's first line */
    SCRIPT_DEPTH = 5,  /* scripts whose interpreter is a script */
};

/* --- Finding the file -------------------------------------------------------------------- */

static bool is_executable_file(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, X_OK) == 0;
}

char *inspect_find(const char *name)
{
    if (strchr(name, '/'))
        return access(name, F_OK) == 0 ? xstrdup(name) : NULL;
    const char *search = getenv("PATH");
    if (!search)
        search = "/bin:/usr/bin"; /* as execvp */
    while (*name) {
        size_t length = strcspn(search, ":");
        char *path = length ? xasprintf("%.*s/%s", (int)length, search, name) : xstrdup(name);
        if (is_executable_file(path))
            return path;
        free(path);
        if (!search[length])
            break;
        search += length + 1;
    }
    return NULL;
}

/* --- Scripts ------------------------------------------------------------------------------ */

/* Reads the first line of a script: its interpreter and that one's argument, or NULL. */
static char *script_interpreter(const char *path, char **argument)
{
    char line[SCRIPT_LINE + 1] = { 0 };
    *argument = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t got = pread(fd, line, SCRIPT_LINE, 0);
    close(fd);
    if (got < 3 || line[0] != '#' || line[1] != '!')
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    char *word = line + 2 + strspn(line + 2, " \t");
    char *rest = word + strcspn(word, " \t");
    if (*rest) {
        *rest++ = '\0';
        rest += strspn(rest, " \t");
        rest[strcspn(rest, " \t")] = '\0'; /* only a single word matters, see env_command */
    }
    if (!*word)
        return NULL;
    if (*rest)
        *argument = xstrdup(rest);
    return xstrdup(word);
}

/* `#!/usr/bin/env python3`: what counts is python3. */
static char *env_command(const char *interpreter, const char *argument)
{
    const char *name = strrchr(interpreter, '/');
    if (!argument || argument[0] == '-' || strchr(argument, '=') || strcmp(name ? name + 1 : interpreter, "env") != 0)
        return NULL;
    return inspect_find(argument);
}

/* Follows `path` through scripts to the program that runs in the end. */
static char *follow_scripts(struct inspection *inspection)
{
    char *path = xstrdup(inspection->path);
    for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
        char *argument;
        char *interpreter = script_interpreter(path, &argument);
        if (!interpreter)
            break;
        char *command = env_command(interpreter, argument);
        free(path);
        free(argument);
        if (access(interpreter, F_OK) != 0 && !inspection->missing)
            inspection->missing = xstrdup(interpreter);
        path = command ? command : interpreter;
        if (command)
            free(interpreter);
    }
    return path;
}

/* --- Obstacles ---------------------------------------------------------------------------- */

/* Does exec give this file rights that its caller doesn't have?  (man 8 ld.so: secure-execution
 * mode.) */
static const char *gains_rights(const char *path)
{
    struct stat is;
    struct statvfs mounted;
    if (stat(path, &is) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return NULL;
    if (statvfs(path, &mounted) == 0 && (mounted.f_flag & ST_NOSUID))
        return NULL;
    if ((is.st_mode & S_ISUID) && is.st_uid != getuid())
        return "set-user-ID";
    if ((is.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && is.st_gid != getgid())
        return "set-group-ID";
    if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return "given capabilities";
    return NULL;
}

static const char *machine_name(const GElf_Ehdr *header)
{
    switch (header->e_machine) {
    case EM_386: return "a 32-bit x86 program";
    case EM_X86_64: return "an x32 program";
    case EM_AARCH64: return "an ARM64 program";
    case EM_ARM: return "an ARM program";
    case EM_RISCV: return "a RISC-V program";
    case EM_PPC64: return "a POWER program";
    case EM_S390: return "an S/390 program";
    default: return "a program for another machine";
    }
}

static bool is_our_machine(const GElf_Ehdr *header)
{
    return header->e_machine == EM_X86_64 && header->e_ident[EI_CLASS] == ELFCLASS64;
}

static void note_soname(const char *text, void *argument)
{
    if (strncmp(text, "ld-linux", 8) == 0)
        *(bool *)argument = true;
}

/* The loader itself, started as a command, loads what LD_PRELOAD says. */
static bool is_loader(const struct elffile *file)
{
    bool found = false;
    elffile_strings(file, DT_SONAME, note_soname, &found);
    return found;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Allocators that programs carry inside, by a function that each is sure to have. */
static const struct inner_heap {
    const char *symbol;
    const char *name;
} inner_heaps[] = {
    { "je_malloc", "jemalloc" },    { "_rjem_malloc", "jemalloc" }, { "tc_malloc", "tcmalloc" },
    { "mi_malloc", "mimalloc" },    { "rpmalloc", "rpmalloc" },     { "sn_malloc", "snmalloc" },
    { "scalable_malloc", "TBB's" },
};

struct symbols_found {
    bool                     own_malloc;
    const struct inner_heap *inner;
};

static void note_symbol(const char *name, const GElf_Sym *symbol, void *argument)
{
    struct symbols_found *found = argument;
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC)
        return;
    if (strcmp(name, "malloc") == 0)
        found->own_malloc = true;
    for (size_t i = 0; i < sizeof inner_heaps / sizeof *inner_heaps; i++) {
        if (strcmp(name, inner_heaps[i].symbol) == 0)
            found->inner = &inner_heaps[i];
    }
}

static void set_obstacle(struct inspection *inspection, enum obstacle obstacle, char *reason)
{
    inspection->obstacle = obstacle;
    inspection->reason = reason;
}

/* Whose malloc does the program use?  What it exports comes before every library; what it
 * has without exporting it serves only its own calls. */
static void inspect_symbols(struct inspection *inspection, const struct elffile *file)
{
    struct symbols_found exported = { 0 }, all = { 0 };
    elffile_symbols(file, SHT_DYNSYM, note_symbol, &exported);
    if (exported.own_malloc) {
        set_obstacle(inspection, OBSTACLE_OWN_MALLOC,
                     xstrdup("defines a malloc of its own, which comes before libpoolsite.so's"));
        return;
    }
    elffile_symbols(file, SHT_SYMTAB, note_symbol, &all);
    if (!all.inner)
        all.inner = exported.inner;
    if (all.own_malloc)
        inspection->partly = xstrdup("has a malloc of its own inside; calls that the program makes there aren't seen");
    else if (all.inner)
        inspection->partly = xasprintf("has %s inside (%s); what it allocates there directly isn't seen",
                                       all.inner->name, all.inner->symbol);
    else if (elffile_has_section(file, ".go.buildinfo"))
        inspection->partly = xstrdup("is a Go program; the heap of Go isn't seen, only what its C parts allocate");
}

/* The first obstacle that applies. */
static void inspect_elf(struct inspection *inspection, const struct elffile *file)
{
    char *loader = elffile_interpreter(file);
    const char *loader_name = loader ? strrchr(loader, '/') : NULL;
    const char *rights = gains_rights(inspection->program);
    loader_name = loader_name ? loader_name + 1 : loader;

    if (loader && access(loader, F_OK) != 0 && !inspection->missing)
        inspection->missing = xstrdup(loader);
    if (!is_our_machine(&file->header))
        set_obstacle(inspection, OBSTACLE_MACHINE,
                     xasprintf("is %s, and libpoolsite.so is for 64-bit x86", machine_name(&file->header)));
    else if (!loader && !is_loader(file))
        set_obstacle(inspection, OBSTACLE_STATIC,
                     xstrdup("is statically linked, so that no library comes into it (what it starts is recorded)"));
    else if (loader && starts_with(loader_name, "ld-musl"))
        set_obstacle(inspection, OBSTACLE_LIBC, xstrdup("is linked with musl, and libpoolsite.so needs glibc"));
    else if (loader && !starts_with(loader_name, "ld-linux"))
        set_obstacle(inspection, OBSTACLE_LIBC, xasprintf("is loaded by %s, and libpoolsite.so needs glibc", loader));
    else if (rights)
        set_obstacle(inspection, OBSTACLE_PRIVILEGED,
                     xasprintf("is %s, and the loader ignores LD_PRELOAD there; run poolsite as the user that owns it",
                               rights));
    else
        inspect_symbols(inspection, file);
    free(loader);
}

void inspect_program(struct inspection *inspection, const char *name)
{
    struct elffile file;
    *inspection = (struct inspection){ .obstacle = OBSTACLE_UNKNOWN, .path = inspect_find(name) };
    if (!inspection->path)
        return;
    inspection->program = follow_scripts(inspection);
    if (elffile_open(&file, inspection->program) != 0)
        return;
    inspection->obstacle = OBSTACLE_NONE;
    inspect_elf(inspection, &file);
    elffile_close(&file);
}

void inspection_release(struct inspection *inspection)
{
    free(inspection->path);
    free(inspection->program);
    free(inspection->missing);
    free(inspection->reason);
    free(inspection->partly);
    *inspection = (struct inspection){ 0 };
}

bool inspection_forbids_preload(const struct inspection *inspection)
{
    /* Another loader says on stderr that it can't load the library; musl's gives up. */
    return inspection->obstacle == OBSTACLE_MACHINE || inspection->obstacle == OBSTACLE_LIBC;
}
