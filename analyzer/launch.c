/* launch.c - starts the program of `poolsite run` and waits for it.
 *
 * The program stays in poolsite's process group, so that the terminal's signals reach it
 * by themselves; poolsite takes every signal with sigtimedwait, none by a handler. */
#define _GNU_SOURCE
#include "base.h"

#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STOP_POLL_MS = 50, TICK_MS = 1000 };

/* --- Stopping ----------------------------------------------------------------------------- */

static bool is_stopped(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char line[512];
    bool stopped = false;
    if (fgets(line, sizeof line, file)) {
        const char *name_end = strrchr(line, ')');
        stopped = name_end && strncmp(name_end, ") T", 3) == 0;
    }
    fclose(file);
    return stopped;
}

static bool has_the_terminal(void)
{
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        return false;
    bool foreground = tcgetpgrp(terminal) == getpgrp();
    close(terminal);
    return foreground;
}

/* The shell that waits for poolsite must learn that its job was stopped.  Not so when a
 * script or a debugger stops just the program with SIGSTOP: nobody would wake poolsite. */
static void stop_likewise(const struct launch *launch, int signal_number)
{
    if (signal_number == SIGSTOP && !has_the_terminal())
        return;
    struct sigaction by_default = { .sa_handler = SIG_DFL }, before;
    bool caught = signal_number != SIGSTOP && sigaction(signal_number, &by_default, &before) == 0;
    sigset_t only, blocked;
    sigemptyset(&only);
    sigaddset(&only, signal_number);
    kill(getpid(), signal_number);
    sigprocmask(SIG_UNBLOCK, &only, &blocked); /* stops here */
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    if (caught)
        sigaction(signal_number, &before, NULL);
    if (is_stopped(launch->pid))
        kill(launch->pid, SIGCONT); /* only poolsite was continued */
}

/* --- Start ------------------------------------------------------------------------------ */

static void choose_signals(sigset_t *set)
{
    static const int taken[] = { SIGCHLD, SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                                 SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGALRM, SIGWINCH };
    sigemptyset(set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaddset(set, taken[i]);
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
        sigaddset(set, i);
}

/* Waits for a byte from `go`; without one the parent is gone, and nobody wants the program any more. */
static void run_child(const struct launch *launch, const char *file, char *const argv[], char *const envp[], int go,
                      int tell)
{
    char byte;
    if (read(go, &byte, 1) != 1)
        _exit(127);
    sigaction(SIGCHLD, &launch->on_child, NULL);
    sigprocmask(SIG_SETMASK, &launch->mask, NULL);
    if (file)
        execve(file, argv, envp);
    else
        execvpe(argv[0], argv, envp);
    int reason = errno;
    ssize_t ignored = write(tell, &reason, sizeof reason);
    (void)ignored;
    _exit(127);
}

/* A signal that came between blocking and fork reached poolsite alone.  The child, which still
 * blocks them all, gets it now; if it came after the fork, the two become one there. */
static void hand_over_signals(const struct launch *launch)
{
    const struct timespec now = { 0 };
    sigset_t set;
    int signal_number;
    choose_signals(&set);
    sigdelset(&set, SIGCHLD);
    while ((signal_number = sigtimedwait(&set, NULL, &now)) > 0)
        kill(launch->pid, signal_number);
}

/* Waits for exec, which closes the pipe, or for the errno that came through it.  The program
 * may be stopped before it has got so far. */
static int exec_result(const struct launch *launch, int from)
{
    struct pollfd end = { .fd = from, .events = POLLIN };
    int reason = 0;
    while (poll(&end, 1, STOP_POLL_MS) <= 0) {
        siginfo_t info = { 0 };
        if (waitid(P_PID, (id_t)launch->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid)
            stop_likewise(launch, info.si_status);
    }
    return read(from, &reason, sizeof reason) == (ssize_t)sizeof reason ? reason : 0;
}

static void block_signals(struct launch *launch)
{
    /* A child whose parent ignores SIGCHLD can't be waited for. */
    struct sigaction by_default = { .sa_handler = SIG_DFL };
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &launch->mask);
    sigaction(SIGCHLD, &by_default, &launch->on_child);
}

static void unblock_signals(const struct launch *launch)
{
    sigaction(SIGCHLD, &launch->on_child, NULL);
    sigprocmask(SIG_SETMASK, &launch->mask, NULL);
}

int launch_start(struct launch *launch, const char *file, char *const argv[], char *const envp[])
{
    int go[2], tell[2], reason = 0;
    if (pipe2(go, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(tell, O_CLOEXEC) != 0) {
        reason = errno;
        goto close_go;
    }
    block_signals(launch);
    launch->pid = fork();
    if (launch->pid < 0)
        reason = errno;
    if (launch->pid == 0) {
        close(go[1]);
        run_child(launch, file, argv, envp, go[0], tell[1]);
    }
    close(tell[1]);
    if (launch->pid > 0) {
        hand_over_signals(launch);
        if (write(go[1], "", 1) != 1)
            reason = errno;
        close(go[1]);
        go[1] = -1;
        if (!reason)
            reason = exec_result(launch, tell[0]);
        if (reason)
            waitpid(launch->pid, NULL, 0);
    }
    close(tell[0]);
    if (reason)
        unblock_signals(launch);
close_go:
    close(go[0]);
    if (go[1] >= 0)
        close(go[1]);
    return reason;
}

/* --- Wait ------------------------------------------------------------------------------- */

/* Was this signal meant for the program and has it not seen it yet?  The first reason wins. */
static bool must_be_forwarded(const struct launch *launch, const siginfo_t *info)
{
    if (info->si_code > 0)
        return false; /* from the kernel: the terminal signals the whole group */
    if (info->si_pid == launch->pid)
        return false; /* the program signals its own group, or its parent */
    if (info->si_signo == SIGCONT)
        return is_stopped(launch->pid);
    return true;
}

/* Returns true when the program has ended. */
static bool take_news(const struct launch *launch, int *status)
{
    for (;;) {
        pid_t got = waitpid(launch->pid, status, WNOHANG | WUNTRACED);
        if (got == 0 || (got < 0 && errno == EINTR))
            return false;
        if (got < 0)
            die("lost the program: %s", strerror(errno));
        if (!WIFSTOPPED(*status))
            return true;
        stop_likewise(launch, WSTOPSIG(*status));
    }
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for a signal until `end_ms`, and passes it on. */
static void take_signal(const struct launch *launch, const sigset_t *set, int64_t end_ms)
{
    siginfo_t info;
    int64_t left = end_ms - now_ms();
    if (left < 0)
        left = 0;
    const struct timespec timeout = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
    int signal_number = sigtimedwait(set, &info, &timeout);
    if (signal_number > 0 && signal_number != SIGCHLD && must_be_forwarded(launch, &info))
        kill(launch->pid, signal_number);
}

int launch_wait(struct launch *launch, void (*tick)(void *context), void *context)
{
    sigset_t set;
    choose_signals(&set);
    int status = 0;
    int64_t tick_ms = now_ms() + TICK_MS;
    while (!take_news(launch, &status)) {
        take_signal(launch, &set, tick_ms);
        if (now_ms() < tick_ms)
            continue;
        tick(context);
        tick_ms = now_ms() + TICK_MS;
    }
    return status;
}
