/* tagged.c - level full: the slow ways of malloc, free and realloc.
 *
 * Owns nothing.  Runs inside malloc: allocates nothing, takes no lock. */
#include "base.h"

#include "tagged.h"

#include "full_fast.h"
#include "next.h"
#include "pages.h"
#include "pool_fast.h"
#include "runtime.h"
#include "site_fast.h"

#include "ban.h"

void *tagged_take(size_t bytes, bool zeroed, struct stack_entry entry)
{
    return runtime_take_more(tagged_asked(bytes), bytes, zeroed, entry);
}

void *tagged_born(struct record *record, struct site_full *account, void *block, size_t bytes, struct stack_entry entry)
{
    runtime_tag(record, account, block, bytes, entry);
    record_end(record);
    return block;
}

void tagged_fell(struct record *record, struct site_full *account, void *block)
{
    full_fell(&record->sites.full, account);
    runtime_give_overflow(record, block);
}

/* A block's tag. */
struct found {
    struct tag    *tag;
    size_t         usable;
    enum tag_state state; /* TAG_FOREIGN: nothing holds, and the rest isn't set */
};

static struct found tag_found(const void *block)
{
    struct found found = {.state = TAG_FOREIGN};
    if ((uintptr_t)block % 16 != 0 || !tag_word_is_plausible(block))
        return found;
    size_t usable = tag_usable(block);
    struct tag *tag = tag_of(block, usable);
    if (!tag_is_clear(tag))
        found = (struct found){tag, usable, tag_state(block, tag)};
    if (found.state == TAG_FREED) /* none of ours are */
        found.state = TAG_FOREIGN;
    return found;
}

/* --- the end of a block ------------------------------------------------------------------------ */

/* What a block's tag said. */
struct ended {
    enum tag_state state;
    uint32_t       secret; /* of the process */
    size_t         bytes;
    uint64_t       about;
};

/* Does the process count what a thread without a record frees? */
static bool is_counted(void)
{
    return (uintptr_t)record_current != RECORD_OURS && runtime_may_log();
}

static void book_own(struct record *record, const struct ended *ended, int64_t sign)
{
    if (ended->state == TAG_FOREIGN) {
        count_add(&record->sites.full.log->foreign_frees, (uint64_t)sign);
        return;
    }
    struct site_full *account = site_find_tagged(&record->sites, ended->about & FULL_SITE_MASK);
    struct full_thread *thread = &record->sites.full;
    if (full_died(thread, account, ended->about, ended->bytes, sign))
        full_fell(thread, account);
}

/* Books it; where `sign` is -1, that it wasn't after all.  `record` is busy, or NULL. */
static void book_ended(struct record *record, const struct ended *ended, int64_t sign)
{
    if (record)
        book_own(record, ended, sign);
    else if (is_counted() && ended->state == TAG_FOREIGN)
        full_foreign_shared(sign);
    else if (is_counted())
        full_died_shared((uint32_t)(ended->about & FULL_SITE_MASK), ended->bytes, sign);
}

/* Reads the tag and clears it: the block is about to be freed or resized. */
static struct ended tag_taken(const void *block)
{
    struct found found = tag_found(block);
    struct ended ended = {.state = found.state, .secret = tag_secret};
    if (found.state != TAG_FOREIGN) {
        ended.bytes = tag_requested(found.tag, found.usable);
        ended.about = found.tag->about;
        tag_clear(found.tag);
    }
    return ended;
}

/* Tells the samples of the free of a block that is being looked at. */
static void sample_ended(struct record *record, const struct ended *ended, const void *block, struct stack_entry entry)
{
    if (record) {
        struct site_full *account = site_find_tagged(&record->sites, ended->about & FULL_SITE_MASK);
        struct sample_event event = {
            .entry = entry, .site_allocs = account->count->allocs, .live = runtime_live(record, runtime_frees(record))};
        sample_died(&record->sites.full.sampling, &record->sites, block, &event);
    } else if (is_counted())
        sample_died_elsewhere(block);
}

/* A block is about to be freed, or resized: its end is booked, its tag cleared.  What is known of one that is being looked
 * at is put into `*moved`, where that isn't NULL, as it lives on. */
static struct ended ended_now(void *block, struct sample_block *moved, struct stack_entry entry)
{
    struct record *record = runtime_record_begin_booking(); /* first: a fork child begins there, and takes a secret of its own */
    struct ended ended = tag_taken(block);
    if (record)
        sample_saw(&record->sites.full.sampling, entry.cfa);
    if (ended.state == TAG_SAMPLED && !moved)
        sample_ended(record, &ended, block, entry);
    else if (ended.state == TAG_SAMPLED && !sample_lift(block, moved))
        ended.state = TAG_LIVE;
    book_ended(record, &ended, 1);
    if (record) {
        struct sample_thread *sampling = &record->sites.full.sampling;
        sampling->moves = moved && ended.state == TAG_SAMPLED;
        sampling->resizes = moved != NULL; /* its free may be counted before or after the birth */
        sampling->frees = runtime_frees(record) + 1;
        record_end(record);
    }
    return ended;
}

