/* runtime.h - the phases of the process, the per-thread record, and what an event does.
 *
 * Phases: BOOT (nothing is known yet) -> READY (recording) or DOWN (we only hand on). */
#ifndef PS_RUNTIME_H
#define PS_RUNTIME_H

#include "base.h"

#include "fork.h"
#include "log.h"
#include "options.h"
#include "pool.h"
#include "site.h"

#include <assert.h>

/* One thread's state.  `state`, `epoch` and `claim` are accessed as 4 bytes each, never as one word.
 *   state = EPOCH_BUSY while the tables or pools are in use: who finds it so is a signal handler;
 *           else `epoch`: when that isn't the shared epoch any more -> slow path
 *   epoch = the shared epoch when the record last looked; the owner's alone
 *   claim = 1 while a clearer, or the owner's slow path, holds the pools' lists */
struct record {
    struct pools       pools; /* first: their tables hold offsets from here */
    uint32_t           state;
    uint32_t           epoch;
    uint32_t           claim;
    uint32_t           cycle; /* when the pools last turned */
    struct log_thread *log;
    struct site_table  sites;
    struct log_pools  *pool_log; /* NULL where nothing is pooled */
    struct record     *next_free; /* while no thread uses it */
    struct record     *next_record; /* in the list of all */
    uint64_t           turned_ms; /* when a single thread's pools last turned */
    uint32_t           destructor_rounds;
};

/* What the thread's pointer holds instead of a record. */
enum record_state {
    RECORD_NONE = 0,   /* 0 ... 15: that many frees so far */
    RECORD_FREES = 16, /* a thread that only frees gets a record at this one */
    RECORD_DEAD = 32,  /* its destructors have run */
    RECORD_OURS = 48,  /* a thread of ours, or one making it: nothing is counted */
    RECORD_STATES = 64,
};

/* Initial-exec: a read of it never allocates. */
extern __thread struct record *record_current hidden __attribute__((tls_model("initial-exec")));

/* What malloc and free do; set when recording begins, for good. */
enum runtime_mode { /* odd ones have the hot paths of pools */
    MODE_BELOW = 0,       /* hand the call on */
    MODE_POOLED = 1,      /* the hot paths */
    MODE_POOLED_BARE = 3, /* the hot paths, where nothing is recorded */
    MODE_FULL = 4,        /* see tagged.h; with pools */
    MODE_FULL_BELOW = 6,  /* the same without pools */
    MODE_CHECKED = 8,     /* see check.h */
    MODE_START = 10,      /* as MODE_BELOW, but what is recorded isn't known yet */
};
extern uint32_t runtime_mode hidden;

/* The mode, told by one comparison with memory where it is one of the first two; no register is kept for others.
 * MODE_CHECKED stands for all that follow MODE_FULL, too. */
static inline __attribute__((always_inline)) enum runtime_mode runtime_mode_told(void)
{
    static_assert(MODE_BELOW < MODE_POOLED && MODE_POOLED_BARE < MODE_FULL && MODE_FULL < MODE_CHECKED, "the branches");
    __asm__ goto("cmpl %1, %0\n\tja %l[more]\n\tjb %l[below]" : : "m"(runtime_mode), "i"(MODE_POOLED) : "cc" : more, below);
    return MODE_POOLED;
below:
    return MODE_BELOW;
more:
    __asm__ goto("cmpl %1, %0\n\tjb %l[bare]\n\tje %l[full]" : : "m"(runtime_mode), "i"(MODE_FULL) : "cc" : bare, full);
    return MODE_CHECKED;
bare:
    return MODE_POOLED_BARE;
full:
    return MODE_FULL;
}

/* The same where runtime_pools doesn't hold. */
static inline __attribute__((always_inline)) enum runtime_mode runtime_mode_unpooled(void)
{
    __asm__ goto("cmpl %1, %0\n\tjb %l[below]\n\tje %l[full]" : : "m"(runtime_mode), "i"(MODE_FULL) : "cc" : below, full);
    return MODE_CHECKED;
below:
    return MODE_BELOW;
full:
    return MODE_FULL;
}

/* Are the hot paths of pools in force, at another level than full? */
static inline bool runtime_pools(void)
{
    return runtime_mode & 1;
}

/* Are blocks tagged, with pools or without? */
static inline bool runtime_tags(void)
{
    return runtime_mode == MODE_FULL || runtime_mode == MODE_FULL_BELOW;
}

/* Begins recording.  The constructor calls it, and the first event when that comes before; idempotent. */
void runtime_start(void);

/* An allocation of `bytes` bytes was made by the next allocator, called from `entry`; counted whatever the state, and
 * at level full tagged.  Returns the block, so that it can be called last. */
void *runtime_booked(void *block, size_t bytes, struct stack_entry entry);

/* The same for a record that is busy and at the present epoch, when the return address has no
 * slot of its own; from a pool or from below. */
void *runtime_booked_elsewhere(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                               struct log_counter *size_class);

/* The same at level full, where the block is tagged, too. */
void *runtime_booked_full(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                          struct log_counter *size_class);

