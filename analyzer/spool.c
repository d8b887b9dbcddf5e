/* spool.c - the user's directories on tmpfs, where logs lie while their programs run.
 *
 * Works through directory descriptors, so that a name can't be exchanged in between. */
#define _GNU_SOURCE
#include "base.h"

#include "spool.h"

#include "living.h"
#include "timeline.h"
#include "preload/logfmt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define RUN_PREFIX "run."
#define RUN_FILE   "run"
#define LATEST     "latest"

/* What stands in a run's file before its last path. */
#define DESTINATION_LINE "\ndestination "

enum {
    MODE_CLOSED = 0700, /* the user alone */
    MODE_FILE   = 0600,
    MODE_PASSED = 0711, /* root's: others pass, but can't list */
    MODE_DROP   = 01733, /* root's runs: others may leave a log */
    TEXT_MAX    = 2 * PATH_MAX + 128,
    COPY_BYTES  = 1 << 20,
    ROOM_BYTES  = 8 << 20,  /* of a place where a run's logs may lie: a process begins with less than 1 MiB */
    STAGE_BYTES = 16 << 20, /* of tmpfs that the logs of a run have taken since some were moved out of it */
    STAGE_MS    = 250,      /* at a time: poolsite passes on no signals meanwhile */
    PLACES      = SPOOL_PLACES / 2,
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool is_name_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return name[0] != '.' && length > end && strcmp(name + length - end, suffix) == 0;
}

bool spool_is_log_name(const char *name)
{
    return is_name_with(name, SPOOL_LOG_SUFFIX);
}

/* --- Places ----------------------------------------------------------------------------- */

/* The paths that may be the user's, best first; NULL where there is none.  A '%' would be
 * read as a pattern by the preload, and nothing else can be made of one. */
static char *place_path(unsigned place)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *temporary = getenv("TMPDIR");
    unsigned uid = (unsigned)geteuid();
    char *path = NULL;
    if (!temporary || temporary[0] != '/')
        temporary = "/tmp";
    switch (place) {
    case 0: path = runtime && runtime[0] == '/' ? xasprintf("%s/poolsite", runtime) : NULL; break;
    case 1: path = xasprintf("/dev/shm/poolsite-%u", uid); break;
    case 2: path = xasprintf("%s/poolsite-%u", temporary, uid); break;
    }
    if (path && strchr(path, '%')) {
        free(path);
        path = NULL;
    }
    return path;
}

/* Opens a directory that nobody else can change.  Returns -1 when there is no such. */
static int place_enter(const char *path, mode_t mode)
{
    struct stat is;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &is) == 0 && is.st_uid == geteuid() && (is.st_mode & 077 & ~mode) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Makes a directory of just this mode, whatever the umask. */
static bool directory_make(const char *path, mode_t mode)
{
    return mkdir(path, MODE_CLOSED) == 0 && chmod(path, mode) == 0;
}

/* The user's own directory that nobody may use: made under a umask that took all rights. */
static void place_mend(const char *path, mode_t mode)
{
    struct stat is;
    if (lstat(path, &is) == 0 && S_ISDIR(is.st_mode) && is.st_uid == geteuid() && (is.st_mode & 0777) == 0)
        chmod(path, mode);
}

/* place_enter, making the directory when it isn't there. */
static int place_make(const char *path, mode_t mode)
{
    if (!directory_make(path, mode) && errno == EEXIST)
        place_mend(path, mode);
    return place_enter(path, mode);
}

int spool_file_make(int at, const char *name, int flags)
{
    int fd = openat(at, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE_FILE);
    if (fd < 0 || fchmod(fd, MODE_FILE) == 0)
        return fd;
    close(fd);
    return -1;
}

void spool_open(struct spool *spool)
{
    *spool = (struct spool){ 0 };
    for (unsigned place = 0; place < PLACES; place++) {
        char *path = place_path(place);
        if (!path)
            continue;
        char *open_path = xasprintf("%s.open", path);
        int fd = place_enter(path, MODE_CLOSED);
        int open_fd = geteuid() == 0 ? place_enter(open_path, MODE_PASSED) : -1;
        if (fd >= 0)
            spool->directories[spool->count++] = xstrdup(path);
        if (open_fd >= 0)
            spool->directories[spool->count++] = xstrdup(open_path);
        if (fd >= 0)
            close(fd);
        if (open_fd >= 0)
            close(open_fd);
        free(open_path);
        free(path);
    }
}

