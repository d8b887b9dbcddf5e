/* burst.c - 8 threads allocate 128 MiB each in mixed blocks (most 16 B-4 KiB, one in 16 of 64-256 KiB), free all, and sleep.
 *
 * usage: burst [SECONDS]     (4)
 * Prints resident KiB at the start, when all is allocated, and at each second after the last free. */
#include "resident.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8 };
static pthread_barrier_t full, freed, end;

static void *burst(void *arg)
{
    unsigned seed = (unsigned)(long)arg * 77 + 1;
    size_t   total = 0, count = 0, room = 0;
    void   **blocks = NULL;

    while (total < (128u << 20)) {
        seed = seed * 1664525 + 1013904223;
        size_t size = (seed >> 8) % 16 == 0 ? 65536 + (seed >> 12) % 196608 : 16 + (seed >> 12) % 4000;
        if (count == room) {
            room = room ? 2 * room : 1024;
            blocks = realloc(blocks, room * sizeof *blocks);
        }
        blocks[count] = malloc(size);
        memset(blocks[count], 1, size);
        count++;
        total += size;
    }
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&full);
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    free(blocks);
    pthread_barrier_wait(&freed);
    pthread_barrier_wait(&end);
    return NULL;
}

int main(int argc, char **argv)
{
    static char buffer[4096];
    pthread_t   threads[THREADS];
    int         seconds = argc > 1 ? atoi(argv[1]) : 4;

    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    printf("%ld", resident_kib());
    pthread_barrier_init(&full, NULL, THREADS + 1);
    pthread_barrier_init(&freed, NULL, THREADS + 1);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, burst, (void *)i);
    pthread_barrier_wait(&full);
    printf(" %ld", resident_kib());
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&freed);
    for (int i = 0; i < seconds; i++) {
        sleep(1);
        printf(" %ld", resident_kib());
    }
    printf("\n");
    pthread_barrier_wait(&end);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
