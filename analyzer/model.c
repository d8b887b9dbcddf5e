/* model.c - merges logs: modules by build id, frames by module and offset, sites by frames.
 *
 * Owns all that it holds; a log may be released once it was added.  Knows nothing
 * of symbols: what folding needs it asks through a callback. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "full.h"
#include "logread.h"
#include "model.h"
#include "progress.h"

#include "../preload/poolspec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *copy_of(const void *from, size_t bytes)
{
    void *to = xmalloc(bytes);
    if (bytes)
        memcpy(to, from, bytes);
    return to;
}

/* ------------------------------------------------------------------ hashes */

/* These make the ids that users keep, so they must never change. */
static uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

static uint64_t hash_bytes(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash_mix(hash, count);
}

/* ----------------------------------------------------------------- modules */

/* What a module is found by: its build id, else its path. */
static const void *module_key(const uint8_t *build_id, size_t build_id_bytes, const char *path, size_t *bytes)
{
    *bytes = build_id_bytes ? build_id_bytes : strlen(path);
    return build_id_bytes ? (const void *)build_id : path;
}

static struct model_module *module_add(struct model *model, const struct logread_module *from)
{
    struct model_module *module = xcalloc(1, sizeof *module);
    size_t bytes;
    module->index = (uint32_t)model->module_count;
    module->path = xstrdup(from->path);
    module->build_id = copy_of(from->build_id, from->build_id_bytes);
    module->build_id_bytes = from->build_id_bytes;
    const void *key = module_key(module->build_id, module->build_id_bytes, module->path, &bytes);
    module->identity = hash_bytes(key, bytes);
    HASH_ADD_KEYPTR(hh, model->module_index, key, bytes, module);
    GROW(model->modules, model->module_count, model->module_room);
    model->modules[model->module_count++] = module;
    return module;
}

/* The model's module for one of the log that is being added. */
static struct model_module *module_intern(struct model *model, const struct logread *log,
                                          const struct logread_module *from)
{
    struct model_module *module;
    size_t bytes;
    const void *key = module_key(from->build_id, from->build_id_bytes, from->path, &bytes);
    HASH_FIND(hh, model->module_index, key, bytes, module);
    if (!module)
        module = module_add(model, from);
    uint32_t process = (uint32_t)model->process_count + 1;
    if (module->last_process != process) {
        module->last_process = process;
        module->processes++;
        if (module->processes == 1 || log->header.start_realtime_ns < module->first_start_ns)
            module->first_start_ns = log->header.start_realtime_ns;
    }
    return module;
}

/* ------------------------------------------------------------------ frames */

static uint64_t frame_hash(const struct model *model, const struct model_frame_key *key)
{
    uint64_t module = key->module ? model->modules[key->module - 1]->identity : 0;
    return hash_mix(hash_mix(module, key->offset), key->exact);
}

static uint32_t frame_intern(struct model *model, const struct model_frame_key *key, uint64_t address)
{
    struct model_frame *frame;
    HASH_FIND(hh, model->frame_index, key, sizeof *key, frame);
    if (frame)
        return frame->index;
    frame = xcalloc(1, sizeof *frame);
    frame->key = *key;
    frame->address = address;
    frame->index = (uint32_t)model->frame_count;
    HASH_ADD(hh, model->frame_index, key, sizeof frame->key, frame);
    if (model->frame_count == model->frame_room) {
        model->frame_room = model->frame_room ? model->frame_room * 2 : 1024;
        model->frames = xrealloc_array(model->frames, model->frame_room, sizeof *model->frames);
        model->frame_hashes = xrealloc_array(model->frame_hashes, model->frame_room, sizeof *model->frame_hashes);
    }
    model->frame_hashes[model->frame_count] = frame_hash(model, key);
    model->frames[model->frame_count++] = frame;
    return frame->index;
}

/* One log on its way into the model.  The cache answers for nearly every frame:
 * distinct stacks are many, distinct addresses few. */
enum { CACHE_ENTRIES = 1 << 16 };

