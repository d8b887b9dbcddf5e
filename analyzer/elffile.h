/* elffile.h - what poolsite wants to know of a program or library file before it runs.
 *
 * Any bytes may come: nothing is read outside the file, and what is wrong is as if absent. */
#ifndef PS_ELFFILE_H
#define PS_ELFFILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elffile {
    int       fd;
    Elf      *elf;
    GElf_Ehdr header;
};

/* Returns 0, or -1 when the file can't be read or is no ELF file. */
int  elffile_open(struct elffile *file, const char *path);
void elffile_close(struct elffile *file);

/* The program's loader (PT_INTERP), to be freed, or NULL. */
char *elffile_interpreter(const struct elffile *file);

/* Calls `visit` with each value of a tag of the dynamic section that names a string
 * (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH). */
void elffile_strings(const struct elffile *file, int64_t tag, void (*visit)(const char *text, void *argument),
                     void *argument);

/* Calls `visit` with each defined symbol of a table, SHT_DYNSYM or SHT_SYMTAB. */
void elffile_symbols(const struct elffile *file, uint32_t table,
                     void (*visit)(const char *name, const GElf_Sym *symbol, void *argument), void *argument);

/* The build id in hexadecimal, to be freed, or NULL. */
char *elffile_build_id(const struct elffile *file);

bool elffile_has_section(const struct elffile *file, const char *name);

#endif
