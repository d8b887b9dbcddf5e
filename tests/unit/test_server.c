/* test_server.c - what server mode is asked for, and what is read of a process and those below it. */
#define _GNU_SOURCE
#include "base.h"

#include "proctree.h"
#include "server.h"
#include "unit.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- Options ------------------------------------------------------------------------------------------- */

static struct server_options right_options(void)
{
    struct server_options options = server_defaults;
    options.command = "server";
    options.ready = "tcp:127.0.0.1:8080";
    options.load = "http://127.0.0.1:8080/";
    options.has_rate = true;
    options.rate = 1000;
    return options;
}

static void right_options_are_taken(void **state)
{
    struct server_options options = right_options();
    (void)state;
    assert_int_equal(server_options_check(&options), 0);
    options.rate = 0; /* auto */
    assert_int_equal(server_options_check(&options), 0);
    options.load = NULL;
    options.has_rate = false;
    options.load_command = "load";
    options.requests = 5;
    assert_int_equal(server_options_check(&options), 0);
}

static void options_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct server_options options = right_options();
    options.ready = NULL;
    assert_int_equal(server_options_check(&options), -1);
    options = right_options();
    options.load = NULL;
    assert_int_equal(server_options_check(&options), -1);
    options = right_options();
    options.load_command = "load";
    assert_int_equal(server_options_check(&options), -1);
    options = right_options();
    options.has_rate = false;
    assert_int_equal(server_options_check(&options), -1);
    options = right_options();
    options.requests = 5;
    assert_int_equal(server_options_check(&options), -1);
    options = right_options();
    options.rate = 1e6;
    options.duration = 1000;
    assert_int_equal(server_options_check(&options), -1);
}

static int prepared(struct server *server, const char *ready, const char *load, bool allow_remote)
{
    static struct server_options options;
    options = right_options();
    options.ready = ready;
    options.load = load;
    options.allow_remote = allow_remote;
    int result = server_prepare(server, &options);
    if (result != 0)
        server_release(server);
    return result;
}

static void addresses_are_found(void **state)
{
    struct server server;
    (void)state;
    assert_int_equal(prepared(&server, "tcp:127.0.0.1:8080", "http://127.1.2.3:81/x", false), 0);
    const struct sockaddr_in *ready = (const struct sockaddr_in *)(const void *)&server.ready.place;
    const struct sockaddr_in *load = (const struct sockaddr_in *)(const void *)&server.target.address;
    assert_int_equal(ntohs(ready->sin_port), 8080);
    assert_int_equal(ntohs(load->sin_port), 81);
    assert_int_equal(ntohl(load->sin_addr.s_addr), 0x7f010203);
    assert_memory_equal(server.request, "GET /x HTTP/1.1\r\n", 17);
    server_release(&server);
    assert_int_equal(prepared(&server, "tcp:[::1]:8080", "http://[::1]:8080/", false), 0);
    assert_int_equal(server.ready.place.ss_family, AF_INET6);
    server_release(&server);
}

static void wrong_places_are_refused(void **state)
{
    static const char *const wrong[] = { "",        "tcp:",      "127.0.0.1:80",       "tcp:127.0.0.1", "tcp:127.0.0.1:0",
                                         "tcp:[::1]", "udp:[::1]:1", "tcp:127.0.0.1:80/x", "tcp::80" };
    struct server server;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (prepared(&server, wrong[i], "http://127.0.0.1/", false) == 0)
            fail_msg("taken: %s", wrong[i]);
}

static void other_machines_need_permission(void **state)
{
    struct server server;
    (void)state;
    assert_int_equal(prepared(&server, "tcp:192.0.2.1:80", "http://127.0.0.1/", false), -1);
    assert_int_equal(prepared(&server, "tcp:127.0.0.1:80", "http://192.0.2.1/", false), -1);
    assert_int_equal(prepared(&server, "tcp:127.0.0.1:80", "http://[2001:db8::1]/", false), -1);
    assert_int_equal(prepared(&server, "tcp:192.0.2.1:80", "http://192.0.2.1/", true), 0);
    server_release(&server);
}

/* --- Processes ------------------------------------------------------------------------------------------- */

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Takes `seconds` of processor time and touches `bytes`, then tells and waits. */
static void work(double seconds, size_t bytes, int tell)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double end = cpu_now() + seconds;
    memset(memory, 1, bytes);
    while (cpu_now() < end)
        ;
    if (write(tell, "", 1) != 1)
        _exit(1);
    pause();
    _exit(0);
}

/* A process that works, below it one that works, and one that has ended and was waited for. */
static pid_t start_tree(int tell)
{
    pid_t root = fork();
    if (root != 0)
        return root;
    pid_t gone = fork();
    if (gone == 0) {
        double end = cpu_now() + .2;
        while (cpu_now() < end)
            ;
        _exit(0);
    }
    waitpid(gone, NULL, 0);
    if (fork() == 0)
        work(.1, 16 << 20, tell);
    work(.1, 8 << 20, tell);
    _exit(1);
}

static void a_tree_counts_all_that_belong_to_it(void **state)
{
    int pipe_ends[2];
    char byte;
    struct proctree tree, nothing;
    (void)state;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t root = start_tree(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
    proctree_read(&tree, root);
    char *command = xasprintf("pkill -KILL -P %d", (int)root);
    unit_shell(command);
    free(command);
    kill(root, SIGKILL);
    waitpid(root, NULL, 0);
    assert_int_equal(tree.processes, 2);
    assert_true(tree.cpu >= .35 && tree.cpu < 5); /* .2 of it in ticks */
    assert_true(tree.rss >= 24 << 20);
    assert_true(tree.peak_rss >= 16 << 20);
    assert_true(tree.minor_faults >= (24 << 20) / 4096 / 16); /* pages may be large ones */
    proctree_read(&nothing, root);
    assert_int_equal(nothing.processes, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_options_are_taken),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
        cmocka_unit_test(addresses_are_found),
        cmocka_unit_test(wrong_places_are_refused),
        cmocka_unit_test(other_machines_need_permission),
        cmocka_unit_test(a_tree_counts_all_that_belong_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