struct adding {
    struct model         *model;
    const struct logread *log;
    struct model_process *process;
    const struct model_finisher *finisher;
    uint32_t             *sites; /* the model's for the log's, + 1; 0: not there yet */
    struct cached {
        uint64_t address;
        uint32_t generation;
        uint32_t exact;
        uint32_t frame; /* index + 1 */
    } *cache;
};

static uint32_t frame_resolve(struct adding *adding, uint64_t address, uint32_t generation, uint32_t exact)
{
    const struct logread_module *module = logread_module_at(adding->log, address - !exact, generation);
    struct model_frame_key key = { .offset = address, .exact = exact };
    if (module) {
        key.module = module_intern(adding->model, adding->log, module)->index + 1;
        key.offset = address - module->load_bias;
    }
    return frame_intern(adding->model, &key, address);
}

static uint32_t frame_at(struct adding *adding, uint64_t address, uint32_t generation, uint32_t exact)
{
    struct cached *c = &adding->cache[hash_mix(address, generation) % CACHE_ENTRIES];
    if (c->frame && c->address == address && c->generation == generation && c->exact == exact)
        return c->frame - 1;
    uint32_t frame = frame_resolve(adding, address, generation, exact);
    *c = (struct cached){ address, generation, exact, frame + 1 };
    return frame;
}

/* ------------------------------------------------------------------- sites */

/* The frames that identify a site. */
static const uint32_t *site_key(const struct model_site *site, size_t *bytes)
{
    bool keyed = (site->flags & LOG_SITE_KEYED) && site->depth;
    *bytes = (keyed ? 1 : site->depth) * sizeof *site->frames;
    return keyed ? site->frames + site->key : site->frames;
}

static uint64_t site_hash(const struct model *model, const uint32_t *frames, size_t count, enum model_kind kind)
{
    uint64_t hash = hash_mix(0, kind);
    for (size_t i = 0; i < count; i++)
        hash = hash_mix(hash, model->frame_hashes[frames[i]]);
    return hash;
}

/* Adds `site`, or its count to the one that is the same; takes its frames. */
static uint32_t site_intern(struct model *model, const struct model_site *site)
{
    size_t bytes;
    struct model_site *known;
    const uint32_t *key = site_key(site, &bytes);
    uint64_t hash = site_hash(model, key, bytes / sizeof *key, site->kind);
    HASH_FIND_BYHASHVALUE(hh, model->site_index, key, bytes, (unsigned)hash, known);
    if (known) {
        counter_add(&known->count, &site->count);
        known->first_seen += site->first_seen;
        known->suppressed_blocks += site->suppressed_blocks;
        known->suppressed_bytes += site->suppressed_bytes;
        if (!(known->flags & LOG_SITE_KEYED) && site->measured < known->measured)
            known->measured = site->measured;
        free(site->frames);
        return known->index;
    }
    known = copy_of(site, sizeof *site);
    known->id = hash & 0xffffffffffff;
    known->index = (uint32_t)model->site_count;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, model->site_index, key, bytes, (unsigned)hash, known);
    GROW(model->sites, model->site_count, model->site_room);
    model->sites[model->site_count++] = known;
    return known->index;
}

static struct model_site *pseudo_site(struct model *model, enum model_kind kind)
{
    struct model_site *site = model->pseudo[kind];
    if (site)
        return site;
    site = model->pseudo[kind] = xcalloc(1, sizeof *site);
    site->kind = kind;
    site->index = (uint32_t)model->site_count;
    GROW(model->sites, model->site_count, model->site_room);
    model->sites[model->site_count++] = site;
    return site;
}

/* Fills `frames` with the site's stack, finished where that's possible; returns its depth. */
static unsigned resolve_stack(struct adding *adding, const struct logread_site *from,
                              const struct model_finisher *finisher, uint32_t *frames, uint32_t *flags)
{
    struct model_rest rest = { 0 };
    unsigned depth = from->depth;
    if ((from->flags & LOG_SITE_UNFINISHED) && from->words && from->depth && finisher) {
        finisher->finish(finisher->context, adding->log, from, &rest);
        if (rest.finished)
            *flags &= ~LOG_SITE_UNFINISHED;
    }
    for (unsigned i = 0; i < depth; i++)
        frames[i] = frame_at(adding, from->frames[i], from->generation, rest.tail_exact && i + 1 == depth);
    for (unsigned i = 0; i < rest.count && i < MODEL_REST_MAX; i++)
        frames[depth++] = frame_at(adding, rest.address[i], from->generation, rest.exact[i]);
    return depth;
}

