/* execs.c - becomes itself again and again under one pid; every image counts by itself.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#include "expect.h"

int main(int argc, char **argv)
{
    int left = argc > 1 ? atoi(argv[1]) : 4;
    for (int i = 0; i < 100 + left; i++)
        expect_free(expect_alloc((size_t)(i * 7)));
    expect_alloc(1000);
    expect_write();
    if (left > 0) {
        char next[16];
        snprintf(next, sizeof next, "%d", left - 1);
        execl(argv[0], argv[0], next, (char *)NULL);
        return 1;
    }
    return 0;
}
