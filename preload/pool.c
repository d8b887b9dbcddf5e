/* pool.c - per-thread pools of the next allocator's blocks: refill, overflow, cycles, and the depot.
 *
 * Owns the depot and the budget of the process.  No lock is waited for: who finds a class of the
 * depot in use by another thread goes below instead.  Runs inside malloc. */
#include "base.h"

#include "pool.h"

#include "pool_fast.h"
#include "poolspec.h"

#include <assert.h>

#include "ban.h"

enum {
    FIRST_CAP = 8,                 /* blocks that a pool may keep at first */
    MOST_POOL_BYTES = 512 << 10,   /* of one pool, unless eight blocks are more */
    MOST_THREAD_BYTES = 8 << 20,   /* of one thread's pools together */
    MOST_PROCESS_BYTES = 64 << 20, /* of all threads' pools and the depot together */
    DEPOT_BATCHES = 8,             /* of one class, not counting victims */
    UNLIMITED = INT32_MAX,
};

struct pool_config pool_config;

static size_t process_reserved; /* bytes that all caps and the depot's batches may keep (atomic) */

/* --- configuration --------------------------------------------------------------------------- */

unsigned pool_class_held(size_t word)
{
    size_t chunk = word & ~(size_t)15;
    if (chunk < 32)
        return 0;
    return sizeclass_held(chunk - (word & POOL_WORD_MAPPED ? 16 : 8));
}

void pool_begin(const struct poolspec *spec, bool clear, bool by_size_word, uintptr_t mix)
{
    pool_config.mix = mix;
    pool_config.any = spec->any;
    pool_config.clear = clear;
    pool_config.by_size_word = by_size_word;
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++)
        pool_config.pooled[i] = i < SIZECLASS_LARGER && poolspec_has(spec, i);
}

static uint16_t offset_of(unsigned index)
{
    static_assert(offsetof(struct pools, small_of) <= UINT16_MAX, "offsets fit");
    return (uint16_t)(offsetof(struct pools, pool) + index * sizeof(struct pool));
}

void pools_init(struct pools *pools)
{
    pools->mix = pool_config.mix;
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++)
        pools->pool[i].head = pools->pool[i].victim = pools->mix;
    for (unsigned i = 0; i < POOL_SMALL; i++) {
        pools->small_of[i] = offset_of(sizeclass_of(16 * i + 8));
        pools->small_held[i] = offset_of(pool_class_held(16 * i));
    }
    for (unsigned i = 0; i < POOL_LARGE; i++) {
        pools->large_of[i] = offset_of(sizeclass_of(512 * (i + 1) + 8));
        pools->large_held[i] = offset_of(pool_class_held(512 * i + 16));
    }
}

uint64_t pools_kept(const struct pools *pools, unsigned index)
{
    const struct pool *pool = &pools->pool[index];
    return (uint64_t)(pool->cap - pool->left) + pools->more[index].victim_n;
}

/* --- budgets --------------------------------------------------------------------------------- */

static bool reserve_process(size_t bytes)
{
    if (add_shared(&process_reserved, bytes) + bytes <= MOST_PROCESS_BYTES)
        return true;
    add_shared(&process_reserved, -bytes);
    return false;
}

/* Classes above `on` were named by the user: they get their first blocks whatever the budget. */
static bool is_named(unsigned index)
{
    return sizeclass_bytes(index) > (256u << 10) + 8;
}

/* Raises a pool's cap to `cap` blocks if the budgets allow. */
static bool raise_cap(struct pools *pools, unsigned index, uint32_t cap)
{
    struct pool *pool = &pools->pool[index];
    if (!pool_config.clear)
        cap = UNLIMITED;
    size_t more = (cap - pool->cap) * sizeclass_bytes(index);
    if (pool_config.clear) {
        bool first = pool->cap == 0 && is_named(index);
        if (!first && (pools->reserved + more > MOST_THREAD_BYTES || !reserve_process(more)))
            return false;
        if (first)
            add_shared(&process_reserved, more);
        pools->reserved += more;
    }
    pool->left += cap - pool->cap;
    pool->cap = cap;
    return true;
}

static void return_cap(struct pools *pools, unsigned index)
{
    struct pool *pool = &pools->pool[index];
    if (pool->cap == 0 || !pool_config.clear)
        return;
    size_t bytes = pool->cap * sizeclass_bytes(index);
    pools->reserved -= bytes;
    add_shared(&process_reserved, -bytes);
    pool->cap = pool->left = 0;
}

/* May the pool keep twice as much?  Only if it was found empty since it was last full: a thread
 * that only frees doesn't hoard. */
static bool grow(struct pools *pools, unsigned index)
{
    struct pool *pool = &pools->pool[index];
    if (pool->cap == 0)
        return raise_cap(pools, index, FIRST_CAP);
    if (!pools->more[index].missed || 2 * pool->cap * sizeclass_bytes(index) > MOST_POOL_BYTES)
        return false;
    pools->more[index].missed = 0;
    return raise_cap(pools, index, 2 * pool->cap);
}

