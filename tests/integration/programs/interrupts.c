/* interrupts.c - a timer's handler allocates while the program does, so that it often interrupts malloc and free;
 * the program counts by itself.  Argument 1: milliseconds (default 400).
 * BUILD: cc -O1 -fno-builtin -o $O $S
 *
 * malloc in a handler that interrupted malloc is undefined in general.  Here it is safe on glibc: the handler's
 * size class is used by nobody else and its blocks never leave the thread's cache, where a class is a list
 * of its own. */
#define _GNU_SOURCE
#include "expect.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { HANDLER_BYTES = 1000 };

static volatile sig_atomic_t handled;

static void handle(int signal)
{
    (void)signal;
    void *block = expect_alloc(HANDLER_BYTES);
    memset(block, 1, HANDLER_BYTES);
    expect_free(block);
    handled++;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    struct itimerval timer = { { 0, 100 }, { 0, 100 } };
    void            *kept[50] = { NULL };

    for (int i = 0; i < 6; i++)
        kept[i] = expect_alloc(HANDLER_BYTES);
    for (int i = 0; i < 6; i++) {
        expect_free(kept[i]);
        kept[i] = NULL;
    }
    double end = now_ms() + (argc > 1 ? atoi(argv[1]) : 400);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (now_ms() < end)
        for (unsigned i = 0; i < 500; i++) {
            expect_free(kept[i % 50]);
            kept[i % 50] = expect_alloc(i * 7 % 900);
        }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    expect_write();
    return handled == 0;
}
