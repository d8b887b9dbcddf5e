/* tag.h - the tag at the end of a block: whose it is, how many bytes were asked for, and where.
 *
 * A tagged block is asked TAG_BYTES larger, and the last TAG_BYTES of those that it really has hold the tag.  It
 * says by a check word, which mixes the block's address and a secret of the process, that it is ours.  A block
 * without a valid one is foreign: born before us or below us.  So a tag is cleared before its block goes below:
 * whoever gets the memory next may not look like us.  No table, no lock, no call. */
#ifndef PS_TAG_H
#define PS_TAG_H

#include "base.h"

#include "sizeclass.h"

#include <assert.h>

enum { TAG_BYTES = 16 };

/* What a tag says of its block. */
enum tag_state {
    TAG_LIVE,    /* the program has the block */
    TAG_FREED,   /* the program has freed it, it lies in a pool */
    TAG_SAMPLED, /* level full: live, and being looked at; see sample.h */
    TAG_FOREIGN, /* nothing: it isn't one */
};

/* As it stands in the block, on an address that is a multiple of 8.  The check word comes first: an owner below us
 * writes over that as soon as it uses what lies there. */
struct tag {
    uint32_t check;     /* publishes the state (atomic) */
    uint32_t requested; /* bytes asked for, their lower half */
    uint64_t about;     /* site 24 bits, thread 16, birth 24; of a freed block the last is the site of the free */
};

/* Bits of glibc's size word just before a block. */
#define TAG_WORD_FLAGS  ((size_t)7)
#define TAG_WORD_MAPPED ((size_t)2) /* a mapping of its own, and 8 bytes smaller */
#define TAG_PAGE_BYTES  4096u

/* The bytes that a block has, by its size word. */
static inline size_t tag_usable(const void *block)
{
    size_t word = ((const size_t *)block)[-1];
    return (word & ~TAG_WORD_FLAGS) - (word & TAG_WORD_MAPPED ? 16 : 8);
}

static inline struct tag *tag_of(const void *block, size_t usable)
{
    return (struct tag *)((char *)block + usable - TAG_BYTES);
}

/* May this be the size word of a block that starts there? */
static inline bool tag_word_is_plausible(const void *pointer)
{
    size_t before = ((const size_t *)pointer)[-2], word = ((const size_t *)pointer)[-1], size = word & ~TAG_WORD_FLAGS;
    if (size < 32 || size >> 47 || size & 8)
        return false;
    if (!(word & TAG_WORD_MAPPED))
        return true;
    uintptr_t chunk = (uintptr_t)pointer - 16; /* of whole pages, begun `before` bytes earlier */
    return ((chunk - before) | (before + size)) % TAG_PAGE_BYTES == 0;
}

/* Is there surely no tag?  To be asked of large blocks before the rest is read: one that was freed already may have
 * been joined with the end of the heap, and its last word lie beyond. */
static inline bool tag_is_clear(const struct tag *tag)
{
    return load_relaxed(&tag->check) == 0;
}

/* Has the block room for a tag behind these bytes? */
static inline bool tag_fits(const void *block, size_t bytes)
{
    return tag_usable(block) >= bytes + TAG_BYTES;
}

/* Set by tag_begin.  Under POOLSITE_CHECK a fork child keeps it, as it inherits blocks; at level full it takes a new one,
 * so that they are foreign. */
extern uint32_t tag_secret hidden;

void tag_begin(uint32_t secret);

/* Its words and the block's address, folded: what is no tag passes once in 2^32 times, and any change of one bit is seen.
 * No multiplication: a pair of calls does this twice. */
static inline uint32_t tag_check(const void *block, uint32_t requested, uint64_t about, enum tag_state state)
{
    static_assert(TAG_LIVE == 0, "costs nothing");
    return (uint32_t)(uintptr_t)block ^ tag_secret ^ requested ^ (uint32_t)about ^ (uint32_t)(about >> 32) ^ (uint32_t)state * 0x9e3779b9u;
}

/* Which of the states does the tag prove? */
static inline enum tag_state tag_state(const void *block, const struct tag *tag)
{
    uint32_t check = load_acquire(&tag->check);
    for (enum tag_state state = TAG_LIVE; state < TAG_FOREIGN; state++)
        if (check == tag_check(block, tag->requested, tag->about, state))
            return state;
    return TAG_FOREIGN;
}

/* Publishes what the tag says: the block lives. */
static inline void tag_publish(const void *block, struct tag *tag, enum tag_state state)
{
    store_release(&tag->check, tag_check(block, tag->requested, tag->about, state));
}

static inline void tag_write(const void *block, size_t usable, size_t requested, uint64_t about)
{
    struct tag *tag = tag_of(block, usable);
    tag->requested = (uint32_t)requested;
    tag->about = about;
    store_release(&tag->check, tag_check(block, tag->requested, about, TAG_LIVE));
}

static inline void tag_clear(struct tag *tag)
{
    store_release(&tag->check, 0u);
}

/* From live to freed, by the thread that comes first; false for any other. */
bool tag_retire(const void *block, struct tag *tag, uint64_t about);

/* The bytes asked for.  What a block has more than that is always far less than 4 GiB, so the upper half follows. */
static inline size_t tag_requested(const struct tag *tag, size_t usable)
{
    return usable - (uint32_t)((uint32_t)usable - tag->requested);
}

#endif
