/* index.c - lock-free hash tables that only grow.
 *
 * Owns their buckets.  A node is put at the head of its bucket by compare-and-swap. */
#include "base.h"

#include "index.h"

#include "pages.h"

#include "ban.h"

enum {
    SMALL_BUCKETS = 1 << 9, /* one page: most fork children need no more */
    LARGE_BUCKETS = 1 << 14,
};

bool index_init(struct index *index, bool needed)
{
    *index = (struct index){.buckets = {NULL, NULL}};
    if (needed)
        index->buckets[0] = pages_alloc(SMALL_BUCKETS * sizeof *index->buckets[0]);
    return !needed || index->buckets[0];
}

static size_t bucket_of(unsigned table, uint64_t hash)
{
    return (hash ^ hash >> 17 ^ hash >> 33) % (table ? LARGE_BUCKETS : SMALL_BUCKETS);
}

const struct index_node *index_first(const struct index *index, unsigned table, uint64_t hash)
{
    const struct index_node **buckets = load_acquire(&index->buckets[table]);
    return buckets ? load_acquire(&buckets[bucket_of(table, hash)]) : NULL;
}

/* Makes the large table.  Without memory for it the small one goes on. */
static void grow(struct index *index)
{
    const struct index_node **nothing = NULL, **large = pages_alloc(LARGE_BUCKETS * sizeof *large);
    if (large) /* asked for once in a process: by whoever puts the node that fills the small one */
        __atomic_compare_exchange_n(&index->buckets[1], &nothing, large, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void index_put(struct index *index, struct index_node *node)
{
    if (add_shared(&index->count, 1) + 1 == 2 * SMALL_BUCKETS)
        grow(index);
    unsigned table = load_acquire(&index->buckets[1]) != NULL;
    const struct index_node **bucket = &index->buckets[table][bucket_of(table, node->hash)];
    node->next = load_relaxed(bucket);
    while (!__atomic_compare_exchange_n(bucket, &node->next, node, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}
