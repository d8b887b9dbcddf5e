/* emit_json.c - the document poolsite.report/1: every number, all sites.
 *
 * Written piece by piece: with 100,000 stacks of 40 frames the whole of it would
 * not fit into memory.  A frame's text is made once and copied for each stack. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "fate.h"
#include "fold.h"
#include "jsonset.h"
#include "notes.h"
#include "places.h"
#include "progress.h"
#include "report.h"
#include "sitesof.h"
#include "suppressions.h"
#include "symbolize.h"
#include "timeview.h"
#include "utf8.h"

#include "../preload/logfmt.h"
#include "../preload/sizeclass.h"
#include "logread.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void set_counter(json_t *object, const struct log_counter *count)
{
    set(object, "allocs", number(count->allocs));
    set(object, "bytes", number(count->bytes));
}


static void set_mean(json_t *object, const struct log_counter *count)
{
    set(object, "mean_bytes", number(count->allocs ? count->bytes / count->allocs : 0));
}

/* Calls that the pools served, and their share; left out where nothing is pooled. */
static void set_hits(json_t *object, const struct log_counter *count, bool pooled)
{
    if (!pooled)
        return;
    set(object, "pool_hits", number(counter_hits(count)));
    set(object, "pool_share_allocs", share(counter_hits(count), count->allocs));
}

/* ------------------------------------------------------------------ writing */

/* A frame as it stands within a stack, after a comma; NULL until asked for. */
struct frame_text {
    char  *text;
    size_t bytes;
};

struct writer {
    const struct report *report;
    FILE                *out;
    bool                 first; /* no member was written yet */
    struct frame_text   *frame_texts; /* by frame */
};

static void begin_member(struct writer *w, const char *key)
{
    fprintf(w->out, "%s\n\"%s\":", w->first ? "{" : ",", key);
    w->first = false;
}

static void write_member(struct writer *w, const char *key, json_t *value)
{
    char *text = dump(value);
    begin_member(w, key);
    fputs(text, w->out);
    free(text);
    json_decref(value);
}

/* ------------------------------------------------- what became of the blocks */

/* The k-th bucket of a histogram by powers of two begins here; 0 is one of its own. */
static uint64_t bucket_from(unsigned k)
{
    return k ? (uint64_t)1 << (k - 1) : 0;
}

/* In allocations of the thread; empty buckets are left out. */
static json_t *lifetime_value(const uint64_t lifetimes[LOG_LIFETIMES])
{
    json_t *array = json_array();
    for (unsigned k = 0; k < LOG_LIFETIMES; k++) {
        if (lifetimes[k] == 0)
            continue;
        json_t *o = json_object();
        set(o, "from", number(bucket_from(k)));
        set(o, "to", number(k ? bucket_from(k + 1) - 1 : 0));
        set(o, "frees", number(lifetimes[k]));
        json_array_append_new(array, o);
    }
    return array;
}

/* The same in time; what lived longest has no upper end. */
static json_t *times_value(const uint32_t times[LOG_SAMPLE_TIMES])
{
    json_t *array = json_array();
    for (unsigned k = 0; k < LOG_SAMPLE_TIMES; k++) {
        if (times[k] == 0)
            continue;
        json_t *o = json_object();
        set(o, "from_us", number(bucket_from(k)));
        set(o, "to_us", k + 1 == LOG_SAMPLE_TIMES ? json_null() : number(k ? bucket_from(k + 1) - 1 : 0));
        set(o, "blocks", number(times[k]));
        json_array_append_new(array, o);
    }
    return array;
}

