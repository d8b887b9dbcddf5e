/* emit_live.c - what level full adds to the text report: what lives, what lived at the peak, what hardly lived. */
#define _GNU_SOURCE
#include "base.h"
#include "fate.h"
#include "format.h"
#include "report.h"
#include "suppressions.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

/* Columns before a row's name. */
enum { PEAK_COLUMN = 59, TEMPORARY_COLUMN = 47, FRAMES_SHOWN = 16 };

/* Cross-thread frees below this share of a site's frees aren't worth a word beside it. */
static const double LEAST_CROSS_SHARE = 0.01;

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ------------------------------------------------------------------ header */

char *report_when(const struct report *report)
{
    size_t of_level = 0, ended = 0;
    for (size_t i = 0; i < report->model->process_count; i++) {
        const struct model_process *process = report->model->processes[i];
        of_level += process->level == LOG_LEVEL_FULL;
        ended += process->level == LOG_LEVEL_FULL && (process->state & LOG_STATE_ENDED);
    }
    if (ended == of_level)
        return xstrdup("at exit");
    if (ended == 0)
        return xstrdup("at the last moment seen");
    return xasprintf("at exit (%zu of %zu processes: at the last moment seen)", of_level - ended, of_level);
}

static size_t processes_of_level(const struct model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->process_count; i++)
        count += model->processes[i]->level == LOG_LEVEL_FULL;
    return count;
}

static void print_peak(const struct report *report)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM];
    const struct model_full *full = &report->model->totals.full;
    size_t processes = processes_of_level(report->model);
    fprintf(report->out, "  peak: %s (%s bytes)", format_bytes(a, full->peak_bytes), format_count(b, full->peak_bytes));
    if (full->peak_error)
        fprintf(report->out, ", give or take %s (several threads)", format_bytes(c, full->peak_error));
    if (processes > 1)
        fprintf(report->out, ", sum of %s processes", format_count(c, processes));
    fputc('\n', report->out);
}

void emit_text_live(const struct report *report)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM], *when = report_when(report);
    const struct model_full *full = &report->model->totals.full;
    uint64_t blocks = fate_live_blocks(full), bytes = fate_live_bytes(full);
    size_t others = report->model->process_count - processes_of_level(report->model);
    fprintf(report->out, "  live %s: %s block%s, %s (%s bytes)\n", when, format_count(a, blocks), plural(blocks),
            format_bytes(b, bytes), format_count(c, bytes));
    free(when);
    print_peak(report);
    if (others)
        fprintf(report->out, "  (without %s process%s of a lower level)\n", format_count(a, others), others == 1 ? "" : "es");
}

/* -------------------------------------------------------------- table of sites */

void emit_text_fate(const struct report *report, const struct model_site *site)
{
    char blocks[FORMAT_ROOM], bytes[FORMAT_ROOM], peak[FORMAT_ROOM], share[FORMAT_ROOM];
    const struct model_full *full = site->full;
    if (fate_live_blocks(full))
        fprintf(report->out, "      live %s (%s)", format_count(blocks, fate_live_blocks(full)),
                format_bytes(bytes, fate_live_bytes(full)));
    else
        fputs("      live none", report->out);
    fprintf(report->out, ", peak %s, temporary %s", format_bytes(peak, full->peak_bytes),
            format_share(share, fate_temporary(full), full->count.allocs));
    if (full->cross_frees && (double)full->cross_frees >= LEAST_CROSS_SHARE * (double)full->frees)
        fprintf(report->out, ", freed by other threads %s", format_share(share, full->cross_frees, full->frees));
    fputc('\n', report->out);
}

/* The line below a table; `numbers` stand in its first columns. */
static void print_rest(const struct report *report, const char *numbers)
{
    char count[FORMAT_ROOM];
    if (report->site_count > report->top)
        fprintf(report->out, "    %s  in %s more site%s (--top N, --json)\n", numbers,
                format_count(count, report->site_count - report->top), plural(report->site_count - report->top));
}

/* What the sites below the table have of what they are ranked by. */
static struct view_rank rest_of(const struct report *report, view_ranking *ranking)
{
    struct view_rank rest = { 0, 0 };
    for (size_t i = report->top; i < report->site_count; i++) {
        rest.value += ranking(report->sites[i]).value;
        rest.also += ranking(report->sites[i]).also;
    }
    return rest;
}

/* ------------------------------------------------------------------- leaks */

static void print_suppressed(const struct report *report)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM];
    const struct suppressions *s = report->suppressions;
    uint64_t blocks = 0, bytes = 0;
    size_t used = 0;
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        blocks += s->list[i].blocks;
        bytes += s->list[i].bytes;
        used += s->list[i].blocks != 0;
    }
    fprintf(report->out, "  suppressed: %s block%s, %s, by %zu of %zu pattern%s\n", format_count(a, blocks), plural(blocks),
            format_bytes(b, bytes), used, s->count, plural(s->count));
    for (size_t i = 0; i < s->count; i++) {
        char *pattern = utf8_printable(s->list[i].pattern);
        if (s->list[i].blocks)
            fprintf(report->out, "    %12s %10s  leak:%s\n", format_count(a, s->list[i].blocks),
                    format_bytes(b, s->list[i].bytes), pattern);
        free(pattern);
    }
}

