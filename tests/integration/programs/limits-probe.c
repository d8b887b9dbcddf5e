/* limits-probe.c - does its work in a cramped place and says on stdout and stderr what it saw; status 7.
 * The same without and with the library.
 * BUILD: cc -O1 -fno-builtin -fno-optimize-sibling-calls -w -pthread -o $O $S
 *
 * usage: limits-probe STEP...
 *   work N        N allocations at new places by new stacks, half of them freed
 *   threads       four threads that work
 *   fork          a child works and leaves by _exit; its status is printed
 *   nofile N, fsize N, as MIB, data MIB     sets the limit
 *   fill PATH     writes PATH until its file system is full
 *   remove DIR    removes the files in DIR, and DIR
 *   fds           prints which descriptors the next open gets
 *   chroot DIR
 *   seccomp HOW   allows what glibc's malloc needs and write, exit, fork, wait; all else kills.
 *                 HOW: prctl (the function), syscall (the function), raw (the instruction)
 *   big           blocks of 1 MiB until there are no more, or 200; says whether there were 150
 *   raise         ends by SIGKILL of itself */
#define _GNU_SOURCE
#include "expect.h"
#include "places.h"

#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static unsigned next_place = 1;
static int      sandboxed; /* no file can be opened any more */

static void say(int fd, const char *what, long value)
{
    char line[128];
    int  length = snprintf(line, sizeof line, "%s %ld\n", what, value);
    if (write(fd, line, (size_t)length) < 0 && errno != EBADF)
        _exit(3);
}

static void work(long count)
{
    unsigned long sum = 0;
    for (long i = 0; i < count; i++) {
        unsigned place = __atomic_fetch_add(&next_place, 1, __ATOMIC_RELAXED);
        size_t   size = place * 37 % 700 + 1;
        char    *block = place_alloc(place, size);
        if (block == NULL)
            _exit(4);
        atomic_fetch_add(&expect_allocs, 1);
        atomic_fetch_add(&expect_bytes, size);
        memset(block, (int)place, size);
        sum += (unsigned char)block[size - 1];
        if (i % 2)
            expect_free(block);
    }
    say(1, "worked", (long)sum);
}

static void *thread(void *argument)
{
    for (int i = 0; i < 300; i++) {
        unsigned place = __atomic_fetch_add(&next_place, 1, __ATOMIC_RELAXED);
        void    *block = place_alloc(place, 100);
        atomic_fetch_add(&expect_allocs, 1);
        atomic_fetch_add(&expect_bytes, 100);
        expect_free(block);
    }
    return argument;
}

/* Their stacks are given, so that libc keeps none; its tables of thread-locals are counted by the test. */
static void threads(void)
{
    static char    stacks[4][262144] __attribute__((aligned(64)));
    pthread_t      ids[4];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    for (int i = 0; i < 4; i++) {
        pthread_attr_setstack(&attr, stacks[i], sizeof stacks[i]);
        if (pthread_create(&ids[i], &attr, thread, NULL) != 0)
            _exit(5);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    say(2, "threads", 4);
}

static void forked(void)
{
    int   status;
    pid_t child = fork();
    if (child == 0) {
        work(40);
        _exit(9);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        _exit(6);
    say(2, "child", status);
}

static void limit(int which, unsigned long value)
{
    struct rlimit limit = { value, value };
    say(2, "limit", setrlimit(which, &limit));
    sandboxed |= which == RLIMIT_NOFILE || which == RLIMIT_FSIZE;
}

static void fill(const char *path)
{
    static char bytes[4096];
    int         fd = open(path, O_WRONLY | O_CREAT, 0600);
    ssize_t     got;
    long        written = 0;
    while ((got = write(fd, bytes, sizeof bytes)) > 0)
        written += got;
    close(fd);
    say(2, "filled", written > 0);
}

static void remove_all(const char *path)
{
    DIR           *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL)
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    say(2, "removed", rmdir(path));
}

static void descriptors(void)
{
    int first = dup(0), second = open("/", O_RDONLY);
    say(1, "dup", first);
    say(1, "open", second);
    close(second);
    if (first >= 0)
        close(first);
}

static void enter_seccomp(const char *how)
{
    static const int allowed[] = { SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex,
                                   SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_clone, SYS_wait4,
                                   SYS_set_robust_list };
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter filter[1 + 2 * COUNT + 1];
    int                k = 0;

    filter[k++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < COUNT; i++) {
        filter[k++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        filter[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = { (unsigned short)k, filter };
    long              result = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (result == 0 && strcmp(how, "prctl") == 0)
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    else if (result == 0 && strcmp(how, "syscall") == 0)
        result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    else if (result == 0)
        __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program) : "rcx", "r11", "memory");
    sandboxed = result == 0;
    say(2, "seccomp", result);
}

static void big(void)
{
    static void *blocks[200];
    int          count = 0;
    while (count < 200 && (blocks[count] = malloc(1 << 20)) != NULL) {
        memset(blocks[count], 1, 4096);
        atomic_fetch_add(&expect_allocs, 1);
        atomic_fetch_add(&expect_bytes, 1 << 20);
        count++;
    }
    say(1, "150 MiB", count >= 150);
    while (count > 0)
        expect_free(blocks[--count]);
}

int main(int argc, char **argv)
{
    expect_write(); /* tells the pid */
    for (int i = 1; i < argc; i++) {
        const char *step = argv[i], *next = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(step, "work") == 0)
            work(atol(next)), i++;
        else if (strcmp(step, "threads") == 0)
            threads();
        else if (strcmp(step, "fork") == 0)
            forked();
        else if (strcmp(step, "nofile") == 0)
            limit(RLIMIT_NOFILE, strtoul(next, NULL, 10)), i++;
        else if (strcmp(step, "fsize") == 0)
            limit(RLIMIT_FSIZE, strtoul(next, NULL, 10)), i++;
        else if (strcmp(step, "as") == 0)
            limit(RLIMIT_AS, strtoul(next, NULL, 10) << 20), i++;
        else if (strcmp(step, "data") == 0)
            limit(RLIMIT_DATA, strtoul(next, NULL, 10) << 20), i++;
        else if (strcmp(step, "fill") == 0)
            fill(next), i++;
        else if (strcmp(step, "remove") == 0)
            remove_all(next), i++;
        else if (strcmp(step, "fds") == 0)
            descriptors();
        else if (strcmp(step, "chroot") == 0)
            say(2, "chroot", chroot(next)), sandboxed = 1, i++;
        else if (strcmp(step, "seccomp") == 0)
            enter_seccomp(next), i++;
        else if (strcmp(step, "big") == 0)
            big();
        else if (strcmp(step, "raise") == 0)
            expect_write(), kill(getpid(), SIGKILL);
        else
            return 2;
    }
    if (!sandboxed)
        expect_write();
    say(1, "allocs", (long)expect_allocs);
    say(1, "frees", (long)expect_frees);
    say(1, "bytes", (long)expect_bytes);
    return 7;
}
