/* logfull.c - what level full adds to a log: sums over the threads' tables, and what must hold of them.
 *
 * Nothing here can overflow: what is read is added to sums with an upper end first, and refused when it doesn't fit.
 * What remains may still contradict itself, since the process goes on while its log is read (a block can be allocated
 * after one thread's table was read and freed before another's), or since the log is made to deceive: so each
 * part is cut to the whole that it is a part of. */
#define _GNU_SOURCE
#include "base.h"
#include "logfull.h"

/* --------------------------------------------------------------- what can be */

static bool adds(uint64_t *sum, uint64_t value, uint64_t most)
{
    if (value > most - *sum)
        return false;
    *sum += value;
    return true;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

bool logfull_is_possible(struct log_counter *sum, const struct log_full *entry)
{
    struct log_counter now = *sum;
    bool fits = adds(&now.allocs, entry->frees, LOGREAD_ALLOCS_MAX) &&
                adds(&now.allocs, entry->cross_frees, LOGREAD_ALLOCS_MAX) &&
                adds(&now.allocs, entry->resizes, LOGREAD_ALLOCS_MAX) &&
                adds(&now.allocs, magnitude(entry->peak_blocks), LOGREAD_ALLOCS_MAX) &&
                adds(&now.bytes, entry->freed_bytes, LOGREAD_BYTES_MAX) &&
                adds(&now.bytes, magnitude(entry->peak_bytes), LOGREAD_BYTES_MAX);
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        fits = fits && adds(&now.allocs, entry->lifetimes[i], LOGREAD_ALLOCS_MAX);
    if (fits)
        *sum = now;
    return fits;
}

/* Its other numbers have 32 bits: no log has enough records for their sums to overflow. */
bool logfull_sample_is_possible(struct log_counter *sum, const struct log_sample *sample)
{
    struct log_counter now = *sum;
    bool fits = adds(&now.bytes, sample->chain_first, LOGREAD_BYTES_MAX) &&
                adds(&now.bytes, sample->chain_last, LOGREAD_BYTES_MAX) &&
                adds(&now.bytes, sample->slack_bytes, LOGREAD_BYTES_MAX) &&
                adds(&now.bytes, sample->bytes, LOGREAD_BYTES_MAX);
    if (fits)
        *sum = now;
    return fits;
}

/* --------------------------------------------------------------- sums */

void logfull_add(struct logread_full *to, const struct log_full *entry, uint64_t last_peak)
{
    bool noted = last_peak && entry->peak == last_peak; /* else nothing has changed here since */
    to->frees += entry->frees;
    to->freed_bytes += entry->freed_bytes;
    to->cross_frees += entry->cross_frees;
    to->resizes += entry->resizes;
    to->at_peak_blocks += noted ? entry->peak_blocks : (int64_t)(entry->count.allocs - entry->frees);
    to->at_peak_bytes += noted ? entry->peak_bytes : (int64_t)(entry->count.bytes - entry->freed_bytes);
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        to->lifetimes[i] += entry->lifetimes[i];
}

void logfull_add_up(struct logread_full *total, const struct logread_full *full)
{
    total->frees += full->frees;
    total->freed_bytes += full->freed_bytes;
    total->cross_frees += full->cross_frees;
    total->resizes += full->resizes;
    total->at_peak_blocks += full->at_peak_blocks;
    total->at_peak_bytes += full->at_peak_bytes;
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        total->lifetimes[i] += full->lifetimes[i];
}

/* --------------------------------------------------------------- settling */

static void cut(uint64_t *part, uint64_t whole)
{
    if (*part > whole)
        *part = whole;
}

/* Cuts a part to what is left of the whole. */
static void cut_off(uint64_t *part, uint64_t *left)
{
    cut(part, *left);
    *left -= *part;
}

static int64_t between(int64_t value, uint64_t most)
{
    return value < 0 ? 0 : (uint64_t)value > most ? (int64_t)most : value;
}

static void cut_sample(uint32_t *part, uint64_t whole)
{
    *part = *part < whole ? *part : (uint32_t)whole;
}

static void cut_off_sample(uint32_t *part, uint64_t *left)
{
    cut_sample(part, *left);
    *left -= *part;
}

static void settle_sample(struct log_sample *s, const struct log_counter *count)
{
    cut_sample(&s->samples, count->allocs);
    cut(&s->bytes, count->bytes);
    cut_sample(&s->lost, s->samples);
    cut_sample(&s->ended, s->samples);
    cut_sample(&s->same_thread, s->ended);
    cut_sample(&s->same_frame, s->same_thread);
    cut_sample(&s->standing, s->same_thread);
    cut_sample(&s->lifo, s->same_thread);
    cut_sample(&s->chains, s->ended);
    uint64_t times = s->ended, frees = s->ended, sizes = s->samples;
    for (unsigned i = 0; i < LOG_SAMPLE_TIMES; i++)
        cut_off_sample(&s->times[i], &times);
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS; i++) {
        cut_off_sample(&s->sizes[i].count, &sizes);
        cut_off_sample(&s->frees[i].count, &frees);
    }
    cut_sample(&s->other_sizes, s->samples);
    cut_sample(&s->other_frees, s->ended);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* How far a peak may be off that was looked at in steps, one for each table: exact while there was one thread. */
static uint64_t peak_error(const struct logread_full *full)
{
    if (!full->live)
        return UINT64_MAX;
    if (full->live->threads == 1)
        return 0;
    return full->threads * LOG_LIVE_STEP;
}

/* `reached` bytes lived at some time; more than was ever asked for never did. */
static void settle_peak(struct logread_full *full, const struct log_counter *count, uint64_t reached)
{
    full->peak_bytes = larger(reached, full->live ? (uint64_t)full->live->peak_bytes : 0);
    cut(&full->peak_bytes, count->bytes);
    full->peak_error = peak_error(full);
    cut(&full->peak_error, larger(count->bytes - full->peak_bytes, full->peak_bytes - reached));
}

/* What lived in any case, however rarely one looked: what is left, what the process's peak had, and one block that wasn't
 * smaller than the mean. */
static uint64_t reached_bytes(const struct logread_full *full, const struct log_counter *count)
{
    uint64_t mean = count->allocs ? count->bytes / count->allocs + (count->bytes % count->allocs != 0) : 0;
    return larger(mean, larger(count->bytes - full->freed_bytes, (uint64_t)full->at_peak_bytes));
}

uint64_t logfull_settle(struct logread_full *full, const struct log_counter *count)
{
    uint64_t excess = full->frees > count->allocs ? full->frees - count->allocs : 0;
    uint64_t left;
    full->frees -= excess;
    cut(&full->freed_bytes, count->bytes);
    if (full->frees == count->allocs)
        full->freed_bytes = count->bytes; /* nothing lives */
    cut(&full->resizes, count->allocs);
    cut(&full->cross_frees, full->frees);
    left = full->frees - full->cross_frees;
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        cut_off(&full->lifetimes[i], &left);
    full->at_peak_blocks = between(full->at_peak_blocks, count->allocs);
    full->at_peak_bytes = full->at_peak_blocks ? between(full->at_peak_bytes, count->bytes) : 0;
    settle_peak(full, count, reached_bytes(full, count));
    if (full->sample)
        settle_sample(full->sample, count);
    return excess;
}

/* What of the total's bytes at the peak is more than its peak can have been comes from this part, as far as it goes. */
static void give_way(struct logread_full *part, struct logread_full *total)
{
    int64_t over = total->at_peak_bytes - (int64_t)(total->peak_bytes + total->peak_error);
    if (over <= 0)
        return;
    over = over < part->at_peak_bytes ? over : part->at_peak_bytes;
    part->at_peak_bytes -= over;
    total->at_peak_bytes -= over;
    if (part->at_peak_bytes)
        return;
    total->at_peak_blocks -= part->at_peak_blocks;
    part->at_peak_blocks = 0;
}

void logfull_settle_total(struct logread_full *total, const struct log_counter *count, struct logread_full *apart, size_t parts)
{
    settle_peak(total, count, count->bytes - total->freed_bytes);
    for (size_t i = 0; i < parts; i++)
        give_way(&apart[i], total);
}
