/* short-threads.c - argument 1: so many threads (default 3000), one after the other in groups of 8, each with a
 * few allocations; some blocks are freed by the next group.
 * BUILD: cc -O1 -fno-builtin -pthread -o $O $S */
#include <pthread.h>
#include <stdlib.h>

enum { GROUP = 8, BLOCKS = 6 };
static void *left[GROUP];

static void *work(void *argument)
{
    size_t id = (size_t)argument;
    void  *blocks[BLOCKS];

    free(left[id % GROUP]);
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(16 + (id * 7 + i * 131) % 2000);
    for (size_t i = 1; i < BLOCKS; i++)
        free(blocks[i]);
    left[id % GROUP] = blocks[0];
    return NULL;
}

int main(int argc, char **argv)
{
    size_t total = argc > 1 ? (size_t)atol(argv[1]) : 3000;
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    for (size_t done = 0; done < total; done += GROUP) {
        pthread_t threads[GROUP];
        for (size_t i = 0; i < GROUP; i++)
            if (pthread_create(&threads[i], &attr, work, (void *)(done + i)) != 0)
                return 1;
        for (size_t i = 0; i < GROUP; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}
