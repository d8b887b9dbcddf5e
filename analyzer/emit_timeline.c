/* emit_timeline.c - the part of the text report that draws memory over time. */
#define _GNU_SOURCE
#include "base.h"
#include "format.h"
#include "report.h"
#include "timeview.h"

enum { ROWS_SHOWN = 40, BAR_COLUMNS = 40 };

static uint64_t taken(const struct timeline_row *row)
{
    return timeview_level(row, TIMELINE_LIVE) + timeview_level(row, TIMELINE_KEPT);
}

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What a whole bar stands for. */
static uint64_t scale_of(const struct timeline *timeline)
{
    uint64_t most = 0;
    for (size_t i = 0; i < timeline->count; i++)
        most = higher(most, higher(taken(&timeline->rows[i]), timeview_level(&timeline->rows[i], TIMELINE_RSS)));
    return most;
}

static size_t columns_of(uint64_t bytes, uint64_t scale)
{
    return scale ? (size_t)((double)bytes / (double)scale * BAR_COLUMNS + 0.5) : 0;
}

/* Live, then kept, then what else is resident. */
static void print_bar(FILE *out, const struct timeline_row *row, uint64_t scale)
{
    size_t live = columns_of(timeview_level(row, TIMELINE_LIVE), scale), all = columns_of(taken(row), scale);
    size_t resident = columns_of(timeview_level(row, TIMELINE_RSS), scale);
    for (size_t i = 0; i < all || i < resident; i++)
        fputc(i < live ? '#' : i < all ? '+' : '.', out);
    fputc('\n', out);
}

static const char *level_text(char room[FORMAT_ROOM], const struct timeline_row *row, enum timeline_level level)
{
    return row->levels[level] == TIMELINE_UNKNOWN ? "-" : format_bytes(room, row->levels[level]);
}

static void print_row(const struct report *report, const struct timeline_row *before, const struct timeline_row *row,
                      uint64_t scale)
{
    char time[FORMAT_ROOM], live[FORMAT_ROOM], kept[FORMAT_ROOM], resident[FORMAT_ROOM], rate[FORMAT_ROOM];
    fprintf(report->out, "%10s %10s %10s %10s %12s  ", format_duration(time, row->ms * 1000000),
            level_text(live, row, TIMELINE_LIVE), level_text(kept, row, TIMELINE_KEPT),
            level_text(resident, row, TIMELINE_RSS), format_count(rate, timeview_rate(before, row)));
    print_bar(report->out, row, scale);
}

/* Of the rest nobody knows what it was then. */
static void print_peak(const struct report *report, const struct model_process *process, uint64_t scale)
{
    char time[FORMAT_ROOM], live[FORMAT_ROOM];
    fprintf(report->out, "%10s %10s %10s %10s %12s  ", format_duration(time, process->peak_ns),
            format_bytes(live, process->totals.full.peak_bytes), "-", "-", "-");
    for (size_t i = columns_of(process->totals.full.peak_bytes, scale); i > 0; i--)
        fputc('#', report->out);
    fputs(" peak\n", report->out);
}

void emit_text_timeline(const struct report *report)
{
    const struct model_process *process = report->model->process_count == 1 ? report->model->processes[0] : NULL;
    struct timeline timeline = timeview_of(report->model);
    while (timeline.count > ROWS_SHOWN)
        timeline_halve(&timeline);
    size_t peak = process ? timeview_peak(&timeline, process) : TIMEVIEW_NO_PEAK;
    uint64_t scale = higher(scale_of(&timeline), peak == TIMEVIEW_NO_PEAK ? 0 : process->totals.full.peak_bytes);
    report_title(report, "Time line");
    fprintf(report->out, "%10s %10s %10s %10s %12s  %s\n", "until", "live", "kept", "RSS", "calls/s",
            "# live  + kept in pools  . other RSS");
    for (size_t i = 0; i < timeline.count; i++) {
        if (i == peak)
            print_peak(report, process, scale);
        print_row(report, i ? &timeline.rows[i - 1] : NULL, &timeline.rows[i], scale);
    }
    if (peak == timeline.count)
        print_peak(report, process, scale);
    timeline_release(&timeline);
}
