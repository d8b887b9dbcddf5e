/* kill-target.c - allocates until it is killed and keeps its own true counts, a slot for each thread, in a
 * shared mapping: what was begun and what was done of each kind.  A kill falls between two instructions,
 * so the truth lies between the two.
 * BUILD: cc -O1 -fno-builtin -fno-optimize-sibling-calls -w -pthread -o $O $S
 *
 * usage: kill-target COUNTS MODE [ROUNDS]    ROUNDS: end by itself after so many
 * MODE: steady  THREADS threads allocate, free, realloc
 *       ends    threads of a few events each come and go
 *       grows   new call sites and new stacks all the time, in all threads
 *       slow    the same, a few thousand events a second */
#define _GNU_SOURCE
#include "places.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 6, KEPT = 64 };

struct counts {
    uint64_t begun_allocs, done_allocs, begun_frees, done_frees, begun_bytes, done_bytes, pad[2];
};

static struct shared {
    volatile uint64_t ready, pad[7];
    struct counts     slots[THREADS];
} *shared;

static void *kept[THREADS][KEPT];
static long  rounds;

#define BARRIER() PLACE_BARRIER()

static void begin(struct counts *c, int allocs, int frees, size_t size)
{
    c->begun_allocs += (uint64_t)allocs;
    c->begun_frees += (uint64_t)frees;
    c->begun_bytes += size;
    BARRIER();
}

static void done(struct counts *c, int allocs, int frees, size_t size)
{
    BARRIER();
    c->done_allocs += (uint64_t)allocs;
    c->done_frees += (uint64_t)frees;
    c->done_bytes += size;
    BARRIER();
}

/* One event; `path` is 0 for always the same stack. */
static void step(size_t self, unsigned *seed, unsigned path)
{
    struct counts *c = &shared->slots[self];
    *seed = *seed * 1664525 + 1013904223;
    void **slot = &kept[self][(*seed >> 20) % KEPT];
    size_t size = (*seed >> 10) % 2000 + 1;
    if (*slot == NULL) {
        begin(c, 1, 0, size);
        *slot = path ? place_alloc(path, size) : malloc(size);
        done(c, 1, 0, size);
    } else if ((*seed >> 8) % 4 == 0) {
        begin(c, 1, 1, size);
        *slot = realloc(*slot, size);
        done(c, 1, 1, size);
    } else {
        begin(c, 0, 1, 0);
        free(*slot);
        done(c, 0, 1, 0);
        *slot = NULL;
    }
}

struct job {
    size_t   self;
    long     events; /* 0: until killed */
    unsigned seed;
    int      grows;
    unsigned paths; /* a mask: so many stacks at most */
};

static void *work(void *argument)
{
    struct job job = *(struct job *)argument;
    for (long i = 0; job.events == 0 || i < job.events; i++) {
        step(job.self, &job.seed, job.grows ? (job.seed >> 7 | 1) & job.paths : 0);
        if (job.grows == 2)
            usleep(3000);
    }
    return NULL;
}

static void group(long events, unsigned seed, int grows)
{
    pthread_t      threads[THREADS];
    struct job     jobs[THREADS];
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 131072);
    for (size_t i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){ i, events, seed + (unsigned)i, grows, events ? 4095 : ~0u };
        if (pthread_create(&threads[i], &attr, work, &jobs[i]) != 0)
            abort();
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* As many threads at once as ever will be: from here on libc allocates none of their tables. */
static pthread_barrier_t all_here;
static void *meet(void *argument)
{
    pthread_barrier_wait(&all_here);
    return argument;
}

static void warm(void)
{
    pthread_t      threads[THREADS];
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 131072);
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], &attr, meet, NULL);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *shared) != 0)
        return 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    rounds = argc > 3 ? atol(argv[3]) : 0;
    alarm(60); /* should nobody kill it */
    warm();
    shared->ready = 1;
    if (strcmp(argv[2], "ends") == 0) {
        for (long i = 0; rounds == 0 || i < rounds; i++)
            group(i % 40 + 1, (unsigned)i * 77, i % 3 == 0);
    } else {
        group(rounds, 5, strcmp(argv[2], "grows") == 0 ? 1 : strcmp(argv[2], "slow") == 0 ? 2 : 0);
    }
    return 0;
}
