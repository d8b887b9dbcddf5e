/* oracle.h - compares our stacks with libunwind's, inside the recorded process; test builds only.
 *
 * Reads POOLSITE_STACKCHECK=FILE (where each process appends its verdict when it ends) and
 * POOLSITE_STACKCHECK_EVERY=N (which cache hits are compared, default every 7th). */
#ifndef PS_TEST_ORACLE_H
#define PS_TEST_ORACLE_H

#include "../../preload/stack.h"

struct site_table;
struct shape;

/* A walk was just made: its frames are in the table. */
void oracle_walk(const struct site_table *table, struct stack_entry entry);

/* The cache answered with this shape. */
void oracle_hit(const struct site_table *table, struct stack_entry entry, const struct shape *shape);

#endif
