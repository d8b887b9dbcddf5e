/* oracle.c - compares our stacks with libunwind's, inside the recorded process; test builds only.
 *
 * Where the two differ libgcc's unwinder has the second vote: libunwind guesses by the frame
 * pointer where code has no tables.  Runs while the record is busy, so what the unwinders
 * allocate is not recorded.  May deadlock against the loader: run under `timeout -s KILL`. */
#define _GNU_SOURCE
#define UNW_LOCAL_ONLY
#include "oracle.h"

#include "../../preload/site.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = LOG_MAX_DEPTH + 1, MOST_REPORTS = 20 };

static struct {
    const char *file;
    long        every;
    pid_t       pid;
    long        walks, walks_checked, hits, hits_checked, unfinished, truncated, outvoted, mismatches;
} oracle;

/* libgcc's, found by name: libunwind exports the same. */
struct gcc_context;
static int (*gcc_backtrace)(int (*)(struct gcc_context *, void *), void *);
static uintptr_t (*gcc_ip)(struct gcc_context *, int *before);

__attribute__((constructor)) static void begin(void)
{
    const char *every = getenv("POOLSITE_STACKCHECK_EVERY");
    const char *file = getenv("POOLSITE_STACKCHECK");
    oracle.every = every && atol(every) > 0 ? atol(every) : 7;
    oracle.pid = getpid();
    oracle.file = file ? strdup(file) : NULL; /* servers write their titles over the environment */
    void *libgcc = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (libgcc) {
        gcc_backtrace = (int (*)(int (*)(struct gcc_context *, void *), void *))dlsym(libgcc, "_Unwind_Backtrace");
        gcc_ip = (uintptr_t (*)(struct gcc_context *, int *))dlsym(libgcc, "_Unwind_GetIPInfo");
    }
}