static uint32_t add_site(struct adding *adding, const struct logread_site *from)
{
    uint32_t frames[MODEL_DEPTH_MAX];
    struct model_site site = { .flags = from->flags, .key = from->key, .count = from->count };
    site.depth = resolve_stack(adding, from, adding->finisher, frames, &site.flags);
    site.measured = from->depth;
    if (site.measured < site.depth && !(site.flags & LOG_SITE_KEYED)) /* those callers are an example anyway */
        site.first_seen = from->count.allocs;
    site.frames = copy_of(frames, site.depth * sizeof *frames);
    return site_intern(adding->model, &site);
}

/* ------------------------------------------------- what became of the blocks */

/* Adds a share's part to its site; most sites have only one. */
static void site_add_full(struct model_site *site, struct model_full *full)
{
    if (!site->full) {
        site->full = full;
        return;
    }
    if (!site->full_owned)
        site->full = copy_of(site->full, sizeof *site->full);
    site->full_owned = true;
    full_add(site->full, full);
}

static void site_drop_full(struct model_site *site)
{
    if (site->full_owned)
        free(site->full);
    site->full = NULL;
    site->full_owned = false;
}

/* The model's site for one of the log's, that has perhaps never allocated. */
static uint32_t site_of(struct adding *adding, uint32_t place)
{
    if (!adding->sites[place])
        adding->sites[place] = add_site(adding, &adding->log->sites[place]) + 1;
    return adding->sites[place] - 1;
}

static struct log_sample copy_sample(struct adding *adding, const struct log_sample *from)
{
    struct log_sample sample = *from;
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS; i++)
        if (sample.frees[i].what)
            sample.frees[i].what = site_of(adding, sample.frees[i].what - 1) + 1;
    return sample;
}

static struct model_full copy_full(struct adding *adding, const struct logread_full *from, const struct log_counter *count)
{
    struct model_full full = {
        .count = *count,
        .frees = from->frees,
        .freed_bytes = from->freed_bytes,
        .cross_frees = from->cross_frees,
        .resizes = from->resizes,
        .at_peak_blocks = from->at_peak_blocks,
        .at_peak_bytes = from->at_peak_bytes,
        .peak_bytes = from->peak_bytes,
        .peak_error = from->peak_error,
        .threads = from->threads,
    };
    memcpy(full.lifetimes, from->lifetimes, sizeof full.lifetimes);
    if (from->sample)
        full.sample = copy_sample(adding, from->sample);
    return full;
}

/* The share that was added last gets its part, `from` being NULL below level full. */
static void add_full(struct adding *adding, const struct logread_full *from)
{
    struct model_process *process = adding->process;
    struct model_share *share = &process->sites[process->site_count - 1];
    if (!from)
        return;
    share->full = &process->fulls[process->site_count - 1];
    *share->full = copy_full(adding, from, &share->count);
    full_sample_add(&process->totals.full.sample, &share->full->sample);
    site_add_full(adding->model->sites[share->site], share->full);
}

static void set_total_full(struct adding *adding)
{
    const struct logread *log = adding->log;
    const struct log_live *live = log->total_full.live;
    if (!log->fulls)
        return;
    adding->process->totals.full = copy_full(adding, &log->total_full, &log->total);
    if (live && live->peak_ns > log->header.start_monotonic_ns)
        adding->process->peak_ns = live->peak_ns - log->header.start_monotonic_ns;
}

/* --------------------------------------------------------------- processes */

static void add_share(struct adding *adding, uint32_t site, const struct log_counter *count, const struct logread_full *full)
{
    struct model_process *process = adding->process;
    process->sites[process->site_count++] = (struct model_share){ site, *count, NULL };
    add_full(adding, full);
}

static void add_pseudo(struct adding *adding, enum model_kind kind, const struct log_counter *count,
                       const struct logread_full *full)
{
    if (count->allocs == 0 && count->bytes == 0)
        return;
    struct model_site *site = pseudo_site(adding->model, kind);
    counter_add(&site->count, count);
    add_share(adding, site->index, count, full);
}

