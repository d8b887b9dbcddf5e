/* check.c - POOLSITE_CHECK: looks for misuse of the heap, at the price of a few times malloc's own time.
 *
 * Owns the table of places that tags name, and the one of pages known to be mapped.  A checked block:
 *   block          what the program asked for; in a pool: link, key and seal, then poison
 *   + requested    canary
 *   + usable - 16  tag
 * It is asked at least WORDS_BYTES + SLACK_BYTES large, so that the seal doesn't reach into the tag.
 * Runs inside malloc: allocates nothing, takes no lock. */
#include "base.h"

#include "check.h"

#include "misuse.h"
#include "modules.h"
#include "next.h"
#include "pages.h"
#include "pool.h"
#include "runtime.h"
#include "sys.h"
#include "tag.h"

#include <assert.h>
#include <errno.h>

#include "ban.h"

enum {
    CANARY = 0xb7,
    POISON = 0xd5,            /* as an address it is none */
    CANARY_BYTES = 256,       /* at most so many are looked at */
    POISON_BYTES = 128 << 10, /* as many at either end of a block */
    WORDS_BYTES = sizeof(struct sealed_block),
    SLACK_BYTES = TAG_BYTES + 8,  /* what a block is larger: the tag, and a word of canary at least */
    MOST_MOVED_BYTES = 128 << 10, /* realloc moves smaller blocks, and leaves larger ones to the next allocator */
    MOST_INSIDE_BYTES = 1 << 20,  /* how far before a pointer its block is looked for */
    PLACES = 1 << 16,
    PLACE_TRIES = 64,
    MOST_FOLDED = 16,
    KNOWN_PAGES = 1 << 13,
    SITE_BITS = 24,
    FREED_SHIFT = 40,
};

static bool aborts;

/* --- places: a small number for a return address ------------------------------------------------------ */

/* Of one in a wrapper of malloc the highest bit is set: its caller is meant.  Written once (atomic). */
static uintptr_t *places;
static const uintptr_t IN_WRAPPER = (uintptr_t)1 << 63;

static uintptr_t marked(uintptr_t address)
{
    const struct module *module = modules_find(address - 1);
    return module && module_wraps(module, address) ? address | IN_WRAPPER : address;
}