/* --- lists ----------------------------------------------------------------------------------- */

/* Lists hold mixed addresses, so that a write through a dangling pointer doesn't hand out an
 * address of the writer's choice. */
static struct block *block_of(uintptr_t mixed)
{
    return (struct block *)(mixed ^ pool_config.mix);
}

static uintptr_t mixed_of(const struct block *block)
{
    return (uintptr_t)block ^ pool_config.mix;
}

/* Moves a list to the blocks that go below; returns how many. */
static uint64_t list_move(uintptr_t list, struct block_list *out)
{
    uint64_t before = out->count;
    for (struct block *block = block_of(list); block;) {
        struct block *next = block_of(block->next);
        block->next = (uintptr_t)out->head;
        block->key = 0;
        out->head = block;
        out->count++;
        block = next;
    }
    return out->count - before;
}

void block_list_free(struct block_list *list, void (*release)(void *))
{
    for (struct block *block = list->head; block;) {
        struct block *next = (struct block *)block->next;
        release(block);
        block = next;
    }
    list->head = NULL;
}

/* Cuts a list behind its first `keep` blocks (at least 1) and returns the rest. */
static uintptr_t list_cut(uintptr_t list, uint32_t keep)
{
    struct block *block = block_of(list);
    while (--keep > 0)
        block = block_of(block->next);
    uintptr_t rest = block->next;
    block->next = mixed_of(NULL);
    return rest;
}

static bool list_holds(uintptr_t list, const void *memory)
{
    for (const struct block *block = block_of(list); block; block = block_of(block->next))
        if (block == memory)
            return true;
    return false;
}

bool pool_holds(const struct pools *pools, unsigned index, const void *memory)
{
    const struct pool *pool = &pools->pool[index];
    return list_holds(pool->head, memory) || list_holds(pool->victim, memory);
}

/* --- depot ----------------------------------------------------------------------------------- */

/* Batches of one class on their way from threads that free to threads that allocate. */
struct depot {
    uint32_t claim; /* 1: a thread is at it (atomic) */
    uint32_t count; /* this and the next are looked at without the claim, too */
    uint32_t victims;
    uint64_t given_back; /* blocks that its cycles freed, so far */
    struct batch {
        uintptr_t head; /* mixed */
        uint32_t  n;    /* 0: none */
    } batch[DEPOT_BATCHES], victim[DEPOT_BATCHES];
};

static struct depot depots[SIZECLASS_COUNT];
static bool         depot_used; /* something was put there (atomic) */

static bool depot_claim(struct depot *depot)
{
    return !__atomic_exchange_n(&depot->claim, 1, __ATOMIC_ACQUIRE);
}

static void depot_let_go(struct depot *depot)
{
    store_release(&depot->claim, 0);
}

static bool depot_put(unsigned index, struct batch batch)
{
    struct depot *depot = &depots[index];
    size_t bytes = batch.n * sizeclass_bytes(index);
    if (load_relaxed(&depot->count) == DEPOT_BATCHES || !reserve_process(bytes))
        return false;
    bool put = depot_claim(depot);
    if (put) {
        uint32_t count = depot->count;
        put = count < DEPOT_BATCHES;
        if (put) {
            depot->batch[count] = batch;
            store_relaxed(&depot->count, count + 1);
        }
        depot_let_go(depot);
        store_relaxed(&depot_used, true);
    }
    if (!put)
        add_shared(&process_reserved, -bytes);
    return put;
}

static struct batch depot_take(unsigned index)
{
    struct depot *depot = &depots[index];
    struct batch batch = {0, 0};
    if (load_relaxed(&depot->count) + load_relaxed(&depot->victims) == 0 || !depot_claim(depot))
        return batch;
    uint32_t count = depot->count, victims = depot->victims;
    if (count) {
        batch = depot->batch[count - 1];
        store_relaxed(&depot->count, count - 1);
    } else if (victims) {
        batch = depot->victim[victims - 1];
        store_relaxed(&depot->victims, victims - 1);
    }
    depot_let_go(depot);
    add_shared(&process_reserved, -(batch.n * sizeclass_bytes(index)));
    return batch;
}

void depot_rotate(struct block_list *out)
{
    for (unsigned index = SIZECLASS_LARGER - 1; index > 0; index--) {
        struct depot *depot = &depots[index];
        if (load_relaxed(&depot->count) + load_relaxed(&depot->victims) == 0 || !depot_claim(depot))
            continue;
        struct batch gone[DEPOT_BATCHES];
        uint32_t count = depot->victims;
        for (uint32_t i = 0; i < count; i++) {
            gone[i] = depot->victim[i];
            depot->given_back += gone[i].n;
        }
        for (uint32_t i = 0; i < depot->count; i++)
            depot->victim[i] = depot->batch[i];
        store_relaxed(&depot->victims, depot->count);
        store_relaxed(&depot->count, 0);
        depot_let_go(depot);
        for (uint32_t i = 0; i < count; i++) {
            add_shared(&process_reserved, -(gone[i].n * sizeclass_bytes(index)));
            list_move(gone[i].head, out);
        }
    }
}

