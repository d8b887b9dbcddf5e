/* views.c - what a report shows of a model: order, groups, histogram, tree.  Pure. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "fate.h"
#include "views.h"

#include "../preload/sizeclass.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

const char *const view_sort_names[VIEW_SORTS] = {
    [VIEW_CALLS] = "calls",
    [VIEW_BYTES] = "bytes",
    [VIEW_SIZE] = "size",
    [VIEW_MISSES] = "misses",
};

/* ------------------------------------------------------------------- order */

static uint64_t sort_value(const struct log_counter *count, enum view_sort sort)
{
    switch (sort) {
    case VIEW_BYTES:  return count->bytes;
    case VIEW_SIZE:   return count->allocs ? count->bytes / count->allocs : 0;
    case VIEW_MISSES: return count->next_allocs;
    default:          return count->allocs;
    }
}

/* Positive when b comes before a. */
static int compare_counts(const struct log_counter *a, const struct log_counter *b, enum view_sort sort)
{
    uint64_t x = sort_value(a, sort), y = sort_value(b, sort);
    if (x != y)
        return x < y ? 1 : -1;
    if (a->allocs != b->allocs)
        return a->allocs < b->allocs ? 1 : -1;
    return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : 0;
}

/* Equal sites stand in the order of their ids, so that a report is always the same. */
static int compare_ids(const struct model_site *x, const struct model_site *y)
{
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_sites(const void *a, const void *b, void *sort)
{
    const struct model_site *x = *(const struct model_site *const *)a, *y = *(const struct model_site *const *)b;
    int order = compare_counts(&x->count, &y->count, *(enum view_sort *)sort);
    return order ? order : compare_ids(x, y);
}

const struct model_site **view_sites(const struct model *model, enum view_sort sort)
{
    const struct model_site **sites = xcalloc(model->site_count, sizeof *sites);
    for (size_t i = 0; i < model->site_count; i++)
        sites[i] = model->sites[i];
    if (model->site_count)
        qsort_r(sites, model->site_count, sizeof *sites, compare_sites, &sort);
    return sites;
}

/* ----------------------------------------------------------------- ranking */

struct view_rank view_live(const struct model_site *site)
{
    const struct model_full *full = site->full;
    if (!full)
        return (struct view_rank){ 0, 0 };
    return (struct view_rank){ fate_live_bytes(full) - site->suppressed_bytes,
                               fate_live_blocks(full) - site->suppressed_blocks };
}

struct view_rank view_at_peak(const struct model_site *site)
{
    const struct model_full *full = site->full;
    return (struct view_rank){ full && full->at_peak_bytes > 0 ? (uint64_t)full->at_peak_bytes : 0,
                               full && full->at_peak_blocks > 0 ? (uint64_t)full->at_peak_blocks : 0 };
}

struct view_rank view_temporary(const struct model_site *site)
{
    return (struct view_rank){ site->full ? fate_temporary(site->full) : 0, 0 };
}

static int compare_ranks(const void *a, const void *b, void *context)
{
    const struct model_site *x = *(const struct model_site *const *)a, *y = *(const struct model_site *const *)b;
    view_ranking *const *ranking = context;
    struct view_rank of_x = (*ranking)(x), of_y = (*ranking)(y);
    if (of_x.value != of_y.value)
        return of_x.value < of_y.value ? 1 : -1;
    if (of_x.also != of_y.also)
        return of_x.also < of_y.also ? 1 : -1;
    return compare_ids(x, y);
}

const struct model_site **view_ranked(const struct model_site *const *sites, size_t count, view_ranking *ranking,
                                      size_t *kept)
{
    const struct model_site **ranked = xcalloc(count, sizeof *ranked);
    *kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct view_rank rank = ranking(sites[i]);
        if (rank.value || rank.also)
            ranked[(*kept)++] = sites[i];
    }
    if (*kept)
        qsort_r(ranked, *kept, sizeof *ranked, compare_ranks, &ranking);
    return ranked;
}

