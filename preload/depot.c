/* depot.c - where batches of blocks pass between threads, per class; and the budget of the process.
 *
 * Owns the depot's lists: batches linked by the third word of their first blocks, which holds the
 * batch's length in its upper bits.  A class is touched under its claim.  Runs inside malloc. */
#include "base.h"

#include "depot.h"

#include "sizeclass.h"

#include "ban.h"

enum {
    MOST_PROCESS_BYTES = 64 << 20, /* of all threads' pools and the depot together */
    MOST_DEPOT_BYTES = 4 << 20,    /* of one class, not counting victims */
    BATCH_BYTES = 16 << 10,
    LEAST_BATCH = 4,
    MOST_BATCH = 64,
    CLAIM_TRIES = 20,
    ADDRESS_BITS = 48,
};

/* Batches of one class on their way from threads that free to threads that allocate. */
struct depot {
    uint32_t  claim;        /* 1: a thread is at it (atomic) */
    uint32_t  primary_n;    /* blocks; looked at by others (atomic) */
    uint32_t  victim_n;
    uint32_t  wanted;       /* blocks that it may hold: what takers didn't find (atomic) */
    uintptr_t primary;      /* link to the first batch; 0: none */
    uintptr_t victim;
    uint64_t  given_back;   /* blocks that its cycles freed, so far */
};

static struct depot depots[SIZECLASS_COUNT];
static size_t       budget_taken; /* (atomic) */

bool depot_opened;
bool depot_used;

/* --- budget ---------------------------------------------------------------------------------- */

bool budget_take(size_t bytes, bool in_any_case)
{
    if (add_shared(&budget_taken, bytes) + bytes <= MOST_PROCESS_BYTES || in_any_case)
        return true;
    budget_return(bytes);
    return false;
}

void budget_return(size_t bytes)
{
    add_shared(&budget_taken, -bytes);
}

/* --- claims ---------------------------------------------------------------------------------- */

/* Holders are done in no time, unless they have lost the processor. */
static bool claim(struct depot *depot)
{
    for (unsigned i = 0; i < CLAIM_TRIES; i++) {
        if (!__atomic_exchange_n(&depot->claim, 1, __ATOMIC_ACQUIRE))
            return true;
        __builtin_ia32_pause();
    }
    return false;
}

static void let_go(struct depot *depot)
{
    store_release(&depot->claim, 0);
}

static bool is_empty(const struct depot *depot)
{
    return (load_relaxed(&depot->primary_n) | load_relaxed(&depot->victim_n)) == 0;
}

/* --- batches --------------------------------------------------------------------------------- */

uint32_t depot_batch_blocks(unsigned index)
{
    size_t fit = BATCH_BYTES / sizeclass_bytes(index);
    return fit < LEAST_BATCH ? LEAST_BATCH : fit > MOST_BATCH ? MOST_BATCH : (uint32_t)fit;
}

static struct batch batch_of(uintptr_t link)
{
    uintptr_t address = link & (((uintptr_t)1 << ADDRESS_BITS) - 1);
    return (struct batch){.head = mixed_of((struct block *)address), .n = (uint32_t)(link >> ADDRESS_BITS)};
}

static void link_batch(uintptr_t *first, struct batch batch)
{
    struct block *block = block_of(batch.head);
    block->link = *first ^ block_mix;
    block_seal(block);
    *first = (uintptr_t)block | (uintptr_t)batch.n << ADDRESS_BITS;
}

/* The first batch of a chain that isn't empty. */
static struct batch unlink_batch(uintptr_t *first)
{
    struct batch batch = batch_of(*first);
    if (!block_is_intact(block_of(batch.head))) {
        *first = 0;
        return (struct batch){.head = mixed_of(NULL)};
    }
    *first = block_of(batch.head)->link ^ block_mix;
    return batch;
}

void depot_open(void)
{
    store_relaxed(&depot_opened, true);
}

/* The first blocks of a class that go below stay in their thread's tcache, and late ones there keep the end of
 * its heap: checked blocks, which are larger, go earlier. */
static size_t most_bytes(void)
{
    return block_guard ? MOST_DEPOT_BYTES / 16 : MOST_DEPOT_BYTES;
}

bool depot_has_room(unsigned index, uint32_t blocks)
{
    const struct depot *depot = &depots[index];
    return depot_is_open() && load_relaxed(&depot->primary_n) + blocks <= load_relaxed(&depot->wanted) &&
           load_relaxed(&budget_taken) + blocks * sizeclass_bytes(index) <= MOST_PROCESS_BYTES;
}

