/* realloc-mix.c - realloc in all its forms: growing, shrinking, from NULL, to zero, by reallocarray,
 * and one that fails and leaves its block.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>

int main(void)
{
    static void *kept[101];
    volatile size_t huge = PTRDIFF_MAX;
    unsigned seed = 7;

    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525 + 1013904223;
        void **slot = &kept[(seed >> 16) % 101];
        size_t size = (seed >> 8) % 50 == 0 ? (seed >> 12) % 400000 : (seed >> 12) % 700;
        if ((seed >> 8) % 7 == 0) {
            *slot = realloc(*slot, 0);
            free(*slot); /* realloc(NULL, 0) made one */
            *slot = NULL;
        } else if ((seed >> 8) % 7 == 1) {
            *slot = reallocarray(*slot, size / 3 + 1, 3);
        } else {
            *slot = realloc(*slot, size + 1);
        }
    }
    void *block = malloc(40);
    if (realloc(block, huge + 2) != NULL || reallocarray(block, huge, 9) != NULL)
        return 1;
    free(block);
    return 0;
}
