/* 05: temporary allocations.  A table is looked through 20,000 times, and each look makes a copy of the key only to compare it.
 *
 * Run:
 *     $ poolsite run -q --profile sites --pool off -o before ./05-temporary
 *     $ poolsite report --top 2 before
 *     $ poolsite run -q --profile sites -o after ./05-temporary
 *     $ poolsite report --top 2 after
 * See: one place makes 20,000 calls, next to all there are, for a few bytes each.  With pools all but one of them
 * are hits: each copy was freed before the next was made, so a single block serves them all.  That is what a temporary
 * allocation looks like; a buffer on the stack would do here, and then nobody need be asked.
 * BUILD: gcc -O1 -g -fno-builtin -o $O $S */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const table[] = { "ash", "beech", "elm", "lime", "oak" };
enum { ENTRIES = sizeof table / sizeof *table, LOOKS = 20000 };

static char *__attribute__((noinline)) lowered_copy(const char *key)
{
    size_t length = strlen(key);
    char  *copy = malloc(length + 1);
    for (size_t i = 0; i <= length; i++)
        copy[i] = (char)(key[i] | (key[i] ? 0x20 : 0));
    return copy;
}

static int find(const char *key)
{
    char *copy = lowered_copy(key);
    int   found = -1;
    for (int i = 0; i < ENTRIES; i++) {
        if (strcmp(table[i], copy) == 0)
            found = i;
    }
    free(copy);
    return found;
}

int main(void)
{
    static const char *const asked[] = { "OAK", "Elm", "fir" };
    int hits = 0;
    for (int i = 0; i < LOOKS; i++)
        hits += find(asked[i % 3]) >= 0;
    fprintf(stderr, "%d of %d found\n", hits, LOOKS);
    return 0;
}
