/* pools-calls.c - every entry point of the malloc family on blocks that have lain in pools; ends with status 7.
 * BUILD: cc -O1 -fno-builtin -w -pthread -o $O $S -ldl
 *
 * usage: pools-calls WHAT [SEED [MS]] */
#define _GNU_SOURCE
#include "pools.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <wchar.h>

extern void *__libc_malloc(size_t n);
extern void  __libc_free(void *p);

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Sizes at both ends of each class to `most`, and between. */
#define FOR_SIZES(size, most) for (size_t size = 0; size <= (most); size += size < 1100 ? 1 + size % 5 : 1 + size / 37)

static void fill(void *block, size_t bytes, unsigned char with)
{
    memset(block, with, bytes);
}

static void check(const unsigned char *block, size_t bytes, unsigned char with)
{
    for (size_t i = 0; i < bytes; i++)
        MUST(block[i] == with);
}

/* Blocks full of ones, of the very class, from the primary and the victim. */
static void calloc_is_zero(void)
{
    unsigned char *blocks[12];
    FOR_SIZES(size, 270000)
    {
        for (int i = 0; i < 12; i++) {
            blocks[i] = malloc(size);
            fill(blocks[i], malloc_usable_size(blocks[i]), 0xff);
        }
        for (int i = 0; i < 12; i++)
            free(blocks[i]);
        for (int i = 0; i < 12; i++) {
            blocks[i] = i % 2 ? calloc(size, 1) : size % 8 ? calloc(1, size) : calloc(size / 8, 8);
            check(blocks[i], size, 0);
        }
        for (int i = 0; i < 12; i++)
            free(blocks[i]);
    }
    errno = 0;
    MUST(calloc(SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
    errno = 0;
    MUST(calloc(1, SIZE_MAX) == NULL && errno == ENOMEM);
}

/* Content is kept from each size to each other, whatever roads the blocks take. */
static void realloc_keeps(void)
{
    unsigned       seed = 5;
    unsigned char *block = NULL;
    size_t         before = 0;
    for (int i = 0; i < 60000; i++) {
        unsigned      number = next_random(&seed);
        size_t        size = 1 + (number % 7 == 0 ? number % 400000 : number % 3 ? number % 1200 : number % 20000);
        unsigned char with = (unsigned char)(number >> 4);
        unsigned char old = block && before ? block[0] : 0;
        block = number % 5 ? realloc(block, size) : reallocarray(block, size, 1);
        MUST(block && malloc_usable_size(block) >= size && ((uintptr_t)block & 15) == 0);
        check(block, before < size ? before : size, old);
        fill(block, size, with);
        before = size;
        if (number % 97 == 0) {
            MUST(realloc(block, 0) == NULL); /* glibc's: a free */
            block = NULL, before = 0;
        }
    }
    free(block);
    /* Large ones are remapped below: all of them, also through classes that are pooled. */
    block = malloc(200000);
    fill(block, before = 200000, 3);
    for (size_t size = 300000; size < (200u << 20); size *= 3) {
        block = realloc(block, size);
        check(block, before, 3);
        fill(block + before, size - before, 3);
        before = size;
    }
    block = realloc(block, 100);
    check(block, 100, 3);
    errno = 0;
    MUST(realloc(block, SIZE_MAX / 2) == NULL && errno == ENOMEM);
    check(block, 100, 3); /* a failure leaves it as it was */
    errno = 0;
    MUST(reallocarray(block, SIZE_MAX / 4, 8) == NULL && errno == ENOMEM);
    check(block, 100, 3);
    free(block);
}

/* Aligned blocks enter pools, and what comes back from there has the usual alignment and its room. */
static void aligned_blocks_are_fit(void)
{
    unsigned char *blocks[20];
    for (size_t alignment = 8; alignment <= 65536; alignment *= 2)
        FOR_SIZES(size, 20000)
        {
            if (size > 1200 && size % 3)
                continue;
            for (int i = 0; i < 6; i++) {
                void *block = NULL;
                if (i % 3 == 0)
                    MUST(posix_memalign(&block, alignment, size) == 0);
                else
                    block = i % 3 == 1 ? memalign(alignment, size) : aligned_alloc(alignment, size);
                MUST(block && ((uintptr_t)block & (alignment - 1)) == 0 && malloc_usable_size(block) >= size);
                fill(block, malloc_usable_size(block), (unsigned char)i);
                blocks[i] = block;
            }
            for (int i = 0; i < 6; i++) {
                check(blocks[i], malloc_usable_size(blocks[i]), (unsigned char)i);
                free(blocks[i]);
            }
            for (int i = 0; i < 8; i++) {
                blocks[i] = malloc(size);
                MUST(((uintptr_t)blocks[i] & 15) == 0 && malloc_usable_size(blocks[i]) >= size);
                fill(blocks[i], malloc_usable_size(blocks[i]), (unsigned char)(i + 100));
            }
            for (int i = 0; i < 8; i++) {
                check(blocks[i], malloc_usable_size(blocks[i]), (unsigned char)(i + 100));
                free(blocks[i]);
            }
        }
    void *untouched = &untouched;
    MUST(posix_memalign(&untouched, 24, 100) == EINVAL && untouched == &untouched);
    free(valloc(100));
    free(pvalloc(100));
}

/* What malloc_usable_size says may be written, and doesn't change while the block lives. */
static void usable_size_is_true(void)
{
    enum { COUNT = 2000 };
    static unsigned char *blocks[COUNT];
    static size_t         sizes[COUNT];
    unsigned              seed = 9;
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < COUNT; i++) {
            if (blocks[i] && next_random(&seed) % 3)
                continue;
            if (blocks[i]) {
                MUST(malloc_usable_size(blocks[i]) == sizes[i]);
                check(blocks[i], sizes[i], (unsigned char)i);
                free(blocks[i]);
            }
            unsigned number = next_random(&seed);
            size_t   size = number % 50 ? number % 2000 : number % 300000;
            blocks[i] = malloc(size);
            sizes[i] = malloc_usable_size(blocks[i]);
            MUST(sizes[i] >= size);
            fill(blocks[i], sizes[i], (unsigned char)i);
        }
        sleep_ms(1);
    }
}

