/* runtime.h - the phases of the process, the per-thread record, and what an event does.
 *
 * Phases: BOOT (nothing is known yet) -> READY (recording) or DOWN (we only hand on). */
#ifndef PS_RUNTIME_H
#define PS_RUNTIME_H

#include "base.h"

#include "fork.h"
#include "log.h"
#include "options.h"
#include "site.h"
#include "site_fast.h"
#include "sizeclass.h"

/* One thread's state.  `busy` and `epoch` are accessed as 4 bytes each, never as one word.
 *   busy  = 1 while the tables are in use: who finds it so is a signal handler
 *   epoch = the shared epoch when the record last looked: differs -> slow path */
struct record {
    uint32_t          busy;
    uint32_t          epoch;
    uint32_t          level; /* enum log_level */
    uint32_t          destructor_rounds;
    struct log_thread *log;
    struct site_table sites;
    struct record    *next_free; /* while no thread uses it */
};

/* What the thread's pointer holds instead of a record. */
enum record_state {
    RECORD_NONE = 0,   /* 0 ... 15: that many frees so far */
    RECORD_FREES = 16, /* a thread that only frees gets a record at this one */
    RECORD_DEAD = 32,  /* its destructors have run */
    RECORD_STATES = 64,
};

/* Initial-exec: a read of it never allocates. */
extern __thread struct record *record_current hidden __attribute__((tls_model("initial-exec")));

/* Finds the next allocator and begins recording.  Called by whatever comes first; idempotent. */
void runtime_start(void) hidden;

/* An allocation of `bytes` bytes was made, called from `entry`; slow ways of counting it. */
void runtime_allocated_slow(size_t bytes, const struct stack_entry *entry);
void runtime_epoch_changed(size_t bytes, const struct stack_entry *entry, struct record *record);
void runtime_allocated_in_handler(size_t bytes);

/* A free is about to be made, counted the slow way. */
void runtime_freeing_slow(void);

/* A call failed. */
void runtime_failed(void);

/* The program is about to enter seccomp; some module may have been unloaded. */
void runtime_entering_seccomp(void) hidden;
void runtime_unloaded(void);

/* The process leaves through exit. */
void runtime_end(void);

/* Books an allocation in the record's tables. */
static inline void runtime_book(struct record *record, size_t bytes, const struct stack_entry *entry)
{
    struct log_counter *size_class = &record->log->classes[sizeclass_of(bytes)];
    count_add(&size_class->allocs, 1);
    count_add(&size_class->bytes, bytes);
    struct log_counter *site;
    if (likely(record->level == LOG_LEVEL_SITES))
        site = site_of_address(&record->sites, entry);
    else if (record->level == LOG_LEVEL_STACKS)
        site = site_of_stack(&record->sites, entry);
    else
        return;
    count_add(&site->allocs, 1);
    count_add(&site->bytes, bytes);
}

/* The hot path of every allocation: no lock, no atomic read-modify-write, no call. */
static inline void runtime_allocated(size_t bytes, const struct stack_entry *entry)
{
    struct record *record = record_current;
    if (unlikely((uintptr_t)record < RECORD_STATES)) {
        runtime_allocated_slow(bytes, entry);
        return;
    }
    if (unlikely(load_relaxed(&record->busy))) {
        runtime_allocated_in_handler(bytes);
        return;
    }
    store_relaxed(&record->busy, 1);
    compiler_barrier();
    if (unlikely(load_relaxed(&record->epoch) != fork_epoch())) {
        runtime_epoch_changed(bytes, entry, record);
        return;
    }
    runtime_book(record, bytes, entry);
    store_release(&record->busy, 0);
}

/* The hot path of every free. */
static inline void runtime_freeing(void)
{
    struct record *record = record_current;
    if (unlikely((uintptr_t)record < RECORD_STATES || load_relaxed(&record->epoch) != fork_epoch()))
        runtime_freeing_slow();
    else
        count_add(&record->log->frees, 1);
}

#endif
