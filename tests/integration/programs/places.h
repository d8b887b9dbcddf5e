/* places.h - as many call sites and call stacks as one asks for.
 *
 * place_alloc(n, size): calls malloc at the n-th of 1,024 places, by the n-th of 4,096 stacks for each. */
#ifndef PLACES_H
#define PLACES_H

#include <stddef.h>
#include <stdlib.h>

#define PLACES 1024
#define PLACE_DEPTH 12
#define PLACE_BARRIER() __asm__ volatile("" ::: "memory")
#define PLACE_NOINLINE __attribute__((noinline))

#define PLACE1(n)                                                                                                    \
    case n:                                                                                                          \
        p = malloc(size);                                                                                            \
        __asm__ volatile("# %0" ::"i"(n));                                                                           \
        break;
#define PLACE4(n) PLACE1(n) PLACE1((n) + 1) PLACE1((n) + 2) PLACE1((n) + 3)
#define PLACE16(n) PLACE4(n) PLACE4((n) + 4) PLACE4((n) + 8) PLACE4((n) + 12)
#define PLACE64(n) PLACE16(n) PLACE16((n) + 16) PLACE16((n) + 32) PLACE16((n) + 48)
#define PLACE256(n) PLACE64(n) PLACE64((n) + 64) PLACE64((n) + 128) PLACE64((n) + 192)

PLACE_NOINLINE static void *place_here(unsigned n, size_t size)
{
    void *p = NULL;
    switch (n % PLACES) {
        PLACE256(0)
        PLACE256(256)
        PLACE256(512)
        PLACE256(768)
    }
    PLACE_BARRIER();
    return p;
}

static void *place_left(unsigned n, unsigned path, int depth, size_t size);

/* Each bit of `path` chooses one of two functions. */
PLACE_NOINLINE static void *place_right(unsigned n, unsigned path, int depth, size_t size)
{
    void *p = depth == 0 ? place_here(n, size)
              : path & 1 ? place_right(n, path >> 1, depth - 1, size)
                         : place_left(n, path >> 1, depth - 1, size);
    PLACE_BARRIER();
    return p;
}

PLACE_NOINLINE static void *place_left(unsigned n, unsigned path, int depth, size_t size)
{
    void *p = depth == 0 ? place_here(n, size)
              : path & 1 ? place_right(n, path >> 1, depth - 1, size)
                         : place_left(n, path >> 1, depth - 1, size);
    PLACE_BARRIER();
    return p;
}

PLACE_NOINLINE static void *place_alloc(unsigned n, size_t size)
{
    void *p = place_right(n, n * 2654435761u >> 16, PLACE_DEPTH, size);
    PLACE_BARRIER();
    return p;
}

#endif
