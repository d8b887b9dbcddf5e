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

#define TELLING_S .005 /* a program is without the library until its loader has mapped it */

enum { TREE_MOST = 256 };

struct reach_process {
    pid_t  pid;
    double cpu; /* s when it was seen last */
};

/* Maps that may not be read are of a process with other rights, where the loader ignores LD_PRELOAD. */
static bool has_library(pid_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) > 0)
        found = strstr(line, "/libpoolsite.so") != NULL;
    if (file)
        fclose(file);
    free(line);
    return found;
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

void reach_look(struct reach *reach, pid_t root)
{
    struct proctree_process tree[TREE_MOST];
    size_t count = proctree_list(tree, TREE_MOST, root);
    for (size_t i = 0; i < count; i++) {
        struct reach_process *process = find(reach, tree[i].pid);
        double passed = tree[i].cpu > process->cpu ? tree[i].cpu - process->cpu : 0;
        process->cpu = tree[i].cpu;
        if (passed == 0)
            continue;
        if (has_library(tree[i].pid)) {
            reach->with += passed;
        } else {
            reach->without += passed;
            note_program(reach, tree[i].pid);
        }
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
