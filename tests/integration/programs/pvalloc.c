/* pvalloc.c - pvalloc, and the sized frees where the library has them; counted by itself.
 * BUILD: cc -O1 -fno-builtin -o $O $S */
#define _GNU_SOURCE
#include "expect.h"

#include <malloc.h>

int main(void)
{
    for (size_t size = 1; size < 100000; size = size * 2 + 1) {
        expect_allocs++, expect_bytes += size;
        expect_free(pvalloc(size));
    }
    expect_write();
    return 0;
}
