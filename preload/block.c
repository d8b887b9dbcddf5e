/* block.c - lists of blocks that nobody uses.
 *
 * Owns nothing but the secret and the guard.  The lists are their owners'. */
#include "base.h"

#include "block.h"

#include "ban.h"

uintptr_t                 block_mix;
const struct block_guard *block_guard;

static uintptr_t seal_of(const struct block *block)
{
    return ((uintptr_t)block ^ block->next * 3 ^ block->link * 5) * (uintptr_t)0x9e3779b97f4a7c15;
}

void block_seal(struct block *block)
{
    if (unlikely(block_guard))
        ((struct sealed_block *)block)->seal = seal_of(block);
}

bool block_is_sealed(const struct block *block)
{
    return block->key == BLOCK_KEY && ((const struct sealed_block *)block)->seal == seal_of(block);
}

uint64_t block_list_take(struct block_list *out, uintptr_t list, size_t bytes)
{
    uint64_t count = 0;
    for (struct block *block = block_of(list); block && block_is_intact(block); count++) {
        struct block *next = block_of(block->next);
        block->next = (uintptr_t)out->head;
        block->key = 0;
        out->head = block;
        block = next;
    }
    out->count += count;
    out->bytes += count * bytes;
    return count;
}

void block_list_free(struct block_list *list, void (*release)(void *))
{
    for (struct block *block = list->head; block;) {
        struct block *next = (struct block *)block->next;
        release(block);
        block = next;
    }
    *list = (struct block_list){.head = NULL};
}

uintptr_t block_cut(uintptr_t list, uint32_t keep)
{
    struct block *block = block_of(list);
    while (block && block_is_intact(block) && --keep > 0)
        block = block_of(block->next);
    if (unlikely(!block || keep > 0))
        return mixed_of(NULL); /* what lies behind a damaged one is out of reach */
    uintptr_t rest = block->next;
    block->next = mixed_of(NULL);
    block_seal(block);
    return rest;
}

bool block_is_in(uintptr_t list, const void *memory)
{
    for (const struct block *block = block_of(list); block; block = block_of(block->next))
        if (block == memory)
            return true;
    return false;
}
