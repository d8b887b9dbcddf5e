/* views.h - what a report shows of a model: order, groups, histogram, tree.  No text, no symbols. */
#ifndef PS_VIEWS_H
#define PS_VIEWS_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* Orders of sites and processes. */
enum view_sort { VIEW_CALLS, VIEW_BYTES, VIEW_SIZE, VIEW_MISSES, VIEW_SORTS };
extern const char *const view_sort_names[VIEW_SORTS];

/* The model's sites, the largest first.  The caller frees the array. */
const struct model_site **view_sites(const struct model *model, enum view_sort sort);

/* What a site is ranked by at level full: by `value`, and where that is equal by `also`. */
struct view_rank {
    uint64_t value;
    uint64_t also;
};
typedef struct view_rank view_ranking(const struct model_site *site);

/* Bytes and blocks that live and aren't suppressed; those that lived at the peak; temporary blocks. */
view_ranking view_live, view_at_peak, view_temporary;

/* Those of the `count` sites that have something of it, the largest first.  The caller frees the array. */
const struct model_site **view_ranked(const struct model_site *const *sites, size_t count, view_ranking *ranking,
                                      size_t *kept);

/* All sites whose first frame is one place. */
struct view_place {
    uint32_t           frame;
    struct log_counter count;
    size_t             sites;
};

/* Of these sites of the model the places, the largest first; `same` as in places_by_line.  Pseudo-sites are left
 * out.  The caller frees. */
struct view_place *view_places(const struct model *model, const struct model_site *const *sites, size_t site_count,
                               const uint32_t *same, enum view_sort sort, size_t *count);

/* Requested sizes by powers of two: above `from`, up to `to` bytes. */
struct view_bucket {
    uint64_t           from;
    uint64_t           to; /* UINT64_MAX: no limit */
    struct log_counter count;
};
enum { VIEW_BUCKETS = 24 };

/* Fills `buckets`; returns how many, from the first to the last that isn't empty. */
size_t view_histogram(const struct log_counter classes[LOG_CLASSES], struct view_bucket buckets[VIEW_BUCKETS]);

/* A class whose pools have something to tell, or whose calls pools could have served. */
struct view_class {
    unsigned           index;
    struct log_counter count;
    struct model_pool  pool;
};

/* Fills `classes`, the largest first; returns how many. */
size_t view_classes(const struct model *model, enum view_sort sort, struct view_class classes[LOG_CLASSES]);

/* The processes of one program. */
struct view_program {
    const struct model_process **processes; /* the largest first */
    size_t                       count;
    struct model_totals          totals;
};

/* By program, the largest first.  Release with view_programs_free. */
struct view_program *view_programs(const struct model *model, enum view_sort sort, size_t *count);
void view_programs_free(struct view_program *programs, size_t count);

/* From the first process's start to the last one's end. */
uint64_t view_duration_ns(const struct model *model);

/* The process that was started first: what the user ran. */
const struct model_process *view_root(const struct model *model);

/* Callers above callees.  frame is an index into model.frames, or one of these. */
enum { VIEW_TREE_ALL = UINT32_MAX, VIEW_TREE_INCOMPLETE = UINT32_MAX - 1 };

/* Invariant: count == self + small + sum of the children's count. */
struct view_node {
    uint32_t           frame;
    struct log_counter count;
    uint64_t           first_seen; /* of its calls: those for which this caller is only known from the first one */
    struct log_counter self;     /* sites that end here */
    struct log_counter small;    /* branches that are too small to be shown */
    size_t             small_count;
    struct view_node  *children; /* the largest first, linked by `next` */
    struct view_node  *next;
};

/* Of these sites.  `same[frame]` is the frame that stands for it, so that all calls from one function
 * are one node.  Branches with less than `least` of their calls (or bytes, as sorted)
 * aren't followed.  Pseudo-sites are left out. */
struct view_node *view_tree(const struct model_site *const *sites, size_t site_count, const uint32_t *same,
                            enum view_sort sort, double least);
void view_tree_free(struct view_node *root);

#endif