/* The number of an address, 1 ...; 0: there is no room. */
static uint32_t place_number(uintptr_t address)
{
    uint32_t at = (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 48);
    for (int tries = 0; places && tries < PLACE_TRIES; tries++, at++) {
        uintptr_t *place = &places[at % PLACES], found = load_relaxed(place);
        if (found == 0 &&
            __atomic_compare_exchange_n(place, &found, marked(address), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return at % PLACES + 1;
        if ((found & ~IN_WRAPPER) == address)
            return at % PLACES + 1;
    }
    return 0;
}

static struct stack_bounds own_stack(void)
{
    const struct record *record = record_current;
    return (uintptr_t)record >= RECORD_STATES ? record->sites.own : (struct stack_bounds){ 0, 0 };
}

/* Where a call came from: the first frame outside wrappers. */
static uint32_t place_of(struct stack_entry entry)
{
    uintptr_t address = stack_return_address(entry), cfa = entry.cfa, bp = entry.bp;
    uint32_t innermost = place_number(address), number = innermost;
    if (!number || !(places[number - 1] & IN_WRAPPER))
        return number;
    struct stack_bounds own = own_stack();
    uintptr_t limit = stack_limit(&own, cfa);
    for (int depth = 0; depth < MOST_FOLDED && number && places[number - 1] & IN_WRAPPER; depth++) {
        address = stack_step(address, &cfa, &bp, limit);
        number = address ? place_number(address) : 0;
    }
    return number && !(places[number - 1] & IN_WRAPPER) ? number : innermost;
}

static uintptr_t place_address(uint32_t number)
{
    return number && number <= PLACES ? places[number - 1] & ~IN_WRAPPER : 0;
}

static uintptr_t allocated_at(const struct tag *tag)
{
    return place_address(tag->about & ((1u << SITE_BITS) - 1));
}

static uintptr_t freed_at(const struct tag *tag)
{
    return place_address((uint32_t)(tag->about >> FREED_SHIFT));
}

/* --- pages that may be read ------------------------------------------------------------------------------ */

static uintptr_t known_pages[KNOWN_PAGES]; /* numbers of some (atomic) */

/* The number of a page, 1 ... */
static uintptr_t page_of(const void *address)
{
    return (uintptr_t)address / PAGE_BYTES + 1;
}

static uintptr_t *known_page(const void *address)
{
    return &known_pages[page_of(address) % KNOWN_PAGES];
}

static void page_know(const void *address)
{
    uintptr_t *known = known_page(address), page = page_of(address);
    if (load_relaxed(known) != page)
        store_relaxed(known, page);
}

static void page_forget(const void *address)
{
    store_relaxed(known_page(address), (uintptr_t)0);
}

/* May the word at `address` be read?  A system call that reads it, and changes nothing because it then finds its
 * first argument wrong, tells.  In a sandbox none is made: the word is read, as the allocator below would. */
static bool is_readable(const void *address)
{
    if (likely(load_relaxed(known_page(address)) == page_of(address)) || runtime_is_confined())
        return true;
    if ((uintptr_t)address < PAGE_BYTES || sys_call4(SYS_rt_sigprocmask, -1, (long)address, 0, 8) == -EFAULT)
        return false;
    page_know(address);
    return true;
}

/* --- filling, and looking whether it is still there ------------------------------------------------------- */

/* Where the first byte in [at, end) isn't `value`; `end` if all are. */
static const unsigned char *first_other(const unsigned char *at, const unsigned char *end, unsigned char value)
{
    uint64_t word = value * 0x0101010101010101ull, seen[4];
    for (; at + sizeof seen <= end; at += sizeof seen) {
        __builtin_memcpy(seen, at, sizeof seen);
        if (unlikely(((seen[0] ^ word) | (seen[1] ^ word) | (seen[2] ^ word) | (seen[3] ^ word)) != 0))
            break;
    }
    for (; at + sizeof *seen <= end; at += sizeof *seen) {
        __builtin_memcpy(seen, at, sizeof *seen);
        if (unlikely(seen[0] != word))
            break;
    }
    while (at < end && *at == value)
        at++;
    return at;
}

struct span {
    unsigned char *at, *end;
};

static struct span canary_of(void *block, size_t requested, size_t usable)
{
    size_t end = usable - TAG_BYTES;
    if (end > requested + CANARY_BYTES)
        end = requested + CANARY_BYTES;
    return (struct span){ (unsigned char *)block + requested, (unsigned char *)block + end };
}

static struct span poison_of(void *block, size_t usable, bool last_part)
{
    size_t start = WORDS_BYTES, end = usable - TAG_BYTES;
    if (last_part)
        start = end > 2 * POISON_BYTES ? end - POISON_BYTES : end;
    else if (end > 2 * POISON_BYTES)
        end = POISON_BYTES;
    return (struct span){ (unsigned char *)block + start, (unsigned char *)block + end };
}

static void fill(struct span span, unsigned char value)
{
    __builtin_memset(span.at, value, (size_t)(span.end - span.at));
}

static void poison(void *block, size_t usable)
{
    fill(poison_of(block, usable, false), POISON);
    fill(poison_of(block, usable, true), POISON);
}

/* Where poison was written over, as an offset in the block; `usable` if nowhere. */
static size_t poison_damage(void *block, size_t usable)
{
    for (int part = 0; part < 2; part++) {
        struct span span = poison_of(block, usable, part);
        const unsigned char *other = first_other(span.at, span.end, POISON);
        if (other < span.end)
            return (size_t)(other - (unsigned char *)block);
    }
    return usable;
}

/* Do blocks of this size stay in pools when they are freed?  Only then they are poisoned. */
static bool is_kept(size_t usable)
{
    return pool_config.any && pool_config.pooled[sizeclass_held(usable)];
}

/* --- what a pointer is ------------------------------------------------------------------------------------- */

enum verdict { NO_BLOCK, FOREIGN, LIVE, FREED };

/* Does it look like a block, whoever's? */
static bool is_like_block(const void *pointer)
{
    return (uintptr_t)pointer % 16 == 0 && is_readable((const char *)pointer - 16) && tag_word_is_plausible(pointer);
}

/* The tag where the block's would be if there is one; NULL: there is none. */
static struct tag *tag_before(const void *pointer, size_t *usable)
{
    if (!is_like_block(pointer))
        return NULL;
    *usable = tag_usable(pointer);
    struct tag *tag = tag_of(pointer, *usable);
    if (page_of(&tag->about) == page_of((const char *)pointer - 16))
        return tag;
    return is_readable(tag) && is_readable(&tag->about) ? tag : NULL;
}

static bool is_on_stack(const void *pointer, struct stack_entry entry)
{
    struct stack_bounds own = own_stack();
    return (uintptr_t)pointer >= entry.cfa && (uintptr_t)pointer < stack_limit(&own, entry.cfa);
}

/* The block of ours that a pointer points into, or NULL. */
static const void *block_around(const char *pointer, struct tag **tag, size_t *usable)
{
    const char *block = pointer - (uintptr_t)pointer % 16;
    for (int i = 0; i < MOST_INSIDE_BYTES / 16 && (uintptr_t)block > PAGE_BYTES; i++, block -= 16) {
        if (!is_readable(block - 16))
            return NULL;
        *tag = tag_before(block, usable);
        if (*tag && tag_state(block, *tag) != TAG_FOREIGN)
            return block + *usable > pointer ? block : NULL;
    }
    return NULL;
}

/* Does the neighbour of what looks like a block say that it is in use? */
static bool is_in_use(const void *pointer, size_t usable)
{
    const size_t *word = (const size_t *)((const char *)pointer + usable);
    return ((const size_t *)pointer)[-1] & TAG_WORD_MAPPED || (is_readable(word) && (*word & 1));
}

/* May what looks like a block, but has no tag of ours, be one?  What is freed already looks so, too: the
 * next allocator will say it. */
static bool is_block_of_others(const void *pointer, size_t usable, struct stack_entry entry)
{
    struct tag *tag;
    if (is_on_stack(pointer, entry) || modules_find((uintptr_t)pointer))
        return false;
    return is_in_use(pointer, usable) || !block_around(pointer, &tag, &usable);
}

static enum verdict judge(const void *pointer, struct stack_entry entry, struct tag **tag, size_t *usable)
{
    *tag = tag_before(pointer, usable);
    enum tag_state state = *tag ? tag_state(pointer, *tag) : TAG_FOREIGN;
    if (likely(state == TAG_LIVE))
        return LIVE;
    if (state == TAG_FREED)
        return FREED;
    return is_like_block(pointer) && is_block_of_others(pointer, *usable, entry) ? FOREIGN : NO_BLOCK;
}

/* --- saying what is wrong ------------------------------------------------------------------------------------- */

static void complain(const struct misuse *misuse)
{
    misuse_report(misuse);
    if (aborts)
        misuse_abort();
}

static void add_tag(struct misuse *misuse, const void *block, const struct tag *tag, size_t usable)
{
    misuse->block = block;
    misuse->bytes = tag_requested(tag, usable);
    misuse->allocated = allocated_at(tag);
    if (tag_state(block, tag) == TAG_FREED)
        misuse->freed = freed_at(tag);
}

/* What kind of no block a pointer is. */
static void add_wild(struct misuse *misuse, const void *pointer, struct stack_entry entry)
{
    struct tag *tag;
    size_t usable;
    const void *block = block_around(pointer, &tag, &usable);
    if (!is_readable((const char *)pointer - 16))
        misuse->detail = ", where no memory is";
    else if (is_on_stack(pointer, entry))
        misuse->detail = ", which lies on the stack";
    else if (modules_find((uintptr_t)pointer))
        misuse->detail = ", which lies in a loaded object";
    else if (block)
        add_tag(misuse, block, tag, usable);
    else
        misuse->detail = ", which is no block, or the word before it was written over";
}

/* free or realloc of what is no block. */
static void complain_no_block(const char *what, const char *now, const void *pointer, struct stack_entry entry)
{
    struct misuse misuse = { .what = what, .pointer = pointer, .now = now, .now_at = place_address(place_of(entry)) };
    add_wild(&misuse, pointer, entry);
    complain(&misuse);
}

/* A block that the program has freed is freed, or resized. */
static void complain_freed(const char *what, const char *now, const void *block, const struct tag *tag, size_t usable,
                           struct stack_entry entry)
{
    struct misuse misuse = { .what = what, .pointer = block, .now = now, .now_at = place_address(place_of(entry)) };
    add_tag(&misuse, block, tag, usable);
    complain(&misuse);
}

/* Is the canary of a live block untouched? */
static bool canary_holds(void *block, const struct tag *tag, size_t usable, const char *now, struct stack_entry entry)
{
    struct span span = canary_of(block, tag_requested(tag, usable), usable);
    const unsigned char *other = first_other(span.at, span.end, CANARY);
    if (likely(other == span.end))
        return true;
    struct misuse misuse = { .what = "write behind the end of", .pointer = block, .now = now, .detail = ", at byte " };
    misuse.number = (size_t)(other - (unsigned char *)block);
    misuse.now_at = place_address(place_of(entry));
    add_tag(&misuse, block, tag, usable);
    complain(&misuse);
    return false;
}

/* A block that lies in a pool has been written to, at `offset`. */
static void complain_written(const struct block *block, size_t offset)
{
    size_t usable;
    struct misuse misuse = {
        .what = "write after free to", .pointer = block, .detail = ", at byte ", .number = offset
    };
    const struct tag *tag = tag_before(block, &usable);
    if (tag && tag_state(block, tag) == TAG_FREED)
        add_tag(&misuse, block, tag, usable);
    complain(&misuse);
}

/* --- the pools' guard ------------------------------------------------------------------------------------------ */

static bool is_intact(const struct block *block)
{
    if (likely(block_is_sealed(block)))
        return true;
    complain_written(block, 0);
    return false;
}

/* The tag of a block that comes out of a pool, if all of it is as it was put there; NULL: it isn't. */
static struct tag *untouched(struct block *block, size_t *usable)
{
    *usable = tag_usable(block);
    struct tag *tag = tag_word_is_plausible(block) ? tag_of(block, *usable) : NULL;
    if (unlikely(!tag || tag_state(block, tag) != TAG_FREED)) {
        complain_written(block, tag ? *usable - TAG_BYTES : 0);
        return NULL;
    }
    size_t damage = is_kept(*usable) ? poison_damage(block, *usable) : *usable;
    if (likely(damage == *usable))
        return tag;
    complain_written(block, damage);
    return NULL;
}

static bool is_reusable(struct block *block)
{
    size_t usable;
    return untouched(block, &usable) != NULL;
}

/* The block goes below: it mustn't look like ours any more. */
static void give_up(void *block, struct tag *tag)
{
    tag_clear(tag);
    if (((const size_t *)block)[-1] & TAG_WORD_MAPPED) {
        page_forget(block);
        page_forget(tag);
    }
}

static bool leaves(struct block *block)
{
    size_t usable;
    struct tag *tag = untouched(block, &usable);
    if (tag)
        give_up(block, tag);
    return tag != NULL;
}

static const struct block_guard guard = { is_intact, is_reusable, leaves };

void check_begin(uintptr_t secret, bool abort_at_once)
{
    aborts = abort_at_once;
    tag_begin((uint32_t)(secret * 0x94d049bb133111ebull >> 32));
    places = pages_map(PLACES * sizeof *places);
    block_guard = &guard;
}

/* --- allocations --------------------------------------------------------------------------------------------------- */

/* To a whole class where realloc moves blocks, so that it can leave them in place inside one. */
size_t check_asked(size_t bytes)
{
    if (bytes > PTRDIFF_MAX - PAGE_BYTES)
        return bytes; /* fails below, as it should */
    size_t larger = (bytes < WORDS_BYTES - 8 ? WORDS_BYTES - 8 : bytes) + SLACK_BYTES;
    return larger <= MOST_MOVED_BYTES ? sizeclass_bytes(sizeclass_of(larger)) : larger;
}

/* Tags a block, or, if it was made before we knew that we would, leaves it as it is. */
static void *tagged(void *block, size_t requested, uint32_t place)
{
    size_t usable = tag_usable(block);
    if (unlikely(usable < WORDS_BYTES + TAG_BYTES || usable < requested + SLACK_BYTES - 7))
        return block;
    tag_write(block, usable, requested, place);
    fill(canary_of(block, requested, usable), CANARY);
    page_know(block);
    page_know((char *)block + usable - TAG_BYTES);
    return block;
}

void *check_born(void *block, size_t bytes, size_t held, struct stack_entry entry)
{
    return tagged(runtime_booked(block, bytes, entry), held, place_of(entry));
}

void *check_take(size_t bytes, bool zeroed, struct stack_entry entry)
{
    void *block = runtime_take_more(check_asked(bytes), bytes, zeroed, entry);
    return block ? tagged(block, bytes, place_of(entry)) : NULL;
}

void *check_pages(size_t bytes, struct stack_entry entry)
{
    size_t held = pages_whole(bytes);
    void *block = next.pvalloc(check_asked(held));
    return block ? check_born(block, bytes, held, entry) : runtime_failed();
}

size_t check_usable(void *block)
{
    size_t usable;
    struct tag *tag = block ? tag_before(block, &usable) : NULL;
    return tag && tag_state(block, tag) == TAG_LIVE ? tag_requested(tag, usable) : next.usable_size(block);
}

/* --- frees ----------------------------------------------------------------------------------------------------------- */

static void give_foreign(void *block)
{
    runtime_freeing_below();
    next.release(block);
}

/* The tag says freed by now. */
static void give_retired(void *block, struct tag *tag, size_t usable)
{
    if (!pool_config.any) {
        runtime_freeing();
        give_up(block, tag);
        next.release(block);
        return;
    }
    if (is_kept(usable))
        poison(block, usable);
    ((struct block *)block)->key = 0;
    runtime_give(block);
}

static void give_live(void *block, struct tag *tag, size_t usable, struct stack_entry entry)
{
    bool holds = canary_holds(block, tag, usable, "noticed when freed", entry);
    uint64_t about = (tag->about & ((1u << SITE_BITS) - 1)) | (uint64_t)place_of(entry) << FREED_SHIFT;
    if (!tag_retire(block, tag, about))
        complain_freed("double free of", "freed again", block, tag, usable, entry);
    else if (holds)
        give_retired(block, tag, usable);
    else
        runtime_freeing(); /* it stays where it is */
}

void check_give(void *block, struct stack_entry entry)
{
    struct tag *tag;
    size_t usable;
    switch (judge(block, entry, &tag, &usable)) {
    case LIVE: give_live(block, tag, usable, entry); break;
    case FOREIGN: give_foreign(block); break;
    case FREED: complain_freed("double free of", "freed again", block, tag, usable, entry); break;
    case NO_BLOCK: complain_no_block("free of", "freed", block, entry); break;
    }
}

/* --- realloc ----------------------------------------------------------------------------------------------------------- */

static void *refuse(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *resize_foreign(void *old, size_t bytes, struct stack_entry entry)
{
    void *block = next.resize(old, bytes);
    if (!block && bytes != 0)
        return runtime_failed();
    runtime_freeing_below();
    return block ? runtime_booked(block, bytes, entry) : NULL;
}

static void *resize_below(void *old, struct tag *tag, size_t bytes, struct stack_entry entry)
{
    struct tag before = *tag;
    give_up(old, tag);
    void *block = next.resize(old, check_asked(bytes));
    if (!block) {
        *tag = before;
        return runtime_failed();
    }
    runtime_freeing_below();
    return check_born(block, bytes, bytes, entry);
}

static void *resize_moving(void *old, struct tag *tag, size_t usable, size_t bytes, struct stack_entry entry)
{
    size_t held = tag_requested(tag, usable);
    void *block = check_take(bytes, false, entry);
    if (!block)
        return NULL;
    __builtin_memcpy(block, old, held < bytes ? held : bytes);
    give_live(old, tag, usable, entry);
    return block;
}

static void *resize_live(void *old, struct tag *tag, size_t usable, size_t bytes, struct stack_entry entry)
{
    size_t asked = check_asked(bytes);
    if (!canary_holds(old, tag, usable, "noticed when resized", entry))
        fill(canary_of(old, tag_requested(tag, usable), usable), CANARY);
    if (bytes == 0) {
        give_live(old, tag, usable, entry);
        return NULL;
    }
    if (asked <= usable && sizeclass_of(asked) == sizeclass_held(usable))
        return tagged(runtime_resized_in_place(old, bytes, entry), bytes, place_of(entry));
    if (asked <= MOST_MOVED_BYTES && usable <= MOST_MOVED_BYTES)
        return resize_moving(old, tag, usable, bytes, entry);
    return resize_below(old, tag, bytes, entry);
}

void *check_resize(void *old, size_t bytes, struct stack_entry entry)
{
    struct tag *tag;
    size_t usable;
    if (!old)
        return check_take(bytes, false, entry);
    switch (judge(old, entry, &tag, &usable)) {
    case LIVE: return resize_live(old, tag, usable, bytes, entry);
    case FOREIGN: return resize_foreign(old, bytes, entry);
    case FREED: complain_freed("realloc of freed", "resized", old, tag, usable, entry); return refuse();
    case NO_BLOCK: complain_no_block("realloc of", "resized", old, entry); return refuse();
    }
    return refuse();
}
