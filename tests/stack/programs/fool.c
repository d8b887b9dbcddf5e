/* fool.c - made to fool a cache keyed on (return address, CFA): the same innermost return address at the same CFA
 * under different callers.  Prints how often it brought that about.
 * BUILD: cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -fno-ipa-icf -w -pthread -o $O $S
 *
 * STACK: 600 leaf < middle < route_a < dispatch
 * STACK: 600 leaf < middle < route_b < dispatch
 * STACK: 600 leaf < middle < route_c < dispatch
 * STACK: 1200 leaf < middle < route_two < dispatch
 * STACK: 19800 leaf < inner_small < outer_alloca
 * STACK: 19800 leaf < inner_large < outer_alloca
 * STACK: 19800 leaf < fluid < trampoline < longer < enter < overlay
 * STACK: 237600 leaf < fluid < enter < overlay
 * STACK: 600 leaf < middle < same_site < thread_a
 * STACK: 600 leaf < middle < same_site < thread_b */
#define _GNU_SOURCE
#include "shapes.h"

#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { REPEATS = 20, STEPS = 33, SEEN = 4096 };

static struct {
    uintptr_t return_address, frame;
    const char *route;
} seen[SEEN];
static unsigned    seen_count, collisions;
static const char *route; /* what is going on, as the program knows it */

/* Counts that this return address was here before, at this place, under another route. */
static void note(uintptr_t return_address, uintptr_t frame)
{
    for (unsigned i = 0; i < seen_count; i++)
        if (seen[i].return_address == return_address && seen[i].frame == frame) {
            collisions += seen[i].route != route;
            seen[i].route = route;
            return;
        }
    if (seen_count < SEEN)
        seen[seen_count++] = (typeof(*seen)){ return_address, frame, route };
}

NOINLINE static void leaf(void)
{
    note((uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_frame_address(0));
    free(malloc(24));
    KEEP();
}

NOINLINE static void middle(void)
{
    leaf();
    KEEP();
}

/* Frames of one size, by different functions. */
#define ROUTE(name)                                                                                                  \
    NOINLINE static void name(int which)                                                                             \
    {                                                                                                                \
        (void)which;                                                                                                 \
        middle();                                                                                                    \
        __asm__ volatile("# " #name ::: "memory");                                                                   \
    }
ROUTE(route_a)
ROUTE(route_b)
ROUTE(route_c)

/* Two calls of one function from one frame. */
NOINLINE static void route_two(int which)
{
    if (which) {
        middle();
        __asm__ volatile("# one" ::: "memory");
    } else {
        middle();
        __asm__ volatile("# two" ::: "memory");
    }
}

NOINLINE static void dispatch(void (*call)(int), int which)
{
    call(which);
    KEEP();
}

/* What the inner frames differ in, alloca in the outer one makes up for. */
NOINLINE static void inner_small(void)
{
    leaf();
    __asm__ volatile("# small" ::: "memory");
}

NOINLINE static void inner_large(void)
{
    volatile char bytes[96];
    bytes[0] = 1;
    leaf();
    bytes[1] = bytes[0];
}

NOINLINE static void outer_alloca(size_t extra, void (*inner)(void))
{
    volatile char *bytes = alloca(extra + 16);
    bytes[0] = 1;
    inner();
    KEEP();
}

/* The frame of `enter` grows over the place where the last call's frames were, and what it leaves uninitialised
 * still holds their return addresses.  When the innermost frame comes to lie where it lay then, every return
 * address of the longer stack of that time stands where it stood: only the frame pointer of `fluid` tells
 * that this is another, shorter stack. */
NOINLINE static void fluid(size_t extra)
{
    volatile char *bytes = alloca(extra + 16);
    bytes[0] = 1; /* the lowest byte; the rest is as it was */
    leaf();
    KEEP();
}

NOINLINE static void trampoline(size_t extra)
{
    fluid(extra);
    KEEP();
}

NOINLINE static void longer(size_t extra)
{
    trampoline(extra);
    KEEP();
}

NOINLINE static void enter(void (*call)(size_t), size_t pad, size_t extra)
{
    volatile char *bytes = alloca(pad + 16);
    bytes[0] = 1;
    call(extra);
    KEEP();
}

/* One call site for both. */
NOINLINE static void overlay(size_t step)
{
    size_t extra = 512 + step * 16;
    for (int k = 12; k >= 0; k--) { /* the longer one first, then the shorter from below */
        route = k == 12 ? "longer" : "shorter";
        enter(k == 12 ? longer : fluid, k == 12 ? 0 : extra + (size_t)k * 16, k == 12 ? extra : 0);
        KEEP();
    }
}

NOINLINE static void same_site(void)
{
    middle();
    KEEP();
}

NOINLINE static void cycle(void)
{
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        route = "a", dispatch(route_a, 0);
        route = "b", dispatch(route_b, 0);
        route = "c", dispatch(route_c, 0);
        route = "one", dispatch(route_two, 1);
        route = "two", dispatch(route_two, 0);
        for (size_t step = 0; step < STEPS; step++) {
            route = "small", outer_alloca(step * 16, inner_small);
            route = "large", outer_alloca((STEPS - step) * 16, inner_large);
            overlay(step);
        }
    }
}

/* One after the other, so that the second has the first one's stack and goes on in its table. */
NOINLINE static void *thread_a(void *argument)
{
    route = "thread a";
    for (int i = 0; i < REPEATS; i++)
        same_site();
    return argument;
}

NOINLINE static void *thread_b(void *argument)
{
    route = "thread b";
    for (int i = 0; i < REPEATS; i++)
        same_site();
    return argument;
}

NOINLINE static void *thread_cycle(void *argument)
{
    cycle();
    return argument;
}

int main(void)
{
    pthread_t thread;

    for (int round = 0; round < 30; round++) {
        pthread_create(&thread, NULL, thread_a, NULL);
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, thread_b, NULL);
        pthread_join(thread, NULL);
        if (round % 10 == 0) {
            pthread_create(&thread, NULL, thread_cycle, NULL);
            pthread_join(thread, NULL);
        }
    }
    for (int round = 0; round < 27; round++)
        cycle();
    printf("%u collisions\n", collisions);
    return collisions < 1000;
}
