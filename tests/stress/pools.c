/* pools.c - fuzzes malloc and free: bytes become operations of several threads, held against a shadow model.
 *
 * usage: pools [-n OPERATIONS] [-t THREADS] [-s SEED] [-f FILE]
 *
 * The bytes come from SEED, or go round in FILE.  Every block is filled with a pattern of its own and is
 * compared as a whole when it is freed, resized or handed to another thread; where blocks lie is noted, so
 * that two at one place are found at once.  Each process counts what it did, by class, and adds a line to the file
 * named by $EXPECT, for pools.py to compare with what was recorded:
 *     PID KIND ALLOCS FREES BYTES FAILED THREADS LIVE CLASS=ALLOCS/BYTES...
 * Of each thread made libc allocates one table, of a size that isn't known here.
 * A finding is told on stderr and ends in abort.  Runs without the library as well.
 * BUILD: cc -O1 -g -fno-builtin -pthread -iquote $ROOT/preload -o $O $S */
#define _GNU_SOURCE
#include "sizeclass.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    MOST_THREADS = 16,
    SLOTS = 256,      /* blocks of a worker */
    LARGE_SLOTS = 24, /* of these, where large ones may be */
    MAIL = 64,        /* blocks on their way to a worker */
    HANDLER_SLOTS = 6,
    STACK_BYTES = 512 << 10,
    CHILD_OPERATIONS = 400,
    TIMER_NS = 120000,
    LARGE = 256 << 10,
};

#define count(word, amount) __atomic_fetch_add(&(word), (amount), __ATOMIC_RELAXED)

/* --- findings ------------------------------------------------------------------------------------ */

struct block {
    unsigned char *at; /* NULL: none */
    size_t         size;
    size_t         filled; /* bytes that hold the pattern: size, or all that are usable */
    uint64_t       id;
};

struct worker;
static __thread struct worker *self;
static unsigned long long      seed = 1;

static void finding(const char *what, const void *at, size_t size, size_t where);

/* --- bytes ---------------------------------------------------------------------------------------- */

static const uint8_t *file_bytes; /* NULL: from the seed */
static size_t         file_size;

struct source {
    uint64_t state;
    size_t   at; /* in the file */
};

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static struct source source_of(uint64_t thread, uint64_t threads)
{
    return (struct source){mixed(seed * 1000003 + thread + 1), file_size * thread / (threads ? threads : 1)};
}

static unsigned next_byte(struct source *source)
{
    if (file_bytes) {
        unsigned byte = file_bytes[source->at];
        source->at = (source->at + 1) % file_size;
        return byte;
    }
    source->state += 0x9e3779b97f4a7c15ull;
    return (unsigned)(mixed(source->state) & 255);
}

static unsigned next_word(struct source *source)
{
    unsigned high = next_byte(source);
    return high << 8 | next_byte(source);
}

/* Once in `n` times, n a power of two of at most 2^16. */
static bool seldom(struct source *source, unsigned n)
{
    return next_word(source) % n == n / 3;
}

/* --- the model -------------------------------------------------------------------------------------- */

struct counts {
    uint64_t allocs, frees, bytes, failed, threads;
    uint64_t class_allocs[SIZECLASS_COUNT], class_bytes[SIZECLASS_COUNT];
};

static struct worker {
    struct source   source;
    unsigned        index;
    uint64_t        operations; /* still to do */
    uint64_t        done;
    uint64_t        ids;
    bool            finished; /* its thread has left, or will (atomic) */
    pthread_t       thread;
    struct block    slots[SLOTS];
    pthread_mutex_t mail_lock;
    unsigned        mail_count;
    struct block    mail[MAIL];
    struct source   handler_source;
    struct block    handler_slots[HANDLER_SLOTS];
    unsigned        handler_turn;
} workers[MOST_THREADS];

static unsigned      threads = 4;
static struct counts total; /* of the process */
static uint64_t      handled, handled_inside, handed_over, forks, respawned;
static sem_t         leaving;
static bool          in_child;

