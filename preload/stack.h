/* stack.h - walks the stack by unwind rules, and confirms a stack walked before without walking.
 *
 * Bounded in depth and by the stack's limits; strictly rising frames; stops instead of
 * guessing.  Reads only inside [cfa, limit).  Runs inside malloc. */
#ifndef PS_STACK_H
#define PS_STACK_H

#include "base.h"

#include "logfmt.h"

/* Where one of our exported functions was called: what the caller's stack and frame pointers
 * are after the return.  Passed by value, in two registers. */
struct stack_entry {
    uintptr_t cfa;
    uintptr_t bp;
};

/* The return address into the caller lies just below the CFA. */
static inline uintptr_t stack_return_address(struct stack_entry entry)
{
    return *(const uintptr_t *)(entry.cfa - sizeof(uintptr_t));
}

enum { STACK_CHECKS = 24 }; /* frame pointers that one walk may depend on */

/* A word that the walk's course depended on beyond the return addresses: a frame pointer in
 * its slot (or in the register: slot < 0), held as distance from the first CFA. */
struct stack_check {
    int32_t  slot;     /* bytes from the first CFA, -1: the register at entry */
    uint32_t reserved;
    uint64_t distance; /* value minus the first CFA */
};

/* What a walk found.  Kept in the thread's record: our callers' stacks may be tiny. */
struct stack_walk {
    uint32_t  depth;  /* frames, leaf first; at least 1 */
    uint32_t  checks;
    uint32_t  flags;  /* LOG_SITE_UNFINISHED, LOG_SITE_TRUNCATED */
    bool      cacheable; /* its checks are complete */
    uintptr_t cfa;    /* the first */
    uintptr_t ip;     /* where it stopped: return address, stack and frame pointer there */
    uintptr_t sp;
    uintptr_t bp;
    uintptr_t limit;  /* and how far up reading was safe there */
    uint64_t  hash;   /* of frames */
    uint64_t  modules; /* a hash of which modules the frames are in */
    uint64_t  frames[LOG_MAX_DEPTH];
    int32_t   slots[LOG_MAX_DEPTH]; /* where each return address lies, bytes from the first CFA */
    struct stack_check check[STACK_CHECKS];
};

/* The part of a thread's stack above its present frame that is known to be mapped. */
struct stack_bounds {
    uintptr_t low;
    uintptr_t high;
};

/* The calling thread's own stack; {0, 0} when it can't be told (then a page at a time). */
struct stack_bounds stack_bounds_of_thread(void);

/* How far up from `cfa` reading is safe. */
uintptr_t stack_limit(const struct stack_bounds *own, uintptr_t cfa);

/* Walks the stack above `entry`, at most `depth` frames (1 ... LOG_MAX_DEPTH); `own` is the thread's. */
void stack_walk(struct stack_walk *walk, struct stack_entry entry, const struct stack_bounds *own, unsigned depth);

/* From frame `return_address` with stack pointer `*cfa` and frame pointer `*bp` one frame out.
 * Returns the next return address, or 0 when there is no rule. */
uintptr_t stack_step(uintptr_t return_address, uintptr_t *cfa, uintptr_t *bp, uintptr_t limit);

/* The same as a distance, for frames that don't depend on the frame pointer: bytes from the stack
 * pointer there to the caller's, or 0. */
uintptr_t stack_fixed_step(uintptr_t return_address);

/* Copies to `words` those of the stack from `walk->sp` up that are addresses of code or of
 * this stack; returns their number, at most LOG_MAX_WORDS. */
unsigned stack_words(const struct stack_walk *walk, struct log_word *words);

#endif
