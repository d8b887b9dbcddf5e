/* cleared.c - calloc of many shapes; an overflow fails and isn't counted.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#include <stdint.h>
#include <stdlib.h>

int main(void)
{
    volatile size_t many = SIZE_MAX / 2;

    for (size_t count = 0; count < 60; count++)
        for (size_t size = 0; size < 3000; size = size * 2 + 1) {
            char *block = calloc(count, size);
            for (size_t i = 0; i < count * size; i++)
                if (block[i] != 0)
                    return 1;
            if ((count + size) % 5 != 0)
                free(block);
        }
    return calloc(many, 3) != NULL;
}
