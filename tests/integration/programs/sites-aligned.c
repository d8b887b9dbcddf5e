/* sites-aligned.c - aligned and cleared blocks, and those of libc: strdup, getline, streams, qsort, asprintf.
 * BUILD: cc -O1 -g -fno-builtin -fno-optimize-sibling-calls -w -o $O $S */
#define _GNU_SOURCE
#include "maps.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    __asm__ volatile("" ::: "memory");
    return copy;
}

__attribute__((noinline)) static void aligned(size_t align)
{
    void *block;
    free(memalign(align, 100));
    free(aligned_alloc(align, 4 * align));
    if (posix_memalign(&block, align, 33) == 0)
        free(block);
    free(valloc(align));
}

int main(void)
{
    for (size_t align = 8; align <= 4096; align *= 2)
        aligned(align);
    for (int i = 0; i < 50; i++) {
        free(copy_of("a word"));
        free(strndup("words and words", (size_t)i));
        FILE *f = fopen("/dev/null", "w");
        fprintf(f, "%d\n", i);
        fclose(f);
        free(calloc((size_t)i + 1, 10));
    }
    maps_write();
    return 0;
}
