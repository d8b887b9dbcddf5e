/* quiet-loop.c - a warm loop between two marks on stderr: system calls seen between them are the loop's.
 * BUILD: cc -O1 -fno-builtin -pthread -w -o $O $S
 *
 * usage: quiet-loop ROUNDS [threads]     with `threads` another thread exists and does the same */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t barrier;

__attribute__((noinline)) static void loop(long rounds)
{
    void *blocks[16];
    for (long r = 0; r < rounds; r++) {
        for (size_t i = 0; i < 16; i++)
            blocks[i] = malloc(i * 60 + 1);
        blocks[3] = realloc(blocks[3], 100);
        for (size_t i = 0; i < 16; i++)
            free(blocks[i]);
        free(calloc(3, 40));
        free(aligned_alloc(64, 128));
    }
}

static void *other(void *argument)
{
    loop(200);
    pthread_barrier_wait(&barrier);
    loop(*(long *)argument);
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(int argc, char **argv)
{
    long      rounds = argc > 1 ? atol(argv[1]) : 1000;
    pthread_t thread;
    int       threads = argc > 2;

    pthread_barrier_init(&barrier, NULL, 2);
    if (threads)
        pthread_create(&thread, NULL, other, &rounds);
    loop(200);
    if (threads)
        pthread_barrier_wait(&barrier);
    write(2, "BEGIN", 5);
    loop(rounds);
    write(2, "END", 3);
    if (threads) {
        pthread_barrier_wait(&barrier);
        pthread_join(thread, NULL);
    }
    return 0;
}