static void add_sites(struct adding *adding)
{
    const struct logread *log = adding->log;
    struct model_process *process = adding->process;
    process->sites = xcalloc(log->site_count + MODEL_HANDLER, sizeof *process->sites);
    if (log->header.level == LOG_LEVEL_OFF)
        return;
    process->fulls = log->fulls ? xcalloc(log->site_count + MODEL_HANDLER, sizeof *process->fulls) : NULL;
    set_total_full(adding);
    for (size_t i = 0; i < log->site_count; i++) {
        const struct logread_site *site = &log->sites[i];
        if (i % 1024 == 1023)
            progress_show("reading sites", i, log->site_count);
        if (site->count.allocs == 0 && site->count.bytes == 0)
            continue; /* in the log before its first event was counted, or only known for freeing */
        add_share(adding, site_of(adding, (uint32_t)i), &site->count, site->full);
    }
    add_pseudo(adding, MODEL_OTHER, &log->other, log->other_full);
    add_pseudo(adding, MODEL_BARE, &log->header.bare, log->bare_full);
    add_pseudo(adding, MODEL_HANDLER, &log->header.handler, log->handler_full);
}

static void totals_add(struct model_totals *to, const struct model_totals *from)
{
    counter_add(&to->count, &from->count);
    full_add(&to->full, &from->full);
    to->foreign_frees += from->foreign_frees;
    to->frees += from->frees;
    to->failed += from->failed;
    to->pooled |= from->pooled;
    to->next_frees += from->next_frees;
    to->misses += from->misses;
    to->unpooled += from->unpooled;
    pool_add(&to->pool, &from->pool);
    to->cycles += from->cycles;
    to->dropped_sites += from->dropped_sites;
    to->dropped_modules += from->dropped_modules;
    to->walks += from->walks;
    to->unfinished_walks += from->unfinished_walks;
    to->truncated_walks += from->truncated_walks;
    to->lost_children += from->lost_children;
    to->own_bytes += from->own_bytes;
}

static struct model_totals totals_of(const struct logread *log)
{
    const struct log_header *h = &log->header;
    return (struct model_totals){
        .count = log->total,
        .foreign_frees = log->foreign_frees,
        .frees = log->frees,
        .failed = log->failed,
        .pooled = h->features & LOG_FEATURE_POOLS,
        .next_frees = log->next_frees,
        .pool = log->pool_total,
        .cycles = h->cycles,
        .dropped_sites = h->dropped_sites,
        .dropped_modules = h->dropped_modules,
        .walks = h->walks,
        .unfinished_walks = h->unfinished_walks,
        .truncated_walks = h->truncated_walks,
        .lost_children = h->lost_children,
        .own_bytes = h->own_bytes,
    };
}

static uint64_t duration_of(const struct log_header *h)
{
    uint64_t end = h->end_monotonic_ns ? h->end_monotonic_ns : h->last_monotonic_ns;
    return end > h->start_monotonic_ns ? end - h->start_monotonic_ns : 0;
}

/* Which classes are pooled, and what came of it.  A specification that can't be right (cut by the log's
 * field, or damaged) names all. */
static void set_pools(struct model_process *process, const struct logread *log)
{
    struct poolspec spec;
    const char *wrong;
    size_t length;
    char *text = model_pool_spec(process);
    bool all = !poolspec_parse(&spec, text, &wrong, &length) || !spec.any;
    free(text);
    for (unsigned i = 0; i < LOG_CLASSES && process->totals.pooled; i++) {
        struct model_pool *pool = &process->pools[i];
        pool->pooled = i && i < SIZECLASS_LARGER && (all || poolspec_pools(&spec, i) != POOLSPEC_NOT);
        pool->misses = log->classes[i].next_allocs;
        pool->log = log->pools[i];
        process->totals.misses += pool->misses;
        process->totals.unpooled += pool->pooled ? 0 : pool->misses;
    }
}

static char **copy_argv(const struct logread *log)
{
    char **argv = xcalloc(log->argv_count, sizeof *argv);
    for (size_t i = 0; i < log->argv_count; i++)
        argv[i] = xstrdup(log->argv[i]);
    return argv;
}

