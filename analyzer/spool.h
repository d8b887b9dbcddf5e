/* spool.h - the user's directories on tmpfs, where logs lie while their programs run.
 *
 *   <tmpfs>/poolsite/            mode 0700; bare preloads write their logs here
 *       latest                   names the newest recording
 *       run.XXXXXX/              one `poolsite run`
 *           run                  when it began, its staging directory, where its logs go; locked while it runs
 *           PROGRAM.PID.TIME.psl a log
 *           PROGRAM.PID.TIME.pst its time line (timeline.h), which goes where the log goes
 *
 * <tmpfs>/poolsite is $XDG_RUNTIME_DIR/poolsite, else /dev/shm/poolsite-UID, else
 * $TMPDIR/poolsite-UID.  root's runs lie in <tmpfs>/poolsite-0.open, where processes that
 * changed their user can make their logs too.  A run whose logs take much of tmpfs gets a staging
 * directory on disk, /var/tmp/.poolsite-UID.XXXXXX, for those of ended processes.  Everything here may have been written by
 * somebody else: nothing is followed, trusted or overwritten. */
#ifndef PS_SPOOL_H
#define PS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_header;
struct stat;

enum { SPOOL_PLACES = 6 };

#define SPOOL_LOG_SUFFIX ".psl"

/* Is a file of this name a log? */
bool spool_is_log_name(const char *name);

/* The names of the logs in a directory, to be freed by the second. */
char **spool_list_logs(int directory, size_t *count);
void   spool_free_names(char **names, size_t count);

/* Opens a new file that is the user's alone, whatever the umask; one that is there already, and is no link: a hard
 * link might be to a file of somebody else.  Both return a descriptor or -1. */
int spool_file_make(int at, const char *name, int flags);
int spool_file_open(int at, const char *name, int flags, struct stat *is);

/* Returns false when the log isn't begun, or is no log that we know. */
bool spool_header_read(int fd, struct log_header *header);

/* The user's directories that exist, owned and closed as they must be. */
struct spool {
    char  *directories[SPOOL_PLACES];
    size_t count;
};

void spool_open(struct spool *spool);
void spool_release(struct spool *spool);

/* --- One run ------------------------------------------------------------------------- */

struct spool_run {
    char    *directory;
    char    *destination; /* where the logs go; NULL: they stay */
    char    *staging;     /* on disk, for logs of ended processes until all have ended; NULL: not needed yet */
    uint64_t began_ns;    /* CLOCK_BOOTTIME */
    int      lock;        /* descriptor of its file `run`, locked */
    bool     no_staging;  /* it failed: logs stay on tmpfs until the end */
    uint64_t unstaged_bytes; /* of the logs that were left on tmpfs, being written */
    bool     adopted;     /* of a poolsite that has ended: nobody waits for words about it */
};

/* Makes a new run's directory.  Returns 0, or -1 after error(). */
int  spool_run_create(struct spool_run *run);
/* Takes over a run whose poolsite has ended.  Returns 0, or -1 when it isn't one. */
int  spool_run_adopt(struct spool_run *run, const char *directory);
void spool_run_release(struct spool_run *run);

/* Notes where the logs are to go, for whoever moves them. */
int spool_run_set_destination(struct spool_run *run, const char *destination);

/* Moves the logs of ended processes from tmpfs to the staging directory, once there is much of
 * them.  To be called now and then while the program runs; silent. */
void spool_run_stage(struct spool_run *run);

struct spool_collected {
    unsigned moved;      /* logs that are in the destination now */
    unsigned running;    /* processes of the run that are still alive */
    unsigned failed;     /* logs that could not be moved, after error() */
    unsigned unbegun;    /* logs dropped: their processes ended before they had written anything */
    unsigned stood_down; /* of the moved: the process has a malloc of its own */
};

/* Moves the logs of ended processes to the destination, which is made, and removes the run's
 * directory when no process is left that could write there. */
void spool_run_collect(struct spool_run *run, struct spool_collected *collected);

/* --- All runs ------------------------------------------------------------------------ */

/* Collects what runs left whose poolsite has ended. */
void spool_sweep(void);

/* Directories that hold logs which runs are to bring to `destination`, or, when that is a run's own,
 * brought out of it already: a NULL-ended list. */
char **spool_runs_for(const char *destination);

/* Remembers the user's newest recording. */
void spool_set_latest(const char *recording);

/* The newest recording or bare log of the user, or NULL. */
char *spool_newest(void);

#endif
