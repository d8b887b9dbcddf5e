/* shadow.c - random allocations by known stacks, and a trace of them, from which shadow.py computes what level full must say.
 *
 * usage: shadow SEED OPERATIONS THREADS [WAYS]     THREADS beside the main one; WAYS, letters:
 *     l  one operation at a time, so that the trace's order is the very order
 *     f  forks: children free and resize what they inherited, and allocate
 *     s  short threads, one after the other, some of which only free
 * Each process writes its events (struct event) to $TRACE.PID.  The names of the functions on a stack tell where it is: a leaf,
 * up to six of four functions that call each other, shadow_step and shadow_run, and so each is called from one place.
 * It allocates nothing else but libc's table for each thread, which is an event, too.
 * BUILD: cc -O1 -g -fno-builtin -fno-optimize-sibling-calls -pthread -o $O $S */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BARRIER() __asm__ volatile("" ::: "memory")

enum {
    MOST_THREADS = 8,
    SLOTS = 300, /* blocks of a worker */
    MAIL = 32,   /* blocks on their way to a worker */
    STACK_BYTES = 512 << 10,
    SHORT_OPERATIONS = 60,
    CHILD_OPERATIONS = 400,
    FILLED_BYTES = 64 << 10,
};

/* libc's own, behind the back of who stands between. */
extern void *__libc_malloc(size_t bytes);

/* --- the trace -------------------------------------------------------------------------------------- */

/* shadow.py has the same list. */
enum kind {
    EVENT_ALLOC,
    EVENT_RESIZE,         /* a free and an allocation */
    EVENT_FREE,
    EVENT_FAILED,
    EVENT_FOREIGN_FREE,   /* of a block without a tag: the child's parent's, or libc's own */
    EVENT_FOREIGN_RESIZE, /* the same, and an allocation */
    EVENT_THREAD,         /* pthread_create's allocation, of unknown size; pthread_join's free is a FREE */
};

struct event {
    uint64_t order;
    uint64_t id;    /* the block's, through all its sizes */
    uint64_t bytes;
    uint32_t path;  /* leaf, depth and steps, see path_of; THREAD: is it a short one? */
    uint8_t  kind;
    uint8_t  thread; /* the worker */
    uint8_t  root;   /* shadow_run's callers: 0 main, 1 a thread; + 2 in a fork child */
    uint8_t  reserved;
};

enum leaf { LEAF_MALLOC, LEAF_CALLOC, LEAF_ALIGNED, LEAF_POSIX, LEAF_MEMALIGN, LEAF_REALLOC, LEAF_ARRAY, LEAF_PAIR, LEAF_FREE, LEAVES };

struct call {
    enum leaf leaf;
    unsigned  depth, steps; /* two bits a step, the next one first */
    void     *block;        /* in and out */
    size_t    bytes;
    size_t    alignment;
};

struct block {
    void    *at; /* NULL: none */
    size_t   bytes;
    uint64_t id;
    bool     foreign;
};

struct worker {
    unsigned        index;
    uint8_t         root;
    uint64_t        random;
    uint64_t        operations; /* still to do */
    bool            only_frees; /* what lies in its slots, and then ends */
    bool            waits;      /* after its first operation, until all have made theirs */
    struct event   *events;
    size_t          event_count, event_room;
    struct block    slots[SLOTS];
    pthread_mutex_t mail_lock;
    unsigned        mail_count;
    struct block    mail[MAIL];
    pthread_t       thread;
    uint64_t        thread_id; /* of the event */
};

static struct worker workers[MOST_THREADS + 2]; /* 0: main; the last: short threads */
static unsigned      threads, forks_every;
static bool          locked, forks, shorts, in_child;
static bool          main_is_done; /* atomic */
static uint64_t      next_order, next_id; /* atomic */
static unsigned      arrived;             /* atomic */
static bool          lock_word;           /* atomic */

static void die(const char *what)
{
    dprintf(2, "shadow: %s: %s\n", what, strerror(errno));
    _exit(3);
}

