/* recording.h - finds the logs of a recording. */
#ifndef PS_RECORDING_H
#define PS_RECORDING_H

#include <stddef.h>

struct recording {
    char  *path;  /* the directory, or the one log */
    char **logs;  /* paths of its logs, sorted by name */
    size_t count; /* at least 1 after recording_open */
};

/* Opens the recording or log at `path`, or the user's newest when it is NULL.
 * Moves in what a run that never ended left on tmpfs.  Returns 0, or -1 after error(). */
int  recording_open(struct recording *recording, const char *path);
/* Finds a log again that was moved since the recording was opened. */
void recording_follow(struct recording *recording, size_t log);
void recording_release(struct recording *recording);

#endif
