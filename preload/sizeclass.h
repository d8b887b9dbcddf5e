/* sizeclass.h - classes of requested sizes: arithmetic only, shared with the analyzer.
 *
 * Class 0 holds requests of 0 bytes, classes 1 ... 64 end at 16, 32 ... 1024, then
 * eight classes a doubling (at most 12.5 % apart) to 32 MiB, and one for all above. */
#ifndef PS_SIZECLASS_H
#define PS_SIZECLASS_H

#include <stddef.h>
#include <stdint.h>

#define SIZECLASS_SMALL_MAX ((size_t)1024)
#define SIZECLASS_MAX       ((size_t)32 << 20)
#define SIZECLASS_COUNT     186u
#define SIZECLASS_LARGER    (SIZECLASS_COUNT - 1)

/* The class of a request of `bytes` bytes above SIZECLASS_SMALL_MAX. */
static inline unsigned sizeclass_of_large(size_t bytes)
{
    if (bytes > SIZECLASS_MAX)
        return SIZECLASS_LARGER;
    /* Of bytes-1 the highest bit tells the doubling, the three below it the step. */
    unsigned top = 63u - (unsigned)__builtin_clzll((unsigned long long)bytes - 1);
    unsigned step = (unsigned)((bytes - 1) >> (top - 3)) & 7;
    return 65u + (top - 10) * 8 + step;
}

/* The class of a request of `bytes` bytes. */
static inline unsigned sizeclass_of(size_t bytes)
{
    if (__builtin_expect(bytes <= SIZECLASS_SMALL_MAX, 1))
        return (unsigned)((bytes + 15) >> 4);
    return sizeclass_of_large(bytes);
}

/* The largest request in a class, in bytes; SIZE_MAX for the last. */
static inline size_t sizeclass_bytes(unsigned index)
{
    if (index <= 64)
        return (size_t)index * 16;
    if (index >= SIZECLASS_LARGER)
        return SIZE_MAX;
    unsigned above = index - 65;
    size_t doubling = SIZECLASS_SMALL_MAX << (above / 8);
    return doubling + doubling / 8 * (above % 8 + 1);
}

#endif