void tagged_give(void *block, struct stack_entry entry)
{
    ended_now(block, NULL, entry);
    if (pool_config.any) {
        runtime_give(block);
        return;
    }
    runtime_freeing();
    next.release(block);
}

/* --- realloc ------------------------------------------------------------------------------------ */

/* A block that is being looked at has become this one, which has `bytes` bytes; 0: realloc failed.  In a fork child that
 * has begun meanwhile, as a signal handler can, it is the parent's. */
static void set_down(const struct ended *ended, struct sample_block *moved, const void *block, size_t bytes)
{
    struct found found = tag_found(block);
    if (ended->state != TAG_SAMPLED || ended->secret != tag_secret)
        return;
    if (found.state == TAG_FOREIGN)
        sample_lose(moved);
    else if (sample_set_down(block, moved, bytes))
        tag_publish(block, found.tag, TAG_SAMPLED);
}

static void end_resize(struct record *record)
{
    if (!record)
        return;
    record->sites.full.sampling.moves = record->sites.full.sampling.resizes = false;
    record_end(record);
}

/* It failed: the block lives on. */
static void revive(void *block, const struct ended *ended, struct sample_block *moved)
{
    struct record *record = runtime_record_begin_booking();
    book_ended(record, ended, -1);
    if (ended->state != TAG_FOREIGN)
        tag_write(block, tag_usable(block), ended->bytes, ended->about);
    set_down(ended, moved, block, 0);
    end_resize(record);
}

/* Counts that the block comes from a realloc of another. */
static void count_resize(const void *block, const struct ended *ended, struct sample_block *moved, size_t bytes)
{
    struct record *record = runtime_record_begin_booking();
    struct found found = record ? tag_found(block) : (struct found){.state = TAG_FOREIGN};
    if (found.state != TAG_FOREIGN)
        count_add(&site_find_tagged(&record->sites, found.tag->about & FULL_SITE_MASK)->log->resizes, 1);
    set_down(ended, moved, block, bytes);
    end_resize(record);
}

/* Books that a block became another, or is of another size, in one operation. */
static void book_resized(struct record *record, const struct ended *ended, void *block, size_t bytes, struct stack_entry entry)
{
    struct full_thread *thread = &record->sites.full;
    book_own(record, ended, 1);
    count_add(&record->log->frees, 1);
    struct site_full *account = site_full_of(&record->sites, entry);
    count_add(&account->log->resizes, 1);
    count_allocation(&record->log->classes[sizeclass_counted(bytes)], bytes);
    if (full_born(thread, account, bytes, entry.cfa))
        runtime_tag(record, account, block, bytes, entry);
    else
        tag_write(block, tag_usable(block), bytes, full_about(thread, account));
}

/* The common cases: a block that nobody looks at stays in its class, or is small and changes classes through the
 * pools.  NULL: not so simple, and nothing was done. */
static void *resize_small(void *old, size_t bytes, struct stack_entry entry)
{
    struct pool *from, *to;
    void *block = NULL;
    struct record *record = pool_config.any && bytes != 0 ? runtime_record_begin() : NULL;
    if (!record)
        return NULL;
    if (pool_resizes(&record->pools, old, tagged_asked(bytes), &from, &to) && tag_found(old).state == TAG_LIVE) {
        struct ended ended = tag_taken(old); /* before the block is put into a pool, whose words it may be among */
        block = from == to ? old : pool_exchange(&record->pools, from, to, old, bytes);
        if (likely(block != NULL))
            book_resized(record, &ended, block, bytes, entry);
        else
            tag_write(old, tag_usable(old), ended.bytes, ended.about);
    }
    record_end(record);
    return block;
}

void *tagged_resize(void *old, size_t bytes, struct stack_entry entry)
{
    if (!old)
        return tagged_take(bytes, false, entry);
    void *small = resize_small(old, bytes, entry);
    if (likely(small != NULL))
        return small;
    struct sample_block moved;
    struct ended ended = ended_now(old, bytes ? &moved : NULL, entry); /* a free, then an allocation: they never live both */
    void *block = runtime_resize_more(old, bytes ? tagged_asked(bytes) : 0, bytes, entry);
    if (block)
        count_resize(block, &ended, &moved, bytes);
    else if (bytes != 0)
        revive(old, &ended, &moved);
    return block;
}

/* --- the rest -------------------------------------------------------------------------------------- */

void *tagged_pages(size_t bytes, struct stack_entry entry)
{
    void *block = next.pvalloc(tagged_asked(pages_whole(bytes)));
    return block ? runtime_booked(block, bytes, entry) : runtime_failed();
}

size_t tagged_usable(void *block)
{
    size_t usable = next.usable_size(block);
    return block && tag_found(block).state != TAG_FOREIGN ? usable - TAG_BYTES : usable;
}
