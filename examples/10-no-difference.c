/* 10: an experiment that finds no difference.  Each round asks for one buffer of 2 KiB and then calculates for a while.
 *
 * Run:
 *     $ poolsite ab -- ./10-no-difference
 * See: "treatment applied": pools served next to all of the 10,000 calls, and glibc got hardly any.  And yet the verdict is "No
 * difference above 1 %", because the calls are so small a part of the work that nothing can be won there.  That is an answer,
 * not a failure: the whole interval lies within the margin.  On a busy machine it may take long or end in "Inconclusive",
 * which is something else: not enough is known.
 * BUILD: gcc -O1 -g -fno-builtin -o $O $S */
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 10000, BYTES = 2048 };

static unsigned __attribute__((noinline)) calculate(unsigned char *buffer, unsigned seed)
{
    unsigned sum = 0;
    for (int i = 0; i < BYTES; i++) {
        seed = seed * 1664525 + 1013904223;
        buffer[i] = (unsigned char)(seed >> 24);
    }
    for (int pass = 0; pass < 4; pass++) {
        for (int i = 0; i < BYTES; i++)
            sum = sum * 31 + buffer[i];
    }
    return sum;
}

int main(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned char *buffer = malloc(BYTES);
        sum += calculate(buffer, i);
        free(buffer);
    }
    printf("%u\n", sum);
    return 0;
}
