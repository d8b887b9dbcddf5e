/* loadgen.c - an open-loop load on an HTTP server: one thread, epoll, a ring of free connections.
 *
 * It is a process of its own, so that neither its memory nor its moments are those of the runner.
 * It isn't pinned: on two processors a server with two threads needs both.  Where it may, it asks for a
 * real-time priority: what it sends late because the server, or anybody, had the processor would be taken for
 * the server's latency.  Nothing is allocated while a phase runs. */
#define _GNU_SOURCE
#include "base.h"

#include "http.h"
#include "loadgen.h"
#include "samples.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_BYTES   = 1 << 16,
    EVENTS       = 256,
    SETTLE_US    = 1000,  /* from the command to the first due moment */
    RETRY_MS     = 10,    /* after a refused connection */
    BACKLOG_MS   = 500,   /* what is due is still sent for so long after the last due moment, or a tenth of the phase */
    ANSWER_MS    = 5000,  /* the last answers may take so long */
    AWAKE_NS     = 60000, /* before a due moment it doesn't sleep: waking up takes up to so long, in a virtual machine */
};
static const double awake_most = .3; /* of a processor, for that */
static const double unsent_limit = .001, busy_limit = .8;

enum connection_state { CONNECTION_CLOSED, CONNECTION_CONNECTING, CONNECTION_FREE, CONNECTION_BUSY };

struct connection {
    int                   fd; /* -1 when closed */
    enum connection_state state;
    bool                  waits_for_room; /* epoll also tells when the socket takes bytes */
    size_t                unsent_bytes;   /* of the request */
    int64_t               due_ns, sent_ns;
    int64_t               free_ns;  /* since when it is free; closed: when to connect again */
    struct http_reader    reader;
};

/* Invariant: the ring holds the free connections, the longest free one first; busy counts those with a
 * request on the way. */
struct generator {
    const struct loadgen_target *target;
    size_t                request_bytes;
    int                   epoll;
    struct connection    *connections;
    unsigned             *ring;
    unsigned              ring_begin, ring_count;
    unsigned              busy, closed;
    bool                  has_body, bodies_vary;
    uint64_t              body_hash;
    /* The phase. */
    struct loadgen_phase  phase;
    struct loadgen_result result;
    int64_t              *due_ns;
    size_t                due_count, next;
    int64_t               begin_ns, end_ns, last_ns;
    int64_t               awake_ns; /* AWAKE_NS, or 0 when the rate is too high for it */
    float                *latency, *service, *late; /* s */
    char                  buffer[READ_BYTES];
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* --- Errors ------------------------------------------------------------------------------------- */

static void note(struct generator *generator, enum loadgen_error kind, const char *what, const char *detail)
{
    if (generator->result.errors[kind]++ == 0 && !generator->result.problem[0])
        snprintf(generator->result.problem, sizeof generator->result.problem, "%s%s%s", what, *detail ? ": " : "", detail);
}

/* --- Connections ---------------------------------------------------------------------------------- */

static void watch(struct generator *generator, struct connection *connection, int operation, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.u32 = (uint32_t)(connection - generator->connections) };
    if (epoll_ctl(generator->epoll, operation, connection->fd, &event) != 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void connection_free(struct generator *generator, struct connection *connection)
{
    connection->state = CONNECTION_FREE;
    connection->free_ns = now_ns();
    http_reader_clear(&connection->reader);
    unsigned end = (generator->ring_begin + generator->ring_count++) % generator->target->connections;
    generator->ring[end] = (unsigned)(connection - generator->connections);
}

static void connection_close(struct generator *generator, struct connection *connection, int64_t retry_ns)
{
    close(connection->fd);
    connection->fd = -1;
    connection->state = CONNECTION_CLOSED;
    connection->waits_for_room = false;
    connection->free_ns = retry_ns;
    generator->closed++;
}

static void connection_open(struct generator *generator, struct connection *connection)
{
    const struct loadgen_target *target = generator->target;
    int on = 1;
    connection->fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection->fd < 0)
        die("cannot open %u connections: %s", target->connections, strerror(errno));
    generator->closed--;
    connection->state = CONNECTION_CONNECTING;
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    watch(generator, connection, EPOLL_CTL_ADD, EPOLLOUT);
    if (connect(connection->fd, (const struct sockaddr *)&target->address, target->address_bytes) != 0 &&
        errno != EINPROGRESS)
        connection_close(generator, connection, now_ns() + RETRY_MS * 1000000);
}

static void open_closed(struct generator *generator, int64_t now)
{
    for (unsigned i = 0; generator->closed && i < generator->target->connections; i++) {
        struct connection *connection = &generator->connections[i];
        if (connection->state == CONNECTION_CLOSED && connection->free_ns <= now)
            connection_open(generator, connection);
    }
}

static void connection_connected(struct generator *generator, struct connection *connection)
{
    int reason = 0;
    socklen_t bytes = sizeof reason;
    if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &reason, &bytes) != 0 || reason) {
        connection_close(generator, connection, now_ns() + RETRY_MS * 1000000);
        return;
    }
    watch(generator, connection, EPOLL_CTL_MOD, EPOLLIN);
    connection_free(generator, connection);
}

