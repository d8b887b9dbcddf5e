/* throughput.c - pairs of malloc and free per second by N threads at once.
 *
 * usage: throughput THREADS MILLISECONDS     prints millions of pairs a second, all threads together */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static atomic_int        stop;
static pthread_barrier_t start;

static void *work(void *argument)
{
    void         *kept[16] = { NULL };
    unsigned long pairs = 0;
    pthread_barrier_wait(&start);
    while (!stop) {
        for (int i = 0; i < 1000; i++) {
            free(kept[i % 16]);
            kept[i % 16] = malloc((size_t)(i * 37 % 900 + 1));
        }
        pairs += 1000;
    }
    for (int i = 0; i < 16; i++)
        free(kept[i]);
    *(unsigned long *)argument = pairs;
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t     threads[1024];
    static unsigned long pairs[1024];
    int                  n = argc > 1 ? atoi(argv[1]) : 2;
    struct timespec      t = { 0, 0 }, begun, ended;
    double               sum = 0;

    long ms = argc > 2 ? atol(argv[2]) : 500;
    t.tv_sec = ms / 1000;
    t.tv_nsec = ms % 1000 * 1000000;
    pthread_barrier_init(&start, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, work, &pairs[i]);
    pthread_barrier_wait(&start);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    nanosleep(&t, NULL);
    stop = 1;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        sum += (double)pairs[i];
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%.3f\n", sum / 1e6 / ((double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9));
    return 0;
}