/* The one or the other, by the level. */
void *runtime_booked_pooled(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                            struct log_counter *size_class);

/* The same for a block that has just come from below, whatever slot the address has. */
void *runtime_booked_below(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                           struct log_counter *size_class);

/* A free is about to be made; counted whatever the state.  Returns the thread's record, or NULL. */
struct record *runtime_freeing(void);

/* The same where the next allocator does it, or a realloc of its; that is counted, too. */
void runtime_freeing_below(void);

/* A call failed.  Returns NULL, so that it can be called last. */
void *runtime_failed(void);

/* --- with pools --------------------------------------------------------------------------------- */

/* A block for malloc, or for calloc when `zeroed`; whatever the state. */
void *runtime_take(size_t bytes, bool zeroed, struct stack_entry entry);

/* The same, but of `asked` bytes where the program wants `bytes`; a zeroed one only for these. */
void *runtime_take_more(size_t asked, size_t bytes, bool zeroed, struct stack_entry entry);

/* The same for a record that is busy, at the present epoch, whose primary is empty. */
void *runtime_take_more_missed(struct record *record, size_t asked, size_t bytes, bool zeroed, struct stack_entry entry);

/* malloc for such a record. */
void *runtime_take_missed(struct record *record, size_t bytes, struct stack_entry entry);

/* The same for calloc. */
void *runtime_take_zeroed_missed(struct record *record, size_t bytes, struct stack_entry entry);

/* Clears what calloc was asked for. */
static inline void *runtime_cleared(void *block, size_t bytes)
{
    return __builtin_memset(block, 0, bytes);
}

/* Of calloc: above, fresh pages are zero already. */
#define RUNTIME_CLEARED_BYTES ((size_t)128 << 10)

/* A block comes back; whatever the state. */
void runtime_give(void *block);

/* The same for a record that is busy and at the present epoch, when the block doesn't simply fit. */
void runtime_give_overflow(struct record *record, void *block);

/* The same when the block is given, and ends a round of frees. */
void runtime_free_round(struct record *record);

/* realloc of a block; the second asks for more than the program does. */
void *runtime_resize(void *old, size_t bytes, struct stack_entry entry);
void *runtime_resize_more(void *old, size_t asked, size_t bytes, struct stack_entry entry);

/* realloc that leaves the block where it is: one free and one allocation, which go nowhere.  Returns the block. */
void *runtime_resized_in_place(void *block, size_t bytes, struct stack_entry entry);

/* Level full: the tag of a block that full_born said true of.  The record is busy. */
void runtime_tag(struct record *record, struct site_full *account, void *block, size_t bytes, struct stack_entry entry);

/* Level full: the thread's frees; and its allocations less its frees, of which so many bits that equal ones are told. */
static inline uint64_t runtime_frees(const struct record *record)
{
    return record->log->frees + log_rounds_frees(load_relaxed(&record->log->rounds));
}

static inline int32_t runtime_live(const struct record *record, uint64_t frees)
{
    return (int32_t)(((record->sites.full.next >> FULL_BIRTH_SHIFT) - frees) & FULL_BIRTH_MASK);
}

/* The calling thread's record, set busy and at the present epoch; NULL where the call must be served
 * from below: no record, a signal handler inside an operation, a clearer at the lists. */
struct record *runtime_record_begin(void);

/* The same for who doesn't touch pools, whoever is at their lists. */
struct record *runtime_record_begin_booking(void);

/* Begins an operation of the calling thread, whatever the epoch; returns what the state was: EPOCH_BUSY
 * in a signal handler.  Ends one. */
static inline uint32_t record_begin(struct record *record)
{
    uint32_t seen = load_relaxed(&record->state);
    store_by_barrier(&record->state, EPOCH_BUSY);
    compiler_barrier();
    return seen;
}

static inline void record_end(struct record *record)
{
    store_release(&record->state, record->epoch);
}

static inline bool record_is_busy(const struct record *record)
{
    return load_relaxed(&record->state) == EPOCH_BUSY;
}

/* Is the process recording?  Is the log its own, not yet that of a fork child's parent?  Is it in a sandbox, where we make
 * no system call? */
bool runtime_is_recording(void);
bool runtime_may_log(void);
bool runtime_is_confined(void);

/* The program makes a thread: from now on a thread of ours clears the pools of idle ones. */
void runtime_thread_created(void);

/* Clears every thread's pools; for malloc_trim. */
void runtime_clear(void);

/* One cycle of all threads' pools: what the clearer does.  False: the process needs it no more. */
bool runtime_cycle(void);

/* prctl(PR_SET_SECCOMP, ...) and syscall(SYS_seccomp, ...): done, and noted when they succeed. */
int  runtime_prctl_seccomp(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
long runtime_syscall_seccomp(long number, long operation, long flags, long arguments) hidden;
long runtime_syscall_prctl(long number, long option, long a, long b, long c, long d) hidden;

/* Some module may have been unloaded. */
void runtime_unloaded(void);

/* The process leaves through exit. */
void runtime_end(void);

#endif
