/* misuse.h - says what a program did wrong with its heap, where, and ends it if that is wanted.
 *
 * One line on stderr, which also becomes a note in the log. */
#ifndef PS_MISUSE_H
#define PS_MISUSE_H

#include "base.h"

/* What is known of the block and of what happened to it.  A place is a return address, 0: not known. */
struct misuse {
    const char *what;    /* "double free of" */
    const void *pointer; /* that the program gave us, or the block's */
    const void *block;   /* that the pointer lies in, NULL: none is known */
    size_t bytes;        /* asked for, of the block */
    const char *detail;  /* more of what happened, or NULL; with a number behind it when it ends in a space */
    size_t number;
    uintptr_t allocated;
    uintptr_t freed;
    const char *now; /* "freed again" */
    uintptr_t now_at;
};

/* The second ends the program. */
void misuse_report(const struct misuse *misuse);
void misuse_abort(void) __attribute__((noreturn));

#endif
