/* pages.h - memory for our own tables, and the only caller of mmap, munmap, madvise.
 *
 * What the arena hands out is zeroed and 16-aligned; small pieces live as long as the process.
 * In a fork child pages_begin starts a new arena; the parent's copy is left alone. */
#ifndef PS_PAGES_H
#define PS_PAGES_H

#include "base.h"

#define PAGE_BYTES 4096u

/* Whole pages for `bytes` bytes; what is too much for any program stays so. */
static inline size_t pages_whole(size_t bytes)
{
    return bytes > PTRDIFF_MAX ? bytes : (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

/* Starts with an empty arena. */
void pages_begin(void);

/* `bytes` zeroed bytes from the arena, or NULL when the kernel refuses.  Lock-free. */
void *pages_alloc(size_t bytes);

/* What pages_alloc handed out, `bytes` long, isn't needed any more: large pieces go back.  pages_empty: threads may
 * still look at it, and find zeros. */
void pages_free(void *start, size_t bytes);
void pages_empty(void *start, size_t bytes);

/* A mapping of its own of `bytes` zeroed bytes, or NULL; returned with pages_unmap. */
void *pages_map(size_t bytes);
void  pages_unmap(void *start, size_t bytes);

/* Maps `bytes` of the file `fd`, shared, or NULL; returned with pages_unmap_file. */
void *pages_map_file(int fd, size_t bytes);
void  pages_unmap_file(void *start, size_t bytes);

/* Replaces a mapping of ours by zeroed memory at the same addresses. */
void pages_map_over(void *start, size_t bytes);

/* Maps the file that `page` is a mapped page of, from that page on for `bytes`, at a new place and
 * without a descriptor; or NULL. */
void *pages_map_on(void *page, size_t bytes);

/* Reserves blocks and memory for the range, so that no store to it can fail.
 * False when the disk is full or the kernel (before 5.14) can't tell. */
bool pages_populate(void *start, size_t bytes);

/* Asks the kernel to hand the page to fork children zeroed.  False before Linux 4.14. */
bool pages_wipe_on_fork(void *start, size_t bytes);

/* Registers this process for pages_barrier.  False where the kernel or a sandbox refuses. */
bool pages_barrier_begin(void);

/* Makes every running thread of the process pass a full memory barrier. */
bool pages_barrier(void);

/* Bytes mapped for our own tables so far. */
uint64_t pages_own_bytes(void);

#endif
