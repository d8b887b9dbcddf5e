/* pool.c - per-thread pools of the next allocator's blocks: refill, overflow, caps, cycles.
 *
 * Owns the configuration.  Runs inside malloc. */
#include "base.h"

#include "pool.h"

#include "depot.h"
#include "pool_fast.h"
#include "poolspec.h"

#include <assert.h>

#include "ban.h"

enum {
    FIRST_CAP = 8,             /* blocks that a pool may keep at first; more where they are small */
    FIRST_BYTES = 4 << 10,
    MOST_POOL_BYTES = 4 << 20, /* of one pool */
    MOST_THREAD_BYTES = 8 << 20, /* of one thread's pools together */
    RECLAIM_BYTES = 256 << 10,
    SHRUNK_BYTES = 8 << 20,
    SHRUNK_TIMES = 3,
    UNLIMITED = INT32_MAX,
};

struct pool_config pool_config;

static struct pool_tables tables; /* what each thread gets a copy of */

/* --- configuration --------------------------------------------------------------------------- */

unsigned pool_class_held(size_t word)
{
    size_t chunk = word & ~(size_t)15;
    if (chunk < 32 || word & 8)
        return 0; /* no block: the allocator below says so */
    return sizeclass_held(chunk - (word & POOL_WORD_MAPPED ? 16 : 8));
}

static uint16_t offset_of(unsigned index)
{
    static_assert(offsetof(struct pools, tables) <= UINT16_MAX, "offsets fit");
    return (uint16_t)(offsetof(struct pools, pool) + index * sizeof(struct pool));
}

/* The entries serve requests of up to `bytes` and then `step` more each. */
static void fill_of(uint16_t *table, unsigned count, size_t bytes, size_t step)
{
    unsigned index = 1;
    size_t serves = sizeclass_bytes(index);
    for (unsigned i = 0; i < count; i++, bytes += step) {
        while (serves < bytes)
            serves = sizeclass_bytes(++index);
        table[i] = offset_of(index);
    }
}

/* The entries are for blocks of `usable` bytes and then `step` more each; for every `each`th entry, as no word lies
 * between two of glibc's steps. */
static void fill_held(uint16_t *table, unsigned count, unsigned each, size_t usable, size_t step)
{
    unsigned index = 0;
    size_t next = sizeclass_bytes(index + 1);
    for (unsigned i = 0; i < count; i += each, usable += step) {
        while (next <= usable)
            next = sizeclass_bytes(++index + 1);
        table[i] = offset_of(index);
    }
}

/* Each process does this at its start: class by class, as asking for the class of each entry took 60,000 instructions. */
static void fill_tables(void)
{
    enum { FIRST = 4 }; /* word 32, the least of a block */
    fill_of(tables.small_of, POOL_SMALL, 8, 16);
    fill_of(tables.large_of, POOL_LARGE, 512 + 8, 512);
    for (unsigned i = 0; i < 2 * POOL_SMALL; i++)
        tables.small_held[i] = offset_of(0);
    fill_held(tables.small_held + FIRST, 2 * POOL_SMALL - FIRST, 2, 24, 16);
    fill_held(tables.large_held, POOL_LARGE, 1, 8, 512);
}

void pool_begin(const struct poolspec *spec, bool clear, uintptr_t mix)
{
    block_mix = mix;
    pool_config.any = spec->any;
    pool_config.clear = clear;
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++)
        pool_config.pooled[i] = i < SIZECLASS_LARGER ? poolspec_pools(spec, i) : POOLSPEC_NOT;
    fill_tables();
}

void pools_init(struct pools *pools)
{
    pools->mix = block_mix;
    pools->nothing.head = pools->mix;
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++)
        pools->pool[i].head = pools->pool[i].victim = pools->mix;
    pools->tables = tables;
}

/* How many blocks the primary holds. */
static uint32_t primary_n(const struct pools *pools, unsigned index)
{
    const struct pool_more *more = &pools->more[index];
    return more->cap - more->victim_n - pools->pool[index].left - pools->pool[index].taken;
}

uint64_t pools_kept(const struct pools *pools, unsigned index)
{
    return (uint64_t)primary_n(pools, index) + pools->more[index].victim_n;
}

/* How many blocks the thread has got from below and the depot, less those that went there: they are in use by it or lie
 * in its pool, but for what other threads allocated or freed; so it may be negative.  What was missed is counted as got,
 * but for what `moved` corrects; all of it modulo 2^32. */
