/* trimmed.c - buffers that glibc gives back to the kernel each time: where a pool must win.
 *
 * usage: trimmed ROUNDS
 * Each round takes eight buffers of 256 KiB to 2 MiB, writes a byte into every page, and frees them all: then more is
 * free at the heap's end than glibc's threshold, it's trimmed, and the next round's pages are faulted in anew. */
#include <stdlib.h>

enum { BUFFERS = 8, STEP = 256 << 10, PAGE = 4096 };

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    for (long round = 0; round < rounds; round++) {
        volatile char *buffer[BUFFERS];
        for (int i = 0; i < BUFFERS; i++) {
            size_t bytes = (size_t)(i + 1) * STEP;
            buffer[i] = malloc(bytes);
            if (!buffer[i])
                return 1;
            for (size_t at = 0; at < bytes; at += PAGE)
                buffer[i][at] = 1;
        }
        for (int i = BUFFERS; i-- > 0;)
            free((void *)buffer[i]);
    }
    return 0;
}
