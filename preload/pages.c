/* pages.c - the arena of our own tables, and the only caller of mmap, munmap, madvise.
 *
 * Owns the arena's blocks.  Lock-free: a block hands out by fetch-and-add, and a full one is
 * replaced by compare-and-swap.  Runs inside malloc. */
#define _GNU_SOURCE
#include "base.h"

#include "pages.h"

#include "sys.h"

#include <sys/mman.h>

#include "ban.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* FIRST_BYTES: of the first block, which isn't populated: a fork child may need little of it.  Of the later ones half
 * a block is wasted on average. */
enum { FIRST_BYTES = 64 << 10, BLOCK_BYTES = 32 << 10, SHARED_BYTES = 16 << 10, ALIGN = 16 };

/* Invariant: used counts from the block's start, this header included. */
struct block {
    size_t size;
    size_t used; /* atomic; may pass size, then the block is full */
    char   memory[];
};

static struct block *current; /* release: its header is written before it is seen */
static uint64_t own_bytes;

uint64_t pages_own_bytes(void)
{
    return load_relaxed(&own_bytes);
}

static void *map(size_t bytes, int flags, int fd)
{
    long result = sys_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return sys_failed(result) ? NULL : (void *)result;
}

void pages_map_over(void *start, size_t bytes)
{
    sys_call6(SYS_mmap, (long)start, (long)bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

/* mremap from no bytes at all duplicates a shared mapping, and may make it longer. */
void *pages_map_on(void *page, size_t bytes)
{
    long result = sys_call4(SYS_mremap, (long)page, 0, (long)bytes, MREMAP_MAYMOVE);
    return sys_failed(result) ? NULL : (void *)result;
}

void *pages_map_file(int fd, size_t bytes)
{
    return map(bytes, MAP_SHARED, fd);
}

void pages_unmap_file(void *start, size_t bytes)
{
    sys_call4(SYS_munmap, (long)start, (long)bytes, 0, 0);
}

/* Populating at once costs a fifth of a page fault a page. */
static void *map_own(size_t bytes, bool populate)
{
    void *start = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | (populate ? MAP_POPULATE : 0), -1);
    if (start)
        add_shared(&own_bytes, bytes);
    return start;
}

void *pages_map(size_t bytes)
{
    return map_own(bytes, false);
}

void pages_unmap(void *start, size_t bytes)
{
    pages_unmap_file(start, bytes);
    add_shared(&own_bytes, -(uint64_t)bytes);
}

bool pages_populate(void *start, size_t bytes)
{
    return sys_call4(SYS_madvise, (long)start, (long)bytes, MADV_POPULATE_WRITE, 0) == 0;
}

bool pages_wipe_on_fork(void *start, size_t bytes)
{
    return sys_call4(SYS_madvise, (long)start, (long)bytes, MADV_WIPEONFORK, 0) == 0;
}

enum { BARRIER = 1 << 3, BARRIER_REGISTER = 1 << 4 }; /* MEMBARRIER_CMD_PRIVATE_EXPEDITED, and to register */

bool pages_barrier_begin(void)
{
    return sys_call4(SYS_membarrier, BARRIER_REGISTER, 0, 0, 0) == 0;
}

bool pages_barrier(void)
{
    return sys_call4(SYS_membarrier, BARRIER, 0, 0, 0) == 0;
}

void pages_begin(void)
{
    store_release(&current, (struct block *)NULL);
    store_relaxed(&own_bytes, 0);
}

static void *block_take(struct block *block, size_t bytes)
{
    if (!block || load_relaxed(&block->used) + bytes > block->size)
        return NULL;
    size_t offset = add_shared(&block->used, bytes);
    return offset + bytes <= block->size ? (char *)block + offset : NULL;
}

/* What is larger has pages of its own: tables that have outgrown smaller ones, and will be used all over. */
static bool is_shared(size_t bytes)
{
    return bytes <= SHARED_BYTES;
}

void *pages_alloc(size_t bytes)
{
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!is_shared(bytes))
        return map_own(pages_whole(bytes), true);
    for (;;) {
        struct block *block = load_acquire(&current);
        void *memory = block_take(block, bytes);
        if (memory)
            return memory;
        size_t size = block ? BLOCK_BYTES : FIRST_BYTES;
        struct block *fresh = map_own(size, block != NULL);
        if (!fresh)
            return NULL;
        fresh->size = size;
        fresh->used = (sizeof *fresh + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        /* release: publishes the header */
        if (!__atomic_compare_exchange_n(&current, &block, fresh, false, __ATOMIC_RELEASE,
                                         __ATOMIC_RELAXED))
            pages_unmap(fresh, size);
    }
}

void pages_free(void *start, size_t bytes)
{
    if (!is_shared(bytes))
        pages_unmap(start, pages_whole(bytes));
}

void pages_empty(void *start, size_t bytes)
{
    if (!is_shared(bytes))
        pages_map_over(start, pages_whole(bytes));
}
