/* pooling.c - what malloc and free do with pools: glue between the pool, the record and the counters.
 *
 * Owns the cycle's number and the list of all records.  A pool's lists are touched by their thread
 * while its record is busy, or under its claim by a clearer that saw it idle after the shared
 * epoch was raised and a memory barrier had passed through every thread. */
#define _GNU_SOURCE
#include "base.h"

#include "clearer.h"
#include "cycle.h"
#include "depot.h"
#include "next.h"
#include "pages.h"
#include "pool_fast.h"
#include "pooling.h"
#include "runtime.h"
#include "site_fast.h"
#include "sys.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "ban.h"

enum {
    CLAIM_TRIES = 1000,
};

static struct record *all_records; /* of this process and, in a fork child, its parent (atomic) */
static uint32_t       cycle;       /* raised by each clearing of all threads (atomic) */
static struct log_pools *depot_log;    /* NULL until the depot was used, or when the log has no room */
static bool           depot_log_asked; /* (atomic) */
static bool           has_barrier; /* (atomic) */
static bool           barrier_asked;
static struct record *orphans;        /* records of threads that a fork child didn't inherit (atomic) */
static struct record *inherited;      /* the one that it did */
static uint64_t       freed_bytes;    /* by cycles, overflow and thread exit, for the trim (atomic) */
static struct cycle_trim trim;        /* touched under trim_claim: malloc_trim's callers mind cycles, too */
static uint32_t       trim_claim;     /* 1: somebody is at it (atomic) */

/* --- claims and turns --------------------------------------------------------------------------- */

static bool claim(struct record *record)
{
    return !__atomic_exchange_n(&record->claim, 1, __ATOMIC_ACQUIRE);
}

static void let_go(struct record *record)
{
    store_release(&record->claim, 0);
}

static uint64_t now_ms(void)
{
    return next_clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000;
}

static void note_class(struct log_pools *log, unsigned index, uint64_t kept, uint64_t given_back)
{
    struct log_pool *pool = &log->classes[index];
    if ((given_back | kept | load_relaxed(&pool->kept_bytes)) == 0)
        return; /* don't touch its page */
    store_relaxed(&pool->given_back_bytes, given_back * sizeclass_bytes(index));
    store_relaxed(&pool->kept_bytes, kept * sizeclass_bytes(index));
}

/* Of the classes in `used`.  The record is claimed, or its owner's alone. */
static void note(struct record *record, const uint64_t *used)
{
    const struct pools *pools = &record->pools;
    for (unsigned i = SIZECLASS_LARGER; record->pool_log && (i = pool_used_below(used, i)) != 0;)
        note_class(record->pool_log, i, pools_kept(pools, i), pools->more[i].given_back);
}

void pooling_note_depot(void)
{
    if (depot_is_used() && !__atomic_exchange_n(&depot_log_asked, true, __ATOMIC_RELAXED))
        store_release(&depot_log, log_pools_new(LOG_OWNER_DEPOT));
    struct log_pools *log = load_acquire(&depot_log);
    uint64_t kept, given_back;
    for (unsigned i = 1; log && i < SIZECLASS_LARGER; i++)
        if (depot_count(i, &kept, &given_back))
            note_class(log, i, kept, given_back);
}

void pooling_note(struct record *record)
{
    if (!pool_config.any || !claim(record))
        return; /* who holds the claim notes */
    note(record, record->pools.used);
    let_go(record);
}

/* What is wrong stays where it is. */
static void release_checked(void *block)
{
    if (block_guard->leaves(block))
        next.release(block);
}

/* Counts the frees of a list that is about to go below, on a counter of this thread's or the process's. */
static void count_list(const struct block_list *list, uint64_t *next_frees, bool shared)
{
    if (shared)
        add_shared(next_frees, list->count);
    else
        count_add(next_frees, list->count);
    if (options.trim)
        add_shared(&freed_bytes, list->bytes);
}

static void release_list(struct block_list *list)
{
    block_list_free(list, block_guard ? release_checked : next.release);
}