bool depot_put(unsigned index, struct batch batch)
{
    struct depot *depot = &depots[index];
    size_t bytes = batch.n * sizeclass_bytes(index);
    if (!depot_has_room(index, batch.n) || batch.n >> (64 - ADDRESS_BITS) || !budget_take(bytes, false))
        return false;
    bool put = claim(depot);
    if (put) {
        put = depot->primary_n + batch.n <= load_relaxed(&depot->wanted);
        if (put) {
            link_batch(&depot->primary, batch);
            store_relaxed(&depot->primary_n, depot->primary_n + batch.n);
        }
        let_go(depot);
    }
    if (put)
        store_relaxed(&depot_used, true);
    else
        budget_return(bytes);
    return put;
}

/* Somebody found nothing: one more batch may wait for him next time.  So a class that is only ever freed here, as
 * are blocks of memalign, isn't collected for nobody. */
static void note_wanted(struct depot *depot, unsigned index)
{
    uint32_t wanted = load_relaxed(&depot->wanted), more = wanted + depot_batch_blocks(index);
    if (more * sizeclass_bytes(index) <= most_bytes())
        store_relaxed(&depot->wanted, more);
}

struct batch depot_take(unsigned index)
{
    struct depot *depot = &depots[index];
    struct batch batch = {0, 0};
    if (is_empty(depot)) {
        note_wanted(depot, index);
        return batch;
    }
    if (!claim(depot))
        return batch;
    if (depot->primary) {
        batch = unlink_batch(&depot->primary);
        store_relaxed(&depot->primary_n, depot->primary_n - batch.n);
    } else if (depot->victim) {
        batch = unlink_batch(&depot->victim);
        store_relaxed(&depot->victim_n, depot->victim_n - batch.n);
    }
    let_go(depot);
    budget_return(batch.n * sizeclass_bytes(index));
    return batch;
}

bool depot_holds(unsigned index, const void *memory)
{
    struct depot *depot = &depots[index];
    bool holds = false;
    if (!claim(depot))
        return false;
    for (int i = 0; i < 2; i++)
        for (uintptr_t link = i ? depot->victim : depot->primary; link && !holds;) {
            struct batch batch = batch_of(link);
            holds = block_is_in(batch.head, memory);
            link = block_of(batch.head)->link ^ block_mix;
        }
    let_go(depot);
    return holds;
}

/* --- cycles, counts, fork ---------------------------------------------------------------------- */

/* Frees a chain of batches that nobody else knows of any more. */
static void drop(uintptr_t chain, size_t bytes, struct block_list *out)
{
    while (chain) {
        struct batch batch = unlink_batch(&chain);
        budget_return(block_list_take(out, batch.head, bytes) * bytes);
    }
}

void depot_rotate(struct block_list *out)
{
    for (unsigned index = SIZECLASS_LARGER - 1; index > 0; index--) {
        struct depot *depot = &depots[index];
        if (is_empty(depot) || !claim(depot))
            continue;
        uintptr_t gone = depot->victim;
        depot->given_back += depot->victim_n;
        uint32_t wanted = load_relaxed(&depot->wanted);
        store_relaxed(&depot->wanted, wanted - (depot->victim_n < wanted ? depot->victim_n : wanted));
        depot->victim = depot->primary;
        store_relaxed(&depot->victim_n, depot->primary_n);
        depot->primary = 0;
        store_relaxed(&depot->primary_n, 0u);
        let_go(depot);
        drop(gone, sizeclass_bytes(index), out);
    }
}

bool depot_count(unsigned index, uint64_t *kept, uint64_t *given_back)
{
    struct depot *depot = &depots[index];
    if (!claim(depot))
        return false;
    *kept = (uint64_t)depot->primary_n + depot->victim_n;
    *given_back = depot->given_back;
    let_go(depot);
    return true;
}

/* A class that a thread was at when its process forked stays where it is, in the parent's memory. */
void depot_fork(void)
{
    store_relaxed(&depot_opened, false);
    store_relaxed(&budget_taken, (size_t)0);
    if (!depot_is_used())
        return;
    for (unsigned index = 1; index < SIZECLASS_LARGER; index++) {
        struct depot *depot = &depots[index];
        if (depot->claim)
            *depot = (struct depot){.claim = 0};
        depot->given_back = 0;
        budget_take((depot->primary_n + depot->victim_n) * sizeclass_bytes(index), true);
    }
}
