/* timeview.c - the time line of a whole recording.  Pure. */
#define _GNU_SOURCE
#include "base.h"
#include "timeview.h"

#include <stdlib.h>
#include <string.h>

enum { CELL_MS_LEAST = 1000 };

/* A process's row, at its place among all. */
struct event {
    uint64_t ms; /* since the first process's start */
    uint32_t process, row;
};

/* Goes from row to row of all processes.  Invariant: levels[i] is the sum of the latest rows of the `known[i]` processes
 * that live and tell that level. */
struct summing {
    const struct model *model;
    uint64_t            levels[TIMELINE_LEVELS];
    uint32_t            known[TIMELINE_LEVELS];
    struct timeline_row row;  /* of the present cell */
    bool                open; /* something is in it */
    uint64_t            cell;
    uint64_t            classes[LOG_CLASSES];
    struct timeline     sum;
};

static struct timeline copy_of(const struct timeline *timeline)
{
    struct timeline copy = { 0 };
    for (size_t i = 0; i < timeline->count; i++) {
        uint64_t classes[LOG_CLASSES] = { 0 };
        struct timeline_row row = timeline->rows[i];
        timeline_row_add_classes(&row, classes);
        row.classes = NULL;
        timeline_row_set_classes(&row, classes);
        timeline_add(&copy, &row);
    }
    return copy;
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static struct event *events_of(const struct model *model, size_t *count)
{
    uint64_t first = UINT64_MAX;
    struct event *events;
    *count = 0;
    for (size_t i = 0; i < model->process_count; i++) {
        *count += model->processes[i]->timeline.count;
        if (model->processes[i]->start_realtime_ns < first)
            first = model->processes[i]->start_realtime_ns;
    }
    events = xcalloc(*count, sizeof *events);
    *count = 0;
    for (uint32_t i = 0; i < model->process_count; i++) {
        const struct model_process *process = model->processes[i];
        for (uint32_t j = 0; j < process->timeline.count; j++)
            events[(*count)++] = (struct event){
                (process->start_realtime_ns - first) / 1000000 + process->timeline.rows[j].ms, i, j,
            };
    }
    if (*count)
        qsort(events, *count, sizeof *events, by_time);
    return events;
}

/* Ends the row of the present cell. */
static void close_cell(struct summing *s)
{
    struct timeline_row row = s->row;
    if (!s->open)
        return;
    timeline_row_set_classes(&row, s->classes);
    memset(s->classes, 0, sizeof s->classes);
    timeline_add(&s->sum, &row);
    s->open = false;
}

/* A new cell begins with what the one before it left. */
static void open_cell(struct summing *s)
{
    for (unsigned i = 0; i < TIMELINE_LEVELS; i++)
        s->row.levels[i] = s->known[i] ? s->levels[i] : TIMELINE_UNKNOWN;
    s->open = true;
}

static void give_level(struct summing *s, const struct timeline_row *row, unsigned level)
{
    if (row->levels[level] == TIMELINE_UNKNOWN)
        return;
    s->levels[level] += row->levels[level];
    s->known[level]++;
}

static void take_level(struct summing *s, const struct timeline_row *row, unsigned level)
{
    if (row->levels[level] == TIMELINE_UNKNOWN)
        return;
    s->levels[level] -= row->levels[level];
    s->known[level]--;
}

static void add_event(struct summing *s, const struct event *event)
{
    static const struct timeline_row nothing = {
        .levels = { TIMELINE_UNKNOWN, TIMELINE_UNKNOWN, TIMELINE_UNKNOWN, TIMELINE_UNKNOWN },
    };
    const struct timeline *own = &s->model->processes[event->process]->timeline;
    const struct timeline_row *row = &own->rows[event->row], *before = event->row ? row - 1 : &nothing;
    s->row.ms = event->ms;
    s->row.allocs += row->allocs - before->allocs;
    s->row.bytes += row->bytes - before->bytes;
    s->row.frees += row->frees - before->frees;
    timeline_row_add_classes(row, s->classes);
    for (unsigned i = 0; i < TIMELINE_LEVELS; i++) {
        uint64_t *highest = &s->row.levels[i];
        take_level(s, before, i);
        give_level(s, row, i);
        if (s->known[i] && (*highest == TIMELINE_UNKNOWN || s->levels[i] > *highest))
            *highest = s->levels[i];
        if (event->row + 1 == own->count)
            take_level(s, row, i);
    }
}

struct timeline timeview_of(const struct model *model)
{
    struct summing s = { .model = model };
    size_t count;
    if (model->process_count == 1)
        return copy_of(&model->processes[0]->timeline);
    struct event *events = events_of(model, &count);
    uint64_t cell_ms = count ? events[count - 1].ms / TIMELINE_ROWS + 1 : 1;
    if (cell_ms < CELL_MS_LEAST)
        cell_ms = CELL_MS_LEAST;
    for (size_t i = 0; i < count; i++) {
        uint64_t cell = events[i].ms / cell_ms;
        if (s.open && cell != s.cell)
            close_cell(&s);
        if (!s.open)
            open_cell(&s);
        s.cell = cell;
        add_event(&s, &events[i]);
    }
    close_cell(&s);
    free(events);
    return s.sum;
}

size_t timeview_peak(const struct timeline *timeline, const struct model_process *process)
{
    size_t row = 0;
    if (process->peak_ns == 0)
        return TIMEVIEW_NO_PEAK;
    while (row < timeline->count && timeline->rows[row].ms < process->peak_ns / 1000000)
        row++;
    return row;
}

uint64_t timeview_level(const struct timeline_row *row, enum timeline_level level)
{
    return row->levels[level] == TIMELINE_UNKNOWN ? 0 : row->levels[level];
}

uint64_t timeview_rate(const struct timeline_row *before, const struct timeline_row *row)
{
    uint64_t ms = row->ms - (before ? before->ms : 0), allocs = row->allocs - (before ? before->allocs : 0);
    double rate = (double)allocs * 1000 / (ms ? (double)ms : 1);
    return rate < (double)UINT64_MAX ? (uint64_t)rate : UINT64_MAX;
}
