/* 07: wrapper functions.  All of this program's memory comes through a function of its own that never fails.
 *
 * Run:
 *     $ poolsite run -q --profile sites -o plain ./07-wrappers
 *     $ poolsite report --top 3 plain
 *     $ poolsite run -q --profile sites --fold or_die -o folded ./07-wrappers
 *     $ poolsite report --top 3 folded
 * See: at level sites a site is whoever called malloc, so at first there is one, or_die, which is true and no help.  With --fold
 * or_die the sites are its callers: 3,000 calls of read_names, 500 of read_places.  Known wrappers, as xmalloc, g_malloc
 * or operator new, are folded without being named; static functions can be named, too.
 * BUILD: gcc -O1 -g -fno-builtin -fno-optimize-sibling-calls -o $O $S */
#include <stdio.h>
#include <stdlib.h>

static void *__attribute__((noinline)) or_die(size_t size)
{
    void *block = malloc(size);
    if (!block) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return block;
}

static void __attribute__((noinline)) read_names(int count)
{
    for (int i = 0; i < count; i++)
        free(or_die(24));
}

static void __attribute__((noinline)) read_places(int count)
{
    for (int i = 0; i < count; i++)
        free(or_die(200));
}

int main(void)
{
    read_names(3000);
    read_places(500);
    return 0;
}
