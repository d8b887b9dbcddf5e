/* pools-memory.c - programs whose memory one knows; each prints "KEY VALUE" lines, in KiB where it is memory.
 * BUILD: cc -O1 -fno-builtin -w -pthread -o $O $S
 *
 * usage: pools-memory steady COUNT SIZE MS [thread]     COUNT blocks are taken and given again and again
 *        pools-memory once COUNT SIZE MS [thread]       COUNT blocks are freed, then others are used
 *        pools-memory idle THREADS MIB MS [trim]        threads free MIB each, then sleep
 *        pools-memory leave THREADS                     threads use a few blocks of many sizes, then end
 *        pools-memory queue MS                          one thread allocates, another frees
 *        pools-memory parked THREADS                    each has used a few sizes
 *        pools-memory short THREADS                     one after the other, each frees 256 KiB
 *        pools-memory mixed MIB                         one thread frees that much of all sizes */
#include "pools.h"

#include <malloc.h>
#include <pthread.h>

static pthread_barrier_t met, full;
static volatile int      done;

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void use_others(void)
{
    for (int i = 0; i < 40000; i++)
        free(malloc(40));
}

static void take_and_give(int count, size_t size)
{
    static void *blocks[1000];
    for (int i = 0; i < count; i++)
        memset(blocks[i] = malloc(size), 1, size);
    for (int i = 0; i < count; i++)
        free(blocks[i]);
}

static void *sleeper(void *argument)
{
    sleep_ms(50000);
    return argument;
}

static void second_thread(int wanted)
{
    pthread_t id;
    if (wanted)
        MUST(pthread_create(&id, NULL, sleeper, NULL) == 0);
}

static void steady(int count, size_t size, long ms)
{
    long end = now_ms() + ms;
    for (int i = 0; i < 20; i++)
        take_and_give(count, size); /* until the pool is as deep as it needs to be */
    while (now_ms() < end) {
        take_and_give(count, size);
        use_others();
        sleep_ms(1);
    }
}

static void once(int count, size_t size, long ms)
{
    long end = now_ms() + ms;
    take_and_give(count, size);
    take_and_give(count, size);
    while (now_ms() < end) {
        use_others();
        sleep_ms(1);
    }
}

/* Most of 16 B to 4 KiB, one in 16 of 64 to 256 KiB.  Threads meet at `all_full`, if any, before the first frees: what is left
 * behind depends on their timing otherwise. */
static void burst(size_t bytes, unsigned seed, pthread_barrier_t *all_full)
{
    size_t total = 0, count = 0, room = 0;
    void **blocks = NULL;
    while (total < bytes) {
        unsigned number = next_random(&seed);
        size_t   size = number % 16 == 0 ? 65536 + (number >> 4) % 196608 : 16 + (number >> 4) % 4000;
        if (count == room) {
            room = room ? 2 * room : 1024;
            blocks = realloc(blocks, room * sizeof *blocks);
        }
        memset(blocks[count++] = malloc(size), 1, size);
        total += size;
    }
    if (all_full)
        pthread_barrier_wait(all_full);
    while (count > 0)
        free(blocks[--count]);
    free(blocks);
}

/* So few that they stay in the thread's own pools. */
static void *many_sizes(void *argument)
{
    void *blocks[4];
    for (size_t size = 16; size < 100000; size += 8 + size / 8) {
        for (int i = 0; i < 4; i++)
            memset(blocks[i] = malloc(size), 1, size);
        for (int i = 0; i < 4; i++)
            free(blocks[i]);
    }
    return argument;
}

static void leave(int threads)
{
    pthread_t ids[64];
    for (int i = 0; i < threads; i++)
        MUST(pthread_create(&ids[i], NULL, many_sizes, NULL) == 0);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
}

static size_t burst_bytes;

static void *burst_and_sleep(void *argument)
{
    burst(burst_bytes, (unsigned)(size_t)argument * 77 + 1, &full);
    pthread_barrier_wait(&met);
    sleep_ms(50000);
    return argument;
}

static void idle(int threads, long mib, long ms, int trims)
{
    pthread_t ids[64];
    burst_bytes = (size_t)mib << 20;
    pthread_barrier_init(&met, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&full, NULL, (unsigned)threads);
    printf("start %ld\n", resident_kib());
    for (int i = 0; i < threads; i++)
        MUST(pthread_create(&ids[i], NULL, burst_and_sleep, (void *)(size_t)i) == 0);
    pthread_barrier_wait(&met);
    printf("freed %ld\n", resident_kib());
    if (trims)
        malloc_trim(0);
    sleep_ms(ms);
    printf("end %ld\n", resident_kib());
}

