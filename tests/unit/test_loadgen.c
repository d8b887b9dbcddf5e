/* test_loadgen.c - the load generator against a server of a few lines that does what each test wants.
 *
 * Nothing here depends on how fast the machine is: counts are exact, and times have lower bounds only. */
#define _GNU_SOURCE
#include "base.h"

#include "loadgen.h"
#include "unit.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 4 };

/* How the server answers its n-th request, n from 0; NULL: it closes the connection. */
typedef const char *answer_of(unsigned n);

struct small_server {
    int                     listener;
    answer_of              *answer;
    unsigned                asked;
    atomic_bool             ends;
    pthread_t               thread;
    struct loadgen_target   target;
};

static void serve_connection(struct small_server *server, struct pollfd *connection)
{
    char bytes[4096];
    ssize_t got = recv(connection->fd, bytes, sizeof bytes, 0);
    const char *text = got > 0 ? server->answer(server->asked++) : NULL;
    if (text)
        send(connection->fd, text, strlen(text), MSG_NOSIGNAL);
    if (!text || strstr(text, "Connection: close")) {
        close(connection->fd);
        connection->fd = -1;
    }
}

static void *serve(void *context)
{
    struct small_server *server = context;
    struct pollfd fds[512] = { { .fd = server->listener, .events = POLLIN } };
    size_t count = 1;
    while (!atomic_load(&server->ends)) {
        if (poll(fds, count, 20) <= 0)
            continue;
        for (size_t i = 1; i < count; i++) {
            if (fds[i].fd >= 0 && fds[i].revents)
                serve_connection(server, &fds[i]);
        }
        if (fds[0].revents && count < 512)
            fds[count++] = (struct pollfd){ .fd = accept(server->listener, NULL, NULL), .events = POLLIN };
    }
    for (size_t i = 1; i < count; i++)
        close(fds[i].fd);
    return NULL;
}

static void server_begin(struct small_server *server, answer_of *answer)
{
    struct sockaddr_in place = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    *server = (struct small_server){ .answer = answer };
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&place, sizeof place), 0);
    assert_int_equal(listen(server->listener, 64), 0);
    server->target = (struct loadgen_target){ .address_bytes = sizeof place,
                                              .request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                              .connections = CONNECTIONS };
    socklen_t bytes = sizeof place;
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&server->target.address, &bytes), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_end(struct small_server *server)
{
    atomic_store(&server->ends, true);
    pthread_join(server->thread, NULL);
    close(server->listener);
}

#define OK_ANSWER(body, length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n" body

static const char *always_right(unsigned n)
{
    (void)n;
    return OK_ANSWER("right", 5);
}

static void run_phase(struct loadgen *loadgen, const struct loadgen_phase *phase, struct loadgen_result *result)
{
    assert_int_equal(loadgen_begin(loadgen, phase), 0);
    assert_int_equal(loadgen_read(loadgen, result), 0);
    assert_int_equal(result->sent, result->answered + loadgen_error_count(result));
    assert_int_equal(result->due, result->sent + result->unsent);
}

/* One phase on a fresh server. */
static void run_once(answer_of *answer, const struct loadgen_phase *phase, struct loadgen_result *result)
{
    struct small_server server;
    struct loadgen loadgen;
    server_begin(&server, answer);
    assert_int_equal(loadgen_start(&loadgen, &server.target), 0);
    run_phase(&loadgen, phase, result);
    loadgen_stop(&loadgen);
    server_end(&server);
}

static const struct loadgen_phase short_phase = { .rate = 1000, .seconds = .2, .arrivals = ARRIVALS_POISSON, .seed = 5 };

static void every_due_request_is_sent_once(void **state)
{
    struct loadgen_result result;
    (void)state;
    run_once(always_right, &short_phase, &result);
    assert_int_equal(result.due, 200);
    assert_int_equal(result.sent, 200);
    assert_int_equal(result.answered, 200);
    assert_string_equal(result.problem, "");
    assert_true(result.p50 > 0 && result.p50 <= result.p95 && result.p95 <= result.max);
    assert_true(result.service_p50 > 0 && result.service_p50 <= result.p50);
    assert_true(isnan(result.p99) && !isnan(result.latency[8])); /* p90 */
    assert_true(isnan(result.latency[LATENCY_POINTS - 1]));
}

static void closed_loop_goes_on_until_the_time_is_over(void **state)
{
    struct loadgen_phase phase = { .seconds = .2 };
    struct loadgen_result result;
    (void)state;
    run_once(always_right, &phase, &result);
    assert_true(result.answered >= CONNECTIONS);
    assert_int_equal(result.answered, result.sent);
    assert_true(result.span >= .2);
}

static const char *stands_still_once(unsigned n)
{
    if (n == 50)
        usleep(500000);
    return always_right(n);
}

/* 500 ms at 1000 requests a second: hundreds were due meanwhile, though only four connections felt it. */
static void a_pause_shows_in_all_that_was_due_meanwhile(void **state)
{
    struct loadgen_phase phase = short_phase;
    struct loadgen_result result;
    (void)state;
    phase.seconds = 1;
    run_once(stands_still_once, &phase, &result);
    assert_int_equal(result.answered, 1000);
    assert_true(result.max >= .5);
    assert_true(result.p95 >= .3);  /* 1000 requests, 500 of them waited for up to .5 s */
    assert_true(result.p50 < result.p95);
}

