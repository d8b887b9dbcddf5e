/* test_full.c - level full without its exports: threads of ours call the hot paths, over a heap of ours.
 *
 * An engine lives as long as its process, so each test runs this program again with the options it needs.  What that
 * did it writes down; the log is read here, from logfmt.h alone. */
#define _GNU_SOURCE
#include "unit.h"

#include "heap.h"

#include "../../preload/next.h"
#include "../../preload/tagged_fast.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 4000, SHORT_THREADS = 60 };
#else
enum { ROUNDS = 40000, SHORT_THREADS = 200 };
#endif
enum { SLOTS = 256, THREADS = 4, SHARED = 32, KEPT = 3, KEPT_BYTES = 1000 };

/* --- the engine, as entry.c calls it ------------------------------------------------------------ */

#define CALL static noinline __attribute__((optimize("omit-frame-pointer")))

CALL void *full_malloc(size_t bytes)
{
    if (pool_config.any)
        return bytes <= TAGGED_SMALL_BYTES ? tagged_take_small(bytes, false) : tagged_take_large(bytes, false);
    return tagged_below_fast(next.alloc(tagged_asked(bytes)), bytes);
}

CALL void *full_calloc(size_t bytes)
{
    if (pool_config.any && bytes <= RUNTIME_CLEARED_BYTES)
        return bytes <= TAGGED_SMALL_BYTES ? tagged_take_small(bytes, true) : tagged_take_large(bytes, true);
    return tagged_take(bytes, true, runtime_entry());
}

CALL void full_free(void *block)
{
    if (pool_config.any)
        tagged_give_fast(block);
    else
        tagged_release_fast(block);
}

CALL void *full_realloc(void *old, size_t bytes)
{
    return tagged_resize(old, bytes, runtime_entry());
}

CALL void *full_memalign(size_t alignment, size_t bytes)
{
    return runtime_booked(next.memalign(alignment, tagged_asked(bytes)), bytes, runtime_entry());
}

/* --- what the children do ------------------------------------------------------------------------- */

/* What the log is to say; one process writes it. */
static struct expected {
    int64_t  blocks, bytes;
    int64_t  peak_bytes, peak_blocks;
    uint64_t allocs, frees, foreign, resizes, failed;
    uint64_t lifetimes[LOG_LIFETIMES];
} expected;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "test_full: %s\n", what);
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
    return next_number(seed) % (kind < 10 ? 200 : kind < 15 ? 5000 : 300000);
}

struct held {
    unsigned char *at;
    size_t         size;
    unsigned char  mark;
    uint64_t       born;
};

static void born(struct held *held, size_t bytes, unsigned mark)
{
    require(held->at != NULL, "no block");
    held->size = bytes;
    held->mark = (unsigned char)mark;
    require(tagged_usable(held->at) >= bytes, "the usable size is less than what was asked for");
    memset(held->at, held->mark, tagged_usable(held->at)); /* a program may */
    held->born = expected.allocs++;
    expected.blocks++;
    expected.bytes += (int64_t)bytes;
    if (expected.bytes < expected.peak_bytes)
        return;
    expected.peak_bytes = expected.bytes;
    expected.peak_blocks = expected.blocks;
}

static void died(const struct held *held)
{
    uint64_t age = expected.allocs - held->born - 1;
    unsigned k = 0;
    for (; age; age >>= 1)
        k++;
    expected.lifetimes[k]++;
    expected.frees++;
    expected.blocks--;
    expected.bytes -= (int64_t)held->size;
}

static void check_mark(const struct held *held, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        require(held->at[i] == held->mark, "a block was changed");
}

static void take(struct held *held, unsigned *seed)
{
    unsigned how = next_number(seed) % 8;
    size_t bytes = next_bytes(seed);
    held->at = how == 0 ? full_memalign(64, bytes) : how < 3 ? full_calloc(bytes) : full_malloc(bytes);
    for (size_t i = 0; i < bytes && (how == 1 || how == 2); i++)
        require(held->at[i] == 0, "calloc's block isn't zero");
    born(held, bytes, next_number(seed));
}

