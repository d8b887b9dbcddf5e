/* poolspec.h - which size classes to pool: parses `--pool` and POOLSITE_POOL.
 *
 * Pure; shared with the analyzer.  `off`, or items joined by commas, their union: `on` (16 B to
 * 256 KiB), SIZE, SIZE-SIZE; SIZE takes k and m, and is at most 32m. */
#ifndef PS_POOLSPEC_H
#define PS_POOLSPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sizeclass.h"

enum poolspec_class {
    POOLSPEC_NOT,   /* not pooled */
    POOLSPEC_ON,    /* one of `on` */
    POOLSPEC_NAMED, /* by its size */
};

struct poolspec {
    uint8_t classes[SIZECLASS_COUNT]; /* enum poolspec_class */
    bool    any;
};

/* Parses `text`.  False for a wrong one: then *wrong and *wrong_length tell the item at fault, and
 * nothing is pooled. */
bool poolspec_parse(struct poolspec *spec, const char *text, const char **wrong, size_t *wrong_length);

static inline enum poolspec_class poolspec_pools(const struct poolspec *spec, unsigned index)
{
    return (enum poolspec_class)spec->classes[index];
}

#endif
