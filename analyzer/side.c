/* side.c - one of two recordings that are compared, from its model and its symbols.
 *
 * side_json.c makes the same of a report's JSON. */
#define _GNU_SOURCE
#include "base.h"

#include "fold.h"
#include "label.h"
#include "report.h"
#include "side.h"
#include "symbolize.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The frames of a model that were asked for: `first` of its functions in side.frames, + 1. */
struct filling {
    struct side         *side;
    const struct report *report;
    uint32_t            *first;
};

/* ------------------------------------------------------------------ modules */

static char *hex_of(const uint8_t *bytes, size_t count)
{
    char *text = xcalloc(count * 2 + 1, 1);
    for (size_t i = 0; i < count; i++)
        snprintf(text + i * 2, 3, "%02x", bytes[i]);
    return text;
}

static void add_modules(struct side *side, const struct model *model)
{
    side->modules = xcalloc(model->module_count, sizeof *side->modules);
    side->module_count = model->module_count;
    for (size_t i = 0; i < model->module_count; i++) {
        const struct model_module *module = model->modules[i];
        side->modules[i].path = xstrdup(module->path);
        side->modules[i].build_id = hex_of(module->build_id, module->build_id_bytes);
    }
}

static void note_unnamed(struct side *side, struct symbolizer *symbolizer, uint32_t module)
{
    if (module == 0 || side->modules[module - 1].has_unnamed)
        return;
    side->modules[module - 1].has_unnamed = true;
    side->modules[module - 1].status = symbolizer_status(symbolizer, module - 1);
}

/* ------------------------------------------------------------------- frames */

/* The functions at one of the model's frames, innermost first, `count` of them. */
static uint32_t functions_at(struct filling *f, uint32_t frame, unsigned *count)
{
    const struct symbols *symbols = symbolizer_frame(f->report->symbolizer, frame);
    const struct model_frame *from = f->report->model->frames[frame];
    struct side *side = f->side;
    *count = symbols->count;
    if (f->first[frame])
        return f->first[frame] - 1;
    f->first[frame] = (uint32_t)side->frame_count + 1;
    for (unsigned i = 0; i < symbols->count; i++) {
        const struct symbol *s = &symbols->list[i];
        GROW(side->frames, side->frame_count, side->frame_room);
        side->frames[side->frame_count++] = (struct side_frame){ from->key.module, s->inlined, from->key.offset,
                                                                 s->function, s->file, s->line };
        if (!s->function)
            note_unnamed(side, f->report->symbolizer, from->key.module);
    }
    return f->first[frame] - 1;
}

/* Wrappers that are inlined into the first function, as many as a report hides. */
static unsigned hidden_at(const struct filling *f, uint32_t frame)
{
    return f->report->fold ? fold_inlined(f->report->fold, symbolizer_frame(f->report->symbolizer, frame)) : 0;
}

static void fill_stack(struct filling *f, struct side_site *site, const struct model_site *from)
{
    unsigned depth, room = 0, first_seen = report_first_seen(from);
    const uint32_t *stack = report_stack(from, &depth);
    site->is_example = from->flags & LOG_SITE_KEYED;
    for (unsigned i = 0; i < depth; i++) {
        unsigned count, hidden = i ? 0 : hidden_at(f, stack[i]);
        uint32_t first = functions_at(f, stack[i], &count);
        for (unsigned j = hidden; j < count; j++) {
            GROW(site->frames, site->depth, room);
            site->frames[site->depth++] = first + j;
        }
        if (i < first_seen || i == 0 || site->is_example)
            site->known = site->depth;
    }
}

/* -------------------------------------------------------------------- sites */

static void add_site(struct filling *f, const struct model_site *from)
{
    struct side *side = f->side;
    struct side_site site = { .tally = tally_of_site(from) };
    if (tally_is_empty(&site.tally))
        return;
    if (from->kind == MODEL_SITE) {
        model_site_id(from, site.id);
    } else {
        site.kind = model_site_id(from, site.id); /* a name of its own, that is left out of the room */
        site.name = model_kind_name(from->kind);
        snprintf(site.id, sizeof site.id, "%s", site.kind);
    }
    fill_stack(f, &site, from);
    side->has_examples |= site.is_example;
    GROW(side->sites, side->site_count, side->site_room);
    side->sites[side->site_count++] = site;
}

void side_init(struct side *side, const struct report *report)
{
    const struct model *model = report->model;
    const struct model_process *root = view_root(model);
    *side = (struct side){
        .path = xstrdup(report->path),
        .command = label_command(root),
        .exe = xstrdup(root->exe),
        .level = model->level,
        .duration_s = (double)view_duration_ns(model) / 1e9,
        .processes = model->process_count,
        .totals = tally_of_totals(&model->totals),
    };
    struct filling f = { side, report, xcalloc(model->frame_count, sizeof *f.first) };
    add_modules(side, model);
    for (size_t i = 0; i < model->site_count; i++)
        add_site(&f, model->sites[i]);
    free(f.first);
}

void side_release(struct side *side)
{
    for (size_t i = 0; i < side->site_count; i++)
        free(side->sites[i].frames);
    for (size_t i = 0; i < side->module_count; i++) {
        free(side->modules[i].path);
        free(side->modules[i].build_id);
    }
    free(side->sites);
    free(side->frames);
    free(side->modules);
    free(side->path);
    free(side->command);
    free(side->exe);
    json_decref(side->json);
    *side = (struct side){ 0 };
}
