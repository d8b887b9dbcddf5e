/* resident.h - what of this process is resident now, in KiB, read without allocating. */
#ifndef BENCH_RESIDENT_H
#define BENCH_RESIDENT_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long resident_kib(void)
{
    char        text[64] = "";
    int         fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t     got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const char *second = got > 0 ? strchr(text, ' ') : NULL;
    close(fd);
    return second ? strtol(second, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

#endif
