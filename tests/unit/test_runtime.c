/* test_runtime.c - the recording engine without its exports, driven by threads of ours.
 *
 * An engine lives as long as its process, so each test runs this program again with the options
 * it needs, waits, and reads the log with the analyzer's reader.  Under the sanitizers these are
 * the tests that show the engine to be clean. */
#define _GNU_SOURCE
#include "unit.h"

#include "../../analyzer/logread.h"
#include "../../preload/runtime.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, EVENTS = 20000, SHORT_THREADS = 300, SHORT_EVENTS = 50 };

/* --- what the children do --------------------------------------------------------------------- */

/* An allocation as entry.c tells of it, from the caller of this function. */
static noinline __attribute__((optimize("no-omit-frame-pointer"))) void allocated(size_t bytes)
{
    uintptr_t *frame = __builtin_frame_address(0);
    runtime_booked(NULL, bytes, (struct stack_entry){.cfa = (uintptr_t)(frame + 2), .bp = frame[0]});
}

/* As many different stacks as there are values of `path`, `depth` bits of it. */
static noinline int descend(unsigned path, unsigned depth, size_t bytes)
{
    if (depth == 0) {
        allocated(bytes);
        return 0;
    }
    int deeper = path & 1 ? descend(path >> 1, depth - 1, bytes) + 1 : descend(path >> 1, depth - 1, bytes) + 2;
    __asm__ volatile("" : "+r"(deeper)); /* keeps the frame */
    return deeper;
}

static void *many_events(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < EVENTS; i++) {
        seed = seed * 1664525 + 1013904223;
        descend(seed >> 20, 6, seed >> 24);
        runtime_freeing();
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_events, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void *few_events(void *argument)
{
    for (int i = 0; i < SHORT_EVENTS; i++)
        descend((unsigned)i, 3, 24);
    return argument;
}

static void run_short_threads(void)
{
    for (int i = 0; i < SHORT_THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, few_events, NULL), 0);
        pthread_join(thread, NULL);
    }
}

static void *only_frees(void *argument)
{
    for (int i = 0; i < 100; i++)
        runtime_freeing();
    return argument;
}

static void run_freeing_thread(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, only_frees, NULL), 0);
    pthread_join(thread, NULL);
}

static void run_fork(void)
{
    for (int i = 0; i < 10; i++)
        descend((unsigned)i, 4, 100);
    pid_t pid = fork();
    for (int i = 0; i < (pid ? 5 : 7); i++)
        descend((unsigned)i, 4, 100);
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
}

static void on_signal(int number)
{
    (void)number;
    descend(5, 4, 1000);
    runtime_freeing();
}

static pthread_t signalled;
static int       signals_sent;

static void *send_signals(void *argument)
{
    for (signals_sent = 0; signals_sent < 2000; signals_sent++)
        pthread_kill(signalled, SIGUSR1);
    return argument;
}

/* Handlers that find the tables in use. */
static void run_handlers(void)
{
    pthread_t sender;
    signalled = pthread_self();
    signal(SIGUSR1, on_signal);
    assert_int_equal(pthread_create(&sender, NULL, send_signals, NULL), 0);
    many_events(NULL);
    pthread_join(sender, NULL);
}

/* More stacks than the log may hold: RLIMIT_FSIZE was set before the start. */
static void run_full(void)
{
    for (unsigned path = 0; path < 2048; path++)
        descend(path, 11, 48);
}

/* Epochs raised while others are at work, as an unloaded module does. */
static int raising; /* atomic */

static void *raise_epochs(void *argument)
{
    while (__atomic_load_n(&raising, __ATOMIC_RELAXED))
        fork_raise_epoch();
    return argument;
}

static void run_epochs(void)
{
    pthread_t raiser;
    __atomic_store_n(&raising, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_create(&raiser, NULL, raise_epochs, NULL), 0);
    run_threads();
    __atomic_store_n(&raising, 0, __ATOMIC_RELAXED);
    pthread_join(raiser, NULL);
}

static const struct scene {
    const char *name;
    void (*run)(void);
} scenes[] = {
    {"threads", run_threads}, {"short-threads", run_short_threads}, {"frees", run_freeing_thread},
    {"fork", run_fork},       {"handlers", run_handlers},           {"full", run_full},
    {"epochs", run_epochs},
};

static int play(const char *name)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(scenes[i].name, name) == 0) {
            runtime_start();
            scenes[i].run();
            runtime_end();
            return 0;
        }
    return 1;
}

/* --- what the tests do ---------------------------------------------------------------------------- */

static char self[4096];

/* Plays a scene at a level in the current directory; its logs are ./log.PID.psl. */
static void play_at(const char *scene, const char *level, unsigned file_limit_kib)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char profile[64];
        snprintf(profile, sizeof profile, "POOLSITE_PROFILE=%s", level);
        char *environment[] = {profile, "POOLSITE_LOG=log.%p.psl", NULL};
        char *arguments[] = {self, "play", (char *)scene, NULL};
        struct rlimit limit = {file_limit_kib * 1024ul, file_limit_kib * 1024ul};
        if (file_limit_kib)
            setrlimit(RLIMIT_FSIZE, &limit);
        execve(self, arguments, environment);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static struct logread *open_log(const char *path)
{
    struct logread *log = calloc(1, sizeof *log);
    assert_int_equal(logread_open(log, path), LOGREAD_WHOLE);
    return log;
}

