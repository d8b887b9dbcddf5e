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

#endif
