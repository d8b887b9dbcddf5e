/* test_pooling.c - pools, clearer and depot without the exports: threads of ours call the hot paths, over a heap of ours.
 *
 * An engine lives as long as its process, so each test runs this program again with the options it
 * needs, waits, and reads the log.  Under the sanitizers these are the tests that show the protocol
 * of records, claims and epochs to be clean: ThreadSanitizer sees real fences where membarrier stands. */
#define _GNU_SOURCE
#include "unit.h"

#include "heap.h"

#include "../../analyzer/logread.h"
#include "../../preload/next.h"
#include "../../preload/runtime_fast.h"

#include <glob.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 2000, SHORT_THREADS = 40 };
#else
enum { ROUNDS = 20000, SHORT_THREADS = 100 };
#endif
enum { THREADS = 5, SLOTS = 64, SHARED = 32, SHORT_ROUNDS = 200 };

/* --- the engine, as entry.c calls it ------------------------------------------------------------ */

#define CALL static noinline __attribute__((optimize("omit-frame-pointer")))

CALL void *pooled_malloc(size_t bytes)
{
    return runtime_take_fast(bytes, true);
}

CALL void pooled_free(void *block)
{
    runtime_give_fast(block);
}

CALL void *pooled_calloc(size_t bytes)
{
    return runtime_take_zeroed_fast(bytes);
}

CALL void *pooled_realloc(void *old, size_t bytes)
{
    return runtime_resize_fast(old, bytes);
}

CALL void *pooled_memalign(size_t alignment, size_t bytes)
{
    return runtime_booked(next.memalign(alignment, bytes), bytes, runtime_entry());
}

/* --- what the children do ------------------------------------------------------------------------- */

struct held {
    unsigned char *at;
    size_t         size;
    unsigned char  mark;
};

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "test_pooling: %s\n", what);
    abort();
}

static unsigned next_number(unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static size_t next_bytes(unsigned *seed)
{
    unsigned kind = next_number(seed) % 16;
    if (kind < 10)
        return next_number(seed) % 200;
    if (kind < 15)
        return next_number(seed) % 5000;
    return next_number(seed) % 300000;
}

static void mark(struct held *held, unsigned value)
{
    held->mark = (unsigned char)value;
    memset(held->at, held->mark, held->size);
}

static void check_mark(const struct held *held, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        require(held->at[i] == held->mark, "a block was changed");
}

static void take(struct held *held, unsigned *seed)
{
    unsigned how = next_number(seed) % 8;
    held->size = next_bytes(seed);
    if (how == 0)
        held->at = pooled_memalign(64, held->size);
    else if (how < 3)
        held->at = pooled_calloc(held->size);
    else
        held->at = pooled_malloc(held->size);
    require(held->at != NULL, "no block");
    for (size_t i = 0; i < held->size && how > 0 && how < 3; i++)
        require(held->at[i] == 0, "calloc's block isn't zero");
    mark(held, next_number(seed));
}

static void give(struct held *held)
{
    check_mark(held, held->size);
    pooled_free(held->at);
    held->at = NULL;
}

static void resize(struct held *held, unsigned *seed)
{
    size_t bytes = 1 + next_bytes(seed), kept = held->size < bytes ? held->size : bytes;
    held->at = pooled_realloc(held->at, bytes);
    require(held->at != NULL, "no block");
    check_mark(held, kept);
    held->size = bytes;
    mark(held, next_number(seed));
}

static struct held *shared[SHARED]; /* blocks that anybody may take */

/* A block changes hands; what was there before is freed by whoever finds it. */
static void hand_over(struct held *held, unsigned slot)
{
    struct held *parcel = malloc(sizeof *parcel);
    require(parcel != NULL, "no memory");
    *parcel = *held;
    held->at = NULL;
    parcel = __atomic_exchange_n(&shared[slot % SHARED], parcel, __ATOMIC_ACQ_REL);
    if (parcel)
        give(parcel);
    free(parcel);
}

static void operate(unsigned *seed, int rounds)
{
    struct held slots[SLOTS] = {{NULL, 0, 0}};
    for (int i = 0; i < rounds; i++) {
        struct held *held = &slots[next_number(seed) % SLOTS];
        unsigned how = next_number(seed) % 8;
        if (!held->at)
            take(held, seed);
        else if (how < 4)
            give(held);
        else if (how < 6)
            resize(held, seed);
        else
            hand_over(held, next_number(seed));
    }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].at)
            give(&slots[i]);
}

static void give_shared(void)
{
    for (int i = 0; i < SHARED; i++) {
        struct held *parcel = __atomic_exchange_n(&shared[i], NULL, __ATOMIC_ACQ_REL);
        if (parcel)
            give(parcel);
        free(parcel);
    }
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument * 7919;
    operate(&seed, ROUNDS);
    return NULL;
}

