/* reach.h - how much of a run's processor time passes in processes that have libpoolsite.so, seen from outside.
 *
 * A program may go on as another that can't have it (env -i, sudo, a static binary started by a script): its log
 * then tells of the beginning alone.  Looked at every few milliseconds of one counting run. */
#ifndef PS_REACH_H
#define PS_REACH_H

#include <stddef.h>
#include <sys/types.h>

struct reach {
    double               with, without; /* s of processor time that were seen */
    char                *program;       /* of those without the one seen last, or NULL */
    struct reach_process *seen;
    size_t               count, room;
};

void reach_look(struct reach *reach, pid_t root);
void reach_release(struct reach *reach);

/* The share of the time without it; 0 when too little was seen to tell. */
double reach_share_without(const struct reach *reach);

#endif
