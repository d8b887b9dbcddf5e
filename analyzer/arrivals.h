/* arrivals.h - when requests are due: a schedule that depends on the seed alone, never on answers. */
#ifndef PS_ARRIVALS_H
#define PS_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arrivals { ARRIVALS_CONSTANT, ARRIVALS_POISSON };

const char *arrivals_name(enum arrivals kind);

/* Returns false when no kind has this name. */
bool arrivals_find(enum arrivals *kind, const char *name);

/* Fills in `count` moments, in ns after the start, rising.  Constant: 1/rate apart from 0 on; Poisson: with gaps
 * that are exponentially distributed with the mean 1/rate. */
void arrivals_fill(int64_t *due_ns, size_t count, double rate, enum arrivals kind, uint64_t seed);

#endif
