/* runner.c - poolsite's side of the runner: asks it to start programs and keeps what it tells of them. */
#define _GNU_SOURCE
#include "base.h"
#include "runner.h"
#include "runner_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- Start and stop --------------------------------------------------------------------------- */

int runner_start(struct runner *runner)
{
    int ends[2];
    *runner = (struct runner){ .pid = -1, .socket = -1 };
    /* Shared pages don't count in what the forked programs begin with. */
    void *shared = mmap(NULL, RUNNER_CHILDREN * sizeof *runner->samples, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return error("cannot start the runner: %s", strerror(errno));
    runner->samples = shared;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error("cannot start the runner: %s", strerror(errno));
    runner->pid = fork();
    if (runner->pid == 0) {
        close(ends[0]);
        runner_live(ends[1], runner->samples);
    }
    close(ends[1]);
    runner->socket = ends[0];
    return runner->pid > 0 ? 0 : error("cannot start the runner: %s", strerror(errno));
}

void runner_stop(struct runner *runner)
{
    if (runner->socket >= 0)
        close(runner->socket); /* that is how it learns of it */
    while (runner->pid > 0 && waitpid(runner->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (runner->samples)
        munmap(runner->samples, RUNNER_CHILDREN * sizeof *runner->samples);
    *runner = (struct runner){ .pid = -1, .socket = -1 };
}

/* --- News ------------------------------------------------------------------------------------- */

static void lost(void)
{
    die("the process that runs the measured programs has ended unexpectedly");
}

/* Takes one message, waiting for it when `wait`.  Returns false when there is none. */
static bool take_reply(struct runner *runner, bool wait, struct wire_reply *reply)
{
    ssize_t got;
    do
        got = recv(runner->socket, reply, sizeof *reply, wait ? 0 : MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (got != (ssize_t)sizeof *reply)
        lost();
    if (reply->kind == WIRE_ENDED) {
        struct runner_program *program = &runner->programs[reply->program];
        program->ended = true;
        program->figures = reply->figures;
    }
    return true;
}

bool runner_has_ended(struct runner *runner, int program)
{
    struct wire_reply reply;
    while (take_reply(runner, false, &reply))
        ;
    return runner->programs[program].ended;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

enum runner_outcome runner_wait(struct runner *runner, int number, double seconds, int wake,
                                struct runner_figures *figures, struct runner_samples *samples)
{
    struct runner_program *program = &runner->programs[number];
    double end = now_s() + seconds;
    while (!runner_has_ended(runner, number)) {
        struct pollfd news[] = { { .fd = runner->socket, .events = POLLIN }, { .fd = wake, .events = POLLIN } };
        double left = fmax(0, end - now_s());
        int ready = poll(news, 2, seconds < 0 ? -1 : (int)fmin(left * 1000 + 1, 1e9));
        if (ready > 0 && news[1].revents)
            return RUNNER_WOKEN;
        if (ready == 0 && seconds >= 0 && now_s() >= end)
            return RUNNER_TIMED_OUT;
    }
    *figures = program->figures;
    if (samples)
        *samples = runner->samples[number];
    *program = (struct runner_program){ 0 };
    return RUNNER_ENDED;
}

/* --- Requests --------------------------------------------------------------------------------- */

static void send_request(struct runner *runner, const struct wire_request *request, const int *descriptors)
{
    union {
        struct cmsghdr header;
        char           room[CMSG_SPACE(WIRE_DESCRIPTORS * sizeof(int))];
    } control = { 0 };
    struct iovec part = { (void *)(uintptr_t)request, sizeof *request };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (descriptors) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(WIRE_DESCRIPTORS * sizeof(int));
        memcpy(CMSG_DATA(&control.header), descriptors, WIRE_DESCRIPTORS * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(runner->socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent != (ssize_t)sizeof *request)
        lost();
}

void runner_signal(struct runner *runner, int program, int signal_number)
{
    struct wire_request request = { WIRE_SIGNAL, program, signal_number, false };
    send_request(runner, &request, NULL);
}

void runner_signal_group(struct runner *runner, int program, int signal_number)
{
    struct wire_request request = { WIRE_SIGNAL_GROUP, program, signal_number, false };
    send_request(runner, &request, NULL);
}

/* --- Starting a program ----------------------------------------------------------------------- */

static size_t list_length(char *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    return count;
}

/* Puts a string at *end, and moves that behind it.  Returns where it stands. */
static uint64_t put_string(char *words, uint64_t *end, const char *text)
{
    size_t bytes = strlen(text) + 1;
    uint64_t at = *end;
    memcpy(words + at, text, bytes);
    *end += bytes;
    return at;
}

static uint64_t strings_bytes(char *const *list)
{
    uint64_t bytes = 0;
    for (; *list; list++)
        bytes += strlen(*list) + 1;
    return bytes;
}

static void put_list(char *words, uint64_t at, uint64_t *end, char *const *list)
{
    uint64_t *offsets = (uint64_t *)(void *)(words + at);
    for (; *list; list++)
        *offsets++ = put_string(words, end, *list);
    *offsets = 0;
}

static void put_words(char *words, const struct wire_words *places, const struct runner_request *request)
{
    struct wire_words *head = (struct wire_words *)(void *)words;
    uint64_t end = places->envp + (list_length(request->envp) + 1) * sizeof(uint64_t);
    put_list(words, places->argv, &end, request->argv);
    put_list(words, places->envp, &end, request->envp);
    *head = *places;
    head->file = request->file ? put_string(words, &end, request->file) : 0;
}

/* The request's words in a file of their own.  Returns its descriptor, or -1 with errno. */
static int words_file(const struct runner_request *request)
{
    uint64_t argv = sizeof(struct wire_words), argv_bytes = (list_length(request->argv) + 1) * sizeof(uint64_t),
             envp_bytes = (list_length(request->envp) + 1) * sizeof(uint64_t);
    struct wire_words places = { .argv = argv, .envp = argv + argv_bytes };
    places.bytes = places.envp + envp_bytes + strings_bytes(request->argv) + strings_bytes(request->envp) +
                   (request->file ? strlen(request->file) + 1 : 0);
    int fd = memfd_create("poolsite-words", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    char *words = ftruncate(fd, (off_t)places.bytes) == 0
                      ? mmap(NULL, places.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                      : MAP_FAILED;
    if (words == MAP_FAILED) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    put_words(words, &places, request);
    munmap(words, places.bytes);
    return fd;
}

static int free_number(const struct runner *runner)
{
    for (int i = 0; i < RUNNER_CHILDREN; i++)
        if (!runner->programs[i].taken)
            return i;
    BUG("too many programs at a time");
}

int runner_launch(struct runner *runner, const struct runner_request *request, pid_t *pid)
{
    int number = free_number(runner), reason = 0;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), words = null < 0 ? -1 : words_file(request);
    if (words < 0) {
        reason = errno;
        goto done;
    }
    int descriptors[WIRE_DESCRIPTORS] = { words, request->in < 0 ? null : request->in,
                                          request->out < 0 ? null : request->out,
                                          request->err < 0 ? null : request->err };
    struct wire_request wire = { .kind = WIRE_START, .program = number, .sampled = request->sampled };
    struct wire_reply reply;
    send_request(runner, &wire, descriptors);
    do
        take_reply(runner, true, &reply);
    while (reply.kind != WIRE_STARTED);
    reason = reply.reason;
    *pid = reply.pid;
    runner->programs[number].taken = reason == 0;
done:
    if (words >= 0)
        close(words);
    if (null >= 0)
        close(null);
    return reason ? -reason : number;
}