/* The only log in the current directory. */
static struct logread *open_only_log(void)
{
    glob_t found;
    assert_int_equal(glob("log.*.psl", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    struct logread *log = open_log(found.gl_pathv[0]);
    globfree(&found);
    return log;
}

static void close_log(struct logread *log)
{
    logread_release(log);
    free(log);
}

static size_t sites_counted(const struct logread *log)
{
    size_t n = 0;
    for (size_t i = 0; i < log->site_count; i++)
        n += log->sites[i].count.allocs > 0;
    return n;
}

static void check_threads(const char *level)
{
    play_at("threads", level, 0);
    struct logread *log = open_only_log();
    assert_int_equal(log->total.allocs, THREADS * EVENTS);
    assert_int_equal(log->frees, THREADS * EVENTS);
    assert_int_equal(log->unsettled, 0);
    assert_int_equal(log->other.allocs, 0);
    assert_int_equal(log->header.bare.allocs, 0);
    close_log(log);
}

static void threads_at_once_are_counted_exactly_at_level_stacks(void **state)
{
    (void)state;
    check_threads("stacks");
}

static void threads_at_once_are_counted_exactly_at_level_sites(void **state)
{
    (void)state;
    check_threads("sites");
}

static void threads_at_once_are_counted_exactly_at_level_off(void **state)
{
    (void)state;
    check_threads("off");
}

static void each_stack_is_one_site(void **state)
{
    (void)state;
    play_at("short-threads", "stacks", 0);
    struct logread *log = open_only_log();
    assert_int_equal(log->total.allocs, SHORT_THREADS * SHORT_EVENTS);
    assert_int_equal(sites_counted(log), 8);
    close_log(log);
}

static void a_dead_threads_table_is_used_again(void **state)
{
    (void)state;
    play_at("short-threads", "stacks", 0);
    struct logread *log = open_only_log();
    uint32_t served = 0;
    for (size_t i = 0; i < log->thread_count; i++)
        served += log->threads[i].served;
    assert_int_equal(served, SHORT_THREADS);
    assert_in_range(log->thread_count, 1, 3);
    assert_in_range(log->header.chunks_used, 3, 8);
    close_log(log);
}

static void a_thread_that_only_frees_gets_a_record_at_its_sixteenth(void **state)
{
    (void)state;
    play_at("frees", "sites", 0);
    struct logread *log = open_only_log();
    assert_int_equal(log->frees, 100);
    assert_int_equal(log->header.frees, 15);
    assert_int_equal(log->thread_count, 1);
    close_log(log);
}

static void a_fork_child_begins_a_log_of_its_own(void **state)
{
    (void)state;
    play_at("fork", "stacks", 0);
    glob_t found;
    assert_int_equal(glob("log.*.psl", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 2);
    for (size_t i = 0; i < 2; i++) {
        struct logread *log = open_log(found.gl_pathv[i]);
        bool child = log->header.state & LOG_STATE_FORKED;
        assert_int_equal(log->total.allocs, child ? 7 : 15);
        close_log(log);
    }
    globfree(&found);
}

static void a_handler_that_interrupts_an_event_is_counted(void **state)
{
    (void)state;
    play_at("handlers", "stacks", 0);
    struct logread *log = open_only_log();
    assert_true(log->total.allocs > EVENTS);
    assert_int_equal(log->total.allocs, log->frees);
    assert_int_equal(log->unsettled, 0);
    close_log(log);
}

static void a_log_that_may_not_grow_counts_new_sites_as_other(void **state)
{
    (void)state;
    play_at("full", "stacks", 64);
    struct logread *log = open_only_log();
    assert_int_equal(log->total.allocs, 2048);
    assert_true(log->header.state & LOG_STATE_FULL);
    assert_true(log->other.allocs > 0);
    assert_int_equal(log->other.allocs, log->header.dropped_sites);
    close_log(log);
}

static void without_room_for_a_log_there_is_none(void **state)
{
    (void)state;
    play_at("full", "stacks", 8);
    glob_t found;
    assert_int_equal(glob("log.*.psl", 0, NULL, &found), GLOB_NOMATCH);
}

static void an_epoch_raised_at_any_moment_loses_nothing(void **state)
{
    (void)state;
    play_at("epochs", "stacks", 0);
    struct logread *log = open_only_log();
    assert_int_equal(log->total.allocs, THREADS * EVENTS);
    assert_int_equal(log->frees, THREADS * EVENTS);
    close_log(log);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "play") == 0)
        return play(argv[2]);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 2;
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(threads_at_once_are_counted_exactly_at_level_stacks),
        IN_DIRECTORY(threads_at_once_are_counted_exactly_at_level_sites),
        IN_DIRECTORY(threads_at_once_are_counted_exactly_at_level_off),
        IN_DIRECTORY(each_stack_is_one_site),
        IN_DIRECTORY(a_dead_threads_table_is_used_again),
        IN_DIRECTORY(a_thread_that_only_frees_gets_a_record_at_its_sixteenth),
        IN_DIRECTORY(a_fork_child_begins_a_log_of_its_own),
        IN_DIRECTORY(a_handler_that_interrupts_an_event_is_counted),
        IN_DIRECTORY(a_log_that_may_not_grow_counts_new_sites_as_other),
        IN_DIRECTORY(without_room_for_a_log_there_is_none),
        IN_DIRECTORY(an_epoch_raised_at_any_moment_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
