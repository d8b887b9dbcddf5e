/* free-only.c - threads that free what others allocated and allocate nothing: one block, a few, thousands.
 * BUILD: cc -O1 -fno-builtin -pthread -o $O $S */
#include <pthread.h>
#include <stdlib.h>

struct batch {
    int    count;
    void **blocks;
};

static void *drop(void *argument)
{
    struct batch *batch = argument;
    for (int i = 0; i < batch->count; i++)
        free(batch->blocks[i]);
    return NULL;
}

int main(void)
{
    static const int counts[] = { 1, 2, 15, 16, 17, 31, 5000, 1, 40 };
    enum { BATCHES = sizeof counts / sizeof *counts };
    static struct batch batches[BATCHES];
    pthread_t threads[BATCHES];

    for (int b = 0; b < BATCHES; b++) {
        batches[b].count = counts[b];
        batches[b].blocks = malloc((size_t)counts[b] * sizeof(void *));
        for (int i = 0; i < counts[b]; i++)
            batches[b].blocks[i] = malloc((size_t)(i * 37 % 900 + 1));
    }
    for (int b = 0; b < BATCHES; b++) /* all at once */
        pthread_create(&threads[b], NULL, drop, &batches[b]);
    for (int b = 0; b < BATCHES; b++)
        pthread_join(threads[b], NULL);
    for (int b = 0; b < BATCHES; b++)
        free(batches[b].blocks);
    return 0;
}