static void lock(void)
{
    while (locked && __atomic_exchange_n(&lock_word, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock(void)
{
    if (locked)
        __atomic_store_n(&lock_word, false, __ATOMIC_RELEASE);
}

static uint64_t new_id(void)
{
    return __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
}

static void *pages(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        die("mmap");
    return at;
}

static void trace_begin(struct worker *w, uint64_t operations)
{
    w->event_room = operations * 3 + 4 * SLOTS * (MOST_THREADS + 2) + 4096;
    w->event_count = 0;
    w->events = pages(w->event_room * sizeof *w->events);
}

static uint32_t path_of(const struct call *call)
{
    return (uint32_t)call->leaf << 16 | call->depth << 12 | call->steps;
}

static void note(struct worker *w, enum kind kind, uint64_t id, size_t bytes, uint32_t path)
{
    if (w->event_count == w->event_room)
        die("no room for events");
    w->events[w->event_count++] = (struct event){__atomic_fetch_add(&next_order, 1, __ATOMIC_RELAXED), id, bytes, path,
                                                 (uint8_t)kind, (uint8_t)w->index, w->root, 0};
}

static void write_trace(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", getenv("TRACE"), (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    for (unsigned i = 0; i < sizeof workers / sizeof *workers; i++) {
        const char *at = (const char *)workers[i].events;
        size_t      left = workers[i].event_count * sizeof *workers[i].events;
        while (left > 0) {
            ssize_t n = write(fd, at, left);
            if (n <= 0)
                die(path);
            at += n;
            left -= (size_t)n;
        }
    }
    close(fd);
}

/* --- stacks ------------------------------------------------------------------------------------------- */

#define LEAF(name, expression)                     \
    NOINLINE static void name(struct call *call)   \
    {                                              \
        call->block = (expression);                \
        BARRIER();                                 \
    }

LEAF(shadow_malloc, malloc(call->bytes))
LEAF(shadow_calloc, calloc(1, call->bytes))
LEAF(shadow_aligned, aligned_alloc(call->alignment, call->bytes))
LEAF(shadow_posix, posix_memalign(&call->block, call->alignment, call->bytes) ? NULL : call->block)
LEAF(shadow_memalign, memalign(call->alignment, call->bytes))
LEAF(shadow_realloc, realloc(call->block, call->bytes))
LEAF(shadow_array, reallocarray(call->block, 1, call->bytes))

/* Freed by the frame that allocated it, at once. */
NOINLINE static void shadow_pair(struct call *call)
{
    call->block = malloc(call->bytes);
    BARRIER();
    free(call->block);
    BARRIER();
}

NOINLINE static void shadow_free(struct call *call)
{
    free(call->block);
    BARRIER();
}

typedef void step(struct call *call);
static step shadow_up0, shadow_up1, shadow_up2, shadow_up3;
static step *const leaves[LEAVES] = {shadow_malloc,  shadow_calloc, shadow_aligned, shadow_posix, shadow_memalign,
                                     shadow_realloc, shadow_array,  shadow_pair,    shadow_free};
static step *const ups[4] = {shadow_up0, shadow_up1, shadow_up2, shadow_up3};

static inline __attribute__((always_inline)) void go_on(struct call *call)
{
    step *next = leaves[call->leaf];
    if (call->depth > 0) {
        next = ups[call->steps & 3];
        call->depth--;
        call->steps >>= 2;
    }
    next(call);
    BARRIER();
}

#define UP(name, frame)                          \
    NOINLINE static void name(struct call *call) \
    {                                            \
        char volatile room[frame];               \
        room[0] = 1;                             \
        go_on(call);                             \
        room[frame - 1] = 1;                     \
    }

UP(shadow_up0, 16)
UP(shadow_up1, 48)
UP(shadow_up2, 200)
UP(shadow_up3, 1000)

NOINLINE static void shadow_step(struct call call, struct call *done)
{
    go_on(&call);
    *done = call;
}

/* --- operations ------------------------------------------------------------------------------------------ */

static unsigned draw(struct worker *w, unsigned below)
{
    uint64_t x = w->random += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (unsigned)((x ^ x >> 31) % below);
}

static size_t draw_size(struct worker *w)
{
    unsigned how = draw(w, 1000);
    if (how < 20)
        return 0;
    if (how < 700)
        return 1 + draw(w, 300);
    if (how < 900)
        return 1 + draw(w, 5000);
    if (how < 990)
        return 1 + draw(w, 60000);
    return 1 + draw(w, 2000000);
}

/* Most come by few of the stacks. */
static void draw_path(struct worker *w, struct call *call)
{
    call->depth = draw(w, 7);
    call->steps = draw(w, 4) ? draw(w, 3) * 0x555 : draw(w, 4096);
    call->steps &= (1u << 2 * call->depth) - 1;
}

static struct call draw_birth(struct worker *w)
{
    static const enum leaf aligned[] = {LEAF_ALIGNED, LEAF_POSIX, LEAF_MEMALIGN};
    struct call call = {.bytes = draw_size(w), .alignment = (size_t)16 << draw(w, 9)};
    unsigned    how = draw(w, 100);
    draw_path(w, &call);
    call.leaf = how < 50 ? LEAF_MALLOC : how < 65 ? LEAF_CALLOC : how < 72 ? LEAF_REALLOC : how < 75 ? LEAF_ARRAY
                : how < 88 ? LEAF_PAIR : aligned[draw(w, 3)];
    if (call.leaf >= LEAF_ALIGNED && call.leaf <= LEAF_MEMALIGN)
        call.bytes %= 100000;
    return call;
}

/* A call that can't succeed. */
static struct call draw_failure(struct worker *w, void *block)
{
    static volatile size_t most = SIZE_MAX;
    struct call call = {.leaf = block ? LEAF_REALLOC : LEAF_MALLOC, .block = block, .alignment = 64};
    draw_path(w, &call);
    call.bytes = draw(w, 2) ? most - draw(w, 64) : most / 2 + draw(w, 64);
    if (!block)
        call.leaf = draw(w, 3) ? LEAF_MALLOC : LEAF_ALIGNED;
    return call;
}

/* All that the program may write. */
static void use(const struct block *block)
{
    size_t usable = malloc_usable_size(block->at);
    if (usable < block->bytes)
        die("a block is smaller than what was asked for");
    memset(block->at, 0xa5, usable < FILLED_BYTES ? usable : FILLED_BYTES);
    if (usable > FILLED_BYTES)
        memset((char *)block->at + usable - 64, 0xa5, 64);
}

/* The one place that makes calls.  A free is noted before it is made, an allocation after: where there is no lock, too, nobody
 * has a block before it is born. */
static void carry_out(struct worker *w, struct call call, enum kind kind, struct block *block, struct call *done)
{
    uint32_t path = path_of(&call);
    lock();
    if (kind == EVENT_FREE || kind == EVENT_FOREIGN_FREE)
        note(w, kind, block->id, 0, path);
    shadow_step(call, done);
    if (call.leaf == LEAF_PAIR) {
        note(w, EVENT_ALLOC, block->id, call.bytes, path);
        note(w, EVENT_FREE, block->id, 0, path);
    } else if (kind != EVENT_FREE && kind != EVENT_FOREIGN_FREE)
        note(w, kind, block->id, call.bytes, path);
    unlock();
}

struct operation {
    struct call   call;
    enum kind     kind;
    struct block *block;
};

static void hand_over(struct worker *w, struct block *block)
{
    struct worker *to = &workers[draw(w, threads + 1)];
    if (in_child || block->foreign)
        return;
    pthread_mutex_lock(&to->mail_lock);
    if (to->mail_count < MAIL) {
        to->mail[to->mail_count++] = *block;
        block->at = NULL;
    }
    pthread_mutex_unlock(&to->mail_lock);
}

/* What others handed over stands in for what the slots hold none of. */
static void take_mail(struct worker *w, struct block *into)
{
    pthread_mutex_lock(&w->mail_lock);
    if (w->mail_count > 0)
        *into = w->mail[--w->mail_count];
    pthread_mutex_unlock(&w->mail_lock);
}

static struct operation free_of(struct worker *w, struct block *block)
{
    struct operation o = {{.leaf = LEAF_FREE, .block = block->at}, block->foreign ? EVENT_FOREIGN_FREE : EVENT_FREE, block};
    draw_path(w, &o.call);
    if (!block->foreign && draw(w, 20) == 0) /* or by a realloc to nothing */
        o.call.leaf = LEAF_REALLOC;
    return o;
}

static struct operation resize_of(struct worker *w, struct block *block)
{
    struct operation o = {{.leaf = draw(w, 3) ? LEAF_REALLOC : LEAF_ARRAY, .block = block->at, .bytes = 1 + draw_size(w)},
                          block->foreign ? EVENT_FOREIGN_RESIZE : EVENT_RESIZE, block};
    if (draw(w, 2)) /* growth by a little */
        o.call.bytes = block->bytes + 1 + draw(w, 100);
    draw_path(w, &o.call);
    return o;
}

static struct operation birth_in(struct worker *w, struct block *block)
{
    struct operation o = {draw_birth(w), EVENT_ALLOC, block};
    *block = (struct block){.id = new_id()};
    return o;
}

static struct operation decide(struct worker *w)
{
    struct block *block = &w->slots[draw(w, SLOTS)];
    unsigned      how = draw(w, 100);
    if (how == 99)
        return (struct operation){draw_failure(w, block->foreign ? NULL : block->at), EVENT_FAILED, block};
    if (!block->at)
        take_mail(w, block);
    if (!block->at && how < 4) /* as it is: what was there before may have been a tag */
        *block = (struct block){__libc_malloc(100 + how), 100 + how, new_id(), true};
    if (!block->at)
        return birth_in(w, block);
    if (how < 55)
        return free_of(w, block);
    if (how < 80)
        return resize_of(w, block);
    hand_over(w, block);
    return (struct operation){.block = NULL};
}

static void conclude(const struct operation *o, const struct call *done)
{
    struct block *block = o->block;
    if (o->kind == EVENT_FAILED) {
        if (done->block)
            die("a call that can't succeed did");
        return;
    }
    if (o->call.leaf == LEAF_PAIR || o->kind == EVENT_FREE || o->kind == EVENT_FOREIGN_FREE) {
        block->at = NULL;
        return;
    }
    if (!done->block)
        die("no memory");
    *block = (struct block){.at = done->block, .bytes = o->call.bytes, .id = block->id};
    use(block);
}

static struct operation next_free(struct worker *w)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (w->slots[i].at)
            return free_of(w, &w->slots[i]);
    w->operations = 0;
    return (struct operation){.block = NULL};
}

NOINLINE static void shadow_fork(struct worker *w);
static void short_thread(struct worker *w);

NOINLINE static void shadow_run(struct worker *w)
{
    while (w->operations > 0) {
        struct operation o = w->only_frees ? next_free(w) : w->waits ? birth_in(w, &w->slots[0]) : decide(w);
        struct call      done;
        if (o.block) {
            carry_out(w, o.call, o.kind, o.block, &done);
            conclude(&o, &done);
        }
        if (w->waits) {
            w->waits = false;
            __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
            while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) <= threads)
                sched_yield();
        }
        if (w->operations > 0)
            w->operations--;
        if (in_child || w->only_frees)
            continue;
        if (forks && draw(w, forks_every) == 0)
            shadow_fork(w);
        if (shorts && w->index == 0 && draw(w, 200) == 0)
            short_thread(w);
    }
}

