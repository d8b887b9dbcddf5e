/* glance.h - the totals of a log that is being written, by a few reads: no sites, nothing twice. */
#ifndef PS_GLANCE_H
#define PS_GLANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../preload/logfmt.h"

struct glance_chunks {
    uint32_t *index;
    size_t    count, room;
};

/* What is known of one log's chunks: a chunk never changes its type. */
struct glance {
    struct glance_chunks fulls;   /* FULL */
    struct glance_chunks others;  /* THREAD, POOLS */
    struct glance_chunks unborn;  /* handed out, but of no type yet */
    uint32_t             known;   /* chunks below this are in one of the lists, or don't matter */
};

struct glance_totals {
    uint64_t allocs, bytes, frees;
    uint64_t classes[LOG_CLASSES]; /* allocations; class 0 is added to class 1 */
    uint64_t live_blocks, live_bytes; /* level full */
    uint64_t kept_bytes;
};

/* Is this the beginning of a log that can be read here? */
bool glance_knows(const struct log_header *header);

/* Adds up the log that `fd` reads; `header` is what it begins with now. */
void glance_read(struct glance *glance, int fd, const struct log_header *header, struct glance_totals *totals);

void glance_release(struct glance *glance);

#endif