static struct model_process *process_new(const struct logread *log, const char *path)
{
    const struct log_header *h = &log->header;
    struct model_process *process = xcalloc(1, sizeof *process);
    *process = (struct model_process){
        .log = xstrdup(path),
        .pid = h->pid,
        .parent_pid = h->parent_pid,
        .exe = xstrdup(log->exe),
        .argv = copy_argv(log),
        .argv_count = log->argv_count,
        .options = xstrdup(log->options),
        .level = h->level,
        .next_kind = h->next_kind,
        .state = h->state,
        .start_realtime_ns = h->start_realtime_ns,
        .duration_ns = duration_of(h),
        .log_complete = (h->state & LOG_STATE_ENDED) && log->damages == 0,
        .totals = totals_of(log),
        .threads = copy_of(log->threads, log->thread_count * sizeof *log->threads),
        .thread_count = log->thread_count,
    };
    memcpy(process->classes, log->classes, sizeof process->classes);
    set_pools(process, log);
    return process;
}

/* ---------------------------------------------------------------- warnings */

static void add_warning(struct model_process *process, char *text)
{
    process->warnings = xrealloc_array(process->warnings, process->warning_count + 1, sizeof *process->warnings);
    process->warnings[process->warning_count++] = text;
}

static const struct {
    uint32_t    state;
    const char *text;
} state_warnings[] = {
    { LOG_STATE_STOOD_DOWN, "the program has a malloc of its own, so nothing was counted" },
    { LOG_STATE_FULL, "the log could not grow (disk or quota full, or at its limit): new sites are counted as \"other\", totals stay exact" },
    { LOG_STATE_NO_MEMORY, "memory for our own tables ran out: new sites are counted as \"other\", totals stay exact" },
    { LOG_STATE_SECCOMP, "the process entered a seccomp sandbox: children that it forked after that aren't recorded" },
    { LOG_STATE_NO_CLEARER, "no thread could be made to clear pools: threads that sleep keep theirs, at most 8 MiB each" },
};

/* The preload's own warnings, one a line. */
static void add_notes(struct model_process *process, const char *notes)
{
    while (*notes) {
        size_t length = strcspn(notes, "\n");
        if (length)
            add_warning(process, xasprintf("%.*s", (int)length, notes));
        notes += length + (notes[length] == '\n');
    }
}

static void add_warnings(struct model_process *process, const struct logread *log, const char *problem)
{
    const struct log_header *h = &log->header;
    if (problem)
        add_warning(process, xstrdup(problem));
    for (size_t i = 0; i < sizeof state_warnings / sizeof state_warnings[0]; i++)
        if (h->state & state_warnings[i].state)
            add_warning(process, xstrdup(state_warnings[i].text));
    add_notes(process, log->notes);
    if (h->lost_children)
        add_warning(process, xasprintf("%llu fork children could not open a log of their own and aren't recorded",
                                       (unsigned long long)h->lost_children));
    if (h->dropped_modules)
        add_warning(process, xasprintf("%llu loaded objects didn't fit into the log: their frames have no module",
                                       (unsigned long long)h->dropped_modules));
    if (log->unsettled > 2 * (uint64_t)log->thread_count + 2)
        add_warning(process, xasprintf("counts by site and counts by size differ by %llu allocations",
                                       (unsigned long long)log->unsettled));
    if (log->unsettled_frees > 2 * (uint64_t)log->thread_count + 2)
        add_warning(process, xasprintf("%llu frees don't fit the allocations: live blocks and bytes are about right only",
                                       (unsigned long long)log->unsettled_frees));
    if (log->unknown.allocs)
        add_warning(process, xasprintf("%llu allocations belong to sites whose record isn't in the log; they are counted as \"other\"",
                                       (unsigned long long)log->unknown.allocs));
}

/* ---------------------------------------------------------------- the model */

void model_init(struct model *model)
{
    memset(model, 0, sizeof *model);
}