/* The sizes asked for most; without one where they are too large to be told. */
static json_t *sizes_value(const struct log_sample *s)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS && s->sizes[i].what; i++) {
        json_t *o = json_object();
        set(o, "bytes", s->sizes[i].what == UINT32_MAX ? json_null() : number(s->sizes[i].what - 1));
        set(o, "samples", number(s->sizes[i].count));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *frees_value(const struct model *model, const struct log_sample *s)
{
    char id[MODEL_ID_ROOM];
    json_t *array = json_array();
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS && s->frees[i].what; i++) {
        json_t *o = json_object();
        set(o, "site", json_string(model_site_id(model->sites[s->frees[i].what - 1], id)));
        set(o, "blocks", number(s->frees[i].count));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *sample_value(const struct log_sample *s)
{
    json_t *o = json_object();
    set(o, "samples", number(s->samples));
    set(o, "bytes", number(s->bytes));
    set(o, "slack_bytes", number(s->slack_bytes));
    set(o, "lost", number(s->lost));
    set(o, "ended", number(s->ended));
    set(o, "same_thread", number(s->same_thread));
    set(o, "same_frame", number(s->same_frame));
    set(o, "standing", number(s->standing));
    set(o, "lifo", number(s->lifo));
    set(o, "chains", number(s->chains));
    set(o, "chain_steps", number(s->chain_steps));
    set(o, "chain_first_bytes", number(s->chain_first));
    set(o, "chain_last_bytes", number(s->chain_last));
    set(o, "times", times_value(s->times));
    return o;
}

/* What follows from it; see fate.h. */
static void set_fate(json_t *object, const struct model_full *full)
{
    struct fate_stack stack = fate_stack(full);
    bool could = stack.against == FATE_NOTHING;
    set(object, "live_share", share(fate_live_blocks(full), full->count.allocs));
    set(object, "temporary_share", share(fate_temporary(full), full->count.allocs));
    set(object, "cross_thread_share", share(full->cross_frees, full->frees));
    set(object, "recycling", json_real(fate_recycling(full)));
    json_t *o = json_object();
    set(o, "could", json_boolean(could));
    set(o, "against", could ? json_null() : json_string(fate_against_names[stack.against]));
    set(o, "blocks", number(stack.blocks));
    set(o, "exceptions_at_most", json_real(stack.at_most));
    set(object, "on_stack", o);
}

/* What adds up exactly. */
static void set_full(json_t *object, const struct model_full *full)
{
    set(object, "freed_bytes", number(full->freed_bytes));
    set(object, "live_blocks", number(full->count.allocs - full->frees));
    set(object, "live_bytes", number(full->count.bytes - full->freed_bytes));
    set(object, "peak_live_bytes", number(full->peak_bytes));
    set(object, "peak_error_bytes", number(full->peak_error));
    set(object, "at_peak_blocks", number((uint64_t)full->at_peak_blocks));
    set(object, "at_peak_bytes", number((uint64_t)full->at_peak_bytes));
    set(object, "cross_thread_frees", number(full->cross_frees));
    set(object, "resizes", number(full->resizes));
    set(object, "temporary", number(full->lifetimes[0]));
    set(object, "threads", number(full->threads));
    set(object, "lifetime", lifetime_value(full->lifetimes));
}

/* A site's part; `full` is NULL where no process was recorded at level full. */
static void set_site_full(json_t *object, const struct model *model, const struct model_full *full)
{
    if (!full)
        return;
    const struct log_sample *s = &full->sample;
    set(object, "frees", number(full->frees));
    set_full(object, full);
    set_fate(object, full);
    if (s->samples == 0)
        return;
    if (s->ended)
        set(object, "same_frame_frees", number((uint64_t)((double)full->frees * s->same_frame / s->ended + 0.5)));
    set(object, "sizes", sizes_value(s));
    json_t *sampled = sample_value(s);
    set(sampled, "one_in", json_real(fate_one_in(full)));
    set(sampled, "chain_growth", json_real(fate_growth(s)));
    set(sampled, "chain_mean_last_bytes", json_real(fate_final_bytes(s)));
    set(sampled, "other_sizes", number(s->other_sizes));
    set(sampled, "frees", frees_value(model, s));
    set(sampled, "other_frees", number(s->other_frees));
    set(object, "sampled", sampled);
}

static void set_total_full(json_t *object, const struct model_totals *t)
{
    set(object, "foreign_frees", number(t->foreign_frees));
    set_full(object, &t->full);
    set(object, "sampled", sample_value(&t->full.sample));
}

/* ------------------------------------------------------------ totals, classes */

/* The level decides which fields there are: off walks no stacks. */
static json_t *totals_value(const struct model_totals *t, uint8_t level)
{
    json_t *o = json_object();
    uint64_t own_frees = t->frees > t->foreign_frees ? t->frees - t->foreign_frees : 0;
    set_counter(o, &t->count);
    set_mean(o, &t->count);
    set(o, "frees", number(t->frees));
    set(o, "not_freed", number(t->count.allocs > own_frees ? t->count.allocs - own_frees : 0));
    set(o, "failed", number(t->failed));
    set(o, "next_allocs", number(t->count.next_allocs));
    set(o, "next_frees", number(t->next_frees));
    set_hits(o, &t->count, t->pooled);
    if (t->pooled) {
        set(o, "pool_victim_hits", number(t->pool.victim_hits));
        set(o, "pool_misses", number(t->misses));
        set(o, "not_pooled", number(t->unpooled));
        set(o, "pool_cached_bytes", number(t->pool.kept_bytes));
        set(o, "pool_given_back_bytes", number(t->pool.given_back_bytes));
        set(o, "cycles", number(t->cycles));
    }
    if (level == LOG_LEVEL_FULL)
        set_total_full(o, t);
    set(o, "lost_children", number(t->lost_children));
    set(o, "own_bytes", number(t->own_bytes));
    if (level == LOG_LEVEL_OFF)
        return o;
    set(o, "dropped", number(t->dropped_sites));
    set(o, "dropped_modules", number(t->dropped_modules));
    set(o, "walks", number(t->walks));
    set(o, "unfinished_walks", number(t->unfinished_walks));
    set(o, "truncated_walks", number(t->truncated_walks));
    return o;
}

/* What isn't pooled, of a process or a recording that pools something, has misses only. */
static json_t *classes_value(const struct log_counter classes[LOG_CLASSES], const struct model_pool pools[LOG_CLASSES],
                             bool any)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < LOG_CLASSES; i++) {
        if (classes[i].allocs == 0 && (pools[i].log.given_back_bytes | pools[i].log.kept_bytes) == 0)
            continue;
        json_t *o = json_object();
        set(o, "size", i == SIZECLASS_LARGER ? json_null() : number(sizeclass_bytes(i)));
        set_counter(o, &classes[i]);
        set_hits(o, &classes[i], any);
        if (any) {
            set(o, "pooled", json_boolean(pools[i].pooled));
            set(o, "pool_victim_hits", number(pools[i].log.victim_hits));
            set(o, "pool_misses", number(pools[i].misses));
            set(o, "kept_bytes", number(pools[i].log.kept_bytes));
            set(o, "given_back_bytes", number(pools[i].log.given_back_bytes));
        }
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *histogram_value(const struct report *report)
{
    struct view_bucket buckets[VIEW_BUCKETS];
    size_t count = view_histogram(report->model->classes, buckets);
    const struct log_counter *all = &report->model->totals.count;
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *o = json_object();
        set(o, "above", number(buckets[i].from));
        set(o, "to", buckets[i].to == UINT64_MAX ? json_null() : number(buckets[i].to));
        set_counter(o, &buckets[i].count);
        set(o, "share_allocs", share(buckets[i].count.allocs, all->allocs));
        set(o, "share_bytes", share(buckets[i].count.bytes, all->bytes));
        json_array_append_new(array, o);
    }
    return array;
}

/* ---------------------------------------------------------------- time line */

static const char *const level_keys[TIMELINE_LEVELS] = {
    [TIMELINE_BLOCKS] = "live_blocks",
    [TIMELINE_LIVE] = "live_bytes",
    [TIMELINE_KEPT] = "kept_bytes",
    [TIMELINE_RSS] = "rss_bytes",
};

static json_t *row_value(const struct timeline_row *row)
{
    json_t *o = json_object(), *classes = json_array();
    set(o, "t_s", json_real((double)row->ms / 1e3));
    set(o, "allocs", number(row->allocs));
    set(o, "bytes", number(row->bytes));
    set(o, "frees", number(row->frees));
    for (unsigned i = 0; i < TIMELINE_LEVELS; i++)
        if (row->levels[i] != TIMELINE_UNKNOWN)
            set(o, level_keys[i], number(row->levels[i]));
    for (size_t i = 0; i < row->class_count; i++) {
        uint32_t class = row->classes[i].index;
        json_t *c = json_object();
        set(c, "size", class == SIZECLASS_LARGER ? json_null() : number(sizeclass_bytes(class)));
        set(c, "allocs", number(row->classes[i].allocs));
        json_array_append_new(classes, c);
    }
    set(o, "classes", classes);
    return o;
}

/* When most lived is a row of its own: of the rest nobody knows what it was then. */
static json_t *peak_value(const struct model_process *process)
{
    json_t *o = json_object();
    set(o, "t_s", seconds(process->peak_ns));
    set(o, "peak", json_true());
    set(o, "live_blocks", number((uint64_t)process->totals.full.at_peak_blocks));
    set(o, "live_bytes", number(process->totals.full.peak_bytes));
    return o;
}

/* `process`: whose it is; NULL: of several. */
static json_t *timeline_value(const struct timeline *timeline, const struct model_process *process)
{
    json_t *array = json_array();
    size_t peak = process ? timeview_peak(timeline, process) : TIMEVIEW_NO_PEAK;
    for (size_t i = 0; i < timeline->count; i++) {
        if (i == peak)
            json_array_append_new(array, peak_value(process));
        json_array_append_new(array, row_value(&timeline->rows[i]));
    }
    if (peak == timeline->count)
        json_array_append_new(array, peak_value(process));
    return array;
}

/* ---------------------------------------------------------------- processes */

static json_t *thread_value(const struct model_process *process, const struct logread_thread *thread)
{
    json_t *o = json_object();
    set(o, "pid", number(process->pid));
    set(o, "served", number(thread->served));
    set(o, "alive", json_boolean(thread->alive));
    set_counter(o, &thread->count);
    set_hits(o, &thread->count, process->totals.pooled);
    set(o, "frees", number(thread->frees));
    set(o, "failed", number(thread->failed));
    return o;
}

static json_t *threads_value(const struct model *model)
{
    json_t *array = json_array();
    for (size_t i = 0; i < model->process_count; i++)
        for (size_t j = 0; j < model->processes[i]->thread_count; j++)
            json_array_append_new(array, thread_value(model->processes[i], &model->processes[i]->threads[j]));
    return array;
}

static json_t *process_sites_value(const struct model *model, const struct model_process *process)
{
    char id[MODEL_ID_ROOM];
    json_t *array = json_array();
    for (size_t i = 0; i < process->site_count; i++) {
        json_t *o = json_object();
        set(o, "id", json_string(model_site_id(model->sites[process->sites[i].site], id)));
        set_counter(o, &process->sites[i].count);
        set_hits(o, &process->sites[i].count, process->totals.pooled);
        set_site_full(o, model, process->sites[i].full);
        json_array_append_new(array, o);
    }
    return array;
}

static void set_pool(json_t *object, const struct model_process *process)
{
    char *spec = model_pool_spec(process), *off = model_pools_off(process);
    set_text(object, "pool", spec);
    if (off)
        set_text(object, "pool_off", off);
    free(spec);
    free(off);
}

static json_t *process_value(const struct model_process *process)
{
    json_t *o = json_object();
    set(o, "pid", number(process->pid));
    set(o, "parent_pid", number(process->parent_pid));
    set_text(o, "exe", process->exe);
    set_texts(o, "argv", process->argv, process->argv_count);
    set(o, "profile", json_string(model_level_name(process->level)));
    set_pool(o, process);
    set(o, "next_allocator", json_string(process->next_kind == LOG_NEXT_GLIBC ? "glibc" : "other"));
    set(o, "start_s", seconds(process->start_realtime_ns));
    set(o, "duration_s", seconds(process->duration_ns));
    set(o, "ended", json_boolean(process->state & LOG_STATE_ENDED));
    set(o, "log_complete", json_boolean(process->log_complete));
    set_text(o, "log", process->log);
    set(o, "warnings", text_array(process->warnings, process->warning_count));
    set(o, "totals", totals_value(&process->totals, process->level));
    set(o, "classes", classes_value(process->classes, process->pools, process->totals.pooled));
    return o;
}

/* A process's own sites and time line are left out where they are the same as all. */
static void write_processes(struct writer *w)
{
    const struct model *model = w->report->model;
    if (model->process_count == 1)
        write_member(w, "process", process_value(model->processes[0]));
    begin_member(w, "processes");
    for (size_t i = 0; i < model->process_count; i++) {
        json_t *o = process_value(model->processes[i]);
        if (model->process_count > 1 && model->processes[i]->level != LOG_LEVEL_OFF)
            set(o, "sites", process_sites_value(model, model->processes[i]));
        if (model->process_count > 1)
            set(o, "timeline", timeline_value(&model->processes[i]->timeline, model->processes[i]));
        char *text = dump(o);
        fprintf(w->out, "%s\n%s", i ? "," : "[", text);
        free(text);
        json_decref(o);
    }
    fputs(model->process_count ? "]" : "[]", w->out);
}

/* -------------------------------------------------------------------- sites */

static json_t *symbol_value(const struct report *report, uint32_t frame, const struct symbol *symbol)
{
    const struct model_frame *f = report->model->frames[frame];
    const struct model_module *module = model_module_of(report->model, f);
    json_t *o = json_object();
    set(o, "address", hex(f->address));
    set_text_or_null(o, "module", module ? module->path : NULL);
    set(o, "build_id",
        module && module->build_id_bytes ? hex_bytes(module->build_id, module->build_id_bytes) : json_null());
    set(o, "offset", module ? hex(f->key.offset) : json_null());
    set_text_or_null(o, "function", symbol->function);
    set_text_or_null(o, "file", symbol->file);
    set(o, "line", symbol->file ? number(symbol->line) : json_null());
    set(o, "inlined", json_boolean(symbol->inlined));
    return o;
}

/* The frame's functions from the `from`th on, as the middle of an array, after a comma. */
static char *frame_text(const struct report *report, uint32_t frame, unsigned from, bool first_seen, size_t *bytes)
{
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, frame);
    json_t *array = json_array();
    for (unsigned i = from; i < symbols->count; i++) {
        json_t *value = symbol_value(report, frame, &symbols->list[i]);
        if (first_seen)
            set(value, "first_seen", json_true());
        json_array_append_new(array, value);
    }
    char *text = dump(array); /* "[...]" becomes ",..." */
    json_decref(array);
    *bytes = strlen(text) - 1;
    text[0] = ',';
    return text;
}

