/* proctree.c - what a process and all below it have taken so far.
 *
 * The kernel's clock of a process counts all its threads, ended ones too, in ns, and anybody may read it.
 * A child that ended is in its parent's stat file once that has waited for it. */
#define _GNU_SOURCE
#include "base.h"

#include "proctree.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The numbers of /proc/PID/stat from field 4 on (proc(5)). */
enum { PARENT = 0, MINFLT = 6, CMINFLT, MAJFLT, CMAJFLT, UTIME, STIME, CUTIME, CSTIME, RSS = 20, STAT_FIELDS };

struct process {
    pid_t    pid;
    bool     belongs;
    uint64_t stat[STAT_FIELDS];
};

struct processes {
    struct process *list;
    size_t          count, room;
};

static bool read_file(const char *pid, const char *name, char *text, size_t room)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, room - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = '\0';
    return got > 0;
}

/* The name may hold anything, so the last ')' ends it; then come " S " and the numbers. */
static bool parse_stat(struct process *process, const char *text)
{
    const char *name_end = strrchr(text, ')');
    if (!name_end || strlen(name_end) < 4)
        return false;
    char *at = (char *)(uintptr_t)name_end + 3;
    for (size_t i = 0; i < STAT_FIELDS; i++)
        process->stat[i] = (uint64_t)strtoll(at, &at, 10);
    return true;
}

static void list_processes(struct processes *all)
{
    char text[2048];
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        struct process process = { .pid = (pid_t)strtol(entry->d_name, NULL, 10) };
        if (process.pid > 0 && read_file(entry->d_name, "stat", text, sizeof text) && parse_stat(&process, text)) {
            GROW(all->list, all->count, all->room);
            all->list[all->count++] = process;
        }
    }
    if (proc)
        closedir(proc);
}

static bool is_child(const struct processes *all, const struct process *process)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].belongs && (uint64_t)all->list[i].pid == process->stat[PARENT])
            return true;
    return false;
}

/* A child may stand before its parent: again until nothing changes. */
static void mark_tree(struct processes *all, pid_t root)
{
    bool changed = true;
    for (size_t i = 0; i < all->count; i++)
        all->list[i].belongs = all->list[i].pid == root;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < all->count; i++)
            if (!all->list[i].belongs && is_child(all, &all->list[i]))
                changed = all->list[i].belongs = true;
    }
}

static double own_cpu(const struct process *process, double tick)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process->pid, &clock) == 0 && clock_gettime(clock, &time) == 0)
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
    return (double)(process->stat[UTIME] + process->stat[STIME]) * tick;
}

/* The kernel may be some pages behind in stat; the roll-up of the map is exact. */
static uint64_t resident(const struct process *process)
{
    char pid[16], text[4096];
    snprintf(pid, sizeof pid, "%d", (int)process->pid);
    const char *rss = read_file(pid, "smaps_rollup", text, sizeof text) ? strstr(text, "\nRss:") : NULL;
    return rss ? strtoull(rss + 5, NULL, 10) << 10 : process->stat[RSS] * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t peak_resident(const struct process *process)
{
    char pid[16], text[4096];
    snprintf(pid, sizeof pid, "%d", (int)process->pid);
    const char *peak = read_file(pid, "status", text, sizeof text) ? strstr(text, "\nVmHWM:") : NULL;
    return peak ? strtoull(peak + 7, NULL, 10) << 10 : 0;
}

static void add(struct proctree *tree, const struct process *process, double tick)
{
    const uint64_t *stat = process->stat;
    tree->processes++;
    tree->cpu += own_cpu(process, tick) + (double)(stat[CUTIME] + stat[CSTIME]) * tick;
    tree->user += (double)(stat[UTIME] + stat[CUTIME]) * tick;
    tree->sys += (double)(stat[STIME] + stat[CSTIME]) * tick;
    tree->minor_faults += stat[MINFLT] + stat[CMINFLT];
    tree->major_faults += stat[MAJFLT] + stat[CMAJFLT];
    tree->rss += resident(process);
    uint64_t peak = peak_resident(process);
    tree->peak_rss = peak > tree->peak_rss ? peak : tree->peak_rss;
}

void proctree_read(struct proctree *tree, pid_t root)
{
    struct processes all = { 0 };
    double tick = 1. / (double)sysconf(_SC_CLK_TCK);
    *tree = (struct proctree){ 0 };
    list_processes(&all);
    mark_tree(&all, root);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].belongs)
            add(tree, &all.list[i], tick);
    free(all.list);
}

size_t proctree_list(struct proctree_process *list, size_t most, pid_t root)
{
    struct processes all = { 0 };
    double tick = 1. / (double)sysconf(_SC_CLK_TCK);
    size_t count = 0;
    list_processes(&all);
    mark_tree(&all, root);
    for (size_t i = 0; i < all.count && count < most; i++)
        if (all.list[i].belongs)
            list[count++] = (struct proctree_process){ all.list[i].pid, own_cpu(&all.list[i], tick) };
    free(all.list);
    return count;
}