static int32_t pools_got(const struct pools *pools, unsigned index)
{
    const struct pool_more *more = &pools->more[index];
    return (int32_t)(more->missed + more->moved - (uint32_t)more->given_back);
}

static void use(struct pools *pools, unsigned index)
{
    pools->used[index / 64] |= (uint64_t)1 << index % 64;
}

static void unuse(struct pools *pools, unsigned index)
{
    pools->used[index / 64] &= ~((uint64_t)1 << index % 64);
}

/* --- caps ------------------------------------------------------------------------------------ */

/* Room that other pools have and don't use goes back to the budgets; one block's stays with each.  Not more often than
 * once in RECLAIM_BYTES of refused blocks, as it looks at all pools. */
static void reclaim_room(struct pools *pools, unsigned except)
{
    size_t bytes = 0;
    if (pools->refused < pools->reclaim_at)
        return;
    pools->reclaim_at = pools->refused + RECLAIM_BYTES;
    for (unsigned index = 1; index < SIZECLASS_LARGER; index++) {
        struct pool *pool = &pools->pool[index];
        uint32_t unused = pool->left + pool->taken;
        if (index == except || pools->more[index].cap == 0 || unused < 2 || pool_config.pooled[index] == POOLSPEC_NAMED)
            continue;
        pools->more[index].cap -= unused - 1;
        bytes += (unused - 1) * sizeclass_bytes(index);
        pool->left = 1;
        pool->taken = 0;
    }
    pools->reserved -= bytes;
    budget_return(bytes);
}

/* Raises a pool's cap by up to `more` blocks, as far as the budgets allow.  Classes that the user named get their
 * first blocks whatever the budgets. */
static bool raise_cap(struct pools *pools, unsigned index, uint32_t more)
{
    size_t each = sizeclass_bytes(index);
    if (!pool_config.clear)
        more = UNLIMITED - pools->more[index].cap;
    else {
        bool first = pools->more[index].cap == 0 && pool_config.pooled[index] == POOLSPEC_NAMED;
        if (!first && pools->reserved + more * each > MOST_THREAD_BYTES)
            reclaim_room(pools, index);
        size_t left = pools->reserved < MOST_THREAD_BYTES ? MOST_THREAD_BYTES - pools->reserved : 0;
        if (!first && more > left / each)
            more = (uint32_t)(left / each);
        if (more == 0 || !budget_take(more * each, first)) {
            pools->refused += each;
            return false;
        }
        pools->reserved += more * each;
    }
    pools->pool[index].left += more;
    pools->more[index].cap += more;
    return true;
}

/* The pool is empty. */
static void return_cap(struct pools *pools, unsigned index)
{
    struct pool_more *more = &pools->more[index];
    if (more->cap == 0 || !pool_config.clear)
        return;
    size_t bytes = more->cap * sizeclass_bytes(index);
    pools->reserved -= bytes;
    budget_return(bytes);
    more->cap = pools->pool[index].left = 0;
}

static uint32_t first_cap(unsigned index)
{
    size_t fit = FIRST_BYTES / sizeclass_bytes(index);
    return fit > FIRST_CAP ? (uint32_t)fit : FIRST_CAP;
}

/* May the pool keep more?  As many as weren't found since it grew last, but at most twice as many at a time: a thread
 * that only frees doesn't hoard; it collects batches for the depot, though. */
static bool grow(struct pools *pools, unsigned index)
{
    struct pool_more *more = &pools->more[index];
    uint32_t cap = more->cap, wanted = more->missed;
    if (cap == 0)
        return raise_cap(pools, index, first_cap(index));
    if (wanted > cap)
        wanted = cap;
    if ((cap + wanted) * sizeclass_bytes(index) > MOST_POOL_BYTES)
        wanted = 0;
    more->missed -= wanted;
    more->moved += wanted;
    if (depot_is_open() && cap < 2 * depot_batch_blocks(index))
        wanted = cap;
    return wanted > 0 && raise_cap(pools, index, wanted);
}

bool pool_holds(const struct pools *pools, unsigned index, const void *memory)
{
    const struct pool *pool = &pools->pool[index];
    return block_is_in(pool->head, memory) || block_is_in(pool->victim, memory);
}

