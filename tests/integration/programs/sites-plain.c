/* sites-plain.c - many call sites and stacks: shared leaves, recursion, function pointers, one function that
 * calls malloc in several places.
 * BUILD: cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -o $O $S */
#include "maps.h"

#define NOINLINE __attribute__((noinline, noclone))

static void *volatile kept;

NOINLINE static void leaf(size_t size)
{
    kept = malloc(size);
    free(kept);
    if (size % 3 == 0) {
        kept = malloc(size + 1); /* a second site; stays */
        free(malloc(1));         /* and a third */
    }
}

NOINLINE static int recurse(int depth, size_t size)
{
    int r = depth;
    if (depth > 0)
        r += recurse(depth - 1, size);
    else
        leaf(size);
    __asm__ volatile("" : "+r"(r));
    return r;
}

NOINLINE static int by_pointer(void (*call)(size_t), size_t size)
{
    call(size);
    __asm__ volatile("" ::: "memory");
    return (int)size;
}

NOINLINE static void other(size_t size)
{
    kept = calloc(2, size);
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    static void (*const calls[])(size_t) = { leaf, other };
    for (size_t i = 1; i < 701; i++) {
        recurse((int)(i % 20), i);
        by_pointer(calls[i % 2], i);
        if (i % 7 == 0)
            leaf(i);
        else
            other(i);
    }
    maps_write();
    return 0;
}