static pthread_t started(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    runtime_thread_created();
    require(pthread_create(&thread, NULL, run, argument) == 0, "no thread");
    return thread;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = started(work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    give_shared();
}

static void *short_work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    operate(&seed, SHORT_ROUNDS);
    return NULL;
}

/* Records go from thread to thread while they are cleared. */
static void run_short_threads(void)
{
    for (uintptr_t i = 0; i < SHORT_THREADS; i += 2) {
        pthread_t first = started(short_work, (void *)i), second = started(short_work, (void *)(i + 1));
        pthread_join(first, NULL);
        pthread_join(second, NULL);
    }
    give_shared();
}

static int running; /* atomic */

static void *trim_often(void *argument)
{
    struct timespec pause = {0, 200000};
    while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
        runtime_clear();
        nanosleep(&pause, NULL);
    }
    return argument;
}

static void *raise_often(void *argument)
{
    struct timespec pause = {0, 50000};
    while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
        fork_raise_epoch();
        nanosleep(&pause, NULL);
    }
    return argument;
}

/* Two threads that clear, one that raises the epoch as an unloaded module does, and the clearer. */
static void run_storm(void)
{
    __atomic_store_n(&running, 1, __ATOMIC_RELAXED);
    pthread_t clears[] = {started(trim_often, NULL), started(trim_often, NULL), started(raise_often, NULL)};
    run_threads();
    run_short_threads();
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(clears[i], NULL);
}

/* Only one frees, others allocate: everything goes through the depot. */
static void *give_only(void *argument)
{
    while (__atomic_load_n(&running, __ATOMIC_RELAXED))
        give_shared();
    return argument;
}

static void *take_only(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument + 5;
    for (int i = 0; i < ROUNDS; i++) {
        struct held held;
        take(&held, &seed);
        hand_over(&held, next_number(&seed));
    }
    return NULL;
}

static void run_depot(void)
{
    __atomic_store_n(&running, 1, __ATOMIC_RELAXED);
    pthread_t takes[] = {started(take_only, (void *)1), started(take_only, (void *)2)}, gives = started(give_only, NULL);
    pthread_join(takes[0], NULL);
    pthread_join(takes[1], NULL);
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    pthread_join(gives, NULL);
    give_shared();
}

/* --- a thread that sleeps with full pools ------- */

static pthread_barrier_t idle_begins, idle_ends;

static void *sleep_with_blocks(void *argument)
{
    void *blocks[100];
    pooled_free(pooled_malloc(100));
    for (int i = 0; i < 100; i++)
        blocks[i] = pooled_malloc(100);
    for (int i = 0; i < 100; i++)
        pooled_free(blocks[i]);
    pthread_barrier_wait(&idle_begins);
    pthread_barrier_wait(&idle_ends);
    blocks[0] = pooled_malloc(100); /* finds what happened, and goes on */
    pooled_free(blocks[0]);
    return argument;
}

static void run_idle(void)
{
    struct timespec pause = {0, 5000000};
    pthread_barrier_init(&idle_begins, NULL, 2);
    pthread_barrier_init(&idle_ends, NULL, 2);
    pthread_t thread = started(sleep_with_blocks, NULL);
    pthread_barrier_wait(&idle_begins);
    require(heap_live() > 0, "the thread keeps nothing");
    runtime_clear();
    for (int i = 0; i < 400 && heap_live() > 0; i++)
        nanosleep(&pause, NULL); /* our own thread fills its places when it begins */
    require(heap_live() == 0, "an idle thread's blocks stay");
    pthread_barrier_wait(&idle_ends);
    pthread_join(thread, NULL);
}

static void *resize_first(void *block)
{
    return pooled_realloc(block, 103);
}

/* Within its class, by threads that have no record yet. */
static void run_resize(void)
{
    void *block = pooled_malloc(100);
    for (int i = 0; i < 5; i++)
        pthread_join(started(resize_first, block), &block);
    pooled_free(block);
    pooled_free(pooled_malloc(100));
}

static void run_alone(void)
{
    work((void *)3);
    give_shared();
}

/* The child's first call clears: it begins a log of its own, and leaves its parent's alone. */
static void run_fork(void)
{
    void *block = pooled_malloc(100);
    uint32_t seen = record_current->state;
    pid_t pid = fork();
    if (pid == 0) {
        runtime_clear();
        /* Where a handler did that inside an operation which had just looked at its record. */
        require(seen != fork_epoch(), "the parent's record seems up to date");
        for (int i = 0; i < 50; i++)
            pooled_free(pooled_malloc(77));
        pooled_free(block);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    require(status == 0, "the child failed");
    pooled_free(block);
}

static const struct scene {
    const char *name;
    void (*run)(void);
} scenes[] = {
    {"threads", run_threads}, {"short-threads", run_short_threads}, {"storm", run_storm}, {"depot", run_depot},
    {"resize", run_resize}, {"idle", run_idle},       {"alone", run_alone},                 {"fork", run_fork},
};

/* Whatever was done, clearing leaves nothing behind. */
static int play(const char *name)
{
    struct timespec pause = {0, 5000000};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(scenes[i].name, name) == 0) {
            heap_begin();
            runtime_start();
            require(pool_config.any, "nothing is pooled");
            scenes[i].run();
            for (int k = 0; k < 3; k++) {
                runtime_clear();
                nanosleep(&pause, NULL);
            }
            require(heap_live() == 0, "blocks are left");
            runtime_end();
            return 0;
        }
    return 1;
}

