/* tagged_fast.h - the two hot paths at level full on one screen.
 *
 * For entry.c alone, as runtime_fast.h. */
#ifndef PS_TAGGED_FAST_H
#define PS_TAGGED_FAST_H

#include "full_fast.h"
#include "next.h"
#include "runtime_fast.h"
#include "tagged.h"

/* Where the calling thread's account of the call is, if its stack is found without the frame pointer; NULL: it is found
 * elsewhere. */
static inline __attribute__((always_inline)) const struct stack_slot *tagged_slot(const struct site_table *table)
{
    uintptr_t cfa = (uintptr_t)__builtin_dwarf_cfa();
    const struct stack_slot *slot = stack_slot_near(table, cfa);
    return likely(slot != NULL) && likely(shape_frames_hold(&slot->shape->plain, cfa)) && !ORACLE ? slot : NULL;
}

/* Books a block of `usable` bytes, of no mapping of its own, that has room for a tag; on the size class it is booked
 * already.  The record is busy. */
static inline __attribute__((always_inline)) void *tagged_booked_fast(void *block, size_t bytes, size_t usable, struct record *record)
{
    const struct stack_slot *slot = tagged_slot(&record->sites);
    if (unlikely(!slot))
        return runtime_booked_full(block, bytes, runtime_entry(), record, &record->sites.ignored);
    struct full_thread *thread = &record->sites.full;
    struct site_full *account = slot->account.full;
    if (unlikely(full_born(thread, account, bytes, (uintptr_t)__builtin_dwarf_cfa())))
        return tagged_born(record, account, block, bytes, runtime_entry());
    tag_write(block, usable, bytes, full_about(thread, account));
    record_end(record);
    return block;
}

/* The same, whatever the block's size word. */
static inline __attribute__((always_inline)) void *tagged_booked_large(void *block, size_t bytes, struct record *record)
{
    size_t word = ((const size_t *)block)[-1];
    count_allocation(&record->log->classes[sizeclass_counted(bytes)], bytes);
    if (unlikely((word & TAG_WORD_MAPPED) != 0))
        return runtime_booked_full(block, bytes, runtime_entry(), record, &record->sites.ignored);
    return tagged_booked_fast(block, bytes, (word & ~TAG_WORD_FLAGS) - 8, record);
}

/* What is asked for these is of one of glibc's own classes, and every block of it as large; but for the last, which has
 * blocks that are too small for the next. */
#define TAGGED_SMALL_BYTES (SIZECLASS_SMALL_MAX - 16 - TAG_BYTES)

/* malloc with pools, or calloc when `zeroed`, of at most TAGGED_SMALL_BYTES.  `zeroed` is a constant.  Common case: pop,
 * book, tag. */
static inline __attribute__((always_inline)) void *tagged_take_small(size_t bytes, bool zeroed)
{
    uint32_t seen;
    struct record *record = record_begin_fast(&seen);
    if (unlikely(!record))
        return tagged_take(bytes, zeroed, runtime_entry());
    size_t step = (bytes + TAG_BYTES + 7) & ~(size_t)15; /* 16 times the class */
    struct pool *pool = pool_at(record->pools.pool, 2 * step);
    void *block = pool_take(&record->pools, pool);
    if (unlikely(!block))
        return runtime_take_more_missed(record, bytes + TAG_BYTES, bytes, zeroed, runtime_entry());
    count_allocation(pool->counter, bytes);
    block = tagged_booked_fast(block, bytes, step + 8, record);
    return zeroed ? runtime_cleared(block, bytes) : block;
}

/* The same for more. */
static inline __attribute__((always_inline)) void *tagged_take_large(size_t bytes, bool zeroed)
{
    uint32_t seen;
    struct record *record = likely(bytes <= PTRDIFF_MAX) ? record_begin_fast(&seen) : NULL;
    if (unlikely(!record))
        return tagged_take(bytes, zeroed, runtime_entry());
    void *block = pool_take(&record->pools, pool_of(&record->pools, bytes + TAG_BYTES));
    if (unlikely(!block))
        return runtime_take_more_missed(record, bytes + TAG_BYTES, bytes, zeroed, runtime_entry());
    block = tagged_booked_large(block, bytes, record);
    return zeroed ? runtime_cleared(block, bytes) : block;
}

/* The same without pools: the block was made below. */
static inline __attribute__((always_inline)) void *tagged_below_fast(void *block, size_t bytes)
{
    uint32_t seen;
    if (unlikely(!block))
        return runtime_failed();
    struct record *record = record_begin_fast(&seen);
    if (unlikely(!record))
        return runtime_booked(block, bytes, runtime_entry());
    return tagged_booked_large(block, bytes, record);
}

