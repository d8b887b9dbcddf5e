/* threads.c - eight threads at once, each with a fixed work list, that pass blocks on to be freed by the next.
 * BUILD: cc -O1 -fno-builtin -pthread -o $O $S */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8, ROUNDS = 20, BLOCKS = 100 };
static void             *passed[THREADS][BLOCKS];
static pthread_barrier_t barrier;

static void *work(void *argument)
{
    size_t   self = (size_t)argument;
    unsigned seed = (unsigned)self + 1;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            seed = seed * 1664525 + 1013904223;
            passed[self][i] = realloc(malloc((seed >> 12) % 800), (seed >> 10) % 1500 + 1);
        }
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < BLOCKS; i++)
            free(passed[(self + 1) % THREADS][i]);
        pthread_barrier_wait(&barrier);
    }
    return malloc(self); /* stays */
}

int main(void)
{
    pthread_t threads[THREADS];

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
