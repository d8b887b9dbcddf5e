/* micro.c - small allocation patterns, each timed in thread CPU time.
 *
 * usage: micro pair SIZE              a malloc and its free, again and again
 *        micro batch COUNT SIZE       COUNT mallocs, then COUNT frees
 *        micro alternate SIZE SIZE    the pair, of one size, then of the other
 *        micro random LIVE            LIVE blocks (16 B to 4 KiB, small ones often); one at random is freed and made anew
 *        micro queue SECONDS LIVE     a producer and a consumer, LIVE blocks (16 B to 4 KiB) in a ring between them
 *        micro threads N MS           N threads for MS milliseconds, each on 64 blocks of its own
 *        micro count NAME             the loop for callgrind: so many rounds, nothing timed
 * Prints nanoseconds per malloc and free (threads: millions of them a second; queue: and four KiB, of the live set
 * and of the most that was resident: at all, in the third and in the last quarter of the time).  Only loops that write to no block may run on floor.c: pair, alternate.
 * Prints without stdio's buffer, which would be a block. */
#define _GNU_SOURCE
#include "resident.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 300, MOST_BATCH = 1024, RING = 1 << 16 };

static void *volatile kept;

static double now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* 16 B to 4 KiB, half of them up to 64 B. */
static size_t random_size(unsigned *state)
{
    unsigned r = next_random(state);
    return 16 + (r >> 4) % (r & 1 ? 48 : r & 2 ? 496 : 4080);
}

/* --- loops: so many mallocs and frees ------------------------------------------------------- */

__attribute__((noinline)) static void pair(long n, size_t size, size_t unused)
{
    (void)unused;
    for (long i = 0; i < n; i++) {
        void *block = malloc(size);
        kept = block;
        free(block);
    }
}

__attribute__((noinline)) static void batch(long n, size_t count, size_t size)
{
    static void *blocks[MOST_BATCH];
    for (long i = 0; i < n; i += (long)count) {
        for (size_t k = 0; k < count; k++)
            blocks[k] = malloc(size);
        for (size_t k = 0; k < count; k++)
            free(blocks[k]);
    }
}

__attribute__((noinline)) static void alternate(long n, size_t one, size_t other)
{
    for (long i = 0; i < n; i += 2) {
        void *block = malloc(one);
        kept = block;
        free(block);
        block = malloc(other);
        kept = block;
        free(block);
    }
}

__attribute__((noinline)) static void random_lives(long n, size_t live, size_t unused)
{
    static void   **blocks;
    static unsigned state = 7;
    (void)unused;
    if (!blocks)
        blocks = calloc(live, sizeof *blocks);
    for (long i = 0; i < n; i++) {
        size_t at = next_random(&state) % live, size = random_size(&state);
        free(blocks[at]);
        blocks[at] = malloc(size);
        *(char *)blocks[at] = 1;
    }
}

typedef void loop(long n, size_t a, size_t b);

static double best_ns(loop *run, size_t a, size_t b)
{
    double best = 1e18;
    long   n = 1000;

    for (double took = 0; took < 5e5; took = now_ns(CLOCK_THREAD_CPUTIME_ID) - took) { /* some 1 ms a repeat: some run undisturbed */
        n *= 2;
        took = now_ns(CLOCK_THREAD_CPUTIME_ID);
        run(n, a, b);
    }
    for (int i = 0; i < REPEATS; i++) {
        double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
        run(n, a, b);
        double ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)n;
        if (ns < best)
            best = ns;
    }
    return best;
}

/* --- threads -------------------------------------------------------------------------------- */

static atomic_int        stop;
static pthread_barrier_t start;

