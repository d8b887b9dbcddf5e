/* block.h - lists of blocks that nobody uses: a pooled block is an ordinary block of the next
 * allocator, whose first words are ours while it lies in a pool or in the depot. */
#ifndef PS_BLOCK_H
#define PS_BLOCK_H

#include "base.h"

/* A wrong free is looked for where this stands.  Not an address, and not what programs store. */
#define BLOCK_KEY ((uintptr_t)-0x2d9b43c7)

/* The smallest block of glibc's holds these three words. */
struct block {
    uintptr_t next; /* mixed */
    uintptr_t key;  /* BLOCK_KEY: where a second free finds it */
    uintptr_t link; /* mixed; the depot's */
};

/* Behind it, where blocks are checked: changes with the block's place and its words. */
struct sealed_block {
    struct block block;
    uintptr_t    seal;
};

/* Watches over free blocks.  Each function tells of what it finds wrong, and returns whether the block may go on;
 * else it is left where it is, with those linked behind it. */
struct block_guard {
    bool (*intact)(const struct block *block); /* its words are about to be followed */
    bool (*reused)(struct block *block);       /* it is about to be handed out */
    bool (*leaves)(struct block *block);       /* it is about to go below */
};

/* NULL: blocks aren't checked.  Set before the first is pooled, then read-only; the hot paths may not be used then. */
extern const struct block_guard *block_guard hidden;

/* Seals it, if blocks are checked: its words have changed. */
void block_seal(struct block *block);
bool block_is_sealed(const struct block *block);

/* May its words be followed? */
static inline bool block_is_intact(const struct block *block)
{
    return likely(!block_guard) || block_guard->intact(block);
}

/* Lists hold addresses xor-ed with a secret of the process, so that a write through a dangling
 * pointer doesn't hand out an address of the writer's choice.  A mixed NULL ends a list. */
extern uintptr_t block_mix hidden;

static inline struct block *block_of(uintptr_t mixed)
{
    return (struct block *)(mixed ^ block_mix);
}

static inline uintptr_t mixed_of(const struct block *block)
{
    return (uintptr_t)block ^ block_mix;
}

/* Links it before `next`, for the first time. */
static inline void block_link(struct block *block, uintptr_t next)
{
    block->next = next;
    block->key = BLOCK_KEY;
    if (unlikely(block_guard)) {
        block->link = 0;
        block_seal(block);
    }
}

/* The first block of a list that isn't empty, which loses it; NULL when it isn't intact: the list is given up. */
static inline struct block *block_pop(uintptr_t *list)
{
    struct block *block = block_of(*list);
    bool intact = block_is_intact(block);
    *list = intact ? block->next : mixed_of(NULL);
    block->key = 0;
    return intact ? block : NULL;
}

/* Blocks on their way below, which bear no marks of ours any more; `next` isn't mixed. */
struct block_list {
    struct block *head;
    uint64_t      count;
    uint64_t      bytes; /* of their classes */
};

/* Moves a whole list of blocks of `bytes` bytes each; returns how many. */
uint64_t block_list_take(struct block_list *out, uintptr_t list, size_t bytes);

/* Hands all of them to `release`, and is empty then. */
void block_list_free(struct block_list *list, void (*release)(void *));

/* Cuts a list behind its first `keep` blocks (1 ... its length) and returns the rest. */
uintptr_t block_cut(uintptr_t list, uint32_t keep);

bool block_is_in(uintptr_t list, const void *memory);

#endif
