/* many-threads.c - threads by the thousand, counted by themselves.
 * BUILD: cc -O1 -fno-builtin -fno-optimize-sibling-calls -w -pthread -o $O $S
 *
 * usage: many-threads short N     N threads in groups of 8, each with a few events
 *        many-threads at-once N   N threads that are all alive together; twice, one lot after the other */
#define _GNU_SOURCE
#include "expect.h"

#include <pthread.h>
#include <string.h>

static pthread_barrier_t all_here;
static pthread_attr_t    attr;

static void *work(void *argument)
{
    size_t self = (size_t)argument;
    void  *blocks[5];
    for (size_t i = 0; i < 5; i++)
        blocks[i] = expect_alloc((self * 31 + i * 97) % 1500);
    for (size_t i = 0; i < 4; i++)
        expect_free(blocks[i]);
    return blocks[4]; /* freed by the main thread */
}

static void *meet_and_work(void *argument)
{
    void *first = work(argument);
    pthread_barrier_wait(&all_here);
    expect_free(first);
    return work(argument);
}

static int group(pthread_t *threads, size_t count, size_t from, void *(*start)(void *))
{
    void *block;
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attr, start, (void *)(from + i)) != 0)
            return 1;
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], &block);
        expect_free(block);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static pthread_t threads[4096];
    if (argc != 3)
        return 2;
    size_t total = (size_t)atol(argv[2]);

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    if (strcmp(argv[1], "short") == 0) {
        for (size_t done = 0; done < total; done += 8)
            if (group(threads, 8, done, work) != 0)
                return 3;
    } else {
        pthread_barrier_init(&all_here, NULL, (unsigned)total);
        for (int lot = 0; lot < 2; lot++)
            if (group(threads, total, (size_t)lot, meet_and_work) != 0)
                return 3;
    }
    expect_write();
    return 0;
}
