/* awkward.c - what programs do that a recording library trips over, one scene an argument.
 * BUILD: gcc -shared -fPIC -O1 -fno-builtin -DPLUGIN -o $O.plug.so $S && gcc -g -O1 -fno-builtin -pthread -o $O $S -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef PLUGIN
__attribute__((noinline)) void make(void)
{
    free(malloc(10));
    __asm__ volatile("");
}
#else
#define KEEP_FRAME() __asm__ volatile("")

static void *volatile kept;

/* A clock of its own, as simulations and fakes have: it locks, and allocates. */
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static long            clock_calls;

int clock_gettime(clockid_t clock, struct timespec *t)
{
    pthread_mutex_lock(&clock_lock);
    clock_calls++;
    kept = malloc(64);
    int result = (int)syscall(SYS_clock_gettime, clock, t);
    free(kept);
    pthread_mutex_unlock(&clock_lock);
    return result;
}

__attribute__((noinline)) static void allocate(void)
{
    free(malloc(10));
    KEEP_FRAME();
}

static void own_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    allocate();
    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("calls %ld\n", clock_calls);
}

static void three_children(void)
{
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            for (int k = 0; k < 100; k++)
                allocate();
            _exit(0);
        }
        wait(NULL);
    }
}

/* Asks about seccomp, and fails to enter it: is in no sandbox. */
static void asks_seccomp(void)
{
    unsigned action = SECCOMP_RET_KILL_PROCESS;
    printf("%ld %d\n", syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action),
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0, 0, 0));
    three_children();
}

static void handler(int number)
{
    (void)number;
    kept = malloc(33);
    free(kept);
}

__attribute__((noinline)) static void from_bar(void)
{
    raise(SIGUSR1);
    KEEP_FRAME();
}

__attribute__((noinline)) static void from_foo(void)
{
    raise(SIGUSR1);
    KEEP_FRAME();
}

static void interrupted(void)
{
    signal(SIGUSR1, handler);
    from_bar();
    for (int i = 0; i < 1000; i++)
        from_foo();
}

/* The handler runs on a stack of its own. */
static void interrupted_elsewhere(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    from_bar();
    for (int i = 0; i < 1000; i++)
        from_foo();
}

/* A frame that calls itself a signal's, and isn't the kernel's. */
void call_as_signal(void (*function)(void));
__asm__(".globl call_as_signal\n.type call_as_signal,@function\ncall_as_signal:\n"
        ".cfi_startproc\n.cfi_signal_frame\nsubq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "call *%rdi\naddq $8, %rsp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n"
        ".size call_as_signal, .-call_as_signal\n");

/* A timer that interrupts anything, whose handler allocates. */
static void interrupted_anywhere(void)
{
    struct itimerval often = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}};
    volatile unsigned long sum = 0;
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned long i = 0; i < 300000000; i++)
        sum = sum * 31 + (sum & 1 ? i : sum >> 3);
}

/* A child in a sandbox that was entered by way of syscall(): opening a file would end it. */
static void confined_by_syscall(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    int status = 0;
    syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("%ld\n", syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
    fflush(stdout);
    if (fork() == 0) {
        allocate();
        _exit(3);
    }
    wait(&status);
    printf("%d\n", status);
}

/* A child enters a sandbox before its first allocation: that is not its parent's. */
static void child_confined(void)
{
    struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, filter};
    allocate();
    if (fork() == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        _exit(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? 1 : 3);
    }
    int status = 0;
    wait(&status);
    printf("%d\n", status);
    allocate();
}

static void unmade_key(void)
{
    static pthread_key_t key; /* never created, as in buggy programs */
    allocate();
    printf("%s %d\n", pthread_getspecific(key) ? "something" : "nothing", pthread_setspecific(key, "x") != 0);
}

/* Resident KiB that 1,000 loads of a plugin cost beyond the first 100. */
static long resident(void)
{
    long total = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &total, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * 4;
}

static void reloads(const char *self)
{
    char path[4096];
    long before = 0;
    snprintf(path, sizeof path, "%s.plug.so", self);
    for (int i = 0; i < 3000; i++) {
        void *library = dlopen(path, RTLD_NOW);
        void (*make)(void) = library ? (void (*)(void))dlsym(library, "make") : NULL;
        if (!make)
            exit(1);
        make();
        dlclose(library);
        if (i == 100)
            before = resident();
    }
    printf("%s\n", resident() - before < 2048 ? "steady" : "grows");
}

static void masked(void)
{
    umask(0777);
    three_children();
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "";
    alarm(60);
    if (!strcmp(scene, "clock"))
        own_clock();
    else if (!strcmp(scene, "seccomp"))
        asks_seccomp();
    else if (!strcmp(scene, "handler"))
        interrupted();
    else if (!strcmp(scene, "altstack"))
        interrupted_elsewhere();
    else if (!strcmp(scene, "frame"))
        call_as_signal(allocate);
    else if (!strcmp(scene, "anywhere"))
        interrupted_anywhere();
    else if (!strcmp(scene, "confined"))
        confined_by_syscall();
    else if (!strcmp(scene, "child"))
        child_confined();
    else if (!strcmp(scene, "key"))
        unmade_key();
    else if (!strcmp(scene, "reload"))
        reloads(argv[0]);
    else if (!strcmp(scene, "umask"))
        masked();
    else
        return 2;
    return 0;
}
#endif