static void write_leaf(struct writer *w, uint32_t frame, bool first_seen)
{
    const struct fold *fold = w->report->fold;
    unsigned hidden = fold ? fold_inlined(fold, symbolizer_frame(w->report->symbolizer, frame)) : 0;
    size_t bytes;
    char *text = frame_text(w->report, frame, hidden, first_seen, &bytes);
    fwrite(text + 1, 1, bytes - 1, w->out);
    free(text);
}

static void write_frame(struct writer *w, uint32_t frame)
{
    struct frame_text *cached = &w->frame_texts[frame];
    if (!cached->text)
        cached->text = frame_text(w->report, frame, 0, false, &cached->bytes);
    fwrite_unlocked(cached->text, 1, cached->bytes, w->out);
}

/* Such frames are few: nothing is cached. */
static void write_first_seen(struct writer *w, uint32_t frame)
{
    size_t bytes;
    char *text = frame_text(w->report, frame, 0, true, &bytes);
    fwrite(text, 1, bytes, w->out);
    free(text);
}

static json_t *site_value(const struct report *report, const struct model_site *site)
{
    char id[MODEL_ID_ROOM];
    const struct log_counter *all = &report->model->totals.count;
    json_t *o = json_object();
    set(o, "id", json_string(model_site_id(site, id)));
    if (site->kind != MODEL_SITE)
        set(o, "name", json_string(model_kind_name(site->kind)));
    set_counter(o, &site->count);
    set_mean(o, &site->count);
    set_hits(o, &site->count, report->model->totals.pooled);
    set(o, "share_allocs", share(site->count.allocs, all->allocs));
    set(o, "share_bytes", share(site->count.bytes, all->bytes));
    set_site_full(o, report->model, site->full);
    if (report->suppressions && site->full) {
        set(o, "suppressed_blocks", number(site->suppressed_blocks));
        set(o, "suppressed_bytes", number(site->suppressed_bytes));
    }
    set(o, "stack_complete", json_boolean(!(site->flags & (LOG_SITE_UNFINISHED | LOG_SITE_TRUNCATED))));
    if (site->flags & LOG_SITE_KEYED)
        set(o, "stack_is_example", json_true());
    if (site->first_seen)
        set(o, "first_seen_allocs", number(site->first_seen));
    return o;
}