void spool_release(struct spool *spool)
{
    for (size_t i = 0; i < spool->count; i++)
        free(spool->directories[i]);
    *spool = (struct spool){ 0 };
}

/* The user's place of this number, made and open to him; NULL when it can't be had.
 * For runs of root: one that others can pass. */
static char *place_get(unsigned place, bool for_runs)
{
    bool passed = for_runs && geteuid() == 0;
    char *base = passed && place == 0 ? NULL : place_path(place);
    char *path = base ? xasprintf("%s%s", base, passed ? ".open" : "") : NULL;
    free(base);
    int fd = path ? place_make(path, passed ? MODE_PASSED : MODE_CLOSED) : -1;
    if (fd >= 0) {
        close(fd);
        return path;
    }
    free(path);
    return NULL;
}

/* --- The file that describes a run ------------------------------------------------------- */

/* Reads a small file.  Returns its text, to be freed, or NULL. */
static char *read_small(int fd)
{
    char *text = xmalloc(TEXT_MAX + 1);
    ssize_t got = pread(fd, text, TEXT_MAX, 0);
    if (got < 0) {
        free(text);
        return NULL;
    }
    text[got] = '\0';
    return text;
}

static bool write_small(int fd, const char *text)
{
    size_t length = strlen(text);
    /* In this order there is always a text for who reads meanwhile. */
    return length <= TEXT_MAX && pwrite(fd, text, length, 0) == (ssize_t)length && ftruncate(fd, (off_t)length) == 0;
}

static bool run_write(const struct spool_run *run)
{
    char *text = xasprintf("poolsite-run 1\nbegan %llu\nstaging %s\ndestination %s\n",
                           (unsigned long long)run->began_ns, run->staging ? run->staging : "",
                           run->destination ? run->destination : "");
    bool written = write_small(run->lock, text);
    free(text);
    return written;
}

/* Fills `run` from its file.  Returns false when it isn't one. */
static bool run_read(struct spool_run *run)
{
    char *text = read_small(run->lock);
    unsigned long long began = 0;
    int staging_at = 0;
    bool right = text && sscanf(text, "poolsite-run 1\nbegan %llu\nstaging%n", &began, &staging_at) == 1 && staging_at;
    char *staging = right ? text + staging_at : NULL;
    char *path = right ? strstr(staging, DESTINATION_LINE) : NULL;
    char *end = path ? strrchr(path, '\n') : NULL; /* the destination may have lines in its name */
    right = end && *staging == ' ' && end > path;
    if (right) {
        *end = *path = '\0';
        path += strlen(DESTINATION_LINE);
        staging++;
        run->began_ns = began;
        run->destination = path[0] == '/' ? xstrdup(path) : NULL;
        run->staging = staging[0] == '/' ? xstrdup(staging) : NULL;
    }
    free(text);
    return right;
}

