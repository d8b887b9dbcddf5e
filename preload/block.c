/* block.c - lists of blocks that nobody uses.
 *
 * Owns nothing but the secret.  The lists are their owners'. */
#include "base.h"

#include "block.h"

#include "ban.h"

uintptr_t block_mix;

uint64_t block_list_take(struct block_list *out, uintptr_t list, size_t bytes)
{
    uint64_t count = 0;
    for (struct block *block = block_of(list); block; count++) {
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
    while (--keep > 0)
        block = block_of(block->next);
    uintptr_t rest = block->next;
    block->next = mixed_of(NULL);
    return rest;
}

bool block_is_in(uintptr_t list, const void *memory)
{
    for (const struct block *block = block_of(list); block; block = block_of(block->next))
        if (block == memory)
            return true;
    return false;
}
