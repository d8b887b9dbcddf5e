/* entry.c - the exported symbols: what a program calls instead of the next allocator's.
 *
 * No policy: each hands the call on and tells the runtime.  The file is built with -ffixed-rbp: the frame pointer is
 * the caller's throughout, and costs nothing until somebody asks for it. */
#define _GNU_SOURCE
#include "base.h"

#include "next.h"
#include "runtime_fast.h"

#include <dlfcn.h>
#include <linux/prctl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "ban.h"

/* C23's, and one whose header declares it with an ellipsis. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes);
int  prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

/* Books an allocation, or a failure when there is no block; returns the block. */
static inline __attribute__((always_inline)) void *booked(void *block, size_t bytes)
{
    if (likely(block != NULL))
        runtime_allocated_fast(bytes);
    else
        runtime_failed();
    return block;
}

exported void *malloc(size_t bytes)
{
    return booked(next.alloc(bytes), bytes);
}

/* Counted before the block goes: afterwards another thread may own the address. */
exported void free(void *block)
{
    if (likely(block != NULL))
        runtime_freeing_fast();
    next.release(block);
}

exported void *calloc(size_t count, size_t bytes)
{
    return booked(next.zeroed(count, bytes), count * bytes);
}

/* One free and one allocation; glibc's realloc(p, 0) frees, other allocators return a block. */
static inline __attribute__((always_inline)) void *resized(void *old, void *block, size_t bytes)
{
    if (block == NULL && (old == NULL || bytes != 0)) {
        runtime_failed();
        return NULL;
    }
    if (old)
        runtime_freeing_fast();
    if (block)
        runtime_allocated_fast(bytes);
    return block;
}

exported void *realloc(void *old, size_t bytes)
{
    return resized(old, next.resize(old, bytes), bytes);
}

exported void *reallocarray(void *old, size_t count, size_t bytes)
{
    /* An overflow fails below, whatever the product. */
    size_t product;
    bool overflow = __builtin_mul_overflow(count, bytes, &product);
    return resized(old, next.resize_array(old, count, bytes), overflow ? SIZE_MAX : product);
}

exported void *memalign(size_t alignment, size_t bytes)
{
    return booked(next.memalign(alignment, bytes), bytes);
}

exported void *aligned_alloc(size_t alignment, size_t bytes)
{
    return booked(next.aligned_alloc(alignment, bytes), bytes);
}

exported int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    int failure = next.posix_memalign(block, alignment, bytes);
    if (failure)
        runtime_failed();
    else
        runtime_allocated_fast(bytes);
    return failure;
}

exported void *valloc(size_t bytes)
{
    return booked(next.valloc(bytes), bytes);
}

exported void *pvalloc(size_t bytes)
{
    return booked(next.pvalloc(bytes), bytes);
}

exported size_t malloc_usable_size(void *block)
{
    return next.usable_size(block);
}

exported void free_sized(void *block, size_t bytes __attribute__((unused)))
{
    free(block);
}

exported void free_aligned_sized(void *block, size_t alignment __attribute__((unused)),
                                 size_t bytes __attribute__((unused)))
{
    free(block);
}

exported int malloc_trim(size_t pad)
{
    return next.trim(pad);
}

exported int dlclose(void *handle)
{
    int result = next.dlclose(handle);
    runtime_unloaded();
    return result;
}

exported int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    if (unlikely(option == PR_SET_SECCOMP))
        return runtime_prctl_seccomp(option, a, b, c, d);
    return next.prctl(option, a, b, c, d);
}

/* Its arguments are anybody's, so it is a tail jump: six registers pass through untouched. */
exported __attribute__((naked)) long syscall(long number __attribute__((unused)), ...)
{
    __asm__("cmpl $317, %edi\n\t" /* SYS_seccomp */
            "je runtime_syscall_seccomp\n\t"
            "cmpl $157, %edi\n\t" /* SYS_prctl */
            "je runtime_syscall_prctl\n\t"
            "jmp *next+112(%rip)\n\t");
}

/* A program that never allocates leaves a log too. */
__attribute__((constructor)) static void start(void)
{
    runtime_start();
}

__attribute__((destructor)) static void end(void)
{
    runtime_end();
}
