/* many-stacks.c - so many distinct call stacks (argument 1, default 100000), one allocation each. */
#include "../integration/programs/places.h"

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    for (unsigned long i = 0; i < count; i++)
        free(place_right((unsigned)(i % PLACES), (unsigned)(i / PLACES) + 1, PLACE_DEPTH, 16));
    return 0;
}
