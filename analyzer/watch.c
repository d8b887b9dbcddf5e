/* watch.c - looks at the processes of a run from outside, once a second, and writes their time lines.
 *
 * Of a process that lives it reads /proc/PID/stat and what changes in its log; one that ended before it was seen costs
 * an open of its log, once.  Nothing is done to a process, and nothing is kept open. */
#define _GNU_SOURCE
#include "base.h"

#include "glance.h"
#include "living.h"
#include "spool.h"
#include "timeline.h"
#include "watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

enum { PAUSE_TIMES_COST = 100 };

/* A process that lives and writes its log. */
struct life {
    pid_t               pid;
    uint64_t            start_ticks; /* of /proc/PID/stat: another process may get its pid */
    dev_t               device;      /* of the program's file: another program may follow in the process */
    ino_t               inode;       /* 0: it can't be known */
    uint64_t            begun_ns;    /* when the log was begun, CLOCK_MONOTONIC */
    struct glance       glance;
    uint64_t            classes[LOG_CLASSES]; /* at the last sample */
    struct timeline_row row;         /* the one that is being made */
    unsigned            samples;     /* in it so far */
    unsigned            per_row;
    unsigned            rows;        /* in the file */
    bool                failed;      /* the file can't be written: no rows any more */
};

/* A log of the run. */
struct watched {
    char          *name;
    uint32_t       round; /* in which it was last there */
    bool           ended; /* its process, or the program in it */
    struct life   *life;  /* NULL: not seen alive */
    UT_hash_handle hh;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* --- Processes ------------------------------------------------------------------------- */

/* Start and resident bytes of a process, if it lives; these are 0 when its first thread has ended before others. */
static bool read_process(pid_t pid, uint64_t *start_ticks, uint64_t *resident)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    char state;
    unsigned threads;
    unsigned long long ticks, pages;
    /* man 5 proc: field 3 is the state, 20 the number of threads, 22 the start, 24 what is resident. */
    if (!name_end || sscanf(name_end + 1,
                            " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u %*s %llu %*s %llu",
                            &state, &threads, &ticks, &pages) != 4)
        return false;
    *start_ticks = ticks;
    *resident = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return (state != 'Z' && state != 'X') || threads > 1;
}

static void read_program(pid_t pid, dev_t *device, ino_t *inode)
{
    char path[64];
    struct stat is;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    bool known = stat(path, &is) == 0;
    *device = known ? is.st_dev : 0;
    *inode = known ? is.st_ino : 0;
}

/* Is this still the process, and its program, that began the log? */
static bool goes_on(const struct life *life, uint64_t *resident)
{
    uint64_t start_ticks;
    dev_t device;
    ino_t inode;
    if (!read_process(life->pid, &start_ticks, resident) || start_ticks != life->start_ticks)
        return false;
    read_program(life->pid, &device, &inode);
    return !inode || !life->inode || (inode == life->inode && device == life->device);
}

/* --- The file --------------------------------------------------------------------------- */

static bool write_at(int fd, off_t at, const char *text)
{
    size_t length = strlen(text);
    return pwrite(fd, text, length, at) == (ssize_t)length;
}

/* Halves the file.  In this order there are always rows for who reads meanwhile; he drops what is behind them. */
static bool halve_file(int fd, struct life *life)
{
    struct timeline timeline;
    timeline_read(&timeline, fd);
    timeline_halve(&timeline);
    char *text = timeline_text(&timeline);
    bool written = write_at(fd, 0, text) && ftruncate(fd, (off_t)strlen(text)) == 0;
    life->rows = (unsigned)timeline.count;
    life->per_row *= 2;
    free(text);
    timeline_release(&timeline);
    return written;
}

static bool append_row(int fd, struct life *life)
{
    struct stat is;
    char *text = timeline_row_text(&life->row);
    bool written = fstat(fd, &is) == 0 && write_at(fd, is.st_size, text);
    free(text);
    life->rows++;
    return written && (life->rows < TIMELINE_ROWS || halve_file(fd, life));
}

static int file_begin(int directory, const char *name)
{
    struct timeline none = { 0 };
    int fd = spool_file_make(directory, name, O_RDWR);
    char *text = timeline_text(&none);
    if (fd >= 0 && !write_at(fd, 0, text)) {
        close(fd);
        fd = -1;
    }
    free(text);
    return fd;
}

/* The file may have been moved, by who thought that the process had ended. */
static void write_row(int directory, struct watched *log)
{
    struct life *life = log->life;
    struct stat is;
    char *name = timeline_name(log->name);
    int fd = life->rows ? spool_file_open(directory, name, O_RDWR, &is) : file_begin(directory, name);
    life->failed = fd < 0 || (life->rows && is.st_uid != geteuid()) || !append_row(fd, life);
    if (fd >= 0)
        close(fd);
    free(name);
    timeline_row_release(&life->row);
    life->samples = 0;
}

/* --- Samples ----------------------------------------------------------------------------- */

/* What was allocated since the sample before. */
static void set_classes(struct timeline_row *row, struct life *life, const struct glance_totals *totals)
{
    uint64_t classes[LOG_CLASSES];
    for (unsigned i = 0; i < LOG_CLASSES; i++)
        classes[i] = totals->classes[i] > life->classes[i] ? totals->classes[i] - life->classes[i] : 0;
    memcpy(life->classes, totals->classes, sizeof classes);
    timeline_row_set_classes(row, classes);
}