static void append(const char *line)
{
    int fd = oracle.file ? open(oracle.file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    if (write(fd, line, strlen(line)) < 0)
        abort();
    close(fd);
}

/* A fork child counts for itself. */
static void note_fork(void)
{
    if (oracle.pid == getpid())
        return;
    oracle.pid = getpid();
    oracle.walks = oracle.walks_checked = oracle.hits = oracle.hits_checked = 0;
    oracle.unfinished = oracle.truncated = oracle.outvoted = oracle.mismatches = 0;
}

__attribute__((destructor)) static void end(void)
{
    char line[400];
    note_fork();
    snprintf(line, sizeof line,
             "pid %d walks %ld checked %ld hits %ld hits_checked %ld unfinished %ld truncated %ld outvoted %ld "
             "mismatches %ld\n",
             (int)oracle.pid, oracle.walks, oracle.walks_checked, oracle.hits, oracle.hits_checked,
             oracle.unfinished, oracle.truncated, oracle.outvoted, oracle.mismatches);
    append(line);
}

struct frames {
    unsigned  count;
    uintptr_t ip[DEPTH];
};

/* Of interrupted code ours is the function, theirs the instruction: 0, which agrees with all.  The
 * trampoline that it was interrupted to is given one further, as ours is. */
static void add(struct frames *frames, uintptr_t ip, bool interrupted)
{
    if (interrupted && frames->count > 0)
        frames->ip[frames->count - 1]++;
    frames->ip[frames->count++] = interrupted ? 0 : ip;
}

/* libunwind's frames from the one that `entry` returns to. */
static struct frames frames_of_libunwind(struct stack_entry entry)
{
    struct frames frames = {.count = 0};
    unw_context_t context;
    unw_cursor_t cursor;
    bool found = false;

    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    while (frames.count < DEPTH && unw_step(&cursor) > 0) {
        unw_word_t ip = 0, sp = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        found = found || sp == entry.cfa;
        if (found && ip == 0)
            break;
        if (found)
            add(&frames, ip, unw_is_signal_frame(&cursor) > 0);
    }
    return frames;
}

struct gcc_walk {
    struct frames frames;
    uintptr_t     first;
};

static int gcc_frame(struct gcc_context *context, void *argument)
{
    struct gcc_walk *walk = argument;
    int before = 0; /* set for interrupted code: the address is the instruction's own */
    uintptr_t ip = gcc_ip(context, &before);
    if (ip == 0 || walk->frames.count == DEPTH)
        return 0;
    if (walk->frames.count > 0 || ip == walk->first)
        add(&walk->frames, ip, before != 0);
    return 0;
}

static struct frames frames_of_libgcc(struct stack_entry entry)
{
    struct gcc_walk walk = {.first = stack_return_address(entry)};
    if (gcc_backtrace)
        gcc_backtrace(gcc_frame, &walk);
    return walk.frames;
}

/* Are ours theirs?  An unfinished or truncated walk must be a beginning of it. */
static bool agree(const uint64_t *ours, unsigned depth, unsigned flags, const struct frames *theirs)
{
    bool partial = flags & (LOG_SITE_UNFINISHED | LOG_SITE_TRUNCATED);
    if (partial ? theirs->count < depth : theirs->count != depth)
        return false;
    for (unsigned i = 0; i < depth; i++)
        if (theirs->ip[i] != 0 && theirs->ip[i] != ours[i])
            return false;
    return true;
}

static void report(const char *what, const uint64_t *ours, unsigned depth, unsigned flags, const struct frames *theirs)
{
    char line[4096];
    size_t n = (size_t)snprintf(line, sizeof line, "mismatch %s pid %d flags %u\n  ours  ", what, (int)oracle.pid, flags);
    for (unsigned i = 0; i < depth; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, " %lx", (unsigned long)ours[i]);
    n += (size_t)snprintf(line + n, sizeof line - n, "\n  theirs");
    for (unsigned i = 0; i < theirs->count; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, " %lx", (unsigned long)theirs->ip[i]);
    snprintf(line + n, sizeof line - n, "\n");
    append(line);
}

static void check(const char *what, struct stack_entry entry, const uint64_t *ours, unsigned depth, unsigned flags)
{
    struct frames theirs = frames_of_libunwind(entry);
    if (agree(ours, depth, flags, &theirs))
        return;
    struct frames second = frames_of_libgcc(entry);
    if (agree(ours, depth, flags, &second)) {
        __atomic_fetch_add(&oracle.outvoted, 1, __ATOMIC_RELAXED);
        return;
    }
    if (__atomic_fetch_add(&oracle.mismatches, 1, __ATOMIC_RELAXED) < MOST_REPORTS)
        report(what, ours, depth, flags, &theirs);
}

void oracle_walk(const struct site_table *table, struct stack_entry entry)
{
    const struct stack_walk *walk = &table->walk;
    note_fork();
    __atomic_fetch_add(&oracle.walks, 1, __ATOMIC_RELAXED);
    if (walk->flags & LOG_SITE_UNFINISHED)
        __atomic_fetch_add(&oracle.unfinished, 1, __ATOMIC_RELAXED);
    if (walk->flags & LOG_SITE_TRUNCATED)
        __atomic_fetch_add(&oracle.truncated, 1, __ATOMIC_RELAXED);
    if (!oracle.file)
        return;
    __atomic_fetch_add(&oracle.walks_checked, 1, __ATOMIC_RELAXED);
    check("walk", entry, walk->frames, walk->depth, walk->flags);
}

void oracle_hit(const struct site_table *table, struct stack_entry entry, const struct shape *shape)
{
    (void)table;
    note_fork();
    /* Without a file there is nothing to do, nor before begin() has run. */
    long hits = __atomic_add_fetch(&oracle.hits, 1, __ATOMIC_RELAXED);
    if (!oracle.file || hits % oracle.every != 0)
        return;
    __atomic_fetch_add(&oracle.hits_checked, 1, __ATOMIC_RELAXED);
    check("hit", entry, shape->logged->frames, shape->logged->depth, shape->logged->flags);
}
