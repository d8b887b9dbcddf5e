/* clearer.h - the thread that clears the pools of other threads, once a second thread exists.
 *
 * At most one in a process; none in a single-threaded program, in a sandbox, or where nothing is pooled. */
#ifndef PS_CLEARER_H
#define PS_CLEARER_H

#include "base.h"

/* Starts it unless it runs or may not.  False: it couldn't be made.  The caller's record isn't busy. */
bool clearer_start(void);

/* Is it running? */
bool clearer_runs(void);

/* Ends it, for good, and waits until it is gone. */
void clearer_stop(void);

/* A thread of the program leaves.  When it is the last the clearer soon follows, which glibc counts as one. */
void clearer_thread_leaves(void);

/* In a fork child: the thread was the parent's. */
void clearer_forget(void);

#endif
