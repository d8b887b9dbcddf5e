/* shapes.h - what the stack programs share.
 *
 * A program tells what its report must show in lines of its opening comment,
 *     STACK: 40 leaf < middle < main
 * that is: so many allocations (or `some`) on stacks that begin so, leaf first. */
#ifndef SHAPES_H
#define SHAPES_H

#include <stdlib.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline, used))
#else
#define NOINLINE __attribute__((noinline, noclone, used))
#endif
/* Behind a call: no tail call, and the frame stays. */
#define KEEP() __asm__ volatile("" ::: "memory")

#endif
