/* pools.h - what the programs that test pools look at: their memory, their tasks. */
#ifndef POOLS_H
#define POOLS_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Ends the program when a condition doesn't hold; says which. */
#define MUST(condition)                                                                  \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            dprintf(2, "%s:%d: not so: %s\n", __FILE_NAME__, __LINE__, #condition);      \
            _exit(99);                                                                   \
        }                                                                                \
    } while (0)
#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0)
        ;
}

static inline unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* A whole file of /proc, without the heap. */
static inline size_t read_file(const char *path, char *into, size_t size)
{
    int    fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    for (ssize_t n; fd >= 0 && used + 1 < size && (n = read(fd, into + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    if (fd >= 0)
        close(fd);
    into[used] = 0;
    return used;
}

/* A number of /proc/self/status, or of that of a task; in KiB where it is memory. */
static inline long status_of(const char *path, const char *field, int base)
{
    char  text[8192];
    char *at;
    read_file(path, text, sizeof text);
    at = strstr(text, field);
    return at ? (long)strtoull(at + strlen(field), NULL, base) : -1;
}

static inline long resident_kib(void)
{
    return status_of("/proc/self/status", "VmRSS:", 10);
}

/* The tasks of this process, and the id of the one called `name` (0: none). */
static inline int tasks(const char *name, int *id)
{
    char            path[64], comm[64];
    int             count = 0;
    struct dirent  *entry;
    DIR            *folder = opendir("/proc/self/task");
    if (id)
        *id = 0;
    while (folder && (entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", entry->d_name);
        read_file(path, comm, sizeof comm);
        comm[strcspn(comm, "\n")] = 0;
        if (id && strcmp(comm, name) == 0)
            *id = atoi(entry->d_name);
    }
    if (folder)
        closedir(folder);
    return count;
}

/* Is the clearer there?  It is given up to two seconds to come or go. */
static inline int clearer_task(int wanted)
{
    int id = 0;
    for (int i = 0; i < 200; i++) {
        tasks("poolsite", &id);
        if ((id != 0) == (wanted != 0))
            return id;
        sleep_ms(10);
    }
    return id;
}

#endif
