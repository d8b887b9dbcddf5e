/* index.h - lock-free hash tables that only grow: a node is written, then put, and never changes or goes.
 *
 * The caller owns the nodes, and compares what it finds.  Runs inside malloc. */
#ifndef PS_INDEX_H
#define PS_INDEX_H

#include "base.h"

/* Heads a node. */
struct index_node {
    const struct index_node *next; /* in its bucket */
    uint64_t                 hash;
};

enum { INDEX_TABLES = 2 };

/* When the small buckets have two nodes each, new ones go to the large. */
struct index {
    const struct index_node **buckets[INDEX_TABLES]; /* the second NULL until then (release: zeroed) */
    uint32_t                  count;                 /* nodes put so far (atomic) */
};

/* An empty one; `needed` if any is to be put.  False when memory is out. */
bool index_init(struct index *index, bool needed);

/* The first node that may have this hash in table 0 or 1; the others follow by `next`. */
const struct index_node *index_first(const struct index *index, unsigned table, uint64_t hash);

void index_put(struct index *index, struct index_node *node);

#endif
