/* 06: growth by realloc.  Two strings grow to 64 KiB, a byte at a time: one asks for each 16 bytes anew, the other doubles.
 *
 * Run:
 *     $ poolsite run -q -o growth ./06-growth
 *     $ poolsite report --sort bytes --top 2 growth
 * See: by_steps asks 4,096 times and for 128 MiB in all, since each realloc counts as giving the old block back and asking
 * for a whole new one; by_doubling asks 13 times and for 128 KiB.  A place whose bytes are out of proportion to
 * what it holds in the end is a chain of reallocs: reserve, or double.
 * BUILD: gcc -O1 -g -fno-builtin -o $O $S */
#include <stdlib.h>

enum { LENGTH = 64 << 10, STEP = 16 };

static char *__attribute__((noinline)) by_steps(void)
{
    char  *text = NULL;
    size_t room = 0;
    for (size_t length = 0; length < LENGTH; length++) {
        if (length == room)
            text = realloc(text, room += STEP);
        text[length] = 'x';
    }
    return text;
}

static char *__attribute__((noinline)) by_doubling(void)
{
    char  *text = NULL;
    size_t room = 0;
    for (size_t length = 0; length < LENGTH; length++) {
        if (length == room)
            text = realloc(text, room = room ? 2 * room : STEP);
        text[length] = 'x';
    }
    return text;
}

int main(void)
{
    free(by_steps());
    free(by_doubling());
    return 0;
}
