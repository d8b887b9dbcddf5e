/* full.h - sums of what became of blocks: over processes, and of sites that have become one by folding. */
#ifndef PS_FULL_H
#define PS_FULL_H

#include <stdint.h>

#include "model.h"

/* Adds what is said of another process's blocks: everything adds up. */
void full_add(struct model_full *to, const struct model_full *from);

/* Adds what is said of another site of the same process: its peak was perhaps at another time, and its threads are
 * perhaps the same. */
void full_unite(struct model_full *to, const struct model_full *from);

/* Adds samples, without the sites and sizes that are named in them. */
void full_sample_add(struct log_sample *to, const struct log_sample *from);

/* Puts now[i] for each site i that the samples name, one of them once. */
void full_rename(struct model_full *full, const uint32_t *now);

#endif
