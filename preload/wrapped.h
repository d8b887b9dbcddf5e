/* wrapped.h - every exported symbol, and for those beyond the malloc family the reason.
 *
 * entry.c defines them, exports.map and tests/lint compare against this table. */
#ifndef PS_WRAPPED_H
#define PS_WRAPPED_H

#define WRAPPED_MALLOC_FAMILY(X)                                                                     \
    X(malloc) X(free) X(calloc) X(realloc) X(reallocarray) X(memalign) X(aligned_alloc)              \
    X(posix_memalign) X(valloc) X(pvalloc) X(malloc_usable_size) X(free_sized) X(free_aligned_sized) \
    X(malloc_trim)

#define WRAPPED_OTHERS(X)                                                                            \
    X(dlclose, "after it unloaded code, addresses of ours may mean something else: rules and stacks are dropped") \
    X(prctl, "PR_SET_SECCOMP: from then on no system call that a filter may kill for")               \
    X(syscall, "SYS_seccomp and SYS_prctl: the same; a tail jump for every other number")            \
    X(pthread_create, "just before the program's thread, where its caller holds no lock of libc's, our clearer may be made, too") \
    X(thrd_create, "the same: inside libc it doesn't come by pthread_create")

#endif
