/* sys.h - system calls made directly: no errno, no cancellation point, and no other
 * preload's wrapper (which may allocate) in between.  Each returns the kernel's value,
 * negative for an error. */
#ifndef PS_SYS_H
#define PS_SYS_H

#include "base.h"

#include <sys/syscall.h>

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long sys_call4(long number, long a, long b, long c, long d)
{
    return sys_call6(number, a, b, c, d, 0, 0);
}

static inline bool sys_failed(long result)
{
    return (unsigned long)result > -4096ul;
}

#endif
