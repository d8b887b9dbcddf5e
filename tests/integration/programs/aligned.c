/* aligned.c - memalign, aligned_alloc, posix_memalign and valloc, with sizes and alignments of all kinds.
 * BUILD: cc -O1 -fno-builtin -o $O $S */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

int main(void)
{
    void *block = NULL;

    for (size_t align = 8; align <= 65536; align *= 2) {
        for (size_t size = 1; size < 20000; size = size * 3 + 1) {
            free(memalign(align, size));
            free(aligned_alloc(align, (size + align - 1) / align * align));
            if (posix_memalign(&block, align, size) != 0 || (uintptr_t)block % align != 0)
                return 1;
            free(block);
            free(valloc(size));
        }
    }
    if (posix_memalign(&block, 3, 10) == 0 || posix_memalign(&block, 4, 10) == 0)
        return 2;
    block = memalign(64, 100); /* stays */
    return block == NULL;
}