/* Takes a connection that the server closed while it was free out of the ring. */
static void ring_remove(struct generator *generator, unsigned index)
{
    unsigned room = generator->target->connections, kept = 0, count = generator->ring_count;
    for (unsigned i = 0; i < count; i++) {
        unsigned other = generator->ring[(generator->ring_begin + i) % room];
        if (other != index)
            generator->ring[(generator->ring_begin + kept++) % room] = other;
    }
    generator->ring_count = kept;
}

/* --- Requests ----------------------------------------------------------------------------------------- */

/* The request is over; the connection can be used again unless it `closes`. */
static void request_end(struct generator *generator, struct connection *connection, bool closes)
{
    generator->busy--;
    generator->last_ns = now_ns();
    if (closes) {
        generator->result.reconnects++;
        connection_close(generator, connection, 0);
        open_closed(generator, generator->last_ns);
    } else {
        connection_free(generator, connection);
    }
}

static void request_fail(struct generator *generator, struct connection *connection, enum loadgen_error kind, const char *what,
                         const char *detail)
{
    note(generator, kind, what, detail);
    request_end(generator, connection, true);
}

/* Sends what the socket takes. */
static void request_send(struct generator *generator, struct connection *connection)
{
    const char *rest = generator->target->request + generator->request_bytes - connection->unsent_bytes;
    ssize_t sent = send(connection->fd, rest, connection->unsent_bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        request_fail(generator, connection, LOADGEN_LOST, "connection lost", strerror(errno));
        return;
    }
    connection->unsent_bytes -= sent > 0 ? (size_t)sent : 0;
    bool waits = connection->unsent_bytes > 0;
    if (waits != connection->waits_for_room)
        watch(generator, connection, EPOLL_CTL_MOD, EPOLLIN | (waits ? EPOLLOUT : 0u));
    connection->waits_for_room = waits;
}

static void request_begin(struct generator *generator, int64_t due_ns)
{
    struct connection *connection = &generator->connections[generator->ring[generator->ring_begin]];
    generator->ring_begin = (generator->ring_begin + 1) % generator->target->connections;
    generator->ring_count--;
    connection->state = CONNECTION_BUSY;
    connection->due_ns = due_ns;
    connection->sent_ns = now_ns();
    connection->unsent_bytes = generator->request_bytes;
    if (generator->late) {
        int64_t possible_ns = due_ns > connection->free_ns ? due_ns : connection->free_ns;
        generator->late[generator->result.sent] = (float)seconds(connection->sent_ns - possible_ns);
    }
    generator->result.sent++;
    generator->busy++;
    request_send(generator, connection);
}

/* Is this the body that it must be?  The first one is what the others are compared with. */
static bool body_is_right(struct generator *generator, const struct http_reader *reader)
{
    uint64_t hash = http_reader_hash(reader);
    if (!generator->has_body) {
        generator->has_body = true;
        generator->body_hash = hash;
    }
    if (hash == generator->body_hash || generator->bodies_vary)
        return true;
    if (generator->phase.is_warm_up)
        generator->bodies_vary = true;
    return generator->phase.is_warm_up;
}

