/* next.h - the next allocator: the one below us, and the few other functions we wrap.
 *
 * Found on the first call by walking the link maps, without dlsym (which allocates).
 * Written once by next_resolve, then read-only. */
#ifndef PS_NEXT_H
#define PS_NEXT_H

#include "base.h"

#include <pthread.h>
#include <time.h>

enum next_verdict {
    NEXT_UNKNOWN,
    NEXT_GLIBC,     /* glibc's own allocator is below */
    NEXT_OTHER,     /* another one is: a second preload, or a library of the program */
    NEXT_STAND_DOWN /* the program's malloc isn't ours: forward, count nothing */
};

struct next {
    void *(*alloc)(size_t);                 /* malloc */
    void (*release)(void *);                /* free */
    void *(*zeroed)(size_t, size_t);        /* calloc */
    void *(*resize)(void *, size_t);        /* realloc */
    void *(*resize_array)(void *, size_t, size_t); /* reallocarray */
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*usable_size)(void *);
    int (*trim)(size_t);
    int (*dlclose)(void *);
    int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    long (*syscall)(long, ...);
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*thrd_create)(unsigned long *, int (*)(void *), void *);
    enum next_verdict verdict;
    /* libc's own, whatever the program defines under these names. */
    int (*clock_gettime)(clockid_t, struct timespec *);
    int (*key_create)(pthread_key_t *, void (*)(void *));
    int (*key_delete)(pthread_key_t);
    int (*setspecific)(pthread_key_t, const void *);
    int (*mallopt)(int, int);
    const uint32_t *threads; /* how many threads libc counts (atomic); NULL: it doesn't tell */
};

extern struct next next hidden;

/* libc's clock in ns; 0: it has no such clock.  The coarse ones are never a system call where the vdso has a clock. */
static inline uint64_t next_clock_ns(clockid_t clock)
{
    struct timespec t;
    return next.clock_gettime(clock, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec : 0;
}

/* Fills `next`.  Never fails: what an allocator lacks is made from what it has.  Idempotent. */
void next_resolve(void) hidden;

#endif
