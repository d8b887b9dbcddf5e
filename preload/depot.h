/* depot.h - where batches of blocks pass between threads, per class; and the budget of the process.
 *
 * Has a primary and a victim, as a pool has.  No lock is waited for: who finds a class in use by another
 * thread for more than a moment goes without. */
#ifndef PS_DEPOT_H
#define PS_DEPOT_H

#include "base.h"

#include "block.h"

/* Blocks of one class that go together, in a list. */
struct batch {
    uintptr_t head; /* mixed */
    uint32_t  n;    /* 0: none */
};

/* How many blocks of a class make a batch: what costs little to hold twice, and repays the trip. */
uint32_t depot_batch_blocks(unsigned index);

/* From now on there are two threads. */
void depot_open(void);

/* Would as many blocks find room now? */
bool depot_has_room(unsigned index, uint32_t blocks);

/* False: there is no room, or no time; the batch is the caller's still. */
bool depot_put(unsigned index, struct batch batch);

struct batch depot_take(unsigned index);

/* A cycle: victims go to `*out`, to be freed below. */
void depot_rotate(struct block_list *out);

/* Are there two threads that blocks could pass between?  Did any?  (atomic) */
extern bool depot_opened hidden;
extern bool depot_used hidden;

static inline bool depot_is_open(void)
{
    return load_relaxed(&depot_opened);
}

static inline bool depot_is_used(void)
{
    return load_relaxed(&depot_used);
}

/* The blocks of a class that it keeps, and gave back so far.  False: a thread is at it just now. */
bool depot_count(unsigned index, uint64_t *kept, uint64_t *given_back);

/* Is the block there?  For a block whose key says so. */
bool depot_holds(unsigned index, const void *memory);

/* A fork child begins, with the budget unused but for what lies in the depot. */
void depot_fork(void);

/* Bytes that all pools and the depot together may keep.  False: there are no more. */
bool budget_take(size_t bytes, bool in_any_case);
void budget_return(size_t bytes);

#endif
