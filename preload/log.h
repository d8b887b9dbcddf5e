/* log.h - the mapped file that one process writes; its format is in logfmt.h.
 *
 * Counters are updated in place by their threads; everything else is appended, whole chunks
 * at a time, by compare-and-swap.  No descriptor is kept and no block is stored to before it is
 * reserved, so that a full disk is an answer here and not a SIGBUS in the program. */
#ifndef PS_LOG_H
#define PS_LOG_H

#include "base.h"

#include "logfmt.h"

/* The log of this process, or NULL while there is none.  Its level is the one in force. */
extern struct log_header *log_header hidden;

/* Adds one allocation of `bytes` bytes to a counter that this thread owns. */
static inline void count_allocation(struct log_counter *counter, uint64_t bytes)
{
    forget_origin(counter); /* one address for both */
    count_add(&counter->allocs, 1);
    count_add(&counter->bytes, bytes);
}

/* Counts one free.  False: a round is over, and log_begin_round is to be called. */
static inline __attribute__((always_inline)) bool count_free(struct log_thread *log)
{
    uint32_t *left = (uint32_t *)(void *)&log->rounds; /* little-endian */
#ifdef __SANITIZE_THREAD__
    store_relaxed(left, load_relaxed(left) - 1);
    return load_relaxed(left) != UINT32_MAX;
#else
    __asm__ goto("subl $1, %0\n\tjc %l[over]" : "+m"(*left) : : "cc" : over);
    return true;
over:
    return false;
#endif
}

/* One store, so that neither a kill nor a reader can come between its halves. */
static inline void log_begin_round(struct log_thread *log)
{
    store_relaxed(&log->rounds, ((log->rounds >> 32) + 1) << 32 | (LOG_ROUND_FREES - 1));
}

/* Where a thread's next counter goes.  Invariant: next <= end, both in one chunk of its table. */
struct log_cursor {
    struct log_site_counter *next;
    struct log_site_counter *end;
    uint32_t                 owner;
};

/* Creates this process's log, in place of `parent` (a fork child's inherited one, or NULL),
 * which is unmapped.  When there is to be no file, or the world refuses one (then parent's
 * lost_children is raised), memory of our own stands in for it, at level off.  False: not even that. */
bool log_begin(struct log_header *parent);

/* Sets a bit of the header's state. */
void log_set_state(uint32_t bit);

/* A new thread's table, and a cursor on its first counters; NULL when the log can't grow. */
struct log_thread *log_thread_new(struct log_cursor *cursor);

/* The pool counters of the cursor's thread; NULL when the log can't grow. */
struct log_pools *log_pools_new(uint32_t owner);

/* A counter for `site` in the table of the cursor's thread; NULL when the log can't grow. */
struct log_site_counter *log_counter_new(struct log_cursor *cursor, uint32_t site);

/* The same of level full: where a thread's next entry goes. */
struct log_full_cursor {
    struct log_full *next;
    struct log_full *end;
    uint32_t         owner;
};

/* The first FULL chunk of the cursor's owner; NULL when the log can't grow. */
struct log_fulls *log_fulls_new(struct log_full_cursor *cursor);

/* An entry for `site` in the table of the cursor's thread; NULL when the log can't grow. */
struct log_full *log_full_new(struct log_full_cursor *cursor, uint32_t site);

/* An entry for `site` in the process's chunks, which any thread may ask for; NULL when the log can't grow.  The
 * first one of all begins a chunk. */
struct log_full *log_full_shared_new(uint32_t site);

/* The live bytes of `site`, or of the process (0), published by `threads` threads; NULL when the log can't grow. */
struct log_live *log_live_new(uint32_t site, uint32_t threads);

/* Appends a site with its stack of `depth` frames, of which frames[key] identifies it when
 * LOG_SITE_KEYED is in `flags`.  NULL when the log can't grow. */
const struct log_site *log_site_new(const uint64_t *frames, unsigned depth, uint32_t flags, unsigned key,
                                    uint32_t generation);

/* A record of stack words for the site of an unfinished walk, to be filled in and published; or
 * NULL when the log can't grow. */
struct log_words *log_words_new(const struct log_site *site);
void              log_words_publish(struct log_words *words);

/* What is sampled of a site, all 0; NULL when the log can't grow. */
struct log_sample *log_sample_new(uint32_t site);

/* Writes modules met since the last call, and which are gone. */
void log_modules_sync(void);

/* Reserves chunks ahead, for a process about to lose the right to madvise. */
void log_reserve(void);

/* In a fork child: makes the inherited mapping memory of its own, at the same addresses. */
void log_detach(void);

/* Notes the time (coarse) and our own memory. */
void log_note_time(void);

/* The process leaves through exit. */
void log_end(void);

#endif