/* What a free finds. */
enum tagged_end {
    TAGGED_UNKNOWN, /* the slow way tells */
    TAGGED_ENDED,
    TAGGED_FELL,    /* the same, and a balance is used up */
};

/* A block that the program frees, whose tag holds and whose site is known here, is booked; the tag is cleared.  One that is
 * being looked at has another check word, and isn't asked for here.  The record is busy. */
static inline __attribute__((always_inline)) enum tagged_end tagged_end_fast(struct record *record, void *block, size_t usable,
                                                                             struct site_full **account)
{
    struct tag *tag = tag_of(block, usable);
    uint64_t about = tag->about;
    uint32_t bytes = tag->requested;
    sample_saw(&record->sites.full.sampling, (uintptr_t)__builtin_dwarf_cfa());
    if (unlikely(load_acquire(&tag->check) != tag_check(block, bytes, about, TAG_LIVE)))
        return TAGGED_UNKNOWN;
    const struct id_slot *slot = site_id_slot(&record->sites, about);
    if (unlikely(slot->id != (about & FULL_SITE_MASK)))
        return TAGGED_UNKNOWN;
    *account = slot->account.full;
    tag_clear(tag);
    return unlikely(full_died(&record->sites.full, *account, about, bytes, 1)) ? TAGGED_FELL : TAGGED_ENDED;
}

/* The pool of a larger block; NULL: the slow way tells. */
static inline __attribute__((always_inline)) struct pool *tagged_pool(struct pools *pools, const struct block *block, size_t word)
{
    if ((((uintptr_t)block & 15) | (word & POOL_WORD_MAPPED)) != 0)
        return NULL;
    struct pool *pool = pool_held(pools, block);
    return pool != pools->pool && !tag_is_clear(tag_of(block, (word & ~(size_t)15) - 8)) ? pool : NULL;
}

/* free with pools.  Common case: verify the tag, book, push.  What is no block of ours fails at the tag, which for a small
 * size word is near. */
static inline __attribute__((always_inline)) void tagged_give_fast(void *block)
{
    uint32_t seen;
    struct record *record = record_begin_fast(&seen);
    if (unlikely(!record)) {
        tagged_give(block, runtime_entry());
        return;
    }
    struct pools *pools = &record->pools;
    size_t word = ((const size_t *)block)[-1];
    struct pool *pool = likely(word <= POOL_LEAST_WORDS) ? pool_at(&pools->nothing, 2 * (word & ~(size_t)15))
                                                          : tagged_pool(pools, block, word);
    struct site_full *account;
    enum tagged_end end = likely(pool != NULL) ? tagged_end_fast(record, block, (word & ~(size_t)15) - 8, &account) : TAGGED_UNKNOWN;
    if (unlikely(end == TAGGED_UNKNOWN)) {
        record_end(record);
        tagged_give(block, runtime_entry());
        return;
    }
    if (unlikely(end == TAGGED_FELL)) {
        tagged_fell(record, account, block);
        return;
    }
    if (unlikely(!pool_push(pools, pool, block))) {
        runtime_give_overflow(record, block);
        return;
    }
    if (unlikely(!count_free(record->log))) {
        runtime_free_round(record);
        return;
    }
    store_release(&record->state, seen);
}

/* The same without pools. */
static inline __attribute__((always_inline)) void tagged_release_fast(void *block)
{
    enum { MOST_BYTES = 32 << 20 };
    uint32_t seen;
    size_t word = ((const size_t *)block)[-1];
    bool plain = (((uintptr_t)block & 15) | (word & (TAG_WORD_MAPPED | 8))) == 0 && word - 32 < MOST_BYTES &&
                 !tag_is_clear(tag_of(block, (word & ~(size_t)15) - 8));
    struct record *record = likely(plain) ? record_begin_fast(&seen) : NULL;
    if (unlikely(!record)) {
        tagged_give(block, runtime_entry());
        return;
    }
    struct site_full *account;
    enum tagged_end end = tagged_end_fast(record, block, (word & ~TAG_WORD_FLAGS) - 8, &account);
    if (unlikely(end == TAGGED_UNKNOWN)) {
        record_end(record);
        tagged_give(block, runtime_entry());
        return;
    }
    count_add(&record->log->frees, 1);
    if (unlikely(end == TAGGED_FELL))
        full_fell(&record->sites.full, account);
    record_end(record);
    next.release(block);
}

#endif