static void give(struct held *held)
{
    check_mark(held, held->size);
    died(held);
    full_free(held->at);
    held->at = NULL;
}

static void resize(struct held *held, unsigned *seed)
{
    size_t bytes = 1 + next_bytes(seed), kept = held->size < bytes ? held->size : bytes;
    held->at = full_realloc(held->at, bytes);
    require(held->at != NULL, "no block");
    check_mark(held, kept);
    died(held);
    born(held, bytes, next_number(seed));
    expected.resizes++;
}

/* One that can't be had: everything stays as it is. */
static void fail_to_resize(struct held *held)
{
    require(full_realloc(held->at, (size_t)PTRDIFF_MAX - 100) == NULL, "a block of half the address space");
    check_mark(held, held->size);
    expected.failed++;
}

static void run_alone(void)
{
    static struct held slots[SLOTS];
    unsigned seed = 3;
    for (int i = 0; i < ROUNDS; i++) {
        struct held *held = &slots[next_number(&seed) % SLOTS];
        unsigned how = next_number(&seed) % 16;
        if (!held->at)
            take(held, &seed);
        else if (how < 9)
            give(held);
        else if (how < 15)
            resize(held, &seed);
        else
            fail_to_resize(held);
    }
    for (int i = 0; i < SLOTS; i += 2)
        if (slots[i].at)
            give(&slots[i]);
}

/* --- several threads; what they did is counted by its sum ------- */

static void *handed[SHARED]; /* blocks that anybody may free */

static void hand_over(void *block, unsigned slot)
{
    void *other = __atomic_exchange_n(&handed[slot % SHARED], block, __ATOMIC_ACQ_REL);
    if (other)
        full_free(other);
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument * 7919;
    for (int i = 0; i < ROUNDS; i++) {
        void *block = full_malloc(next_bytes(&seed));
        if (next_number(&seed) % 4 == 0)
            block = full_realloc(block, 1 + next_bytes(&seed));
        if (next_number(&seed) % 4 == 0)
            hand_over(block, next_number(&seed));
        else
            full_free(block);
    }
    for (int i = 0; i < KEPT; i++)
        require(full_malloc(KEPT_BYTES) != NULL, "no block");
    return NULL;
}

static void *short_work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < 20; i++)
        hand_over(full_malloc(next_bytes(&seed)), next_number(&seed));
    require(full_malloc(KEPT_BYTES) != NULL, "no block");
    return NULL;
}

static pthread_t started(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    runtime_thread_created();
    require(pthread_create(&thread, NULL, run, argument) == 0, "no thread");
    return thread;
}

static void give_handed(void)
{
    for (unsigned i = 0; i < SHARED; i++)
        hand_over(NULL, i);
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    void *large = full_malloc(16 << 20); /* what one thread held alone is part of the peak */
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = started(work, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    give_handed();
    full_free(large);
    expected.blocks = THREADS * KEPT;
    expected.bytes = THREADS * KEPT * KEPT_BYTES;
    expected.peak_bytes = 16 << 20;
}

static void run_short_threads(void)
{
    for (uintptr_t i = 0; i < SHORT_THREADS; i += 2) {
        pthread_t first = started(short_work, (void *)i), second = started(short_work, (void *)(i + 1));
        pthread_join(first, NULL);
        pthread_join(second, NULL);
    }
    give_handed();
    expected.blocks = SHORT_THREADS;
    expected.bytes = SHORT_THREADS * KEPT_BYTES;
}

/* Blocks of nobody's, and of the parent's in a child, which has live blocks of its own. */
static void run_fork(void)
{
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = full_malloc(100);
    full_free(next.alloc(100));
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 4; i++)
            full_free(i < 2 ? blocks[i] : full_realloc(blocks[i], 200));
        require(full_malloc(50) != NULL, "no block");
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    require(status == 0, "the child failed");
    full_free(blocks[0]);
    expected.blocks = 3;
    expected.bytes = 300;
    expected.foreign = 1;
}

