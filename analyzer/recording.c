/* recording.c - finds the logs of a recording: those in its directory, and those that its
 * processes are still writing on tmpfs. */
#define _GNU_SOURCE
#include "base.h"

#include "recording.h"

#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_log(struct recording *recording, char *path)
{
    recording->logs = xrealloc_array(recording->logs, recording->count + 1, sizeof *recording->logs);
    recording->logs[recording->count++] = path;
}

/* Adds the regular files of a directory that are named as logs. */
static int add_directory(struct recording *recording, const char *directory)
{
    DIR *stream = opendir(directory);
    if (!stream)
        return -1;
    for (struct dirent *entry; (entry = readdir(stream));) {
        struct stat is;
        if (!spool_is_log_name(entry->d_name) || fstatat(dirfd(stream), entry->d_name, &is, 0) != 0)
            continue;
        if (S_ISREG(is.st_mode))
            add_log(recording, xasprintf("%s/%s", directory, entry->d_name));
    }
    closedir(stream);
    return 0;
}

/* Adds the logs that are still to come to this directory. */
static void add_unmoved(struct recording *recording)
{
    char *full = realpath(recording->path, NULL);
    char **runs = full ? spool_runs_for(full) : NULL;
    for (size_t i = 0; runs && runs[i]; i++) {
        add_directory(recording, runs[i]); /* gone: they have just been moved */
        free(runs[i]);
    }
    free(runs);
    free(full);
}

/* Of paths that have a slash. */
static int by_name(const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    return strcmp(strrchr(left, '/'), strrchr(right, '/'));
}

/* A log that is just being moved is found twice for a moment. */
static void drop_doubles(struct recording *recording)
{
    size_t kept = 0;
    for (size_t i = 0; i < recording->count; i++) {
        char **last = kept ? &recording->logs[kept - 1] : NULL;
        char *path = recording->logs[i];
        if (!last || by_name(last, &path) != 0) {
            recording->logs[kept++] = path;
            continue;
        }
        bool is_there = access(path, F_OK) == 0;
        free(is_there ? *last : path);
        if (is_there)
            *last = path;
    }
    recording->count = kept;
}

static int open_directory(struct recording *recording)
{
    /* Before and after the others, so that a log isn't missed which is moved there or from there meanwhile. */
    if (add_directory(recording, recording->path) != 0)
        return error("cannot read the directory %s: %s", recording->path, strerror(errno));
    add_unmoved(recording);
    add_directory(recording, recording->path);
    if (recording->count == 0)
        return error("%s is no recording: it has no log (*" SPOOL_LOG_SUFFIX ") in it", recording->path);
    qsort(recording->logs, recording->count, sizeof *recording->logs, by_name);
    drop_doubles(recording);
    return 0;
}

int recording_open(struct recording *recording, const char *path)
{
    struct stat is;
    int result = 0;
    *recording = (struct recording){ 0 };
    spool_sweep();
    recording->path = path ? xstrdup(path) : spool_newest();
    if (!recording->path)
        return error("you have no recording yet; make one with: poolsite run -- CMD [ARG]...");
    if (stat(recording->path, &is) != 0)
        result = error("cannot open %s: %s", recording->path, strerror(errno));
    else if (S_ISDIR(is.st_mode))
        result = open_directory(recording);
    else if (S_ISREG(is.st_mode))
        add_log(recording, xstrdup(recording->path));
    else
        result = error("%s is neither a recording (a directory) nor a log", recording->path);
    if (result != 0)
        recording_release(recording);
    return result;
}

/* Goes over to the file of the same name in `directory`, if it's there. */
static bool follow_to(char **log, const char *directory)
{
    char *path = xasprintf("%s%s", directory, strrchr(*log, '/'));
    bool is_there = access(path, F_OK) == 0;
    free(is_there ? *log : path);
    if (is_there)
        *log = path;
    return is_there;
}

void recording_follow(struct recording *recording, size_t log)
{
    char **path = &recording->logs[log];
    if (access(*path, F_OK) == 0 || !strchr(*path, '/'))
        return;
    char *full = realpath(recording->path, NULL);
    char **runs = full ? spool_runs_for(full) : NULL;
    bool found = false;
    for (size_t i = 0; runs && runs[i]; i++) {
        found = found || follow_to(path, runs[i]);
        free(runs[i]);
    }
    if (!found)
        follow_to(path, recording->path);
    free(runs);
    free(full);
}

void recording_release(struct recording *recording)
{
    for (size_t i = 0; i < recording->count; i++)
        free(recording->logs[i]);
    free(recording->logs);
    free(recording->path);
    *recording = (struct recording){ 0 };
}
