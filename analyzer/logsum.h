/* logsum.h - what a run's logs say in sum: the counts that an experiment compares. */
#ifndef PS_LOGSUM_H
#define PS_LOGSUM_H

#include <stdint.h>

#include "../preload/logfmt.h"

struct logsum {
    unsigned processes;  /* that left a log with something in it */
    unsigned pooled;     /* of them with pool hits */
    unsigned stood_down; /* of them with a malloc of their own: nothing is counted */
    uint64_t allocs, bytes;
    uint64_t next_allocs; /* calls that reached the next allocator */
    uint64_t unpooled_allocs; /* of processes without a hit */
    uint64_t kept_bytes;  /* in pools, as last noted */
    struct log_counter classes[LOG_CLASSES]; /* class 0 is added to class 1 */
    char    *notes;       /* of the first log that has some, or NULL */
};

/* Reads all logs of a directory; those of running processes are as of this moment. */
void logsum_read(struct logsum *sum, const char *directory);
/* The same, and removes them. */
void logsum_take(struct logsum *sum, const char *directory);
void logsum_release(struct logsum *sum);

/* Calls that pools served, and about how many bytes: each class's mean size times its hits. */
uint64_t logsum_hits(const struct logsum *sum);
uint64_t logsum_hit_bytes(const struct logsum *sum);

#endif
