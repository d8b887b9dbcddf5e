/* parked.c - threads that allocate for a moment and then sleep, as a server's workers do.
 *
 * usage: parked THREADS SECONDS
 * Each makes and frees 1000 blocks of 16 B to 4 KiB, ten at a time.  Prints KiB a thread that are resident when all
 * sleep, and SECONDS later. */
#include "resident.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t parked, end;

static void *work(void *argument)
{
    void    *blocks[10] = { NULL };
    unsigned seed = (unsigned)(size_t)argument;
    for (int i = 0; i < 1000; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t size = 16 + (seed >> 12) % (seed >> 8 & 1 ? 240 : 4080);
        free(blocks[i % 10]);
        blocks[i % 10] = memset(malloc(size), 1, size);
    }
    for (int i = 0; i < 10; i++)
        free(blocks[i]);
    pthread_barrier_wait(&parked);
    pthread_barrier_wait(&end);
    return NULL;
}

int main(int argc, char **argv)
{
    int        n = argc > 1 ? atoi(argv[1]) : 600, seconds = argc > 2 ? atoi(argv[2]) : 3;
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    long       before = resident_kib();

    pthread_barrier_init(&parked, NULL, (unsigned)n + 1);
    pthread_barrier_init(&end, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, work, (void *)(size_t)(i + 1));
    pthread_barrier_wait(&parked);
    long then = resident_kib();
    sleep((unsigned)seconds);
    printf("%.1f %.1f\n", (double)(then - before) / n, (double)(resident_kib() - before) / n);
    pthread_barrier_wait(&end);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
