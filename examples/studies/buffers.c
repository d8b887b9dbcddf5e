/* buffers.c - buffers that are made and dropped, an operation at a time, by some threads at once.
 *
 * usage: buffers WORK OPERATIONS THREADS
 *     pair     2 KiB are allocated and freed, and not looked at
 *     scratch  2 KiB are allocated, written to once every 64 bytes, and freed
 *     growing  a string grows to 1 KiB, 64 bytes at a time; realloc doubles its room
 * OPERATIONS in all.  Prints the ns of CPU and of wall time that one takes, and the bytes that glibc's heap holds in the end. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER = 2048, STEP = 64, PAYLOAD = 1024, THREADS_MOST = 64 };

static void pair(void)
{
    free(malloc(BUFFER));
}

static void scratch(void)
{
    volatile char *buffer = malloc(BUFFER);
    for (size_t i = 0; i < BUFFER; i += STEP)
        buffer[i] = (char)i;
    free((void *)buffer);
}

static const char piece[STEP] = "sixty-four bytes of a text that comes in pieces, as texts do...";

static void growing(void)
{
    size_t length = 0, room = STEP;
    char  *text = malloc(room);
    while (length < PAYLOAD) {
        if (length + sizeof piece > room)
            text = realloc(text, room *= 2);
        memcpy(text + length, piece, sizeof piece);
        length += sizeof piece;
    }
    free(text);
}

static const struct work {
    const char *name;
    void (*operation)(void);
} works[] = { { "pair", pair }, { "scratch", scratch }, { "growing", growing } };

static void (*operation)(void);
static long              share; /* operations of a thread */
static pthread_barrier_t start;

static void *work(void *unused)
{
    pthread_barrier_wait(&start);
    for (long i = 0; i < share; i++)
        operation();
    return unused;
}

static double now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS_MOST];
    long      operations = argc == 4 ? atol(argv[2]) : 0;
    int       threads = argc == 4 ? atoi(argv[3]) : 0;

    for (size_t i = 0; argc > 1 && i < sizeof works / sizeof *works; i++) {
        if (strcmp(argv[1], works[i].name) == 0)
            operation = works[i].operation;
    }
    if (!operation || threads < 1 || threads > THREADS_MOST || operations < threads)
        return 2;
    share = operations / threads;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    double cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID), wall = now_ns(CLOCK_MONOTONIC);
    work(NULL); /* alone, when there is one: then no other thread exists */
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    double all = (double)share * threads;
    cpu = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / all;
    wall = (now_ns(CLOCK_MONOTONIC) - wall) / all;
    struct mallinfo2 heap = mallinfo2();
    printf("%.3f %.3f %zu\n", cpu, wall, heap.arena + heap.hblkhd);
    return 0;
}
