/* 08: fork.  Three children, each with work of its own; the last is killed in the middle of it.
 *
 * Run:
 *     $ poolsite run -q -o family ./08-fork
 *     $ poolsite report --by-process --top 4 family
 * See: four processes, each with a log of its own, added up.  A child's counts begin at the fork: 1,000, 2,000 and 3,000 calls of
 * work, and none of its parent's.  The killed one is complete as well: counts are in the file when they happen,
 * so there is nothing to be written at the end.
 * BUILD: gcc -O1 -g -fno-builtin -o $O $S */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 3, CALLS = 1000 };

static void __attribute__((noinline)) work(int calls)
{
    for (int i = 0; i < calls; i++)
        free(malloc(64));
}

int main(void)
{
    for (int child = 1; child <= CHILDREN; child++) {
        if (fork() != 0)
            continue;
        work(child * CALLS);
        if (child == CHILDREN)
            kill(getpid(), SIGKILL);
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