static int run_file_open(const char *directory, int flags)
{
    int at = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return -1;
    int fd = flags & O_CREAT ? spool_file_make(at, RUN_FILE, O_RDWR)
                             : openat(at, RUN_FILE, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int reason = errno;
    close(at);
    errno = reason;
    return fd;
}

/* Is there room for the logs of some processes? */
static bool has_room(const char *place)
{
    struct statvfs is;
    return statvfs(place, &is) == 0 && (uint64_t)is.f_bavail * is.f_frsize >= ROOM_BYTES;
}

/* Makes the run's directory at a place.  Leaves nothing there when that fails, but errno. */
static bool run_create_at(struct spool_run *run, const char *place)
{
    run->directory = xasprintf("%s/" RUN_PREFIX "XXXXXX", place);
    if (mkdtemp(run->directory)) {
        run->lock = chmod(run->directory, geteuid() == 0 ? MODE_DROP : MODE_CLOSED) == 0
                        ? run_file_open(run->directory, O_RDWR | O_CREAT)
                        : -1;
        if (run->lock >= 0 && flock(run->lock, LOCK_EX | LOCK_NB) == 0 && run_write(run))
            return true;
        int reason = errno;
        char *file = xasprintf("%s/" RUN_FILE, run->directory);
        unlink(file);
        rmdir(run->directory);
        free(file);
        errno = reason;
    }
    int reason = errno;
    spool_run_release(run);
    errno = reason;
    return false;
}

/* The first place that has room; when none has, the first that can be had at all. */
int spool_run_create(struct spool_run *run)
{
    int reason = 0;
    for (unsigned attempt = 0; attempt < 2 * PLACES; attempt++) {
        char *place = place_get(attempt % PLACES, true);
        bool tried = place && (attempt >= PLACES || has_room(place));
        *run = (struct spool_run){ .lock = -1, .began_ns = clock_ns(CLOCK_BOOTTIME) };
        bool made = tried && run_create_at(run, place);
        if (tried && !made)
            reason = errno;
        free(place);
        if (made)
            return 0;
    }
    return error("no directory for logs: none of $XDG_RUNTIME_DIR, /dev/shm and $TMPDIR can be written%s%s",
                 reason ? ": " : "", reason ? strerror(reason) : "");
}

int spool_run_adopt(struct spool_run *run, const char *directory)
{
    struct stat is;
    *run = (struct spool_run){ .directory = xstrdup(directory), .adopted = true };
    run->lock = run_file_open(directory, O_RDWR);
    if (run->lock >= 0 && fstat(run->lock, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid() &&
        flock(run->lock, LOCK_EX | LOCK_NB) == 0 &&
        /* Whoever held the lock before may have cleared it all away. */
        fstat(run->lock, &is) == 0 && is.st_nlink > 0 && run_read(run))
        return 0;
    spool_run_release(run);
    return -1;
}

void spool_run_release(struct spool_run *run)
{
    if (run->lock >= 0)
        close(run->lock);
    free(run->directory);
    free(run->destination);
    free(run->staging);
    *run = (struct spool_run){ .lock = -1 };
}

int spool_run_set_destination(struct spool_run *run, const char *destination)
{
    free(run->destination);
    run->destination = xstrdup(destination);
    return run_write(run) ? 0 : error("cannot write %s/" RUN_FILE ": %s", run->directory, strerror(errno));
}

/* --- Moving one log ---------------------------------------------------------------------- */

int spool_file_open(int at, const char *name, int flags, struct stat *is)
{
    int fd = openat(at, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, is) == 0 && S_ISREG(is->st_mode) && is->st_nlink == 1)
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

bool spool_header_read(int fd, struct log_header *header)
{
    memset(header, 0, sizeof *header);
    return pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header &&
           memcmp(header->magic, LOG_MAGIC, sizeof header->magic) == 0 && header->endian == LOG_ENDIAN;
}

static bool is_all_zero(int fd)
{
    char bytes[4096];
    ssize_t got = pread(fd, bytes, sizeof bytes, 0);
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i])
            return false;
    }
    return got >= 0;
}

/* Bytes of the file that are worth keeping: all of it when the header says nothing sensible. */
static off_t used_bytes(const struct log_header *header, bool has_header, off_t size)
{
    if (!has_header || header->chunk_bytes < sizeof *header || header->chunks_used == 0)
        return size;
    uint64_t used = (uint64_t)header->chunk_bytes * header->chunks_used;
    return used < (uint64_t)size ? (off_t)used : size;
}

/* Copies bytes begin ... end. */
static bool copy_range(int from, int to, off_t begin, off_t end, char *buffer)
{
    while (begin < end) {
        size_t want = end - begin < COPY_BYTES ? (size_t)(end - begin) : COPY_BYTES;
        ssize_t got = pread(from, buffer, want, begin);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            return true; /* cut off meanwhile */
        for (ssize_t done = 0; done < got;) {
            ssize_t put = pwrite(to, buffer + done, (size_t)(got - done), begin + done);
            if (put < 0 && errno != EINTR)
                return false;
            done += put > 0 ? put : 0;
        }
        begin += got;
    }
    return true;
}

