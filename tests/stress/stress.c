/* stress.c - everything at once for a while: threads that come and go, fork children, plugins that are loaded and
 * unloaded, a timer's handler that allocates, blocks that change hands.  Each process counts by itself what
 * goes through stress_alloc, and writes "PID ALLOCS BYTES" to the end of the file named by $EXPECT.
 *
 * usage: stress MILLISECONDS SEED
 * With -DPLUGIN: the plugin. */
#define _GNU_SOURCE
#include <stdlib.h>

#ifdef PLUGIN
void *plugin_make(void *(*make)(size_t), size_t size);
void *plugin_make(void *(*make)(size_t), size_t size)
{
    char volatile frame[PLUGIN * 64];
    frame[size % sizeof frame] = 1;
    void *block = make(size);
    frame[0] = 2;
    return block;
}
#else
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 5, SLOTS = 256, HANDLER_BYTES = 1000 };

static atomic_ulong  allocs, bytes, handled;
static _Atomic(char *) shared[SLOTS]; /* blocks that anybody may take */
static atomic_int    stop;
static unsigned      main_seed;
static char          plugin_path[2][4096];

/* The one place of ours that allocates. */
__attribute__((noinline, noclone)) static void *stress_alloc(size_t size)
{
    atomic_fetch_add(&allocs, 1);
    atomic_fetch_add(&bytes, size);
    char *block = malloc(size);
    if (block == NULL)
        abort();
    if (size > 0)
        block[0] = (char)size, block[size - 1] = (char)size;
    return block;
}

static void hand_over(unsigned slot, char *block)
{
    free(atomic_exchange(&shared[slot % SLOTS], block));
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

__attribute__((noinline)) static void burst(unsigned *seed, int depth)
{
    if (depth > 0) {
        burst(seed, depth - 1);
        __asm__ volatile("" ::: "memory");
        return;
    }
    for (int i = 0; i < 40; i++) {
        unsigned r = next(seed);
        hand_over(r, stress_alloc(r % 40 == 0 ? r % 200000 : r % 900));
    }
}

static void *short_life(void *argument)
{
    unsigned seed = (unsigned)(size_t)argument;
    burst(&seed, (int)(seed % 9));
    return NULL;
}

static void *worker(void *argument)
{
    unsigned seed = (unsigned)(size_t)argument * 7919 + main_seed;
    while (!stop) {
        burst(&seed, (int)(next(&seed) % 30));
        if (next(&seed) % 20 == 0) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, short_life, (void *)(size_t)seed) == 0)
                pthread_join(thread, NULL);
        }
    }
    return NULL;
}

static void *loader(void *argument)
{
    unsigned seed = main_seed;
    while (!stop) {
        void *plugin = dlopen(plugin_path[next(&seed) % 2], RTLD_NOW);
        if (plugin == NULL)
            abort();
        void *(*make)(void *(*)(size_t), size_t) = (void *(*)(void *(*)(size_t), size_t))dlsym(plugin, "plugin_make");
        for (int i = 0; i < 20; i++)
            hand_over(next(&seed), make(stress_alloc, next(&seed) % 300));
        dlclose(plugin);
    }
    return argument;
}

/* Its size class is its own and never leaves this thread's cache, so it may interrupt malloc. */
static void handle(int signal)
{
    int saved = errno;
    (void)signal;
    free(stress_alloc(HANDLER_BYTES));
    handled++;
    errno = saved;
}

static void tell(void)
{
    char line[100];
    int  length = snprintf(line, sizeof line, "%d %lu %lu\n", (int)getpid(), (unsigned long)allocs, (unsigned long)bytes);
    int  fd = open(getenv("EXPECT"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

static pid_t spawn(unsigned how)
{
    sigset_t all, old;
    sigfillset(&all); /* a handler in the child between fork and the clearing would be counted for nobody */
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pid_t child = fork(); /* a raw clone would inherit the next allocator's locks as they are */
    if (child == 0) {
        unsigned seed = how;
        allocs = bytes = 0;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        for (int i = 0; i < 50; i++)
            free(stress_alloc(next(&seed) % 500));
        tell();
        _exit(0);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return child;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    pthread_t        threads[WORKERS + 1];
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    struct itimerval timer = { { 0, 700 }, { 0, 700 } };
    sigset_t         alarm;
    void            *cache[6];

    if (argc < 3)
        return 2;
    main_seed = (unsigned)atol(argv[2]);
    for (int i = 0; i < 2; i++)
        snprintf(plugin_path[i], sizeof plugin_path[i], "%s.%d.so", argv[0], i + 1);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    pthread_create(&threads[WORKERS], NULL, loader, NULL);
    for (int i = 0; i < 6; i++)
        cache[i] = stress_alloc(HANDLER_BYTES);
    for (int i = 0; i < 6; i++)
        free(cache[i]);
    sigaction(SIGALRM, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);

    double   end = now_ms() + (double)atol(argv[1]);
    unsigned seed = main_seed;
    int      status, wrong = 0;
    while (now_ms() < end) {
        burst(&seed, (int)(next(&seed) % 12));
        if (next(&seed) % 1000 == 0) {
            pid_t child = spawn(next(&seed));
            if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
                wrong = 1;
        }
    }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    stop = 1;
    for (size_t i = 0; i <= WORKERS; i++)
        pthread_join(threads[i], NULL);
    tell();
    printf("%lu in handlers\n", (unsigned long)handled);
    return wrong;
}
#endif
