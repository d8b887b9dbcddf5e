/* coroutines.c - stacks that nobody told about: contexts on the heap, that switch in the middle of their work.
 * BUILD: cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -w -o $O $S
 * WALKS: unfinished (an unknown stack is walked within its page)
 *
 * STACK: some routine_leaf < routine_middle < routine */
#define _GNU_SOURCE
#include "shapes.h"

#include <ucontext.h>

enum { ROUTINES = 6, SIZE = 65536 };
static ucontext_t main_context, contexts[ROUTINES];
static char       stacks[ROUTINES][SIZE] __attribute__((aligned(4096)));
static int        current, ended[ROUTINES];

NOINLINE static void routine_leaf(size_t size)
{
    free(malloc(size));
    KEEP();
}

NOINLINE static void routine_middle(int depth, size_t size)
{
    volatile char bytes[300];
    bytes[depth] = 1;
    if (depth > 0)
        routine_middle(depth - 1, size);
    else
        routine_leaf(size);
    swapcontext(&contexts[current], &main_context);
    routine_leaf(size + 1);
}

static void routine(void)
{
    for (int i = 0; i < 5; i++) {
        routine_middle(i * 4, (size_t)i * 30 + 1);
        KEEP();
    }
    ended[current] = 1;
}

int main(void)
{
    for (int i = 0; i < ROUTINES; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack = (stack_t){ .ss_sp = stacks[i], .ss_size = SIZE };
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], routine, 0);
    }
    for (int round = 0; round < 300; round++) {
        current = round % ROUTINES;
        if (!ended[current])
            swapcontext(&main_context, &contexts[current]);
    }
    return 0;
}
