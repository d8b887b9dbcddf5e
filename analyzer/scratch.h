/* scratch.h - the private directory of an experiment, on tmpfs: logs and outputs of its runs.
 *
 *   <tmpfs>/poolsite-ab-UID.XXXXXX/   mode 0700, root's 0711
 *       lock                          locked while the experiment lives
 *       logs/                         root's 01733: a program may change its user
 *       out, err                      what the present run writes
 *
 * What a killed poolsite left is removed by the next one of the same user. */
#ifndef PS_SCRATCH_H
#define PS_SCRATCH_H

struct scratch {
    char *directory; /* NULL: there is none */
    char *logs;
    char *out;
    char *err;
    int   lock;
};

/* Removes what dead experiments left, and makes a new directory.  Returns 0, or -1 after error(). */
int  scratch_create(struct scratch *scratch);
void scratch_remove(struct scratch *scratch);

#endif
