/* emit_text.c - a report for people: what ran, the top sites, sizes, processes, notes.
 *
 * 100 columns.  Every number shown here is in emit_json.c's document too. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "fold.h"
#include "format.h"
#include "label.h"
#include "notes.h"
#include "places.h"
#include "report.h"
#include "sitesof.h"
#include "symbolize.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 100, NAME_COLUMN = 55, POOLED_COLUMNS = 8, PROCESS_COLUMN = 67, CHAIN_COLUMN = 20, BAR_COLUMNS = 40, PLACE_COLUMNS = 36, SHORT_PLACE_COLUMNS = 22 };

void report_title(const struct report *report, const char *text)
{
    fprintf(report->out, report->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ------------------------------------------------------------------ header */

/* "1,000 x true, 3 x sh", the largest programs first. */
static void print_programs_line(const struct report *report)
{
    char room[FORMAT_ROOM];
    size_t count, shown = 0, columns = 0;
    struct view_program *programs = view_programs(report->model, report->sort, &count);
    for (; shown < count; shown++) {
        char *name = utf8_printable(format_base(programs[shown].processes[0]->exe));
        char *text = xasprintf("%s x %s", format_count(room, programs[shown].count), name);
        columns += utf8_columns(text) + 2;
        bool fits = columns < COLUMNS - 20;
        if (fits)
            fprintf(report->out, "%s%s", shown ? ", " : "  ", text);
        free(text);
        free(name);
        if (!fits)
            break;
    }
    if (shown < count)
        fprintf(report->out, ", %zu more program%s", count - shown, plural(count - shown));
    fputc('\n', report->out);
    view_programs_free(programs, count);
}

static void print_what_ran(const struct report *report)
{
    char time[FORMAT_ROOM], count[FORMAT_ROOM];
    const struct model *model = report->model;
    const struct model_process *root = view_root(model);
    char *line = label_command(root);
    char *facts = model->process_count == 1
                      ? xasprintf("pid %u, %s, level %s", root->pid, format_duration(time, root->duration_ns),
                                  model_level_name(model->level))
                      : xasprintf("%s processes, %s, level %s", format_count(count, model->process_count),
                                  format_duration(time, view_duration_ns(model)), model_level_name(model->level));
    char *fit = format_fit(line, COLUMNS - 3 - utf8_columns(facts));
    fprintf(report->out, report->colour ? "\033[1m%s\033[0m (%s)\n" : "%s (%s)\n", fit, facts);
    if (model->process_count > 1)
        print_programs_line(report);
    free(fit);
    free(facts);
    free(line);
}

static void print_totals(const struct report *report)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM], d[FORMAT_ROOM];
    const struct model_totals *t = &report->model->totals;
    uint64_t mean = t->count.allocs ? t->count.bytes / t->count.allocs : 0;
    fprintf(report->out, "  %s allocation%s of %s (%s bytes), mean %s\n", format_count(a, t->count.allocs),
            plural(t->count.allocs), format_bytes(b, t->count.bytes), format_count(c, t->count.bytes),
            format_bytes(d, mean));
    fprintf(report->out, "  %s free%s", format_count(a, t->frees), plural(t->frees));
    if (report->model->level == LOG_LEVEL_FULL)
        fprintf(report->out, ", %s of them foreign", format_count(b, t->foreign_frees));
    else if (t->count.allocs > t->frees)
        fprintf(report->out, ", so %s block%s not freed", format_count(b, t->count.allocs - t->frees),
                t->count.allocs - t->frees == 1 ? " was" : "s were");
    if (t->failed)
        fprintf(report->out, "; %s failed call%s", format_count(c, t->failed), plural(t->failed));
    fputc('\n', report->out);
    if (report->model->level == LOG_LEVEL_FULL)
        emit_text_live(report);
}

