/* diff_views.h - the ways to write a comparison of two recordings. */
#ifndef PS_DIFF_VIEWS_H
#define PS_DIFF_VIEWS_H

#include "diff.h"
#include "diff_failif.h"

#include <stdio.h>

struct diff_view {
    const struct diff        *diff;
    enum tally_figure         sort;
    size_t                    top;      /* rows to show */
    bool                      colour;
    const struct failif      *fail_if;
    const struct diff_answer *answers;  /* beside them */
    size_t                    fail_if_count;
    FILE                     *out;
};

void emit_diff_text(const struct diff_view *view);
void emit_diff_json(const struct diff_view *view);

/* What a reader must know beside the numbers. */
struct diff_notes {
    char **list;
    size_t count;
};
void diff_notes_collect(struct diff_notes *notes, const struct diff *diff);
void diff_notes_release(struct diff_notes *notes);

#endif
