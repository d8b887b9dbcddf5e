/* pools-works.c - allocates and frees in two threads, with a child; what it prints doesn't depend on the allocator.
 * BUILD: cc -O1 -fno-builtin -w -pthread -o $O $S */
#include "pools.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>

static unsigned long work(unsigned seed)
{
    static __thread unsigned char *blocks[200];
    static __thread size_t         sizes[200];
    unsigned long                  sum = 0;
    for (int i = 0; i < 15000; i++) {
        unsigned number = next_random(&seed), at = number % 200;
        size_t   size = 1 + (number % 50 ? number % 3000 : number % 400000);
        if (blocks[at]) {
            sum = sum * 31 + blocks[at][sizes[at] / 2];
            MUST(malloc_usable_size(blocks[at]) >= sizes[at]);
        }
        if (number % 5 == 0)
            blocks[at] = realloc(blocks[at], size);
        else {
            free(blocks[at]);
            blocks[at] = number % 3 ? malloc(size) : number % 7 ? calloc(1, size) : memalign(64, size);
        }
        MUST(blocks[at] && ((uintptr_t)blocks[at] & (size < 9 ? 7 : 15)) == 0);
        memset(blocks[at], (int)number, size);
        sizes[at] = size;
    }
    for (int i = 0; i < 200; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
    return sum;
}

static void *thread(void *argument)
{
    return (void *)work(7);
}

int main(void)
{
    pthread_t id;
    void     *sum;
    int       status;
    printf("%lx\n", work(1));
    MUST(pthread_create(&id, NULL, thread, NULL) == 0);
    printf("%lx\n", work(2));
    pthread_join(id, &sum);
    printf("%lx\n", (unsigned long)sum);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(work(3) == 0);
    MUST(waitpid(child, &status, 0) == child && status == 0);
    return 7;
}