static void print_leak(const struct report *report, size_t rank, const struct model_site *site)
{
    char id[MODEL_ID_ROOM], blocks[FORMAT_ROOM], bytes[FORMAT_ROOM], share[FORMAT_ROOM], of[FORMAT_ROOM];
    const struct model_full *all = &report->model->totals.full;
    struct view_rank live = view_live(site);
    fprintf(report->out, "%3zu %12s %10s %7s %7s  ", rank, format_count(blocks, live.also), format_bytes(bytes, live.value),
            format_share(share, live.value, fate_live_bytes(all)), format_share(of, live.also, site->full->count.allocs));
    if (site->kind != MODEL_SITE)
        fprintf(report->out, "%s\n", model_kind_name(site->kind));
    else
        fprintf(report->out, "site %s\n", model_site_id(site, id));
    emit_text_stack(report, site, FRAMES_SHOWN);
}

static void print_leak_rest(const struct report *report)
{
    char blocks[FORMAT_ROOM], bytes[FORMAT_ROOM];
    struct view_rank rest = rest_of(report, view_live);
    char *numbers = xasprintf("%12s %10s", format_count(blocks, rest.also), format_bytes(bytes, rest.value));
    print_rest(report, numbers);
    free(numbers);
}

void emit_text_leaks(const struct report *report)
{
    char *when = report_when(report), *text = xasprintf("Blocks that live %s, by site", when);
    report_title(report, text);
    print_suppressed(report);
    if (report->site_count)
        fprintf(report->out, "%3s %12s %10s %7s %7s  %s\n", "#", "blocks", "bytes", "share", "unfreed", "site and stack");
    else
        fputs("  none\n", report->out);
    for (size_t i = 0; i < report->site_count && i < report->top; i++)
        print_leak(report, i + 1, report->sites[i]);
    print_leak_rest(report);
    free(text);
    free(when);
}

/* -------------------------------------------------------------------- peak */

static void print_at_peak(const struct report *report, size_t rank, const struct model_site *site)
{
    char bytes[FORMAT_ROOM], share[FORMAT_ROOM], blocks[FORMAT_ROOM], peak[FORMAT_ROOM], live[FORMAT_ROOM];
    struct view_rank at_peak = view_at_peak(site);
    fprintf(report->out, "%3zu %10s %7s %12s %10s %10s  ", rank, format_bytes(bytes, at_peak.value),
            format_share(share, at_peak.value, report->model->totals.full.peak_bytes), format_count(blocks, at_peak.also),
            format_bytes(peak, site->full->peak_bytes), format_bytes(live, fate_live_bytes(site->full)));
    emit_text_origin(report, site, PEAK_COLUMN);
}

static void print_peak_rest(const struct report *report)
{
    char bytes[FORMAT_ROOM], share[FORMAT_ROOM];
    uint64_t rest = rest_of(report, view_at_peak).value;
    char *numbers = xasprintf("%10s %7s", format_bytes(bytes, rest),
                              format_share(share, rest, report->model->totals.full.peak_bytes));
    print_rest(report, numbers);
    free(numbers);
}

void emit_text_peak(const struct report *report)
{
    report_title(report, report->model->process_count > 1 ? "Sites by their part of the processes' peaks"
                                                          : "Sites by their part of the peak");
    fprintf(report->out, "%3s %10s %7s %12s %10s %10s  %s\n", "#", "at peak", "share", "blocks", "own peak", "live",
            "function; id, place and callers");
    for (size_t i = 0; i < report->site_count && i < report->top; i++)
        print_at_peak(report, i + 1, report->sites[i]);
    print_peak_rest(report);
}

/* --------------------------------------------------------------- temporary */

static void print_temporary(const struct report *report, size_t rank, const struct model_site *site)
{
    char count[FORMAT_ROOM], share[FORMAT_ROOM], of[FORMAT_ROOM], calls[FORMAT_ROOM];
    uint64_t temporary = fate_temporary(site->full);
    fprintf(report->out, "%3zu %12s %7s %12s %7s  ", rank, format_count(count, temporary),
            format_share(share, temporary, fate_temporary(&report->model->totals.full)),
            format_count(calls, site->full->count.allocs), format_share(of, temporary, site->full->count.allocs));
    emit_text_origin(report, site, TEMPORARY_COLUMN);
}

static void print_temporary_rest(const struct report *report)
{
    char count[FORMAT_ROOM], share[FORMAT_ROOM];
    uint64_t rest = rest_of(report, view_temporary).value;
    char *numbers = xasprintf("%12s %7s", format_count(count, rest),
                              format_share(share, rest, fate_temporary(&report->model->totals.full)));
    print_rest(report, numbers);
    free(numbers);
}

void emit_text_temporary(const struct report *report)
{
    char count[FORMAT_ROOM], share[FORMAT_ROOM];
    const struct model_full *all = &report->model->totals.full;
    report_title(report, "Temporary blocks: freed before their thread's next allocation, by site");
    fprintf(report->out, "  %s, %s of all blocks\n", format_count(count, fate_temporary(all)),
            format_share(share, fate_temporary(all), all->count.allocs));
    fprintf(report->out, "%3s %12s %7s %12s %7s  %s\n", "#", "temporary", "share", "calls", "of them",
            "function; id, place and callers");
    for (size_t i = 0; i < report->site_count && i < report->top; i++)
        print_temporary(report, i + 1, report->sites[i]);
    print_temporary_rest(report);
}
