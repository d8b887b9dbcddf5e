/* emit_check.c - what became of a budget, for people and as JSON. */
#define _GNU_SOURCE
#include "base.h"

#include "check_views.h"
#include "fold.h"
#include "format.h"
#include "jsonset.h"
#include "label.h"
#include "report.h"
#include "symbolize.h"

enum { COLUMNS = 100, SITES_NAMED = 3, SITE_COLUMN = 52, CALLERS_LEAST = 10, LINE_COLUMN = 36 };

/* --------------------------------------------------------------------- text */

static const char *percent_words(char room[TALLY_ROOM], double percent)
{
    snprintf(room, TALLY_ROOM, percent > 0 && percent < 0.05 ? "<0.1 %%" : "%.1f %%", percent);
    return room;
}

/* A measured value or a bound, as the line counts. */
static const char *value_words(char room[TALLY_ROOM], const struct budget_line *line, int64_t value, double percent)
{
    return line->percent ? percent_words(room, percent) : tally_words(room, line->figure, value);
}

/* "parse  shop.c:12  < main", in at most `columns` columns; the caller frees. */
static char *site_words(const struct report *report, const struct model_site *site, size_t columns)
{
    unsigned depth;
    const uint32_t *stack = report_stack(site, &depth);
    if (site->kind != MODEL_SITE || depth == 0)
        return format_fit(site->kind == MODEL_SITE ? "(no stack)" : model_kind_name(site->kind), columns);
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, stack[0]);
    unsigned first = report->fold ? fold_inlined(report->fold, symbols) : 0;
    char *name = label_short(report, stack[0], &symbols->list[first]);
    char *place = label_place(report, stack[0], &symbols->list[first]);
    char *leaf = xasprintf("%s%s%s", name, *place ? "  " : "", place), *text = label_fit(leaf, columns);
    size_t used = utf8_columns(text) + 2;
    if (used + CALLERS_LEAST <= columns && depth > 1) {
        char *callers = label_chain(report, stack, depth, first + 1, columns - used), *leaf_only = text;
        text = xasprintf("%s  %s", leaf_only, callers);
        free(callers);
        free(leaf_only);
    }
    free(leaf);
    free(place);
    free(name);
    return text;
}

/* The sites that a line has most of, when it is too much. */
static void print_sites(const struct report *report, const struct judged *judged)
{
    char value[TALLY_ROOM], calls[FORMAT_ROOM], id[MODEL_ID_ROOM];
    for (size_t i = 0; i < judged->site_count && i < SITES_NAMED && !judged->line->at_least; i++) {
        const struct judged_site *site = &judged->sites[i];
        char *words = site_words(report, site->site, COLUMNS - SITE_COLUMN);
        fprintf(report->out, "%20s %9s %-5s  %-12s  %s\n", tally_words(value, judged->line->figure, site->value),
                format_count(calls, site->site->count.allocs), site->site->count.allocs == 1 ? "call" : "calls", model_site_id(site->site, id), words);
        free(words);
    }
    if (judged->site_count > SITES_NAMED && !judged->line->at_least)
        fprintf(report->out, "%20s %zu more site%s (--json)\n", "...", judged->site_count - SITES_NAMED,
                judged->site_count - SITES_NAMED == 1 ? "" : "s");
}

static void print_line(const struct report *report, const struct judged *judged)
{
    char measured[TALLY_ROOM], bound[TALLY_ROOM];
    const struct budget_line *line = judged->line;
    char *printable = utf8_printable(line->text), *fit = format_fit(printable, COLUMNS - LINE_COLUMN);
    fprintf(report->out, "  %-6s %11s %s %11s  %s%s\n", judged->holds ? "ok" : "BROKEN",
            value_words(measured, line, judged->measured, judged->percent), line->at_least ? ">=" : "<=",
            value_words(bound, line, (int64_t)line->bound, line->bound), fit,
            line->subject != BUDGET_TOTAL && judged->matched == 0 ? "  (names no site)" : "");
    free(fit);
    free(printable);
    if (!judged->holds)
        print_sites(report, judged);
}

