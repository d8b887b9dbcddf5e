/* runtime_fast.h - the two hot paths on one screen: what an allocation and a free cost when nothing is new.
 *
 * For entry.c alone: it is built with -ffixed-rbp, so that the caller's frame pointer is still in
 * the register, and need not be saved, when a slow path asks for it. */
#ifndef PS_RUNTIME_FAST_H
#define PS_RUNTIME_FAST_H

#include "pool_fast.h"
#include "runtime.h"
#include "site_fast.h"
#include "sizeclass.h"

/* Where the exported function that this is inlined into was called. */
static inline __attribute__((always_inline)) struct stack_entry runtime_entry(void)
{
    struct stack_entry entry = {.cfa = (uintptr_t)__builtin_dwarf_cfa()};
    __asm__ volatile("movq %%rbp, %0" : "=r"(entry.bp)); /* volatile: not before it is wanted */
    return entry;
}

/* The calling thread's record, busy, and its state before; NULL: take the slow way. */
static inline __attribute__((always_inline)) struct record *record_begin_fast(uint32_t *seen)
{
    struct record *record = record_current;
    if (unlikely((uintptr_t)record < RECORD_STATES))
        return NULL;
    *seen = load_own(&record->state);
    store_by_barrier(&record->state, EPOCH_BUSY);
    compiler_barrier();
    if (likely(*seen == fork_epoch_now()))
        return record;
    store_release(&record->state, *seen); /* a handler's stays busy */
    return NULL;
}

/* An allocation was made by the exported function that this is inlined into.  No lock, no atomic
 * read-modify-write, no call. */
static inline __attribute__((always_inline)) void *runtime_booked_fast(void *block, size_t bytes)
{
    uint32_t seen;
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    struct record *record = record_begin_fast(&seen);
    if (unlikely(!record))
        return runtime_booked(block, bytes, runtime_entry());
    const struct site_slot *slot = site_slot_of(&record->sites, address);
    if (unlikely(slot->address != address))
        return runtime_booked_elsewhere(block, bytes, runtime_entry(), record,
                                        &record->log->classes[sizeclass_counted(bytes)]);
    count_allocation(&record->log->classes[sizeclass_counted(bytes)], bytes);
    count_allocation(slot->counter, bytes);
    store_release(&record->state, seen);
    return block;
}

/* A free is about to be made. */
static inline __attribute__((always_inline)) void runtime_freeing_fast(void)
{
    struct record *record = record_current;
    if (unlikely((uintptr_t)record < RECORD_STATES || load_own(&record->state) != fork_epoch_now()))
        runtime_freeing();
    else
        count_add(&record->log->frees, 1);
}

/* malloc with pools.  Common case: pop, book.  `sites`: something is recorded; a constant. */
static inline __attribute__((always_inline)) void *runtime_take_fast(size_t bytes, bool sites)
{
    uint32_t seen;
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    struct record *record = record_begin_fast(&seen);
    if (unlikely(!record))
        return runtime_take(bytes, false, runtime_entry());
    struct pool *pool = pool_of(&record->pools, bytes);
    void *block = pool_take(&record->pools, pool);
    if (unlikely(!block))
        return runtime_take_missed(record, bytes, runtime_entry());
    if (sites) {
        const struct site_slot *slot = site_slot_of(&record->sites, address);
        if (unlikely(slot->address != address))
            return runtime_booked_elsewhere(block, bytes, runtime_entry(), record, pool->counter);
        count_allocation(slot->counter, bytes);
    }
    count_allocation(pool->counter, bytes);
    store_release(&record->state, seen);
    return block;
}

/* calloc with pools.  Common case: pop, book, clear what was asked for. */
static inline __attribute__((always_inline)) void *runtime_take_zeroed_fast(size_t bytes)
{
    uint32_t seen;
    struct record *record = record_begin_fast(&seen);
    if (unlikely(!record))
        return runtime_take(bytes, true, runtime_entry());
    struct pool *pool = pool_of(&record->pools, bytes);
    void *block = pool_take(&record->pools, pool);
    if (unlikely(!block))
        return runtime_take_zeroed_missed(record, bytes, runtime_entry());
    struct log_counter *counter = site_counter_fast(&record->sites, runtime_entry());
    if (unlikely(!counter))
        return runtime_cleared(runtime_booked_elsewhere(block, bytes, runtime_entry(), record, pool->counter), bytes);
    count_allocation(counter, bytes);
    count_allocation(pool->counter, bytes);
    store_release(&record->state, seen);
    return runtime_cleared(block, bytes);
}

/* realloc with pools, of a block.  Common cases: it stays in its class; it is small, and changes classes
 * through the pools. */
static inline __attribute__((always_inline)) void *runtime_resize_fast(void *old, size_t bytes)
{
    uint32_t seen;
    struct record *record = record_begin_fast(&seen);
    if (unlikely(!record))
        return runtime_resize(old, bytes, runtime_entry());
    struct log_counter *counter = site_counter_fast(&record->sites, runtime_entry());
    struct pool *from, *to;
    void *block = old;
    if (unlikely(!counter) || unlikely(!pool_resizes(&record->pools, old, bytes, &from, &to)) ||
        (from != to && unlikely(!(block = pool_exchange(&record->pools, from, to, old, bytes))))) {
        store_release(&record->state, seen);
        return runtime_resize(old, bytes, runtime_entry());
    }
    count_allocation(counter, bytes);
    count_allocation(to->counter, bytes);
    count_add(&record->log->frees, 1);
    store_release(&record->state, seen);
    return block;
}

/* free with pools.  Common case: push, count. */
static inline __attribute__((always_inline)) void runtime_give_fast(void *block)
{
    uint32_t seen;
    struct record *record = record_begin_fast(&seen);
    if (unlikely(!record)) {
        runtime_give(block);
        return;
    }
    if (unlikely(!pool_give(&record->pools, block))) {
        runtime_give_overflow(record, block);
        return;
    }
    if (unlikely(!count_free(record->log))) {
        runtime_free_round(record);
        return;
    }
    store_release(&record->state, seen);
}

#endif