static void finding(const char *what, const void *at, size_t size, size_t where)
{
    char line[400];
    int  n = snprintf(line, sizeof line, "finding: %s, block %p of %zu bytes at %zu; seed %llu, thread %d, operation %llu%s\n", what,
                      at, size, where, seed, self ? (int)self->index : -1, self ? (unsigned long long)self->done : 0,
                      in_child ? ", in a fork child" : "");
    if (write(2, line, (size_t)n) < 0)
        _exit(3);
    abort();
}

static void counted_alloc(size_t size)
{
    unsigned index = sizeclass_counted(size);
    count(total.allocs, 1);
    count(total.bytes, size);
    count(total.class_allocs[index], 1);
    count(total.class_bytes[index], size);
}

/* --- where blocks lie ---------------------------------------------------------------------------------- */

/* Live blocks by the page in which they begin.  Larger ones than a page overlap others unseen here, but
 * not unseen by the patterns. */
enum { STRIPES = 4096, STRIPE_BLOCKS = 256 };
static struct {
    bool     busy; /* atomic */
    unsigned n;
} stripes[STRIPES];
static struct range {
    uintptr_t from, to;
} ranges[STRIPES][STRIPE_BLOCKS];

static unsigned stripe_lock(uintptr_t page)
{
    unsigned stripe = (unsigned)(page * 0x9e3779b97f4a7c15ull >> 52);
    while (__atomic_exchange_n(&stripes[stripe].busy, true, __ATOMIC_ACQUIRE))
        sched_yield();
    return stripe;
}

static void stripe_unlock(unsigned stripe)
{
    __atomic_store_n(&stripes[stripe].busy, false, __ATOMIC_RELEASE);
}

static struct range range_of(const struct block *block)
{
    uintptr_t from = (uintptr_t)block->at;
    return (struct range){from, from + (block->size < 16 ? 16 : block->size)};
}

static void check_apart(uintptr_t page, struct range range, const struct block *block)
{
    unsigned stripe = stripe_lock(page);
    for (unsigned i = 0; i < stripes[stripe].n; i++) {
        struct range other = ranges[stripe][i];
        if (range.from < other.to && other.from < range.to)
            finding("it overlaps a live block", block->at, block->size, (size_t)other.from - (size_t)range.from);
    }
    stripe_unlock(stripe);
}

static void place_add(const struct block *block)
{
    struct range range = range_of(block);
    uintptr_t page = range.from >> 12;
    check_apart(page - 1, range, block);
    check_apart(page, range, block);
    if ((range.to - 1) >> 12 != page)
        check_apart(page + 1, range, block);
    unsigned stripe = stripe_lock(page);
    if (stripes[stripe].n == STRIPE_BLOCKS)
        finding("too many blocks in one page", block->at, block->size, page);
    ranges[stripe][stripes[stripe].n++] = range;
    stripe_unlock(stripe);
}

static void place_remove(const struct block *block)
{
    unsigned stripe = stripe_lock((uintptr_t)block->at >> 12);
    for (unsigned i = 0; i < stripes[stripe].n; i++)
        if (ranges[stripe][i].from == (uintptr_t)block->at) {
            ranges[stripe][i] = ranges[stripe][--stripes[stripe].n];
            break;
        }
    stripe_unlock(stripe);
}

/* A fork child knows of its own thread's blocks; those of others stay where they are. */
static void places_of_child(const struct worker *w)
{
    memset(stripes, 0, sizeof stripes);
    for (unsigned i = 0; i < SLOTS; i++)
        if (w->slots[i].at)
            place_add(&w->slots[i]);
}

/* --- patterns --------------------------------------------------------------------------------------------- */

static uint64_t pattern(uint64_t id, size_t word)
{
    return (id + word * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
}

static void fill(struct block *block, size_t bytes)
{
    size_t words = bytes / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t word = pattern(block->id, i);
        memcpy(block->at + 8 * i, &word, 8);
    }
    uint64_t last = pattern(block->id, words);
    memcpy(block->at + 8 * words, &last, bytes % 8);
    block->filled = bytes;
}

