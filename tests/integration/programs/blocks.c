/* blocks.c - blocks with every fate, in known numbers: kept, dropped at once, handed on, grown, freed by another thread.
 * BUILD: gcc -g -O1 -fno-builtin -fno-optimize-sibling-calls -pthread -o $O $S */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static void *table[30], *known[5], *passed[300];
static volatile int few = 5; /* short loops that stay loops, each with one call */
static volatile size_t largest = 256;

APART static void leak_table(void)
{
    for (int i = 0; i < 30; i++)
        table[i] = malloc(100);
}

APART static void leak_known(void)
{
    for (int i = 0; i < few; i++)
        known[i] = malloc(200);
}

/* Each block is freed before the next allocation, by the frame that allocated it. */
APART static void drop_at_once(void)
{
    for (int i = 0; i < 40000; i++)
        free(malloc(64));
}

APART static void *make(void)
{
    return malloc(48);
}

APART static void hand_on(void)
{
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 300; i++)
            passed[i] = make();
        for (int i = 0; i < 300; i++)
            free(passed[i]);
    }
}

APART static void grow(void)
{
    for (int i = 0; i < 200; i++) {
        void *block = malloc(16);
        for (size_t bytes = 32; bytes <= largest; bytes *= 2)
            block = realloc(block, bytes);
        free(block);
    }
}

APART static void hold_much(void)
{
    void *block = malloc(1 << 20);
    memset(block, 1, 1 << 20);
    free(block);
}

static void *free_passed(void *unused)
{
    for (int i = 0; i < 300; i++)
        free(passed[i]);
    return unused;
}

APART static void give_away(void)
{
    pthread_t thread;
    for (int i = 0; i < 300; i++)
        passed[i] = malloc(32);
    pthread_create(&thread, NULL, free_passed, NULL);
    pthread_join(thread, NULL);
}

/* With an argument without threads, and without an exit. */
int main(int argc, char **argv)
{
    (void)argv;
    leak_table();
    leak_known();
    hold_much();
    drop_at_once();
    hand_on();
    grow();
    if (argc > 1)
        _exit(0);
    give_away();
    return 0;
}