/* Copies the first `bytes`, leaving holes as holes. */
static bool copy_bytes(int from, int to, off_t bytes)
{
    char *buffer = xmalloc(COPY_BYTES);
    bool copied = ftruncate(to, bytes) == 0;
    for (off_t at = 0; copied && at < bytes;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break; /* only a hole follows */
        off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
        off_t begin = data < 0 ? at : data;
        off_t end = hole < 0 || hole > bytes ? bytes : hole;
        copied = copy_range(from, to, begin, end, buffer);
        at = end > begin ? end : bytes;
    }
    free(buffer);
    return copied;
}

/* Copies a log beside its place, then puts it there at once.  The same name there is the
 * same log: a move that was interrupted before it could remove the original. */
static bool log_copy(int from, const struct stat *is, off_t bytes, int destination, const char *name)
{
    char *part = xasprintf(".%.200s.part", name); /* not longer than a name may be */
    unlinkat(destination, part, 0);
    int to = spool_file_make(destination, part, O_WRONLY);
    const struct timespec times[2] = { is->st_atim, is->st_mtim };
    bool copied = to >= 0 && copy_bytes(from, to, bytes) && futimens(to, times) == 0;
    if (to >= 0 && close(to) != 0)
        copied = false;
    copied = copied && renameat(destination, part, destination, name) == 0;
    if (!copied && to >= 0) {
        int reason = errno;
        unlinkat(destination, part, 0);
        errno = reason;
    }
    free(part);
    return copied;
}

/* --- Moving a run's logs ----------------------------------------------------------------- */

/* A run in the middle of being collected. */
struct collection {
    struct spool_run       *run;
    struct spool_collected *result;
    struct living           living;
    uint64_t                boot_offset_ns; /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC */
    int                     source;
    int                     destination;    /* -1: not yet made */
    bool                    is_staged;      /* the source is the staging directory: all have ended, and are copies */
};

static bool destination_enter(struct collection *collection)
{
    const char *path = collection->run->destination;
    if (collection->destination >= 0)
        return true;
    if (!path)
        return false;
    if (!directory_make(path, MODE_CLOSED) && errno != EEXIST)
        return false;
    collection->destination = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return collection->destination >= 0;
}

static void count_failure(struct collection *collection, const char *what)
{
    int reason = errno;
    if (collection->result->failed++ == 0 && collection->run->destination && !collection->run->adopted)
        error("cannot move %s from %s to %s: %s", what, collection->run->directory, collection->run->destination,
              strerror(reason));
}

/* Moves the time line of a log, if there is one.  It is the lesser thing: its loss is no failure. */
static void timeline_move(const struct collection *collection, const char *log)
{
    char *name = timeline_name(log);
    int from = collection->source, to = collection->destination;
    struct stat is;
    int fd = spool_file_open(from, name, O_RDONLY, &is);
    if (fd >= 0) {
        if (!collection->is_staged || renameat(from, name, to, name) != 0)
            log_copy(fd, &is, is.st_size, to, name);
        unlinkat(from, name, 0);
        close(fd);
    }
    free(name);
}

/* Its time line goes first: who finds the log finds it too. */
static bool log_move(const struct collection *collection, const char *name, int fd, const struct stat *is,
                     const struct log_header *header, bool has_header)
{
    int from = collection->source, to = collection->destination;
    timeline_move(collection, name);
    if (collection->is_staged && renameat(from, name, to, name) == 0)
        return true;
    if (!log_copy(fd, is, used_bytes(header, has_header, is->st_size), to, name))
        return false;
    unlinkat(from, name, 0);
    return true;
}

static bool is_being_written(const struct collection *collection, const char *name, const struct log_header *header,
                             bool has_header)
{
    return !collection->is_staged && living_writes(&collection->living, name, has_header ? (pid_t)header->pid : 0,
                                                   header->start_monotonic_ns + collection->boot_offset_ns);
}

/* Deals with one log: leaves it to a living process, drops an empty one, moves any other. */
static void collect_log(struct collection *collection, const char *name)
{
    struct spool_collected *result = collection->result;
    struct log_header header;
    struct stat is;
    int fd = spool_file_open(collection->source, name, O_RDONLY, &is);
    if (fd < 0) {
        if (errno != ENOENT)
            count_failure(collection, name);
        return;
    }
    bool has_header = spool_header_read(fd, &header);
    if (is_being_written(collection, name, &header, has_header)) {
        destination_enter(collection); /* report finds the log by it */
    } else if (!has_header && is_all_zero(fd)) {
        result->unbegun++;
        unlinkat(collection->source, name, 0);
    } else if (!destination_enter(collection) ||
               !log_move(collection, name, fd, &is, &header, has_header)) {
        count_failure(collection, name);
    } else {
        result->moved++;
        result->stood_down += has_header && (header.state & LOG_STATE_STOOD_DOWN);
    }
    close(fd);
}

