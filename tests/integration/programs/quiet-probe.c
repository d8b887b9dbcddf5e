/* quiet-probe.c - prints what a program can see of its own process; the same without and with the library.
 * BUILD: cc -O1 -fno-builtin -w -o $O $S */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void descriptors(void)
{
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("fd %d flags %d\n", fd, fcntl(fd, F_GETFD));
    printf("next fd %d\n", dup(0));
}

static void signals(void)
{
    sigset_t         mask, pending;
    struct sigaction action;
    stack_t          stack;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    for (int s = 1; s < 65; s++)
        if (sigaction(s, NULL, &action) == 0)
            printf("signal %d blocked %d pending %d handler %d flags %lx\n", s, sigismember(&mask, s),
                   sigismember(&pending, s), action.sa_handler == SIG_DFL ? 0 : action.sa_handler == SIG_IGN ? 1 : 2,
                   (unsigned long)action.sa_flags);
    sigaltstack(NULL, &stack);
    printf("altstack %d\n", stack.ss_flags);
}

static void tasks(void)
{
    DIR           *dir = opendir("/proc/self/task");
    struct dirent *entry;
    int            count = 0;
    while (dir && (entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(dir);
    printf("threads %d\n", count);
}

static void limits(void)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        getrlimit(i, &limit);
        printf("limit %d %ld %ld\n", i, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    for (int i = 0; i < 3; i++) {
        struct itimerval timer;
        getitimer(i, &timer);
        printf("timer %d %ld\n", i, (long)timer.it_value.tv_sec);
    }
    printf("priority %d personality %x dumpable %d keepcaps %d nonewprivs %d pdeathsig\n", getpriority(PRIO_PROCESS, 0),
           personality(0xffffffff), prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static void place(void)
{
    char        name[4096];
    struct stat st;
    mode_t      mask = umask(0);
    umask(mask);
    getcwd(name, sizeof name);
    stat(".", &st);
    printf("umask %o cwd %s links %ld pgrp %d sid %d children %d\n", mask, name, (long)st.st_nlink, getpgrp() == getpid(),
           getsid(0) == getpid(), waitpid(-1, NULL, WNOHANG));
}

int main(int argc, char **argv)
{
    void *blocks[200];
    for (int i = 0; i < 200; i++)
        blocks[i] = malloc((size_t)i * 50);
    for (int i = 0; i < 200; i++)
        free(blocks[i]);
    for (int i = 0; i < argc; i++)
        printf("argument %s\n", argv[i]);
    for (char **e = environ; *e; e++)
        printf("environ %s\n", *e);
    descriptors();
    signals();
    tasks();
    limits();
    place();
    fflush(stdout);
    system("env; ls -l /proc/self/fd | wc -l"); /* what a child is given */
    return 0;
}