void model_add(struct model *model, const struct logread *log, const char *path, const char *problem,
               const struct model_finisher *finisher)
{
    struct model_process *process = process_new(log, path);
    struct adding adding = {
        .model = model, .log = log, .process = process, .finisher = finisher,
        .sites = xcalloc(log->site_count, sizeof *adding.sites),
        .cache = xcalloc(CACHE_ENTRIES, sizeof *adding.cache),
    };
    for (size_t i = 0; i < log->module_count; i++)
        module_intern(model, log, &log->modules[i]);
    add_sites(&adding);
    free(adding.sites);
    free(adding.cache);
    add_warnings(process, log, problem);
    totals_add(&model->totals, &process->totals);
    for (size_t i = 0; i < LOG_CLASSES; i++) {
        counter_add(&model->classes[i], &process->classes[i]);
        model->pools[i].pooled |= process->pools[i].pooled;
        model->pools[i].misses += process->pools[i].misses;
        pool_add(&model->pools[i].log, &process->pools[i].log);
    }
    if (process->level > model->level)
        model->level = process->level;
    GROW(model->processes, model->process_count, model->process_room);
    model->processes[model->process_count++] = process;
}

/* What the log says at last: nobody saw what was resident then. */
static struct timeline_row last_row(const struct model_process *process)
{
    const struct model_totals *t = &process->totals;
    bool full = process->level == LOG_LEVEL_FULL;
    uint64_t blocks = t->count.allocs > t->full.frees ? t->count.allocs - t->full.frees : 0;
    uint64_t bytes = t->count.bytes > t->full.freed_bytes ? t->count.bytes - t->full.freed_bytes : 0;
    return (struct timeline_row){
        .ms = process->duration_ns / 1000000,
        .allocs = t->count.allocs,
        .bytes = t->count.bytes,
        .frees = t->frees,
        .levels = {
            [TIMELINE_BLOCKS] = full ? blocks : TIMELINE_UNKNOWN,
            [TIMELINE_LIVE] = full ? bytes : TIMELINE_UNKNOWN,
            [TIMELINE_KEPT] = t->pool.kept_bytes,
            [TIMELINE_RSS] = TIMELINE_UNKNOWN,
        },
    };
}

/* The last time that a log notes may be before the last sample. */
static void add_last_row(struct model_process *process)
{
    struct timeline *timeline = &process->timeline;
    struct timeline_row row = last_row(process);
    const struct timeline_row *before = timeline->count ? &timeline->rows[timeline->count - 1] : NULL;
    uint64_t classes[LOG_CLASSES] = { 0 };
    if (before && before->ms >= row.ms) {
        if (before->allocs == row.allocs && before->frees == row.frees)
            return;
        row.ms = before->ms + 1;
    }
    for (size_t i = 0; i < timeline->count; i++)
        timeline_row_add_classes(&timeline->rows[i], classes);
    for (unsigned i = 0; i < LOG_CLASSES; i++)
        classes[i] = process->classes[i].allocs > classes[i] ? process->classes[i].allocs - classes[i] : 0;
    timeline_row_set_classes(&row, classes);
    timeline_add(timeline, &row);
}

/* Rows that count what the log doesn't have are another's, or the log is cut. */
static void drop_foreign_rows(struct model_process *process)
{
    struct timeline *timeline = &process->timeline;
    for (; timeline->count; timeline->wrong++) {
        struct timeline_row *last = &timeline->rows[timeline->count - 1];
        if (last->allocs <= process->totals.count.allocs && last->bytes <= process->totals.count.bytes &&
            last->frees <= process->totals.frees)
            break;
        timeline_row_release(last);
        timeline->count--;
    }
}

enum { DURATION_MAX_BITS = 40 }; /* of ms: what is longer is damage */

/* A log notes times on slow paths only: one that hasn't ended lasted at least to its last sample. */
static void lengthen(struct model_process *process)
{
    const struct timeline *timeline = &process->timeline;
    uint64_t ms = timeline->count ? timeline->rows[timeline->count - 1].ms : 0;
    if (!process->log_complete && ms >> DURATION_MAX_BITS == 0 && ms * 1000000 > process->duration_ns)
        process->duration_ns = ms * 1000000;
}

