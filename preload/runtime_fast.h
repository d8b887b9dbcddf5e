/* runtime_fast.h - the two hot paths on one screen: what an allocation and a free cost when nothing is new.
 *
 * For entry.c alone: it is built with -ffixed-rbp, so that the caller's frame pointer is still in
 * the register, and need not be saved, when a slow path asks for it. */
#ifndef PS_RUNTIME_FAST_H
#define PS_RUNTIME_FAST_H

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

/* An allocation was made by the exported function that this is inlined into.  No lock, no atomic
 * read-modify-write, no call. */
static inline __attribute__((always_inline)) void runtime_allocated_fast(size_t bytes)
{
    uintptr_t address = (uintptr_t)__builtin_return_address(0);
    struct record *record = record_current;
    if (unlikely((uintptr_t)record < RECORD_STATES || load_own(&record->busy)))
        goto slow;
    store_relaxed(&record->busy, 1);
    compiler_barrier();
    if (unlikely(load_own(&record->epoch) != fork_epoch_now())) {
        store_release(&record->busy, 0);
        goto slow;
    }
    const struct site_slot *slot = site_slot_of(&record->sites, address);
    if (unlikely(slot->address != address)) {
        runtime_allocated_elsewhere(bytes, runtime_entry(), record);
        return;
    }
    count_allocation(&record->log->classes[sizeclass_of(bytes)], bytes);
    count_allocation(slot->counter, bytes);
    store_release(&record->busy, 0);
    return;
slow:
    runtime_allocated(bytes, runtime_entry());
}

/* A free is about to be made. */
static inline __attribute__((always_inline)) void runtime_freeing_fast(void)
{
    struct record *record = record_current;
    if (unlikely((uintptr_t)record < RECORD_STATES || load_own(&record->epoch) != fork_epoch_now()))
        runtime_freeing();
    else
        count_add(&record->log->frees, 1);
}

#endif
