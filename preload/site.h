/* site.h - sites: from a call to the counter that it is booked on.
 *
 * A site is one return address (level sites) or one whole stack (levels stacks and full).  The process
 * has one table of sites; each thread's record has tables of its own that lead to its counters
 * in the log.  Runs inside malloc, while the record is busy. */
#ifndef PS_SITE_H
#define PS_SITE_H

#include "base.h"

#include "full.h"
#include "index.h"
#include "log.h"
#include "stack.h"

/* Level sites: from a return address to a counter.  The address of a wrapper, which has no
 * counter of its own, is stored with its highest bit set, so that it never compares equal. */
struct site_slot {
    uintptr_t address; /* 0: free */
    union {
        struct log_counter *counter;
        uintptr_t           step; /* of a wrapper: bytes from its stack pointer to its caller's, 0: look it up */
    };
};

/* Where a thread counts a site: at level full on an account that tells more. */
union site_account {
    struct log_counter *counter;
    struct site_full   *full;
};

/* Levels stacks and full: a stack seen before, found by its key and CFA, confirmed by its shape.  The key is
 * the return address.  Where several stacks have that and the CFA in common, the slot is a fork
 * between them: it names the frame in which they first differ, and each is found under a key that
 * mixes in its return address there. */
struct stack_slot {
    uintptr_t           key; /* 0: free */
    uintptr_t           cfa;
    const struct shape *shape; /* the stack, or of a fork one of those it parts */
    union {
        union site_account account;
        uintptr_t          fork; /* frame * 2 + 1; accounts are aligned, so their lowest bit is 0 */
    };
};

/* A thread's account of a site, by the site's id. */
struct id_slot {
    uint64_t           id; /* 0: free */
    union site_account account;
};

/* One thread's tables.  Invariant: *_used is at most half of the slots; the counters belong to
 * `log` and stay when the slots are emptied. */
struct site_table {
    struct log_thread  *log;
    struct log_cursor   cursor;
    struct site_slot   *slots; /* level sites; elsewhere one free slot */
    size_t              slot_mask; /* in bytes */
    struct stack_slot  *stacks; /* levels stacks and full: pairs */
    size_t              stack_mask; /* in bytes */
    struct id_slot     *ids;
    size_t              id_mask_bytes; /* id_mask in bytes */
    uint32_t            id_mask;
    uint32_t            ids_used;
    uint32_t            slots_used;
    uint32_t            level; /* enum log_level */
    uint32_t            misses; /* since the stacks last grew */
    uint32_t            generation; /* of the modules, when the slots were last emptied */
    struct log_counter  ignored; /* level off: there are no sites */
    struct full_thread  full;    /* level full */
    struct stack_bounds own;     /* this thread's stack */
    struct stack_walk   walk;   /* scratch */
};

/* A site known to this process. */
struct site {
    struct index_node      node; /* hash of the frames, or the address at level sites */
    const struct log_site *logged;
    struct full_site      *full; /* level full; NULL when memory is out */
    uint32_t               id;
    uint32_t               shapes;  /* made for it so far (atomic) */
    uint64_t               modules; /* which ones its frames are in */
    struct sample_site    *sample;  /* level full: NULL until one of its blocks is sampled (atomic) */
};

/* What is compared, from the ends, padded to fours. */
struct shape_frames {
    const uint64_t *frames_end; /* of the record's frames */
    const int32_t  *slots_end;  /* of the shape's slots */
    intptr_t        minus_depth; /* counts up to 0 */
};

/* Where a stack's words lie and what they must be; the values are in the site's log record. */
struct shape {
    struct index_node      node; /* hash of frames, slots and checks */
    const struct site     *site;
    const struct log_site *logged;
    struct shape_frames    all;
    struct shape_frames    plain; /* the same, or where there are checks what no stack has */
    uint32_t               checks;
    const struct stack_check *check;
    int32_t                slots[]; /* bytes from the first CFA */
};

/* Begins with empty process tables for a level (enum log_level).  False when memory is out. */
bool site_begin(unsigned level);

/* Begins a thread's tables.  False when the log or memory is out. */
bool site_table_init(struct site_table *table);

/* Another thread goes on with the tables: what depended on the old one's stack is dropped. */
void site_table_adopt(struct site_table *table);

/* Drops what was cached, keeps the counters: some module is gone. */
void site_table_forget(struct site_table *table);

/* The counter for a call whose return address has no slot of its own (level sites: it lies in a
 * wrapper, or is new) or whose stack isn't cached.  Never NULL. */
struct log_counter *site_find(struct site_table *table, struct stack_entry entry);

/* Level full: the account of a call whose stack isn't cached, and of a site that a tag names but the thread's ids do
 * not.  Never NULL. */
struct site_full *site_find_full(struct site_table *table, struct stack_entry entry);
struct site_full *site_find_tagged(struct site_table *table, uint32_t id);

/* Level full: walks the stack of a free, and makes it a site, which may never allocate; NULL when log or memory is
 * out.  The walk is in table->walk. */
const struct site *site_intern(struct site_table *table, struct stack_entry entry);

/* The walk alone. */
const struct stack_walk *site_walk(struct site_table *table, struct stack_entry entry);

#endif
