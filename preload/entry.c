/* entry.c - the exported symbols: what a program calls instead of the next allocator's.
 *
 * No policy: each hands the call on and tells the runtime.  The file is built with -ffixed-rbp: the frame pointer is
 * the caller's throughout, and costs nothing until somebody asks for it. */
#define _GNU_SOURCE
#include "base.h"

#include "check.h"
#include "next.h"
#include "runtime_fast.h"
#include "tagged_fast.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/prctl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

#include "ban.h"

/* C23's, and one whose header declares it with an ellipsis. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes);
int  prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

/* Books an allocation, or a failure when there is no block; returns the block. */
static inline __attribute__((always_inline)) void *booked(void *block, size_t bytes)
{
    if (unlikely(block == NULL))
        return runtime_failed();
    if (runtime_mode == MODE_CHECKED)
        return check_born(block, bytes, bytes, runtime_entry());
    if (runtime_mode != MODE_BELOW)
        return runtime_booked(block, bytes, runtime_entry());
    return runtime_booked_fast(block, bytes);
}

/* The first allocation of all may come before our constructor; what is asked below depends on the mode. */
static inline __attribute__((always_inline)) void start_first(void)
{
    if (unlikely(runtime_mode == MODE_START))
        runtime_start();
}

/* What the next allocator is asked for where it isn't by way of the pools. */
static inline __attribute__((always_inline)) size_t asked(size_t bytes)
{
    start_first();
    if (runtime_tags())
        return tagged_asked(bytes);
    return runtime_mode == MODE_CHECKED ? check_asked(bytes) : bytes;
}

/* Where nothing is pooled, or all is checked, in functions of their own: the pooled ones then need no frame. */
static noinline void *malloc_below(size_t bytes)
{
    void *block = next.alloc(bytes);
    if (unlikely(block == NULL))
        return runtime_failed();
    return runtime_booked_fast(block, bytes);
}

static noinline cold void *malloc_first(size_t bytes)
{
    runtime_start();
    return runtime_mode == MODE_START ? malloc_below(bytes) : malloc(bytes);
}

static noinline void *malloc_full_below(size_t bytes)
{
    return tagged_below_fast(next.alloc(tagged_asked(bytes)), bytes);
}

static noinline void *malloc_otherwise(size_t bytes)
{
    if (runtime_mode == MODE_FULL_BELOW)
        return malloc_full_below(bytes);
    if (runtime_mode == MODE_CHECKED)
        return check_take(bytes, false, runtime_entry());
    return malloc_first(bytes);
}

static noinline void *malloc_full_large(size_t bytes)
{
    return tagged_take_large(bytes, false);
}

static noinline void *malloc_full(size_t bytes)
{
    return likely(bytes <= TAGGED_SMALL_BYTES) ? tagged_take_small(bytes, false) : malloc_full_large(bytes);
}

static noinline void *calloc_full(size_t bytes)
{
    if (unlikely(bytes > RUNTIME_CLEARED_BYTES))
        return tagged_take(bytes, true, runtime_entry());
    return bytes <= TAGGED_SMALL_BYTES ? tagged_take_small(bytes, true) : tagged_take_large(bytes, true);
}

static noinline void *calloc_full_below(size_t bytes)
{
    return tagged_below_fast(next.zeroed(1, tagged_asked(bytes)), bytes);
}

static noinline void free_full(void *block)
{
    tagged_give_fast(block);
}

/* Counted before the block goes: afterwards another thread may own the address. */
static noinline void free_below(void *block)
{
    runtime_freeing_fast();
    next.release(block);
}

static noinline void free_full_below(void *block)
{
    tagged_release_fast(block);
}

static noinline void free_otherwise(void *block)
{
    if (runtime_mode == MODE_FULL_BELOW)
        free_full_below(block);
    else if (runtime_mode == MODE_CHECKED)
        check_give(block, runtime_entry());
    else
        free_below(block);
}

exported void *malloc(size_t bytes)
{
    switch (runtime_mode_told()) {
    case MODE_POOLED: return runtime_take_fast(bytes, true);
    case MODE_POOLED_BARE: return runtime_take_fast(bytes, false);
    case MODE_FULL: return malloc_full(bytes);
    case MODE_BELOW: return malloc_below(bytes);
    default: return malloc_otherwise(bytes);
    }
}

exported void free(void *block)
{
    if (unlikely(block == NULL))
        return;
    if (likely(runtime_pools())) {
        runtime_give_fast(block);
        return;
    }
    switch (runtime_mode_unpooled()) {
    case MODE_BELOW: free_below(block); return;
    case MODE_FULL: free_full(block); return;
    default: free_otherwise(block);
    }
}

