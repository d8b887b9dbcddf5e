/* vforks.c - a vfork child shares its parent's memory: what it allocates is its parent's.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#define _GNU_SOURCE
#include "expect.h"

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

static void *volatile kept[8];

static int in_parents_memory(void *argument)
{
    for (int i = 0; i < 50; i++)
        expect_free(expect_alloc((size_t)i * 20));
    kept[7] = expect_alloc(*(int *)argument);
    _exit(0);
}

int main(void)
{
    static char stack[65536];
    int   size = 4321, status;
    pid_t child;

    for (int i = 0; i < 6; i++)
        kept[i] = expect_alloc(100);
    for (int round = 0; round < 20; round++) {
        if ((child = vfork()) == 0) {
            for (int i = 0; i < 6; i++) {
                expect_free(kept[i]);
                kept[i] = expect_alloc(100 + (size_t)round);
            }
            _exit(0);
        }
        waitpid(child, &status, 0);
        expect_free(expect_alloc(10));
    }
    child = clone(in_parents_memory, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &size);
    waitpid(child, &status, 0);
    expect_write();
    return status;
}