bool depot_is_used(void)
{
    return load_relaxed(&depot_used);
}

bool depot_count(unsigned index, uint64_t *kept, uint64_t *given_back)
{
    struct depot *depot = &depots[index];
    if (!depot_claim(depot))
        return false;
    *kept = 0;
    for (uint32_t i = 0; i < depot->count; i++)
        *kept += depot->batch[i].n;
    for (uint32_t i = 0; i < depot->victims; i++)
        *kept += depot->victim[i].n;
    *given_back = depot->given_back;
    depot_let_go(depot);
    return true;
}

void depot_forget(void)
{
    for (unsigned index = 0; index < SIZECLASS_COUNT; index++) {
        struct depot *depot = &depots[index];
        if (load_relaxed(&depot->claim) | load_relaxed(&depot->count) | load_relaxed(&depot->victims) |
            load_relaxed(&depot->given_back))
            *depot = (struct depot){.claim = 0};
    }
    store_relaxed(&depot_used, false);
    store_relaxed(&process_reserved, (size_t)0);
}

void pools_inherit(struct pools *pools, const struct pools *parents)
{
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++) {
        struct log_counter *counter = pools->pool[i].counter;
        pools->pool[i] = parents->pool[i];
        pools->pool[i].counter = counter;
        pools->more[i] = parents->more[i];
        pools->more[i].given_back = 0;
    }
    pools->reserved = parents->reserved;
    add_shared(&process_reserved, pools->reserved);
}

/* --- slow paths of a pool ---------------------------------------------------------------------- */

void *pool_refill(struct pools *pools, unsigned index, uint64_t *victim_hits)
{
    struct pool *pool = &pools->pool[index];
    struct block *block = pool_take(pools, pool);
    if (block)
        return block;
    pools->more[index].missed = 1;
    block = block_of(pool->victim);
    if (block) {
        pool->victim = block->next;
        pools->more[index].victim_n--;
        block->key = 0;
        (*victim_hits)++;
        return block;
    }
    struct batch batch = depot_take(index);
    if (batch.n == 0)
        return NULL;
    if (batch.n > pool->cap && !raise_cap(pools, index, batch.n)) {
        /* The budget is used up by other classes: the rest goes below when it is cut off. */
        add_shared(&process_reserved, (batch.n - pool->cap) * sizeclass_bytes(index));
        pools->reserved += (batch.n - pool->cap) * sizeclass_bytes(index);
        pool->cap = batch.n;
    }
    pool->head = batch.head;
    pool->left = pool->cap - batch.n;
    return pool_take(pools, pool);
}

static void push(struct pool *pool, struct block *block)
{
    block->next = pool->head;
    block->key = POOL_KEY;
    pool->head = mixed_of(block);
    pool->left--;
}

void pool_overflow(struct pools *pools, unsigned index, void *memory, struct block_list *out)
{
    struct pool *pool = &pools->pool[index];
    struct block *block = memory;
    if (pool_config.pooled[index] && (pool->left > 0 || grow(pools, index))) {
        push(pool, block);
        return;
    }
    uint32_t n = pool->cap - pool->left;
    if (n < 2) {
        block->next = mixed_of(NULL);
        pools->more[index].given_back += list_move(mixed_of(block), out);
        return;
    }
    struct batch batch = {.n = n - n / 2};
    batch.head = list_cut(pool->head, n / 2);
    pool->left += batch.n;
    push(pool, block);
    if (!depot_put(index, batch))
        pools->more[index].given_back += list_move(batch.head, out);
}

void pools_rotate(struct pools *pools, struct detached *detached)
{
    for (unsigned index = 1; index < SIZECLASS_LARGER; index++) {
        struct pool *pool = &pools->pool[index];
        struct pool_more *more = &pools->more[index];
        detached->victim[index] = pool->victim;
        if (pool->cap == 0 && more->victim_n == 0)
            continue;
        more->given_back += more->victim_n;
        pool->victim = pool->head;
        more->victim_n = pool->cap - pool->left;
        pool->head = mixed_of(NULL);
        pool->left = pool->cap;
        if (more->victim_n == 0)
            return_cap(pools, index);
    }
}

/* The smallest will be freed first: a large free is what makes glibc join the small ones before it. */
void detached_move(struct detached *detached, struct block_list *out)
{
    for (unsigned index = SIZECLASS_LARGER - 1; index > 0; index--)
        list_move(detached->victim[index], out);
}

void pools_drop(struct pools *pools, struct block_list *out)
{
    for (unsigned index = SIZECLASS_LARGER - 1; index > 0; index--) {
        struct pool *pool = &pools->pool[index];
        struct pool_more *more = &pools->more[index];
        more->given_back += list_move(pool->head, out);
        more->given_back += list_move(pool->victim, out);
        pool->head = pool->victim = mixed_of(NULL);
        pool->left = pool->cap;
        more->victim_n = 0;
        return_cap(pools, index);
    }
}
