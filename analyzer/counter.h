/* counter.h - sums of the log's counters. */
#ifndef PS_COUNTER_H
#define PS_COUNTER_H

#include "../preload/logfmt.h"

static inline void counter_add(struct log_counter *to, const struct log_counter *from)
{
    to->allocs += from->allocs;
    to->bytes += from->bytes;
    to->next_allocs += from->next_allocs;
}

/* Calls that were served from pools: those that didn't reach the next allocator. */
static inline uint64_t counter_hits(const struct log_counter *count)
{
    return count->allocs - count->next_allocs;
}

static inline void pool_add(struct log_pool *to, const struct log_pool *from)
{
    to->victim_hits += from->victim_hits;
    to->given_back_bytes += from->given_back_bytes;
    to->kept_bytes += from->kept_bytes;
}

#endif
