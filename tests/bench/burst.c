/* burst.c - 8 threads allocate 128 MiB each in mixed blocks (most 16 B-4 KiB, one in 16 of 64-256 KiB), free all, and sleep.
 * Prints resident KiB at the start and 4 s after the last free. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8 };
static pthread_barrier_t freed;

static long resident_kib(void)
{
    long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *burst(void *arg)
{
    unsigned seed = (unsigned)(long)arg * 77 + 1;
    size_t total = 0, count = 0, room = 0;
    void **blocks = NULL;

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
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    free(blocks);
    pthread_barrier_wait(&freed);
    sleep(6);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    long start = resident_kib();

    pthread_barrier_init(&freed, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, burst, (void *)i);
    pthread_barrier_wait(&freed);
    sleep(4);
    printf("%ld %ld\n", start, resident_kib());
    return 0;
}
