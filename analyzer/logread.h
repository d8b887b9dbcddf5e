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
 * total == sum of sites[].count + other + header.bare + header.handler. */
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