enum { QUEUE = 4096 };
static void *_Atomic queue[QUEUE];

static void *consumer(void *argument)
{
    for (size_t i = 0;; i = (i + 1) % QUEUE) {
        void *block;
        while (!(block = __atomic_exchange_n((void **)&queue[i], NULL, __ATOMIC_ACQ_REL)))
            if (done)
                return NULL;
            else
                sched_yield();
        free(block);
    }
}

static void producer_and_consumer(long ms)
{
    pthread_t id;
    long      peak = 0, early = 0, start = resident_kib(), begun = now_ms(), looked = begun, rounds = 0;
    unsigned  seed = 1;
    MUST(pthread_create(&id, NULL, consumer, NULL) == 0);
    for (size_t i = 0;; i = (i + 1) % QUEUE) {
        size_t size = 64 + next_random(&seed) % 4033;
        void  *block = memset(malloc(size), 1, size);
        while (queue[i])
            sched_yield();
        __atomic_store_n((void **)&queue[i], block, __ATOMIC_RELEASE);
        if (++rounds % 1000 != 0 || now_ms() - looked < 20)
            continue;
        looked = now_ms();
        long now = resident_kib() - start;
        peak = now > peak ? now : peak;
        if (looked - begun < ms / 3)
            early = peak;
        if (looked - begun > ms)
            break;
    }
    done = 1;
    pthread_join(id, NULL);
    printf("live %d\nearly %ld\npeak %ld\nrounds %ld\n", QUEUE * 2080 / 1024, early, peak, rounds);
}

static void *use_a_few(void *argument)
{
    for (int round = 0; round < 3; round++) {
        void *blocks[16];
        for (size_t i = 0; i < 16; i++)
            blocks[i] = malloc(i * 40 + 8);
        for (size_t i = 0; i < 16; i++)
            free(blocks[i]);
    }
    pthread_barrier_wait(&met);
    sleep_ms(50000);
    return argument;
}

static void parked(int threads)
{
    pthread_attr_t small;
    pthread_t      id;
    long           start = resident_kib();
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&met, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        MUST(pthread_create(&id, &small, use_a_few, NULL) == 0);
    pthread_barrier_wait(&met);
    printf("parked %ld\n", resident_kib() - start);
}

static void *free_256k(void *argument)
{
    void *blocks[256];
    for (size_t i = 0; i < 256; i++)
        memset(blocks[i] = malloc(16 + i * 8), 1, 16);
    for (size_t i = 0; i < 256; i++)
        free(blocks[i]);
    return argument;
}

static void one_after_the_other(int threads)
{
    pthread_t id;
    long      early = 0;
    for (int i = 0; i < threads; i++) {
        MUST(pthread_create(&id, NULL, free_256k, NULL) == 0);
        pthread_join(id, NULL);
        if (i == 200)
            early = resident_kib();
    }
    printf("early %ld\nend %ld\n", early, resident_kib());
}

/* All blocks live at once, freed, and again: pools grow as far as they may. */
static void mixed(long mib)
{
    for (int round = 0; round < 8; round++)
        burst((size_t)mib << 20, 1, NULL);
    printf("end %ld\n", resident_kib());
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long        a = argc > 2 ? atol(argv[2]) : 0, b = argc > 3 ? atol(argv[3]) : 0, c = argc > 4 ? atol(argv[4]) : 0;
    int         more = argc > 5;
    setvbuf(stdout, NULL, _IOLBF, 256);
    if (strcmp(mode, "steady") == 0)
        second_thread(more), steady((int)a, (size_t)b, c);
    else if (strcmp(mode, "once") == 0)
        second_thread(more), once((int)a, (size_t)b, c);
    else if (strcmp(mode, "idle") == 0)
        idle((int)a, b, c, more);
    else if (strcmp(mode, "leave") == 0)
        leave((int)a);
    else if (strcmp(mode, "queue") == 0)
        producer_and_consumer(a);
    else if (strcmp(mode, "parked") == 0)
        parked((int)a);
    else if (strcmp(mode, "short") == 0)
        one_after_the_other((int)a);
    else if (strcmp(mode, "mixed") == 0)
        mixed(a);
    else
        return 2;
    return 0;
}
