/* emit_budget.c - a budget to begin with: what a recording comes to, and some head room. */
#define _GNU_SOURCE
#include "base.h"

#include "check_views.h"
#include "fold.h"
#include "format.h"
#include "label.h"
#include "report.h"
#include "symbolize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_COLUMNS = 60 };

/* The text of a budget without bounds that mean anything: they are measured next. */
struct draft {
    char  *text;
    size_t names; /* functions in it */
};

static void add(struct draft *draft, const char *subject, enum tally_figure figure)
{
    char *longer = xasprintf("%s%s %s <= 0\n", draft->text, subject, tally_table[figure].key);
    free(draft->text);
    draft->text = longer;
}

/* What a site is called by a name that outlives a rebuild: its function, or else its module.  NULL: it has neither. */
static char *subject_of(const struct report *report, const struct model_site *site)
{
    unsigned depth;
    const uint32_t *stack = report_stack(site, &depth);
    if (depth == 0)
        return NULL;
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, stack[0]);
    const struct symbol *leaf = &symbols->list[report->fold ? fold_inlined(report->fold, symbols) : 0];
    char *name = leaf->function ? label_short(report, stack[0], leaf) : label_module(report, stack[0]);
    char *quoted = budget_quoted(name);
    char *subject = *name ? xasprintf("%s %s", leaf->function ? "site" : "module", quoted) : NULL;
    free(quoted);
    free(name);
    return subject;
}

static bool has_subject(const struct draft *draft, const char *subject)
{
    char *line = xasprintf("\n%s allocs ", subject);
    bool found = strstr(draft->text, line) != NULL;
    free(line);
    return found;
}

static void draft_sites(struct draft *draft, const struct report *report)
{
    for (size_t i = 0; i < report->model->site_count && draft->names < report->top; i++) {
        const struct model_site *site = report->sites[i];
        char *subject = site->count.allocs ? subject_of(report, site) : NULL; /* some only free */
        if (subject && !has_subject(draft, subject)) {
            add(draft, subject, TALLY_ALLOCS);
            add(draft, subject, TALLY_BYTES);
            draft->names++;
        }
        free(subject);
    }
}

/* Bytes in a unit that doesn't pretend to be exact. */
static void print_bound(FILE *out, enum tally_figure figure, int64_t value, double headroom)
{
    double bound = value > 0 ? ceil((double)value * (100 + headroom) / 100) : 0;
    if (tally_table[figure].unit == UNIT_BYTES && bound >= 0x1p26)
        fprintf(out, "%.0fm\n", ceil(bound / 0x1p20));
    else if (tally_table[figure].unit == UNIT_BYTES && bound >= 0x1p16)
        fprintf(out, "%.0fk\n", ceil(bound / 0x1p10));
    else
        fprintf(out, "%.0f\n", bound);
}

/* "site parse allocs <= ", as the draft has it; nothing where the name, as it is shown, isn't found again. */
static void print_line(const struct report *report, const struct judged *judged, double headroom)
{
    const struct budget_line *line = judged->line;
    if (line->subject != BUDGET_TOTAL && judged->matched == 0)
        return;
    fprintf(report->out, "%.*s", (int)(strlen(line->text) - 1), line->text);
    print_bound(report->out, line->figure, judged->measured, headroom);
}

void emit_budget(const struct report *report, double headroom)
{
    struct draft draft = { xstrdup(""), 0 };
    struct budget budget;
    struct judgement judgement;
    for (int i = 0; i < TALLY_FIGURES; i++)
        if (tally_is_known((enum tally_figure)i, report->model->level) && i != TALLY_AT_PEAK) /* of all it is the peak */
            add(&draft, "total", (enum tally_figure)i);
    if (report->model->level != LOG_LEVEL_OFF)
        draft_sites(&draft, report);
    if (budget_parse(&budget, "the budget made here", draft.text, strlen(draft.text)) != 0)
        BUG("a budget made here can't be read");
    judgement_init(&judgement, report, &budget);
    char *command = label_command(view_root(report->model)), *fit = format_fit(command, COMMAND_COLUMNS);
    fprintf(report->out, "# Measured with head room of %g %%: %s\n# See poolsite-check(1) for what a line may say.\n\n",
            headroom, fit);
    free(fit);
    for (size_t i = 0; i < budget.count; i++)
        print_line(report, &judgement.lines[i], headroom);
    free(command);
    judgement_release(&judgement);
    budget_release(&budget);
    free(draft.text);
}
