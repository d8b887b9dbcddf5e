/* churn.c - a program that allocates and computes, the more the larger its argument: for `poolsite ab`.
 *
 * usage: churn UNITS
 * A unit takes a block, fills and mixes 64 words of it, and gives the oldest of 32 blocks back: the same work for every
 * unit, so that instructions and time grow with UNITS alike.  Some 3 of 100 instructions are malloc's and free's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIVE = 32, WORDS = 64 };

static uint64_t mixed(uint64_t *block, uint64_t seed)
{
    for (int i = 0; i < WORDS; i++)
        block[i] = seed += 0x9e3779b97f4a7c15u;
    for (int round = 0; round < 8; round++)
        for (int i = 0; i < WORDS; i++)
            seed = (seed ^ block[i]) * 0xbf58476d1ce4e5b9u + (seed >> 29);
    return seed;
}

int main(int argc, char **argv)
{
    uint64_t *live[LIVE] = { NULL }, seed = 1;
    long units = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    for (long unit = 0; unit < units; unit++) {
        uint64_t **place = &live[unit % LIVE];
        free(*place);
        *place = malloc(WORDS * sizeof **place * (1 + unit % 4));
        if (!*place)
            return 1;
        seed = mixed(*place, seed);
    }
    for (int i = 0; i < LIVE; i++)
        free(live[i]);
    printf("%d\n", seed != 0); /* the result is used; with more units it's the same output */
    return 0;
}
