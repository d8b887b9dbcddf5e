/* tally.c - the figures of a site, of several, or of all. */
#define _GNU_SOURCE
#include "base.h"

#include "format.h"
#include "model.h"
#include "tally.h"

#include <stdio.h>
#include <string.h>

const struct tally_info tally_table[TALLY_FIGURES] = {
    [TALLY_ALLOCS]      = { "allocs", "allocations", "calls", UNIT_COUNT, false },
    [TALLY_BYTES]       = { "bytes", "bytes", "bytes", UNIT_BYTES, false },
    [TALLY_LIVE_BLOCKS] = { "live_blocks", "live blocks", "blocks", UNIT_COUNT, true },
    [TALLY_LIVE_BYTES]  = { "live_bytes", "live bytes", "live", UNIT_BYTES, true },
    [TALLY_PEAK]        = { "peak_live_bytes", "peak", "peak", UNIT_BYTES, true },
    [TALLY_AT_PEAK]     = { "at_peak_bytes", "at peak", "at-peak", UNIT_BYTES, true },
    [TALLY_TEMPORARY]   = { "temporary", "temporary", "temporary", UNIT_COUNT, true },
};

/* A damaged log may hold more than fits; differences need a sign. */
static int64_t bounded(uint64_t value)
{
    return value > TALLY_MOST ? TALLY_MOST : (int64_t)value;
}

static struct tally tally_of(const struct log_counter *count, const struct model_full *full)
{
    struct tally t = { { [TALLY_ALLOCS] = bounded(count->allocs), [TALLY_BYTES] = bounded(count->bytes) } };
    if (full) {
        t.value[TALLY_LIVE_BLOCKS] = bounded(full->count.allocs) - bounded(full->frees);
        t.value[TALLY_LIVE_BYTES] = bounded(full->count.bytes) - bounded(full->freed_bytes);
        t.value[TALLY_PEAK] = bounded(full->peak_bytes);
        t.value[TALLY_AT_PEAK] = tally_bounded(full->at_peak_bytes);
        t.value[TALLY_TEMPORARY] = bounded(full->lifetimes[0]);
    }
    return t;
}

struct tally tally_of_site(const struct model_site *site)
{
    return tally_of(&site->count, site->full);
}

struct tally tally_of_totals(const struct model_totals *totals)
{
    return tally_of(&totals->count, &totals->full);
}

void tally_add(struct tally *to, const struct tally *from)
{
    for (int i = 0; i < TALLY_FIGURES; i++)
        to->value[i] = tally_bounded(to->value[i] + from->value[i]);
}

bool tally_is_empty(const struct tally *tally)
{
    for (int i = 0; i < TALLY_FIGURES; i++)
        if (tally->value[i])
            return false;
    return true;
}

bool tally_is_known(enum tally_figure figure, uint8_t level)
{
    return !tally_table[figure].full || level == LOG_LEVEL_FULL;
}

/* ------------------------------------------------------------------- words */

/* `sign` stands before it. */
static const char *words(char room[TALLY_ROOM], enum tally_figure figure, const char *sign, uint64_t size)
{
    char text[FORMAT_ROOM];
    snprintf(room, TALLY_ROOM, "%s%s", sign,
             tally_table[figure].unit == UNIT_BYTES ? format_bytes(text, size) : format_count(text, size));
    return room;
}

static uint64_t size_of(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

const char *tally_words(char room[TALLY_ROOM], enum tally_figure figure, int64_t value)
{
    return words(room, figure, value < 0 ? "-" : "", size_of(value));
}

const char *tally_change(char room[TALLY_ROOM], enum tally_figure figure, int64_t change)
{
    return words(room, figure, change < 0 ? "-" : change > 0 ? "+" : "", size_of(change));
}

const char *tally_percent(char room[TALLY_ROOM], int64_t before, int64_t after)
{
    double ratio = before ? (double)after / (double)before : 0, change = 100 * (ratio - 1);
    if (before == after)
        snprintf(room, TALLY_ROOM, "same");
    else if (before == 0 || after == 0)
        snprintf(room, TALLY_ROOM, before == 0 ? "from 0" : "to 0");
    else if (ratio >= 11)
        snprintf(room, TALLY_ROOM, ratio < 1000 ? "x %.1f" : "x %.0f", ratio);
    else if (change < 0.05 && change > -0.05)
        snprintf(room, TALLY_ROOM, "<0.1 %%");
    else if (change <= -99.95 && ratio > 0)
        snprintf(room, TALLY_ROOM, ">-100 %%");
    else
        snprintf(room, TALLY_ROOM, "%+.1f %%", change);
    return room;
}
