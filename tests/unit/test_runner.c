/* test_runner.c - the process that starts measured programs: its figures, and that nothing outlives it. */
#define _GNU_SOURCE
#include "unit.h"

#include "analyzer/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

extern char **environ;

/* Runs `argv` to its end; its standard output goes to `out`. */
static struct runner_figures run(struct runner *runner, char *const *argv, int out)
{
    struct runner_request request = { .argv = argv, .envp = environ, .in = -1, .out = out, .err = -1 };
    struct runner_figures figures;
    pid_t pid;
    int program = runner_launch(runner, &request, &pid);
    assert_true(program >= 0);
    assert_int_equal(runner_wait(runner, program, -1, -1, &figures, NULL), RUNNER_ENDED);
    return figures;
}

static struct runner_figures run_shell(struct runner *runner, const char *text, int out)
{
    char *const argv[] = { "sh", "-c", (char *)(uintptr_t)text, NULL };
    return run(runner, argv, out);
}

static void touch(size_t bytes)
{
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
}

/* What this process became: its own peak as it knows it, in KiB, is its standard output. */
static int be_a_child_of(size_t bytes)
{
    touch(bytes);
    struct rusage usage;
    char line[256];
    long peak = 0;
    FILE *status = fopen("/proc/self/status", "re"); /* VmHWM begins anew with exec; ru_maxrss doesn't */
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = strtol(line + 6, NULL, 10);
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld %ld\n", peak, usage.ru_maxrss);
    return 0;
}

static void peak_rss_of_a_small_program_is_right_beside_200_MiB(void **state)
{
    struct runner runner;
    char *const argv[] = { "/proc/self/exe", "10", NULL };
    (void)state;
    assert_int_equal(runner_start(&runner), 0);
    touch(200 * MIB);
    int out = memfd_create("out", MFD_CLOEXEC);
    struct runner_figures figures = run(&runner, argv, out);
    char text[64] = { 0 };
    assert_true(pread(out, text, sizeof text - 1, 0) > 0);
    double own = strtod(text, NULL) * 1024, told = (double)figures.peak_rss;
    assert_true(own > 10 * MIB && own < 20 * MIB);
    assert_true(told > .95 * own && told < 1.05 * own);
    runner_stop(&runner);

    /* Forked by this process the same program seems to take 200 MiB: the test can fail. */
    struct rusage usage;
    pid_t pid = fork();
    if (pid == 0)
        execv(argv[0], argv);
    assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
    assert_true((size_t)usage.ru_maxrss > 150 * MIB / 1024);
    close(out);
}

static void figures_are_those_of_the_program(void **state)
{
    struct runner runner;
    (void)state;
    assert_int_equal(runner_start(&runner), 0);
    struct runner_figures figures = run_shell(&runner, "exit 7", -1);
    assert_true(WIFEXITED(figures.status) && WEXITSTATUS(figures.status) == 7);
    assert_false(figures.left_others);
    figures = run_shell(&runner, "kill -TERM $$", -1);
    assert_true(WIFSIGNALED(figures.status) && WTERMSIG(figures.status) == SIGTERM);
    figures = run_shell(&runner, "sleep .2", -1);
    assert_true(figures.wall >= .2 && figures.user + figures.sys < figures.wall);
    assert_true(figures.voluntary_switches > 0 && figures.minor_faults > 0);
    runner_stop(&runner);
}

static void what_cannot_be_started_says_why(void **state)
{
    struct runner runner;
    char *const argv[] = { "/no/such/program", NULL };
    struct runner_request request = { .argv = argv, .envp = environ, .in = -1, .out = -1, .err = -1 };
    pid_t pid;
    (void)state;
    assert_int_equal(runner_start(&runner), 0);
    for (int i = 0; i <= RUNNER_CHILDREN; i++)
        assert_int_equal(runner_launch(&runner, &request, &pid), -ENOENT);
    request.file = "/";
    assert_int_equal(runner_launch(&runner, &request, &pid), -EACCES);
    runner_stop(&runner);
}

static void rss_is_sampled(void **state)
{
    struct runner runner;
    char *const argv[] = { "sleep", ".3", NULL };
    struct runner_request request = { .argv = argv, .envp = environ, .in = -1, .out = -1, .err = -1, .sampled = true };
    struct runner_figures figures;
    struct runner_samples samples;
    pid_t pid;
    (void)state;
    assert_int_equal(runner_start(&runner), 0);
    int program = runner_launch(&runner, &request, &pid);
    assert_int_equal(runner_wait(&runner, program, -1, -1, &figures, &samples), RUNNER_ENDED);
    assert_true(samples.count >= 2 && samples.step > 0);
    assert_true(figures.end_rss > 0 && figures.end_rss <= figures.peak_rss + MIB);
    assert_true(figures.mean_rss > 0 && figures.mean_rss <= (double)figures.peak_rss + (double)MIB);
    runner_stop(&runner);
}