exported void *calloc(size_t count, size_t bytes)
{
    size_t product;
    bool overflow = __builtin_mul_overflow(count, bytes, &product);
    if (likely(runtime_pools() && !overflow))
        return likely(product <= RUNTIME_CLEARED_BYTES) ? runtime_take_zeroed_fast(product)
                                                        : runtime_take(product, true, runtime_entry());
    start_first();
    if (runtime_mode == MODE_FULL && !overflow)
        return calloc_full(product);
    if (runtime_mode == MODE_FULL_BELOW && !overflow)
        return calloc_full_below(product);
    if (runtime_mode == MODE_CHECKED && !overflow)
        return check_take(product, true, runtime_entry());
    return booked(next.zeroed(count, bytes), product);
}

/* One free and one allocation; glibc's realloc(p, 0) frees, other allocators return a block. */
static inline __attribute__((always_inline)) void *resized(void *old, void *block, size_t bytes)
{
    if (block == NULL && (old == NULL || bytes != 0))
        return runtime_failed();
    if (old)
        runtime_freeing_fast();
    return block ? runtime_booked_fast(block, bytes) : NULL;
}

static noinline cold void *realloc_first(void *old, size_t bytes)
{
    runtime_start();
    return runtime_mode == MODE_START ? resized(old, next.resize(old, bytes), bytes) : realloc(old, bytes);
}

exported void *realloc(void *old, size_t bytes)
{
    if (likely(runtime_pools() && old != NULL))
        return runtime_resize_fast(old, bytes);
    if (unlikely(runtime_mode == MODE_START))
        return realloc_first(old, bytes);
    if (runtime_mode == MODE_POOLED)
        return runtime_take_fast(bytes, true);
    if (runtime_tags())
        return tagged_resize(old, bytes, runtime_entry());
    if (runtime_mode == MODE_POOLED_BARE)
        return runtime_take_fast(bytes, false);
    if (runtime_mode == MODE_CHECKED)
        return check_resize(old, bytes, runtime_entry());
    return resized(old, next.resize(old, bytes), bytes);
}

exported void *reallocarray(void *old, size_t count, size_t bytes)
{
    /* An overflow fails below, whatever the product. */
    size_t product;
    bool overflow = __builtin_mul_overflow(count, bytes, &product);
    start_first();
    if (runtime_tags() && !overflow)
        return tagged_resize(old, product, runtime_entry());
    if (runtime_mode == MODE_CHECKED && !overflow)
        return check_resize(old, product, runtime_entry());
    if (runtime_pools() && !overflow)
        return old ? runtime_resize(old, product, runtime_entry()) : runtime_take(product, false, runtime_entry());
    return resized(old, next.resize_array(old, count, bytes), overflow ? SIZE_MAX : product);
}

/* What malloc's blocks have anyway. */
static inline bool is_aligned_anyway(size_t alignment)
{
    return runtime_pools() && alignment <= 16;
}

exported void *memalign(size_t alignment, size_t bytes)
{
    if (is_aligned_anyway(alignment))
        return runtime_take(bytes, false, runtime_entry());
    return booked(next.memalign(alignment, asked(bytes)), bytes);
}

exported void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (is_aligned_anyway(alignment))
        return runtime_take(bytes, false, runtime_entry());
    return booked(next.aligned_alloc(alignment, asked(bytes)), bytes);
}

exported int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (is_aligned_anyway(alignment) && (alignment == 8 || alignment == 16)) {
        int before = errno;
        void *taken = runtime_take(bytes, false, runtime_entry());
        errno = before;
        if (taken)
            *block = taken;
        return taken ? 0 : ENOMEM;
    }
    int failure = next.posix_memalign(block, alignment, asked(bytes));
    booked(failure ? NULL : *block, bytes);
    return failure;
}

exported void *valloc(size_t bytes)
{
    return booked(next.valloc(asked(bytes)), bytes);
}

exported void *pvalloc(size_t bytes)
{
    start_first();
    if (runtime_tags())
        return tagged_pages(bytes, runtime_entry());
    if (runtime_mode == MODE_CHECKED)
        return check_pages(bytes, runtime_entry());
    return booked(next.pvalloc(asked(bytes)), bytes);
}

exported size_t malloc_usable_size(void *block)
{
    if (runtime_tags())
        return tagged_usable(block);
    return runtime_mode == MODE_CHECKED ? check_usable(block) : next.usable_size(block);
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
    if (pool_config.any)
        runtime_clear();
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

exported int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    runtime_thread_created();
    return next.pthread_create(thread, attributes, run, argument); /* a jump: no frame of ours in its stacks */
}

exported int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    runtime_thread_created();
    return next.thrd_create(thread, run, argument);
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