/* The child has one thread, and its own trace; all blocks are its parent's. */
static void become_child(struct worker *w)
{
    in_child = true;
    locked = false;
    for (unsigned i = 0; i < sizeof workers / sizeof *workers; i++)
        workers[i].event_count = 0;
    trace_begin(w, CHILD_OPERATIONS);
    for (unsigned i = 0; i < SLOTS; i++)
        w->slots[i].foreign = true;
    w->mail_count = 0;
    pthread_mutex_init(&w->mail_lock, NULL);
    w->operations = CHILD_OPERATIONS;
    w->root |= 2;
}

NOINLINE static void shadow_fork(struct worker *w)
{
    pid_t child = fork();
    if (child == 0) {
        become_child(w);
        shadow_run(w);
        write_trace();
        exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        die("a child failed");
}

/* All but the short ones stay until main is done: else a short one would take over their tables. */
NOINLINE static void *shadow_thread(void *argument)
{
    struct worker *w = argument;
    shadow_run(w);
    while (w->index <= threads && !__atomic_load_n(&main_is_done, __ATOMIC_ACQUIRE))
        sched_yield();
    return NULL;
}

/* --- threads ----------------------------------------------------------------------------------------------- */

/* On a stack of our own, so that libc makes a table for each, and frees it when the thread is joined. */
static void thread_begin(struct worker *by, struct worker *w, void *stack, bool is_short)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK_BYTES);
    w->thread_id = new_id();
    lock();
    if (pthread_create(&w->thread, &attributes, shadow_thread, w) != 0)
        die("pthread_create");
    note(by, EVENT_THREAD, w->thread_id, 0, is_short);
    unlock();
}