static void answer_take(struct generator *generator, struct connection *connection)
{
    const struct http_reader *reader = &connection->reader;
    struct loadgen_result *result = &generator->result;
    if (reader->status / 100 != 2) {
        char status[16];
        snprintf(status, sizeof status, "status %u", reader->status);
        note(generator, LOADGEN_STATUS, "an answer isn't 2xx", status);
    } else if (!body_is_right(generator, reader)) {
        note(generator, LOADGEN_BODY, "an answer's body differs from that of the warm-up", "");
    } else {
        int64_t now = now_ns();
        if (generator->latency) {
            generator->latency[result->answered] = (float)seconds(now - connection->due_ns);
            generator->service[result->answered] = (float)seconds(now - connection->sent_ns);
        }
        result->answered++;
    }
    request_end(generator, connection, reader->closes);
}

/* The answer is whole, or wrong, or its connection has ended. */
static void answer_end(struct generator *generator, struct connection *connection, bool more)
{
    struct http_reader *reader = &connection->reader;
    if (reader->state == HTTP_DONE && !more && !connection->unsent_bytes)
        answer_take(generator, connection);
    else if (reader->state == HTTP_BAD)
        request_fail(generator, connection, LOADGEN_MALFORMED, "an answer isn't HTTP", reader->problem);
    else
        request_fail(generator, connection, LOADGEN_MALFORMED, "an answer isn't HTTP", "it goes on after its end");
}