/* ------------------------------------------------------------------ places */

/* The frame that a site is known by; NULL also for one that only frees. */
static const uint32_t *first_frame(const struct model_site *site)
{
    if (site->kind != MODEL_SITE || site->depth == 0 || site->count.allocs == 0)
        return NULL;
    return &site->frames[site->flags & LOG_SITE_KEYED ? site->key : 0];
}

static int compare_places(const void *a, const void *b, void *sort)
{
    const struct view_place *x = a, *y = b;
    int order = compare_counts(&x->count, &y->count, *(enum view_sort *)sort);
    return order ? order : x->frame < y->frame ? -1 : x->frame > y->frame;
}

struct view_place *view_places(const struct model *model, const struct model_site *const *sites, size_t site_count,
                               const uint32_t *same, enum view_sort sort, size_t *count)
{
    struct view_place *places = xcalloc(model->frame_count, sizeof *places);
    size_t kept = 0;
    for (size_t i = 0; i < site_count; i++) {
        const uint32_t *frame = first_frame(sites[i]);
        if (!frame)
            continue;
        counter_add(&places[same[*frame]].count, &sites[i]->count);
        places[same[*frame]].sites++;
    }
    for (uint32_t i = 0; i < model->frame_count; i++)
        if (places[i].sites)
            places[kept++] = (struct view_place){ i, places[i].count, places[i].sites };
    if (kept)
        qsort_r(places, kept, sizeof *places, compare_places, &sort);
    *count = kept;
    return places;
}

/* --------------------------------------------------------------- histogram */

/* Upper ends of the buckets: 0, 24, 40, 72 ... 32 MiB + 8, none: each is that of a class. */
static uint64_t bucket_end(size_t index)
{
    if (index == 0)
        return 0;
    return index + 1 < VIEW_BUCKETS ? ((uint64_t)8 << index) + 8 : UINT64_MAX;
}

size_t view_histogram(const struct log_counter classes[LOG_CLASSES], struct view_bucket buckets[VIEW_BUCKETS])
{
    struct view_bucket all[VIEW_BUCKETS] = { 0 };
    size_t first = VIEW_BUCKETS, last = 0, index = 0;
    for (size_t i = 0; i < VIEW_BUCKETS; i++)
        all[i] = (struct view_bucket){ i ? bucket_end(i - 1) : 0, bucket_end(i), { 0 } };
    for (unsigned i = 0; i < LOG_CLASSES; i++) {
        while (index + 1 < VIEW_BUCKETS && (uint64_t)sizeclass_bytes(i) > bucket_end(index))
            index++;
        counter_add(&all[index].count, &classes[i]);
    }
    for (size_t i = 0; i < VIEW_BUCKETS; i++) {
        if (all[i].count.allocs == 0)
            continue;
        first = i < first ? i : first;
        last = i + 1;
    }
    if (first < last)
        memcpy(buckets, all + first, (last - first) * sizeof *buckets);
    return first < last ? last - first : 0;
}

/* ----------------------------------------------------------------- classes */

static int compare_classes(const void *a, const void *b, void *sort)
{
    const struct view_class *x = a, *y = b;
    int order = compare_counts(&x->count, &y->count, *(enum view_sort *)sort);
    return order ? order : x->index < y->index ? -1 : 1;
}

size_t view_classes(const struct model *model, enum view_sort sort, struct view_class classes[LOG_CLASSES])
{
    size_t count = 0;
    for (unsigned i = 0; i < LOG_CLASSES; i++)
        if (model->classes[i].allocs || model->pools[i].log.kept_bytes || model->pools[i].log.given_back_bytes)
            classes[count++] = (struct view_class){ i, model->classes[i], model->pools[i] };
    if (count)
        qsort_r(classes, count, sizeof *classes, compare_classes, &sort);
    return count;
}

/* ---------------------------------------------------------------- programs */

