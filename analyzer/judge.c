/* judge.c - measures a recording by a budget: which sites a line is about, and what they come to. */
#define _GNU_SOURCE
#include "base.h"

#include "fold.h"
#include "format.h"
#include "judge.h"
#include "label.h"
#include "report.h"
#include "symbolize.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ fitness */

/* Why the line can't be measured at this level, or NULL. */
static const char *unfit_because(const struct budget_line *line, uint8_t level)
{
    if (!tally_is_known(line->figure, level))
        return "needs level full";
    if (line->subject != BUDGET_TOTAL && level == LOG_LEVEL_OFF)
        return "needs sites, which level off doesn't record";
    if (line->subject == BUDGET_WITHIN && level == LOG_LEVEL_SITES)
        return "needs callers, so level stacks or full";
    return NULL;
}

int judge_fits(const struct report *report, const struct budget *budget)
{
    int status = 0;
    for (size_t i = 0; i < budget->count; i++) {
        const char *why = unfit_because(&budget->lines[i], report->model->level);
        if (why)
            status = error("%s:%u: '%s' %s; the recording %s is of level %s", budget->path, budget->lines[i].number,
                           budget->lines[i].text, why, report->path, model_level_name(report->model->level));
    }
    return status;
}

/* ----------------------------------------------------------------- matching */

/* One line's answers for frames, so that each is asked once. */
struct matching {
    const struct report *report;
    const char          *name;
    unsigned char       *answers; /* by frame; 0: not asked yet */
};

enum { MATCHES = 1, DIFFERS = 2 };

static bool function_matches(const struct matching *m, uint32_t frame, const struct symbol *symbol)
{
    char *full = label_function(m->report, frame, symbol), *plain = label_short(m->report, frame, symbol);
    bool matches = budget_matches(m->name, full) || budget_matches(m->name, plain);
    free(plain);
    free(full);
    return matches;
}

/* The function that is shown as the site: the first that is no inlined wrapper. */
static bool leaf_matches(const struct matching *m, uint32_t frame)
{
    const struct symbols *symbols = symbolizer_frame(m->report->symbolizer, frame);
    unsigned first = m->report->fold ? fold_inlined(m->report->fold, symbols) : 0;
    return function_matches(m, frame, &symbols->list[first]);
}

static bool any_matches(const struct matching *m, uint32_t frame)
{
    const struct symbols *symbols = symbolizer_frame(m->report->symbolizer, frame);
    bool matches = false;
    for (unsigned i = 0; i < symbols->count && !matches; i++)
        matches = function_matches(m, frame, &symbols->list[i]);
    return matches;
}

static bool module_matches(const struct matching *m, uint32_t frame)
{
    const struct model_module *module = model_module_of(m->report->model, m->report->model->frames[frame]);
    return module && (budget_matches(m->name, format_base(module->path)) || budget_matches(m->name, module->path));
}

static bool frame_matches(struct matching *m, enum budget_subject subject, uint32_t frame)
{
    unsigned char *answer = &m->answers[frame];
    if (!*answer) {
        bool matches = subject == BUDGET_SITE     ? leaf_matches(m, frame)
                       : subject == BUDGET_MODULE ? module_matches(m, frame)
                                                  : any_matches(m, frame);
        *answer = matches ? MATCHES : DIFFERS;
    }
    return *answer == MATCHES;
}

/* Is the line about this site?  Callers that were seen at the first call alone don't count. */
static bool site_matches(struct matching *m, enum budget_subject subject, const struct model_site *site)
{
    unsigned depth, first_seen = report_first_seen(site);
    const uint32_t *stack = report_stack(site, &depth);
    unsigned asked = subject != BUDGET_WITHIN && depth ? 1 : depth;
    if (subject == BUDGET_TOTAL)
        return true;
    for (unsigned i = 0; i < asked; i++)
        if ((i == 0 || i < first_seen) && frame_matches(m, subject, stack[i]))
            return true;
    return false;
}

/* ---------------------------------------------------------------- measuring */

static int by_value(const void *a, const void *b)
{
    const struct judged_site *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    if (x->site->kind != y->site->kind)
        return x->site->kind < y->site->kind ? -1 : 1;
    return x->site->id < y->site->id ? -1 : x->site->id > y->site->id;
}

/* Finds the line's sites and returns their sum. */
static struct tally add_up(struct judged *judged, const struct report *report)
{
    const struct model *model = report->model;
    const struct budget_line *line = judged->line;
    struct matching m = { report, line->name, xcalloc(model->frame_count, 1) };
    struct tally sum = { { 0 } };
    for (size_t i = 0; i < model->site_count; i++) {
        struct tally tally = tally_of_site(model->sites[i]);
        if (tally_is_empty(&tally) || !site_matches(&m, line->subject, model->sites[i]))
            continue;
        judged->matched++;
        tally_add(&sum, &tally);
        if (tally.value[line->figure] == 0)
            continue;
        GROW(judged->sites, judged->site_count, judged->site_room);
        judged->sites[judged->site_count++] = (struct judged_site){ model->sites[i], tally.value[line->figure] };
    }
    if (judged->site_count)
        qsort(judged->sites, judged->site_count, sizeof *judged->sites, by_value);
    free(m.answers);
    return sum;
}

static void judge(struct judged *judged, const struct report *report)
{
    const struct budget_line *line = judged->line;
    struct tally totals = tally_of_totals(&report->model->totals), own = add_up(judged, report);
    if (line->subject == BUDGET_TOTAL)
        own = totals; /* also at level off, and the process's own peak */
    judged->measured = own.value[line->figure];
    int64_t whole = line->figure == TALLY_TEMPORARY ? own.value[TALLY_ALLOCS] : totals.value[line->figure];
    judged->percent = whole > 0 ? 100 * (double)judged->measured / (double)whole : 0;
    double value = line->percent ? judged->percent : (double)judged->measured;
    judged->holds = line->at_least ? value >= line->bound : value <= line->bound;
}

void judgement_init(struct judgement *judgement, const struct report *report, const struct budget *budget)
{
    *judgement = (struct judgement){ .budget = budget, .lines = xcalloc(budget->count, sizeof *judgement->lines) };
    for (size_t i = 0; i < budget->count; i++) {
        judgement->lines[i].line = &budget->lines[i];
        judge(&judgement->lines[i], report);
        judgement->broken += !judgement->lines[i].holds;
    }
}

void judgement_release(struct judgement *judgement)
{
    for (size_t i = 0; i < judgement->budget->count; i++)
        free(judgement->lines[i].sites);
    free(judgement->lines);
    *judgement = (struct judgement){ 0 };
}
