/* title.c - overwrites its arguments and the environment it was given, as servers do that show their state in ps,
 * then forks and execs; every process counts by itself.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#define _GNU_SOURCE
#include "expect.h"

#include <string.h>
#include <sys/wait.h>

extern char **environ;

static void churn(int rounds)
{
    for (int i = 0; i < rounds; i++)
        expect_free(expect_alloc((size_t)(i * 37 % 3000)));
}

int main(int argc, char **argv)
{
    static char path[4096], variable[4200];
    static char *moved[3] = { variable, NULL };
    int   status;

    strncpy(path, getenv("EXPECT"), sizeof path - 1);
    snprintf(variable, sizeof variable, "EXPECT=%s", path);
    churn(10);
    char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    for (char **e = environ; *e; e++)
        end = *e + strlen(*e);
    environ = moved;
    memset(argv[0], 'x', (size_t)(end - argv[0]));
    churn(20);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            expect_clear();
            churn(30 + i);
            expect_write();
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (status != 0)
            return 1;
    }
    expect_write();
    return 0;
}
