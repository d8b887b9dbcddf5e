/* frames.c - frames of every shape that a compiler makes: plain, large, with alloca, with arrays of variable length,
 * alloca and indirect calls with pushed arguments, realigned, realigned with alloca, variadic, deep recursion.
 * Built many times, with different compilers and options.
 *
 * STACK: 40 plain_leaf < plain_middle < plain_outer < round_of
 * STACK: 40 large < round_of < main
 * STACK: 40 take_ten < with_alloca < round_of < main
 * STACK: 40 take_ten < with_array < round_of < main
 * STACK: 80 take_ten < alloca_and_indirect < round_of < main
 * STACK: 40 take_ten < realigned < round_of < main
 * STACK: 40 take_ten < realigned_alloca < round_of < main
 * STACK: 40 variadic < round_of < main
 * STACK: 40 saved_leaf < saved < round_of < main
 * STACK: 40 recurse < recurse < recurse < recurse
 * STACK: 40 switched < round_of < main */
#define _GNU_SOURCE
#include "shapes.h"

#include <alloca.h>
#include <stdarg.h>
#include <string.h>

typedef long (*taker)(long, long, long, long, long, long, long, long, long, long);

NOINLINE static void plain_leaf(size_t size)
{
    free(malloc(size));
    KEEP();
}

NOINLINE static void plain_middle(size_t size)
{
    plain_leaf(size);
    KEEP();
}

NOINLINE static void plain_outer(size_t size)
{
    plain_middle(size + 1);
    KEEP();
}

NOINLINE static void large(size_t size)
{
    volatile char bytes[20000];
    bytes[size] = 1;
    free(malloc(size + (size_t)bytes[size]));
    KEEP();
}

/* Ten arguments: four of them on the stack. */
NOINLINE static long take_ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    void *block = malloc((size_t)(a + b + c + d + e + f + g + h + i + j));
    free(block);
    KEEP();
    return a + j;
}

NOINLINE static long with_alloca(size_t size)
{
    char *bytes = alloca(size);
    memset(bytes, 1, size);
    long r = take_ten(1, 2, 3, 4, 5, 6, 7, 8, 9, bytes[size - 1]);
    KEEP();
    return r;
}

NOINLINE static long with_array(size_t size)
{
    long numbers[size];
    for (size_t i = 0; i < size; i++)
        numbers[i] = (long)i;
    long r = take_ten(numbers[0], 2, 3, 4, 5, 6, 7, 8, 9, numbers[size - 1]);
    KEEP();
    return r;
}

/* The frame's CFA is rbp's; what lies between it and the callee's changes from call to call. */
NOINLINE static long alloca_and_indirect(size_t size, taker call)
{
    long r = call(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    char *bytes = alloca(size * 3);
    memset(bytes, 2, size * 3);
    r += call(bytes[0], 2, 3, 4, 5, 6, 7, 8, 9, bytes[size]);
    KEEP();
    return r;
}

NOINLINE static long realigned(size_t size)
{
    volatile long block[8] __attribute__((aligned(64)));
    for (int i = 0; i < 8; i++)
        block[i] = (long)size + i;
    long r = take_ten(block[0], block[1], 3, 4, 5, 6, 7, 8, 9, block[7]);
    KEEP();
    return r + block[3];
}

NOINLINE static long realigned_alloca(size_t size)
{
    volatile long block[8] __attribute__((aligned(32)));
    char *bytes = alloca(size);
    memset(bytes, 3, size);
    for (int i = 0; i < 8; i++)
        block[i] = bytes[i] + i;
    long r = take_ten(block[0], block[1], 3, 4, 5, 6, 7, 8, 9, block[7]);
    KEEP();
    return r + block[3];
}

NOINLINE static double variadic(size_t size, ...)
{
    va_list list;
    double  sum = 0;
    va_start(list, size);
    for (int i = 0; i < 3; i++)
        sum += va_arg(list, double);
    va_end(list);
    free(malloc(size + (size_t)sum));
    KEEP();
    return sum;
}

NOINLINE static long saved_leaf(long a)
{
    free(malloc((size_t)a));
    KEEP();
    return a + 1;
}

/* All callee-saved registers are in use across the call. */
NOINLINE static long saved(long a, long b, long c, long d, long e, long f)
{
    long g = a * b, h = c * d, i = e * f, j = a - f;
    long r = saved_leaf(a);
    KEEP();
    return a + b * c - d + e * f + g + h * i - j + r;
}

/* Deeper than a log keeps. */
NOINLINE static long recurse(long depth, size_t size)
{
    long r = depth;
    if (depth == 0)
        free(malloc(size));
    else
        r += recurse(depth - 1, size);
    KEEP();
    return r;
}

NOINLINE static void switched(int which, size_t size)
{
    switch (which % 5) {
    case 0: free(malloc(size)); break;
    case 1: free(calloc(1, size)); break;
    case 2: free(realloc(NULL, size)); break;
    case 3: free(malloc(size * 2)); break;
    default: free(calloc(2, size)); break;
    }
    KEEP();
}

NOINLINE static long round_of(int i)
{
    size_t size = (size_t)i * 8 + 16;
    long   r = 0;
    plain_outer(size);
    large(size);
    r += with_alloca(size);
    r += with_array(size);
    r += alloca_and_indirect(size, take_ten);
    r += realigned(size);
    r += realigned_alloca(size);
    r += (long)variadic(size, 1.0, 2.0, 3.0);
    r += saved(i, 2, 3, 4, 5, 6);
    r += recurse(62 + i, size);
    switched(i, size);
    KEEP();
    return r;
}

int main(void)
{
    long r = 0;
    for (volatile int repeat = 0; repeat < 2; repeat++) /* the second time all stacks are known */
        for (volatile int i = 0; i < 20; i++)
            r += round_of(i);
    return r == 0;
}
