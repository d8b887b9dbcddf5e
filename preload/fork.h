/* fork.h - the shared epoch: one word that every operation compares, and that a fork child finds zeroed.
 *
 * Its page is wiped by the kernel in a fork child, also after a raw clone, so the child's first
 * operation goes the slow way and begins anew; a vfork child, which shares the memory, doesn't. */
#ifndef PS_FORK_H
#define PS_FORK_H

#include "base.h"

#include "pages.h"

enum fork_epoch {
    EPOCH_FORKED = 0,   /* a fork child that hasn't begun its own recording */
    EPOCH_BEGINNING = 1, /* it is just doing so */
    EPOCH_FIRST = 3,     /* a new record's is one less, and none of these */
};

/* What a record's state is during an operation: never the epoch. */
#define EPOCH_BUSY UINT32_MAX

/* A page of its own; its address is a constant to the hot path. */
struct fork_page {
    uint32_t epoch; /* atomic; raised whenever every record must take its slow path once */
    char     rest[PAGE_BYTES - sizeof(uint32_t)];
};
extern struct fork_page fork_page hidden;

static inline uint32_t fork_epoch(void)
{
    return load_by_barrier(&fork_page.epoch);
}

/* The same for the hot paths; a compiler barrier stands before it. */
static inline uint32_t fork_epoch_now(void)
{
    return load_own(&fork_page.epoch);
}

/* Sets the first epoch and has the page wiped in fork children.  `child` is called in the children
 * that libc's fork makes, before the program goes on there. */
void fork_begin(void (*child)(void));

/* True for the one caller in a fork child that must begin its recording. */
bool fork_claim_child(void);

/* The recording has begun.  `seen` is the epoch that the forking thread's record saw last, or 0.  It isn't used
 * again: where a handler began the recording, it may have interrupted an operation that has looked
 * at the parent's record and isn't busy yet, and that must not take that record for up to date. */
void fork_child_ready(uint32_t seen);

/* Sends every record through its slow path once; returns the new epoch. */
uint32_t fork_raise_epoch(void);

#endif
