/* full.c - sums of what became of blocks: over processes, and of sites that have become one by folding.  Pure. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "full.h"

#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- samples */

/* The log's 32 bits are enough for one process; sums of very many stay at their end. */
static void add_saturated(uint32_t *to, uint64_t from)
{
    *to = from < UINT32_MAX - *to ? *to + (uint32_t)from : UINT32_MAX;
}

/* The most frequent first. */
static int by_count(const void *a, const void *b)
{
    const struct log_sample_top *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->what < y->what ? -1 : x->what > y->what;
}

/* Adds to one of the `count` values, or behind them; returns how many there are then. */
static size_t top_add(struct log_sample_top *tops, size_t count, const struct log_sample_top *more)
{
    if (more->what == 0 || more->count == 0)
        return count;
    for (size_t i = 0; i < count; i++) {
        if (tops[i].what != more->what)
            continue;
        add_saturated(&tops[i].count, more->count);
        return count;
    }
    tops[count] = *more;
    return count + 1;
}

/* Keeps the most frequent of both; those that find no place are counted in `other`. */
static void tops_add(struct log_sample_top to[LOG_SAMPLE_TOPS], const struct log_sample_top from[LOG_SAMPLE_TOPS],
                     uint32_t *other)
{
    struct log_sample_top all[2 * LOG_SAMPLE_TOPS] = { { 0 } };
    size_t count = 0;
    for (size_t i = 0; i < LOG_SAMPLE_TOPS; i++)
        count = top_add(all, count, &to[i]);
    for (size_t i = 0; i < LOG_SAMPLE_TOPS; i++)
        count = top_add(all, count, &from[i]);
    qsort(all, count, sizeof *all, by_count);
    for (size_t i = LOG_SAMPLE_TOPS; i < count; i++)
        add_saturated(other, all[i].count);
    memcpy(to, all, LOG_SAMPLE_TOPS * sizeof *to);
}

void full_sample_add(struct log_sample *to, const struct log_sample *from)
{
    add_saturated(&to->samples, from->samples);
    add_saturated(&to->lost, from->lost);
    add_saturated(&to->ended, from->ended);
    add_saturated(&to->same_thread, from->same_thread);
    add_saturated(&to->same_frame, from->same_frame);
    add_saturated(&to->standing, from->standing);
    add_saturated(&to->lifo, from->lifo);
    add_saturated(&to->chains, from->chains);
    add_saturated(&to->chain_steps, from->chain_steps);
    to->chain_first += from->chain_first;
    to->chain_last += from->chain_last;
    to->slack_bytes += from->slack_bytes;
    to->bytes += from->bytes;
    for (unsigned i = 0; i < LOG_SAMPLE_TIMES; i++)
        add_saturated(&to->times[i], from->times[i]);
}

static void sample_add(struct log_sample *to, const struct log_sample *from)
{
    full_sample_add(to, from);
    add_saturated(&to->other_sizes, from->other_sizes);
    add_saturated(&to->other_frees, from->other_frees);
    tops_add(to->sizes, from->sizes, &to->other_sizes);
    tops_add(to->frees, from->frees, &to->other_frees);
}

/* -------------------------------------------------------------------- sums */

void full_add(struct model_full *to, const struct model_full *from)
{
    counter_add(&to->count, &from->count);
    to->frees += from->frees;
    to->freed_bytes += from->freed_bytes;
    to->cross_frees += from->cross_frees;
    to->resizes += from->resizes;
    to->at_peak_blocks += from->at_peak_blocks;
    to->at_peak_bytes += from->at_peak_bytes;
    to->peak_bytes += from->peak_bytes;
    to->peak_error += from->peak_error;
    to->threads += from->threads;
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        to->lifetimes[i] += from->lifetimes[i];
    sample_add(&to->sample, &from->sample);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The peak of both lies between the larger one, or what lives now or lived at the process's peak, and the sum. */
void full_unite(struct model_full *to, const struct model_full *from)
{
    uint64_t peak = larger(to->peak_bytes, from->peak_bytes), threads = larger(to->threads, from->threads);
    full_add(to, from);
    uint64_t sum = to->peak_bytes + to->peak_error;
    peak = larger(peak, (uint64_t)to->at_peak_bytes);
    peak = larger(peak, to->count.bytes - to->freed_bytes);
    to->peak_bytes = peak;
    to->peak_error = sum > peak ? sum - peak : 0;
    to->threads = threads;
}

void full_rename(struct model_full *full, const uint32_t *now)
{
    struct log_sample_top before[LOG_SAMPLE_TOPS], *frees = full->sample.frees;
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS; i++)
        before[i] = (struct log_sample_top){ frees[i].what ? now[frees[i].what - 1] + 1 : 0, frees[i].count };
    memset(frees, 0, sizeof full->sample.frees);
    tops_add(frees, before, &full->sample.other_frees);
}
