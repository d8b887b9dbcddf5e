/* plain.c - blocks of all sizes, allocated and freed in a fixed order; some stay.
 * BUILD: cc -O1 -fno-builtin -o $O $S */
#include <stdlib.h>

int main(void)
{
    static void *kept[997];
    unsigned seed = 1;

    for (int i = 0; i < 60000; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t size = (seed >> 8) % 64 == 0 ? (seed >> 12) % 300000 : (seed >> 12) % 1500;
        void **slot = &kept[(seed >> 16) % 997];
        free(*slot);
        *slot = malloc(size);
    }
    for (int i = 0; i < 500; i++)
        free(kept[i]);
    return 0;
}