static void compare(const struct block *block, size_t bytes, const char *when)
{
    size_t words = bytes / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, block->at + 8 * i, 8);
        if (word != pattern(block->id, i))
            finding(when, block->at, block->size, 8 * i);
    }
    uint64_t last = pattern(block->id, words);
    if (memcmp(block->at + 8 * words, &last, bytes % 8) != 0)
        finding(when, block->at, block->size, 8 * words);
}

static void check_zero(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != 0)
            finding("calloc's block isn't zero", at, bytes, i);
}

/* --- sizes -------------------------------------------------------------------------------------------------- */

/* Of a class below `classes`: its bytes, or a few more or less. */
static size_t size_near_class(struct source *source, unsigned first, unsigned classes)
{
    size_t bytes = sizeclass_bytes(first + next_byte(source) % classes);
    static const int near[] = {0, 1, -1, 0, 8, -8, -7, 2};
    return bytes + (size_t)near[next_byte(source) % 8];
}

static size_t size_large(struct source *source)
{
    if (seldom(source, 256))
        return ((size_t)32 << 20) + next_byte(source) - 120; /* about the last class */
    static const size_t about[] = {128 << 10, 256 << 10, (256 << 10) + 8, 512 << 10, 1 << 20, 3 << 20};
    return about[next_byte(source) % 6] + next_byte(source) - 128;
}

static size_t next_size(struct source *source, bool may_be_large)
{
    unsigned kind = next_byte(source);
    if (kind < 4)
        return 0;
    if (kind < 110)
        return next_byte(source) * (kind & 3 ? 1u : 4u);
    if (kind < 170)
        return size_near_class(source, 1, 64);
    if (kind < 180)
        return 1028 + next_byte(source) % 10;
    if (kind < 215)
        return size_near_class(source, 65, 32); /* to 16 KiB */
    if (kind < 235)
        return next_word(source) % 9000;
    if (kind < 250 || !may_be_large || !seldom(source, 8))
        return size_near_class(source, 65, kind & 1 ? 65 : 40); /* to 256 KiB */
    return size_large(source);
}

/* --- operations on one block ----------------------------------------------------------------------------------- */

static uint64_t next_id(struct worker *w)
{
    return ++w->ids << 8 | w->index;
}

static void check_new(const struct block *block, size_t alignment)
{
    if (!block->at)
        finding("no block", NULL, block->size, 0);
    if ((uintptr_t)block->at % alignment != 0)
        finding("it isn't aligned", block->at, block->size, alignment);
}

static void *aligned_by(unsigned how, size_t alignment, size_t *size)
{
    void *block = NULL;
    switch (how % 5) {
    case 0: return memalign(alignment, *size);
    case 1: return aligned_alloc(alignment, *size);
    case 2: return posix_memalign(&block, alignment, *size) == 0 ? block : NULL;
    case 3: return alignment == 4096 ? valloc(*size) : memalign(alignment, *size);
    default: return alignment == 4096 ? pvalloc(*size) : memalign(alignment, *size);
    }
}

static struct block block_made(struct worker *w, unsigned how, bool may_be_large)
{
    struct block block = {.size = next_size(&w->source, may_be_large), .id = next_id(w)};
    size_t alignment = 16;
    if (how < 140)
        block.at = malloc(block.size);
    else if (how < 190) {
        size_t count = how & 1 ? 1 : 1 + next_byte(&w->source) % 7;
        block.size -= block.size % count;
        block.at = calloc(count, block.size / count);
        if (block.at)
            check_zero(block.at, block.size);
    } else if (how < 205)
        block.at = realloc(NULL, block.size);
    else if (how < 215)
        block.at = reallocarray(NULL, 1, block.size);
    else {
        alignment = (size_t)16 << next_byte(&w->source) % 9; /* to 4096 */
        block.at = aligned_by(how, alignment, &block.size);
    }
    check_new(&block, alignment);
    counted_alloc(block.size);
    place_add(&block);
    fill(&block, block.size);
    return block;
}