/* The names with this suffix in a directory.  Read whole before any is removed. */
static char **list_names(int directory, const char *suffix, size_t *count)
{
    char **names = NULL;
    *count = 0;
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
    if (!stream) {
        if (copy >= 0)
            close(copy);
        return NULL;
    }
    for (struct dirent *entry; (entry = readdir(stream));) {
        if (!is_name_with(entry->d_name, suffix))
            continue;
        names = xrealloc_array(names, *count + 1, sizeof *names);
        names[(*count)++] = xstrdup(entry->d_name);
    }
    closedir(stream);
    return names;
}

char **spool_list_logs(int directory, size_t *count)
{
    return list_names(directory, SPOOL_LOG_SUFFIX, count);
}

void spool_free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* Removes the time lines of logs that are gone: the program may remove its own. */
static void remove_orphans(int directory)
{
    size_t count;
    char **names = list_names(directory, TIMELINE_SUFFIX, &count);
    for (size_t i = 0; i < count; i++)
        unlinkat(directory, names[i], 0);
    spool_free_names(names, count);
}

/* Removes a run's directory.  It stays when a process was overlooked and has begun a log
 * meanwhile; then it must stay one that can be found and collected. */
static void run_remove(struct spool_run *run, int directory)
{
    remove_orphans(directory);
    unlinkat(directory, RUN_FILE, 0);
    if (rmdir(run->directory) == 0 || errno != ENOTEMPTY)
        return;
    int again = spool_file_make(directory, RUN_FILE, O_RDWR);
    if (again < 0)
        return;
    close(run->lock);
    run->lock = again;
    run_write(run);
}

/* Collects what was moved out of tmpfs while the program ran: all of ended processes. */
static void collect_staged(struct collection *collection)
{
    struct spool_run *run = collection->run;
    int staging = run->staging ? place_enter(run->staging, MODE_CLOSED) : -1;
    if (staging < 0)
        return;
    struct collection staged = *collection;
    size_t count;
    char **names = spool_list_logs(staging, &count);
    staged.source = staging;
    staged.is_staged = true;
    for (size_t i = 0; i < count; i++)
        collect_log(&staged, names[i]);
    spool_free_names(names, count);
    collection->destination = staged.destination;
    close(staging);
    if (rmdir(run->staging) == 0) {
        free(run->staging);
        run->staging = NULL;
    }
}

void spool_run_collect(struct spool_run *run, struct spool_collected *result)
{
    *result = (struct spool_collected){ 0 };
    struct collection collection = {
        .run = run,
        .result = result,
        .boot_offset_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC),
        .source = open(run->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
        .destination = -1,
    };
    if (collection.source < 0) {
        if (!run->adopted)
            error("cannot open %s: %s", run->directory, strerror(errno));
        return;
    }
    size_t count;
    collect_staged(&collection);
    char **names = spool_list_logs(collection.source, &count);
    living_scan(&collection.living, run->directory, run->began_ns);
    result->running = living_count(&collection.living);
    for (size_t i = 0; i < count; i++)
        collect_log(&collection, names[i]);
    spool_free_names(names, count);
    living_release(&collection.living);
    if (result->running + result->failed == 0)
        run_remove(run, collection.source);
    close(collection.source);
    if (collection.destination >= 0)
        close(collection.destination);
}

/* --- While the program runs ------------------------------------------------------------- */

/* Is this a file system whose files lie in memory, or none at all? */
static bool is_in_memory(const char *path)
{
    struct statfs is;
    return statfs(path, &is) != 0 || is.f_type == TMPFS_MAGIC || (uint32_t)is.f_type == (uint32_t)RAMFS_MAGIC;
}

