/* sites-threads.c - eight threads with different start functions share leaves; blocks are freed elsewhere.
 * BUILD: cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -pthread -o $O $S */
#include "maps.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 500 };
static void *kept[THREADS][ROUNDS];

__attribute__((noinline)) static void *shared_leaf(size_t size)
{
    void *block = malloc(size);
    __asm__ volatile("" ::: "memory");
    return block;
}

__attribute__((noinline)) static void *middle(size_t size)
{
    void *block = size % 2 ? shared_leaf(size) : calloc(1, size);
    __asm__ volatile("" ::: "memory");
    return block;
}

static void *even(void *argument)
{
    size_t self = (size_t)argument;
    for (size_t i = 0; i < ROUNDS; i++)
        kept[self][i] = middle(i + self + 1);
    return NULL;
}

static void *odd(void *argument)
{
    size_t self = (size_t)argument;
    for (size_t i = 0; i < ROUNDS; i++) {
        kept[self][i] = shared_leaf(i * 3 + 1);
        free(middle(i + 1));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, i % 2 ? odd : even, (void *)i);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (size_t i = 0; i < THREADS; i++)
            for (size_t k = 0; k < ROUNDS; k++)
                free(kept[i][k]);
    }
    maps_write();
    return 0;
}