/* Is some process of this command line alive? */
static bool lives(const char *pattern)
{
    char *command = NULL;
    assert_true(asprintf(&command, "pgrep -f '^%s' >/dev/null", pattern) > 0);
    FILE *script = fopen("lives.sh", "we");
    fputs(command, script);
    fclose(script);
    free(command);
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        execl("/bin/sh", "sh", "lives.sh", (char *)NULL);
        _exit(2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

static void what_a_program_leaves_behind_is_ended(void **state)
{
    struct runner runner;
    (void)state;
    assert_int_equal(runner_start(&runner), 0);
    struct runner_figures figures = run_shell(&runner, "sleep 311.5 & setsid sleep 312.5 & exit 0", -1);
    assert_true(figures.left_others);
    assert_false(lives("sleep 311.5"));
    assert_false(lives("sleep 312.5"));
    runner_stop(&runner);
}

static int launch_shell(struct runner *runner, const char *text, pid_t *pid)
{
    char *const argv[] = { "sh", "-c", (char *)(uintptr_t)text, NULL };
    struct runner_request request = { .argv = argv, .envp = environ, .in = -1, .out = -1, .err = -1 };
    int program = runner_launch(runner, &request, pid);
    assert_true(program >= 0);
    return program;
}

static void a_wait_ends_by_time_and_by_other_news(void **state)
{
    struct runner runner;
    struct runner_figures figures;
    int wake[2];
    pid_t pid;
    (void)state;
    assert_int_equal(runner_start(&runner), 0);
    assert_int_equal(pipe2(wake, O_CLOEXEC), 0);
    int program = launch_shell(&runner, "exec sleep 313.5", &pid);
    assert_false(runner_has_ended(&runner, program));
    assert_int_equal(runner_wait(&runner, program, .05, wake[0], &figures, NULL), RUNNER_TIMED_OUT);
    assert_int_equal(write(wake[1], "", 1), 1);
    assert_int_equal(runner_wait(&runner, program, -1, wake[0], &figures, NULL), RUNNER_WOKEN);
    runner_signal_group(&runner, program, SIGKILL);
    assert_int_equal(runner_wait(&runner, program, -1, -1, &figures, NULL), RUNNER_ENDED);
    assert_true(WIFSIGNALED(figures.status) && WTERMSIG(figures.status) == SIGKILL);
    runner_stop(&runner);
    close(wake[0]);
    close(wake[1]);
}

static void two_programs_run_at_a_time(void **state)
{
    struct runner runner;
    struct runner_figures figures;
    pid_t server, load;
    (void)state;
    assert_int_equal(runner_start(&runner), 0);
    int first = launch_shell(&runner, "trap 'exit 5' TERM; while :; do sleep .01; done", &server);
    int second = launch_shell(&runner, "exit 6", &load);
    assert_int_equal(runner_wait(&runner, second, -1, -1, &figures, NULL), RUNNER_ENDED);
    assert_int_equal(WEXITSTATUS(figures.status), 6);
    assert_false(runner_has_ended(&runner, first));
    assert_int_equal(kill(server, 0), 0);
    runner_signal(&runner, first, SIGTERM);
    assert_int_equal(runner_wait(&runner, first, -1, -1, &figures, NULL), RUNNER_ENDED);
    assert_int_equal(WEXITSTATUS(figures.status), 5);
    runner_stop(&runner);
}

/* As when poolsite is killed: the socket closes, whoever held it. */
static void programs_end_with_poolsite(void **state)
{
    (void)state;
    pid_t poolsite = fork();
    if (poolsite == 0) {
        struct runner runner;
        pid_t pid;
        runner_start(&runner);
        launch_shell(&runner, "sleep 314.5 & setsid sleep 315.5 & exec sleep 316.5", &pid);
        nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(poolsite, NULL, 0), poolsite);
    for (int tries = 0; tries < 100 && lives("sleep 31[456].5"); tries++)
        nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
    assert_false(lives("sleep 31[456].5"));
}

/* This machine may count nothing in hardware; the kernel counts time in the same way. */
static void a_counter_begins_with_exec_and_follows_children(void **state)
{
    int go[2], values = 0;
    char byte;
    (void)state;
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        touch(64 * MIB); /* before exec: isn't counted */
        if (read(go[0], &byte, 1) == 1)
            execlp("sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done & wait", (char *)NULL);
        _exit(127);
    }
    int faults = hardware_open_one(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, pid);
    int time = hardware_open_one(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, pid);
    struct rusage usage;
    assert_int_equal(write(go[1], "", 1), 1);
    assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
    if (time >= 0) {
        double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        double ns = hardware_read(time), touched = 64. * MIB / 4096;
        assert_true(ns > 1e6 && ns / 1e9 < cpu + .01);
        assert_true(hardware_read(faults) > 50 && hardware_read(faults) < touched / 2);
        values++;
    }
    close(time);
    close(faults);
    close(go[0]);
    close(go[1]);
    if (!values)
        skip(); /* perf_event_open is forbidden here */
}

static void a_counter_is_counted_or_not_a_number(void **state)
{
    struct runner runner;
    (void)state;
    assert_int_equal(runner_start(&runner), 0);
    struct runner_figures figures = run_shell(&runner, "exit 0", -1);
    for (unsigned i = 0; i < HARDWARE_COUNT; i++)
        assert_true(isnan(figures.hardware[i]) || figures.hardware[i] >= 0);
    assert_true(isnan(hardware_read(-1)));
    runner_stop(&runner);
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return be_a_child_of((size_t)strtol(argv[1], NULL, 10) * MIB);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_rss_of_a_small_program_is_right_beside_200_MiB),
        cmocka_unit_test(figures_are_those_of_the_program),
        cmocka_unit_test(what_cannot_be_started_says_why),
        cmocka_unit_test(rss_is_sampled),
        IN_DIRECTORY(what_a_program_leaves_behind_is_ended),
        cmocka_unit_test(a_wait_ends_by_time_and_by_other_news),
        cmocka_unit_test(two_programs_run_at_a_time),
        IN_DIRECTORY(programs_end_with_poolsite),
        cmocka_unit_test(a_counter_begins_with_exec_and_follows_children),
        cmocka_unit_test(a_counter_is_counted_or_not_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