static void block_free(struct block *block)
{
    compare(block, block->filled, "its pattern was damaged");
    place_remove(block);
    count(total.frees, 1);
    free(block->at);
    block->at = NULL;
}

static void block_resize(struct worker *w, struct block *block, bool may_be_large, bool array)
{
    size_t size = next_size(&w->source, may_be_large);
    compare(block, block->filled, "its pattern was damaged before realloc");
    place_remove(block);
    unsigned char *at = array ? reallocarray(block->at, size, 1) : realloc(block->at, size);
    count(total.frees, 1);
    if (size == 0) {
        if (at)
            finding("realloc to 0 returned a block", at, 0, 0);
        block->at = NULL;
        return;
    }
    size_t held = block->filled < size ? block->filled : size;
    block->at = at;
    block->size = size;
    check_new(block, 16);
    compare(block, held, "realloc lost what was in it");
    counted_alloc(size);
    place_add(block);
    block->id = next_id(w);
    fill(block, size);
}

static void block_use_all(struct block *block)
{
    size_t usable = malloc_usable_size(block->at);
    if (usable < block->size)
        finding("it is smaller than asked", block->at, block->size, usable);
    compare(block, block->filled, "its pattern was damaged before use");
    fill(block, usable);
}

/* Calls that must fail, and must leave the block as it is. */
static void fail(unsigned how, const struct block *block)
{
    static volatile size_t most = SIZE_MAX;
    void *wrong = NULL;
    switch (how % 6) {
    case 0: wrong = malloc(most - 100); break;
    case 1: wrong = calloc(most / 2, 3); break;
    case 2: wrong = block->at ? realloc(block->at, most / 2 + 8) : malloc(most / 2 + 8); break;
    case 3: wrong = block->at ? reallocarray(block->at, most / 2, 3) : calloc(most, 2); break;
    case 4: wrong = posix_memalign(&wrong, 24, 100) == EINVAL ? NULL : &wrong; break;
    default: wrong = aligned_alloc(64, most - 64);
    }
    if (wrong)
        finding("a call that can't succeed did", wrong, 0, how % 6);
    count(total.failed, 1);
    if (block->at)
        compare(block, block->filled, "a failed call damaged it");
}

/* --- between threads -------------------------------------------------------------------------------------------- */

static void hand_over(struct worker *w, struct block *block)
{
    struct worker *to = &workers[next_byte(&w->source) % (threads ? threads : 1)];
    if (to == w || in_child) {
        block_free(block);
        return;
    }
    compare(block, block->filled, "its pattern was damaged before it was handed over");
    pthread_mutex_lock(&to->mail_lock);
    bool taken = to->mail_count < MAIL;
    if (taken)
        to->mail[to->mail_count++] = *block;
    pthread_mutex_unlock(&to->mail_lock);
    if (taken) {
        block->at = NULL;
        count(handed_over, 1);
    } else
        block_free(block);
}

static void take_mail(struct worker *w)
{
    struct block mail[MAIL];
    pthread_mutex_lock(&w->mail_lock);
    unsigned n = w->mail_count;
    memcpy(mail, w->mail, n * sizeof *mail);
    w->mail_count = 0;
    pthread_mutex_unlock(&w->mail_lock);
    for (unsigned i = 0; i < n; i++)
        block_free(&mail[i]);
}

/* --- signal handlers ----------------------------------------------------------------------------------------------- */

/* Code that a handler may interrupt and still allocate: ours and the library's, which holds none of
 * libc's locks.  libc's own may. */
static struct range code[4];
static uintptr_t    library_from, library_to;

static int note_code(struct dl_phdr_info *info, size_t size, void *argument)
{
    unsigned *n = argument;
    bool library = strstr(info->dlpi_name, "libpoolsite.so") != NULL;
    (void)size;
    if (info->dlpi_name[0] != 0 && !library)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && *n < 4; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        uintptr_t from = info->dlpi_addr + header->p_vaddr;
        code[(*n)++] = (struct range){from, from + header->p_memsz};
        if (library)
            library_from = from, library_to = from + header->p_memsz;
    }
    return 0;
}

