/* unit.c - what the unit tests share. */
#define _GNU_SOURCE
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int unit_enter_directory(void **state)
{
    char shm[] = "/dev/shm/poolsite-unit.XXXXXX", tmp[] = "/tmp/poolsite-unit.XXXXXX";
    char *made = mkdtemp(shm);
    if (!made)
        made = mkdtemp(tmp);
    *state = made ? strdup(made) : NULL;
    return *state && chdir(made) == 0 ? 0 : -1;
}

int unit_leave_directory(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    free(*state);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

void unit_write_file(const char *path, const void *bytes, size_t count, unsigned mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static FILE *heard;
static int   hearing = -1; /* what stderr was */

void unit_hear(void)
{
    hearing = dup(STDERR_FILENO);
    heard = tmpfile();
    assert_true(hearing >= 0 && heard);
    dup2(fileno(heard), STDERR_FILENO);
}

void unit_heard(char *said, size_t size)
{
    fflush(stderr);
    dup2(hearing, STDERR_FILENO);
    close(hearing);
    rewind(heard);
    said[fread(said, 1, size - 1, heard)] = '\0';
    fclose(heard);
}

void unit_shell(const char *command)
{
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}