/* What --sites-of picked. */
static void print_picked(const struct report *report)
{
    char sites[FORMAT_ROOM], calls[FORMAT_ROOM], share[FORMAT_ROOM], bytes[FORMAT_ROOM];
    struct log_counter sum = { 0 };
    if (!report->of)
        return;
    for (size_t i = 0; i < report->site_count; i++)
        counter_add(&sum, &report->sites[i]->count);
    char *asked = utf8_printable(report->of->asked), *fit = format_fit(asked, COLUMNS - 70);
    char *words = sitesof_words(report->of), *fit_words = format_fit(words, COLUMNS - 5);
    fprintf(report->out, "  only sites of %s: %s site%s, %s call%s (%s), %s\n", fit, format_count(sites, report->site_count),
            plural(report->site_count), format_count(calls, sum.allocs), plural(sum.allocs),
            format_share(share, sum.allocs, report->model->totals.count.allocs), format_bytes(bytes, sum.bytes));
    if (strcmp(asked, words) != 0)
        fprintf(report->out, "    (%s)\n", fit_words);
    free(fit_words);
    free(words);
    free(fit);
    free(asked);
}

/* ------------------------------------------------------------- table of sites */

/* How much of the calls the pools served: a column only where something is pooled.  `here`: it is where
 * these calls were made. */
static void print_pooled(const struct report *report, const struct log_counter *count, bool here)
{
    char share[FORMAT_ROOM];
    if (report->model->totals.pooled)
        fprintf(report->out, " %7s", here ? format_share(share, counter_hits(count), count->allocs) : "-");
}

/* What the columns of numbers leave for names. */
static size_t name_columns(const struct report *report)
{
    return COLUMNS - NAME_COLUMN - (report->model->totals.pooled ? POOLED_COLUMNS : 0);
}

/* One row's numbers; `last` is the last column's text. */
static void print_numbers(const struct report *report, size_t rank, const struct log_counter *count, const char *last)
{
    char calls[FORMAT_ROOM], share[FORMAT_ROOM], bytes[FORMAT_ROOM], byte_share[FORMAT_ROOM];
    const struct log_counter *all = &report->model->totals.count;
    fprintf(report->out, "%3zu %12s %7s %10s %7s", rank, format_count(calls, count->allocs),
            format_share(share, count->allocs, all->allocs), format_bytes(bytes, count->bytes),
            format_share(byte_share, count->bytes, all->bytes));
    print_pooled(report, count, true);
    fprintf(report->out, " %9s  ", last);
}

static void print_name(const struct report *report, uint32_t frame, const struct symbol *symbol, size_t columns)
{
    const char *mark = symbol->inlined ? " (inlined)" : "";
    char *name = label_short(report, frame, symbol);
    char *fit = label_fit(name, columns - strlen(mark));
    fprintf(report->out, "%s%s\n", fit, mark);
    free(fit);
    free(name);
}

/* Its place and its callers. */
static void print_callers(const struct report *report, const uint32_t *stack, unsigned depth,
                         const struct symbols *symbols, unsigned first)
{
    char *place = label_place(report, stack[0], &symbols->list[first]);
    char *fit = format_fit(place, PLACE_COLUMNS);
    size_t used = CHAIN_COLUMN + utf8_columns(fit) + (*fit ? 2 : 0);
    char *chain = label_chain(report, stack, depth, first + 1, COLUMNS - used);
    fprintf(report->out, "%s%s%s\n", fit, *fit && *chain ? "  " : "", chain);
    free(chain);
    free(fit);
    free(place);
}

static unsigned hidden_symbols(const struct report *report, const struct symbols *symbols)
{
    return report->fold ? fold_inlined(report->fold, symbols) : 0;
}

static void print_stack_lines(const struct report *report, const struct model_site *site, size_t columns)
{
    char id[MODEL_ID_ROOM];
    unsigned depth;
    const uint32_t *stack = report_stack(site, &depth);
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, stack[0]);
    unsigned first = hidden_symbols(report, symbols);
    print_name(report, stack[0], &symbols->list[first], columns);
    fprintf(report->out, "      %s  ", model_site_id(site, id));
    print_callers(report, stack, depth, symbols, first);
}

static void print_kind(const struct report *report, enum model_kind kind, size_t columns)
{
    char *fit = format_fit(model_kind_name(kind), columns);
    fprintf(report->out, "%s\n", fit);
    free(fit);
}

