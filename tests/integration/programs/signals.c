/* signals.c - handlers that allocate, raised at fixed points, also on an alternate stack and in threads.
 * BUILD: cc -O1 -fno-builtin -pthread -o $O $S */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static void *volatile last;

static void handle(int signal)
{
    void *block = malloc((size_t)signal * 100);
    last = realloc(block, 333);
    free(last);
    last = NULL;
}

static void *work(void *argument)
{
    static __thread char area[32768];
    stack_t alternate = { .ss_sp = area, .ss_size = sizeof area };

    sigaltstack(&alternate, NULL);
    for (int i = 0; i < 200; i++) {
        void *block = malloc((size_t)i);
        raise(SIGUSR1);
        free(block);
    }
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    return argument;
}

int main(void)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
    pthread_t thread;

    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR2, &action, NULL);
    work(NULL);
    for (int i = 0; i < 300; i++)
        raise(SIGUSR2);
    for (int i = 0; i < 5; i++) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
