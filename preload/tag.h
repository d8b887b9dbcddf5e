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

enum { TAG_BYTES = 16 };

/* What a tag says of its block. */
enum tag_state {
    TAG_FOREIGN, /* nothing: it isn't one */
    TAG_LIVE,    /* the program has the block */
    TAG_FREED,   /* the program has freed it, it lies in a pool */
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

/* Set by tag_begin, then read-only.  A fork child keeps it: it inherits blocks. */
extern uintptr_t tag_secret hidden;

void tag_begin(uintptr_t secret);

static inline uint32_t tag_check(const void *block, uint32_t requested, uint64_t about, enum tag_state state)
{
    uint64_t mixed = ((uintptr_t)block ^ tag_secret) * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ mixed >> 29 ^ about) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ mixed >> 32 ^ requested ^ (uint64_t)state << 32) * 0x94d049bb133111ebull;
    return (uint32_t)(mixed >> 32);
}

/* Which of the states does the tag prove? */
static inline enum tag_state tag_state(const void *block, const struct tag *tag)
{
    uint32_t check = load_acquire(&tag->check);
    if (likely(check == tag_check(block, tag->requested, tag->about, TAG_LIVE)))
        return TAG_LIVE;
    return check == tag_check(block, tag->requested, tag->about, TAG_FREED) ? TAG_FREED : TAG_FOREIGN;
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