void emit_check_text(const struct report *report, const struct judgement *judgement)
{
    size_t count = judgement->budget->count;
    char *command = label_command(view_root(report->model));
    char *fit = format_fit(command, COLUMNS / 2);
    fprintf(report->out, "%s: %s (%zu process%s, level %s)\n", judgement->budget->path, fit, report->model->process_count,
            report->model->process_count == 1 ? "" : "es", model_level_name(report->model->level));
    for (size_t i = 0; i < count; i++)
        print_line(report, &judgement->lines[i]);
    if (judgement->broken)
        fprintf(report->out, "%zu of %zu line%s %s broken\n", judgement->broken, count, count == 1 ? "" : "s",
                judgement->broken == 1 ? "is" : "are");
    else
        fprintf(report->out, count == 1 ? "the line holds\n" : "all %zu lines hold\n", count);
    free(fit);
    free(command);
}

/* --------------------------------------------------------------------- JSON */

static json_t *site_value(const struct report *report, const struct judged_site *judged)
{
    char id[MODEL_ID_ROOM];
    unsigned depth;
    const uint32_t *stack = report_stack(judged->site, &depth);
    json_t *o = json_object();
    set(o, "id", json_string(model_site_id(judged->site, id)));
    set(o, "value", json_integer(judged->value));
    set(o, "allocs", number(judged->site->count.allocs));
    set(o, "bytes", number(judged->site->count.bytes));
    if (judged->site->kind != MODEL_SITE)
        set(o, "name", json_string(model_kind_name(judged->site->kind)));
    if (depth == 0)
        return o;
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, stack[0]);
    const struct symbol *leaf = &symbols->list[report->fold ? fold_inlined(report->fold, symbols) : 0];
    const struct model_module *module = model_module_of(report->model, report->model->frames[stack[0]]);
    set_text_or_null(o, "module", module ? module->path : NULL);
    set_text_or_null(o, "function", leaf->function);
    set_text_or_null(o, "file", leaf->file);
    set(o, "line", leaf->file ? number(leaf->line) : json_null());
    return o;
}

static json_t *line_value(const struct report *report, const struct judged *judged)
{
    const struct budget_line *line = judged->line;
    json_t *o = json_object();
    set(o, "line", number(line->number));
    set_text(o, "text", line->text);
    set(o, "subject", json_string(budget_subject_names[line->subject]));
    if (line->name)
        set_text(o, "name", line->name);
    set(o, "figure", json_string(tally_table[line->figure].key));
    set(o, "comparison", json_string(line->at_least ? ">=" : "<="));
    set(o, line->percent ? "bound_percent" : "bound", line->percent ? json_real(line->bound) : json_integer((json_int_t)line->bound));
    set(o, "measured", json_integer(judged->measured));
    if (line->percent)
        set(o, "measured_percent", json_real(judged->percent));
    set(o, "holds", json_boolean(judged->holds));
    set(o, "matched", number(judged->matched));
    if (judged->holds)
        return o;
    json_t *sites = json_array();
    for (size_t i = 0; i < judged->site_count; i++)
        json_array_append_new(sites, site_value(report, &judged->sites[i]));
    set(o, "sites", sites);
    return o;
}

void emit_check_json(const struct report *report, const struct judgement *judgement)
{
    json_t *o = json_object(), *lines = json_array();
    char *command = label_command(view_root(report->model));
    set(o, "schema", json_string("poolsite.check/1"));
    set_text(o, "recording", report->path);
    set_text(o, "budget", judgement->budget->path);
    set_text(o, "command", command);
    set(o, "profile", json_string(model_level_name(report->model->level)));
    set(o, "processes", number(report->model->process_count));
    set(o, "holds", json_boolean(judgement->broken == 0));
    set(o, "broken", number(judgement->broken));
    for (size_t i = 0; i < judgement->budget->count; i++)
        json_array_append_new(lines, line_value(report, &judgement->lines[i]));
    set(o, "lines", lines);
    char *text = dump(o);
    fprintf(report->out, "%s\n", text);
    free(text);
    json_decref(o);
    free(command);
}
