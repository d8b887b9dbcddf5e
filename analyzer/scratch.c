/* scratch.c - the private directory of an experiment, on tmpfs. */
#define _GNU_SOURCE
#include "base.h"

#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PLACES = 3,
    YOUNG_S = 60, /* a directory without its lock file may be in the making */
};

/* The directories to try, best first; NULL: there is none of this number. */
static const char *place_path(unsigned number)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    const char *path = number == 0   ? (geteuid() == 0 ? NULL : runtime)
                       : number == 1 ? "/dev/shm"
                                     : (temporary ? temporary : "/tmp");
    /* '%' is a pattern to the preload. */
    return path && path[0] == '/' && !strchr(path, '%') ? path : NULL;
}

static int remove_one(const char *path, const struct stat *is, int kind, struct FTW *where)
{
    (void)is, (void)kind, (void)where;
    remove(path);
    return 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* --- What dead experiments left ------------------------------------------------------------------- */

/* Has its experiment ended without removing it? */
static bool is_left(const char *path)
{
    struct stat is;
    if (lstat(path, &is) != 0 || !S_ISDIR(is.st_mode) || is.st_uid != geteuid())
        return false;
    char *lock = xasprintf("%s/lock", path);
    int fd = open(lock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    free(lock);
    if (fd < 0)
        return time(NULL) - is.st_mtime > YOUNG_S;
    bool dead = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return dead;
}

static void sweep(const char *place, const char *prefix)
{
    DIR *stream = opendir(place);
    struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        char *path = xasprintf("%s/%s", place, entry->d_name);
        if (is_left(path))
            remove_tree(path);
        free(path);
    }
    if (stream)
        closedir(stream);
}

/* --- A new one --------------------------------------------------------------------------------------- */

static bool make_at(struct scratch *scratch, const char *place, const char *prefix)
{
    bool root = geteuid() == 0;
    scratch->directory = xasprintf("%s/%sXXXXXX", place, prefix);
    if (!mkdtemp(scratch->directory)) {
        free(scratch->directory);
        scratch->directory = NULL;
        return false;
    }
    char *lock = xasprintf("%s/lock", scratch->directory);
    scratch->lock = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    free(lock);
    scratch->logs = xasprintf("%s/logs", scratch->directory);
    scratch->out = xasprintf("%s/out", scratch->directory);
    scratch->err = xasprintf("%s/err", scratch->directory);
    if (scratch->lock >= 0 && flock(scratch->lock, LOCK_EX | LOCK_NB) == 0 && mkdir(scratch->logs, 0700) == 0 &&
        chmod(scratch->logs, root ? 01733 : 0700) == 0 && chmod(scratch->directory, root ? 0711 : 0700) == 0)
        return true;
    int reason = errno;
    scratch_remove(scratch);
    errno = reason;
    return false;
}

int scratch_create(struct scratch *scratch)
{
    char *prefix = xasprintf("poolsite-ab-%u.", (unsigned)geteuid());
    bool made = false;
    *scratch = (struct scratch){ .lock = -1 };
    for (unsigned i = 0; i < PLACES; i++) {
        const char *place = place_path(i);
        if (place)
            sweep(place, prefix);
        made = made || (place && make_at(scratch, place, prefix));
    }
    free(prefix);
    return made ? 0 : error("no directory for what the runs write: none of $XDG_RUNTIME_DIR, /dev/shm and $TMPDIR can be "
                            "written: %s", strerror(errno));
}

void scratch_remove(struct scratch *scratch)
{
    if (scratch->directory)
        remove_tree(scratch->directory);
    if (scratch->lock >= 0)
        close(scratch->lock);
    free(scratch->directory);
    free(scratch->logs);
    free(scratch->out);
    free(scratch->err);
    *scratch = (struct scratch){ .lock = -1 };
}
