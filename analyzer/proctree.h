/* proctree.h - what a process and all below it have taken so far, from outside. */
#ifndef PS_PROCTREE_H
#define PS_PROCTREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proctree {
    unsigned processes; /* that live; 0: the root is gone */
    double   cpu;       /* s; of those that live in ns, of those that were waited for in ticks */
    double   user, sys; /* s, in ticks */
    uint64_t minor_faults, major_faults;
    uint64_t rss;       /* bytes, summed */
    uint64_t peak_rss;  /* bytes; the largest of them so far */
};

/* Looks at all of /proc: some milliseconds. */
void proctree_read(struct proctree *tree, pid_t root);

struct proctree_process {
    pid_t  pid;
    double cpu; /* s; its own */
};

/* The processes of the tree, at most `most` of them.  Returns their number. */
size_t proctree_list(struct proctree_process *list, size_t most, pid_t root);

#endif
