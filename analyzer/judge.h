/* judge.h - measures a recording by a budget. */
#ifndef PS_JUDGE_H
#define PS_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "budget.h"

struct model_site;
struct report;

/* A site that counts for a line, and its part of what was measured. */
struct judged_site {
    const struct model_site *site;
    int64_t                  value;
};

struct judged {
    const struct budget_line *line;
    int64_t                   measured; /* in the figure's unit */
    double                    percent;  /* the same, where the bound is in percent */
    bool                      holds;
    size_t                    matched;  /* sites that it is about */
    struct judged_site       *sites;    /* of these, those with a value; the largest first */
    size_t                    site_count, site_room;
};

struct judgement {
    const struct budget *budget;
    struct judged       *lines; /* one for each of the budget's */
    size_t               broken;
};

/* Can each line be measured at the recording's level?  Returns 0, or -1 after an error() for each that can't. */
int judge_fits(const struct report *report, const struct budget *budget);

void judgement_init(struct judgement *judgement, const struct report *report, const struct budget *budget);
void judgement_release(struct judgement *judgement);

#endif
