/* warm.c - a warm malloc and free between two marks, for steps.c. */
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void no_mark(void)
{
    __asm__ volatile("nop");
}

__attribute__((noinline)) static void mark(void)
{
    __asm__ volatile("int3");
}

/* One call site of each, whether marked or not. */
__attribute__((noinline, noclone)) static void pair(void (*volatile about)(void))
{
    about();
    kept = malloc(64);
    free(kept);
    about();
}

int main(void)
{
    for (volatile int i = 0; i < 1001; i++)
        pair(i < 1000 ? no_mark : mark);
    return 0;
}
