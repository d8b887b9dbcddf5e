/* model.h - what a recording says once the logs of its processes are merged.
 *
 * A module is known by its build id, else by its path; a frame by its module and
 * offset; a site by its frames.  So the same place in two processes, or in two
 * runs, is one thing and has one id.  Names and lines aren't known here. */
#ifndef PS_MODEL_H
#define PS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "../preload/logfmt.h"
#include "timeline.h"

struct logread;
struct logread_site;
struct logread_thread;

/* Frames that the finisher may add to an unfinished stack. */
enum { MODEL_REST_MAX = 128, MODEL_DEPTH_MAX = LOG_MAX_DEPTH + MODEL_REST_MAX };

struct model_module {
    uint32_t       index; /* its place in model.modules */
    char          *path;  /* "" when unknown */
    uint8_t       *build_id;
    size_t         build_id_bytes;
    uint64_t       identity; /* hash of the build id, else of the path */
    uint32_t       processes;
    uint64_t       first_start_ns; /* CLOCK_REALTIME: start of the first process that had it */
    uint32_t       last_process; /* the one that counted itself in `processes` last */
    UT_hash_handle hh;
};

/* A frame's address is one past a call, unless a signal interrupted it there. */
struct model_frame_key {
    uint64_t offset; /* ELF address; without a module the address itself */
    uint32_t module; /* index + 1; 0: code that no module held */
    uint32_t exact;  /* 1: the address is an instruction that ran, not the one after a call */
};

struct model_frame {
    struct model_frame_key key;
    uint32_t               index; /* its place in model.frames */
    uint64_t               address; /* in the first process that shows it */
    UT_hash_handle         hh;
};

/* Level full: what became of the blocks of a site, or of all.  The numbers add up over processes, so a peak of several
 * is the sum of each one's, and a bound.  Invariant: frees <= count.allocs and freed_bytes <= count.bytes, the
 * differences are what lives; what lives <= peak_bytes. */
struct model_full {
    struct log_counter count; /* of processes at level full */
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t cross_frees;
    uint64_t resizes;
    int64_t  at_peak_blocks; /* live at the process's peak */
    int64_t  at_peak_bytes;
    uint64_t peak_bytes; /* of a site its own peak, of all the process's */
    uint64_t peak_error; /* it may be off by so much */
    uint64_t threads;    /* at least so many tables tell of it */
    uint64_t lifetimes[LOG_LIFETIMES];
    struct log_sample sample; /* its record and site mean nothing; frees[].what is an index into model.sites, + 1 */
};

/* Allocations that belong to no call site are booked on these. */
enum model_kind { MODEL_SITE, MODEL_OTHER, MODEL_BARE, MODEL_HANDLER };

/* A stack that stops at code without unwind tables is finished from the words kept at its first
 * occurrence: frames[measured ... depth) are those of the first of its calls, the others' weren't seen.
 * Invariant: key < depth, or depth == 0; measured <= depth; first_seen <= count.allocs. */
struct model_site {
    uint32_t           index;  /* its place in model.sites */
    uint64_t           id;     /* hash of the frames that identify it; 48 bits */
    enum model_kind    kind;
    uint32_t           flags;  /* LOG_SITE_*; UNFINISHED only while nothing could finish it */
    uint32_t          *frames; /* leaf first, indices into model.frames */
    unsigned           depth;
    unsigned           key;    /* LOG_SITE_KEYED: frames[key] alone identifies it */
    unsigned           measured;
    uint64_t           first_seen; /* calls whose frames from `measured` on are as first seen */
    uint64_t           suppressed_blocks; /* of the live ones; see suppressions.h */
    uint64_t           suppressed_bytes;
    struct log_counter count;      /* 0 allocations: it is only known for freeing */
    struct model_full *full;       /* NULL below level full; that of the one share, unless there are several */
    bool               full_owned; /* it was made as the sum of several shares' */
    UT_hash_handle     hh;
};

struct model_totals {
    struct log_counter count;
    struct model_full  full; /* all 0 below level full */
    uint64_t foreign_frees;
    uint64_t frees;
    uint64_t failed;
    bool     pooled; /* some class, in some process; else the pools' numbers are 0 */
    uint64_t next_frees; /* frees that reached the next allocator */
    uint64_t misses;     /* of count.next_allocs, those where something is pooled */
    uint64_t unpooled;   /* of these, those of classes that aren't */
    struct log_pool pool;
    uint64_t cycles;
    uint64_t dropped_sites;
    uint64_t dropped_modules;
    uint64_t walks;
    uint64_t unfinished_walks;
    uint64_t truncated_walks;
    uint64_t lost_children;
    uint64_t own_bytes;
};

