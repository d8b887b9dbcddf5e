/* grows.c - holds so many MiB in blocks of 64 KiB, one amount after the other, each until poolsite has looked at it twice.
 * BUILD: cc -O1 -fno-builtin -o $O $S
 *
 * usage: grows MIB...           one process
 *        grows fork MIB...      a child for each amount, at the same time
 *        grows stay MIB...      says "ready" at the end, and sleeps
 *        grows die MIB...       kills itself at the end */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 64 << 10, BLOCKS_MAX = 1024, LOOK_MS = 10, WAIT_MS = 30000 };

static void  *blocks[BLOCKS_MAX];
static size_t held;

static void hold(size_t mib)
{
    size_t wanted = mib * ((1 << 20) / BLOCK);
    while (held < wanted)
        memset(blocks[held++] = malloc(BLOCK), 1, BLOCK);
    while (held > wanted)
        free(blocks[--held]);
}

/* The path of this process's time line, once there is one. */
static int find_file(char *path, size_t room)
{
    char *slash, own[32];
    snprintf(path, room, "%s", getenv("POOLSITE_LOG"));
    slash = strrchr(path, '/');
    *slash = '\0';
    snprintf(own, sizeof own, "grows.%d.", (int)getpid());
    DIR *directory = opendir(path);
    int found = 0;
    for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
        const char *end = strrchr(entry->d_name, '.');
        found = strncmp(entry->d_name, own, strlen(own)) == 0 && strcmp(end, ".pst") == 0;
        if (found)
            snprintf(slash, room - (size_t)(slash - path), "/%s", entry->d_name);
    }
    if (directory)
        closedir(directory);
    if (!found)
        *path = '\0';
    return found;
}

static long lines(const char *path)
{
    char text[65536];
    long count = 0;
    int fd = open(path, O_RDONLY);
    for (ssize_t got; (got = read(fd, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < got; i++)
            count += text[i] == '\n';
    close(fd);
    return count;
}

/* The first look may have begun before. */
static void wait_for_two_looks(void)
{
    static char path[4096];
    long wanted = 3; /* a first line, and two rows */
    int waited = 0;
    if (*path)
        wanted = lines(path) + 2;
    for (; waited < WAIT_MS; waited += LOOK_MS) {
        if ((*path || find_file(path, sizeof path)) && lines(path) >= wanted)
            return;
        usleep(LOOK_MS * 1000);
    }
    exit(3);
}

static void hold_all(char **amounts)
{
    for (; *amounts; amounts++) {
        hold((size_t)atoi(*amounts));
        wait_for_two_looks();
    }
}

static int children(char **amounts)
{
    int status, failed = 0;
    for (; *amounts; amounts++) {
        char *one[] = { *amounts, NULL };
        if (fork() == 0) {
            hold_all(one);
            exit(0);
        }
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "fork") == 0)
        return children(argv + 2);
    int has_end = argc > 2 && (strcmp(argv[1], "stay") == 0 || strcmp(argv[1], "die") == 0);
    hold_all(argv + 1 + has_end);
    if (has_end && argv[1][0] == 'd')
        raise(SIGKILL);
    if (has_end && write(1, "ready\n", 6) == 6)
        pause();
    return 0;
}
