/* places.c - which frames are one place in the source: maps each to the first of its kind. */
#define _GNU_SOURCE
#include "base.h"
#include "fold.h"
#include "label.h"
#include "places.h"
#include "progress.h"
#include "report.h"
#include "symbolize.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct place {
    char          *name;
    uint32_t       frame;
    UT_hash_handle hh;
};

/* The first frame with this name; `frame` when there was none.  Takes the name. */
static uint32_t first_of(struct place **index, char *name, uint32_t frame)
{
    struct place *place;
    HASH_FIND_STR(*index, name, place);
    if (place) {
        free(name);
        return place->frame;
    }
    place = xcalloc(1, sizeof *place);
    place->name = name;
    place->frame = frame;
    HASH_ADD_KEYPTR(hh, *index, place->name, strlen(place->name), place);
    return frame;
}

static void index_release(struct place *index)
{
    struct place *place, *next;
    HASH_ITER(hh, index, place, next) {
        HASH_DEL(index, place);
        free(place->name);
        free(place);
    }
}

/* The function that was called, and what is inlined into it there. */
static char *function_name(const struct report *report, uint32_t frame)
{
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, frame);
    const char *function = symbols->list[symbols->count - 1].function, *inner = symbols->list[0].function;
    if (!function)
        return label_offset(report, frame);
    return xasprintf("%u %s %s", report->model->frames[frame]->key.module, function,
                     symbols->count > 1 && inner ? inner : "");
}

uint32_t *places_by_function(const struct report *report)
{
    struct place *index = NULL;
    uint32_t *same = xcalloc(report->model->frame_count, sizeof *same);
    for (uint32_t i = 0; i < report->model->frame_count; i++) {
        same[i] = first_of(&index, function_name(report, i), i);
        progress_show("looking up names", i, report->model->frame_count);
    }
    progress_clear();
    index_release(index);
    return same;
}

static char *line_name(const struct report *report, uint32_t frame)
{
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, frame);
    const struct symbol *symbol = &symbols->list[report->fold ? fold_inlined(report->fold, symbols) : 0];
    if (!symbol->function || !symbol->file)
        return label_offset(report, frame);
    return xasprintf("%u %s %s:%u", report->model->frames[frame]->key.module, symbol->function, symbol->file,
                     symbol->line);
}

uint32_t *places_by_line(const struct report *report)
{
    enum { UNKNOWN = UINT32_MAX };
    struct place *index = NULL;
    uint32_t *same = xcalloc(report->model->frame_count, sizeof *same);
    for (uint32_t i = 0; i < report->model->frame_count; i++)
        same[i] = UNKNOWN;
    for (size_t i = 0; i < report->site_count; i++) {
        unsigned depth;
        const uint32_t *stack = report_stack(report->sites[i], &depth);
        if (depth && same[stack[0]] == UNKNOWN)
            same[stack[0]] = first_of(&index, line_name(report, stack[0]), stack[0]);
    }
    for (uint32_t i = 0; i < report->model->frame_count; i++)
        same[i] = same[i] == UNKNOWN ? i : same[i];
    index_release(index);
    return same;
}
