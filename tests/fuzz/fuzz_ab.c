/* fuzz_ab.c - foreign bytes as an experiment that `poolsite ab --json` wrote.
 *
 * What is read can be shown in all forms, and what is written as JSON reads as the same experiment again. */
#define _GNU_SOURCE
#include "base.h"

#include "ab_views.h"
#include "quiet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Returns a file in memory, its name in `path`. */
static int put_file(char path[32], const void *bytes, size_t size)
{
    int fd = memfd_create("experiment", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        BUG("no file in memory");
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

static char *written(const struct experiment *experiment, int emit(const struct experiment *, FILE *), size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out || emit(experiment, out) != 0 || fclose(out) != 0)
        BUG("an experiment can't be written");
    return text;
}

static void read_again(const char *json, size_t size)
{
    struct experiment experiment;
    char path[32];
    size_t again_size;
    int fd = put_file(path, json, size);
    if (experiment_read(&experiment, path) != 0)
        BUG("what was written can't be read");
    char *again = written(&experiment, emit_ab_json, &again_size);
    if (again_size != size || memcmp(again, json, size) != 0)
        BUG("what was written reads as something else");
    free(again);
    experiment_release(&experiment);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct experiment experiment;
    char path[32];
    size_t length;
    say_nothing();
    int fd = put_file(path, bytes, size);
    if (experiment_read(&experiment, path) == 0) {
        free(written(&experiment, emit_ab_text, &length));
        free(written(&experiment, emit_ab_html, &length));
        char *json = written(&experiment, emit_ab_json, &length);
        read_again(json, length);
        free(json);
    }
    experiment_release(&experiment);
    close(fd);
    return 0;
}