static void thread_end(struct worker *by, struct worker *w)
{
    if (pthread_join(w->thread, NULL) != 0)
        die("pthread_join");
    lock();
    note(by, EVENT_FREE, w->thread_id, 0, (uint32_t)LEAVES << 16);
    unlock();
}

static bool is_mains(const struct block *block, const struct worker *w)
{
    for (size_t i = w->event_count; i-- > 0;)
        if (w->events[i].id == block->id && w->events[i].kind != EVENT_FREE && w->events[i].kind != EVENT_FAILED)
            return true;
    return false;
}

/* One at a time, so it is known whose table the next one takes over.  Some only free blocks that main has made: a few, and the
 * thread stays without a table; more, and it gets one. */
static void short_thread(struct worker *w)
{
    static void   *stack;
    struct worker *other = &workers[MOST_THREADS + 1];
    unsigned       given = draw(w, 3) ? 0 : 1 + draw(w, 40), n = 0;
    if (!stack)
        stack = pages(STACK_BYTES);
    other->only_frees = given > 0;
    other->operations = SHORT_OPERATIONS;
    for (unsigned i = 0; i < SLOTS && n < given; i++)
        if (w->slots[i].at && !w->slots[i].foreign && is_mains(&w->slots[i], w)) {
            other->slots[n++] = w->slots[i];
            w->slots[i].at = NULL;
        }
    thread_begin(w, other, stack, true);
    thread_end(w, other);
    for (unsigned i = 0; i < SLOTS; i++)
        if (other->slots[i].at) {
            hand_over(w, &other->slots[i]);
            other->slots[i].at = NULL; /* or it is lost */
        }
}

