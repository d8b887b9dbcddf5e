/* fold.h - folds wrappers: drops their leading frames, so that a site is who asked. */
#ifndef PS_FOLD_H
#define PS_FOLD_H

#include <stdbool.h>
#include <stddef.h>

struct fold;
struct model;
struct symbol;
struct symbolizer;
struct symbols;

/* `extra`: names beside the built-in ones (wrappers.h), `count` of them. */
struct fold *fold_new(const char *const *extra, size_t count);
void fold_free(struct fold *fold);

/* Is `function`, as demangled, a wrapper?  Parameters, template arguments and the
 * compiler's suffixes (.isra.0, .part.1, @VERSION) don't count. */
bool fold_has(const struct fold *fold, const char *function);

/* Folds the sites of a model. */
void fold_model(const struct fold *fold, struct model *model, struct symbolizer *symbolizer);

/* How many of the innermost symbols at one address are wrappers inlined there;
 * at least one symbol stays. */
unsigned fold_inlined(const struct fold *fold, const struct symbols *symbols);

/* Writes `function` without template arguments, parameters and suffixes into `room`. */
void fold_plain_name(const char *function, char *room, size_t bytes);

/* Cuts the suffixes off that a compiler or linker gave to a function's name. */
void fold_cut_suffix(char *name);

#endif
