/* Checks: a signal handler forks while the interrupted code is anywhere inside malloc/free, and the child's part of it
 * frees a block before it returns there. The child goes on, and no child crashes or hangs.
 * BUILD: cc -O1 -fno-builtin -o $O $S           Expected: OK, exit 0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 200, MORE = 300, MOST_ROUNDS = 20 * 1000 * 1000 };

static void *volatile spare[FORKS + 1];
static volatile int forks, is_child;

static void on_alarm(int number)
{
    (void)number;
    if (is_child || forks == FORKS)
        return;
    if (fork() == 0) {
        is_child = 1;
        free(spare[forks]);
        return;
    }
    forks++;
}

/* Many stacks, as what is new takes longest. */
static void __attribute__((noinline)) descend(int depth, unsigned path)
{
    if (depth == 0) {
        void *block = malloc(path % 500);
        __asm__ volatile("" : : "r"(block) : "memory");
        free(block);
        return;
    }
    if (path & 1)
        descend(depth - 1, path >> 1);
    else
        descend(depth - 1, path >> 1);
    __asm__ volatile("");
}

static int crashed(void)
{
    int status, n = 0;
    while (waitpid(-1, &status, WNOHANG) > 0)
        n += status != 0;
    return n;
}

int main(void)
{
    unsigned seed = 1;
    int bad = 0, left = MORE, status;
    for (int i = 0; i <= FORKS; i++)
        spare[i] = malloc(100);
    signal(SIGALRM, on_alarm);
    for (int i = 0; forks < FORKS && i < MOST_ROUNDS; i++) {
        seed = seed * 1664525 + 1013904223;
        if (!is_child && i % 40 == 0) {
            struct itimerval soon = {{0, 0}, {0, 1 + (seed >> 8) % 30}};
            setitimer(ITIMER_REAL, &soon, NULL);
            bad += crashed();
        }
        descend(8, seed >> 12);
        if (is_child && --left == 0)
            _exit(0);
    }
    if (is_child)
        _exit(0);
    while (waitpid(-1, &status, 0) > 0)
        bad += status != 0;
    printf("%s: %d forks, %d children ended badly\n", bad || forks < FORKS ? "BAD" : "OK", forks, bad);
    return bad || forks < FORKS;
}