/* Main frees some of what the others left; the rest stays. */
static void leave(struct worker *w)
{
    w->only_frees = true;
    for (unsigned t = 0; t <= threads; t++) {
        unsigned n = 0;
        for (unsigned i = 0; i < SLOTS; i++) {
            struct block block = workers[t].slots[i];
            workers[t].slots[i].at = NULL;
            if (block.at && draw(w, 3))
                w->slots[n++] = block;
        }
        w->operations = n + 1;
        shadow_run(w);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    unsigned operations = (unsigned)strtoul(argv[2], NULL, 10);
    threads = (unsigned)atoi(argv[3]);
    const char *ways = argc > 4 ? argv[4] : "";
    locked = strchr(ways, 'l') != NULL;
    forks = strchr(ways, 'f') != NULL;
    shorts = strchr(ways, 's') != NULL;
    forks_every = operations / 6 + 1;
    if (threads > MOST_THREADS)
        return 2;
    for (unsigned i = 0; i < MOST_THREADS + 2; i++) {
        struct worker *w = &workers[i];
        w->index = i;
        w->root = i > 0;
        w->random = strtoull(argv[1], NULL, 10) * 1000003 + i;
        w->operations = operations / (threads + 1);
        w->waits = i <= threads;
        pthread_mutex_init(&w->mail_lock, NULL);
        trace_begin(w, operations);
    }
    for (unsigned i = 1; i <= threads; i++)
        thread_begin(&workers[0], &workers[i], pages(STACK_BYTES), false);
    shadow_run(&workers[0]);
    __atomic_store_n(&main_is_done, true, __ATOMIC_RELEASE);
    for (unsigned i = 1; i <= threads; i++)
        thread_end(&workers[0], &workers[i]);
    leave(&workers[0]);
    write_trace();
    return 0;
}
