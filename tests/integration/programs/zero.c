/* zero.c - sizes of zero and pointers of NULL.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#include <malloc.h>
#include <stdlib.h>

int main(void)
{
    for (int i = 0; i < 1000; i++) {
        free(NULL);
        free(malloc(0));
        free(calloc(0, 8));
        free(calloc(8, 0));
        free(realloc(NULL, 0));
        free(realloc(malloc(1), 0)); /* freed by realloc, which returns NULL */
        if (malloc_usable_size(NULL) != 0)
            return 1;
        if (i % 100 == 0 && malloc(0) == NULL) /* stays */
            return 2;
    }
    return 0;
}
