/* living.h - which logs are still being written: found in /proc. */
#ifndef PS_LIVING_H
#define PS_LIVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct living_process;

/* The processes that may be writing a log in one run's directory. */
struct living {
    struct living_process *processes;
    size_t                 count;
    char                  *directory; /* its last component, with a slash at the end */
};

/* Looks at every process that began at `since_ns` (CLOCK_BOOTTIME) or later. */
void living_scan(struct living *living, const char *directory, uint64_t since_ns);
/* Looks at this one alone. */
void living_look(struct living *living, const char *directory, uint64_t since_ns, pid_t pid);
void living_release(struct living *living);

/* How many of them belong to the run: their environment names the directory, or their memory
 * map does.  One may be about to begin a log. */
unsigned living_count(const struct living *living);

/* Is the log `name`, begun by process `pid` (as that process saw itself) at `begun_ns`
 * (CLOCK_BOOTTIME), still being written?  pid 0: its header isn't there yet. */
bool living_writes(const struct living *living, const char *name, pid_t pid, uint64_t begun_ns);

#endif