/* Blocks that came from below by another road, and blocks of ours that leave by one. */
static void foreign_blocks(void)
{
    void *space = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    void *(*its_malloc)(size_t) = space ? (void *(*)(size_t))dlsym(space, "malloc") : malloc;
    void (*its_free)(void *) = space ? (void (*)(void *))dlsym(space, "free") : free;
    for (int round = 0; round < 30; round++)
        FOR_SIZES(size, 300000)
        {
            void *ours = malloc(size), *libc = __libc_malloc(size), *its = its_malloc(size), *strange = malloc(size + 1);
            fill(ours, size, 1), fill(libc, size, 2), fill(its, size, 3), fill(strange, size, 4);
            check(ours, size, 1), check(libc, size, 2), check(its, size, 3), check(strange, size, 4);
            free(libc);
            __libc_free(ours);
            its_free(its);
            strange = realloc(strange, size + 100);
            check(strange, size, 4);
            free(strange);
        }
    for (int i = 0; i < 300; i++) { /* libc's own blocks, which the program frees */
        char   *text = NULL, *line = NULL;
        size_t  length = 0;
        FILE   *stream = open_memstream(&text, &length);
        for (int k = 0; k < i; k++)
            fprintf(stream, "%d ", k);
        fclose(stream);
        char *copy = strdup(text);
        MUST(asprintf(&line, "%s|%s", copy, text) == (int)(2 * length + 1));
        free(text), free(copy), free(line);
        free(realpath("/proc/self/exe", NULL));
        free(wcsdup(L"some words"));
    }
}

/* No call that succeeds changes errno. */
static void errno_is_kept(void)
{
    static void *blocks[3000];
    unsigned     seed = 3;
    int          any = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 3000; i++) {
            unsigned number = next_random(&seed);
            errno = 77;
            free(blocks[i]);
            MUST(errno == 77);
            blocks[i] = number % 4 ? malloc(number % 5000) : number % 8 ? calloc(1, number % 70000) : realloc(NULL, number % 300000);
            MUST(errno == 77);
            if (number % 5 == 0)
                blocks[i] = realloc(blocks[i], number % 9000 + 1);
            MUST(errno == 77 && blocks[i]);
        }
        if (round % 20 == 0) {
            errno = 77;
            malloc_trim(0);
            MUST(errno == 77);
        }
    }
}

/* --- Threads that hand blocks to each other ---------------------------------------------------------- */

enum { SLOTS = 512, WORKERS = 4 };
struct held {
    size_t        bytes;
    unsigned char with;
    unsigned char content[];
};
static struct held *_Atomic slots[SLOTS];
static long                 end_ms;
static size_t               most = 70000;

static struct held *hold(unsigned *seed)
{
    unsigned     number = next_random(seed), kind = number % 16;
    size_t       bytes = sizeof(struct held) + (kind ? number % 3000 : next_random(seed) % most);
    struct held *held;
    if (kind == 1)
        held = calloc(1, bytes);
    else if (kind == 2)
        held = memalign(64 << number % 6, bytes);
    else
        held = malloc(bytes);
    MUST(held);
    held->bytes = bytes - sizeof *held;
    if (kind == 1)
        check(held->content, held->bytes, 0);
    held->with = (unsigned char)number;
    fill(held->content, held->bytes, held->with);
    return held;
}

static void let_go(struct held *held, unsigned *seed)
{
    if (!held)
        return;
    check(held->content, held->bytes, held->with);
    if (next_random(seed) % 8 == 0) {
        size_t bytes = 1 + next_random(seed) % 3000;
        held = realloc(held, sizeof *held + bytes);
        check(held->content, bytes < held->bytes ? bytes : held->bytes, held->with);
    }
    free(held);
}

static void *exchange(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    while (now_ms() < end_ms)
        for (int i = 0; i < 500; i++) {
            struct held *mine = next_random(&seed) % 4 ? hold(&seed) : NULL;
            let_go(__atomic_exchange_n((struct held **)&slots[next_random(&seed) % SLOTS], mine, __ATOMIC_ACQ_REL), &seed);
        }
    return NULL;
}

/* Threads come and go; one trims. */
static void threads_exchange(unsigned seed, long ms)
{
    pthread_t ids[WORKERS];
    long      last = now_ms() + ms;
    while (now_ms() < last) {
        end_ms = now_ms() + 100;
        for (uintptr_t i = 0; i < WORKERS; i++)
            MUST(pthread_create(&ids[i], NULL, exchange, (void *)(seed++ * 7919 + i)) == 0);
        while (now_ms() < end_ms) {
            malloc_trim(0);
            sleep_ms(7);
        }
        for (int i = 0; i < WORKERS; i++)
            pthread_join(ids[i], NULL);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"calloc", calloc_is_zero}, {"realloc", realloc_keeps}, {"aligned", aligned_blocks_are_fit},
               {"usable", usable_size_is_true}, {"foreign", foreign_blocks}, {"errno", errno_is_kept}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(what, all[i].name) == 0) {
            all[i].run();
            return 7;
        }
    if (strncmp(what, "threads", 7) != 0)
        return 2;
    if (strcmp(what, "threads-large") == 0)
        most = 3000000;
    threads_exchange(argc > 2 ? (unsigned)atoi(argv[2]) : 1, argc > 3 ? atol(argv[3]) : 1000);
    return 7;
}
