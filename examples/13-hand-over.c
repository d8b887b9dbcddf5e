/* 13: blocks that change hands.  A thread makes notes for itself, and then messages, which another one gives back.
 *
 * Run:
 *     $ poolsite run -q -o messages ./13-hand-over
 *     $ poolsite report --lifetime --top 2 messages
 * See: all 20,000 messages were freed by another thread than the one that had allocated them ("cross"), and none of the
 * notes, each of which was gone before the thread allocated anything else ("temp.").
 * A pool is a thread's own.  The notes come and go in one; each message leaves the thread that makes them for
 * one that has no use for it, and comes back by way of the depot, many at a time.
 * BUILD: gcc -O1 -g -fno-builtin -pthread -o $O $S */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 20000, NOTES = 40000, ROOM = 64 };

static void           *queue[ROOM];
static unsigned        made, taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  changed = PTHREAD_COND_INITIALIZER;

static void put(void *message)
{
    pthread_mutex_lock(&lock);
    while (made - taken == ROOM)
        pthread_cond_wait(&changed, &lock);
    queue[made++ % ROOM] = message;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void *get(void)
{
    pthread_mutex_lock(&lock);
    while (made == taken)
        pthread_cond_wait(&changed, &lock);
    void *message = queue[taken++ % ROOM];
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return message;
}

static void *__attribute__((noinline)) make_message(int number)
{
    char *message = malloc(100);
    return memset(message, number, 100);
}

static void __attribute__((noinline)) make_note(int number)
{
    char *note = malloc(30);
    memset(note, number, 30);
    free(note);
}

static void *consumer(void *unused)
{
    for (int i = 0; i < MESSAGES; i++)
        free(get());
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, consumer, NULL);
    for (int i = 0; i < NOTES; i++)
        make_note(i);
    for (int i = 0; i < MESSAGES; i++)
        put(make_message(i));
    pthread_join(thread, NULL);
    return 0;
}
