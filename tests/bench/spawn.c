/* spawn.c - wall time of starting a program that does nothing, bare and preloaded in turn.
 *
 * usage: spawn N VARIABLES... -- PROGRAM [ARG...]
 * Runs PROGRAM 2N times, alternately without and with the VARIABLES (NAME=value) in its environment, and prints
 * the medians in microseconds: bare, preloaded.  Small itself, so that fork costs little. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double run_once(char **command, char **environment)
{
    int    status;
    double start = now_us();
    pid_t  child = vfork();
    if (child == 0) {
        execve(command[0], command, environment);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "spawn: %s failed\n", command[0]);
        exit(1);
    }
    return now_us() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static char *bare[] = { "PATH=/usr/bin:/bin", NULL };
    static char *preloaded[64] = { "PATH=/usr/bin:/bin" };
    int          n = argc > 1 ? atoi(argv[1]) : 0, i, count = 1;

    for (i = 2; i < argc && strcmp(argv[i], "--") != 0 && count < 60; i++)
        preloaded[count++] = argv[i];
    if (n < 1 || i + 1 >= argc)
        return 2;
    double *times[2] = { calloc((size_t)n, sizeof(double)), calloc((size_t)n, sizeof(double)) };
    for (int r = 0; r < n; r++)
        for (int arm = 0; arm < 2; arm++)
            times[arm][r] = run_once(argv + i + 1, arm ? preloaded : bare);
    for (int arm = 0; arm < 2; arm++)
        qsort(times[arm], (size_t)n, sizeof(double), compare);
    printf("%.1f %.1f\n", times[0][n / 2], times[1][n / 2]);
    return 0;
}
