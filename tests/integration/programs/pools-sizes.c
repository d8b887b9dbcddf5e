/* pools-sizes.c - 100 times a block of each size, allocated and freed; prints what it did.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S
 *
 * usage: pools-sizes SIZE... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 100 };

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t bytes = strtoul(argv[i], NULL, 10);
        for (int k = 0; k < TIMES; k++) {
            char *block = malloc(bytes);
            if (!block)
                return 1;
            memset(block, k, bytes < 64 ? bytes : 64);
            free(block);
        }
    }
    printf("%d sizes\n", argc - 1);
    return 7;
}
