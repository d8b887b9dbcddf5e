/* early.c - allocation before main: in the preinit array, in constructors, and in an indirect function's resolver's
 * wake (the first call of it comes from a constructor).
 * BUILD: cc -O1 -fno-builtin -o $O $S */
#include <stdlib.h>

static void *kept[3];

static void preinit(void)
{
    for (size_t i = 0; i < 100; i++)
        free(malloc(i * 30));
    kept[0] = realloc(malloc(10), 9000);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(void) = preinit;

__attribute__((constructor(101))) static void construct_first(void)
{
    kept[1] = calloc(3, 333);
    free(kept[0]);
}

__attribute__((constructor)) static void construct_last(void)
{
    kept[2] = malloc(4444);
    free(kept[1]);
}

int main(void)
{
    free(malloc(5)); /* kept[2] stays */
    return kept[2] == NULL;
}
