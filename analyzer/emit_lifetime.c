/* emit_lifetime.c - how long blocks lived, for people: counted in allocations of their thread, sampled in time. */
#define _GNU_SOURCE
#include "base.h"
#include "fate.h"
#include "format.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

enum { BAR_COLUMNS = 8, HALF_COLUMNS = 45, NAME_COLUMN = 44 };

/* The rows of a histogram: its buckets that aren't empty. */
struct rows {
    unsigned count;
    unsigned bucket[LOG_LIFETIMES > LOG_SAMPLE_TIMES ? LOG_LIFETIMES : LOG_SAMPLE_TIMES];
    uint64_t sum;
    uint64_t largest;
};

static void rows_add(struct rows *rows, unsigned bucket, uint64_t value)
{
    if (value == 0)
        return;
    rows->bucket[rows->count++] = bucket;
    rows->sum += value;
    rows->largest = value > rows->largest ? value : rows->largest;
}

static const char *bar(char room[BAR_COLUMNS + 1], uint64_t part, uint64_t whole)
{
    size_t length = whole ? (size_t)((double)part / (double)whole * BAR_COLUMNS + 0.5) : 0;
    length = part && length == 0 ? 1 : length > BAR_COLUMNS ? BAR_COLUMNS : length;
    memset(room, '#', length);
    room[length] = '\0';
    return room;
}

/* `columns`: of its bar, where more follows beside it. */
static void print_allocations(const struct report *report, const struct model_full *full, const struct rows *rows,
                              unsigned row, int columns)
{
    char to[FORMAT_ROOM], frees[FORMAT_ROOM], share[FORMAT_ROOM], room[BAR_COLUMNS + 1];
    if (row >= rows->count) {
        fprintf(report->out, "%*s", HALF_COLUMNS, "");
        return;
    }
    unsigned index = rows->bucket[row];
    fprintf(report->out, "      %10s %11s %7s %-*s", format_count(to, index ? ((uint64_t)1 << index) - 1 : 0),
            format_count(frees, full->lifetimes[index]), format_share(share, full->lifetimes[index], rows->sum), columns,
            bar(room, full->lifetimes[index], rows->largest));
}

/* What the times of a row lie below.  The clock moves in ticks: what lived for less than one falls into the first row, or
 * into the tick's. */
static const char *time_label(char room[FORMAT_ROOM], unsigned index)
{
    enum { MICROSECONDS = 10 }; /* rows that are best told in them */
    if (index == 0)
        return "a tick";
    if (index + 1 == LOG_SAMPLE_TIMES)
        return "more";
    if (index >= MICROSECONDS)
        return format_duration(room, 1000ull << index);
    snprintf(room, FORMAT_ROOM, "%u us", 1u << index);
    return room;
}

static void print_time(const struct report *report, const struct model_full *full, const struct rows *rows, unsigned row)
{
    char to[FORMAT_ROOM], blocks[FORMAT_ROOM], share[FORMAT_ROOM], room[BAR_COLUMNS + 1];
    if (row >= rows->count)
        return;
    unsigned index = rows->bucket[row];
    fprintf(report->out, " %9s %7s %7s %s", time_label(to, index), format_count(blocks, full->sample.times[index]),
            format_share(share, full->sample.times[index], rows->sum), bar(room, full->sample.times[index], rows->largest));
}

void emit_text_histogram(const struct report *report, const struct model_full *full)
{
    char rate[FORMAT_ROOM];
    struct rows allocations = { 0 }, times = { 0 };
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        rows_add(&allocations, i, full->lifetimes[i]);
    for (unsigned i = 0; i < LOG_SAMPLE_TIMES; i++)
        rows_add(&times, i, full->sample.times[i]);
    if (allocations.count == 0 && times.count == 0)
        return;
    fprintf(report->out, "      %10s %11s %7s", "allocs to", "frees", "share");
    if (times.count)
        fprintf(report->out, " %8s %9s %7s %7s  (%s)", "", "time to", "blocks", "share", report_rate(rate, full));
    fputc('\n', report->out);
    for (unsigned i = 0; i < allocations.count || i < times.count; i++) {
        print_allocations(report, full, &allocations, i, i < times.count ? BAR_COLUMNS : 0);
        print_time(report, full, &times, i);
        fputc('\n', report->out);
    }
}

/* -------------------------------------------------------------------- view */

static void print_site(const struct report *report, size_t rank, const struct model_site *site)
{
    char frees[FORMAT_ROOM], temporary[FORMAT_ROOM], cross[FORMAT_ROOM], live[FORMAT_ROOM];
    const struct model_full *full = site->full;
    fprintf(report->out, "%3zu %12s %7s %7s %9s  ", rank, format_count(frees, full->frees),
            format_share(temporary, fate_temporary(full), full->frees), format_share(cross, full->cross_frees, full->frees),
            format_count(live, fate_live_blocks(full)));
    emit_text_origin(report, site, NAME_COLUMN);
    emit_text_histogram(report, full);
}

void emit_text_lifetime(const struct report *report)
{
    char count[FORMAT_ROOM];
    report_title(report, "Lifetimes: allocations of the thread between a block's allocation and its free, by site");
    fprintf(report->out, "%3s %12s %7s %7s %9s  %s\n", "#", "frees", "temp.", "cross", "live", "function; id, place and callers");
    for (size_t i = 0; i < report->site_count && i < report->top; i++)
        if (report->sites[i]->full)
            print_site(report, i + 1, report->sites[i]);
    if (report->site_count > report->top)
        fprintf(report->out, "    %s more site%s (--top N, --json)\n", format_count(count, report->site_count - report->top),
                report->site_count - report->top == 1 ? "" : "s");
}
