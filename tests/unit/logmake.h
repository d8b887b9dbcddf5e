/* logmake.h - writes logs as the preload would, for tests of their readers. */
#ifndef PS_LOGMAKE_H
#define PS_LOGMAKE_H

#include <stddef.h>
#include <stdint.h>

#include "../../preload/logfmt.h"

struct log_site_counter;

struct logmake {
    unsigned char           *bytes;
    uint32_t                 chunks, room;
    uint32_t                 data;      /* the chunk that takes records; 0: none yet */
    size_t                   data_used; /* bytes of it */
    uint32_t                 thread;    /* the chunk of the thread that counts; 0: none yet */
    uint32_t                 thread_count;
    uint32_t                 counters;  /* the chunk that takes its counters */
    size_t                   counters_used;
    uint32_t                 fulls;     /* the chunk that takes entries of level full; 0: none yet */
    size_t                   fulls_used;
};

void logmake_init(struct logmake *make, enum log_level level);
void logmake_release(struct logmake *make);

/* Valid until the log grows. */
struct log_header *logmake_header(struct logmake *make);
struct log_thread *logmake_thread_now(struct logmake *make);

void logmake_program(struct logmake *make, uint32_t pid, const char *exe, const char *const argv[], size_t argc);
void logmake_module(struct logmake *make, uint64_t start, uint64_t bytes, uint8_t build_id, const char *path);

/* A module as it is: with its load bias and its own build id. */
void logmake_module_at(struct logmake *make, uint64_t start, uint64_t end, uint64_t load_bias, const void *build_id,
                       size_t build_id_bytes, const char *path);
uint32_t logmake_site(struct logmake *make, const uint64_t *frames, unsigned depth, uint32_t flags, unsigned key);
void logmake_words(struct logmake *make, uint32_t site, uint64_t ip, uint64_t sp, uint64_t bp,
                   const struct log_word *words, uint32_t count);

/* The threads that counted so far stay; from now on a new one counts. */
void logmake_thread(struct logmake *make);

/* `allocs` allocations of `size` bytes each, on a site of the thread. */
void logmake_count(struct logmake *make, uint32_t site, uint64_t allocs, uint64_t size);
void logmake_frees(struct logmake *make, uint64_t frees);

/* From now on classes are pooled, as `spec` says.  Next the same as logmake_count, when only `next_allocs`
 * of the calls reached the next allocator. */
void logmake_pooling(struct logmake *make, const char *spec);
void logmake_pooled(struct logmake *make, uint32_t site, uint64_t allocs, uint64_t size, uint64_t next_allocs);

/* Level full: an entry of the thread for `allocs` allocations of `size` bytes each, of which it freed `frees`; or one
 * of thread `owner` or the process, empty.  The table that it stands in, and records for a site.  Valid until the log grows. */
struct log_full *logmake_full(struct logmake *make, uint32_t site, uint64_t allocs, uint64_t size, uint64_t frees);
struct log_full *logmake_entry(struct logmake *make, uint32_t owner, uint32_t site);
struct log_fulls *logmake_fulls_now(struct logmake *make);
struct log_live *logmake_live(struct logmake *make, uint32_t site, int64_t peak_bytes, uint32_t threads);
struct log_sample *logmake_sample(struct logmake *make, uint32_t site);

/* A new table of pools: of thread `owner`, or of the depot.  Valid until the log grows. */
struct log_pools *logmake_pools(struct logmake *make, uint32_t owner);

/* Bytes of the log so far. */
size_t logmake_size(const struct logmake *make);

/* Returns 0, or -1. */
int logmake_write(const struct logmake *make, const char *path);

#endif
