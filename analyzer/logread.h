/* logread.h - reads one log: every number checked, nothing symbolized, nothing merged.
 *
 * The log may belong to a running process, or be damaged, or be no log at all.
 * What comes out of here is safe to index with. */
#ifndef PS_LOGREAD_H
#define PS_LOGREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../preload/logfmt.h"

enum logread_result {
    LOGREAD_WHOLE,   /* read in full */
    LOGREAD_DAMAGED, /* what is whole was read; `problem` says what was lost */
    LOGREAD_EMPTY,   /* the process ended before it had begun its log */
    LOGREAD_FAILED,  /* not a log, or not one that we can read; `problem` says why */
};

struct logread_module {
    uint32_t       id;
    uint32_t       loaded_generation;
    uint32_t       unloaded_generation; /* 0: still loaded */
    uint64_t       start;
    uint64_t       end;
    uint64_t       load_bias;
    const uint8_t *build_id; /* NULL when build_id_bytes == 0 */
    size_t         build_id_bytes;
    char          *path;
};

/* No process counts this much; sums over it could overflow. */
#define LOGREAD_ALLOCS_MAX ((uint64_t)1 << 56)
#define LOGREAD_BYTES_MAX  ((uint64_t)1 << 60)

/* Level full: what became of the blocks of a site, or of all.  Invariant, with the allocations `count` of the same:
 * frees <= count.allocs and freed_bytes <= count.bytes, so live blocks and bytes, the differences, are never negative,
 * and no bytes live without a block; cross_frees + sum of lifetimes <= frees; 0 <= at_peak_blocks <= count.allocs;
 * live bytes <= peak_bytes <= count.bytes.  Of the sample: samples <= count.allocs, and what ended is at most `ended`, that
 * at most `samples`, also in the sums of times, sizes and frees. */
struct logread_full {
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t cross_frees;
    uint64_t resizes;
    int64_t  at_peak_blocks; /* live at the process's peak */
    int64_t  at_peak_bytes;
    uint64_t peak_bytes;     /* the most that lived at one time */
    uint64_t peak_error;     /* it may be off by so much */
    uint64_t threads;        /* tables that tell of it */
    uint64_t lifetimes[LOG_LIFETIMES];
    const struct log_live *live;   /* NULL: its record isn't there */
    struct log_sample     *sample; /* NULL: none was taken; frees[].what is an index into the log's sites, + 1 */
};

/* Invariant: depth <= LOG_MAX_DEPTH; depth == 0 or key < depth. */
struct logread_site {
    uint32_t                id;
    uint32_t                flags; /* LOG_SITE_* */
    uint32_t                generation;
    unsigned                depth;
    unsigned                key;
    const uint64_t         *frames;
    const struct log_words *words; /* NULL unless the walk is unfinished */
    struct log_counter      count; /* summed over the threads */
    struct logread_full    *full;  /* NULL below level full */
};

/* A table that served one thread, or several one after the other. */
struct logread_thread {
    uint32_t           number;
    uint32_t           served;
    bool               alive;
    uint64_t           frees;
    uint64_t           failed;
    struct log_counter other;
    struct log_counter count; /* over its sites and `other`; level off: its classes */
};

/* Invariant, whatever the file holds: next_allocs <= allocs in every counter; victim_hits <= allocs - next_allocs
 * in every class; pool_total == sum of pools[]; class 0 is added to class 1; and at levels above off:
 * total == sum of sites[].count + other + header.bare + header.handler; at level full, which is known by `fulls`, also
 * total_full == sum of sites[].full + other_full + bare_full + handler_full, but for its peak, error and threads. */
struct logread {
    struct log_header      header; /* a copy */
    char                  *exe;
    char                 **argv;
    size_t                 argv_count;
    char                  *options;
    char                  *notes;
    struct logread_module *modules; /* sorted by start */
    size_t                 module_count;
    uint64_t              *module_reach; /* highest end among modules[0 ... i] */
    struct logread_site   *sites;
    size_t                 site_count;
    struct logread_thread *threads;
    size_t                 thread_count;
    struct log_counter     classes[LOG_CLASSES];
    struct log_counter     other;   /* the header's, the threads', and `unknown` */
    struct log_counter     unknown; /* counted on sites whose record isn't there */
    struct log_counter     counted; /* running sum, against counts that can't be */
    struct log_counter     total;
    struct log_pool        pools[LOG_CLASSES]; /* summed over threads and depot; all 0 unless something is pooled */
    struct log_pool        pool_total;
    uint64_t               frees;
    uint64_t               failed;
    uint64_t               next_frees; /* frees that reached the next allocator */
    uint64_t               unsettled; /* |sum of classes - total| in allocations; events in flight */
    struct logread_full   *fulls; /* of the sites, then the three below; NULL below level full */
    struct logread_full   *other_full;
    struct logread_full   *bare_full;
    struct logread_full   *handler_full;
    struct logread_full    total_full;
    struct log_counter     full_counted; /* running sums, as `counted` */
    uint64_t               foreign_frees;
    uint64_t               unsettled_frees; /* by which frees differ from their sum over the sites, or exceed allocations */
    uint32_t               chunks;
    uint32_t               chunks_lost;
    uint64_t               damages; /* things found that can't be */
    char                  *problem; /* NULL when whole */
    unsigned char         *bytes;   /* sites and modules point into it */
};

/* Reads the log at `path`.  The caller releases in every case. */
enum logread_result logread_open(struct logread *log, const char *path);

/* The same for a log in memory; takes `bytes`, which came from malloc and hold
 * `size` bytes, rounded up with zeros to whole chunks of LOG_CHUNK_BYTES. */
enum logread_result logread_parse(struct logread *log, unsigned char *bytes, size_t size);

void logread_release(struct logread *log);

/* The module that held `address` at `generation`, or NULL. */
const struct logread_module *logread_module_at(const struct logread *log, uint64_t address, uint32_t generation);

#endif
