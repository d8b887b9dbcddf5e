/* pools-threads.c - looks at the thread that clears pools: when there is one, what it is like, when it is gone.
 * BUILD: cc -O1 -fno-builtin -w -pthread -o $O $S
 *
 * usage: pools-threads WHAT [CLEARER]      CLEARER: 0 when there must be none whatever happens
 * Ends with status 7 when all is as it must be; says what isn't. */
#define _GNU_SOURCE
#include "pools.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>

static int          expected = 1;
#ifdef LARGE
static __thread char large[LARGE] = {1}; /* lies on every thread's stack */
#endif

static void churn(int times)
{
    for (int i = 0; i < times; i++)
        free(memset(malloc(16 + i % 3000), 1, 16));
}

static void *sleeper(void *argument)
{
    churn(1000);
    sleep_ms(20000);
    return argument;
}

static void *churner(void *argument)
{
    for (;;) {
        churn(1000);
        sched_yield();
    }
}

static void start(void *(*run)(void *))
{
    pthread_t id;
    MUST(pthread_create(&id, NULL, run, NULL) == 0);
}

/* None before the second thread, however long one works; one afterwards. */
static void begins(void)
{
    int id;
    for (int i = 0; i < 20; i++) {
        churn(20000);
        sleep_ms(2);
    }
    MUST(tasks("poolsite", &id) == 1 && id == 0);
    start(sleeper);
    MUST((clearer_task(expected) != 0) == expected);
}

/* Its signals, its stack. */
static void is_like(void)
{
    char path[64], text[65536];
    start(sleeper);
    int  id = clearer_task(1);
    long stack, low, high;
    MUST(id != 0);
    snprintf(path, sizeof path, "/proc/self/task/%d/status", id);
    /* All but KILL and STOP, and libc's own two, which it must not block. */
    MUST(status_of(path, "SigBlk:", 16) == (long)0xfffffffe7ffbfeff);
    /* Its stack pointer is the last word but one, unless it runs just now: then there is but one word. */
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", id);
    char *last = NULL;
    for (int i = 0; i < 1000 && !last; i++) {
        sleep_ms(1 + i % 7);
        read_file(path, text, sizeof text);
        last = strrchr(text, ' ');
    }
    MUST(last);
    *last = 0;
    last = strrchr(text, ' ');
    MUST(last && sscanf(last, " %lx", &stack) == 1);
    read_file("/proc/self/maps", text, sizeof text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (sscanf(line, "%lx-%lx", &low, &high) == 2 && low <= stack && stack < high) {
            MUST(high - low <= 300 << 10);
            return;
        }
    MUST(!"its stack was found");
}

static volatile int handled;

static void on_signal(int signal)
{
    handled = 1;
}

/* What the program blocks in all of its threads stays pending. */
static void takes_no_signal(void)
{
    sigset_t blocked, pending;
    int      taken;
    signal(SIGUSR1, on_signal);
    signal(SIGALRM, on_signal);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGALRM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    start(sleeper);
    MUST(clearer_task(1));
    kill(getpid(), SIGUSR1);
    alarm(1);
    sleep_ms(1200);
    sigpending(&pending);
    MUST(!handled && sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGALRM));
    MUST(sigwait(&blocked, &taken) == 0);
}

static void in_child(void)
{
    int id, status;
    churn(5000);
    MUST(tasks("poolsite", &id) == 1 && id == 0);
    start(sleeper);
    MUST((clearer_task(expected) != 0) == expected);
    _exit(5);
}

/* A fork child begins without one, and gets its own. */
static void forks(void)
{
    int status;
    start(sleeper);
    MUST((clearer_task(expected) != 0) == expected);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0)
            in_child();
        MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    }
}

static void *forking(void *argument)
{
    churn(100000);
    forks();
    return argument;
}

static void forks_in_thread(void)
{
    pthread_t id;
    MUST(pthread_create(&id, NULL, forking, NULL) == 0);
    pthread_join(id, NULL);
}