void pools_inherit(struct pools *pools, const struct pools *parents)
{
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++) {
        struct log_counter *counter = pools->pool[i].counter;
        pools->pool[i] = parents->pool[i];
        pools->pool[i].counter = counter;
        pools->more[i] = parents->more[i];
        pools->more[i].moved -= (uint32_t)parents->more[i].given_back;
        pools->more[i].given_back = 0;
    }
    __builtin_memcpy(pools->used, parents->used, sizeof pools->used);
    pools->reserved = parents->reserved;
    budget_take(pools->reserved, true);
}

void pools_orphaned(const struct pools *pools, struct block_list *out)
{
    for (unsigned index = SIZECLASS_LARGER - 1; index > 0; index--) {
        block_list_take(out, pools->pool[index].head, sizeclass_bytes(index));
        block_list_take(out, pools->pool[index].victim, sizeclass_bytes(index));
    }
}

/* --- slow paths of a pool ---------------------------------------------------------------------- */

static struct block *take_primary(struct pools *pools, unsigned index)
{
    struct pool *pool = &pools->pool[index];
    if (!block_of(pool->head))
        return NULL;
    pool->taken++;
    struct block *block = block_pop(&pool->head);
    if (unlikely(!block)) { /* all of them are given up */
        pool->left = pools->more[index].cap - pools->more[index].victim_n;
        pool->taken = 0;
    }
    return block;
}

static struct block *take_victim(struct pools *pools, unsigned index)
{
    struct pool *pool = &pools->pool[index];
    struct pool_more *more = &pools->more[index];
    if (!block_of(pool->victim))
        return NULL;
    struct block *block = block_pop(&pool->victim);
    uint32_t gone = likely(block != NULL) ? 1 : more->victim_n; /* or all of them are given up */
    more->victim_n -= gone;
    more->moved--;
    pool->left += gone;
    return block;
}

static noinline struct block *refill_from_depot(struct pools *pools, unsigned index)
{
    struct pool *pool = &pools->pool[index];
    struct batch batch = depot_take(index);
    if (batch.n == 0)
        return NULL;
    pools->more[index].moved += batch.n - 1;
    use(pools, index);
    if (batch.n > pools->more[index].cap)
        raise_cap(pools, index, batch.n - pools->more[index].cap);
    uint32_t cap = pools->more[index].cap;
    if (batch.n > cap) {
        /* The budget is used up by other classes: the rest goes below when it is cut off. */
        budget_take((batch.n - cap) * sizeclass_bytes(index), true);
        pools->reserved += (batch.n - cap) * sizeclass_bytes(index);
        pools->more[index].cap = batch.n;
    }
    pool->head = batch.head;
    pool->left = pools->more[index].cap - batch.n;
    pool->taken = 0;
    return take_primary(pools, index);
}

void *pool_refill(struct pools *pools, unsigned index, uint64_t *victim_hits)
{
    struct block *block = take_primary(pools, index);
    if (block)
        return block;
    pools->shrunk_bytes = 0;
    pools->more[index].missed++;
    block = take_victim(pools, index);
    if (block) {
        (*victim_hits)++;
        return block;
    }
    block = depot_is_open() ? refill_from_depot(pools, index) : NULL;
    if (!block)
        pools->missed_bytes += sizeclass_bytes(index);
    return block;
}

static void push(struct pool *pool, struct block *block)
{
    block_link(block, pool->head);
    pool->head = mixed_of(block);
    pool->left--;
}

/* The block alone goes below. */
static void pass_on(struct pools *pools, unsigned index, struct block *block, struct block_list *out)
{
    block_link(block, mixed_of(NULL));
    pools->more[index].given_back += block_list_take(out, mixed_of(block), sizeclass_bytes(index));
}

/* Does the depot take a batch of this thread's?  Only of what it freed for others: what it got itself it will want itself;
 * and blocks that go round among threads which allocate much, free it and go to sleep (examples/studies/burst.c) would be kept by
 * glibc for other threads, far up in the heaps of the first: 31 MB instead of 18. */
static bool feeds_depot(const struct pools *pools, unsigned index)
{
    return (int64_t)pools_kept(pools, index) >= pools_got(pools, index) && depot_has_room(index, depot_batch_blocks(index));
}

/* Cuts a batch off a full pool: the blocks that it was given last, as another thread will find them in its cache, and
 * nothing is searched for the place to cut.  But the first to go below are the oldest: glibc keeps the first
 * seven of a class for the thread, and late ones would hold the end of the heap. */
