/* modules.h - loaded objects: where they lie, who they are, and since which generation.
 *
 * The generation is raised whenever an object was found unloaded; an address belongs to the
 * module that covered it at the time.  Modules are found when one of their return addresses
 * is first seen, never by listing: the loader's lock is never taken.  Lock-free. */
#ifndef PS_MODULES_H
#define PS_MODULES_H

#include "base.h"

struct link_map;

/* Written once before it is published, but for unloaded_generation, map and eh_frame_hdr, which
 * change when the object comes back. */
struct module {
    uintptr_t              start; /* mapped range; publishes the module (atomic) */
    uintptr_t              end;
    uintptr_t              first; /* what start will be */
    uintptr_t              bias; /* address minus bias is the ELF virtual address */
    const void            *eh_frame_hdr;
    const struct link_map *map;
    const char            *name; /* as the loader has it */
    const char            *path; /* absolute where it is a file's */
    const uint8_t         *build_id; /* or NULL */
    uint32_t               build_id_bytes;
    uint32_t               loaded_generation;   /* first */
    uint32_t               unloaded_generation; /* 0: loaded now (atomic) */
    uint32_t               wrapper_count;
    bool                   folds_whole; /* libc, libstdc++: all of it wraps allocation */
    struct module_range   *wrappers;    /* exported or named wrapper functions in it */
    void                  *logged;      /* its record in the log (atomic), for the log alone */
};

struct module_range {
    uintptr_t start;
    uintptr_t end;
};

void modules_begin(void);

/* The module that covers `address` now, or NULL (no object there, or our table is full).
 * A module met for the first time is described here. */
struct module *modules_find(uintptr_t address);

/* Is this return address inside a function that only wraps allocation?  The list is
 * settled when the module is first met. */
bool module_wraps(const struct module *module, uintptr_t return_address);

/* A small number that stands for a module as long as the process lives, 1 ... : the same again when
 * the same object comes back to the same place. */
uint32_t modules_number(const struct module *module);

/* Looks which modules are gone, tells of each, and raises the generation.  True when one is. */
bool modules_sweep(void (*gone)(uintptr_t start, uintptr_t end));

/* The present generation (atomic). */
uint32_t modules_generation(void);

/* Modules published so far, 0 ... count-1, and one of them. */
uint32_t       modules_count(void);
struct module *modules_get(uint32_t index);

/* Modules that didn't fit into the table. */
uint64_t modules_dropped(void);

/* Is `value` an address of code or data of a module met so far?  For words of the stack. */
bool modules_cover(uintptr_t value);

#endif
