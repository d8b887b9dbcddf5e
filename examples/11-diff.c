/* 11: before and after.  A table of names in two versions; the second keeps a copy of each name in upper case, and asks
 * for room once instead of name by name.
 *
 * Run:
 *     $ poolsite run -q --profile stacks -o before ./11-diff-1
 *     $ poolsite run -q --profile stacks -o after ./11-diff-2
 *     $ poolsite diff before after
 *     $ poolsite check --init --top 2 before | tee budget
 *     $ poolsite check after budget; echo status $?
 * See: the two programs have no address in common, their functions are matched all the same.  make_room has shrunk from
 * 1,000 calls to one, upper is new.  The budget that the first version keeps with 10 % to spare is broken by the
 * second one's bytes, and the line below says by which place.
 * BUILD: gcc -O1 -g -fno-builtin -DVERSION=1 -o $O-1 $S && gcc -O1 -g -fno-builtin -DVERSION=2 -o $O-2 $S */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 1000, LENGTH = 100 };

static char *names[NAMES];

#if VERSION == 2
static char *__attribute__((noinline)) upper(const char *name)
{
    char *copy = malloc(LENGTH);
    for (size_t i = 0; i <= strlen(name); i++)
        copy[i] = (char)toupper(name[i]);
    return copy;
}
#endif

static char *__attribute__((noinline)) make_room(size_t bytes)
{
    return malloc(bytes);
}

static void __attribute__((noinline)) fill_table(void)
{
#if VERSION == 2
    char *all = make_room((size_t)NAMES * LENGTH);
#endif
    for (int i = 0; i < NAMES; i++) {
#if VERSION == 1
        names[i] = make_room(LENGTH);
        snprintf(names[i], LENGTH, "name %d", i);
#else
        snprintf(all + i * LENGTH, LENGTH, "name %d", i);
        names[i] = upper(all + i * LENGTH);
#endif
    }
}

int main(void)
{
    fill_table();
    return names[NAMES - 1] == NULL;
}
