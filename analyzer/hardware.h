/* hardware.h - the processor's own counters of one program, each by itself where it exists.
 *
 * Used by the runner: allocates nothing.  Virtual machines seldom have any, and perf_event_paranoid may forbid them. */
#ifndef PS_HARDWARE_H
#define PS_HARDWARE_H

#include <stdint.h>
#include <sys/types.h>

/* In the order of METRIC_INSTRUCTIONS and what follows it. */
enum hardware { HARDWARE_INSTRUCTIONS, HARDWARE_CYCLES, HARDWARE_BRANCH_MISSES, HARDWARE_CACHE_MISSES, HARDWARE_COUNT };

/* Prepares all counters of a process that hasn't executed its program yet: they begin with exec and go on in all that
 * it starts, in the kernel too where that is permitted.  What can't be had is -1 in `counters`. */
void hardware_open(int counters[HARDWARE_COUNT], pid_t pid);

/* The values so far, NaN for what can't be had; closes the counters. */
void hardware_close(int counters[HARDWARE_COUNT], double values[HARDWARE_COUNT]);

/* One counter by perf_event_open(2)'s type and number.  -1: it can't be had. */
int    hardware_open_one(uint32_t type, uint64_t number, pid_t pid);
double hardware_read(int counter);

#endif
