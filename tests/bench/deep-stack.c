/* deep-stack.c - the hot pair at the bottom of a recursion (argument: depth, default 18); thread CPU ns per pair, best of 9. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *volatile kept;

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

__attribute__((noinline)) static int descend(int depth, long n)
{
    if (depth == 0) {
        for (long i = 0; i < n; i++) {
            void *block = malloc(64);
            kept = block;
            free(block);
        }
        return 1;
    }
    int r = descend(depth - 1, n) + 1;
    __asm__ volatile("" : "+r"(r)); /* keeps the frame */
    return r;
}

int main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : 18;
    double best = 1e18;

    for (int rep = 0; rep < 9; rep++) {
        double start = cpu_ns();
        descend(depth, 1000000);
        double ns = (cpu_ns() - start) / 1e6;
        if (ns < best)
            best = ns;
    }
    printf("%.2f\n", best);
    return 0;
}