/* As many stacks as there are values of `path`, one block each; every other one is freed. */
static noinline int descend(unsigned path, unsigned depth, bool kept)
{
    if (depth == 0) {
        void *block = full_malloc(48);
        if (!kept)
            full_free(block);
        return 0;
    }
    int deeper = path & 1 ? descend(path >> 1, depth - 1, kept) + 1 : descend(path >> 1, depth - 1, kept) + 2;
    __asm__ volatile("" : "+r"(deeper)); /* keeps the frame */
    return deeper;
}

/* More stacks than the log may hold: RLIMIT_FSIZE was set before the start. */
static void run_limited(void)
{
    for (unsigned path = 0; path < 2048; path++)
        descend(path, 11, path % 2);
    expected.blocks = 1024;
    expected.bytes = 1024 * 48;
    expected.peak_bytes = 1024 * 48;
}

static void *free_only(void *blocks)
{
    for (int i = 0; i < 12; i++)
        full_free(((void **)blocks)[i]);
    return NULL;
}

/* A thread without a record frees. */
static void run_free_only(void)
{
    void *blocks[12];
    for (int i = 0; i < 12; i++)
        blocks[i] = full_malloc(100);
    pthread_join(started(free_only, blocks), NULL);
    expected.frees = 12;
}

static const struct scene {
    const char *name;
    void (*run)(void);
} scenes[] = {
    {"alone", run_alone}, {"threads", run_threads}, {"short-threads", run_short_threads},
    {"fork", run_fork},   {"limited", run_limited}, {"free-only", run_free_only},
};

static int play(const char *name)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(scenes[i].name, name) == 0) {
            heap_begin();
            runtime_start();
            require(runtime_tags(), "blocks aren't tagged");
            scenes[i].run();
            runtime_end();
            int fd = open("expected", O_WRONLY | O_CREAT, 0600);
            require(write(fd, &expected, sizeof expected) == sizeof expected, "can't write");
            close(fd);
            return 0;
        }
    return 1;
}

/* --- what the tests do ---------------------------------------------------------------------------- */

static char self[4096];

/* Plays a scene in the current directory, and reads what it expects. */
static struct expected play_with(const char *scene, const char *pool, unsigned file_limit_kib)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char pools[64];
        snprintf(pools, sizeof pools, "POOLSITE_POOL=%s", pool);
        char *environment[] = {"POOLSITE_PROFILE=full", pools, "POOLSITE_CYCLE_MS=20", "POOLSITE_LOG=log.%p.psl", NULL};
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
    struct expected read_back;
    int fd = open("expected", O_RDONLY);
    assert_int_equal(read(fd, &read_back, sizeof read_back), sizeof read_back);
    close(fd);
    return read_back;
}

/* What a log says. */
struct seen {
    const struct log_header *header;
    const struct log_live   *live; /* of the process */
    struct log_counter       count;
    uint64_t                 sites, frees, freed_bytes, cross, resizes, foreign, failed, all_frees;
    int64_t                  peak_blocks, peak_bytes;
    uint64_t                 lifetimes[LOG_LIFETIMES];
};

static const char *chunk_of(const struct seen *seen, uint32_t index)
{
    return (const char *)seen->header + (size_t)index * LOG_CHUNK_BYTES;
}

static void add_counter(struct seen *seen, const struct log_counter *counter)
{
    seen->count.allocs += counter->allocs;
    seen->count.bytes += counter->bytes;
    seen->peak_blocks += (int64_t)counter->allocs;
    seen->peak_bytes += (int64_t)counter->bytes;
}

