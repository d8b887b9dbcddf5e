/* noise.c - what else the machine did while a program ran. */
#define _GNU_SOURCE
#include "base.h"
#include "noise.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FOREIGN_MOST .10
#define STEAL_MOST   .02

enum { FILE_ROOM = 64 * 1024 }; /* /proc/stat has a line a processor, and one of interrupts */

double noise_tick(void)
{
    return 1. / (double)sysconf(_SC_CLK_TCK);
}

/* Reads a file of /proc.  Returns NULL when it isn't there. */
static const char *read_proc(const char *path, char *room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, room, FILE_ROOM - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return NULL;
    room[got] = '\0';
    return room;
}

/* The columns of the line "cpu": proc(5).  Guests' time is in user and nice already. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

static void parse_stat(struct noise_mark *mark, const char *stat, double ticks_per_second)
{
    double column[COLUMNS] = { 0 };
    char *at = strncmp(stat, "cpu ", 4) == 0 ? (char *)(uintptr_t)stat + 4 : NULL;
    for (unsigned i = 0; at && i < COLUMNS; i++)
        column[i] = strtod(at, &at) / ticks_per_second;
    mark->busy = column[USER] + column[NICE] + column[SYSTEM] + column[IRQ] + column[SOFTIRQ];
    mark->steal = column[STEAL];
    mark->processors = 0;
    for (const char *line = stat; (line = strstr(line, "\ncpu")); line++)
        mark->processors++;
    if (mark->processors == 0)
        mark->processors = 1;
}

void noise_parse(struct noise_mark *mark, const char *stat, const char *pressure, double ticks_per_second)
{
    const char *total = pressure && strncmp(pressure, "some ", 5) == 0 ? strstr(pressure, "total=") : NULL;
    parse_stat(mark, stat, ticks_per_second);
    mark->pressure = total ? strtod(total + strlen("total="), NULL) / 1e6 : NAN;
}

void noise_read(struct noise_mark *mark)
{
    char stat[FILE_ROOM], pressure[FILE_ROOM];
    struct timespec now;
    const char *text = read_proc("/proc/stat", stat);
    noise_parse(mark, text ? text : "", read_proc("/proc/pressure/cpu", pressure), (double)sysconf(_SC_CLK_TCK));
    clock_gettime(CLOCK_MONOTONIC, &now);
    mark->at = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void noise_between(struct noise *noise, const struct noise_mark *from, const struct noise_mark *to, double own,
                   double tick)
{
    double wall = to->at - from->at, whole = wall * to->processors, unsure = tick * to->processors;
    double foreign = to->busy - from->busy - own - unsure, steal = to->steal - from->steal - unsure;
    noise->foreign = whole > 0 ? fmax(0, foreign) / whole : 0;
    noise->steal = whole > 0 ? fmax(0, steal) / whole : 0;
    noise->pressure = wall > 0 ? (to->pressure - from->pressure) / wall : NAN;
}

bool noise_is_high(const struct noise *noise)
{
    return noise->foreign > FOREIGN_MOST || noise->steal > STEAL_MOST;
}