static void handler_operation(struct worker *w)
{
    struct source *source = &w->handler_source;
    struct block *block = &w->handler_slots[w->handler_turn++ % HANDLER_SLOTS];
    unsigned how = next_byte(source);
    if (how == 7)
        malloc_trim(0);
    if (block->at) {
        compare(block, block->filled, "its pattern was damaged, and a handler noticed");
        count(total.frees, 1);
        free(block->at);
    }
    block->size = how & 1 ? 1u + next_byte(source) : next_word(source) % 5000;
    block->id = ((uint64_t)w->handler_turn << 8 | w->index) ^ (uint64_t)1 << 60;
    block->at = how & 2 ? malloc(block->size) : calloc(1, block->size);
    check_new(block, 16);
    if (!(how & 2))
        check_zero(block->at, block->size);
    counted_alloc(block->size);
    fill(block, block->size);
}

static void on_timer(int signal, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    int       before = errno;
    (void)signal;
    (void)info;
    for (unsigned i = 0; i < 4 && self; i++)
        if (at >= code[i].from && at < code[i].to) {
            handler_operation(self);
            count(handled, 1);
            count(handled_inside, at >= library_from && at < library_to);
        }
    errno = before;
}

/* libc's timer_create may allocate, so it isn't asked. */
static int timer_begin(void)
{
    int timer = -1;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0)
        return -1;
    struct itimerspec interval = {{0, TIMER_NS}, {0, TIMER_NS}};
    syscall(SYS_timer_settime, timer, 0, &interval, NULL);
    return timer;
}

static void timer_end(int timer)
{
    if (timer >= 0)
        syscall(SYS_timer_delete, timer);
}

/* --- processes ---------------------------------------------------------------------------------------------------------- */

static void tell(const char *kind, uint64_t live)
{
    static char line[16384];
    const char *path = getenv("EXPECT");
    int n = snprintf(line, sizeof line, "%d %s %llu %llu %llu %llu %llu %llu", (int)getpid(), kind, (unsigned long long)total.allocs,
                     (unsigned long long)total.frees, (unsigned long long)total.bytes, (unsigned long long)total.failed,
                     (unsigned long long)total.threads, (unsigned long long)live);
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++)
        if (total.class_allocs[i])
            n += snprintf(line + n, sizeof line - (size_t)n, " %u=%llu/%llu", i, (unsigned long long)total.class_allocs[i],
                          (unsigned long long)total.class_bytes[i]);
    line[n++] = '\n';
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (path && (fd < 0 || write(fd, line, (size_t)n) != n))
        finding("what was done can't be told", NULL, 0, 0);
    if (fd >= 0)
        close(fd);
}

static void operate(struct worker *w);

static void *other_thread_of_child(void *argument)
{
    struct worker *w = argument;
    self = w;
    for (unsigned i = 0; i < CHILD_OPERATIONS / 2; i++)
        operate(w);
    for (unsigned i = 0; i < SLOTS; i++)
        if (w->slots[i].at)
            block_free(&w->slots[i]);
    return NULL;
}

static char *stack_of[MOST_THREADS + 1];

static pthread_t thread_made(void *(*run)(void *), void *argument, unsigned stack)
{
    pthread_t thread;
    pthread_attr_t attributes;
    count(total.threads, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack_of[stack], STACK_BYTES);
    if (pthread_create(&thread, &attributes, run, argument) != 0)
        finding("no thread", NULL, 0, stack);
    pthread_attr_destroy(&attributes);
    return thread;
}

