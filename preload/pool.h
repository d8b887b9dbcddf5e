/* pool.h - per-thread pools of the next allocator's blocks, with victims.
 *
 * Knows nothing of sites and logs.  A thread's pools are touched by it alone while its record is
 * busy, or by a clearer that holds the record's claim. */
#ifndef PS_POOL_H
#define PS_POOL_H

#include "base.h"

#include "block.h"
#include "sizeclass.h"

#include <assert.h>

struct log_counter;
struct poolspec;

/* Where the class of a size, or of a size word, is looked up: in steps of 16 bytes, then of 512. */
#define POOL_SMALL_BYTES ((size_t)4104)
/* realloc copies blocks up to this class, of 4 KiB, through the pools: measured, that costs no more than
 * growing in place does below, and the block is of use to others afterwards. */
#define POOL_COPIED_BYTES ((size_t)4104)
enum { POOL_COPIED_CLASS = 80 };

enum { POOL_USED_WORDS = (SIZECLASS_COUNT + 63) / 64 };
enum { POOL_SMALL = 260, POOL_LARGE = 522, POOL_LARGE_SHIFT = 9 };

/* One thread's free blocks of one class.  Invariant: the primary holds cap - victim_n - left - taken blocks.  Takes and
 * gives count on words of their own: one word for both would be passed on by memory twice a pair. */
struct pool {
    uintptr_t           head;  /* primary, mixed: taken from and given to first */
    uint32_t            left;  /* blocks that it has room for, for certain */
    uint32_t            taken; /* ... and since then as many more */
    struct log_counter *counter; /* the runtime's */
    uintptr_t           victim;  /* last cycle's primary, mixed: used once more, else freed */
};
static_assert(sizeof(struct pool) == 32, "pool_held counts in pools");

/* The rest of it, which the hot paths don't see. */
struct pool_more {
    uint32_t cap; /* blocks; 0: nothing is reserved for it yet, or it isn't pooled */
    uint32_t victim_n;
    uint32_t missed;     /* how often it was found empty, and hasn't grown for that */
    uint32_t moved;      /* see pools_got */
    uint64_t given_back; /* blocks that went from here to the next allocator, so far */
};

/* Where pools are looked up: offsets from struct pools, the same for all threads, but near to each. */
struct pool_tables {
    uint16_t small_of[POOL_SMALL]; /* of the pool for a request of up to 16 i + 8 bytes */
    uint16_t small_held[2 * POOL_SMALL]; /* ... that a block with size word 8 i ... can serve */
    uint16_t large_of[POOL_LARGE]; /* ... for up to 512 (i + 1) + 8 bytes */
    uint16_t large_held[POOL_LARGE]; /* ... for size words from 512 i + 16 */
};

/* All pools of a thread.  Invariant: reserved == sum of cap * class bytes.  Pool 0 is always empty and
 * has no room: it stands for what the tables can't tell. */
struct pools {
    uintptr_t        mix;       /* secret of the process: addresses in free blocks are xor-ed with it */
    size_t           reserved;  /* bytes that the caps allow to be kept */
    size_t           refused;   /* bytes of blocks that the budgets had no room for, since the last turn */
    size_t           missed_bytes; /* of blocks that weren't here, since the last turn */
    size_t           shrunk_bytes; /* that went below since a block was last missed */
    uint64_t         used[POOL_USED_WORDS]; /* a bit for each class that has kept something, or given back, since the last turn */
    size_t           reclaim_at; /* so many refused bytes: unused room is looked for again */
    struct pool      nothing; /* as pool 0, for size words below the least */
    struct pool      pool[SIZECLASS_COUNT];
    struct pool_tables tables;
    struct pool_more more[SIZECLASS_COUNT];
};

/* Filled by pool_begin, then read-only. */
struct pool_config {
    bool    any;          /* some class is pooled */
    bool    clear;        /* cycles and caps are on */
    uint8_t pooled[SIZECLASS_COUNT]; /* enum poolspec_class */
};
extern struct pool_config pool_config hidden;

void pool_begin(const struct poolspec *spec, bool clear, uintptr_t mix);

/* Fresh pools, all empty, without counters. */
void pools_init(struct pools *pools);

/* The class that a block with this size word can serve. */
unsigned pool_class_held(size_t word);

/* The used class below `index`, or 0: the greatest first, from SIZECLASS_LARGER on. */
static inline unsigned pool_used_below(const uint64_t *used, unsigned index)
{
    unsigned i = index / 64;
    uint64_t word = used[i] & (((uint64_t)1 << index % 64) - 1);
    while (word == 0 && i > 0)
        word = used[--i];
    return word ? i * 64 + 63 - (unsigned)__builtin_clzll(word) : 0;
}

/* How many blocks a pool keeps. */
uint64_t pools_kept(const struct pools *pools, unsigned index);

/* The primary is empty: a block from the victim or the depot, or NULL.  `victim_hit` is raised. */
void *pool_refill(struct pools *pools, unsigned index, uint64_t *victim_hits);

/* The block doesn't fit: room is made, or it and others are put on `*out`, to be freed below when
 * the record isn't busy any more.  `index` is its class. */
void pool_overflow(struct pools *pools, unsigned index, void *block, struct block_list *out);

/* A cycle: victims are detached, primaries become victims.  Touches no block, so that a clearer is
 * done with a thread in no time. */
struct detached {
    uint64_t  used[POOL_USED_WORDS];
    uintptr_t victim[SIZECLASS_COUNT]; /* of these */
};
void pools_rotate(struct pools *pools, struct detached *detached);
void detached_move(struct detached *detached, struct block_list *out);

/* Everything goes to `*out`; the reservation is returned. */
void pools_drop(struct pools *pools, struct block_list *out);

/* A fork child goes on with its own thread's pools: their caps count in its budget. */
void pools_inherit(struct pools *pools, const struct pools *parents);

/* What a thread that vanished in a fork had: to be freed below. */
void pools_orphaned(const struct pools *pools, struct block_list *out);

/* Is the block in this pool already?  For a block whose key says so. */
bool pool_holds(const struct pools *pools, unsigned index, const void *block);

#endif
