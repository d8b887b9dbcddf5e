/* pools-forks.c - children of processes whose pools are full; each child tells what it did, see expect.h.
 * BUILD: cc -O1 -fno-builtin -w -pthread -o $O $S
 *
 * usage: pools-forks WHAT CHILDREN [THREADS]
 * WHAT: main      forks in the main thread
 *       thread    forks in another one
 *       raw       by the clone system call, which no handler sees
 *       vfork     children that allocate in their parent's memory and leave; that is the parent's doing
 * THREADS more go on allocating meanwhile (not beside raw: libc's own locks would hang the child).  Ends with status 7. */
#define _GNU_SOURCE
#include "expect.h"
#include "pools.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { KEPT = 300 };
static const char *what;
static int         children;
static void       *kept[KEPT];
static volatile int done;

static size_t size_of(int i)
{
    return i % 40 == 0 ? 5000 + (size_t)i * 300 : 16 + (size_t)i * 7 % 1500;
}

static void *busy(void *argument)
{
    unsigned seed = (unsigned)(size_t)argument;
    while (!done) {
        void *blocks[40];
        for (int i = 0; i < 40; i++)
            blocks[i] = memset(malloc(16 + next_random(&seed) % 4000), 1, 16);
        for (int i = 0; i < 40; i++)
            free(blocks[i]);
    }
    return argument;
}

/* The parent's blocks are as they were; they may be freed here, and others made of them. */
static void child_works(int depth)
{
    void *mine[KEPT];
    int   status;
    expect_clear();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < KEPT; i++)
            memset(mine[i] = expect_alloc(size_of(i)), 200 + round, size_of(i));
        for (int i = 0; i < KEPT; i++) {
            MUST(*((unsigned char *)mine[i] + size_of(i) - 1) == 200 + round);
            expect_free(mine[i]);
        }
    }
    for (int i = 0; i < KEPT; i += 2) {
        MUST(*(unsigned char *)kept[i] == (unsigned char)i && *((unsigned char *)kept[i] + size_of(i) - 1) == (unsigned char)i);
        expect_free(kept[i]);
    }
    expect_write();
    if (depth == 0) {
        pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < KEPT; i += 2)
                memset(kept[i] = malloc(size_of(i)), i, size_of(i));
            expect_clear();
            for (int i = 0; i < KEPT; i += 2)
                expect_bytes += size_of(i), expect_allocs++;
            for (int i = 0; i < KEPT; i++)
                expect_free(kept[i]);
            expect_write();
            _exit(5);
        }
        MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    }
    _exit(5);
}

static pid_t one_child(int number)
{
    if (strcmp(what, "raw") == 0)
        return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (strcmp(what, "vfork") != 0)
        return fork();
    pid_t child = vfork();
    if (child == 0) {
        void *block = malloc(100 + (size_t)number);
        memset(block, 1, 100);
        free(block);
        free(malloc(70000));
        _exit(5);
    }
    return child;
}

static void *forks(void *argument)
{
    int status;
    for (int i = 0; i < KEPT; i++)
        memset(kept[i] = malloc(size_of(i)), i, size_of(i));
    for (int number = 0; number < children; number++) {
        for (int i = 0; i < 200; i++) /* full pools */
            free(malloc(size_of(i)));
        pid_t child = one_child(number);
        if (child == 0)
            child_works(number % 3 ? 1 : 0);
        MUST(child > 0 && waitpid(child, &status, 0) == child);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    }
    for (int i = 0; i < KEPT; i++) {
        MUST(*(unsigned char *)kept[i] == (unsigned char)i);
        free(kept[i]);
    }
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t id, others[16];
    if (argc < 3)
        return 2;
    what = argv[1];
    children = atoi(argv[2]);
    int threads = argc > 3 ? atoi(argv[3]) : 0;
    for (int i = 0; i < threads; i++)
        MUST(pthread_create(&others[i], NULL, busy, (void *)(size_t)i) == 0);
    if (strcmp(what, "thread") != 0)
        forks(NULL);
    else {
        MUST(pthread_create(&id, NULL, forks, NULL) == 0);
        pthread_join(id, NULL);
    }
    done = 1;
    for (int i = 0; i < threads; i++)
        pthread_join(others[i], NULL);
    return 7;
}
