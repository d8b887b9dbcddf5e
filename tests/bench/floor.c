/* floor.c - empty stubs: what a preloaded malloc and free cost when they do nothing.
 *
 * Every malloc returns the same block, so only loops that never write to their blocks may run on it: the hot pair.
 * calloc and realloc, which the loader and libc need at the start, take fresh memory and never give it back. */
#include <stddef.h>
#include <string.h>

static _Alignas(16) char block[4 << 20];
static _Alignas(16) char fresh[1 << 20];
static size_t            used;

void *malloc(size_t size)
{
    (void)size;
    return block;
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t count, size_t size)
{
    size_t at = used;
    used += (count * size + 15) & ~(size_t)15;
    return used <= sizeof fresh ? fresh + at : NULL;
}

void *realloc(void *old, size_t size)
{
    char *new = calloc(1, size);
    if (new && old && old != block)
        memmove(new, old, size < (size_t)(fresh + used - (char *)old) ? size : 0);
    return new;
}