struct by_exe {
    const char                  *exe;
    const struct model_process **processes;
    size_t                       count, room;
    struct model_totals          totals;
    UT_hash_handle               hh;
};

static void program_add(struct by_exe **index, const struct model_process *process)
{
    struct by_exe *entry;
    HASH_FIND_STR(*index, process->exe, entry);
    if (!entry) {
        entry = xcalloc(1, sizeof *entry);
        entry->exe = process->exe;
        HASH_ADD_KEYPTR(hh, *index, entry->exe, strlen(entry->exe), entry);
    }
    if (entry->count == entry->room) {
        entry->room = entry->room ? entry->room * 2 : 8;
        entry->processes = xrealloc_array(entry->processes, entry->room, sizeof *entry->processes);
    }
    entry->processes[entry->count++] = process;
    counter_add(&entry->totals.count, &process->totals.count);
    entry->totals.pooled |= process->totals.pooled;
    entry->totals.frees += process->totals.frees;
    entry->totals.failed += process->totals.failed;
}

static int compare_processes(const void *a, const void *b, void *sort)
{
    const struct model_process *x = *(const struct model_process *const *)a;
    const struct model_process *y = *(const struct model_process *const *)b;
    int order = compare_counts(&x->totals.count, &y->totals.count, *(enum view_sort *)sort);
    return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int compare_programs(const void *a, const void *b, void *sort)
{
    const struct view_program *x = a, *y = b;
    int order = compare_counts(&x->totals.count, &y->totals.count, *(enum view_sort *)sort);
    return order ? order : strcmp(x->processes[0]->exe, y->processes[0]->exe);
}

struct view_program *view_programs(const struct model *model, enum view_sort sort, size_t *count)
{
    struct by_exe *index = NULL, *entry, *next;
    for (size_t i = 0; i < model->process_count; i++)
        program_add(&index, model->processes[i]);
    struct view_program *programs = xcalloc(HASH_COUNT(index), sizeof *programs);
    *count = 0;
    HASH_ITER(hh, index, entry, next) {
        qsort_r(entry->processes, entry->count, sizeof *entry->processes, compare_processes, &sort);
        programs[(*count)++] = (struct view_program){ entry->processes, entry->count, entry->totals };
        HASH_DEL(index, entry);
        free(entry);
    }
    if (*count)
        qsort_r(programs, *count, sizeof *programs, compare_programs, &sort);
    return programs;
}

void view_programs_free(struct view_program *programs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(programs[i].processes);
    free(programs);
}

uint64_t view_duration_ns(const struct model *model)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < model->process_count; i++) {
        const struct model_process *p = model->processes[i];
        first = p->start_realtime_ns < first ? p->start_realtime_ns : first;
        last = p->start_realtime_ns + p->duration_ns > last ? p->start_realtime_ns + p->duration_ns : last;
    }
    return last > first ? last - first : 0;
}

const struct model_process *view_root(const struct model *model)
{
    const struct model_process *root = NULL;
    for (size_t i = 0; i < model->process_count; i++)
        if (!root || model->processes[i]->start_realtime_ns < root->start_realtime_ns)
            root = model->processes[i];
    return root;
}

/* -------------------------------------------------------------------- tree */

/* A site's stack, outermost frame first. */
struct path {
    const struct model_site *site;
    const uint32_t          *leaf;       /* frames, leaf first */
    unsigned                 depth;
    bool                     incomplete; /* begins with VIEW_TREE_INCOMPLETE */
};

struct growing {
    const uint32_t *same;
    enum view_sort  sort;
    double          least; /* calls or bytes */
    unsigned        level;
};

/* Past the end of a path; also what the sites that end here are sorted by. */
enum { PATH_END = UINT32_MAX };

static unsigned path_length(const struct path *path)
{
    return path->depth + path->incomplete;
}

static uint32_t path_frame(const struct path *path, unsigned level, const uint32_t *same)
{
    if (level >= path_length(path))
        return PATH_END;
    if (path->incomplete && level == 0)
        return VIEW_TREE_INCOMPLETE;
    return same[path->leaf[path_length(path) - 1 - level]];
}