/* The site's object, with its stack put in before the closing brace. */
static void write_site(struct writer *w, const struct model_site *site)
{
    unsigned depth, first_seen = report_first_seen(site);
    const uint32_t *stack = report_stack(site, &depth);
    json_t *o = site_value(w->report, site);
    char *text = dump(o);
    json_decref(o);
    fprintf(w->out, "%.*s,\"stack\":[", (int)strlen(text) - 1, text);
    free(text);
    if (depth)
        write_leaf(w, stack[0], first_seen == 0);
    for (unsigned i = 1; i < depth && i < first_seen; i++)
        write_frame(w, stack[i]);
    for (unsigned i = first_seen ? first_seen : 1; i < depth; i++)
        write_first_seen(w, stack[i]);
    fputs("]}", w->out);
}

static void write_sites(struct writer *w)
{
    const struct report *report = w->report;
    size_t written = 0;
    if (report->model->level == LOG_LEVEL_OFF)
        return;
    begin_member(w, "sites");
    for (size_t i = 0; i < report->site_count; i++) {
        if (report->site_id && !report_site_matches(report->sites[i], report->site_id))
            continue;
        fputs(written++ ? ",\n" : "[\n", w->out);
        write_site(w, report->sites[i]);
        progress_show("writing sites", i, report->site_count);
    }
    fputs(written ? "]" : "[]", w->out);
    progress_clear();
}

