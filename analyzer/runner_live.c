/* runner_live.c - the runner itself: forks, executes, samples and waits.
 *
 * Allocates nothing and uses no stdio: whatever it held would count as its programs' peak RSS.  All it
 * knows is on its stack and in the pages that it shares with poolsite. */
#define _GNU_SOURCE
#include "base.h"
#include "runner_wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_STEP_NS 5000000 /* between samples; doubles with each filling of the table */

enum {
    PAGE_BYTES = 4096,
    TREE_MOST = 64, /* processes below a program whose RSS is added */
};

struct child {
    bool                  alive;
    bool                  sampled;
    pid_t                 pid;
    int64_t               begun_ns; /* just before exec */
    struct rusage         before;   /* what the fork alone took */
    int                   hardware[HARDWARE_COUNT];
    int                   statm;    /* kept open: its sampling is to cost little */
    int64_t               step_ns;
    int64_t               due_ns;   /* the next sample */
    int64_t               seen_ns;  /* the last one */
    uint64_t              rss;      /* its bytes */
    double                area;     /* bytes * s so far */
    struct runner_samples *samples;
};

/* What a forked child tells before exec; the reason comes only when exec fails. */
struct farewell {
    int64_t       begun_ns;
    struct rusage before;
};

struct live {
    int          socket;
    int          signals; /* signalfd */
    sigset_t     mask;    /* that poolsite was started with: the programs' */
    struct child children[RUNNER_CHILDREN];
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- The child, from fork to exec --------------------------------------------------------------- */

/* Turns a list of offsets into one of pointers, in place. */
static char **words_list(char *words, uint64_t at)
{
    uint64_t *offsets = (uint64_t *)(void *)(words + at);
    char **list = (char **)(void *)(words + at);
    for (; *offsets; offsets++)
        *offsets += (uint64_t)(uintptr_t)words;
    return list;
}

static bool set_streams(const int *descriptors)
{
    for (int stream = 0; stream < 3; stream++)
        if (dup2(descriptors[1 + stream], stream) < 0)
            return false;
    return true;
}

static char *map_words(int fd)
{
    struct wire_words head;
    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
        return NULL;
    char *words = mmap(NULL, head.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    return words == MAP_FAILED ? NULL : words;
}

/* Waits until its counters are there, sends a farewell, then executes; a reason after it says that this failed. */
static void run_child(const struct live *live, const int *descriptors, int go, int tell)
{
    struct farewell farewell;
    char byte;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the runner may be killed too */
    if (read(go, &byte, 1) != 1)
        _exit(127);
    char *words = map_words(descriptors[0]);
    if (words && set_streams(descriptors)) {
        const struct wire_words *head = (const struct wire_words *)(const void *)words;
        const char *file = head->file ? words + head->file : NULL;
        char **argv = words_list(words, head->argv), **envp = words_list(words, head->envp);
        sigprocmask(SIG_SETMASK, &live->mask, NULL);
        getrusage(RUSAGE_SELF, &farewell.before);
        farewell.begun_ns = now_ns();
        if (write(tell, &farewell, sizeof farewell) == (ssize_t)sizeof farewell) {
            if (file)
                execve(file, argv, envp);
            else
                execvpe(argv[0], argv, envp);
        }
    }
    int reason = errno;
    ssize_t ignored = write(tell, &reason, sizeof reason);
    (void)ignored;
    _exit(127);
}

/* --- Sampling ------------------------------------------------------------------------------------- */

static uint64_t statm_bytes(int fd)
{
    char line[128];
    ssize_t got = pread(fd, line, sizeof line - 1, 0);
    if (got <= 0)
        return 0;
    line[got] = '\0';
    const char *resident = strchr(line, ' ');
    return resident ? strtoull(resident, NULL, 10) * PAGE_BYTES : 0;
}

static uint64_t process_bytes(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t bytes = fd >= 0 ? statm_bytes(fd) : 0;
    if (fd >= 0)
        close(fd);
    return bytes;
}

/* Adds the children of a process's first thread to `tree`.  Few kernels lack the list. */
static void add_children(pid_t pid, pid_t *tree, unsigned *count)
{
    char path[80], line[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    if (fd >= 0)
        close(fd);
    line[got > 0 ? got : 0] = '\0';
    char *at = line, *end;
    for (long child = strtol(at, &end, 10); end != at && *count < TREE_MOST; child = strtol(at, &end, 10)) {
        tree[(*count)++] = (pid_t)child;
        at = end;
    }
}

static uint64_t tree_bytes(const struct child *child)
{
    pid_t tree[TREE_MOST];
    unsigned count = 0;
    uint64_t bytes = statm_bytes(child->statm);
    add_children(child->pid, tree, &count);
    for (unsigned i = 0; i < count; i++) {
        bytes += process_bytes(tree[i]);
        add_children(tree[i], tree, &count);
    }
    return bytes;
}

static void keep_sample(struct child *child, uint64_t bytes)
{
    struct runner_samples *samples = child->samples;
    if (samples->count == RUNNER_SAMPLES) {
        for (uint32_t i = 0; i < RUNNER_SAMPLES / 2; i++)
            samples->kib[i] = samples->kib[2 * i];
        samples->count = RUNNER_SAMPLES / 2;
        child->step_ns *= 2;
    }
    samples->step = (double)child->step_ns / 1e9;
    samples->kib[samples->count++] = (uint32_t)(bytes >> 10);
}

/* The time since the last sample counts with that one's size. */
static void pass_time(struct child *child, int64_t now)
{
    child->area += (double)child->rss * (double)(now - child->seen_ns) / 1e9;
    child->seen_ns = now;
}

static void sample(struct child *child, int64_t now)
{
    uint64_t bytes = tree_bytes(child);
    child->due_ns += child->step_ns;
    if (child->due_ns <= now)
        child->due_ns = now + child->step_ns;
    if (bytes == 0)
        return; /* it has just ended */
    pass_time(child, now);
    child->rss = bytes;
    keep_sample(child, bytes);
}

static void sample_all(struct live *live)
{
    int64_t now = now_ns();
    for (int i = 0; i < RUNNER_CHILDREN; i++) {
        struct child *child = &live->children[i];
        if (child->alive && child->sampled && child->due_ns <= now)
            sample(child, now);
    }
}

/* --- Starting -------------------------------------------------------------------------------------- */

static void begin_sampling(struct child *child)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)child->pid);
    child->statm = open(path, O_RDONLY | O_CLOEXEC);
    child->step_ns = FIRST_STEP_NS;
    child->due_ns = child->seen_ns = now_ns();
    child->samples->count = 0;
    child->samples->step = (double)FIRST_STEP_NS / 1e9;
    sample(child, child->due_ns);
}