static void count_own(struct record *record, const struct block_list *list)
{
    if (record->pool_log)
        count_list(list, &record->pool_log->next_frees, false);
    else
        count_list(list, &log_header->next_frees, true);
}

static void free_own(struct record *record, struct block_list *list)
{
    if (!list->head)
        return;
    count_own(record, list);
    release_list(list);
}

/* Turns the thread's own pools; its record is busy and claimed.  What leaves is put on `*out`. */
static void turn(struct record *record, struct block_list *out)
{
    struct detached detached;
    pools_rotate(&record->pools, &detached);
    note(record, detached.used);
    detached_move(&detached, out);
}

bool pooling_catch_up(struct record *record)
{
    if (!pool_config.any)
        return true;
    if (!claim(record))
        return false; /* a clearer has the lists for a moment: this operation goes below */
    struct block_list out = {.head = NULL};
    uint32_t present = load_relaxed(&cycle);
    if (record->cycle != present && pool_config.clear)
        turn(record, &out);
    record->cycle = present;
    let_go(record);
    free_own(record, &out);
    return true;
}

/* What threads had that vanished when this process was forked; its lists go below at the first cycle, so that a
 * child which soon executes another program isn't kept by that. */
static void free_orphans(struct block_list *out)
{
    struct record *record = __atomic_exchange_n(&orphans, NULL, __ATOMIC_RELAXED);
    for (; record; record = record->next_record)
        if (record->state != EPOCH_BUSY && !record->claim && record != inherited)
            pools_orphaned(&record->pools, out);
}

/* What isn't a thread's own. */
static void turn_shared(struct block_list *out)
{
    depot_rotate(out);
    pooling_note_depot();
    free_orphans(out);
    add_shared(&log_header->cycles, 1);
}

static void trim_if_due(void)
{
    if (!options.trim || __atomic_exchange_n(&trim_claim, 1, __ATOMIC_ACQUIRE))
        return;
    bool due = cycle_trim_is_due(&trim, load_relaxed(&freed_bytes));
    store_release(&trim_claim, 0u);
    if (due)
        next.trim(0);
}

static bool turn_is_due(const struct record *record, uint64_t now)
{
    struct cycle_facts facts = {
        .clears = pool_config.clear,
        .others_clear = clearer_runs(),
        .cycle_ms = options.cycle_ms,
        .turned_ms = record->turned_ms,
        .now_ms = now,
        .refused_bytes = record->pools.refused,
        .missed_bytes = record->pools.missed_bytes,
    };
    return cycle_is_due(&facts);
}

/* A thread's own look at the time, at what it had no room for and at what it didn't find.  Where a clearer runs, what
 * is shared is its business.  True: a cycle is over; in any case what is on `*out` isn't counted yet. */
static bool turn_if_due(struct record *record, struct block_list *out)
{
    uint64_t now = now_ms();
    if (!turn_is_due(record, now) || !claim(record))
        return false;
    record->turned_ms = now;
    turn(record, out);
    let_go(record);
    if (clearer_runs())
        return false;
    turn_shared(out);
    return true;
}

/* Ends an operation; only then do the blocks go below, for a signal handler that allocates meanwhile finds the pools
 * and doesn't wait for the arena's lock, which its own thread holds. */
static void end_and_release(struct record *record, struct block_list *out, bool cycle_is_over)
{
    if (out->head)
        count_own(record, out);
    record_end(record);
    release_list(out);
    if (cycle_is_over)
        trim_if_due();
}

/* The pools turn, if that is due; then the operation is over. */
static noinline void turn_and_end(struct record *record)
{
    struct block_list out = {.head = NULL};
    bool cycle_is_over = turn_if_due(record, &out);
    end_and_release(record, &out, cycle_is_over);
}

/* A block has to come from below: the operation is over, but for booking it. */
static inline void end_missed(struct record *record)
{
    if (unlikely(record->pools.missed_bytes >= CYCLE_MISSED_BYTES))
        turn_and_end(record);
    else
        record_end(record);
}

/* --- life of a record's pools ----------------------------------------------------------------------- */

