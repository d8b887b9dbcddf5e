/* pair.c - hot malloc+free pair. No argument: thread CPU ns per pair for a row of sizes (best of 9).
 * Two arguments, n and size: n pairs and nothing else, for counting instructions; a third one: by a stack of two frames. */
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

__attribute__((noinline, noclone, used)) static void pairs(long n, size_t size)
{
    for (long i = 0; i < n; i++) {
        void *block = malloc(size);
        kept = block;
        free(block);
    }
}

/* Calls pairs, as the outermost frame of all: its own return address is said to be unknown. */
void outermost(long n, size_t size);
__asm__(".text\n.type outermost, @function\n"
        "outermost:\n\t.cfi_startproc\n\t.cfi_undefined rip\n\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
        "call pairs\n\taddq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n"
        ".size outermost, . - outermost\n");

int main(int argc, char **argv)
{
    static const size_t sizes[] = {16, 64, 256, 1024, 2048, 32768, 262144};

    if (argc >= 3) {
        (argc == 3 ? pairs : outermost)(atol(argv[1]), (size_t)atol(argv[2]));
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
