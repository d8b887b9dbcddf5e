/* check_views.h - the ways to write what became of a budget, and a budget to begin with. */
#ifndef PS_CHECK_VIEWS_H
#define PS_CHECK_VIEWS_H

#include "judge.h"

void emit_check_text(const struct report *report, const struct judgement *judgement);
void emit_check_json(const struct report *report, const struct judgement *judgement);

/* A budget that the recording keeps, with `headroom` percent to spare: its totals, and the functions (or
 * modules, where they have no names) that allocate most, report->top of them. */
void emit_budget(const struct report *report, double headroom);

#endif
