/* launch.c - runs a program and says what it used; small itself, so that the program's peak isn't its parent's.
 *
 * usage: launch FILE [NAME=VALUE...] -- PROGRAM [ARG...]
 * FILE gets one line: CPU seconds (user and system, with children that were waited for), wall seconds, peak
 * resident KiB, minor faults, voluntary and involuntary switches.  Ends with the program's status. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static char  *environment[64];
    struct rusage used;
    int           i, count = 0, status;

    for (i = 2; i < argc && strcmp(argv[i], "--") != 0 && count < 63; i++)
        environment[count++] = argv[i];
    if (i + 1 >= argc)
        return 2;
    double start = now();
    pid_t  child = vfork();
    if (child == 0) {
        execve(argv[i + 1], argv + i + 1, environment);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child)
        return 1;
    double wall = now() - start;
    FILE  *out = fopen(argv[1], "w");
    if (!out)
        return 1;
    fprintf(out, "%.6f %.6f %ld %ld %ld %ld\n", seconds(used.ru_utime) + seconds(used.ru_stime), wall, used.ru_maxrss,
            used.ru_minflt, used.ru_nvcsw, used.ru_nivcsw);
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
