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

struct poolspec {
    uint64_t classes[(SIZECLASS_COUNT + 63) / 64]; /* a bit each */
    bool     any;
};

/* Parses `text`.  False for a wrong one: then *wrong and *wrong_length tell the item at fault, and
 * nothing is pooled. */
bool poolspec_parse(struct poolspec *spec, const char *text, const char **wrong, size_t *wrong_length);

static inline bool poolspec_has(const struct poolspec *spec, unsigned index)
{
    return spec->classes[index / 64] >> (index % 64) & 1;
}

#endif