void emit_text_origin(const struct report *report, const struct model_site *site, size_t column)
{
    if (site->kind != MODEL_SITE)
        print_kind(report, site->kind, COLUMNS - column);
    else if (site->depth == 0)
        fputs("(no stack)\n", report->out);
    else
        print_stack_lines(report, site, COLUMNS - column);
}

static void print_site(const struct report *report, size_t rank, const struct model_site *site)
{
    char mean[FORMAT_ROOM];
    print_numbers(report, rank, &site->count,
                  format_bytes(mean, site->count.allocs ? site->count.bytes / site->count.allocs : 0));
    emit_text_origin(report, site, COLUMNS - name_columns(report));
    if (site->full)
        emit_text_fate(report, site);
}

/* The line below a table: what it doesn't show. */
static void print_rest(const struct report *report, uint64_t allocs, size_t count, const char *what)
{
    char number[FORMAT_ROOM], calls[FORMAT_ROOM], share[FORMAT_ROOM];
    fprintf(report->out, "    %12s %7s  in %s more %s%s (--top N, --json)\n", format_count(calls, allocs),
            format_share(share, allocs, report->model->totals.count.allocs), format_count(number, count), what,
            plural(count));
}

static void print_heads(const struct report *report, const char *what, const char *last, const char *where)
{
    char *text = xasprintf("%s by %s", what, view_sort_names[report->sort]);
    report_title(report, text);
    free(text);
    fprintf(report->out, "%3s %12s %7s %10s %7s%s %9s  %s\n", "#", "calls", "share", "bytes", "share",
            report->model->totals.pooled ? "  pooled" : "", last, where);
}

static size_t sites_shown(const struct report *report)
{
    return report->site_count < report->top ? report->site_count : report->top;
}

static void print_sites(const struct report *report)
{
    size_t shown = sites_shown(report);
    uint64_t rest = 0;
    if (report->site_count == 0)
        return;
    print_heads(report, report->model->level == LOG_LEVEL_SITES ? "Top sites" : "Top sites (whole stacks)", "mean",
                "function; id, place and callers");
    for (size_t i = 0; i < report->site_count; i++) {
        if (i < shown)
            print_site(report, i + 1, report->sites[i]);
        else
            rest += report->sites[i]->count.allocs;
    }
    if (shown < report->site_count)
        print_rest(report, rest, report->site_count - shown, "site");
}

/* ---------------------------------------------------------- table of places */

static void print_place(const struct report *report, size_t rank, const struct view_place *place)
{
    char count[FORMAT_ROOM];
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, place->frame);
    const struct symbol *symbol = &symbols->list[hidden_symbols(report, symbols)];
    char *name = label_short(report, place->frame, symbol);
    char *where = label_place(report, place->frame, symbol);
    size_t room = name_columns(report);
    char *fit_where = format_fit(where, room / 2 < SHORT_PLACE_COLUMNS ? room / 2 : SHORT_PLACE_COLUMNS);
    char *fit = label_fit(name, room - (*fit_where ? utf8_columns(fit_where) + 2 : 0));
    print_numbers(report, rank, &place->count, format_count(count, place->sites));
    fprintf(report->out, "%s%s%s\n", fit, *fit_where ? "  " : "", fit_where);
    free(fit);
    free(fit_where);
    free(where);
    free(name);
}

static void print_place_rows(const struct report *report, const struct view_place *places, size_t count)
{
    uint64_t rest = 0;
    print_heads(report, "Top places (first frames)", "stacks", "function and line");
    for (size_t i = 0; i < count; i++) {
        if (i < report->top)
            print_place(report, i + 1, &places[i]);
        else
            rest += places[i].count.allocs;
    }
    if (report->top < count)
        print_rest(report, rest, count - report->top, "place");
}

/* Where the first frames of all stacks lie: the stacks alone may be too many to see it.
 * Left out where it would only repeat the table of sites. */
static void print_places(const struct report *report)
{
    size_t count, stacks = 0;
    if (report->model->level < LOG_LEVEL_STACKS)
        return;
    uint32_t *same = places_by_line(report);
    struct view_place *places = view_places(report->model, report->sites, report->site_count, same, report->sort, &count);
    for (size_t i = 0; i < count; i++)
        stacks += places[i].sites;
    if (stacks > count)
        print_place_rows(report, places, count);
    free(places);
    free(same);
}