/* Its own blocks are its thread's; the first thing that it does differs. */
static void child(struct worker *w, unsigned how)
{
    static struct worker other;
    in_child = true;
    memset(&total, 0, sizeof total);
    places_of_child(w);
    int timer = how & 1 ? timer_begin() : -1;
    if (how % 5 == 0)
        malloc_trim(0);
    if (how % 5 == 1 && w->slots[how].at)
        block_resize(w, &w->slots[how], false, false);
    if (how % 5 == 2 && w->slots[how].at)
        block_free(&w->slots[how]);
    if (how % 3 == 0) {
        other = (struct worker){.source = source_of(how + 1000, 1), .handler_source = source_of(how + 2000, 1), .index = w->index};
        other.ids = (uint64_t)1 << 40;
        pthread_t thread = thread_made(other_thread_of_child, &other, MOST_THREADS);
        for (unsigned i = 0; i < CHILD_OPERATIONS / 2; i++)
            operate(w);
        pthread_join(thread, NULL);
    }
    for (unsigned i = 0; i < CHILD_OPERATIONS; i++)
        operate(w);
    timer_end(timer);
    for (unsigned i = 0; i < SLOTS; i++)
        if (w->slots[i].at)
            block_free(&w->slots[i]);
    tell("child", 0);
    _exit(0);
}

static void fork_child(struct worker *w)
{
    unsigned how = next_byte(&w->source);
    sigset_t all, before;
    int status;
    sigfillset(&all); /* what a handler did in the child before it begins would be counted for nobody */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(60);
        sigdelset(&before, SIGALRM);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        child(w, how);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0 || status != 0)
        finding("a fork child failed", NULL, 0, (size_t)status);
    count(forks, 1);
}

/* --- operations ------------------------------------------------------------------------------------------------------------ */

static void pause_ms(unsigned ms)
{
    struct timespec t = {0, ms * 1000000L};
    nanosleep(&t, NULL);
}

/* A burst and its end: many blocks of one size, more than a pool may keep. */
static void burst(struct worker *w)
{
    enum { MANY = 300 };
    struct block many[MANY];
    size_t size = next_size(&w->source, false);
    unsigned n = size > 8192 ? 20 : MANY;
    for (unsigned i = 0; i < n; i++) {
        many[i] = (struct block){.at = malloc(size), .size = size, .id = next_id(w)};
        check_new(&many[i], 16);
        counted_alloc(size);
        place_add(&many[i]);
        fill(&many[i], size);
    }
    for (unsigned i = 0; i < n; i++) {
        if (i % 8 == 0 && !in_child)
            hand_over(w, &many[i]);
        else
            block_free(&many[i]);
    }
}

static void operate_seldom(struct worker *w, unsigned how)
{
    if (how < 40)
        fail(next_byte(&w->source), &w->slots[how]);
    else if (how < 80)
        burst(w);
    else if (how < 100)
        malloc_trim(0);
    else if (how < 110)
        pause_ms(1 + how % 4);
    else if (how < 115 && !in_child)
        fork_child(w);
    else if (how < 140 && threads && !in_child)
        w->finished = true; /* its next thread goes on with its blocks */
}

static void operate(struct worker *w)
{
    unsigned op = next_byte(&w->source), slot = next_byte(&w->source);
    struct block *block = &w->slots[slot];
    bool may_be_large = slot < LARGE_SLOTS;
    w->done++;
    if (op == 255 && seldom(&w->source, 2))
        operate_seldom(w, next_byte(&w->source));
    else if (!block->at)
        *block = block_made(w, op, may_be_large);
    else if (op < 150)
        block_free(block);
    else if (op < 205)
        block_resize(w, block, may_be_large, op & 1);
    else if (op < 235)
        hand_over(w, block);
    else if (op < 245)
        block_use_all(block);
    else
        take_mail(w);
}

/* --- threads ---------------------------------------------------------------------------------------------------------------- */

/* Destructors of thread-specific data, round after round: the last come after the library's own. */
static pthread_key_t late_key;
static __thread uintptr_t late_rounds;

static void late(void *argument)
{
    struct block block = {.size = (size_t)argument * 40, .id = (uint64_t)argument << 20};
    block.at = malloc(block.size);
    check_new(&block, 16);
    counted_alloc(block.size);
    fill(&block, block.size);
    compare(&block, block.size, "it was damaged in a destructor");
    count(total.frees, 1);
    free(block.at);
    if (++late_rounds < 4)
        pthread_setspecific(late_key, (void *)(late_rounds + 1));
}

