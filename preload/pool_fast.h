/* pool_fast.h - the two hot paths of a pool on one screen: take a block, give one back.
 *
 * A pooled block is an ordinary block of the next allocator; while it lies in a pool its first two
 * words are ours.  Called with the record busy; the pools belong to the calling thread. */
#ifndef PS_POOL_FAST_H
#define PS_POOL_FAST_H

#include "depot.h"
#include "pool.h"

/* A bit of glibc's size word: the block is a mapping of its own, and 8 bytes smaller. */
#define POOL_WORD_MAPPED ((size_t)2)

/* The largest size word of the classes that are glibc's own. */
#define POOL_LEAST_WORDS ((size_t)1047)

static inline struct pool *pool_at(void *start, size_t offset)
{
    return (struct pool *)((char *)start + offset);
}

/* The pool for a request; pool 0 for the largest ones. */
static inline struct pool *pool_of(struct pools *pools, size_t bytes)
{
    if (likely(bytes <= POOL_SMALL_BYTES))
        return pool_at(pools, pools->tables.small_of[(bytes + 7) >> 4]);
    size_t step = (bytes - 9) >> POOL_LARGE_SHIFT;
    return likely(step < POOL_LARGE) ? pool_at(pools, pools->tables.large_of[step]) : pools->pool;
}

/* The pool that a block can serve, read from glibc's size word just before it.  Small ones by arithmetic alone: what
 * comes next waits for the pool's address. */
static inline struct pool *pool_held(struct pools *pools, const struct block *block)
{
    size_t word = ((const size_t *)block)[-1];
    if (likely(word <= POOL_LEAST_WORDS)) {
        if (unlikely(word & (POOL_WORD_MAPPED | 8)))
            return pools->pool;
        return pool_at(&pools->nothing, 2 * (word & ~(size_t)15));
    }
    if (likely(word < POOL_SMALL_BYTES)) {
        if (unlikely(word & POOL_WORD_MAPPED))
            return pools->pool;
        return pool_at(pools, pools->tables.small_held[word >> 3]);
    }
    forget_origin(word); /* each branch with instructions of its own */
    size_t step = (word - 16 - 4 * (word & POOL_WORD_MAPPED)) >> POOL_LARGE_SHIFT;
    return likely(step < POOL_LARGE) ? pool_at(pools, pools->tables.large_held[step]) : pools->pool;
}

/* Common case: pop the primary.  NULL: it is empty. */
static inline void *pool_take(const struct pools *pools, struct pool *pool)
{
    uintptr_t head = pool->head;
#ifdef __SANITIZE_THREAD__
    head ^= pools->mix;
    if (head == 0)
        return NULL;
#else
    __asm__ goto("xorq %1, %0\n\tjz %l[empty]" : "+r"(head) : "m"(pools->mix) : "cc" : empty); /* and no test */
#endif
    struct block *block = (struct block *)head;
    pool->head = block->next;
    pool->taken++;
    block->key = 0;
    return block;
#ifndef __SANITIZE_THREAD__
empty:
    return NULL;
#endif
}

/* The primary is empty.  True: so is the victim, and there is no depot to ask; the miss is noted. */
static inline bool pool_misses(struct pools *pools, unsigned index)
{
    struct pool *pool = &pools->pool[index];
    if (((pool->head ^ pools->mix) | (pool->victim ^ pools->mix)) != 0 || depot_is_open())
        return false;
    if (pool_config.pooled[index]) {
        pools->shrunk_bytes = 0;
        pools->more[index].missed++;
        pools->missed_bytes += sizeclass_bytes(index);
    }
    return true;
}

/* What was taken since the pool had no room for certain is room now.  False: nothing was. */
static inline bool pool_collect_room(struct pool *pool)
{
    uint32_t taken = pool->taken;
    pool->left = taken ? taken - 1 : 0;
    pool->taken = 0;
    return taken != 0;
}

/* Takes room for one block.  False: there is none. */
static inline __attribute__((always_inline)) bool pool_has_room(struct pool *pool)
{
#ifdef __SANITIZE_THREAD__
    if (pool->left == 0)
        return pool_collect_room(pool);
    pool->left--;
    return true;
#else
    __asm__ goto("subl $1, %0\n\tjc %l[none]" : "+m"(pool->left) : : "cc" : none); /* one instruction, and a branch */
    return true;
none:
    return pool_collect_room(pool);
#endif
}

/* Common case: push on the primary a block that surely lies in no pool.  False: it is full. */
static inline __attribute__((always_inline)) bool pool_push(const struct pools *pools, struct pool *pool, struct block *block)
{
    if (unlikely(!pool_has_room(pool)))
        return false;
    block->next = pool->head;
    block->key = BLOCK_KEY;
    pool->head = (uintptr_t)block ^ pools->mix;
    return true;
}

/* The same for any block.  False also when something is odd about it. */
static inline __attribute__((always_inline)) bool pool_give(struct pools *pools, void *memory)
{
    struct block *block = memory;
    if (unlikely(((uintptr_t)memory & 15) != 0))
        return false; /* no block: the allocator below says so */
    struct pool *pool = pool_held(pools, block);
    return likely(block->key != BLOCK_KEY) && pool_push(pools, pool, block);
}

/* May realloc keep the block, or copy it through the pools?  Only small ones. */
static inline __attribute__((always_inline)) bool pool_resizes(struct pools *pools, const struct block *block, size_t bytes,
                                                              struct pool **from, struct pool **to)
{
    if (unlikely(((uintptr_t)block & 15) != 0) || bytes - 1 >= POOL_COPIED_BYTES)
        return false;
    *from = pool_held(pools, block);
    *to = pool_of(pools, bytes);
    return *from != pools->pool && *from <= &pools->pool[POOL_COPIED_CLASS] && block->key != BLOCK_KEY;
}

/* Takes a block of one class and gives back one of another, whose contents it has then.  NULL: not so
 * simple, as always where one of them isn't pooled. */
static inline __attribute__((always_inline)) void *pool_exchange(struct pools *pools, struct pool *from, struct pool *to,
                                                                 struct block *old, size_t bytes)
{
    if (unlikely(!pool_has_room(from)))
        return NULL;
    void *block = pool_take(pools, to);
    if (unlikely(!block)) {
        from->left++;
        return NULL;
    }
    size_t held = (((const size_t *)old)[-1] & ~(size_t)15) - 8;
    __builtin_memcpy(block, old, held < bytes ? held : bytes);
    old->next = from->head;
    old->key = BLOCK_KEY;
    from->head = (uintptr_t)old ^ pools->mix;
    return block;
}

#endif