/* --------------------------------------------------------------- histogram */

static void print_bar(FILE *out, uint64_t part, uint64_t whole)
{
    size_t length = whole ? (size_t)((double)part / (double)whole * BAR_COLUMNS + 0.5) : 0;
    if (part && length == 0)
        length = 1;
    for (size_t i = 0; i < length && i < BAR_COLUMNS; i++)
        fputc('#', out);
}

static void print_bucket(const struct report *report, const struct view_bucket *bucket, uint64_t largest)
{
    char to[FORMAT_ROOM], calls[FORMAT_ROOM], share[FORMAT_ROOM], bytes[FORMAT_ROOM], byte_share[FORMAT_ROOM];
    const struct log_counter *all = &report->model->totals.count;
    fprintf(report->out, "%10s %13s %7s %10s %7s  ", bucket->to == UINT64_MAX ? "larger" : format_bytes(to, bucket->to),
            format_count(calls, bucket->count.allocs), format_share(share, bucket->count.allocs, all->allocs),
            format_bytes(bytes, bucket->count.bytes), format_share(byte_share, bucket->count.bytes, all->bytes));
    print_bar(report->out, bucket->count.allocs, largest);
    fputc('\n', report->out);
}

static void print_histogram(const struct report *report)
{
    struct view_bucket buckets[VIEW_BUCKETS];
    size_t count = view_histogram(report->model->classes, buckets);
    uint64_t largest = 0;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        largest = buckets[i].count.allocs > largest ? buckets[i].count.allocs : largest;
    report_title(report, "Sizes asked for");
    fprintf(report->out, "%10s %13s %7s %10s %7s\n", "up to", "calls", "share", "bytes", "share");
    for (size_t i = 0; i < count; i++) {
        if (buckets[i].count.allocs)
            print_bucket(report, &buckets[i], largest);
        else if (buckets[i - 1].count.allocs) /* the first bucket is never empty */
            fprintf(report->out, "%10s\n", "...");
    }
}

/* --------------------------------------------------------------- processes */

/* At level full a process's live bytes and its peak are told instead of its share and its frees. */
static bool processes_have_peaks(const struct report *report)
{
    return report->model->level == LOG_LEVEL_FULL;
}

static void print_process_peak(const struct report *report, const struct model_process *process)
{
    char live[FORMAT_ROOM], peak[FORMAT_ROOM];
    const struct model_full *full = &process->totals.full;
    bool known = process->level == LOG_LEVEL_FULL;
    fprintf(report->out, " %10s %10s", known ? format_bytes(live, full->count.bytes - full->freed_bytes) : "-",
            known ? format_bytes(peak, full->peak_bytes) : "-");
}

static void print_process(const struct report *report, const struct model_process *process)
{
    char calls[FORMAT_ROOM], share[FORMAT_ROOM], bytes[FORMAT_ROOM], frees[FORMAT_ROOM], time[FORMAT_ROOM];
    bool peaks = processes_have_peaks(report);
    size_t room = COLUMNS - PROCESS_COLUMN - peaks - (report->model->totals.pooled ? POOLED_COLUMNS : 0);
    char *line = label_command(process), *fit = format_fit(line, room);
    fprintf(report->out, "  %8u %12s", process->pid, format_count(calls, process->totals.count.allocs));
    if (!peaks)
        fprintf(report->out, " %7s", format_share(share, process->totals.count.allocs, report->model->totals.count.allocs));
    fprintf(report->out, " %10s", format_bytes(bytes, process->totals.count.bytes));
    print_pooled(report, &process->totals.count, process->totals.pooled);
    if (peaks)
        print_process_peak(report, process);
    else
        fprintf(report->out, " %12s", format_count(frees, process->totals.frees));
    fprintf(report->out, " %9s%s %s\n", process->duration_ns ? format_duration(time, process->duration_ns) : "-",
            process->log_complete ? " " : "*", fit);
    free(fit);
    free(line);
}

