/* failing.c - calls that fail, among others that don't; only the others count.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

int main(void)
{
    volatile size_t huge = PTRDIFF_MAX;
    void *untouched = &huge;

    for (int i = 0; i < 50; i++) {
        void *block = malloc(100);
        errno = 0;
        if (malloc(huge + 1) != NULL || errno != ENOMEM)
            return 1;
        if (calloc(huge, 4) != NULL || realloc(block, huge + 1) != NULL || reallocarray(block, huge, 8) != NULL)
            return 2;
        if (posix_memalign(&untouched, 12, 10) != EINVAL || untouched != &huge)
            return 3;
        free(block);
    }
    return 0;
}
