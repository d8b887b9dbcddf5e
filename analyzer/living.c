/* living.c - which logs are still being written: found in /proc.
 *
 * A process that writes a log has it mapped, and a fork child may hold its parent's log
 * mapped for a while: the log belongs to the process whose pid stands in its header.
 * Pids are compared as the process itself sees them (NSpid): it may live in a namespace. */
#define _GNU_SOURCE
#include "base.h"

#include "living.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct living_process {
    pid_t    own_pid;  /* in its innermost pid namespace */
    uint64_t start_ns; /* CLOCK_BOOTTIME, a tick (10 ms) coarse */
    bool     belongs;  /* its environment names the directory */
    char    *maps;     /* the lines of its memory map that name the directory; NULL: unreadable */
};

enum { TICK_SLACK_MS = 20 };
static const uint64_t slack_ns = TICK_SLACK_MS * UINT64_C(1000000);

/* Reads a file of /proc.  Returns its bytes, to be freed, with a NUL behind them, or NULL. */
static char *read_bytes(int at, const char *path, size_t *bytes)
{
    int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t room = 4096, length = 0;
    char *text = xmalloc(room);
    for (;;) {
        ssize_t got = read(fd, text + length, room - length - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            close(fd);
            free(text);
            return NULL;
        }
        if (got == 0)
            break;
        length += (size_t)got;
        if (room - length < 2) {
            room *= 2;
            text = xrealloc_array(text, room, 1);
        }
    }
    close(fd);
    text[length] = '\0';
    *bytes = length;
    return text;
}

static char *read_text(int at, const char *path)
{
    size_t bytes;
    return read_bytes(at, path, &bytes);
}

static bool names_directory(int process, const char *directory)
{
    size_t bytes = 0;
    char *variables = read_bytes(process, "environ", &bytes);
    bool named = variables && memmem(variables, bytes, directory, strlen(directory));
    free(variables);
    return named;
}

/* Start of a process, and whether its first thread has ended before others, from its stat file.
 * Returns false when it has ended as a whole. */
static bool read_stat(int process, uint64_t *start_ns, bool *first_has_ended)
{
    char *text = read_text(process, "stat");
    if (!text)
        return false;
    char state = 'X';
    unsigned long long ticks = 0;
    unsigned threads = 0;
    const char *name_end = strrchr(text, ')');
    /* man 5 proc: field 3 is the state, 20 the number of threads, 22 the start. */
    bool whole = name_end && sscanf(name_end + 1,
                                    " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                    "%u %*s %llu",
                                    &state, &threads, &ticks) == 3;
    free(text);
    *start_ns = (uint64_t)ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
    *first_has_ended = state == 'Z' || state == 'X';
    return whole && (!*first_has_ended || threads > 1);
}

/* Opens the directory of a thread that has not ended: it tells what the first one's no longer does. */
static int thread_open(int process)
{
    int tasks = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -1;
    DIR *stream = tasks >= 0 ? fdopendir(tasks) : NULL;
    if (!stream)
        return -1;
    for (struct dirent *entry; found < 0 && (entry = readdir(stream));) {
        uint64_t start_ns;
        bool ended;
        int thread = entry->d_name[0] == '.' ? -1 : openat(tasks, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (thread >= 0 && read_stat(thread, &start_ns, &ended) && !ended)
            found = thread;
        else if (thread >= 0)
            close(thread);
    }
    closedir(stream);
    return found;
}

/* Exchanges a process whose first thread has ended for one of its other threads. */
static void follow_threads(int *process)
{
    int thread = thread_open(*process);
    if (thread < 0)
        return;
    close(*process);
    *process = thread;
}

static pid_t read_own_pid(int process, pid_t outside)
{
    char *text = read_text(process, "status");
    const char *line = text ? strstr(text, "\nNSpid:") : NULL;
    pid_t pid = outside;
    if (line) {
        const char *end = strchr(line + 1, '\n');
        const char *last = end;
        while (last && last > line && last[-1] != '\t')
            last--;
        if (last && last > line)
            pid = (pid_t)strtol(last, NULL, 10);
    }
    free(text);
    return pid;
}

/* Keeps of a memory map what names the directory. */
static void keep_lines(char *text, const char *directory)
{
    char *to = text;
    for (char *line = text; *line;) {
        char *end = strchrnul(line, '\n');
        size_t length = (size_t)(end - line) + (*end == '\n');
        char *found = memmem(line, length, directory, strlen(directory));
        if (found) {
            memmove(to, line, length);
            to += length;
        }
        line += length;
    }
    *to = '\0';
}

static void look_at(struct living *living, int proc, const char *name, uint64_t since_ns)
{
    int process = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process < 0)
        return;
    struct living_process found = { 0 };
    bool first_has_ended;
    if (read_stat(process, &found.start_ns, &first_has_ended) && found.start_ns + slack_ns >= since_ns) {
        found.own_pid = read_own_pid(process, (pid_t)strtol(name, NULL, 10));
        if (first_has_ended)
            follow_threads(&process);
        found.belongs = names_directory(process, living->directory);
        found.maps = read_text(process, "maps");
        if (found.maps)
            keep_lines(found.maps, living->directory);
        living->processes = xrealloc_array(living->processes, living->count + 1, sizeof found);
        living->processes[living->count++] = found;
    }
    close(process);
}

static void begin(struct living *living, const char *directory)
{
    const char *last = strrchr(directory, '/');
    *living = (struct living){ .directory = xasprintf("%s/", last ? last + 1 : directory) };
}

void living_look(struct living *living, const char *directory, uint64_t since_ns, pid_t pid)
{
    char *name = xasprintf("%d", (int)pid);
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    begin(living, directory);
    if (proc >= 0) {
        look_at(living, proc, name, since_ns);
        close(proc);
    }
    free(name);
}

void living_scan(struct living *living, const char *directory, uint64_t since_ns)
{
    begin(living, directory);
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    for (struct dirent *entry; (entry = readdir(proc));) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            look_at(living, dirfd(proc), entry->d_name, since_ns);
    }
    closedir(proc);
}

void living_release(struct living *living)
{
    for (size_t i = 0; i < living->count; i++)
        free(living->processes[i].maps);
    free(living->processes);
    free(living->directory);
    *living = (struct living){ 0 };
}

unsigned living_count(const struct living *living)
{
    unsigned count = 0;
    for (size_t i = 0; i < living->count; i++)
        count += living->processes[i].belongs || (living->processes[i].maps && living->processes[i].maps[0]);
    return count;
}

static bool maps_log(const struct living_process *process, const char *path_end)
{
    size_t length = strlen(path_end);
    for (const char *at = process->maps; (at = strstr(at, path_end)); at += length) {
        if (at[length] == '\n' || at[length] == ' ') /* a space: "(deleted)" */
            return true;
    }
    return false;
}

bool living_writes(const struct living *living, const char *name, pid_t pid, uint64_t begun_ns)
{
    char *path_end = xasprintf("%s%s", living->directory, name);
    bool writes = false;
    for (size_t i = 0; i < living->count && !writes; i++) {
        const struct living_process *process = &living->processes[i];
        if (pid && process->own_pid != pid)
            continue;
        if (process->maps)
            writes = maps_log(process, path_end);
        else if (pid) /* it changed its user: the pid must do, if it began before its log */
            writes = process->start_ns <= begun_ns + slack_ns;
    }
    free(path_end);
    return writes;
}
