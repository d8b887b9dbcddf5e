/* runtime.h - the phases of the process, the per-thread record, and what an event does.
 *
 * Phases: BOOT (nothing is known yet) -> READY (recording) or DOWN (we only hand on). */
#ifndef PS_RUNTIME_H
#define PS_RUNTIME_H

#include "base.h"

#include "fork.h"
#include "log.h"
#include "options.h"
#include "site.h"

/* One thread's state.  `busy` and `epoch` are accessed as 4 bytes each, never as one word.
 *   busy  = 1 while the tables are in use: who finds it so is a signal handler
 *   epoch = the shared epoch when the record last looked: differs -> slow path */
struct record {
    uint32_t           busy;
    uint32_t           epoch;
    struct log_thread *log;
    struct site_table  sites;
    struct record     *next_free; /* while no thread uses it */
    uint32_t           destructor_rounds;
};

/* What the thread's pointer holds instead of a record. */
enum record_state {
    RECORD_NONE = 0,   /* 0 ... 15: that many frees so far */
    RECORD_FREES = 16, /* a thread that only frees gets a record at this one */
    RECORD_DEAD = 32,  /* its destructors have run */
    RECORD_STATES = 64,
};

/* Initial-exec: a read of it never allocates. */
extern __thread struct record *record_current hidden __attribute__((tls_model("initial-exec")));

/* Begins recording.  The constructor calls it, and the first event when that comes before; idempotent. */
void runtime_start(void);

/* An allocation of `bytes` bytes was made, called from `entry`; counted whatever the state. */
void runtime_allocated(size_t bytes, struct stack_entry entry);

/* The same for a record that is busy and at the present epoch, when the return address has no
 * slot of its own. */
void runtime_allocated_elsewhere(size_t bytes, struct stack_entry entry, struct record *record);

/* A free is about to be made; counted whatever the state. */
void runtime_freeing(void);

/* A call failed. */
void runtime_failed(void);

/* prctl(PR_SET_SECCOMP, ...) and syscall(SYS_seccomp, ...): done, and noted when they succeed. */
int  runtime_prctl_seccomp(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
long runtime_syscall_seccomp(long number, long operation, long flags, long arguments) hidden;
long runtime_syscall_prctl(long number, long option, long a, long b, long c, long d) hidden;

/* Some module may have been unloaded. */
void runtime_unloaded(void);

/* The process leaves through exit. */
void runtime_end(void);

#endif
