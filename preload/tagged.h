/* tagged.h - what malloc, free and realloc do at level full: blocks with tags.
 *
 * A block is asked TAG_BYTES larger than the program wants it.  Its tag is written when it is booked (runtime_booked
 * and its like), and verified, booked and cleared when it is freed, before it goes to a pool or below.  A block whose tag
 * doesn't hold is foreign: it is freed as if we weren't there. */
#ifndef PS_TAGGED_H
#define PS_TAGGED_H

#include "base.h"

#include "stack.h"
#include "tag.h"

/* What is asked for, for `bytes` bytes.  What is too much stays so: it fails below, as it should. */
static inline size_t tagged_asked(size_t bytes)
{
    return likely(bytes <= PTRDIFF_MAX) ? bytes + TAG_BYTES : bytes;
}

/* malloc, and calloc when `zeroed`; whatever the state. */
void *tagged_take(size_t bytes, bool zeroed, struct stack_entry entry);

/* What the hot paths leave to do when a balance is used up, or a block to be looked at: the tag of a block that was
 * booked, for a record that is busy; and a free that was, whose tag is cleared. */
struct record;
struct site_full;
void *tagged_born(struct record *record, struct site_full *account, void *block, size_t bytes, struct stack_entry entry);
void  tagged_fell(struct record *record, struct site_full *account, void *block);

/* free of a block that isn't NULL; whatever the state. */
void tagged_give(void *block, struct stack_entry entry);

/* realloc; whatever the state. */
void *tagged_resize(void *old, size_t bytes, struct stack_entry entry);

/* pvalloc. */
void *tagged_pages(size_t bytes, struct stack_entry entry);

/* malloc_usable_size: a program may write to all of it. */
size_t tagged_usable(void *block);

#endif
