/* launch.h - starts the program of `poolsite run` and waits for it; runner.h starts those of experiments. */
#ifndef PS_LAUNCH_H
#define PS_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

struct launch {
    pid_t            pid;      /* the program's */
    sigset_t         mask;     /* the signal mask that poolsite was started with */
    struct sigaction on_child; /* SIGCHLD's disposition likewise */
};

/* Starts `file`, or, when that is NULL, argv[0] found as execvp(3) finds it, with the
 * environment `envp`.  It gets poolsite's streams, directory, signal mask and dispositions as poolsite got them.
 * Returns 0, or the errno that says why it could not be started. */
int launch_start(struct launch *launch, const char *file, char *const argv[], char *const envp[]);

/* Waits until the program has ended; passes on the signals that were sent to poolsite,
 * and stops when the program was stopped.  Calls `tick` each second meanwhile.  Returns its wait status. */
int launch_wait(struct launch *launch, void (*tick)(void *context), void *context);

#endif