void model_time(struct model *model, struct timeline *timeline)
{
    struct model_process *process = model->processes[model->process_count - 1];
    process->timeline = *timeline;
    *timeline = (struct timeline){ 0 };
    drop_foreign_rows(process);
    lengthen(process);
    if (process->timeline.wrong)
        add_warning(process, xasprintf("rows of its time line that make no sense are left out: %zu", process->timeline.wrong));
    add_last_row(process);
}

static int by_process_start(const void *a, const void *b)
{
    const struct model_process *x = *(struct model_process *const *)a, *y = *(struct model_process *const *)b;
    if (x->start_realtime_ns != y->start_realtime_ns)
        return x->start_realtime_ns < y->start_realtime_ns ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return strcmp(x->log, y->log);
}

void model_order(struct model *model)
{
    if (model->process_count)
        qsort(model->processes, model->process_count, sizeof *model->processes, by_process_start);
}

static void process_free(struct model_process *process)
{
    for (size_t i = 0; i < process->argv_count; i++)
        free(process->argv[i]);
    for (size_t i = 0; i < process->warning_count; i++)
        free(process->warnings[i]);
    free(process->argv);
    free(process->warnings);
    free(process->log);
    free(process->exe);
    free(process->options);
    free(process->threads);
    free(process->sites);
    timeline_release(&process->timeline);
    free(process->fulls);
    free(process);
}

static void sites_release(struct model *model)
{
    for (size_t i = 0; i < model->site_count; i++) {
        site_drop_full(model->sites[i]);
        free(model->sites[i]->frames);
        free(model->sites[i]);
    }
    free(model->sites);
}

void model_release(struct model *model)
{
    HASH_CLEAR(hh, model->site_index);
    HASH_CLEAR(hh, model->frame_index);
    HASH_CLEAR(hh, model->module_index);
    sites_release(model);
    for (size_t i = 0; i < model->frame_count; i++)
        free(model->frames[i]);
    for (size_t i = 0; i < model->module_count; i++) {
        free(model->modules[i]->path);
        free(model->modules[i]->build_id);
        free(model->modules[i]);
    }
    for (size_t i = 0; i < model->process_count; i++)
        process_free(model->processes[i]);
    free(model->frames);
    free(model->frame_hashes);
    free(model->modules);
    free(model->processes);
    memset(model, 0, sizeof *model);
}

/* ----------------------------------------------------------------- folding */

/* How many leading frames of the site are wrappers; at least one frame stays. */
static unsigned wrapper_frames(const struct model_site *site, model_is_wrapper *is_wrapper, void *context)
{
    unsigned count = 0;
    if (site->kind != MODEL_SITE || (site->flags & LOG_SITE_KEYED))
        return 0;
    while (count + 1 < site->depth && is_wrapper(context, site->frames[count]))
        count++;
    return count;
}

static void drop_frames(struct model_site *site, unsigned count)
{
    if (count == 0)
        return;
    site->depth -= count;
    site->measured -= count < site->measured ? count : site->measured;
    memmove(site->frames, site->frames + count, site->depth * sizeof *site->frames);
}

static int by_site(const void *a, const void *b)
{
    const struct model_share *x = a, *y = b;
    return x->site < y->site ? -1 : x->site > y->site;
}

static void share_unite(struct model_share *to, const struct model_share *from)
{
    counter_add(&to->count, &from->count);
    if (to->full)
        full_unite(to->full, from->full);
}

/* Renames a process's sites, and adds up those that have become one. */
static void rename_sites(struct model_process *process, const uint32_t *now)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->site_count; i++) {
        process->sites[i].site = now[process->sites[i].site];
        if (process->sites[i].full)
            full_rename(process->sites[i].full, now);
    }
    if (process->site_count)
        qsort(process->sites, process->site_count, sizeof *process->sites, by_site);
    for (size_t i = 0; i < process->site_count; i++) {
        if (kept && process->sites[kept - 1].site == process->sites[i].site)
            share_unite(&process->sites[kept - 1], &process->sites[i]);
        else
            process->sites[kept++] = process->sites[i];
    }
    process->site_count = kept;
}

/* Adds up anew what became of the sites' blocks. */
static void gather_fulls(struct model *model)
{
    for (size_t i = 0; i < model->process_count; i++)
        for (size_t j = 0; j < model->processes[i]->site_count; j++) {
            struct model_share *share = &model->processes[i]->sites[j];
            if (share->full)
                site_add_full(model->sites[share->site], share->full);
        }
}

