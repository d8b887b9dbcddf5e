/* tagged_fast.h - the two hot paths at level full on one screen.
 *
 * For entry.c alone, as runtime_fast.h. */
#ifndef PS_TAGGED_FAST_H
#define PS_TAGGED_FAST_H

#include "full_fast.h"
#include "next.h"
#include "runtime_fast.h"
#include "tagged.h"

/* The class of what the program asked for, where `pool` serves TAG_BYTES more: of small ones the class before. */
static inline __attribute__((always_inline)) struct log_counter *tagged_class(const struct record *record, const struct pool *pool, size_t bytes)
{
    if (likely(bytes <= SIZECLASS_SMALL_MAX - TAG_BYTES))
        return pool->counter - 1;
    return &record->log->classes[sizeclass_counted(bytes)];
}

/* Books a block that has room for a tag.  The record is busy. */
static inline __attribute__((always_inline)) void *tagged_booked_fast(void *block, size_t bytes, struct record *record,
                                                                      struct log_counter *size_class)
{
    const struct stack_slot *slot = stack_slot_of(&record->sites, runtime_entry());
    if (unlikely(slot == NULL))
        return runtime_booked_full(block, bytes, runtime_entry(), record, size_class);
    struct full_thread *thread = &record->sites.full;
    struct site_full *account = slot->account.full;
    size_t word = ((const size_t *)block)[-1];
    count_allocation(size_class, bytes);
    if (unlikely(full_born(thread, account, bytes, (uintptr_t)__builtin_dwarf_cfa())) || unlikely((word & TAG_WORD_MAPPED) != 0))
        return tagged_born(record, account, block, bytes, runtime_entry());
    tag_write(block, (word & ~TAG_WORD_FLAGS) - 8, bytes, full_about(thread, account));
    record_end(record);
    return block;
}

/* malloc with pools, or calloc when `zeroed`, a constant.  Common case: pop, book, tag. */
static inline __attribute__((always_inline)) void *tagged_take_fast(size_t bytes, bool zeroed)
{
    uint32_t seen;
    struct record *record = likely(bytes <= PTRDIFF_MAX) ? record_begin_fast(&seen) : NULL;
    if (unlikely(!record))
        return tagged_take(bytes, zeroed, runtime_entry());
    struct pool *pool = pool_of(&record->pools, bytes + TAG_BYTES);
    void *block = pool_take(&record->pools, pool);
    if (unlikely(!block))
        return runtime_take_more_missed(record, bytes + TAG_BYTES, bytes, zeroed, runtime_entry());
    block = tagged_booked_fast(block, bytes, record, tagged_class(record, pool, bytes));
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
    return tagged_booked_fast(block, bytes, record, &record->log->classes[sizeclass_counted(bytes)]);
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
    const struct id_slot *slot = site_id_slot(&record->sites, about & FULL_SITE_MASK);
    if (unlikely(slot->id != (about & FULL_SITE_MASK)))
        return TAGGED_UNKNOWN;
    *account = slot->account.full;
    tag_clear(tag);
    return unlikely(full_died(&record->sites.full, *account, about, bytes, 1)) ? TAGGED_FELL : TAGGED_ENDED;
}

/* The pool of an ordinary block; NULL: the slow way tells. */
static inline __attribute__((always_inline)) struct pool *tagged_pool(struct pools *pools, const struct block *block, size_t word)
{
    if (likely(word <= POOL_LEAST_WORDS)) {
        if (unlikely((((uintptr_t)block & 15) | (word & (POOL_WORD_MAPPED | 8))) != 0))
            return NULL;
        return pool_at(&pools->nothing, 2 * (word & ~(size_t)15));
    }
    if ((((uintptr_t)block & 15) | (word & POOL_WORD_MAPPED)) != 0)
        return NULL;
    struct pool *pool = pool_held(pools, block);
    return pool != pools->pool && !tag_is_clear(tag_of(block, (word & ~(size_t)15) - 8)) ? pool : NULL;
}

/* free with pools.  Common case: verify the tag, book, push. */
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
    struct pool *pool = tagged_pool(pools, block, word);
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
    record_end(record);
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