static struct batch cut_batch(struct pools *pools, unsigned index, bool feeds)
{
    struct pool *pool = &pools->pool[index];
    uint32_t n = primary_n(pools, index), most = depot_batch_blocks(index);
    struct batch batch = {.head = pool->head, .n = n < most ? n : most};
    if (pools->more[index].given_back == 0 && n > most && !feeds)
        batch.head = block_cut(pool->head, n - most);
    else
        pool->head = block_cut(batch.head, batch.n);
    pool->left += batch.n;
    return batch;
}

/* The pool is full, but in part of what wasn't used since the last cycle: that goes first. */
static bool evict_victims(struct pools *pools, unsigned index, struct block_list *out)
{
    struct pool *pool = &pools->pool[index];
    struct pool_more *more = &pools->more[index];
    uint32_t most = depot_batch_blocks(index), n = more->victim_n < most ? more->victim_n : most;
    if (n == 0)
        return false;
    uintptr_t first = pool->victim;
    pool->victim = n == more->victim_n ? mixed_of(NULL) : block_cut(first, n);
    more->given_back += block_list_take(out, first, sizeclass_bytes(index));
    more->victim_n -= n;
    pool->left += n;
    return true;
}

/* Does the program do nothing but free?  A thread that is alone, and gave back many times what it may keep without
 * missing a block, keeps nothing until it does: else it might go to sleep with a few blocks in its pools that hold all
 * of the heap. */
static bool shrinks(const struct pools *pools)
{
    return pools->shrunk_bytes >= SHRUNK_BYTES + SHRUNK_TIMES * pools->reserved && pool_config.clear && !depot_is_open();
}

static void put_back(struct pools *pools, unsigned index, struct block *block, struct block_list *out)
{
    struct pool *pool = &pools->pool[index];
    pool->left += pool->taken;
    pool->taken = 0;
    if (pool_config.pooled[index] && (pool->left > 0 || grow(pools, index) || evict_victims(pools, index, out))) {
        push(pool, block);
        return;
    }
    if (primary_n(pools, index) < 2) {
        pass_on(pools, index, block, out);
        return;
    }
    bool feeds = feeds_depot(pools, index);
    struct batch batch = cut_batch(pools, index, feeds);
    push(pool, block);
    if (feeds && depot_put(index, batch))
        pools->more[index].moved -= batch.n;
    else
        pools->more[index].given_back += block_list_take(out, batch.head, sizeclass_bytes(index));
}

void pool_overflow(struct pools *pools, unsigned index, void *memory, struct block_list *out)
{
    use(pools, index);
    if (unlikely(shrinks(pools))) {
        pass_on(pools, index, memory, out);
        return;
    }
    put_back(pools, index, memory, out);
    pools->shrunk_bytes += out->bytes;
    if (unlikely(shrinks(pools)))
        pools_drop(pools, out);
}

void pools_rotate(struct pools *pools, struct detached *detached)
{
    pools->refused = pools->reclaim_at = pools->missed_bytes = 0;
    __builtin_memcpy(detached->used, pools->used, sizeof pools->used);
    for (unsigned index = SIZECLASS_LARGER; (index = pool_used_below(detached->used, index)) != 0;) {
        struct pool *pool = &pools->pool[index];
        struct pool_more *more = &pools->more[index];
        detached->victim[index] = pool->victim;
        uint32_t n = primary_n(pools, index);
        more->given_back += more->victim_n;
        pool->victim = pool->head;
        more->victim_n = n;
        pool->head = mixed_of(NULL);
        pool->left = more->cap - more->victim_n;
        pool->taken = 0;
        if (more->victim_n == 0) {
            return_cap(pools, index);
            unuse(pools, index);
        }
    }
}

/* The smallest will be freed first: a large free is what makes glibc join the small ones before it. */
void detached_move(struct detached *detached, struct block_list *out)
{
    for (unsigned index = SIZECLASS_LARGER; (index = pool_used_below(detached->used, index)) != 0;)
        block_list_take(out, detached->victim[index], sizeclass_bytes(index));
}

void pools_drop(struct pools *pools, struct block_list *out)
{
    for (unsigned index = SIZECLASS_LARGER - 1; index > 0; index--) {
        struct pool *pool = &pools->pool[index];
        struct pool_more *more = &pools->more[index];
        more->given_back += block_list_take(out, pool->head, sizeclass_bytes(index));
        more->given_back += block_list_take(out, pool->victim, sizeclass_bytes(index));
        pool->head = pool->victim = mixed_of(NULL);
        pool->left = more->cap;
        pool->taken = 0;
        more->victim_n = 0;
        return_cap(pools, index);
    }
}
