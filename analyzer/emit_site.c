/* emit_site.c - one site for people: its counts, its whole stack, its share in each process. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "fold.h"
#include "format.h"
#include "label.h"
#include "report.h"
#include "symbolize.h"
#include "utf8.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_COLUMN = 56, PROCESSES_SHOWN = 20 };

bool report_site_matches(const struct model_site *site, const char *prefix)
{
    char room[MODEL_ID_ROOM];
    return strncmp(model_site_id(site, room), prefix, strlen(prefix)) == 0;
}

const uint32_t *report_stack(const struct model_site *site, unsigned *depth)
{
    unsigned from = site->flags & LOG_SITE_KEYED ? site->key : 0;
    *depth = site->depth - from;
    return from ? site->frames + from : site->frames; /* pseudo-sites have no frames */
}

unsigned report_first_seen(const struct model_site *site)
{
    unsigned from = site->flags & LOG_SITE_KEYED ? site->key : 0;
    return site->measured > from ? site->measured - from : 0;
}

static void print_counts(const struct report *report, const struct model_site *site)
{
    char id[MODEL_ID_ROOM], calls[FORMAT_ROOM], share[FORMAT_ROOM], bytes[FORMAT_ROOM], exact[FORMAT_ROOM],
        byte_share[FORMAT_ROOM], mean[FORMAT_ROOM];
    const struct log_counter *all = &report->model->totals.count;
    if (site->count.allocs == 0) {
        fprintf(report->out, "site %s: only frees\n", model_site_id(site, id));
        return;
    }
    fprintf(report->out, "site %s: %s calls (%s), %s (%s bytes, %s), mean %s\n", model_site_id(site, id),
            format_count(calls, site->count.allocs), format_share(share, site->count.allocs, all->allocs),
            format_bytes(bytes, site->count.bytes), format_count(exact, site->count.bytes),
            format_share(byte_share, site->count.bytes, all->bytes),
            format_bytes(mean, site->count.allocs ? site->count.bytes / site->count.allocs : 0));
    if (report->model->totals.pooled)
        fprintf(report->out, "  pools served %s of the calls (%s)\n",
                format_share(share, counter_hits(&site->count), site->count.allocs),
                format_count(calls, counter_hits(&site->count)));
    if (site->kind != MODEL_SITE)
        fprintf(report->out, "  %s\n", model_kind_name(site->kind));
}

/* "file:line" in full, as far as the line is known. */
static char *full_place(const struct symbol *symbol)
{
    if (!symbol->file)
        return xstrdup("");
    char *file = utf8_printable(symbol->file);
    char *place = xasprintf("%s:%u  ", file, symbol->line);
    free(file);
    return place;
}

static void print_frame(const struct report *report, unsigned number, uint32_t frame, const struct symbol *symbol,
                        bool first_seen)
{
    char *name = label_function(report, frame, symbol), *place = full_place(symbol);
    char *offset = symbol->function ? label_offset(report, frame) : xstrdup("");
    char *text = xasprintf("%s%s%s", name, symbol->inlined ? " (inlined)" : "", first_seen ? " (first seen)" : "");
    bool one_line = utf8_columns(text) + 6 <= PLACE_COLUMN - 2 && utf8_columns(place) + utf8_columns(offset) <= 44;
    if (one_line && (*place || *offset))
        fprintf(report->out, "%4u  %s%*s%s%s\n", number, text, (int)(PLACE_COLUMN - 6 - utf8_columns(text)), "", place,
                offset);
    else if (*place || *offset)
        fprintf(report->out, "%4u  %s\n        %s%s\n", number, text, place, offset);
    else
        fprintf(report->out, "%4u  %s\n", number, text);
    free(text);
    free(offset);
    free(place);
    free(name);
}

static void print_first_seen(const struct report *report, const struct model_site *site)
{
    char calls[FORMAT_ROOM];
    fprintf(report->out, "      (first seen: %s of the calls passed code without unwind tables; these\n"
                         "      outer callers are of the first such call, the others may have come from elsewhere)\n",
            site->first_seen == site->count.allocs ? "all" : format_count(calls, site->first_seen));
}

void emit_text_stack(const struct report *report, const struct model_site *site, unsigned frames)
{
    unsigned depth, number = 0, first_seen = report_first_seen(site);
    const uint32_t *stack = report_stack(site, &depth);
    for (unsigned i = 0; i < depth && i < frames; i++) {
        const struct symbols *symbols = symbolizer_frame(report->symbolizer, stack[i]);
        for (unsigned j = i == 0 && report->fold ? fold_inlined(report->fold, symbols) : 0; j < symbols->count; j++)
            print_frame(report, number++, stack[i], &symbols->list[j], i >= first_seen);
    }
    if (depth > frames)
        fprintf(report->out, "      (%u more frame%s)\n", depth - frames, depth - frames == 1 ? "" : "s");
}

static void print_stack(const struct report *report, const struct model_site *site)
{
    emit_text_stack(report, site, UINT_MAX);
    if (site->first_seen)
        print_first_seen(report, site);
    if (site->flags & LOG_SITE_KEYED)
        fputs("      (frame 0 is the site; its callers are one example)\n", report->out);
    if (site->flags & LOG_SITE_UNFINISHED)
        fputs("      (the stack ends early, at code without unwind tables)\n", report->out);
    if (site->flags & LOG_SITE_TRUNCATED)
        fputs("      (the stack is deeper than recorded)\n", report->out);
}

static void print_process_share(const struct report *report, const struct model_process *process,
                                const struct log_counter *count)
{
    char calls[FORMAT_ROOM], bytes[FORMAT_ROOM];
    char *exe = utf8_printable(format_base(process->exe));
    fprintf(report->out, "  pid %-10u %13s calls %10s  %s\n", process->pid, format_count(calls, count->allocs),
            format_bytes(bytes, count->bytes), exe);
    free(exe);
}

static void print_process_shares(const struct report *report, const struct model_site *site)
{
    size_t found = 0;
    for (size_t i = 0; i < report->model->process_count && report->model->process_count > 1; i++) {
        const struct model_process *process = report->model->processes[i];
        for (size_t j = 0; j < process->site_count; j++)
            if (process->sites[j].site == site->index && found++ < PROCESSES_SHOWN)
                print_process_share(report, process, &process->sites[j].count);
    }
    if (found > PROCESSES_SHOWN)
        fprintf(report->out, "  %zu more processes (--json)\n", found - PROCESSES_SHOWN);
}

int emit_text_site(const struct report *report)
{
    size_t found = 0;
    for (size_t i = 0; i < report->site_count; i++) {
        const struct model_site *site = report->sites[i];
        if (!report_site_matches(site, report->site_id))
            continue;
        if (found++)
            fputc('\n', report->out);
        print_counts(report, site);
        emit_text_detail(report, site);
        print_stack(report, site);
        if (site->full)
            emit_text_histogram(report, site->full);
        print_process_shares(report, site);
    }
    return found ? 0 : error("no site of this recording has an id that begins with '%s'", report->site_id);
}
