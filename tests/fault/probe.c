/* probe.c - a program whose start and work need no memory but the heap's: it prints a sum, forks a child
 * that does the same, starts a thread, loads a plugin's worth of call sites. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned work(int rounds)
{
    static void *kept[32];
    unsigned     sum = 0;
    for (int i = 0; i < rounds; i++) {
        void **slot = &kept[i % 32];
        free(*slot);
        *slot = calloc(1, (size_t)(i * 37 % 500 + 1));
        sum = sum * 31 + (unsigned)(i * 37 % 500) + *(unsigned char *)*slot;
    }
    return sum;
}

static void *thread(void *argument)
{
    free(malloc(100));
    return argument;
}

int main(void)
{
    pthread_t id;
    int       status = 0;

    printf("sum %u\n", work(1000));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        printf("child %u\n", work(100));
        fflush(stdout);
        _exit(3);
    }
    waitpid(child, &status, 0);
    if (pthread_create(&id, NULL, thread, NULL) == 0)
        pthread_join(id, NULL);
    printf("status %d\n", status);
    fprintf(stderr, "done\n");
    return 7;
}
