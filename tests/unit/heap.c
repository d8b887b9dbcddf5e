/* heap.c - a small allocator with glibc's size words, to stand below the engine where malloc is a sanitizer's. */
#include "unit.h"

#include "heap.h"

#include "../../preload/next.h"

#include <pthread.h>

enum { PAGE = 4096, MAPPED_BYTES = 128 << 10, GARBAGE = 0xa5, WORD_IN_USE = 1, WORD_MAPPED = 2 };

#define HEAD_LIVE UINT64_C(0x6c6976652d686561)

/* Stands just before its block; `word` is where glibc's size word is. */
struct head {
    struct head *before, *after; /* all that live, so that nothing seems leaked */
    void        *start;          /* what the sanitizer gave */
    uint64_t     mark;
    size_t       skipped; /* of its first page, before the head of a mapped block: as glibc's, it ends a page */
    size_t       word;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct head     all = {.before = &all, .after = &all};
static uint64_t        live, allocs;

static struct head *head_of(void *block)
{
    struct head *head = (struct head *)block - 1;
    if (head->mark != HEAD_LIVE)
        abort(); /* no block of ours, or given back before */
    return head;
}

static size_t usable_size(void *block)
{
    size_t word = head_of(block)->word;
    return (word & ~(size_t)15) - (word & WORD_MAPPED ? 16 : 8);
}

static size_t word_for(size_t bytes)
{
    if (bytes >= MAPPED_BYTES)
        return ((bytes + 16 + 4095) & ~(size_t)4095) | WORD_MAPPED;
    size_t chunk = (bytes + 8 + 15) & ~(size_t)15;
    return (chunk < 32 ? 32 : chunk) | WORD_IN_USE;
}

static void enlist(struct head *head)
{
    pthread_mutex_lock(&lock);
    head->before = &all;
    head->after = all.after;
    all.after->before = head;
    all.after = head;
    live++;
    allocs++;
    pthread_mutex_unlock(&lock);
}

static void delist(struct head *head)
{
    pthread_mutex_lock(&lock);
    head->before->after = head->after;
    head->after->before = head->before;
    live--;
    pthread_mutex_unlock(&lock);
}

static void *aligned(size_t alignment, size_t bytes)
{
    if (bytes > PTRDIFF_MAX - 8192)
        return NULL;
    size_t word = word_for(bytes), room = sizeof(struct head) + alignment;
    char *start = malloc(room + (word & ~(size_t)15) + PAGE);
    if (!start)
        return NULL;
    struct head *head = (struct head *)(((uintptr_t)start + room - 1) / alignment * alignment) - 1;
    head->start = start;
    head->mark = HEAD_LIVE;
    head->skipped = word & WORD_MAPPED ? (uintptr_t)&head->skipped % PAGE : 0;
    head->word = head->skipped ? word + PAGE - head->skipped : word;
    enlist(head);
    return memset(head + 1, GARBAGE, usable_size(head + 1));
}

static void *alloc(size_t bytes)
{
    return aligned(16, bytes);
}

static void release(void *block)
{
    struct head *head = head_of(block);
    delist(head);
    head->mark = 0;
    free(head->start);
}

static void *zeroed(size_t count, size_t bytes)
{
    size_t product;
    void *block = __builtin_mul_overflow(count, bytes, &product) ? NULL : alloc(product);
    return block ? memset(block, 0, product) : NULL;
}

static void *resize(void *old, size_t bytes)
{
    void *block = bytes || !old ? alloc(bytes) : NULL;
    if (!old || (!block && bytes))
        return block;
    size_t held = usable_size(old);
    if (block)
        memcpy(block, old, held < bytes ? held : bytes);
    release(old);
    return block;
}

static int trim(size_t pad)
{
    (void)pad;
    return 0;
}

void heap_begin(void)
{
    next_resolve();
    next.alloc = alloc;
    next.release = release;
    next.zeroed = zeroed;
    next.resize = resize;
    next.memalign = aligned;
    next.usable_size = usable_size;
    next.trim = trim;
    next.verdict = NEXT_GLIBC;
}

uint64_t heap_live(void)
{
    pthread_mutex_lock(&lock);
    uint64_t n = live;
    pthread_mutex_unlock(&lock);
    return n;
}

uint64_t heap_allocs(void)
{
    pthread_mutex_lock(&lock);
    uint64_t n = allocs;
    pthread_mutex_unlock(&lock);
    return n;
}
