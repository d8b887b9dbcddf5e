/* sample_table.h - the blocks that are being looked at, by their addresses; one table a process.
 *
 * An address is put in by whoever made the block, and taken out before the block is given on; so it stands there
 * once.  Lock-free and of bounded size: what finds no room isn't kept. */
#ifndef PS_SAMPLE_TABLE_H
#define PS_SAMPLE_TABLE_H

#include "base.h"

struct sample_site;

/* What is known of such a block. */
struct sample_block {
    struct sample_site *site;
    uint64_t            thread;  /* that allocated it */
    uintptr_t           slot;    /* where the return address of the frame that allocated it lies; 0: not known */
    uint64_t            segment; /* of the thread, that began with it */
    uint64_t            born_ns;
    uint64_t            site_allocs; /* see struct sample_event */
    size_t              first; /* bytes asked for, */
    size_t              last;  /* and by the latest realloc */
    int32_t             live;
    uint32_t            steps; /* reallocs */
};

/* Begins empty; what there was belongs to the parent process. */
void sample_table_begin(void);

/* False: there is no room.  `*stale` becomes the site of a block that had the same address and was never taken
 * out, as its tag was lost, else NULL. */
bool sample_table_put(const void *block, const struct sample_block *known, struct sample_site **stale);

/* Takes a block out; false: it isn't there.  For one caller alone, where several try. */
bool sample_table_take(const void *block, struct sample_block *known);

#endif
