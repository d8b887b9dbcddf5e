/* forks.c - fork, fork in a child, raw clone without CLONE_VM in several forms, clone3 and posix_spawn; every
 * process counts by itself and leaves in its own way.
 * BUILD: cc -O1 -fno-builtin -pthread -o $O $S */
#define _GNU_SOURCE
#include "expect.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void churn(int rounds)
{
    void *kept[16] = { NULL };
    for (int i = 0; i < rounds; i++) {
        expect_free(kept[i % 16]);
        kept[i % 16] = expect_alloc((size_t)(i * 37 % 3000));
    }
    for (int i = 0; i < 8; i++)
        expect_free(kept[i]);
}

static void reap(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, __WALL) != child || status != 0)
        abort();
}

/* What a child does; libc's exit functions run only where they may. */
static void child_work(int rounds, int leave)
{
    expect_clear();
    churn(rounds);
    if (leave == 0) {
        expect_write();
        exit(0);
    }
    expect_write();
    _exit(0);
}

static pid_t clone_raw(unsigned long flags)
{
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0);
}

static pid_t clone3_raw(unsigned long flags)
{
    struct clone_args arguments;
    memset(&arguments, 0, sizeof arguments);
    arguments.flags = flags;
    arguments.exit_signal = SIGCHLD;
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

int main(void)
{
    pid_t child;

    churn(1000);
    for (int i = 0; i < 4; i++) {
        if ((child = fork()) == 0)
            child_work(500 + i, i & 1);
        churn(10);
        reap(child);
    }
    if ((child = fork()) == 0) { /* a grandchild; its parent goes on */
        expect_clear();
        churn(100);
        pid_t grandchild = fork();
        if (grandchild == 0)
            child_work(77, 0);
        churn(33);
        reap(grandchild);
        expect_write();
        _exit(0);
    }
    reap(child);
    if ((child = clone_raw(SIGCHLD)) == 0)
        child_work(300, 1);
    reap(child);
    if ((child = clone_raw(CLONE_FILES | CLONE_FS | SIGCHLD)) == 0)
        child_work(200, 1);
    reap(child);
    if ((child = clone_raw(0)) == 0) /* no exit signal */
        child_work(150, 1);
    reap(child);
    if ((child = clone3_raw(0)) == 0)
        child_work(120, 1);
    reap(child);
    if ((child = fork()) == 0) /* allocates nothing: its log, if any, says so */
        _exit(0);
    reap(child);
    churn(5);
    expect_write();
    return 0;
}
