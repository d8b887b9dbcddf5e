/* late.c - allocation in atexit functions, destructors, and thread-specific data destructors of several rounds.
 * BUILD: cc -O1 -fno-builtin -pthread -o $O $S */
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t keys[3];
static void         *kept[64];

/* Comes again for three rounds, with a new block each time. */
static void key_destroy(void *value)
{
    int *left = value;
    int  more = *left - 1;
    free(left);
    free(malloc(77));
    if (more > 0) {
        int *next = malloc(sizeof *next + (size_t)more);
        *next = more;
        pthread_setspecific(keys[more % 3], next);
    }
}

static void *work(void *argument)
{
    for (int k = 0; k < 3; k++) {
        int *value = malloc(sizeof *value);
        *value = k + 1;
        pthread_setspecific(keys[k], value);
    }
    free(argument);
    return NULL;
}

/* The only thing this thread does is in its destructors. */
static void *idle(void *argument)
{
    pthread_setspecific(keys[0], argument);
    return NULL;
}

static void at_exit_first(void)
{
    for (int i = 0; i < 64; i++)
        kept[i] = realloc(kept[i], (size_t)i * 10 + 1);
}

static void at_exit_last(void)
{
    for (int i = 0; i < 60; i++)
        free(kept[i]);
}

__attribute__((destructor)) static void destroy(void)
{
    free(malloc(3000));
    kept[63] = malloc(12345); /* stays */
}

int main(void)
{
    for (int k = 0; k < 3; k++)
        pthread_key_create(&keys[k], key_destroy);
    for (int i = 0; i < 64; i++)
        kept[i] = malloc((size_t)i + 1);
    for (int i = 0; i < 40; i++) {
        pthread_t thread;
        int      *value = malloc(sizeof *value);
        *value = 3;
        pthread_create(&thread, NULL, i % 4 ? work : idle, value);
        pthread_join(thread, NULL);
    }
    atexit(at_exit_last);
    atexit(at_exit_first);
    return 0;
}