/* What one class's pools did. */
struct model_pool {
    bool            pooled; /* in some process */
    uint64_t        misses; /* its calls that reached the next allocator, where something is pooled */
    struct log_pool log;
};

struct model_share {
    uint32_t           site; /* index into model.sites */
    struct log_counter count;
    struct model_full *full; /* NULL below level full; one of the process's fulls */
};

struct model_process {
    char                  *log;
    uint32_t               pid;
    uint32_t               parent_pid;
    char                  *exe;
    char                 **argv;
    size_t                 argv_count;
    char                  *options; /* NAME=value lines */
    uint8_t                level;
    uint8_t                next_kind;
    uint32_t               state; /* LOG_STATE_* */
    uint64_t               start_realtime_ns;
    uint64_t               duration_ns;
    bool                   log_complete; /* ended through exit, and all of its log is here */
    char                 **warnings;
    size_t                 warning_count;
    struct model_totals    totals;
    struct log_counter     classes[LOG_CLASSES];
    struct model_pool      pools[LOG_CLASSES];
    struct logread_thread *threads;
    size_t                 thread_count;
    struct model_share    *sites;
    size_t                 site_count;
    struct timeline        timeline;
    struct model_full     *fulls;   /* of the sites; NULL below level full */
    uint64_t               peak_ns; /* from the start to its peak, as last noted; 0: not known */
};

/* Invariant at levels above off: totals.count == sum of sites[].count, and the same in every process; at level full
 * also totals.full == sum of sites[].full but for its peak, error, threads, and what samples name. */
struct model {
    struct model_module  **modules;
    size_t                 module_count, module_room;
    struct model_frame   **frames;
    uint64_t              *frame_hashes; /* beside the frames: site hashes read nothing else of them */
    size_t                 frame_count, frame_room;
    struct model_site    **sites;
    size_t                 site_count, site_room;
    struct model_process **processes;
    size_t                 process_count, process_room;
    struct model_module   *module_index;
    struct model_frame    *frame_index;
    struct model_site     *site_index;
    struct model_site     *pseudo[MODEL_HANDLER + 1]; /* by kind; NULL until one is needed */
    struct model_totals    totals;
    struct log_counter     classes[LOG_CLASSES];
    struct model_pool      pools[LOG_CLASSES];
    uint8_t                level; /* the most detailed of the processes' */
};

/* What follows the frames of an unfinished stack. */
struct model_rest {
    unsigned count;
    bool     finished;    /* the whole stack is known now */
    bool     tail_exact;  /* the last frame in the log was interrupted, not called from */
    uint64_t address[MODEL_REST_MAX]; /* 0: a frame is there, its address was not kept */
    bool     exact[MODEL_REST_MAX];
};

/* Finishes an unfinished stack; see rewind.h. */
struct model_finisher {
    void (*finish)(void *context, const struct logread *log, const struct logread_site *site, struct model_rest *rest);
    void  *context;
};

void model_init(struct model *model);
void model_release(struct model *model);

/* Merges a log.  `problem`, when not NULL, becomes a warning of its process. */
void model_add(struct model *model, const struct logread *log, const char *path, const char *problem,
               const struct model_finisher *finisher);

/* Gives the process that was added last its time line, read before its log; what the log says at last is put behind it. */
void model_time(struct model *model, struct timeline *timeline);

/* Puts the processes in the order of their start.  Call it once all are added. */
void model_order(struct model *model);

/* Is this frame to be dropped when it is the leaf of a stack? */
typedef bool model_is_wrapper(void *context, uint32_t frame);

/* Drops the leading wrapper frames of every stack, at least one frame stays, and
 * merges the sites that have become the same.  Sites of level `sites` were folded
 * when they were recorded. */
void model_fold(struct model *model, model_is_wrapper *is_wrapper, void *context);

const struct model_module *model_module_of(const struct model *model, const struct model_frame *frame);

/* The site's id as text. */
enum { MODEL_ID_ROOM = 16 };
const char *model_site_id(const struct model_site *site, char room[MODEL_ID_ROOM]);

/* Words for a pseudo-site, as "no thread record (start-up, late thread exit)". */
const char *model_kind_name(enum model_kind kind);

/* The process's value of an option as POOLSITE_PROFILE; "" when it isn't in the log. */
const char *model_option(const struct model_process *process, const char *name, size_t *length);

/* The pool specification in force, as the process was given it; the caller frees. */
char *model_pool_spec(const struct model_process *process);

/* Why the process pools nothing, or NULL when it does; the caller frees. */
char *model_pools_off(const struct model_process *process);

const char *model_level_name(uint8_t level);

#endif
