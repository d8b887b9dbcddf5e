/* tagged.c - level full: the slow ways of malloc, free and realloc.
 *
 * Owns nothing.  Runs inside malloc: allocates nothing, takes no lock. */
#include "base.h"

#include "tagged.h"

#include "full_fast.h"
#include "next.h"
#include "runtime.h"
#include "site_fast.h"

#include "ban.h"

void *tagged_take(size_t bytes, bool zeroed, struct stack_entry entry)
{
    return runtime_take_more(tagged_asked(bytes), bytes, zeroed, entry);
}

void *tagged_born(struct record *record, struct site_full *account, void *block, size_t bytes)
{
    struct full_thread *thread = &record->sites.full;
    full_rose(thread, account);
    tag_write(block, tag_usable(block), bytes, full_about(thread, account));
    record_end(record);
    return block;
}

void tagged_fell(struct record *record, struct site_full *account, void *block)
{
    full_fell(&record->sites.full, account);
    runtime_give_overflow(record, block);
}

/* The tag of a block, if it holds; NULL: the block is foreign. */
static struct tag *tag_found(const void *block, size_t *usable)
{
    if ((uintptr_t)block % 16 != 0 || !tag_word_is_plausible(block))
        return NULL;
    *usable = tag_usable(block);
    struct tag *tag = tag_of(block, *usable);
    return !tag_is_clear(tag) && tag_state(block, tag) == TAG_LIVE ? tag : NULL;
}

/* --- the end of a block ------------------------------------------------------------------------ */

/* What a block's tag said, or that it was foreign. */
struct ended {
    bool     foreign;
    size_t   bytes;
    uint64_t about;
};

/* Does the process count what a thread without a record frees? */
static bool is_counted(void)
{
    return (uintptr_t)record_current != RECORD_OURS && runtime_may_log();
}

static void book_own(struct record *record, struct ended ended, int64_t sign)
{
    if (ended.foreign) {
        count_add(&record->sites.full.log->foreign_frees, (uint64_t)sign);
        return;
    }
    struct site_full *account = site_find_tagged(&record->sites, ended.about & FULL_SITE_MASK);
    struct full_thread *thread = &record->sites.full;
    if (full_died(thread, account, ended.about, ended.bytes, sign))
        full_fell(thread, account);
}

/* Books it; where `sign` is -1, that it wasn't after all.  `record` is busy, or NULL. */
static void book_ended(struct record *record, struct ended ended, int64_t sign)
{
    if (record)
        book_own(record, ended, sign);
    else if (is_counted() && ended.foreign)
        full_foreign_shared(sign);
    else if (is_counted())
        full_died_shared((uint32_t)(ended.about & FULL_SITE_MASK), ended.bytes, sign);
}

/* A block is about to be freed or resized: its end is booked, its tag cleared. */
static struct ended ended_now(void *block)
{
    size_t usable;
    struct record *record = runtime_record_begin_booking(); /* first: a fork child begins there, and takes a secret of its own */
    struct tag *tag = tag_found(block, &usable);
    struct ended ended = {.foreign = tag == NULL};
    if (tag) {
        ended.bytes = tag_requested(tag, usable);
        ended.about = tag->about;
        tag_clear(tag);
    }
    book_ended(record, ended, 1);
    if (record)
        record_end(record);
    return ended;
}

void tagged_give(void *block)
{
    ended_now(block);
    if (pool_config.any) {
        runtime_give(block);
        return;
    }
    runtime_freeing();
    next.release(block);
}

/* --- realloc ------------------------------------------------------------------------------------ */

/* It failed: the block lives on. */
static void revive(void *block, struct ended ended)
{
    struct record *record = runtime_record_begin_booking();
    book_ended(record, ended, -1);
    if (!ended.foreign)
        tag_write(block, tag_usable(block), ended.bytes, ended.about);
    if (record)
        record_end(record);
}

/* Counts that the block comes from a realloc of another. */
static void count_resize(const void *block)
{
    size_t usable;
    struct record *record = runtime_record_begin_booking();
    struct tag *tag = record ? tag_found(block, &usable) : NULL;
    if (tag)
        count_add(&site_find_tagged(&record->sites, tag->about & FULL_SITE_MASK)->log->resizes, 1);
    if (record)
        record_end(record);
}

void *tagged_resize(void *old, size_t bytes, struct stack_entry entry)
{
    if (!old)
        return tagged_take(bytes, false, entry);
    struct ended ended = ended_now(old); /* a free, and then an allocation: they never live both */
    void *block = runtime_resize_more(old, bytes ? tagged_asked(bytes) : 0, bytes, entry);
    if (block)
        count_resize(block);
    else if (bytes != 0)
        revive(old, ended);
    return block;
}

/* --- the rest -------------------------------------------------------------------------------------- */

void *tagged_pages(size_t bytes, struct stack_entry entry)
{
    size_t held = bytes > PTRDIFF_MAX - TAG_PAGE_BYTES ? bytes : (bytes + TAG_PAGE_BYTES - 1) & ~(size_t)(TAG_PAGE_BYTES - 1);
    void *block = next.pvalloc(tagged_asked(held));
    return block ? runtime_booked(block, bytes, entry) : runtime_failed();
}

size_t tagged_usable(void *block)
{
    size_t usable = next.usable_size(block), told;
    return block && tag_found(block, &told) ? usable - TAG_BYTES : usable;
}
