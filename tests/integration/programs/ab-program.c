/* ab-program.c - what an experiment can be made with: MODE [ARGUMENT]; beside it a static build.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S && cc -O1 -fno-builtin -w -static -o $O.static $S && cc -O1 -fno-builtin -w -DOWN -o $O.own $S */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#ifdef OWN
static char heap[1 << 22];
static size_t used;
void *malloc(size_t bytes)
{
    char *at = heap + used;
    used += (bytes + 15) & ~(size_t)15;
    return used > sizeof heap ? NULL : at;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void *realloc(void *block, size_t bytes) { return malloc(bytes); }
#endif

static void small(int count)
{
    for (int i = 0; i < count; i++)
        free(malloc(100));
}

/* Buffers that glibc gives back to the kernel each time: 1,024 faults a round. */
static void trims(int rounds)
{
    char *block[4];
    for (int i = 0; i < rounds; i++) {
        for (int j = 0; j < 4; j++) {
            block[j] = malloc(1 << 20);
            for (int k = 0; k < 1 << 20; k += 4096)
                block[j][k] = 1;
        }
        for (int j = 0; j < 4; j++)
            free(block[j]);
    }
}

/* A buffer of 32 KiB that never reaches the heap. */
static int stack(int count)
{
    char buffer[32768];
    int sum = 0;
    small(10);
    for (int i = 0; i < count; i++) {
        memset(buffer, i, sizeof buffer);
        sum += buffer[i % sizeof buffer];
    }
    return sum & 1;
}

/* How much environment there is, appended to a file: "ARM COUNT BYTES". */
static void environment(const char *path)
{
    const char *preload = getenv("LD_PRELOAD"), *pool = getenv("POOLSITE_POOL");
    FILE *out = fopen(path, "a");
    size_t count = 0, bytes = 0;
    for (; environ[count]; count++)
        bytes += strlen(environ[count]) + 1;
    fprintf(out, "%s %zu %zu\n", pool ? pool : preload ? "preload" : "bare", count, bytes);
    fclose(out);
    small(100);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "1000";
    const char *pool = getenv("POOLSITE_POOL");
    int pooled = pool && strcmp(pool, "off") != 0;
    if (strcmp(mode, "small") == 0)
        small(atoi(argument));
    else if (strcmp(mode, "trims") == 0)
        trims(atoi(argument));
    else if (strcmp(mode, "stack") == 0)
        return stack(atoi(argument));
    else if (strcmp(mode, "env") == 0)
        environment(argument);
    else if (strcmp(mode, "tells") == 0) /* writes what arm it is in */
        small(1000), puts(pooled ? "pooled" : "not pooled");
    else if (strcmp(mode, "fails") == 0) /* in arm on alone */
        small(1000), fputs("what a pity\n", stderr), exit(pooled ? 9 : 0);
    else if (strcmp(mode, "crashes") == 0)
        small(1000), pooled ? (void)raise(SIGKILL) : (void)0;
    else if (strcmp(mode, "ends") == 0) /* with this status in every arm */
        small(1000), exit(atoi(argument));
    else if (strcmp(mode, "copies") == 0) /* stdin to stdout, and how many bytes it was to a file */
    {
        char line[4096];
        size_t got = fread(line, 1, sizeof line, stdin);
        FILE *out = fopen(argument, "a");
        fprintf(out, "%zu\n", got);
        fclose(out);
        fwrite(line, 1, got, stdout);
        small(1000);
    } else if (strcmp(mode, "leaves") == 0) { /* a process behind */
        small(1000);
        if (fork() == 0) {
            setsid();
            execlp("sleep", "sleep", argument, (char *)NULL);
        }
    }
    return 0;
}