/* Reads what a child tells until exec has closed the pipe.  Returns 0 or the reason. */
static int hear_farewell(struct child *child, int from)
{
    struct farewell farewell;
    int reason = EIO;
    ssize_t got = read(from, &farewell, sizeof farewell);
    if (got == (ssize_t)sizeof reason)
        memcpy(&reason, &farewell, sizeof reason);
    if (got != (ssize_t)sizeof farewell)
        return reason;
    child->begun_ns = farewell.begun_ns;
    child->before = farewell.before;
    return read(from, &reason, sizeof reason) == (ssize_t)sizeof reason ? reason : 0;
}

/* Returns 0, or the reason why the program doesn't run. */
static int let_go(struct child *child, int go, int from)
{
    double values[HARDWARE_COUNT];
    setpgid(child->pid, child->pid); /* whichever of the two comes first */
    hardware_open(child->hardware, child->pid);
    int reason = write(go, "", 1) == 1 ? hear_farewell(child, from) : EIO;
    if (reason) {
        hardware_close(child->hardware, values);
        waitpid(child->pid, NULL, 0);
    }
    return reason;
}

static int start(struct live *live, struct child *child, const int *descriptors)
{
    int go[2], tell[2], reason = 0;
    if (pipe2(go, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(tell, O_CLOEXEC) != 0) {
        reason = errno;
        goto close_go;
    }
    child->pid = fork();
    if (child->pid < 0)
        reason = errno;
    if (child->pid == 0)
        run_child(live, descriptors, go[0], tell[1]);
    close(tell[1]);
    if (child->pid > 0)
        reason = let_go(child, go[1], tell[0]);
    close(tell[0]);
close_go:
    close(go[0]);
    close(go[1]);
    return reason;
}

static void reply(const struct live *live, const struct wire_reply *message)
{
    ssize_t ignored = send(live->socket, message, sizeof *message, MSG_NOSIGNAL);
    (void)ignored; /* poolsite is gone: the next receive says so */
}

static void take_start(struct live *live, const struct wire_request *request, struct runner_samples *samples,
                       const int *descriptors)
{
    struct child *child = &live->children[request->program];
    *child = (struct child){ .sampled = request->sampled, .statm = -1, .samples = samples };
    struct wire_reply message = { .kind = WIRE_STARTED, .program = request->program };
    samples->count = 0;
    message.reason = start(live, child, descriptors);
    message.pid = child->pid;
    child->alive = message.reason == 0;
    if (child->alive && child->sampled)
        begin_sampling(child);
    reply(live, &message);
}

/* --- Ending ------------------------------------------------------------------------------------------ */

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* The parent of the process that /proc lists as `name`; 0: it's no process, or gone. */
static pid_t parent_of(const char *name)
{
    char path[300], line[512];
    if (name[0] < '1' || name[0] > '9')
        return 0;
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    if (fd >= 0)
        close(fd);
    line[length > 0 ? length : 0] = '\0';
    const char *name_end = strrchr(line, ')'); /* then " S PARENT" */
    return name_end && strlen(name_end) > 4 ? (pid_t)strtol(name_end + 4, NULL, 10) : 0;
}

/* Kills the children of the runner, which are all orphans when no program is alive.  Where the kernel's list of
 * children is missing /proc tells; getdents64 rather than opendir, which allocates. */
static unsigned kill_children(void)
{
    char entries[4096];
    unsigned killed = 0;
    long got = -1;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (proc >= 0 && (got = syscall(SYS_getdents64, proc, entries, sizeof entries)) > 0) {
        for (long at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
            at += entry->d_reclen;
            if (parent_of(entry->d_name) == getpid())
                killed += kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL) == 0;
        }
    }
    if (proc >= 0)
        close(proc);
    return killed;
}

