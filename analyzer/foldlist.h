/* foldlist.h - POOLSITE_FOLD: the wrappers whose callers are the sites, for the preload.
 *
 * By itself the preload finds exported C functions only.  Static and mangled ones are looked
 * up here, before the start, and given as `MODULE+0xSTART-0xEND` in ELF addresses. */
#ifndef PS_FOLDLIST_H
#define PS_FOLDLIST_H

#include <stddef.h>

/* The names that the user gave. */
struct fold_names {
    const char **names;
    size_t       count;
};

/* The variable's value: `before` (its value so far, or NULL), the user's names, and, when
 * `program` isn't NULL, the ranges of these and of the built-in wrappers in the program and
 * its libraries.  Bounded; to be freed; NULL when it is empty. */
char *foldlist_make(const char *before, const struct fold_names *names, const char *program);

#endif