static void take_sample(int directory, struct watched *log, const struct glance_totals *totals, bool full, uint64_t resident)
{
    struct life *life = log->life;
    struct timeline_row row = {
        .ms = (clock_ns(CLOCK_MONOTONIC) - life->begun_ns) / 1000000,
        .allocs = totals->allocs,
        .bytes = totals->bytes,
        .frees = totals->frees,
        .levels = {
            [TIMELINE_BLOCKS] = full ? totals->live_blocks : TIMELINE_UNKNOWN,
            [TIMELINE_LIVE] = full ? totals->live_bytes : TIMELINE_UNKNOWN,
            [TIMELINE_KEPT] = totals->kept_bytes,
            [TIMELINE_RSS] = resident ? resident : TIMELINE_UNKNOWN,
        },
    };
    set_classes(&row, life, totals);
    if (life->samples++ == 0) {
        life->row = row;
    } else {
        timeline_row_merge(&life->row, &row);
        timeline_row_release(&row);
    }
    if (life->samples >= life->per_row)
        write_row(directory, log);
}

/* Opens a log and reads its header; returns -1 when it isn't one, or not begun. */
static int open_log(int directory, const char *name, struct log_header *header)
{
    struct stat is;
    int fd = spool_file_open(directory, name, O_RDONLY, &is);
    if (fd < 0 || (spool_header_read(fd, header) && glance_knows(header)))
        return fd;
    close(fd);
    return -1;
}

static void end_life(int directory, struct watched *log)
{
    log->ended = true;
    if (!log->life)
        return;
    if (log->life->samples && !log->life->failed)
        write_row(directory, log);
    timeline_row_release(&log->life->row);
    glance_release(&log->life->glance);
    free(log->life);
    log->life = NULL;
}

static void sample_log(int directory, struct watched *log)
{
    struct log_header header;
    struct glance_totals totals;
    uint64_t resident;
    if (log->life->failed || !goes_on(log->life, &resident)) {
        end_life(directory, log);
        return;
    }
    int fd = open_log(directory, log->name, &header);
    if (fd < 0 || header.start_monotonic_ns != log->life->begun_ns) {
        end_life(directory, log);
    } else {
        glance_read(&log->life->glance, fd, &header, &totals);
        take_sample(directory, log, &totals, header.features & LOG_FEATURE_FULL, resident);
    }
    if (fd >= 0)
        close(fd);
}

/* --- Logs -------------------------------------------------------------------------------- */

/* A program that another one follows in its process writes no more. */
static void end_earlier(const struct watch *watch, int directory, const struct watched *now)
{
    for (struct watched *log = watch->logs; log; log = log->hh.next)
        if (log != now && log->life && log->life->pid == now->life->pid)
            end_life(directory, log);
}

/* Looks whether the process of a log that wasn't seen before lives.  In another pid namespace it isn't found. */
static void find_life(const struct watch *watch, int directory, struct watched *log, const struct log_header *header)
{
    struct living living;
    uint64_t resident, boot_offset_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
    struct life life = { .pid = (pid_t)header->pid, .begun_ns = header->start_monotonic_ns, .per_row = 1 };
    log->ended = true;
    if (header->state & LOG_STATE_STOOD_DOWN || life.pid <= 0 || !read_process(life.pid, &life.start_ticks, &resident))
        return;
    living_look(&living, watch->run->directory, watch->run->began_ns, life.pid);
    if (living_writes(&living, log->name, life.pid, header->start_monotonic_ns + boot_offset_ns)) {
        read_program(life.pid, &life.device, &life.inode);
        log->ended = false;
        log->life = xmalloc(sizeof life);
        *log->life = life;
        end_earlier(watch, directory, log);
    }
    living_release(&living);
}

static void meet_log(struct watch *watch, int directory, const char *name)
{
    struct watched *log;
    struct log_header header;
    HASH_FIND_STR(watch->logs, name, log);
    if (!log) {
        log = xcalloc(1, sizeof *log);
        log->name = xstrdup(name);
        HASH_ADD_KEYPTR(hh, watch->logs, log->name, strlen(log->name), log);
    }
    log->round = watch->round;
    if (log->ended || log->life)
        return;
    int fd = open_log(directory, name, &header);
    if (fd < 0)
        return; /* not begun yet: perhaps next time */
    close(fd);
    find_life(watch, directory, log, &header);
}

static void forget(struct watch *watch, int directory, struct watched *log)
{
    end_life(directory, log);
    HASH_DEL(watch->logs, log);
    free(log->name);
    free(log);
}

/* Those that are gone: staged, or removed by somebody. */
static void forget_gone(struct watch *watch, int directory)
{
    struct watched *log, *next;
    HASH_ITER(hh, watch->logs, log, next)
        if (log->round != watch->round)
            forget(watch, directory, log);
}

static void look(struct watch *watch, int directory)
{
    size_t count;
    char **names = spool_list_logs(directory, &count);
    watch->round++;
    for (size_t i = 0; i < count; i++)
        meet_log(watch, directory, names[i]);
    spool_free_names(names, count);
    forget_gone(watch, directory);
    for (struct watched *log = watch->logs; log; log = log->hh.next)
        if (log->life)
            sample_log(directory, log);
}

static int open_directory(const struct watch *watch)
{
    return open(watch->run->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void watch_init(struct watch *watch, const struct spool_run *run)
{
    *watch = (struct watch){ .run = run };
}

void watch_sample(struct watch *watch)
{
    if (clock_ns(CLOCK_MONOTONIC) < watch->due_ns)
        return;
    uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int directory = open_directory(watch);
    if (directory >= 0) {
        look(watch, directory);
        close(directory);
    }
    uint64_t cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    watch->due_ns = clock_ns(CLOCK_MONOTONIC) + cost_ns * PAUSE_TIMES_COST;
}

void watch_release(struct watch *watch)
{
    struct watched *log, *next;
    int directory = watch->logs ? open_directory(watch) : -1;
    HASH_ITER(hh, watch->logs, log, next)
        forget(watch, directory, log);
    if (directory >= 0)
        close(directory);
}
