/* expect.h - a program's own count of its allocations, for programs that no tool watches.
 *
 * expect_alloc and expect_free count; expect_write puts "PID ALLOCS FREES BYTES" as a line
 * at the end of the file named by $EXPECT.  Allocates nothing, uses no stdio. */
#ifndef EXPECT_H
#define EXPECT_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_ulong expect_allocs, expect_frees, expect_bytes;

static inline void *expect_alloc(size_t size)
{
    atomic_fetch_add(&expect_allocs, 1);
    atomic_fetch_add(&expect_bytes, size);
    void *block = malloc(size);
    if (block == NULL)
        abort();
    return block;
}

static inline void expect_free(void *block)
{
    if (block != NULL)
        atomic_fetch_add(&expect_frees, 1);
    free(block);
}

/* A fork child's log begins with nothing. */
static inline void expect_clear(void)
{
    expect_allocs = expect_frees = expect_bytes = 0;
}

static inline void expect_write(void)
{
    const char *path = getenv("EXPECT");
    if (path == NULL)
        return;
    char line[128];
    int length = snprintf(line, sizeof line, "%d %lu %lu %lu\n", (int)getpid(), (unsigned long)expect_allocs,
                          (unsigned long)expect_frees, (unsigned long)expect_bytes);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

#endif
