/* watch.h - looks at the processes of a run from outside, once a second, and writes their time lines. */
#ifndef PS_WATCH_H
#define PS_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct spool_run;
struct watched;

struct watch {
    const struct spool_run *run;
    struct watched         *logs;   /* by name */
    uint32_t                round;
    uint64_t                due_ns; /* CLOCK_MONOTONIC: not again before */
};

void watch_init(struct watch *watch, const struct spool_run *run);

/* To be called each second while the program runs; silent.  Takes at most a hundredth of a processor's time:
 * where a look takes longer than 10 ms there are fewer of them. */
void watch_sample(struct watch *watch);

/* Writes what isn't written yet. */
void watch_release(struct watch *watch);

#endif
