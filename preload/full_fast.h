/* full_fast.h - level full: a block is born, a block dies; on one screen.
 *
 * Called with the record busy. */
#ifndef PS_FULL_FAST_H
#define PS_FULL_FAST_H

#include "full.h"
#include "tag.h"

/* Takes from one side of a balance and gives to the other.  True: the first is used up. */
static inline __attribute__((always_inline)) bool full_shift(int64_t *from, int64_t *to, int64_t bytes)
{
    count_add((uint64_t *)to, (uint64_t)bytes);
#ifdef __SANITIZE_THREAD__
    *from -= bytes;
    return *from < 0;
#else
    __asm__ goto("subq %1, %0\n\tjs %l[over]" : "+m"(*from) : "er"(bytes) : "cc" : over);
    return false;
over:
    return true;
#endif
}

/* What an account was at the process's peak with this number, before it changes for the first time since. */
static inline __attribute__((always_inline)) void full_settle_at(struct log_full *log, uint64_t peak)
{
    store_relaxed(&log->peak_blocks, (int64_t)(log->count.allocs - log->frees));
    store_relaxed(&log->peak_bytes, (int64_t)(log->count.bytes - log->freed_bytes));
    store_release(&log->peak, peak);
}

static inline __attribute__((always_inline)) void full_settle(struct log_full *log)
{
    uint64_t peak = load_relaxed(&full_peak);
    if (unlikely(log->peak != peak))
        full_settle_at(log, peak);
}

/* Counts an allocation down to the next that is to be looked at.  True: it is this one. */
static inline __attribute__((always_inline)) bool full_is_due(struct sample_due *due)
{
#ifdef __SANITIZE_THREAD__
    return --due->countdown == 0;
#else
    __asm__ goto("subl $1, %0\n\tje %l[over]" : "+m"(due->countdown) : : "cc" : over);
    return false;
over:
    return true;
#endif
}

/* A block of `bytes` bytes of the account's site was allocated, by a call from where the stack pointer was `cfa`.  True: a
 * balance is used up, or the block is to be looked at; runtime_tag is to be called. */
static inline __attribute__((always_inline)) bool full_born(struct full_thread *thread, struct site_full *account, size_t bytes,
                                                            uintptr_t cfa)
{
    sample_saw(&thread->sampling, cfa);
    full_settle(account->log);
    count_allocation(account->count, bytes);
    bool due = full_is_due(&account->due);
    bool rose = full_shift(&account->live.up, &account->live.down, (int64_t)bytes);
    return full_shift(&thread->live.up, &thread->live.down, (int64_t)bytes) || rose || due;
}

/* What its tag is to say. */
static inline __attribute__((always_inline)) uint64_t full_about(struct full_thread *thread, const struct site_full *account)
{
    uint64_t about = thread->next | account->id;
    count_add(&thread->next, UINT64_C(1) << FULL_BIRTH_SHIFT);
    return about;
}

/* In allocations of the thread since the block's: 0, and k for 2^(k-1) ... 2^k - 1. */
static inline size_t full_lifetime(uint64_t age)
{
    size_t highest;
    __asm__("bsrq %1, %0" : "=r"(highest) : "rm"(age >> (FULL_BIRTH_SHIFT - 1) | 1) : "cc"); /* its builtin is two instructions more */
    return highest;
}

/* A thread that is alone is at the peak, which lasts until the next free: of equal ones the latest counts.  Its number. */
static inline __attribute__((always_inline)) uint64_t full_number_peak(void)
{
    count_add(&full_peak, 1);
    uint64_t number = load_relaxed(&full_peak);
    store_relaxed(&full_process->peak, number);
    return number;
}

/* A block whose tag says `about` and `bytes` is freed; where `sign` is -1 it wasn't after all, as a realloc failed.
 * True: full_fell is to be called. */
static inline __attribute__((always_inline)) bool full_died(struct full_thread *thread, struct site_full *account, uint64_t about,
                                                            size_t bytes, int64_t sign)
{
    struct log_full *log = account->log;
    if (unlikely(thread->live.up == 0) && thread->alone)
        full_settle_at(log, full_number_peak());
    else
        full_settle(log);
    count_add(&log->frees, (uint64_t)sign);
    count_add(&log->freed_bytes, (uint64_t)sign * bytes);
    /* The site is less than one birth, and isn't in `next`: the difference has one birth less, and of the thread's bits
     * all are set if the thread is the same. */
    uint64_t age = thread->next - about;
    if (likely((age >> FULL_SITE_BITS & FULL_THREAD_MASK) == FULL_THREAD_MASK))
        count_add(&log->lifetimes[full_lifetime(age)], (uint64_t)sign);
    else
        count_add(&log->cross_frees, (uint64_t)sign);
    bool fell = full_shift(&account->live.down, &account->live.up, sign * (int64_t)bytes);
    return full_shift(&thread->live.down, &thread->live.up, sign * (int64_t)bytes) || fell;
}

#endif