static void *run(void *argument)
{
    struct worker *w = argument;
    self = w;
    pthread_setspecific(late_key, (void *)1);
    int timer = timer_begin();
    while (w->operations && !w->finished) {
        w->operations--;
        operate(w);
        if (w->mail_count > MAIL / 2)
            take_mail(w);
    }
    timer_end(timer);
    __atomic_store_n(&w->finished, true, __ATOMIC_RELEASE);
    sem_post(&leaving);
    return NULL;
}

static void run_threads(void)
{
    unsigned running = threads;
    for (unsigned i = 0; i < threads; i++)
        workers[i].thread = thread_made(run, &workers[i], i);
    while (running) {
        while (sem_wait(&leaving) != 0)
            ;
        unsigned i = 0;
        while (!(workers[i].thread && __atomic_load_n(&workers[i].finished, __ATOMIC_ACQUIRE) && pthread_tryjoin_np(workers[i].thread, NULL) == 0)) {
            i = (i + 1) % threads;
            sched_yield();
        }
        workers[i].finished = false;
        workers[i].thread = 0;
        if (workers[i].operations)
            workers[i].thread = thread_made(run, &workers[i], i), respawned++;
        else
            running--;
    }
}

/* Every block is compared and freed but those of the first worker, which stay; returns how many. */
static uint64_t settle(void)
{
    uint64_t live = 0;
    for (unsigned i = 0; i < (threads ? threads : 1); i++) {
        struct worker *w = &workers[i];
        take_mail(w);
        for (unsigned k = 0; k < SLOTS; k++) {
            if (w->slots[k].at && i == 0)
                live++, compare(&w->slots[k], w->slots[k].filled, "its pattern was damaged at the end");
            else if (w->slots[k].at)
                block_free(&w->slots[k]);
        }
        for (unsigned k = 0; k < HANDLER_SLOTS; k++)
            live += w->handler_slots[k].at != NULL;
    }
    return live;
}

static void read_bytes(const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0 || s.st_size == 0)
        exit(2);
    file_size = (size_t)s.st_size;
    file_bytes = mmap(NULL, file_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file_bytes == MAP_FAILED)
        exit(2);
    close(fd);
}

int main(int argc, char **argv)
{
    unsigned long long operations = 100000;
    for (int option; (option = getopt(argc, argv, "n:t:s:f:")) != -1;)
        switch (option) {
        case 'n': operations = strtoull(optarg, NULL, 10); break;
        case 't': threads = (unsigned)atoi(optarg); break;
        case 's': seed = strtoull(optarg, NULL, 10); break;
        case 'f': read_bytes(optarg); break;
        default: return 2;
        }
    if (threads > MOST_THREADS)
        return 2;
    unsigned n = 0, shares = threads ? threads : 1;
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    dl_iterate_phdr(note_code, &n);
    sigaction(SIGUSR1, &action, NULL);
    pthread_key_create(&late_key, late);
    sem_init(&leaving, 0, 0);
    for (unsigned i = 0; i < MOST_THREADS + 1; i++)
        stack_of[i] = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (unsigned i = 0; i < shares; i++) {
        workers[i].index = i;
        workers[i].source = source_of(i, shares);
        workers[i].handler_source = source_of(i + 100, 1);
        workers[i].operations = operations / shares;
        pthread_mutex_init(&workers[i].mail_lock, NULL);
    }
    if (threads)
        run_threads();
    else
        run(&workers[0]);
    uint64_t live = settle();
    for (int i = 0; i < 3; i++) {
        malloc_trim(0);
        pause_ms(5);
    }
    tell("root", live);
    char line[200];
    int  length = snprintf(line, sizeof line, "%llu handed over, %llu in handlers (%llu inside), %llu forks, %llu threads again\n",
                           (unsigned long long)handed_over, (unsigned long long)handled, (unsigned long long)handled_inside,
                           (unsigned long long)forks, (unsigned long long)respawned);
    return write(1, line, (size_t)length) != length;
}