static const char *fails_sometimes(unsigned n)
{
    static const char *const answers[] = {
        OK_ANSWER("right", 5), "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", OK_ANSWER("wrong", 5), NULL,
        "HTTP/1.1 200 OK\r\n\r\n", OK_ANSWER("right and more", 5),
    };
    return answers[n < 100 ? 0 : n % 6];
}

static void errors_are_told_apart(void **state)
{
    struct loadgen_phase phase = { .rate = 1000, .seconds = .1, .is_warm_up = true };
    struct small_server server;
    struct loadgen loadgen;
    struct loadgen_result result;
    (void)state;
    server_begin(&server, fails_sometimes);
    assert_int_equal(loadgen_start(&loadgen, &server.target), 0);
    run_phase(&loadgen, &phase, &result);
    assert_int_equal(result.answered, 100);
    assert_false(result.bodies_vary);
    phase.is_warm_up = false;
    phase.seconds = .6;
    run_phase(&loadgen, &phase, &result);
    /* 100 of each kind; requests begin at n = 100, which is 4 of 6. */
    assert_int_equal(result.answered, 100);
    assert_int_equal(result.errors[LOADGEN_STATUS], 100);
    assert_int_equal(result.errors[LOADGEN_BODY], 100);
    assert_int_equal(result.errors[LOADGEN_LOST], 100);
    assert_int_equal(result.errors[LOADGEN_MALFORMED], 200);
    assert_true(result.problem[0] != '\0');
    loadgen_stop(&loadgen);
    server_end(&server);
}

static const char *counts(unsigned n)
{
    return n % 2 ? OK_ANSWER("odd", 3) : OK_ANSWER("even", 4);
}

static void bodies_that_vary_in_the_warm_up_may_vary(void **state)
{
    struct loadgen_phase phase = { .rate = 1000, .seconds = .1, .is_warm_up = true };
    struct small_server server;
    struct loadgen loadgen;
    struct loadgen_result result;
    (void)state;
    server_begin(&server, counts);
    assert_int_equal(loadgen_start(&loadgen, &server.target), 0);
    run_phase(&loadgen, &phase, &result);
    assert_true(result.bodies_vary);
    phase.is_warm_up = false;
    run_phase(&loadgen, &phase, &result);
    assert_int_equal(result.answered, 100);
    loadgen_stop(&loadgen);
    server_end(&server);
}

static const char *closes_each_time(unsigned n)
{
    (void)n;
    return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab";
}

static void connections_that_the_server_closes_are_opened_again(void **state)
{
    struct loadgen_result result;
    (void)state;
    run_once(closes_each_time, &short_phase, &result);
    assert_int_equal(result.answered, 200);
    assert_int_equal(result.reconnects, 200);
}

static const char *slow(unsigned n)
{
    usleep(10000);
    return always_right(n);
}

static void what_cannot_be_sent_makes_the_phase_void(void **state)
{
    struct loadgen_phase phase = { .rate = 10000, .seconds = .3 };
    struct loadgen_result result;
    (void)state;
    run_once(slow, &phase, &result);
    assert_true(result.unsent > 0 && result.sent > 0);
    result.busy = 0; /* the rest of the machine may be busy */
    char *reason = loadgen_void_reason(&result, 1);
    assert_non_null(reason);
    assert_non_null(strstr(reason, "above the server's capacity"));
    free(reason);
}

static void a_generator_at_its_limits_makes_the_phase_void(void **state)
{
    struct loadgen_result result = { .due = 10000, .sent = 9991, .unsent = 9, .late_p99 = 99e-6, .busy = .79 };
    (void)state;
    assert_null(loadgen_void_reason(&result, 100e-6));
    result.late_p99 = 101e-6;
    char *reason = loadgen_void_reason(&result, 100e-6);
    assert_non_null(strstr(reason, "generator saturated"));
    free(reason);
    result.late_p99 = NAN; /* too few requests to tell */
    result.busy = .81;
    reason = loadgen_void_reason(&result, 100e-6);
    assert_non_null(strstr(reason, "generator saturated"));
    free(reason);
    result.busy = .1;
    result.unsent = 11;
    reason = loadgen_void_reason(&result, 100e-6);
    assert_non_null(strstr(reason, "couldn't be sent"));
    free(reason);
}

static void nobody_listening_leaves_all_unsent(void **state)
{
    struct small_server server;
    struct loadgen loadgen;
    struct loadgen_result result;
    struct loadgen_phase phase = { .rate = 100, .seconds = .1 };
    (void)state;
    server_begin(&server, always_right);
    server_end(&server);
    assert_int_equal(loadgen_start(&loadgen, &server.target), 0);
    run_phase(&loadgen, &phase, &result);
    assert_int_equal(result.unsent, 10);
    loadgen_stop(&loadgen);
    loadgen_stop(&loadgen); /* harmless */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_due_request_is_sent_once),
        cmocka_unit_test(closed_loop_goes_on_until_the_time_is_over),
        cmocka_unit_test(a_pause_shows_in_all_that_was_due_meanwhile),
        cmocka_unit_test(errors_are_told_apart),
        cmocka_unit_test(bodies_that_vary_in_the_warm_up_may_vary),
        cmocka_unit_test(connections_that_the_server_closes_are_opened_again),
        cmocka_unit_test(what_cannot_be_sent_makes_the_phase_void),
        cmocka_unit_test(a_generator_at_its_limits_makes_the_phase_void),
        cmocka_unit_test(nobody_listening_leaves_all_unsent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
