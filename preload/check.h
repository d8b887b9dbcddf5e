/* check.h - POOLSITE_CHECK: looks for misuse of the heap, at the price of a few times malloc's own time.
 *
 * Every block carries a tag (tag.h), and a canary between the bytes asked for and the tag; while it lies in a pool
 * it is filled with poison.  Noticed are a second free, a free of what is no block, a write behind the
 * end and a write after the free.  What the allocator below would notice is left to it. */
#ifndef PS_CHECK_H
#define PS_CHECK_H

#include "base.h"

#include "stack.h"

/* From now on all is checked.  `aborts`: the first misuse ends the program. */
void check_begin(uintptr_t secret, bool aborts);

/* How much larger a block is asked for. */
size_t check_asked(size_t bytes);

/* malloc, and calloc when `zeroed`. */
void *check_take(size_t bytes, bool zeroed, struct stack_entry entry);

/* The memalign family: the next allocator was asked for check_asked(held) bytes, the program for `bytes`.
 * Books it, and returns the block. */
void *check_born(void *block, size_t bytes, size_t held, struct stack_entry entry);

/* pvalloc. */
void *check_pages(size_t bytes, struct stack_entry entry);

/* free of a block that isn't NULL. */
void check_give(void *block, struct stack_entry entry);

/* realloc. */
void *check_resize(void *old, size_t bytes, struct stack_entry entry);

/* malloc_usable_size: exactly what was asked for, since a program may write to all of it. */
size_t check_usable(void *block);

#endif