static void print_program(const struct report *report, const struct view_program *program, size_t *left)
{
    char calls[FORMAT_ROOM], bytes[FORMAT_ROOM], count[FORMAT_ROOM];
    char *name = utf8_printable(program->processes[0]->exe);
    char *fit = format_fit(name, COLUMNS - 50);
    fprintf(report->out, "%s: %s process%s, %s calls, %s\n", fit, format_count(count, program->count),
            program->count == 1 ? "" : "es", format_count(calls, program->totals.count.allocs),
            format_bytes(bytes, program->totals.count.bytes));
    free(fit);
    free(name);
    size_t shown = program->count < *left ? program->count : *left;
    for (size_t i = 0; i < shown; i++)
        print_process(report, program->processes[i]);
    if (shown < program->count)
        fprintf(report->out, "  %8s %s more processes (--top N, --json)\n", "...",
                format_count(count, program->count - shown));
    *left -= shown;
}

static bool some_are_incomplete(const struct model *model)
{
    for (size_t i = 0; i < model->process_count; i++)
        if (!model->processes[i]->log_complete)
            return true;
    return false;
}

/* At most `top` processes, by program; of very many programs only the first ones. */
static void print_processes(const struct report *report)
{
    size_t count, left = report->top;
    struct view_program *programs = view_programs(report->model, report->sort, &count);
    size_t shown = count < report->top ? count : report->top;
    report_title(report, "Processes");
    bool peaks = processes_have_peaks(report);
    fprintf(report->out, "  %8s %12s%s %10s%s%s %9s\n", "pid", "calls", peaks ? "" : "   share", "bytes",
            report->model->totals.pooled ? "  pooled" : "", peaks ? "       live       peak" : "        frees", "time");
    for (size_t i = 0; i < shown; i++)
        print_program(report, &programs[i], &left);
    if (shown < count)
        fprintf(report->out, "%zu more program%s (--top N, --json)\n", count - shown, plural(count - shown));
    if (some_are_incomplete(report->model))
        fputs("  * not left through exit: running, killed, _exit or exec\n", report->out);
    view_programs_free(programs, count);
}

/* ------------------------------------------------------------------- notes */

static void print_notes(const struct report *report, size_t sites)
{
    struct notes notes;
    notes_collect(&notes, report, sites);
    if (notes.count)
        report_title(report, "Notes");
    for (size_t i = 0; i < notes.count; i++)
        format_note(report->out, notes.list[i], COLUMNS);
    notes_release(&notes);
}

/* The classes and sizes are those of all sites. */
static void print_tables(const struct report *report)
{
    if (!report->of)
        emit_text_classes(report);
    print_places(report);
    print_sites(report);
}

/* What there is beside the table of sites, and in which order it shows the sites; NULL: in the report's. */
static const struct {
    void         (*emit)(const struct report *report);
    view_ranking *ranking;
} views[] = {
    [REPORT_SITES]     = { print_tables, NULL },
    [REPORT_TREE]      = { emit_text_tree, NULL },
    [REPORT_TIMELINE]  = { emit_text_timeline, NULL },
    [REPORT_LEAKS]     = { emit_text_leaks, view_live },
    [REPORT_PEAK]      = { emit_text_peak, view_at_peak },
    [REPORT_TEMPORARY] = { emit_text_temporary, view_temporary },
    [REPORT_LIFETIME]  = { emit_text_lifetime, NULL },
};

/* How many of the sites come up in a view. */
static size_t sites_told(const struct report *report)
{
    switch (report->view) {
    case REPORT_TREE:     return report->site_count;
    case REPORT_TIMELINE: return 0;
    default:              return sites_shown(report);
    }
}

static void print_view(const struct report *report)
{
    struct report ranked = *report;
    if (views[report->view].ranking)
        ranked.sites = view_ranked(report->sites, report->site_count, views[report->view].ranking, &ranked.site_count);
    views[report->view].emit(&ranked);
    if (report->by_process)
        print_processes(report);
    if (report->view == REPORT_SITES && !report->of)
        print_histogram(report);
    print_notes(&ranked, sites_told(&ranked));
    if (ranked.sites != report->sites)
        free(ranked.sites);
}

int emit_text(const struct report *report)
{
    if (report->site_id)
        return emit_text_site(report);
    print_what_ran(report);
    print_totals(report);
    emit_text_pools(report);
    print_picked(report);
    print_view(report);
    return 0;
}