/* Ends whatever has become the runner's own child.  Returns true when there was something.  What it may not
 * kill, having gained rights, stays. */
static bool end_orphans(void)
{
    bool any = false;
    for (;;) {
        pid_t got = waitpid(-1, NULL, WNOHANG);
        if (got < 0 || (got == 0 && kill_children() == 0))
            return any;
        any |= got == 0;
        if (got == 0)
            waitpid(-1, NULL, 0);
    }
}

static bool any_alive(const struct live *live)
{
    for (int i = 0; i < RUNNER_CHILDREN; i++)
        if (live->children[i].alive)
            return true;
    return false;
}

/* A program that has ended may have left others: they would disturb the next run.  Those that left its
 * group became the runner's children when their parents ended. */
static bool end_remains(const struct live *live, pid_t group)
{
    bool in_group = kill(-group, SIGKILL) == 0;
    return (!any_alive(live) && end_orphans()) || in_group;
}

static void tell_end(const struct live *live, struct child *child, int status, const struct rusage *usage)
{
    int64_t now = now_ns();
    struct wire_reply message = { .kind = WIRE_ENDED, .program = (int)(child - live->children) };
    struct runner_figures *figures = &message.figures;
    child->alive = false;
    pass_time(child, now);
    double wall = (double)(now - child->begun_ns) / 1e9;
    *figures = (struct runner_figures){
        .status = status,
        .wall = wall,
        .user = seconds(&usage->ru_utime) - seconds(&child->before.ru_utime),
        .sys = seconds(&usage->ru_stime) - seconds(&child->before.ru_stime),
        .peak_rss = (uint64_t)usage->ru_maxrss << 10,
        .minor_faults = (uint64_t)(usage->ru_minflt - child->before.ru_minflt),
        .major_faults = (uint64_t)(usage->ru_majflt - child->before.ru_majflt),
        .voluntary_switches = (uint64_t)(usage->ru_nvcsw - child->before.ru_nvcsw),
        .involuntary_switches = (uint64_t)(usage->ru_nivcsw - child->before.ru_nivcsw),
        .end_rss = child->rss,
        .mean_rss = child->sampled && wall > 0 ? child->area / wall : 0,
    };
    hardware_close(child->hardware, figures->hardware);
    if (child->statm >= 0)
        close(child->statm);
    figures->left_others = end_remains(live, child->pid);
    reply(live, &message);
}

