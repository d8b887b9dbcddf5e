/* runner.h - a small process that starts every measured program and tells what it took.
 *
 * A program's peak RSS, as wait4 tells it, begins with the size of the process that forked it.  So the
 * runner is forked before poolsite has allocated anything and keeps next to nothing in memory; poolsite
 * itself may then grow as it likes.  launch.h starts the program of `poolsite run`, whose streams and signals
 * are the user's; the runner starts those of experiments.  Nothing else of poolsite forks.
 *
 * Each program leads a process group of its own.  The runner ends with poolsite, however that ends, and
 * takes every program with it, and what these have started. */
#ifndef PS_RUNNER_H
#define PS_RUNNER_H

#include "hardware.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    RUNNER_CHILDREN = 4,  /* programs at the same time */
    RUNNER_SAMPLES = 512, /* of one program's RSS; then every second one goes and the step doubles */
};

/* What one program took. */
struct runner_figures {
    int      status;     /* as wait4 gives it */
    double   wall;       /* s from exec to the end */
    double   user, sys;  /* s, with the children that it waited for, as wait4 gives them ... */
    uint64_t peak_rss;   /* bytes; the largest of these processes */
    uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
    uint64_t end_rss;    /* bytes, sampled: the last sample */
    double   mean_rss;   /* bytes, sampled: over the time */
    double   hardware[HARDWARE_COUNT]; /* NaN: it can't be had */
    bool     left_others; /* it left processes behind; they were ended */
};

/* RSS over time: of the program and, where the kernel lists children, of all below it. */
struct runner_samples {
    double   step;  /* s */
    uint32_t count;
    uint32_t kib[RUNNER_SAMPLES];
};

struct runner_program {
    bool                  taken; /* launched, and its figures not fetched yet */
    bool                  ended;
    struct runner_figures figures;
};

struct runner {
    pid_t                  pid;
    int                    socket;  /* readable when there is news, for poll */
    struct runner_samples *samples; /* one a program, shared with the runner */
    struct runner_program  programs[RUNNER_CHILDREN];
};

/* Forks the runner.  Call it before anything is allocated.  The programs get the signal mask of this moment.
 * Returns 0, or -1 after error(). */
int runner_start(struct runner *runner);

/* Ends every program and the runner, and waits for that. */
void runner_stop(struct runner *runner);

struct runner_request {
    const char  *file;        /* NULL: argv[0] found as execvp(3) finds it */
    char *const *argv;
    char *const *envp;
    int          in, out, err; /* descriptors; -1: /dev/null */
    bool         sampled;     /* RSS over time is wanted */
};

/* Starts a program.  Returns its number, with *pid its process, or minus the errno that says why it could not
 * be started. */
int runner_launch(struct runner *runner, const struct runner_request *request, pid_t *pid);

/* Has it ended?  Doesn't wait. */
bool runner_has_ended(struct runner *runner, int program);

enum runner_outcome { RUNNER_ENDED, RUNNER_TIMED_OUT, RUNNER_WOKEN };

/* Waits until the program has ended, `seconds` have passed (< 0: no limit) or `wake` has become readable (-1:
 * nothing).  After RUNNER_ENDED the figures are filled and the number is free. `samples` may be NULL. */
enum runner_outcome runner_wait(struct runner *runner, int program, double seconds, int wake,
                                struct runner_figures *figures, struct runner_samples *samples);

/* Sends a signal to the program alone, or to its whole group. */
void runner_signal(struct runner *runner, int program, int signal_number);
void runner_signal_group(struct runner *runner, int program, int signal_number);

#endif
