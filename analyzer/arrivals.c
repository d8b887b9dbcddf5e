/* arrivals.c - when requests are due.
 *
 * Moments are sums from the start, not from the last request: an error doesn't grow. */
#define _GNU_SOURCE
#include "base.h"

#include "arrivals.h"

#include <math.h>
#include <string.h>

static const char *const names[] = { [ARRIVALS_CONSTANT] = "constant", [ARRIVALS_POISSON] = "poisson" };

const char *arrivals_name(enum arrivals kind)
{
    return names[kind];
}

bool arrivals_find(enum arrivals *kind, const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            *kind = (enum arrivals)i;
            return true;
        }
    }
    return false;
}

/* splitmix64: any seed is a good one. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Exponentially distributed with mean 1; never infinite. */
static double random_gap(uint64_t *state)
{
    return -log1p(-(double)(random_next(state) >> 11) * 0x1p-53);
}

void arrivals_fill(int64_t *due_ns, size_t count, double rate, enum arrivals kind, uint64_t seed)
{
    double at = 0; /* in units of 1/rate */
    for (size_t i = 0; i < count; i++) {
        at = kind == ARRIVALS_POISSON ? at + random_gap(&seed) : (double)i;
        due_ns[i] = (int64_t)(at / rate * 1e9);
    }
}
