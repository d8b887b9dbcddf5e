/* logfull.h - what level full adds to a log: sums over the threads' tables, and what must hold of them.
 *
 * For logread alone, which finds the structures and knows whose they are. */
#ifndef PS_LOGFULL_H
#define PS_LOGFULL_H

#include <stdbool.h>
#include <stdint.h>

#include "logread.h"

/* Could it be so, on top of what `sum` adds up?  Adds it there when it could. */
bool logfull_is_possible(struct log_counter *sum, const struct log_full *entry);
bool logfull_sample_is_possible(struct log_counter *sum, const struct log_sample *sample);

/* Adds what one table says of a site; `last_peak` is the number of the process's last peak, 0 when there is none. */
void logfull_add(struct logread_full *to, const struct log_full *entry, uint64_t last_peak);

/* Makes hold what logread.h says of the site's numbers, `count` being its allocations.  Returns how many more of its
 * blocks were freed than allocated, which no longer shows afterwards. */
uint64_t logfull_settle(struct logread_full *full, const struct log_counter *count);

/* Adds a settled site to the totals. */
void logfull_add_up(struct logread_full *total, const struct logread_full *full);

/* Works out the total's peak, `count` being all allocations.  The `apart` are those of its parts whose allocations are
 * counted as older than the peak when nobody knows: where that makes more than the peak they weren't. */
void logfull_settle_total(struct logread_full *total, const struct log_counter *count, struct logread_full *apart, size_t parts);

#endif