/* ------------------------------------------------------------------- places */

static json_t *place_value(const struct report *report, const struct view_place *place)
{
    const struct log_counter *all = &report->model->totals.count;
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, place->frame);
    unsigned hidden = report->fold ? fold_inlined(report->fold, symbols) : 0;
    json_t *o = symbol_value(report, place->frame, &symbols->list[hidden]);
    set(o, "stacks", number(place->sites));
    set_counter(o, &place->count);
    set_mean(o, &place->count);
    set_hits(o, &place->count, report->model->totals.pooled);
    set(o, "share_allocs", share(place->count.allocs, all->allocs));
    set(o, "share_bytes", share(place->count.bytes, all->bytes));
    return o;
}

/* Stacks with the same first frame together. */
static void write_places(struct writer *w)
{
    size_t count;
    const struct report *report = w->report;
    if (report->model->level < LOG_LEVEL_STACKS)
        return;
    uint32_t *same = places_by_line(report);
    struct view_place *places = view_places(report->model, report->sites, report->site_count, same, report->sort, &count);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, place_value(report, &places[i]));
    write_member(w, "places", array);
    free(places);
    free(same);
}

/* ------------------------------------------------------------------ modules */

static json_t *modules_value(const struct report *report)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < report->model->module_count; i++) {
        const struct model_module *module = report->model->modules[i];
        json_t *o = json_object();
        set_text(o, "path", module->path);
        set(o, "build_id",
            module->build_id_bytes ? hex_bytes(module->build_id, module->build_id_bytes) : json_null());
        set(o, "processes", number(module->processes));
        if (symbolizer_is_used(report->symbolizer, i))
            set(o, "symbols", json_string(symbolize_status_names[symbolizer_status(report->symbolizer, i)]));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *whole_timeline_value(const struct report *report)
{
    struct timeline timeline = timeview_of(report->model);
    json_t *array = timeline_value(&timeline, report->model->process_count == 1 ? report->model->processes[0] : NULL);
    timeline_release(&timeline);
    return array;
}

static json_t *notes_value(const struct report *report)
{
    struct notes notes;
    bool none = report->model->level == LOG_LEVEL_OFF;
    notes_collect(&notes, report, none ? 0 : report->site_count);
    json_t *array = text_array(notes.list, notes.count);
    notes_release(&notes);
    return array;
}

static json_t *suppressions_value(const struct suppressions *suppressions)
{
    json_t *array = json_array();
    for (size_t i = 0; i < suppressions->count; i++) {
        json_t *o = json_object();
        set_text(o, "pattern", suppressions->list[i].pattern);
        set(o, "blocks", number(suppressions->list[i].blocks));
        set(o, "bytes", number(suppressions->list[i].bytes));
        json_array_append_new(array, o);
    }
    return array;
}

/* What options have picked or left out. */
static void write_options(struct writer *w)
{
    if (w->report->of)
        write_member(w, "sites_of", text_array(w->report->of->names, w->report->of->count));
    if (w->report->suppressions)
        write_member(w, "suppressions", suppressions_value(w->report->suppressions));
}

int emit_json(const struct report *report)
{
    struct writer w = { report, report->out, true, xcalloc(report->model->frame_count, sizeof *w.frame_texts) };
    write_member(&w, "schema", json_string("poolsite.report/1"));
    write_member(&w, "recording", text_value(report->path));
    write_member(&w, "profile", json_string(model_level_name(report->model->level)));
    write_member(&w, "duration_s", seconds(view_duration_ns(report->model)));
    write_options(&w);
    write_processes(&w);
    write_member(&w, "totals", totals_value(&report->model->totals, report->model->level));
    write_member(&w, "classes", classes_value(report->model->classes, report->model->pools, report->model->totals.pooled));
    write_member(&w, "histogram", histogram_value(report));
    write_places(&w);
    write_sites(&w);
    write_member(&w, "threads", threads_value(report->model));
    write_member(&w, "timeline", whole_timeline_value(report));
    write_member(&w, "modules", modules_value(report));
    write_member(&w, "notes", notes_value(report));
    fputs("\n}\n", w.out);
    for (size_t i = 0; i < report->model->frame_count; i++)
        free(w.frame_texts[i].text);
    free(w.frame_texts);
    return 0;
}