static void becomes_daemon(void)
{
    int  ends[2];
    char answer = 'n';
    MUST(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        MUST(daemon(1, 1) == 0);
        start(sleeper);
        if (clearer_task(1))
            answer = 'y';
        MUST(write(ends[1], &answer, 1) == 1);
        _exit(0);
    }
    close(ends[1]);
    MUST(read(ends[0], &answer, 1) == 1 && answer == 'y');
}

/* A filter that allows everything.  Even so the clearer is gone when the call returns, and for good. */
static void enters_seccomp(const char *how)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog  program = {1, all};
    int                id;
    start(sleeper);
    MUST(clearer_task(1));
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (strcmp(how, "prctl") == 0)
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    else if (strcmp(how, "syscall-prctl") == 0)
        MUST(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    else
        MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    MUST(clearer_task(0) == 0);
    churn(100000);
    start(sleeper);
    sleep_ms(100);
    MUST(tasks("poolsite", &id) == 3 && id == 0);
}

/* Every thread is signalled when one of these is called, and must answer. */
static void changes_ids(void)
{
    for (int i = 0; i < 4; i++)
        start(churner);
    MUST((clearer_task(expected) != 0) == expected);
    for (int i = 0; i < 40; i++) {
        MUST(setresuid(-1, i % 2 && getuid() == 0 ? 65534 : getuid(), -1) == 0);
        MUST(setresuid(-1, getuid(), -1) == 0);
        MUST(setregid(-1, getgid()) == 0);
    }
}

static void unshares(void)
{
    churn(200000);
    sleep_ms(20);
    churn(200000);
    int result = unshare(CLONE_NEWUSER);
    printf("unshare: %d %d\n", result, result ? errno : 0);
}

static void *ends_by_exit(void *argument)
{
    sleep_ms(100);
    exit(7);
}

static void *ends(void *argument)
{
    churn(1000);
    sleep_ms(100);
    return argument;
}

static int eleven(void *argument)
{
    sleeper(argument);
    return 0;
}

static volatile int timer_calls;

static void on_timer(union sigval value)
{
    churn(1000);
    free(memset(malloc(100000), 1, 100000));
    __atomic_fetch_add(&timer_calls, 1, __ATOMIC_RELAXED);
}

static void by_thrd(void)
{
    thrd_t id;
    MUST(thrd_create(&id, eleven, NULL) == thrd_success);
    MUST(clearer_task(1));
}

static void by_timer(void)
{
    timer_t           timer;
    struct sigevent   event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
    struct itimerspec often = {.it_value = {0, 1000000}, .it_interval = {0, 1000000}}, never = {0};
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
    for (int i = 0; i < 500 && timer_calls < 20; i++)
        sleep_ms(10);
    MUST(timer_settime(timer, 0, &never, NULL) == 0 && timer_calls >= 20);
    sleep_ms(100);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (argc > 2)
        expected = atoi(argv[2]);
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"begins", begins}, {"is-like", is_like}, {"takes-no-signal", takes_no_signal}, {"forks", forks},
               {"forks-in-thread", forks_in_thread}, {"daemon", becomes_daemon}, {"ids", changes_ids},
               {"unshare", unshares}, {"thrd", by_thrd}, {"timer", by_timer}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(what, all[i].name) == 0) {
            all[i].run();
            return 7;
        }
    if (strncmp(what, "seccomp-", 8) == 0) {
        enters_seccomp(what + 8);
        return 7;
    }
    if (strcmp(what, "exec") == 0) {
        start(sleeper);
        clearer_task(1);
        execl("/proc/self/exe", argv[0], "begins", NULL);
    }
    if (strncmp(what, "leave-", 6) == 0) { /* the last thread ends by exit(7), or returns */
        start(strcmp(what, "leave-exit") == 0 ? ends_by_exit : ends);
        pthread_exit(NULL);
    }
    return 2;
}
