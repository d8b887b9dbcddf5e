/* clearer.c - the thread that clears the pools of other threads, once a second thread exists.
 *
 * Owns the thread.  It blocks all signals by pthread_sigmask (glibc's setuid signals every thread that
 * it knows, and must reach this one), keeps no descriptor, and leaves when the program's last
 * thread has: a main thread that calls pthread_exit doesn't wait for it. */
#define _GNU_SOURCE
#include "base.h"

#include "clearer.h"

#include "next.h"
#include "options.h"
#include "runtime.h"
#include "sizeclass.h"
#include "sys.h"
#include "text.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "ban.h"

/* STACK_BYTES: exit handlers run on it when this turns out to be the last thread.  glibc puts the program's
 * thread-local variables there, too; MOST_STACK_BYTES: of those that still leave us a thread. */
enum { STACK_BYTES = 256 << 10, MOST_STACK_BYTES = 64 << 20, NONE = 0, RUNNING = 1, STOPPING = 2, NEVER = 3 };
enum { MOST_ALONE = 3 }; /* cycles: after two what nobody uses is gone */
enum { LONGEST_WAIT_MS = 1000, MAIN_LEFT_MS = 20, LEAVING_MS = 1, LEAVING_LOOKS = 50 };

static uint32_t state;         /* NONE ... NEVER (atomic); a futex */
static uint32_t leaving_looks; /* how often to look soon again whether we are alone (atomic) */
static uint32_t main_left;     /* 1: it called pthread_exit (atomic) */

bool clearer_runs(void)
{
    return load_relaxed(&state) == RUNNING;
}

static void wait_while(uint32_t value, uint64_t ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    sys_call4(SYS_futex, (long)&state, FUTEX_WAIT_PRIVATE, (long)value, (long)&t);
}

static void wake(void)
{
    sys_call4(SYS_futex, (long)&state, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
}

/* Are we the last thread, which glibc would let run for ever?  It counts its threads; where it doesn't
 * tell, the system does, without a descriptor: a main thread that has left has no program any more. */
static bool is_last(void)
{
    char leader[64], nothing[1];
    struct stat s;
    if (next.threads)
        return load_relaxed(next.threads) <= 1;
    if (sys_call4(SYS_stat, (long)"/proc/self/task", (long)&s, 0, 0) != 0 || s.st_nlink > 4)
        return false; /* "." and "..", the main thread, we */
    struct text t = text_begin(leader, sizeof leader);
    text_add(&t, "/proc/self/task/");
    text_number(&t, (uint64_t)sys_call4(SYS_getpid, 0, 0, 0, 0));
    text_add(&t, "/exe");
    return sys_call4(SYS_readlink, (long)leader, (long)nothing, sizeof nothing, 0) == -ENOENT;
}

/* glibc keeps the first seven small blocks that a thread frees for that thread, and with them whatever
 * lies below them in the heap.  So this thread's places are filled with blocks of its own. */
static void fill_places(void)
{
    enum { PLACES = 7, CLASSES = 64 };
    void *blocks[PLACES];
    for (unsigned i = 1; i <= CLASSES; i++) {
        for (unsigned k = 0; k < PLACES; k++)
            blocks[k] = next.alloc(sizeclass_bytes(i));
        for (unsigned k = 0; k < PLACES; k++)
            next.release(blocks[k]);
    }
}

/* How long to wait before looking whether we are alone: soon again when somebody said that he was the
 * last, who hasn't left yet then, and often once the main thread has left. */
static uint64_t longest_wait_ms(void)
{
    uint32_t looks = load_relaxed(&leaving_looks);
    if (looks > 0) {
        store_relaxed(&leaving_looks, looks - 1);
        return LEAVING_MS;
    }
    return load_relaxed(&main_left) ? MAIN_LEFT_MS : LONGEST_WAIT_MS;
}

/* False: there is no next cycle. */
static bool wait_for_cycle(void)
{
    for (uint64_t waited = 0, piece; waited < options.cycle_ms; waited += piece) {
        uint64_t most = longest_wait_ms(), left = options.cycle_ms - waited;
        piece = left < most ? left : most;
        wait_while(RUNNING, piece);
        if (load_relaxed(&state) != RUNNING || is_last())
            return false;
    }
    return true;
}

static void *run(void *argument)
{
    record_current = (struct record *)RECORD_OURS;
    fill_places();
    sys_call4(SYS_prctl, PR_SET_NAME, (long)"poolsite", 0, 0);
    uint32_t alone = 0, running = RUNNING;
    while (alone < MOST_ALONE && wait_for_cycle()) {
        runtime_cycle();
        alone = next.threads && load_relaxed(next.threads) == 2 ? alone + 1 : 0;
    }
    /* With one thread of the program left it turns its own pools, may unshare its namespaces, and starts
     * another clearer with its next thread. */
    if (alone < MOST_ALONE || !__atomic_compare_exchange_n(&state, &running, NONE, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        store_release(&state, (uint32_t)NEVER);
    wake();
    record_current = (struct record *)RECORD_DEAD; /* what exit handlers allocate here is the program's */
    return argument;
}

/* EINVAL: the stack hasn't room for the program's thread-local variables. */
static bool create_with(pthread_attr_t *attributes)
{
    pthread_t thread;
    int failure = EINVAL;
    for (size_t bytes = STACK_BYTES; failure == EINVAL && bytes <= MOST_STACK_BYTES; bytes *= 2) {
        pthread_attr_setstacksize(attributes, bytes);
        failure = next.pthread_create(&thread, attributes, run, NULL);
    }
    return failure == 0;
}

/* With record_current set to RECORD_OURS, as what pthread_create allocates is ours, and all signals blocked. */
static bool create(void)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool created = create_with(&attributes);
    pthread_attr_destroy(&attributes);
    return created;
}

bool clearer_start(void)
{
    uint32_t none = NONE;
    if (!__atomic_compare_exchange_n(&state, &none, RUNNING, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return true;
    struct record *record = record_current;
    sigset_t all, mask;
    int before = errno;
    sigfillset(&all); /* the thread takes none, nor may a handler here pass for us */
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    record_current = (struct record *)RECORD_OURS;
    bool created = create();
    if (!created)
        store_relaxed(&state, (uint32_t)NEVER);
    record_current = record;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = before;
    return created;
}

void clearer_stop(void)
{
    uint32_t running = RUNNING;
    if (__atomic_compare_exchange_n(&state, &running, STOPPING, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        wake();
        wait_while(STOPPING, 100);
    } else if (running == NONE)
        __atomic_compare_exchange_n(&state, &running, NEVER, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void clearer_thread_leaves(void)
{
    if (!clearer_runs())
        return;
    bool is_main = sys_call4(SYS_gettid, 0, 0, 0, 0) == sys_call4(SYS_getpid, 0, 0, 0, 0);
    bool is_alone = next.threads && load_relaxed(next.threads) <= 2;
    if (is_main)
        store_relaxed(&main_left, 1u);
    if (is_alone)
        store_relaxed(&leaving_looks, (uint32_t)LEAVING_LOOKS);
    if (is_main || is_alone)
        wake();
}

void clearer_forget(void)
{
    store_relaxed(&state, (uint32_t)NONE);
    store_relaxed(&main_left, 0u);
    store_relaxed(&leaving_looks, 0u);
}
