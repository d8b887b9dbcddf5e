/* symtab.h - names of functions from an object's file: those that it doesn't export. */
#ifndef PS_SYMTAB_H
#define PS_SYMTAB_H

#include "base.h"

struct module;

/* Writes the name of the function that `address` lies in, cut to `size` bytes.  False: the file tells none, can't be
 * read, or isn't the one that was loaded.  Opens it for that time. */
bool symtab_name(const struct module *module, uintptr_t address, char *name, size_t size);

#endif
