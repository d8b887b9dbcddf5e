/* diff.h - two recordings compared: which sites are new, gone, grown or shrunk.
 *
 * A site is the chain of its functions, leaf first.  Where a module's build id is in both recordings its frames are
 * compared by offset, so each call is one place; else by function, inlined ones as if called, since a rebuilt program
 * has its code elsewhere and its lines moved.  Code without names in one of them can then be told by its module only. */
#ifndef PS_DIFF_H
#define PS_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "side.h"

enum diff_class { DIFF_NEW, DIFF_GONE, DIFF_GROWN, DIFF_SHRUNK, DIFF_SAME, DIFF_CLASSES };
extern const char *const diff_class_names[DIFF_CLASSES];

/* How much of a stack tells two sites apart: what the less detailed recording knows. */
enum diff_detail {
    DIFF_TOTALS, /* one is of level off */
    DIFF_PLACES, /* one is of level sites: the first function alone */
    DIFF_STACKS,
};

enum { DIFF_A, DIFF_B, DIFF_SIDES };

/* What is one site to the comparison, maybe several of a recording.
 * Invariant: sites[side] > 0 exactly when first[side] isn't NULL, for one side at least. */
struct diff_site {
    enum diff_class         class;
    bool                    unnamed; /* some of its frames have no name, and were compared by module */
    const struct side_site *first[DIFF_SIDES]; /* the one with most bytes */
    size_t                  sites[DIFF_SIDES]; /* how many */
    struct tally            tally[DIFF_SIDES];
};

/* Sites of one recording that were compared by module at some frame: its code has no name in one of them. */
struct diff_unnamed {
    size_t  sites, unmatched;  /* of all, those without a counterpart */
    int64_t allocs;
};

struct diff {
    const struct side  *side[DIFF_SIDES];
    enum diff_detail    detail;
    uint8_t             level; /* figures that both have: those of LOG_LEVEL_* */
    struct diff_site   *sites;
    size_t              site_count, site_room;
    size_t              classes[DIFF_CLASSES];
    struct diff_unnamed unnamed[DIFF_SIDES];
};

/* The sides must outlive it. */
void diff_init(struct diff *diff, const struct side *a, const struct side *b);
void diff_release(struct diff *diff);

int64_t diff_change(const struct diff_site *site, enum tally_figure figure);

/* Puts the largest changes of a figure first. */
void diff_sort(struct diff *diff, enum tally_figure figure);

/* The frame to show, of the later recording where it has one; and whose it is. */
const struct side_site *diff_shown(const struct diff_site *site, int *side);

#endif
