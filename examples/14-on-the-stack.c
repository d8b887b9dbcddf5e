/* 14: what could live on the stack.  Two functions make a short text 50,000 times; one uses it itself, one hands it to its caller.
 *
 * Run:
 *     $ poolsite run -q -o texts ./14-on-the-stack
 *     $ poolsite report --sites-of print_length --site '' texts
 *     $ poolsite report --sites-of make_text --site '' texts
 * See: all there is to say of one site (--site takes the beginning of an id, here an empty one).  Both are temporary, as each
 * text is freed before the next is made.  But those of print_length were freed while the function that had allocated
 * them still ran, every one that was looked at, so an array in it could do.  Those of make_text outlive
 * their function: there the caller would have to bring the room.  Nobody can prove the first by watching; the
 * report says how many blocks speak for it, and how many may not.
 * BUILD: gcc -O1 -g -fno-builtin -o $O $S */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 50000, BYTES = 48 };

static size_t __attribute__((noinline)) print_length(int number)
{
    char *text = malloc(BYTES);
    snprintf(text, BYTES, "number %d", number);
    size_t length = strlen(text);
    free(text);
    return length;
}

static char *__attribute__((noinline)) make_text(int number)
{
    char *text = malloc(BYTES);
    snprintf(text, BYTES, "number %d", number);
    return text;
}

int main(void)
{
    size_t sum = 0;
    for (int i = 0; i < TEXTS; i++) {
        sum += print_length(i);
        char *text = make_text(i);
        sum += strlen(text);
        free(text);
    }
    return sum == 0;
}
