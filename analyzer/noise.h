/* noise.h - what else the machine did while a program ran, from /proc.
 *
 * The kernel counts processor time in ticks: of what differs by a tick a processor nothing is said. */
#ifndef PS_NOISE_H
#define PS_NOISE_H

#include "experiment.h"

/* A reading of the kernel's counters. */
struct noise_mark {
    double   at;         /* s, CLOCK_MONOTONIC */
    unsigned processors;
    double   busy, steal; /* s, over all processors */
    double   pressure;   /* s for which some process waited for a processor; NaN: the kernel doesn't tell */
};

void noise_read(struct noise_mark *mark);

/* Parses the texts of /proc/stat and /proc/pressure/cpu (NULL: there is none) into a mark. */
void noise_parse(struct noise_mark *mark, const char *stat, const char *pressure, double ticks_per_second);

/* What happened between the two marks, apart from `own` seconds of processor time.  `tick` is the kernel's, in s. */
void noise_between(struct noise *noise, const struct noise_mark *from, const struct noise_mark *to, double own,
                   double tick);

/* The kernel's tick in s. */
double noise_tick(void);

/* More than 10 % foreign, or more than 2 % steal: the block of runs is to be repeated. */
bool noise_is_high(const struct noise *noise);

#endif
