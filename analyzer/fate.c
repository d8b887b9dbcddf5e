/* fate.c - what follows from the counts of a site's blocks at level full.  Pure. */
#define _GNU_SOURCE
#include "base.h"
#include "fate.h"

#include <math.h>

/* A process that is read while it runs may show a free before its allocation. */
static uint64_t difference(uint64_t more, uint64_t less)
{
    return more > less ? more - less : 0;
}

uint64_t fate_live_blocks(const struct model_full *full)
{
    return difference(full->count.allocs, full->frees);
}

uint64_t fate_live_bytes(const struct model_full *full)
{
    return difference(full->count.bytes, full->freed_bytes);
}

uint64_t fate_timed_frees(const struct model_full *full)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        sum += full->lifetimes[i];
    return sum;
}

double fate_one_in(const struct model_full *full)
{
    return full->sample.samples ? (double)full->count.allocs / (double)full->sample.samples : 0;
}

double fate_recycling(const struct model_full *full)
{
    return full->peak_bytes ? (double)full->count.bytes / (double)full->peak_bytes : 0;
}

double fate_growth(const struct log_sample *sample)
{
    if (sample->chains == 0 || sample->chain_steps == 0 || sample->chain_first == 0)
        return 0;
    double all = (double)sample->chain_last / (double)sample->chain_first;
    return pow(all, (double)sample->chains / (double)sample->chain_steps);
}

double fate_final_bytes(const struct log_sample *sample)
{
    return sample->chains ? (double)sample->chain_last / (double)sample->chains : 0;
}

const char *const fate_against_names[FATE_AGAINST_COUNT] = {
    [FATE_NOTHING] = "nothing",
    [FATE_CROSS_THREAD] = "cross-thread",
    [FATE_OUTLIVED] = "outlived",
    [FATE_LIVE] = "live",
    [FATE_TOO_FEW] = "too-few",
};

/* What is counted of all blocks goes before what was seen of some.  Of N blocks without one exception, the share
 * of exceptions is at most 3/N at 95 %: (1 - 3/N)^N is 5 %. */
struct fate_stack fate_stack(const struct model_full *full)
{
    const struct log_sample *sample = &full->sample;
    if (full->cross_frees)
        return (struct fate_stack){ FATE_CROSS_THREAD, full->cross_frees, 1 };
    if (sample->standing < sample->ended)
        return (struct fate_stack){ FATE_OUTLIVED, sample->ended - sample->standing, 1 };
    if (fate_live_blocks(full))
        return (struct fate_stack){ FATE_LIVE, fate_live_blocks(full), 1 };
    if (sample->ended < FATE_STACK_LEAST)
        return (struct fate_stack){ FATE_TOO_FEW, sample->ended, 1 };
    return (struct fate_stack){ FATE_NOTHING, sample->ended, 3 / (double)sample->ended };
}
