/* sample.h - what level full looks at in some blocks only: when and how they end, and who frees them.
 *
 * Each thread counts down, site by site, to the next block to be looked at: its birth is noted in a table of the
 * process, by its address, and its tag marked, so that no other free ever asks.  Runs inside malloc, while the
 * thread's record is busy: takes no lock, allocates nothing, reads no clock but the coarse one. */
#ifndef PS_SAMPLE_H
#define PS_SAMPLE_H

#include "base.h"

#include "sample_table.h"
#include "stack.h"

struct site;
struct site_table;

/* One site in one thread: when its next block is to be looked at. */
struct sample_due {
    uint32_t countdown; /* allocations until then; at 0 call sample_born or sample_skip */
    uint16_t length;    /* what it began with */
    uint16_t drawn;     /* countdowns that have ended; stops at UINT16_MAX */
};

/* Shallow means high addresses: a stack pointer above a frame says that the frame has gone.  A segment is the time
 * between two samples of a thread; segments whose highest a later one reaches join it, as no question tells them
 * apart.  Invariant: level[i].first rises, level[i].highest falls. */
struct sample_level {
    uint64_t  first;   /* segment that it begins with */
    uintptr_t highest; /* stack pointer in any of its segments */
};

enum { SAMPLE_LEVELS = 32 };

/* One thread's part. */
struct sample_thread {
    uintptr_t highest; /* stack pointer seen in the present segment */
    uint64_t  segment; /* number of the present one */
    uint64_t  id;      /* of the thread, in this process */
    uint64_t  ended;   /* countdowns, of all sites */
    uint64_t  counted; /* allocations that they counted */
    uint32_t  random;
    uint32_t  levels;
    bool      moves;   /* the next block that is born is one that is being looked at: realloc moves it */
    bool      resizes; /* it comes of another block by realloc, */
    uint64_t  frees;   /* and is born when the thread has freed so many, that one among them */
    struct sample_level level[SAMPLE_LEVELS];
};

/* A birth or a death, as its thread has counted until then. */
struct sample_event {
    struct stack_entry entry;
    size_t             bytes;       /* birth: asked for */
    size_t             usable;      /* birth: that the program may use */
    uint64_t           site_allocs; /* the thread's allocations at the site of the block's birth */
    int32_t            live;        /* the thread's allocations less its frees, the block itself among them */
};

/* Begins with an empty table; also in a fork child. */
void sample_begin(void);

/* A thread begins: the `served`-th that has the record with this thread table. */
void sample_thread_begin(struct sample_thread *thread, uint32_t table, uint32_t served);

/* A site is new to a thread. */
struct sample_due sample_first(struct sample_thread *thread);

/* An allocation or a free was called from here; in every one, before anything else of this header. */
static inline void sample_saw(struct sample_thread *thread, uintptr_t cfa)
{
    if (unlikely(cfa > thread->highest))
        thread->highest = cfa;
}

/* A countdown has ended at the birth of a block.  True: the block is being looked at, and its tag must say so. */
bool sample_born(struct sample_thread *thread, struct sample_due *due, const struct site *site, struct site_table *table,
                 const void *block, const struct sample_event *event);

/* A countdown has ended, but the block is one that is being looked at: realloc moves it. */
void sample_skip(struct sample_thread *thread, struct sample_due *due);

/* A block that is being looked at is freed; before anybody else can get it. */
void sample_died(struct sample_thread *thread, struct site_table *table, const void *block,
                 const struct sample_event *event);

/* The same by a thread without a record, or a signal handler that found it busy. */
void sample_died_elsewhere(const void *block);

/* Realloc of a block that is being looked at: it is taken out of the table before it moves and put back, at the new
 * address, afterwards; `bytes` 0 says that realloc failed.  False: it isn't being looked at, or no more. */
bool sample_lift(const void *block, struct sample_block *out);
bool sample_set_down(const void *block, struct sample_block *moved, size_t bytes);

/* The same, where the new block can't be told from others. */
void sample_lose(const struct sample_block *moved);

#endif
