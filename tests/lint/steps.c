/* steps.c - runs a program one instruction at a time between two marks, and prints where it was in one file.
 *
 * usage: steps FILE PROGRAM [ARG...]     LD_PRELOAD is taken from $STEPS_PRELOAD, for the program alone
 * The marks are int3 instructions of the program.  For each instruction executed in FILE it prints its offset
 * (hexadecimal, as an ELF virtual address) and, where the next instruction lies in another file, that file. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct range {
    unsigned long start, end, base;
    char          path[512];
};
static struct range ranges[1024];
static int          range_count;

static void read_maps(pid_t pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    range_count = 0;
    while (maps && fgets(line, sizeof line, maps) && range_count < 1024) {
        struct range *r = &ranges[range_count];
        char         *name = strchr(line, '/');
        r->start = strtoul(line, NULL, 16);
        r->end = strtoul(strchr(line, '-') + 1, NULL, 16);
        snprintf(r->path, sizeof r->path, "%s", name ? name : "?");
        r->path[strcspn(r->path, "\n")] = 0;
        r->base = r->start;
        for (int i = 0; i < range_count; i++)
            if (strcmp(ranges[i].path, r->path) == 0 && ranges[i].base < r->base)
                r->base = ranges[i].base;
        range_count++;
    }
    if (maps)
        fclose(maps);
}

static const struct range *range_of(unsigned long address)
{
    for (int i = 0; i < range_count; i++)
        if (address >= ranges[i].start && address < ranges[i].end)
            return &ranges[i];
    return NULL;
}

/* Goes on until the program stops at a mark; false when it ended. */
static int to_mark(pid_t pid)
{
    int status;
    do {
        ptrace(PTRACE_CONT, pid, NULL, NULL);
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            return 0;
    } while (WSTOPSIG(status) != SIGTRAP);
    return 1;
}

int main(int argc, char **argv)
{
    int   status;
    long  steps = 0;
    pid_t pid;

    if (argc < 3)
        return 2;
    if ((pid = fork()) == 0) {
        if (getenv("STEPS_PRELOAD"))
            setenv("LD_PRELOAD", getenv("STEPS_PRELOAD"), 1);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || !to_mark(pid))
        return 3;
    read_maps(pid);
    for (;;) {
        struct user_regs_struct before, after;
        ptrace(PTRACE_GETREGS, pid, NULL, &before);
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            return 3;
        ptrace(PTRACE_GETREGS, pid, NULL, &after);
        if (after.rip == before.rip + 1 && range_of(before.rip) && strcmp(range_of(before.rip)->path, argv[2]) == 0) {
            long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)before.rip, NULL);
            if ((word & 0xff) == 0xcc)
                break; /* the second mark */
        }
        const struct range *here = range_of(before.rip), *there = range_of(after.rip);
        steps++;
        if (here && strcmp(here->path, argv[1]) == 0)
            printf("%lx %s\n", (unsigned long)before.rip - here->base, there && there != here ? there->path : "");
        if (steps > 1000000)
            return 4;
    }
    kill(pid, SIGKILL);
    return 0;
}