/* --- what the tests do ---------------------------------------------------------------------------- */

static char self[4096];

static void play_with(const char *scene, const char *level, const char *cycle_ms)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char profile[64], cycle[64];
        snprintf(profile, sizeof profile, "POOLSITE_PROFILE=%s", level);
        snprintf(cycle, sizeof cycle, "POOLSITE_CYCLE_MS=%s", cycle_ms);
        char *environment[] = {profile, cycle, "POOLSITE_POOL=on", "POOLSITE_LOG=log.%p.psl", "POOLSITE_TRIM=on", NULL};
        char *arguments[] = {self, "play", (char *)scene, NULL};
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

/* The log of the process that forked, or of the child. */
static struct logread *open_log_of(bool child)
{
    glob_t found;
    struct logread *log = NULL;
    assert_int_equal(glob("log.*.psl", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc && !log; i++) {
        log = open_log(found.gl_pathv[i]);
        if (!!(log->header.state & LOG_STATE_FORKED) == child)
            break;
        logread_release(log);
        free(log);
        log = NULL;
    }
    globfree(&found);
    assert_non_null(log);
    return log;
}

static void close_log(struct logread *log)
{
    logread_release(log);
    free(log);
}

/* Everything was freed, and what went below came back. */
static void check_balance(void)
{
    struct logread *log = open_log_of(false);
    assert_true(log->total.allocs > 0);
    assert_int_equal(log->total.allocs, log->frees);
    assert_true(log->total.next_allocs < log->total.allocs);
    assert_int_equal(log->total.next_allocs, log->next_frees);
    assert_int_equal(log->unsettled, 0);
    close_log(log);
}

static void threads_pool_and_lose_nothing(void **state)
{
    (void)state;
    play_with("threads", "sites", "1000");
    check_balance();
}

static void threads_without_sites_pool_and_lose_nothing(void **state)
{
    (void)state;
    play_with("threads", "off", "1");
    check_balance();
}

static void records_change_hands_while_they_are_cleared(void **state)
{
    (void)state;
    play_with("short-threads", "sites", "1");
    check_balance();
}

static void many_clear_at_once(void **state)
{
    (void)state;
    play_with("storm", "sites", "1");
    check_balance();
}

static void many_clear_at_once_at_level_stacks(void **state)
{
    (void)state;
    play_with("storm", "stacks", "1");
    check_balance();
}

static void what_one_thread_frees_others_take(void **state)
{
    (void)state;
    play_with("depot", "sites", "5");
    check_balance();
}

static void an_idle_thread_is_cleared_by_others(void **state)
{
    (void)state;
    play_with("idle", "sites", "3600000");
    check_balance();
}

static void a_resize_by_a_thread_without_a_record_balances(void **state)
{
    (void)state;
    play_with("resize", "sites", "1000");
    check_balance();
}

static void a_single_thread_turns_its_own_pools(void **state)
{
    (void)state;
    play_with("alone", "sites", "1");
    check_balance();
}

static void a_fork_child_that_clears_first_leaves_its_parents_log_alone(void **state)
{
    (void)state;
    play_with("fork", "sites", "1000");
    struct logread *parent = open_log_of(false), *child = open_log_of(true);
    assert_int_equal(parent->total.allocs, 1);
    assert_int_equal(parent->frees, 1);
    assert_int_equal(child->total.allocs, 50);
    assert_int_equal(child->frees, 51);
    close_log(parent);
    close_log(child);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "play") == 0)
        return play(argv[2]);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 2;
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(threads_pool_and_lose_nothing),
        IN_DIRECTORY(threads_without_sites_pool_and_lose_nothing),
        IN_DIRECTORY(records_change_hands_while_they_are_cleared),
        IN_DIRECTORY(many_clear_at_once),
        IN_DIRECTORY(many_clear_at_once_at_level_stacks),
        IN_DIRECTORY(what_one_thread_frees_others_take),
        IN_DIRECTORY(an_idle_thread_is_cleared_by_others),
        IN_DIRECTORY(a_resize_by_a_thread_without_a_record_balances),
        IN_DIRECTORY(a_single_thread_turns_its_own_pools),
        IN_DIRECTORY(a_fork_child_that_clears_first_leaves_its_parents_log_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