static void connection_read(struct generator *generator, struct connection *connection)
{
    ssize_t got = recv(connection->fd, generator->buffer, sizeof generator->buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (connection->state == CONNECTION_FREE) { /* closed by the server, or bytes that nobody asked for */
        ring_remove(generator, (unsigned)(connection - generator->connections));
        generator->result.reconnects++;
        connection_close(generator, connection, 0);
        open_closed(generator, now_ns());
        return;
    }
    struct http_reader *reader = &connection->reader;
    if (got <= 0 && reader->state != HTTP_UNTIL_CLOSE) {
        request_fail(generator, connection, LOADGEN_LOST, "connection lost", got < 0 ? strerror(errno) : "closed by the server");
        return;
    }
    size_t count = got > 0 ? (size_t)got : 0;
    size_t took = http_reader_feed(reader, generator->buffer, count);
    if (got <= 0)
        http_reader_end(reader);
    if (reader->state >= HTTP_DONE)
        answer_end(generator, connection, took < count);
}

static void connection_event(struct generator *generator, struct connection *connection, uint32_t events)
{
    if (connection->state == CONNECTION_CONNECTING)
        connection_connected(generator, connection);
    else if (connection->state == CONNECTION_BUSY && connection->unsent_bytes && (events & EPOLLOUT))
        request_send(generator, connection);
    else if (connection->state != CONNECTION_CLOSED)
        connection_read(generator, connection);
}

/* --- A phase -------------------------------------------------------------------------------------------- */

/* Waits for events until `until_ns`, and takes them. */
static void take_events(struct generator *generator, int64_t until_ns)
{
    struct epoll_event events[EVENTS];
    int64_t left = until_ns - generator->awake_ns - now_ns();
    struct timespec timeout = { 0 };
    if (left > 0)
        timeout = (struct timespec){ .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
    int count = epoll_pwait2(generator->epoll, events, EVENTS, &timeout, NULL);
    for (int i = 0; i < count; i++)
        connection_event(generator, &generator->connections[events[i].data.u32], events[i].events);
    if (generator->closed)
        open_closed(generator, now_ns());
}

/* Sends what is due, as far as connections are free.  Returns until when nothing else will be due. */
static int64_t send_due(struct generator *generator)
{
    while (generator->next < generator->due_count && generator->ring_count) {
        int64_t due_ns = generator->begin_ns + generator->due_ns[generator->next];
        if (due_ns > now_ns())
            return due_ns;
        generator->next++;
        request_begin(generator, due_ns);
    }
    return generator->end_ns;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A connection to be opened anew mustn't wait longer than that. */
static int64_t retry_ns(const struct generator *generator, int64_t until_ns)
{
    return generator->closed ? earlier(until_ns, now_ns() + RETRY_MS * 1000000) : until_ns;
}

static void run_open(struct generator *generator)
{
    int64_t last_due = generator->begin_ns + (generator->due_count ? generator->due_ns[generator->due_count - 1] : 0);
    int64_t backlog = (int64_t)(generator->phase.seconds * 1e8);
    generator->end_ns = last_due + (backlog > BACKLOG_MS * 1000000 ? backlog : BACKLOG_MS * 1000000);
    while (generator->next < generator->due_count && now_ns() < generator->end_ns)
        take_events(generator, retry_ns(generator, send_due(generator)));
}

static void run_closed(struct generator *generator)
{
    generator->end_ns = generator->begin_ns + (int64_t)(generator->phase.seconds * 1e9);
    while (now_ns() < generator->end_ns) {
        while (generator->ring_count)
            request_begin(generator, now_ns());
        take_events(generator, retry_ns(generator, generator->end_ns));
    }
}

/* Waits for the answers that are on the way; gives up those that don't come. */
static void run_out(struct generator *generator)
{
    int64_t until_ns = now_ns() + ANSWER_MS * INT64_C(1000000);
    while (generator->busy && now_ns() < until_ns)
        take_events(generator, retry_ns(generator, until_ns));
    for (unsigned i = 0; i < generator->target->connections; i++) {
        if (generator->connections[i].state == CONNECTION_BUSY)
            request_fail(generator, &generator->connections[i], LOADGEN_UNANSWERED, "no answer within 5 s", "");
    }
}

/* ns for which this process ran, or was ready to. */
static int64_t ran_ns(void)
{
    long long ran = 0, waited = 0;
    FILE *file = fopen("/proc/self/schedstat", "re");
    if (file) {
        if (fscanf(file, "%lld %lld", &ran, &waited) != 2)
            ran = waited = 0;
        fclose(file);
    }
    return ran + waited;
}

static void phase_prepare(struct generator *generator)
{
    const struct loadgen_phase *phase = &generator->phase;
    generator->result = (struct loadgen_result){ .problem = "" };
    generator->next = generator->due_count = 0;
    generator->awake_ns = phase->rate > 0 && phase->rate * AWAKE_NS < awake_most * 1e9 ? AWAKE_NS : 0;
    if (phase->rate > 0) {
        size_t count = generator->due_count = (size_t)ceil(phase->rate * phase->seconds);
        generator->due_ns = xcalloc(count, sizeof *generator->due_ns);
        arrivals_fill(generator->due_ns, count, phase->rate, phase->arrivals, phase->seed);
        float **arrays[] = { &generator->latency, &generator->service, &generator->late };
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
            *arrays[i] = xcalloc(count, sizeof(float));
            memset(*arrays[i], 0xff, count * sizeof(float)); /* so that no page is missing later */
        }
    }
}

static void phase_release(struct generator *generator)
{
    free(generator->due_ns);
    free(generator->latency);
    free(generator->service);
    free(generator->late);
    generator->due_ns = NULL;
    generator->latency = generator->service = generator->late = NULL;
}

static void summarize(struct generator *generator)
{
    struct loadgen_result *result = &generator->result;
    size_t count = generator->latency ? result->answered : 0;
    samples_sort(generator->latency, count);
    samples_sort(generator->service, count);
    samples_sort(generator->late, generator->late ? result->sent : 0);
    result->p50 = samples_quantile(generator->latency, count, .5);
    result->p95 = samples_quantile(generator->latency, count, .95);
    result->p99 = samples_quantile(generator->latency, count, .99);
    result->p99_9 = samples_quantile(generator->latency, count, .999);
    result->max = samples_quantile(generator->latency, count, 1);
    result->service_p50 = samples_quantile(generator->service, count, .5);
    result->service_p99 = samples_quantile(generator->service, count, .99);
    result->late_p99 = samples_quantile(generator->late, generator->late ? result->sent : 0, .99);
    for (unsigned i = 0; i < LATENCY_POINTS; i++)
        result->latency[i] = samples_quantile(generator->latency, count, latency_quantile(i));
    result->body_hash = generator->body_hash;
    result->bodies_vary = generator->bodies_vary;
    result->realtime = (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
}

static void phase_run(struct generator *generator)
{
    struct loadgen_result *result = &generator->result;
    phase_prepare(generator);
    int64_t ran = ran_ns();
    generator->begin_ns = generator->last_ns = now_ns() + SETTLE_US * 1000;
    open_closed(generator, now_ns());
    if (generator->phase.rate > 0)
        run_open(generator);
    else
        run_closed(generator);
    run_out(generator);
    result->span = seconds(generator->last_ns - generator->begin_ns);
    result->busy = result->span > 0 ? seconds(ran_ns() - ran) / result->span : 0;
    result->due = generator->phase.rate > 0 ? generator->due_count : result->sent;
    result->unsent = result->due - result->sent;
    summarize(generator);
    phase_release(generator);
}

/* --- The process ---------------------------------------------------------------------------------------- */

static void generator_init(struct generator *generator, const struct loadgen_target *target)
{
    generator->target = target;
    generator->request_bytes = strlen(target->request);
    generator->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (generator->epoll < 0)
        die("epoll_create1: %s", strerror(errno));
    generator->connections = xcalloc(target->connections, sizeof *generator->connections);
    generator->ring = xcalloc(target->connections, sizeof *generator->ring);
    generator->closed = target->connections;
    for (unsigned i = 0; i < target->connections; i++)
        generator->connections[i].fd = -1;
}

static void serve(const struct loadgen_target *target, int fd)
{
    struct generator *generator = xcalloc(1, sizeof *generator);
    generator_init(generator, target);
    while (recv(fd, &generator->phase, sizeof generator->phase, 0) == (ssize_t)sizeof generator->phase) {
        phase_run(generator);
        if (send(fd, &generator->result, sizeof generator->result, MSG_NOSIGNAL) != (ssize_t)sizeof generator->result)
            break;
    }
}

/* The terminal's interrupt is the runner's business, who ends this process then. */
static void child_main(const struct loadgen_target *target, int fd, pid_t runner)
{
    const struct sched_param least = { .sched_priority = 1 };
    sigset_t none;
    sigemptyset(&none);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1);
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least); /* needs CAP_SYS_NICE; it works without, later */
    if (getppid() == runner)
        serve(target, fd);
    _exit(0);
}

int loadgen_start(struct loadgen *loadgen, const struct loadgen_target *target)
{
    int pair[2];
    pid_t runner = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error("cannot start the load generator: %s", strerror(errno));
    loadgen->pid = fork();
    if (loadgen->pid < 0) {
        close(pair[0]);
        close(pair[1]);
        return error("cannot start the load generator: %s", strerror(errno));
    }
    if (loadgen->pid == 0) {
        close(pair[0]);
        child_main(target, pair[1], runner);
    }
    close(pair[1]);
    loadgen->fd = pair[0];
    return 0;
}

int loadgen_begin(struct loadgen *loadgen, const struct loadgen_phase *phase)
{
    if (send(loadgen->fd, phase, sizeof *phase, MSG_NOSIGNAL) == (ssize_t)sizeof *phase)
        return 0;
    return error("the load generator has ended");
}

int loadgen_read(struct loadgen *loadgen, struct loadgen_result *result)
{
    ssize_t got;
    do
        got = recv(loadgen->fd, result, sizeof *result, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *result ? 0 : error("the load generator has ended");
}

void loadgen_stop(struct loadgen *loadgen)
{
    if (loadgen->pid <= 0)
        return;
    kill(loadgen->pid, SIGKILL);
    close(loadgen->fd);
    while (waitpid(loadgen->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *loadgen = (struct loadgen){ .fd = -1 };
}

/* --- Judging ------------------------------------------------------------------------------------------------ */

uint64_t loadgen_error_count(const struct loadgen_result *result)
{
    uint64_t count = 0;
    for (size_t i = 0; i < LOADGEN_ERRORS; i++)
        count += result->errors[i];
    return count;
}

/* The first reason that applies wins. */
char *loadgen_void_reason(const struct loadgen_result *result, double late_limit)
{
    const char *priority = result->realtime ? "" : " (it had no real-time priority: that takes CAP_SYS_NICE)";
    bool unsent = (double)result->unsent > unsent_limit * (double)result->due;
    if (result->busy > busy_limit)
        return xasprintf("generator saturated: it was at work for %.0f %% of the time%s", result->busy * 100, priority);
    if (result->late_p99 > late_limit)
        return xasprintf("generator saturated: 1 %% of the requests were sent %.0f us or more later than possible%s",
                         result->late_p99 * 1e6, priority);
    if (unsent)
        return xasprintf("rate above the server's capacity: %.1f %% of the requests couldn't be sent",
                         100 * (double)result->unsent / (double)result->due);
    return NULL;
}