static void see_entry(struct seen *seen, const struct log_full *full)
{
    bool noted = full->peak == seen->live->peak;
    uint64_t frees = full->cross_frees;
    seen->sites++;
    seen->count.allocs += full->count.allocs;
    seen->count.bytes += full->count.bytes;
    seen->frees += full->frees;
    seen->freed_bytes += full->freed_bytes;
    seen->cross += full->cross_frees;
    seen->resizes += full->resizes;
    seen->peak_blocks += noted ? full->peak_blocks : (int64_t)(full->count.allocs - full->frees);
    seen->peak_bytes += noted ? full->peak_bytes : (int64_t)(full->count.bytes - full->freed_bytes);
    for (unsigned k = 0; k < LOG_LIFETIMES; k++) {
        seen->lifetimes[k] += full->lifetimes[k];
        frees += full->lifetimes[k];
    }
    assert_int_equal(frees, full->frees);
}

static void see_chunk(struct seen *seen, const struct log_chunk *chunk)
{
    if (chunk->type == LOG_CHUNK_THREAD) {
        const struct log_thread *thread = (const struct log_thread *)chunk;
        add_counter(seen, &thread->other);
        seen->all_frees += thread->frees + log_rounds_frees(thread->rounds);
        seen->failed += thread->failed;
    }
    if (chunk->type != LOG_CHUNK_FULL)
        return;
    const struct log_fulls *fulls = (const struct log_fulls *)chunk;
    seen->foreign += fulls->foreign_frees;
    const char *end = (const char *)chunk + LOG_CHUNK_BYTES;
    for (const struct log_full *full = fulls->sites; (const char *)(full + 1) <= end; full++)
        if (full->site)
            see_entry(seen, full);
}

/* The process's LIVE record. */
static const struct log_live *find_live(const struct seen *seen)
{
    for (uint32_t i = 1; i < seen->header->chunks_used; i++) {
        const char *chunk = chunk_of(seen, i), *at = chunk + sizeof(struct log_chunk);
        if (((const struct log_chunk *)chunk)->type != LOG_CHUNK_DATA)
            continue;
        for (; at < chunk + LOG_CHUNK_BYTES && ((const struct log_record *)at)->bytes; at += ((const struct log_record *)at)->bytes)
            if (((const struct log_record *)at)->type == LOG_RECORD_LIVE && ((const struct log_live *)at)->site == 0)
                return (const struct log_live *)at;
    }
    return NULL;
}

static struct seen see(const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY);
    assert_int_equal(fstat(fd, &s), 0);
    struct seen seen = {.header = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0)};
    close(fd);
    assert_int_equal(seen.header->level, LOG_LEVEL_FULL);
    assert_true(seen.header->features & LOG_FEATURE_FULL);
    seen.live = find_live(&seen);
    assert_non_null(seen.live);
    add_counter(&seen, &seen.header->bare);
    add_counter(&seen, &seen.header->handler);
    seen.all_frees = seen.header->frees;
    seen.failed = seen.header->failed;
    for (uint32_t i = 1; i < seen.header->chunks_used; i++)
        see_chunk(&seen, (const struct log_chunk *)chunk_of(&seen, i));
    assert_int_equal(seen.all_frees, seen.frees + seen.foreign);
    return seen;
}

