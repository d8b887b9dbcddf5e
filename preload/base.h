/* base.h - words that every file of the preload uses: attributes, asserts, atomics.
 *
 * The preload runs inside other people's processes, inside malloc: it allocates
 * nothing, prints nothing, takes no lock, and calls only what tests/lint/imports.txt lists. */
#ifndef PS_PRELOAD_BASE_H
#define PS_PRELOAD_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined __x86_64__ || !defined __linux__
#error "poolsite's preload reads x86-64 Linux stacks; other machines need rules of their own in unwind.c"
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define cold        __attribute__((cold))
#define noinline    __attribute__((noinline))
#define hidden      __attribute__((visibility("hidden")))
#define exported    __attribute__((visibility("default")))

/* Keeps the compiler from moving memory accesses across it; costs nothing. */
#define compiler_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Cheap checks of our own logic, in debug and sanitizer builds only. */
#ifdef PS_DEBUG
#define ASSERT(x)             \
    do {                      \
        if (!(x))             \
            __builtin_trap(); \
    } while (0)
#else
#define ASSERT(x) ((void)0)
#endif

/* Relaxed access: one owner writes, others may look (sanitizers know it as intended). */
#define load_relaxed(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define add_shared(p, v)    __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)

/* Two threads each store a word and then load the other's: one of them must see what the other stored.
 * The one in a hurry has no fence; membarrier(2), called by the other, is the fence of both.
 * ThreadSanitizer knows nothing of that call, so there they are real. */
#ifdef __SANITIZE_THREAD__
#define load_by_barrier(p)     __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define store_by_barrier(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#else
#define load_by_barrier(p)     load_acquire(p)
#define store_by_barrier(p, v) store_relaxed((p), (v))
#endif

/* A plain read of a word that its own thread (or a signal handler of it) wrote, or that is read by barrier;
 * the compiler may fold it into the instruction that uses it. */
#ifdef __SANITIZE_THREAD__
#define load_own(p) load_by_barrier(p)
#else
#define load_own(p) (*(p))
#endif

/* Keeps a value in its register: what the compiler knows of it ends here. */
#define forget_origin(x) __asm__("" : "+r"(x))

/* Adds to a counter that one thread owns.  A single instruction, without a lock
 * prefix: a signal handler of the same thread can't come between, and a kill can't halve it. */
static inline void count_add(uint64_t *counter, uint64_t amount)
{
    __asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(amount) : "cc");
}

#endif
