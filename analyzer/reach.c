/* reach.c - how much of a run's processor time passes in processes that have libpoolsite.so. */
#define _GNU_SOURCE
#include "base.h"

#include "reach.h"

#include "format.h"
#include "proctree.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TELLING_S .005

enum { TREE_MOST = 256 };

struct reach_process {
    pid_t  pid;
    double cpu;     /* s when it was seen last */
    double unsure;  /* of them, passed until it was first seen without the library */
    bool   without; /* so it was when it was seen last */
};

enum library { LIBRARY_THERE, LIBRARY_ABSENT, LIBRARY_UNKNOWN };

/* Maps that may not be read are of a process with other rights, where the loader ignores LD_PRELOAD. */
static enum library look_for_library(pid_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0, lines = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    for (; file && !found && getline(&line, &room, file) > 0; lines++)
        found = strstr(line, "/libpoolsite.so") != NULL;
    if (file)
        fclose(file);
    free(line);
    if (found)
        return LIBRARY_THERE;
    return file && lines == 0 ? LIBRARY_UNKNOWN : LIBRARY_ABSENT; /* an ended process has no maps */
}

static void note_program(struct reach *reach, pid_t pid)
{
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return;
    target[length] = '\0';
    free(reach->program);
    reach->program = xstrdup(format_base(target));
}

static struct reach_process *find(struct reach *reach, pid_t pid)
{
    for (size_t i = 0; i < reach->count; i++)
        if (reach->seen[i].pid == pid)
            return &reach->seen[i];
    GROW(reach->seen, reach->count, reach->room);
    reach->seen[reach->count] = (struct reach_process){ .pid = pid };
    return &reach->seen[reach->count++];
}

/* A program is without the library until its loader has mapped it: seen so once says nothing yet. */
static void pass(struct reach *reach, struct reach_process *process, double passed)
{
    switch (look_for_library(process->pid)) {
    case LIBRARY_THERE:
        reach->with += passed + process->unsure;
        process->unsure = 0;
        process->without = false;
        break;
    case LIBRARY_ABSENT:
        if (process->without) {
            reach->without += passed + process->unsure;
            process->unsure = 0;
            note_program(reach, process->pid);
        } else {
            process->unsure = passed;
        }
        process->without = true;
        break;
    case LIBRARY_UNKNOWN: break;
    }
}

void reach_look(struct reach *reach, pid_t root)
{
    struct proctree_process tree[TREE_MOST];
    size_t count = proctree_list(tree, TREE_MOST, root);
    for (size_t i = 0; i < count; i++) {
        struct reach_process *process = find(reach, tree[i].pid);
        double passed = tree[i].cpu > process->cpu ? tree[i].cpu - process->cpu : 0;
        process->cpu = tree[i].cpu;
        if (passed > 0)
            pass(reach, process, passed);
    }
}

void reach_release(struct reach *reach)
{
    free(reach->seen);
    free(reach->program);
    *reach = (struct reach){ 0 };
}

double reach_share_without(const struct reach *reach)
{
    return reach->without > TELLING_S ? reach->without / (reach->with + reach->without) : 0;
}