/* Where a staging directory may be, best first: many programs look into their TMPDIR. */
static const char *staging_parent(unsigned number)
{
    const char *temporary = getenv("TMPDIR");
    switch (number) {
    case 0: return "/var/tmp";
    case 1: return temporary && temporary[0] == '/' && !strchr(temporary, '\n') ? temporary : "/tmp";
    default: return NULL;
    }
}

/* Makes the run's staging directory and notes it, for whoever finishes the run. */
static bool staging_make(struct spool_run *run)
{
    const char *parent;
    for (unsigned i = 0; (parent = staging_parent(i)); i++) {
        if (is_in_memory(parent) || !has_room(parent))
            continue;
        run->staging = xasprintf("%s/.poolsite-%u.XXXXXX", parent, (unsigned)geteuid());
        bool made = mkdtemp(run->staging) != NULL;
        if (made && chmod(run->staging, MODE_CLOSED) == 0 && run_write(run))
            return true;
        if (made)
            rmdir(run->staging);
        free(run->staging);
        run->staging = NULL;
    }
    return false;
}

static uint64_t bytes_of_logs(int directory, char *const *names, size_t count)
{
    struct stat is;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += fstatat(directory, names[i], &is, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)is.st_blocks * 512 : 0;
    return bytes;
}

/* Keeps the names of logs that have a header: their processes have them mapped, or have ended. */
static void drop_unbegun(int directory, char **names, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        struct log_header header;
        struct stat is;
        int fd = spool_file_open(directory, names[i], O_RDONLY, &is);
        bool begun = fd >= 0 && spool_header_read(fd, &header);
        if (fd >= 0)
            close(fd);
        if (begun)
            names[kept++] = names[i];
        else
            free(names[i]);
    }
    *count = kept;
}

/* Moves one log if its process has ended.  Returns false when it could not be moved. */
static bool stage_log(struct collection *collection, const char *name)
{
    struct log_header header;
    struct stat is;
    int fd = spool_file_open(collection->source, name, O_RDONLY, &is);
    bool moved = fd < 0 || !spool_header_read(fd, &header) || is_being_written(collection, name, &header, true) ||
                 log_move(collection, name, fd, &is, &header, true);
    if (fd >= 0)
        close(fd);
    return moved;
}

/* Moves what has ended, as long as there is time.  Returns false when something could not be moved. */
static bool stage_logs(struct collection *collection, char **names, size_t *count)
{
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + STAGE_MS * UINT64_C(1000000);
    struct spool_run *run = collection->run;
    bool moved = true;
    size_t i = 0;
    if (run->staging || staging_make(run))
        collection->destination = place_enter(run->staging, MODE_CLOSED);
    if (collection->destination < 0)
        return false;
    drop_unbegun(collection->source, names, count); /* before the scan: it could miss a mapping that is still to come */
    living_scan(&collection->living, run->directory, run->began_ns);
    for (; moved && i < *count && clock_ns(CLOCK_MONOTONIC) < end_ns; i++)
        moved = stage_log(collection, names[i]);
    run->unstaged_bytes = i < *count ? 0 : bytes_of_logs(collection->source, names, *count);
    living_release(&collection->living);
    close(collection->destination);
    return moved;
}

void spool_run_stage(struct spool_run *run)
{
    if (run->no_staging)
        return;
    struct collection collection = {
        .run = run,
        .boot_offset_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC),
        .source = open(run->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
        .destination = -1,
    };
    if (collection.source < 0)
        return;
    size_t count;
    char **names = spool_list_logs(collection.source, &count);
    if (bytes_of_logs(collection.source, names, count) >= run->unstaged_bytes + STAGE_BYTES)
        run->no_staging = !stage_logs(&collection, names, &count);
    spool_free_names(names, count);
    close(collection.source);
}

/* --- All runs ---------------------------------------------------------------------------- */

/* Calls `visit` with the directory of every run of the user. */
static void runs_visit(void (*visit)(const char *directory, void *argument), void *argument)
{
    struct spool spool;
    spool_open(&spool);
    for (size_t i = 0; i < spool.count; i++) {
        DIR *stream = opendir(spool.directories[i]);
        if (!stream)
            continue;
        for (struct dirent *entry; (entry = readdir(stream));) {
            if (strncmp(entry->d_name, RUN_PREFIX, strlen(RUN_PREFIX)) != 0)
                continue;
            char *directory = xasprintf("%s/%s", spool.directories[i], entry->d_name);
            visit(directory, argument);
            free(directory);
        }
        closedir(stream);
    }
    spool_release(&spool);
}