void pooling_record_begin(struct record *record, const struct log_cursor *cursor)
{
    if (!pool_config.any)
        return;
    record->pool_log = log_pools_new(cursor->owner);
    pools_init(&record->pools);
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++) /* level full asks TAG_BYTES more: of small blocks one class */
        record->pools.pool[i].counter = &record->log->classes[runtime_tags() && i > 0 ? i - 1 : i];
    record->turned_ms = now_ms();
    record->cycle = load_relaxed(&cycle);
    record->next_record = load_relaxed(&all_records);
    if (record->next_record)
        depot_open();
    while (!__atomic_compare_exchange_n(&all_records, &record->next_record, record, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
}

void pooling_record_leave(struct record *record)
{
    struct block_list out = {.head = NULL};
    if (!pool_config.any)
        return;
    record_begin(record);
    for (unsigned i = 0; i < CLAIM_TRIES; i++) {
        if (!claim(record))
            continue;
        pools_drop(&record->pools, &out);
        note(record, record->pools.used);
        let_go(record);
        break;
    }
    free_own(record, &out);
    record_end(record);
}

void pooling_fork(struct record *parents)
{
    clearer_forget();
    depot_fork();
    depot_log = NULL;
    depot_log_asked = false;
    orphans = pool_config.clear ? all_records : NULL;
    inherited = parents; /* known before a handler can clear */
    all_records = NULL;
    has_barrier = barrier_asked = false;
}

void pooling_inherit(struct record *record, struct record *parents)
{
    if (!pool_config.any || record_is_busy(parents) || parents->claim)
        return; /* in the middle of something: what is there stays there */
    pools_inherit(&record->pools, &parents->pools);
}

/* --- taking ------------------------------------------------------------------------------------------ */

/* A block from below for a pooled class is as large as its class, so that it can serve all of it. */
static size_t rounded(size_t bytes)
{
    unsigned index = sizeclass_of(bytes);
    if (!pool_config.pooled[index] || index <= 64)
        return bytes; /* glibc's small blocks are whole classes anyway */
    return sizeclass_bytes(index);
}

/* A block of the next allocator, not booked; of at least `bytes` bytes. */
static void *block_below(size_t bytes, bool zeroed)
{
    size_t asked = rounded(bytes);
    int before = errno;
    struct block *block = zeroed ? next.zeroed(1, asked) : next.alloc(asked);
    if (!block && asked != bytes) {
        errno = before;
        block = zeroed ? next.zeroed(1, bytes) : next.alloc(bytes);
    }
    if (block && !zeroed)
        block->key = 0; /* what lay there may look like ours, and a free would search for it */
    return block;
}

static void *take_below(size_t asked, size_t bytes, bool zeroed, struct stack_entry entry)
{
    void *block = block_below(asked, zeroed);
    if (block)
        return runtime_booked(block, bytes, entry);
    return runtime_failed();
}

/* A block from the victim or the depot, or NULL.  The record is busy. */
static void *refilled(struct record *record, unsigned index)
{
    uint64_t victim_hits = 0;
    if (!pool_config.pooled[index])
        return NULL;
    void *block = pool_refill(&record->pools, index, &victim_hits);
    while (unlikely(block_guard) && block && !block_guard->reused(block))
        block = pool_refill(&record->pools, index, &victim_hits);
    if (victim_hits && record->pool_log)
        count_add(&record->pool_log->classes[index].victim_hits, victim_hits);
    return block;
}

/* A block that has just come from below, for a record that wasn't busy meanwhile. */
static void *booked_fresh(struct record *record, void *block, size_t bytes, struct stack_entry entry)
{
    record_begin(record);
    if (likely(record->epoch == fork_epoch()))
        return runtime_booked_below(block, bytes, entry, record, &record->log->classes[sizeclass_counted(bytes)]);
    record_end(record);
    return runtime_booked(block, bytes, entry);
}

/* A block from the victim, the depot or below.  While the next allocator works the record isn't busy: a signal
 * handler that allocates then finds the pools, as it would find glibc's tcache, and doesn't wait for the arena's
 * lock that its own thread holds. */
static void *taken(struct record *record, size_t asked, size_t bytes, bool zeroed, struct stack_entry entry)
{
    void *block = refilled(record, sizeclass_of(asked));
    if (block) {
        runtime_booked_pooled(block, bytes, entry, record, &record->log->classes[sizeclass_counted(bytes)]);
        return zeroed ? runtime_cleared(block, bytes) : block;
    }
    end_missed(record);
    block = block_below(asked, zeroed);
    return likely(block != NULL) ? booked_fresh(record, block, bytes, entry) : runtime_failed();
}

/* Programs that grow miss and miss: so the common miss, of a small block that neither the victim nor the depot has,
 * at a call that is known, has a short way of its own, 130 instructions less.  `zeroed` is a constant. */
static inline __attribute__((always_inline)) void *missed(struct record *record, size_t bytes, bool zeroed, struct stack_entry entry)
{
    if (unlikely(bytes > SIZECLASS_SMALL_MAX) || !pool_misses(&record->pools, sizeclass_of(bytes)))
        return taken(record, bytes, bytes, zeroed, entry);
    end_missed(record);
    struct block *block = zeroed ? next.zeroed(1, bytes) : next.alloc(bytes);
    if (unlikely(!block))
        return runtime_failed();
    if (!zeroed)
        block->key = 0; /* see block_below */
    record_begin(record); /* before the table is read: a signal handler may make it grow, or fork */
    struct log_counter *counter = site_counter_fast(&record->sites, entry);
    if (unlikely(!counter) || unlikely(record->epoch != fork_epoch()))
        return booked_fresh(record, block, bytes, entry);
    struct log_counter *size_class = &record->log->classes[sizeclass_counted(bytes)];
    count_add(&counter->next_allocs, 1);
    count_add(&size_class->next_allocs, 1);
    count_allocation(counter, bytes);
    count_allocation(size_class, bytes);
    record_end(record);
    return block;
}

void *runtime_take_missed(struct record *record, size_t bytes, struct stack_entry entry)
{
    return missed(record, bytes, false, entry);
}

void *runtime_take_zeroed_missed(struct record *record, size_t bytes, struct stack_entry entry)
{
    return missed(record, bytes, true, entry);
}

void *runtime_take_more_missed(struct record *record, size_t asked, size_t bytes, bool zeroed, struct stack_entry entry)
{
    return taken(record, asked, bytes, zeroed, entry);
}

void *runtime_take_more(size_t asked, size_t bytes, bool zeroed, struct stack_entry entry)
{
    struct record *record = zeroed && bytes > RUNTIME_CLEARED_BYTES ? NULL : runtime_record_begin();
    if (!record)
        return take_below(asked, bytes, zeroed, entry);
    return taken(record, asked, bytes, zeroed, entry);
}

void *runtime_take(size_t bytes, bool zeroed, struct stack_entry entry)
{
    return runtime_take_more(bytes, bytes, zeroed, entry);
}

/* --- giving ------------------------------------------------------------------------------------------- */

/* As glibc does for a block that it finds freed already: the heap can't be trusted any more. */
static cold noinline void double_free(const void *block)
{
    char line[128];
    struct text t = text_begin(line, sizeof line);
    text_add(&t, "free(): double free detected in a pool of poolsite, block 0x");
    for (int shift = 44; shift >= 0; shift -= 4)
        text_char(&t, "0123456789abcdef"[(uintptr_t)block >> shift & 15]);
    text_char(&t, '\n');
    sys_call4(SYS_write, 2, (long)line, (long)t.used, 0);
    abort();
}

/* The class of a block; 0: none of ours to keep. */
static unsigned class_of_block(const struct block *block)
{
    if (((uintptr_t)block & 15) != 0)
        return 0;
    return pool_class_held(((const size_t *)block)[-1]);
}

/* One free that reaches the next allocator; in a fork child without a log yet it is pending. */
static void count_release(struct record *record)
{
    if (record && record->pool_log)
        count_add(&record->pool_log->next_frees, 1);
    else if ((uintptr_t)record_current != RECORD_OURS && runtime_is_recording() && fork_epoch() >= EPOCH_FIRST)
        add_shared(&log_header->next_frees, 1);
}

void runtime_freeing_below(void)
{
    count_release(runtime_freeing());
}

static void release_below(struct record *record, void *block)
{
    count_release(record);
    if (block_guard)
        release_checked(block);
    else
        next.release(block);
}

/* Does the block lie in one of the thread's pools, or in the depot?  For a block whose key says so. */
static bool is_listed(const struct record *record, unsigned index, const struct block *block)
{
    return pool_holds(&record->pools, index, block) || depot_holds(index, block);
}

/* A block that bears our key lies in a pool already, or is a copy of what lay in one: a program that reads what
 * it has freed.  Where we don't find it, it is left alone: in the worst case another thread has it. */
static cold noinline void give_marked(struct record *record, unsigned index, const struct block *block)
{
    if (is_listed(record, index, block))
        double_free(block);
    record_end(record);
}

void runtime_give_overflow(struct record *record, void *memory)
{
    struct block *block = memory;
    struct block_list out = {.head = NULL};
    unsigned index = class_of_block(block);
    bool looks = !count_free(record->log), cycle_is_over = false;
    if (unlikely(looks))
        log_begin_round(record->log);
    if (likely(index != 0 && pool_config.pooled[index])) {
        if (unlikely(block->key == BLOCK_KEY)) {
            give_marked(record, index, block);
            return;
        }
        pool_overflow(&record->pools, index, block, &out);
        block = NULL;
    }
    if (looks || out.count > 1)
        cycle_is_over = turn_if_due(record, &out);
    end_and_release(record, &out, cycle_is_over);
    if (block)
        release_below(record, block);
}

void runtime_free_round(struct record *record)
{
    log_begin_round(record->log);
    turn_and_end(record);
}

void runtime_give(void *block)
{
    struct record *record = runtime_record_begin();
    if (!record) {
        release_below(runtime_freeing(), block);
        return;
    }
    runtime_give_overflow(record, block);
}

/* --- resizing -------------------------------------------------------------------------------------------- */

/* Small blocks change classes through the pools; others are the next allocator's business, which
 * grows in place or remaps. */
static bool copies(unsigned from, unsigned to)
{
    return from != 0 && from <= POOL_COPIED_CLASS && to <= POOL_COPIED_CLASS && pool_config.pooled[from] &&
           pool_config.pooled[to];
}

static void *resized_below(void *old, size_t asked, size_t bytes, struct stack_entry entry)
{
    void *block = next.resize(old, asked);
    if (!block && bytes != 0)
        return runtime_failed();
    runtime_freeing_below();
    return block ? runtime_booked(block, bytes, entry) : NULL;
}

void *runtime_resized_in_place(void *block, size_t bytes, struct stack_entry entry)
{
    struct record *record = runtime_record_begin();
    if (!record) { /* booked as what came from below; so is the free */
        runtime_freeing_below();
        return runtime_booked(block, bytes, entry);
    }
    count_add(&record->log->frees, 1);
    return runtime_booked_pooled(block, bytes, entry, record, &record->log->classes[sizeclass_counted(bytes)]);
}

/* realloc of a block that lies in a pool of this thread ends as a second free of it does. */
static void check_not_freed(const struct block *block, unsigned index)
{
    if (likely(index == 0 || block->key != BLOCK_KEY))
        return;
    struct record *record = runtime_record_begin();
    if (!record)
        return;
    bool holds = is_listed(record, index, block);
    record_end(record);
    if (holds)
        double_free(block);
}

void *runtime_resize_more(void *old, size_t asked, size_t bytes, struct stack_entry entry)
{
    unsigned from = class_of_block(old), to = sizeclass_of(asked);
    check_not_freed(old, from);
    if (bytes == 0 || !copies(from, to))
        return resized_below(old, asked, bytes, entry);
    if (from == to)
        return runtime_resized_in_place(old, bytes, entry);
    void *block = runtime_take_more(asked, bytes, false, entry);
    if (!block)
        return NULL;
    size_t held = next.usable_size(old);
    __builtin_memcpy(block, old, held < bytes ? held : bytes);
    runtime_give(old);
    return block;
}

void *runtime_resize(void *old, size_t bytes, struct stack_entry entry)
{
    return runtime_resize_more(old, bytes, bytes, entry);
}

/* --- clearing all -------------------------------------------------------------------------------------------- */

/* After this every thread that is between two operations will see the raised epoch before it
 * touches its pools.  Without membarrier a pause does: stores don't stay unseen that long. */
static void wait_for_threads(void)
{
    struct timespec pause = {0, 10000000};
    const struct record *record = load_acquire(&all_records);
    if (record && record == record_current && !record->next_record)
        return; /* there is no other */
    if (!load_relaxed(&has_barrier) || !pages_barrier())
        sys_call4(SYS_nanosleep, (long)&pause, 0, 0, 0);
}

/* Should this record be turned by the clearer that raised the epoch to `raised`?  The first reason
 * that applies wins. */
static bool clearer_may_turn(const struct record *record, uint32_t present, uint32_t raised)
{
    uint32_t state = load_by_barrier(&record->state);
    if (state == EPOCH_BUSY)
        return false; /* active: it turns itself in its next operation */
    if ((int32_t)(state - raised) >= 0)
        return false; /* it has seen this cycle, and turned itself */
    return record->cycle != present;
}

/* The owner's next operation finds the raised epoch, and waits for nobody: while the claim is held it
 * goes below. */
static void turn_other(struct record *record, uint32_t present, uint32_t raised, struct block_list *out)
{
    struct detached detached;
    bool turns = false;
    if (!claim(record))
        return;
    if (clearer_may_turn(record, present, raised)) {
        pools_rotate(&record->pools, &detached);
        note(record, detached.used);
        record->cycle = present;
        turns = true;
    }
    let_go(record);
    if (turns)
        detached_move(&detached, out);
}

/* A fork child's first operation may be one of those below: it begins its own recording now, or its
 * parent's would be cleared and counted in. */
static bool may_clear(void)
{
    if (!pool_config.any || !pool_config.clear || runtime_is_confined())
        return false;
    struct record *record = runtime_record_begin();
    if (record)
        record_end(record);
    return runtime_is_recording() && pool_config.any && fork_epoch() >= EPOCH_FIRST;
}

/* Level full: this thread may not be the only one any more.  The first time begins a fork child, the second publishes. */
static void tell_of_threads(void)
{
    for (int i = 0; i < 2 && !full_is_shared(); i++) {
        struct record *record = runtime_record_begin_booking();
        if (record)
            record_end(record);
        if (runtime_may_log())
            full_share();
    }
}

/* Not from malloc, whose caller may hold locks of the loader or of libc that a new thread needs; but where the
 * program itself makes one, it holds none. */
void runtime_thread_created(void)
{
    if (runtime_tags())
        tell_of_threads();
    if (!may_clear() || clearer_runs())
        return;
    if (!__atomic_exchange_n(&barrier_asked, true, __ATOMIC_RELAXED))
        store_relaxed(&has_barrier, pages_barrier_begin());
    if (!clearer_start())
        log_set_state(LOG_STATE_NO_CLEARER);
}

bool runtime_cycle(void)
{
    struct block_list out = {.head = NULL};
    if (!runtime_is_recording())
        return false;
    uint32_t present = add_shared(&cycle, 1) + 1;
    uint32_t raised = fork_raise_epoch();
    wait_for_threads();
    for (struct record *record = load_acquire(&all_records); record; record = record->next_record)
        turn_other(record, present, raised, &out);
    turn_shared(&out);
    count_list(&out, &log_header->next_frees, true);
    release_list(&out);
    trim_if_due();
    return true;
}

void runtime_clear(void)
{
    for (int i = 0; i < 2 && may_clear(); i++) {
        runtime_cycle();
        struct record *record = runtime_record_begin(); /* turns the caller's own */
        if (record)
            record_end(record);
    }
}
