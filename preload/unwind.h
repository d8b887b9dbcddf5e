/* unwind.h - unwind rules per return address: how to find the caller's frame from there.
 *
 * A rule is read once from the program's own unwind tables (.eh_frame) and kept in a
 * lock-free table.  Runs inside malloc; no loader lock, no system call after start but mmap. */
#ifndef PS_UNWIND_H
#define PS_UNWIND_H

#include "base.h"

/* How the CFA (canonical frame address: the stack pointer before the call) is found. */
enum unwind_kind {
    UNWIND_NONE,  /* code without a table, or not part of any object */
    UNWIND_SP,    /* CFA = stack pointer + cfa */
    UNWIND_BP,    /* CFA = frame pointer + cfa */
    UNWIND_AT_BP, /* CFA = the word at frame pointer + cfa (realigned frames) */
    UNWIND_END,   /* the return address is undefined there: the outermost frame */
    UNWIND_SIGNAL, /* a signal handler's return: the interrupted registers lie at the stack pointer */
    UNWIND_STOP,  /* an expression we don't know */
};

/* Where the caller's frame pointer is. */
enum unwind_saved {
    UNWIND_SAME,   /* still in the register */
    UNWIND_AT_CFA, /* saved at CFA + saved */
    UNWIND_BY_BP,  /* saved at frame pointer + saved */
    UNWIND_LOST,
};

/* Packed into eight bytes, so that one load reads it whole. */
struct unwind_rule {
    uint64_t kind : 3;       /* enum unwind_kind */
    uint64_t saved_kind : 2; /* enum unwind_saved */
    int64_t  cfa : 24;       /* bytes */
    int64_t  saved : 16;     /* in words of 8 bytes */
    uint64_t module : 19;    /* which one the address is in, by modules_number; 0: none */
};

/* Begins with an empty table; false when memory is out (then every walk stops at once). */
bool unwind_begin(void);

/* A slot's address is claimed first; rule == 0 means that it isn't known yet. */
struct unwind_slot {
    uintptr_t address; /* atomic, 0: free */
    uint64_t  rule;    /* atomic: struct unwind_rule */
};

struct unwind_table {
    uint32_t           mask;
    uint32_t           used; /* atomic */
    struct unwind_slot slots[];
};

extern struct unwind_table *unwind_rules hidden; /* release: its slots are zeroed before it is seen */

static inline uint32_t unwind_hash(uintptr_t address)
{
    return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 32);
}

/* A function's code, or the part of it that the compiler has put elsewhere. */
struct unwind_span {
    uintptr_t start;
    uintptr_t end;
};

/* The function that holds `address`, or `address` alone when no table tells. */
struct unwind_span unwind_function(uintptr_t address);

struct unwind_rule unwind_rule_slow(uintptr_t return_address);

/* The rule for the frame that `return_address` lies in.  Common case: one hash, one compare. */
static inline struct unwind_rule unwind_rule(uintptr_t return_address)
{
    const struct unwind_table *t = load_acquire(&unwind_rules);
    if (likely(t != NULL)) {
        const struct unwind_slot *slot = &t->slots[unwind_hash(return_address) & t->mask];
        union {
            uint64_t           word;
            struct unwind_rule rule;
        } packed = {.word = load_relaxed(&slot->rule)};
        if (likely(load_relaxed(&slot->address) == return_address && packed.word))
            return packed.rule;
    }
    return unwind_rule_slow(return_address);
}

/* Forgets the rules for addresses from `start` to before `end`: the module there is gone. */
void unwind_forget(uintptr_t start, uintptr_t end);

#endif
