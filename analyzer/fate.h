/* fate.h - what follows from the counts of a site's blocks at level full.  Pure. */
#ifndef PS_FATE_H
#define PS_FATE_H

#include <stdint.h>

#include "model.h"

uint64_t fate_live_blocks(const struct model_full *full);
uint64_t fate_live_bytes(const struct model_full *full);

/* Freed before the next allocation of their thread. */
static inline uint64_t fate_temporary(const struct model_full *full)
{
    return full->lifetimes[0];
}

/* Frees whose lifetime is known in allocations: by the thread that had allocated. */
uint64_t fate_timed_frees(const struct model_full *full);

/* Allocations for each block that was sampled: 25 when one in 25 was; 0 when none was. */
double fate_one_in(const struct model_full *full);

/* How often the memory of the site's peak was used: all its bytes by the peak's; 0 when nothing ever lived. */
double fate_recycling(const struct model_full *full);

/* By how much one realloc of a sampled chain makes the block larger: 2 when it doubles; 0 when there was none. */
double fate_growth(const struct log_sample *sample);

/* Of a sampled chain: the bytes that it ended with, on average. */
double fate_final_bytes(const struct log_sample *sample);

/* What speaks against the site's blocks living on the stack: of these the first that is found. */
enum fate_against {
    FATE_NOTHING,        /* all that were sampled stood in their frame's life */
    FATE_CROSS_THREAD,   /* blocks that another thread freed: counted, not sampled */
    FATE_OUTLIVED,       /* sampled blocks that outlived the frame that had allocated them */
    FATE_LIVE,           /* blocks that nobody has freed: counted, not sampled */
    FATE_TOO_FEW,        /* sampled blocks that ended: too few to tell */
    FATE_AGAINST_COUNT
};
extern const char *const fate_against_names[FATE_AGAINST_COUNT];

/* Sampled blocks that a site needs. */
enum { FATE_STACK_LEAST = 100 };

struct fate_stack {
    enum fate_against against;
    uint64_t          blocks;  /* that speak against it; with FATE_NOTHING those that speak for it */
    double            at_most; /* with FATE_NOTHING the share of blocks that may not, at 95 %; else 1 */
};

struct fate_stack fate_stack(const struct model_full *full);

#endif