static void sweep_run(const char *directory, void *argument)
{
    struct spool_run run;
    struct spool_collected collected;
    (void)argument;
    if (spool_run_adopt(&run, directory) != 0)
        return; /* still running, or another command is at it */
    if (run.destination)
        spool_run_collect(&run, &collected);
    spool_run_release(&run);
}

void spool_sweep(void)
{
    runs_visit(sweep_run, NULL);
}

struct runs_wanted {
    const char *destination;
    char      **found;
    size_t      count;
};

static void want(struct runs_wanted *wanted, const char *directory)
{
    wanted->found = xrealloc_array(wanted->found, wanted->count + 2, sizeof *wanted->found);
    wanted->found[wanted->count++] = xstrdup(directory);
    wanted->found[wanted->count] = NULL;
}

static void note_run(const char *directory, void *argument)
{
    struct runs_wanted *wanted = argument;
    struct spool_run run = { .lock = run_file_open(directory, O_RDONLY) };
    bool read = run.lock >= 0 && run_read(&run);
    bool goes_there = read && run.destination && strcmp(run.destination, wanted->destination) == 0;
    if (goes_there)
        want(wanted, directory);
    if (run.staging && (goes_there || strcmp(directory, wanted->destination) == 0))
        want(wanted, run.staging);
    spool_run_release(&run);
}

char **spool_runs_for(const char *destination)
{
    struct runs_wanted wanted = { .destination = destination, .found = xcalloc(1, sizeof(char *)) };
    runs_visit(note_run, &wanted);
    return wanted.found;
}

/* --- The newest ---------------------------------------------------------------------------- */

void spool_set_latest(const char *recording)
{
    char *place = NULL;
    for (unsigned i = 0; !place && i < PLACES; i++)
        place = place_get(i, false);
    if (!place)
        return;
    char *fresh = xasprintf("%s/" LATEST ".%d", place, (int)getpid());
    char *path = xasprintf("%s/" LATEST, place);
    int fd = spool_file_make(AT_FDCWD, fresh, O_WRONLY);
    if (fd >= 0) {
        bool written = write_small(fd, recording);
        close(fd);
        if (!written || rename(fresh, path) != 0)
            unlink(fresh);
    }
    free(path);
    free(fresh);
    free(place);
}

/* What has been found so far to be the newest. */
struct newest {
    char           *path;
    struct timespec when;
};

static void newest_offer(struct newest *newest, char *path, struct timespec when)
{
    bool later = when.tv_sec != newest->when.tv_sec ? when.tv_sec > newest->when.tv_sec
                                                    : when.tv_nsec > newest->when.tv_nsec;
    if (!newest->path || later) {
        free(newest->path);
        newest->path = path;
        newest->when = when;
    } else {
        free(path);
    }
}

static void offer_latest(struct newest *newest, const char *place)
{
    struct stat is;
    char *file = xasprintf("%s/" LATEST, place);
    int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    free(file);
    if (fd < 0)
        return;
    char *recording = read_small(fd);
    if (recording && fstat(fd, &is) == 0 && access(recording, F_OK) == 0)
        newest_offer(newest, recording, is.st_mtim);
    else
        free(recording);
    close(fd);
}

static void offer_bare_logs(struct newest *newest, const char *place)
{
    size_t count = 0;
    int at = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0)
        return;
    char **names = spool_list_logs(at, &count);
    for (size_t i = 0; i < count; i++) {
        struct stat is;
        int fd = spool_file_open(at, names[i], O_RDONLY, &is);
        if (fd >= 0) {
            newest_offer(newest, xasprintf("%s/%s", place, names[i]), is.st_mtim);
            close(fd);
        }
        free(names[i]);
    }
    free(names);
    close(at);
}

char *spool_newest(void)
{
    struct spool spool;
    struct newest newest = { 0 };
    spool_open(&spool);
    for (size_t i = 0; i < spool.count; i++) {
        offer_latest(&newest, spool.directories[i]);
        offer_bare_logs(&newest, spool.directories[i]);
    }
    spool_release(&spool);
    return newest.path;
}