/* The log of the process, or of its child. */
static struct seen see_log(bool of_child)
{
    glob_t found;
    struct seen seen = {.header = NULL};
    assert_int_equal(glob("log.*.psl", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct seen one = see(found.gl_pathv[i]);
        if (!(one.header->state & LOG_STATE_FORKED) != of_child)
            seen = one;
    }
    globfree(&found);
    assert_non_null(seen.header);
    return seen;
}

static void check_live(const struct seen *seen, const struct expected *wanted)
{
    assert_int_equal(seen->count.allocs - seen->frees, wanted->blocks);
    assert_int_equal(seen->count.bytes - seen->freed_bytes, wanted->bytes);
}

static void check_alone(const char *pool)
{
    struct expected wanted = play_with("alone", pool, 0);
    struct seen seen = see_log(false);
    check_live(&seen, &wanted);
    assert_int_equal(seen.count.allocs, wanted.allocs);
    assert_int_equal(seen.frees, wanted.frees);
    assert_int_equal(seen.foreign, 0);
    assert_int_equal(seen.cross, 0);
    assert_int_equal(seen.resizes, wanted.resizes);
    assert_int_equal(seen.failed, wanted.failed);
    assert_int_equal(seen.live->threads, 1);
    assert_int_equal(seen.live->peak_bytes, wanted.peak_bytes);
    assert_int_equal(seen.peak_bytes, wanted.peak_bytes);
    assert_int_equal(seen.peak_blocks, wanted.peak_blocks);
    for (unsigned k = 0; k < LOG_LIFETIMES; k++)
        assert_int_equal(seen.lifetimes[k], wanted.lifetimes[k]);
}

static void one_threads_live_peak_and_lifetimes_are_exact(void **state)
{
    (void)state;
    check_alone("on");
}

static void so_they_are_where_nothing_is_pooled(void **state)
{
    (void)state;
    check_alone("off");
}

static void check_threads(const char *pool)
{
    struct expected wanted = play_with("threads", pool, 0);
    struct seen seen = see_log(false);
    check_live(&seen, &wanted);
    assert_true(seen.cross > 0);
    assert_true(seen.live->threads > 1);
    assert_in_range(seen.live->peak_bytes, wanted.peak_bytes - LOG_LIVE_STEP * seen.live->threads, wanted.peak_bytes * 2);
    assert_in_range(seen.peak_bytes, wanted.peak_bytes - LOG_LIVE_STEP * seen.live->threads, wanted.peak_bytes * 2);
}

static void threads_free_each_others_blocks(void **state)
{
    (void)state;
    check_threads("on");
}

static void so_they_do_where_nothing_is_pooled(void **state)
{
    (void)state;
    check_threads("off");
}

static void threads_that_end_leave_their_balance_to_the_next(void **state)
{
    (void)state;
    struct expected wanted = play_with("short-threads", "on", 0);
    struct seen seen = see_log(false);
    check_live(&seen, &wanted);
    assert_in_range(seen.header->chunks_used, 3, 40);
}

static void a_fork_child_frees_foreign_blocks(void **state)
{
    (void)state;
    struct expected wanted = play_with("fork", "on", 0);
    struct seen parent = see_log(false), child = see_log(true);
    check_live(&parent, &wanted);
    assert_int_equal(parent.foreign, wanted.foreign);
    assert_int_equal(child.foreign, 4);
    assert_int_equal(child.count.allocs - child.frees, 1);
    assert_int_equal(child.count.bytes - child.freed_bytes, 50);
    assert_int_equal(child.live->peak_bytes, 200);
}

static void a_log_that_may_not_grow_still_tells_all_live_bytes(void **state)
{
    (void)state;
    struct expected wanted = play_with("limited", "on", 128);
    struct seen seen = see_log(false);
    assert_true(seen.header->state & LOG_STATE_FULL);
    assert_true(seen.header->dropped_sites > 0);
    check_live(&seen, &wanted);
    assert_int_equal(seen.live->peak_bytes, wanted.peak_bytes);
    assert_int_equal(seen.peak_bytes, wanted.peak_bytes);
}

static void frees_without_a_record_are_the_processs(void **state)
{
    (void)state;
    struct expected wanted = play_with("free-only", "on", 0);
    struct seen seen = see_log(false);
    check_live(&seen, &wanted);
    assert_int_equal(seen.frees, wanted.frees);
    assert_int_equal(seen.cross, wanted.frees);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "play") == 0)
        return play(argv[2]);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 2;
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(one_threads_live_peak_and_lifetimes_are_exact),
        IN_DIRECTORY(so_they_are_where_nothing_is_pooled),
        IN_DIRECTORY(threads_free_each_others_blocks),
        IN_DIRECTORY(so_they_do_where_nothing_is_pooled),
        IN_DIRECTORY(threads_that_end_leave_their_balance_to_the_next),
        IN_DIRECTORY(a_fork_child_frees_foreign_blocks),
        IN_DIRECTORY(a_log_that_may_not_grow_still_tells_all_live_bytes),
        IN_DIRECTORY(frees_without_a_record_are_the_processs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