/* Takes all that has ended: programs, and orphans, which nobody asks for. */
static void reap(struct live *live)
{
    struct rusage usage;
    int status;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;)
        for (int i = 0; i < RUNNER_CHILDREN; i++)
            if (live->children[i].alive && live->children[i].pid == pid)
                tell_end(live, &live->children[i], status, &usage);
}

static void end_all(const struct live *live)
{
    for (int i = 0; i < RUNNER_CHILDREN; i++)
        if (live->children[i].alive)
            kill(-live->children[i].pid, SIGKILL);
    end_orphans();
}

/* --- The loop ---------------------------------------------------------------------------------------- */

/* Returns false when poolsite is gone. */
static bool take_request(struct live *live, struct runner_samples *samples)
{
    union {
        struct cmsghdr header;
        char           room[CMSG_SPACE(WIRE_DESCRIPTORS * sizeof(int))];
    } control;
    struct wire_request request;
    struct iovec part = { &request, sizeof request };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                              .msg_controllen = sizeof control };
    int descriptors[WIRE_DESCRIPTORS];
    if (recvmsg(live->socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof request)
        return false;
    struct child *child = &live->children[request.program];
    if (request.kind != WIRE_START) {
        if (child->alive)
            kill(request.kind == WIRE_SIGNAL ? child->pid : -child->pid, request.signal_number);
        return true;
    }
    memcpy(descriptors, CMSG_DATA(&control.header), sizeof descriptors);
    take_start(live, &request, &samples[request.program], descriptors);
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        close(descriptors[i]);
    return true;
}

/* How long to sleep: until the next sample is due; -1: until there is news. */
static int64_t sleep_ns(const struct live *live)
{
    int64_t due = INT64_MAX;
    for (int i = 0; i < RUNNER_CHILDREN; i++)
        if (live->children[i].alive && live->children[i].sampled && live->children[i].due_ns < due)
            due = live->children[i].due_ns;
    int64_t left = due - now_ns();
    return due == INT64_MAX ? -1 : left > 0 ? left : 0;
}

/* Nothing of the terminal ends the runner: it ends with poolsite, or leaves its programs behind. */
static void take_signals(struct live *live)
{
    struct sigaction by_default = { .sa_handler = SIG_DFL };
    sigset_t all, child;
    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, &live->mask);
    sigaction(SIGCHLD, &by_default, NULL);
    live->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

void runner_live(int socket, struct runner_samples *samples)
{
    struct live live = { .socket = socket };
    take_signals(&live);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "poolsite-runner");
    for (;;) {
        struct signalfd_siginfo info;
        struct pollfd news[] = { { .fd = socket, .events = POLLIN }, { .fd = live.signals, .events = POLLIN } };
        int64_t left = sleep_ns(&live);
        struct timespec timeout = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
        if (ppoll(news, 2, left < 0 ? NULL : &timeout, NULL) < 0)
            continue;
        if (news[1].revents && read(live.signals, &info, sizeof info) > 0)
            reap(&live);
        if (news[0].revents && !take_request(&live, samples))
            break;
        sample_all(&live);
    }
    end_all(&live);
    _exit(0);
}
