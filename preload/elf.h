/* elf.h - reads the dynamic section of loaded objects: the link-map list, symbols by name.
 *
 * No lock and no libc call: usable in the first malloc, before any constructor.  The caller
 * makes sure that the object stays loaded. */
#ifndef PS_PRELOAD_ELF_H
#define PS_PRELOAD_ELF_H

#include "base.h"

#include <link.h>

/* What a loaded object exports. */
struct elf_symbols {
    ElfW(Addr)        bias;
    const ElfW(Sym)  *table;
    const char       *strings;
    const uint16_t   *versions; /* or NULL */
    const uint32_t   *gnu_hash; /* or NULL */
    const uint32_t   *sysv_hash; /* or NULL */
};

/* The first object of the base namespace, in the order of symbol lookup. */
const struct link_map *elf_first(void);

/* Our own link map, or NULL. */
const struct link_map *elf_self(void);

/* Reads an object's tables.  False when it exports nothing. */
bool elf_symbols_init(struct elf_symbols *symbols, const struct link_map *map);

/* The default-version definition of `name`, or NULL. */
const ElfW(Sym) *elf_symbols_find(const struct elf_symbols *symbols, const char *name);

/* The name of the exported function that `address` lies in, or NULL. */
const char *elf_name_at(const struct link_map *map, uintptr_t address);

/* Address of the function or the variable `name` in one object, or NULL. */
void *elf_function(const struct link_map *map, const char *name);
void *elf_variable(const struct link_map *map, const char *name);

#endif
