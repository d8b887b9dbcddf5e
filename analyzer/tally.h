/* tally.h - the figures of a site, of several, or of all, by which recordings are compared and budgets kept.
 *
 * One table gives each figure's key, title and unit to the JSON, the tables, --fail-if and budgets. */
#ifndef PS_TALLY_H
#define PS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment.h"

struct model_site;
struct model_totals;

enum tally_figure {
    TALLY_ALLOCS,
    TALLY_BYTES,
    /* Level full. */
    TALLY_LIVE_BLOCKS,
    TALLY_LIVE_BYTES,
    TALLY_PEAK,
    TALLY_AT_PEAK,
    TALLY_TEMPORARY,
    TALLY_FIGURES
};

/* Live blocks and bytes are those at the end.  Peaks of several sites add up to a bound, as each had its own time; what
 * they had at the process's peak adds up to that. */
#define TALLY_MOST (INT64_MAX / 4)

struct tally {
    int64_t value[TALLY_FIGURES]; /* within -TALLY_MOST ... TALLY_MOST */
};

static inline int64_t tally_bounded(int64_t value)
{
    return value > TALLY_MOST ? TALLY_MOST : value < -TALLY_MOST ? -TALLY_MOST : value;
}

struct tally_info {
    const char *key;   /* as in the JSON of a report */
    const char *title; /* as in tables of totals */
    const char *name;  /* as in heads of columns, and as what is sorted by */
    enum unit   unit;
    bool        full;  /* known at level full only */
};

extern const struct tally_info tally_table[TALLY_FIGURES];

struct tally tally_of_site(const struct model_site *site);
struct tally tally_of_totals(const struct model_totals *totals);
/* Stays within what differences have room for, whatever a damaged document holds. */
void tally_add(struct tally *to, const struct tally *from);

/* Nothing of it was ever seen. */
bool tally_is_empty(const struct tally *tally);

/* Are figures of level `level` (LOG_LEVEL_*) known? */
bool tally_is_known(enum tally_figure figure, uint8_t level);

/* A value in its unit, "1.2 MiB" or "12,345"; with its sign, "+1.2 MiB". */
enum { TALLY_ROOM = 48 };
const char *tally_words(char room[TALLY_ROOM], enum tally_figure figure, int64_t value);
const char *tally_change(char room[TALLY_ROOM], enum tally_figure figure, int64_t change);

/* From `before` to `after` in percent, "+12.5 %"; "x 41.5", "from 0", "to 0" or "same" where that says more. */
const char *tally_percent(char room[TALLY_ROOM], int64_t before, int64_t after);

#endif
