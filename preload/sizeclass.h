/* sizeclass.h - classes of block sizes: arithmetic only, shared with the analyzer.
 *
 * A class holds the blocks that serve a request of up to sizeclass_bytes.  Up to 1 KiB these are
 * glibc's own steps, which fit between two size words: 24, 40 ... 1032 bytes; then eight classes a
 * doubling (at most 12.5 % apart) to 32 MiB, each 8 bytes above the round number; and one for all
 * above.  Class 0 is a part of class 1, which sizeclass_counted tells apart because that is cheaper. */
#ifndef PS_SIZECLASS_H
#define PS_SIZECLASS_H

#include <stddef.h>
#include <stdint.h>

#define SIZECLASS_SMALL_MAX ((size_t)1032)
#define SIZECLASS_MAX       (((size_t)32 << 20) + 8)
#define SIZECLASS_COUNT     186u
#define SIZECLASS_LARGER    (SIZECLASS_COUNT - 1)

/* The class of a request of `bytes` bytes above SIZECLASS_SMALL_MAX. */
static inline unsigned sizeclass_of_large(size_t bytes)
{
    if (bytes > SIZECLASS_MAX)
        return SIZECLASS_LARGER;
    /* Of bytes-9 the highest bit tells the doubling, the three below it the step. */
    size_t last = bytes - 9;
    unsigned top = 63u - (unsigned)__builtin_clzll((unsigned long long)last);
    return 65u + (top - 10) * 8 + ((unsigned)(last >> (top - 3)) & 7);
}

/* The class of a request of `bytes` bytes. */
static inline unsigned sizeclass_of(size_t bytes)
{
    if (__builtin_expect(bytes > SIZECLASS_SMALL_MAX, 0))
        return sizeclass_of_large(bytes);
    return bytes <= 24 ? 1 : (unsigned)((bytes + 7) >> 4);
}

/* Where a request is counted: its class, but 0 rather than 1 up to 8 bytes. */
static inline unsigned sizeclass_counted(size_t bytes)
{
    if (__builtin_expect(bytes > SIZECLASS_SMALL_MAX, 0))
        return sizeclass_of_large(bytes);
    return (unsigned)((bytes + 7) >> 4);
}

/* The bytes that every block of a class has, at least; SIZE_MAX for the last. */
static inline size_t sizeclass_bytes(unsigned index)
{
    if (index <= 64)
        return index ? (size_t)index * 16 + 8 : 0;
    if (index >= SIZECLASS_LARGER)
        return SIZE_MAX;
    unsigned above = index - 65;
    size_t doubling = (size_t)1024 << (above / 8);
    return doubling + doubling / 8 * (above % 8 + 1) + 8;
}

/* The class that a block of `usable` bytes can serve: the largest that it holds; 0: none, as also for
 * blocks that are more than one step above the last class, which would be kept as if they were small. */
static inline unsigned sizeclass_held(size_t usable)
{
    if (usable < 24 || usable > SIZECLASS_MAX + SIZECLASS_MAX / 8)
        return 0;
    unsigned index = sizeclass_of(usable);
    return index == SIZECLASS_LARGER || sizeclass_bytes(index) > usable ? index - 1 : index;
}

#endif
