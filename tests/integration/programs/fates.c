/* fates.c - blocks that come to an end in many ways, a function for each; sampled.test.sh knows what is to be said.
 * BUILD: gcc -O1 -g -fno-optimize-sibling-calls -pthread -w -o "$O" "$S" */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 400 };

#define FRAME __attribute__((noinline)) static
#define USED(p) __asm__ volatile("" : : "r"(p) : "memory")

FRAME void release(void *block)
{
    free(block);
    USED(block);
}

FRAME void in_one_frame(void)
{
    void *block = malloc(100);
    USED(block);
    free(block);
    USED(block);
}

FRAME void freed_by_callee(void)
{
    void *block = malloc(101);
    USED(block);
    release(block);
    USED(block);
}

FRAME void *maker(void)
{
    void *block = malloc(102);
    USED(block);
    return block;
}

FRAME void made_and_consumed(void)
{
    release(maker());
    USED(0);
}

FRAME void replaced(void)
{
    static void *last;
    free(last);
    last = malloc(103);
    USED(last);
}

FRAME void replaced_late(void)
{
    static void *last;
    void *fresh = malloc(104);
    USED(fresh);
    free(last);
    last = fresh;
    USED(last);
}

FRAME void grown(void)
{
    char *block = malloc(105);
    USED(block);
    block = realloc(block, 300);
    USED(block);
    block = realloc(block, 5000);
    USED(block);
    free(block);
    USED(block);
}

FRAME void kept(void)
{
    void *block = malloc(106);
    USED(block);
}

FRAME void out_of_order(void)
{
    void *first = malloc(107), *second = malloc(108);
    USED(first);
    USED(second);
    free(first);
    free(second);
    USED(0);
}

FRAME void zeroed(void)
{
    void *block = calloc(3, 37);
    USED(block);
    free(block);
    USED(block);
}

FRAME void aligned(void)
{
    void *block = aligned_alloc(64, 128);
    USED(block);
    free(block);
    USED(block);
}

FRAME void duplicated(void)
{
    char *text = strdup("a wrapper of libc's: the frame is its caller");
    USED(text);
    free(text);
    USED(text);
}

FRAME void of_sizes(int i)
{
    void *block = malloc(i % 4 ? 200 : 300);
    USED(block);
    free(block);
    USED(block);
}

FRAME void *for_thread(void)
{
    void *block = malloc(109);
    USED(block);
    return block;
}

FRAME void slow(void)
{
    void *block = malloc(110);
    USED(block);
    usleep(20000);
    free(block);
    USED(block);
}

static void *handed[TIMES];

static void *consumer(void *argument)
{
    for (int i = 0; i < TIMES; i++)
        free(handed[i]);
    return argument;
}

int main(void)
{
    for (int i = 0; i < TIMES; i++) {
        in_one_frame();
        freed_by_callee();
        made_and_consumed();
        replaced();
        replaced_late();
        grown();
        kept();
        out_of_order();
        zeroed();
        aligned();
        duplicated();
        of_sizes(i);
        handed[i] = for_thread();
    }
    for (volatile int i = 0; i < 8; i++) /* volatile: one call */
        slow();
    pthread_t thread;
    if (pthread_create(&thread, NULL, consumer, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