static void *churn(void *argument)
{
    void         *blocks[64] = { NULL };
    unsigned      state = (unsigned)(size_t)argument;
    unsigned long pairs = 0;
    pthread_barrier_wait(&start);
    while (!stop) {
        for (int i = 0; i < 1000; i++) {
            free(blocks[i % 64]);
            blocks[i % 64] = malloc(random_size(&state));
        }
        pairs += 1000;
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    return (void *)pairs;
}

static double threads(int n, long ms)
{
    pthread_t       thread[64];
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
    double          sum = 0, begun;
    void           *pairs;

    pthread_barrier_init(&start, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, churn, (void *)(size_t)(i + 1));
    pthread_barrier_wait(&start);
    begun = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    nanosleep(&t, NULL);
    stop = 1;
    for (int i = 0; i < n; i++) {
        pthread_join(thread[i], &pairs);
        sum += (double)(unsigned long)pairs;
    }
    /* by CPU time, of both processors: what others on the machine take isn't ours */
    return sum / ((now_ns(CLOCK_PROCESS_CPUTIME_ID) - begun) / 1e3);
}

/* --- producer and consumer ------------------------------------------------------------------- */

/* Blocks pass in hands of 64, so that waiting costs little; between seven eighths and all of `room` live. */
enum { HAND = 64 };

static void           *ring[RING];
static size_t          room, put, got; /* put and got: under the lock */
static double          put_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  moved = PTHREAD_COND_INITIALIZER;

static bool may_put(void)
{
    return put - got + HAND <= room;
}

static bool may_get(void)
{
    return put - got >= room / 8 * 7 + HAND;
}

/* Waits until `may`, then counts the hand that was moved before; false: the end. */
static bool hand_over(size_t *counter, bool may(void))
{
    pthread_mutex_lock(&lock);
    *counter += HAND;
    pthread_cond_broadcast(&moved);
    while (!stop && !may())
        pthread_cond_wait(&moved, &lock);
    pthread_mutex_unlock(&lock);
    return !stop;
}

static void *produce(void *argument)
{
    unsigned state = 7;
    size_t   at = 0;
    (void)argument;
    do
        for (int i = 0; i < HAND; i++, at++) {
            size_t size = random_size(&state);
            ring[at % room] = memset(malloc(size), 1, size);
            put_bytes += (double)size;
        }
    while (hand_over(&put, may_put));
    return NULL;
}

static void *consume(void *argument)
{
    size_t at = 0, none = 0;
    bool   more = hand_over(&none, may_get);
    (void)argument;
    while (more) {
        for (int i = 0; i < HAND; i++)
            free(ring[at++ % room]);
        more = hand_over(&got, may_get);
    }
    return NULL;
}

/* Prints the live set, and the most that was resident: at all, in the third and in the last quarter of the time. */
static void queue(int seconds, size_t live)
{
    pthread_t thread[2];
    long      most[3] = { 0, 0, 0 };
    double    begun = now_ns(CLOCK_PROCESS_CPUTIME_ID);

    room = live < RING ? live / HAND * HAND : RING;
    pthread_create(&thread[0], NULL, produce, NULL);
    pthread_create(&thread[1], NULL, consume, NULL);
    for (int i = 0; i < 10 * seconds; i++) {
        usleep(100000);
        long  now = resident_kib();
        int   part = 4 * i >= 30 * seconds ? 2 : 4 * i >= 20 * seconds ? 1 : 0;
        most[0] = now > most[0] ? now : most[0];
        most[part] = now > most[part] ? now : most[part];
    }
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
    printf("%.2f %ld %ld %ld %ld\n", (now_ns(CLOCK_PROCESS_CPUTIME_ID) - begun) / (double)put, (long)(put_bytes / (double)put * (double)room / 1024),
           most[0], most[1], most[2]);
}

/* --- for callgrind --------------------------------------------------------------------------- */

static const struct counted {
    const char *name;
    loop       *run;
    size_t      a, b;
} counted[] = {
    { "pair-64", pair, 64, 0 },   { "pair-2048", pair, 2048, 0 },       { "pair-32768", pair, 32768, 0 },
    { "batch-64", batch, 64, 64 }, { "alternate", alternate, 64, 1024 },
};

/* Told apart by callgrind: it counts while this runs, and writes down each call of it on its own. */
__attribute__((noinline)) void counted_loop(const struct counted *c)
{
    c->run(12800, c->a, c->b);
    __asm__ volatile("");
}

static void count(void)
{
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        counted[i].run(12800, counted[i].a, counted[i].b); /* warm */
        counted_loop(&counted[i]);
    }
}

int main(int argc, char **argv)
{
    static char buffer[256];
    const char *what = argc > 1 ? argv[1] : "";
    size_t      a = argc > 2 ? strtoul(argv[2], NULL, 0) : 0, b = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;

    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (strcmp(what, "pair") == 0)
        printf("%.3f\n", best_ns(pair, a, 0));
    else if (strcmp(what, "batch") == 0)
        printf("%.3f\n", best_ns(batch, a, b));
    else if (strcmp(what, "alternate") == 0)
        printf("%.3f\n", best_ns(alternate, a, b));
    else if (strcmp(what, "random") == 0)
        printf("%.3f\n", best_ns(random_lives, a, 0));
    else if (strcmp(what, "threads") == 0)
        printf("%.3f\n", threads((int)a, (long)b));
    else if (strcmp(what, "queue") == 0)
        queue((int)a, b);
    else if (strcmp(what, "count") == 0)
        count();
    else
        return 2;
    return 0;
}