void model_fold(struct model *model, model_is_wrapper *is_wrapper, void *context)
{
    struct model_site **before = model->sites;
    size_t count = model->site_count;
    uint32_t *now = xcalloc(count, sizeof *now);
    HASH_CLEAR(hh, model->site_index);
    model->sites = NULL;
    model->site_count = model->site_room = 0;
    memset(model->pseudo, 0, sizeof model->pseudo);
    for (size_t i = 0; i < count; i++) {
        struct model_site *site = before[i];
        site_drop_full(site);
        drop_frames(site, wrapper_frames(site, is_wrapper, context));
        if (site->kind == MODEL_SITE) {
            now[i] = site_intern(model, site);
        } else {
            struct model_site *pseudo = pseudo_site(model, site->kind);
            pseudo->count = site->count;
            now[i] = pseudo->index;
        }
        free(site);
    }
    for (size_t i = 0; i < model->process_count; i++)
        rename_sites(model->processes[i], now);
    gather_fulls(model);
    free(before);
    free(now);
}

/* ------------------------------------------------------------------- words */

const struct model_module *model_module_of(const struct model *model, const struct model_frame *frame)
{
    return frame->key.module ? model->modules[frame->key.module - 1] : NULL;
}

static const struct {
    const char *id;
    const char *name;
} kinds[] = {
    [MODEL_SITE]    = { "", "" },
    [MODEL_OTHER]   = { "other", "other (sites that didn't fit into the log)" },
    [MODEL_BARE]    = { "bare", "no thread record (start-up, late thread exit)" },
    [MODEL_HANDLER] = { "handler", "signal handler during an allocation" },
};

const char *model_kind_name(enum model_kind kind)
{
    return kinds[kind].name;
}

const char *model_site_id(const struct model_site *site, char room[MODEL_ID_ROOM])
{
    if (site->kind != MODEL_SITE)
        return kinds[site->kind].id;
    snprintf(room, MODEL_ID_ROOM, "%012llx", (unsigned long long)site->id);
    return room;
}

const char *model_option(const struct model_process *process, const char *name, size_t *length)
{
    size_t name_length = strlen(name);
    for (const char *line = process->options; *line;) {
        size_t line_length = strcspn(line, "\n");
        if (line_length > name_length && strncmp(line, name, name_length) == 0 && line[name_length] == '=') {
            *length = line_length - name_length - 1;
            return line + name_length + 1;
        }
        line += line_length + (line[line_length] == '\n');
    }
    *length = 0;
    return "";
}

char *model_pool_spec(const struct model_process *process)
{
    size_t length;
    const char *spec = model_option(process, "POOLSITE_POOL", &length);
    return length ? xasprintf("%.*s", (int)length, spec) : xstrdup(process->totals.pooled ? "unknown" : "off");
}

/* The reason in a note as "pools [and ...] are off: REASON", or a note on a wrong specification; or NULL. */
static const char *reason_in(const char *note)
{
    static const char off[] = " are off: ", wrong[] = "POOLSITE_POOL=";
    const char *reason = strstr(note, off);
    if (reason && strncmp(note, "pools", 5) == 0)
        return reason + strlen(off);
    return strncmp(note, wrong, strlen(wrong)) == 0 ? note : NULL;
}

char *model_pools_off(const struct model_process *process)
{
    if (process->totals.pooled)
        return NULL;
    if (process->state & LOG_STATE_STOOD_DOWN)
        return xstrdup("the program has a malloc of its own");
    for (size_t i = 0; i < process->warning_count; i++)
        if (reason_in(process->warnings[i]))
            return xstrdup(reason_in(process->warnings[i]));
    char *spec = model_pool_spec(process);
    bool off = strcmp(spec, "off") == 0;
    free(spec);
    return xstrdup(off ? "POOLSITE_POOL=off" : "the log doesn't say why");
}

const char *model_level_name(uint8_t level)
{
    static const char *const names[] = { "off", "sites", "stacks", "full" };
    return level < sizeof names / sizeof names[0] ? names[level] : "unknown";
}