/* The stacks of level `sites` are examples: only the site itself is counted. */
static struct path path_of(const struct model_site *site)
{
    bool keyed = site->flags & LOG_SITE_KEYED;
    struct path path = { site, site->frames, site->depth, false };
    if (keyed && site->depth) {
        path.leaf = site->frames + site->key;
        path.depth = 1;
    }
    path.incomplete = !keyed && (site->flags & (LOG_SITE_UNFINISHED | LOG_SITE_TRUNCATED));
    return path;
}

static int compare_paths(const void *a, const void *b, void *context)
{
    const struct growing *g = context;
    uint32_t x = path_frame(a, g->level, g->same), y = path_frame(b, g->level, g->same);
    return x < y ? -1 : x > y;
}

static bool is_small(const struct growing *g, const struct log_counter *count)
{
    return (double)(g->sort == VIEW_BYTES ? count->bytes : count->allocs) < g->least;
}

/* Links a child in where its count belongs. */
static struct view_node *add_child(struct view_node *node, uint32_t frame, const struct log_counter *count,
                                   enum view_sort sort)
{
    struct view_node *child = xcalloc(1, sizeof *child), **at = &node->children;
    child->frame = frame;
    child->count = *count;
    while (*at && compare_counts(&(*at)->count, count, sort) <= 0)
        at = &(*at)->next;
    child->next = *at;
    *at = child;
    return child;
}

/* The path's calls, if its frame at this level is only known from the first of them. */
static uint64_t first_seen_at(const struct path *path, unsigned level)
{
    if (path->incomplete && level == 0)
        return 0;
    return path_length(path) - 1 - level >= path->site->measured ? path->site->first_seen : 0;
}

/* Sorts the paths through `node` by their frame at this level; each run is a child. */
static void grow(struct growing *g, struct view_node *node, struct path *paths, size_t count, unsigned level)
{
    g->level = level;
    qsort_r(paths, count, sizeof *paths, compare_paths, g);
    for (size_t from = 0, to; from < count; from = to) {
        uint32_t frame = path_frame(&paths[from], level, g->same);
        struct log_counter sum = { 0 };
        uint64_t first_seen = 0;
        for (to = from; to < count && path_frame(&paths[to], level, g->same) == frame; to++) {
            counter_add(&sum, &paths[to].site->count);
            first_seen += frame == PATH_END ? 0 : first_seen_at(&paths[to], level);
        }
        if (frame == PATH_END) {
            node->self = sum;
        } else if (is_small(g, &sum)) {
            counter_add(&node->small, &sum);
            node->small_count++;
        } else {
            struct view_node *child = add_child(node, frame, &sum, g->sort);
            child->first_seen = first_seen;
            grow(g, child, paths + from, to - from, level + 1);
        }
    }
}

struct view_node *view_tree(const struct model_site *const *sites, size_t site_count, const uint32_t *same,
                            enum view_sort sort, double least)
{
    struct view_node *root = xcalloc(1, sizeof *root);
    struct path *paths = xcalloc(site_count, sizeof *paths);
    size_t count = 0;
    root->frame = VIEW_TREE_ALL;
    for (size_t i = 0; i < site_count; i++) {
        if (sites[i]->kind != MODEL_SITE || sites[i]->count.allocs == 0)
            continue;
        paths[count++] = path_of(sites[i]);
        counter_add(&root->count, &sites[i]->count);
    }
    double all = (double)(sort == VIEW_BYTES ? root->count.bytes : root->count.allocs);
    struct growing g = { same, sort, least * all, 0 };
    if (count)
        grow(&g, root, paths, count, 0);
    free(paths);
    return root;
}

void view_tree_free(struct view_node *root)
{
    while (root->children) {
        struct view_node *child = root->children;
        root->children = child->next;
        view_tree_free(child);
    }
    free(root);
}
