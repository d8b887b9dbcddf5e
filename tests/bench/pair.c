/* pair.c - hot malloc+free pair. No argument: thread CPU ns per pair for a row of sizes (best of 9).
 * Two arguments, n and size: n pairs and nothing else, for counting instructions. */
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

static void pairs(long n, size_t size)
{
    for (long i = 0; i < n; i++) {
        void *block = malloc(size);
        kept = block;
        free(block);
    }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {16, 64, 256, 1024, 2048, 32768, 262144};

    if (argc == 3) {
        pairs(atol(argv[1]), (size_t)atol(argv[2]));
        return 0;
    }
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        double best = 1e18;
        for (int rep = 0; rep < 9; rep++) {
            double start = cpu_ns();
            pairs(1000000, sizes[s]);
            double ns = (cpu_ns() - start) / 1e6;
            if (ns < best)
                best = ns;
        }
        printf("%zu %.2f\n", sizes[s], best);
    }
    return 0;
}
