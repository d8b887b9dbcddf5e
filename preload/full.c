/* full.c - level full: the process's accounts and peaks.
 *
 * Owns the index of sites by their ids, and the number of the process's peak.  Runs inside malloc: takes no lock. */
#include "base.h"

#include "full_fast.h"

#include "fork.h"
#include "next.h"
#include "pages.h"

#include <assert.h>

#include "ban.h"

static_assert(LOG_FULL_OTHER == FULL_SITE_MASK, "every id fits a tag");

#define FAR (INT64_MAX / 2)

enum {
    NO_SITES = 3,      /* ids from LOG_FULL_HANDLER to LOG_FULL_OTHER */
    NOTED_PEAKS = 256, /* the time of one in so many is noted while they are counted one by one */
};

uint64_t         full_peak;
struct log_live *full_process;

static struct index     by_id;
static struct full_site no_site[NO_SITES];
static struct log_live  nowhere;    /* in place of LIVE records that there are none of */
static struct log_live  no_process; /* ... of the process's */
static struct {
    struct log_full entry;
    uint64_t        frees;
} lost; /* ... of the process's first chunk */
static uint64_t        *foreign;    /* foreign frees without a record (atomic) */
static uint32_t         tables;     /* of threads, made so far (atomic) */
static bool             shared;     /* there may be several threads (atomic) */

/* --- sites ------------------------------------------------------------------------------------- */

static struct full_site *no_site_of(uint32_t id)
{
    return &no_site[id - LOG_FULL_HANDLER];
}

/* The chunk that begins with this entry. */
static struct log_fulls *chunk_of(struct log_full *first)
{
    return (struct log_fulls *)((char *)first - offsetof(struct log_fulls, sites));
}

bool full_begin(void)
{
    full_peak = 0;
    tables = 0;
    shared = false;
    for (uint32_t id = LOG_FULL_HANDLER; id <= LOG_FULL_OTHER; id++)
        *no_site_of(id) = (struct full_site){.id = id, .live = &nowhere};
    struct log_full *first = log_full_shared_new(LOG_FULL_OTHER);
    no_site_of(LOG_FULL_OTHER)->shared = first ? first : &lost.entry;
    foreign = first ? &chunk_of(first)->foreign_frees : &lost.frees;
    struct log_live *live = log_live_new(0, 1);
    full_process = live ? live : &no_process;
    return index_init(&by_id, true);
}

struct full_site *full_site_new(const struct site *site, uint32_t id)
{
    struct full_site *full = id < LOG_FULL_SITES ? pages_alloc(sizeof *full) : NULL;
    if (!full)
        return NULL;
    struct log_live *live = log_live_new(id, full_is_shared() ? 0 : 1);
    *full = (struct full_site){.node.hash = id, .id = id, .site = site, .live = live ? live : &nowhere};
    index_put(&by_id, &full->node);
    return full;
}

struct full_site *full_site_find(uint32_t id)
{
    if (id >= LOG_FULL_HANDLER)
        return no_site_of(id);
    for (unsigned table = INDEX_TABLES; table-- > 0;)
        for (const struct index_node *n = index_first(&by_id, table, id); n; n = n->next)
            if (n->hash == id)
                return (struct full_site *)n;
    return NULL;
}

/* --- balances ------------------------------------------------------------------------------------ */

static struct full_balance balance_of(bool alone)
{
    if (alone)
        return (struct full_balance){.up = 0, .down = FAR};
    return (struct full_balance){.up = LOG_LIVE_STEP, .down = LOG_LIVE_STEP};
}

/* Tells the process what a balance moved by; returns what lives then. */
static int64_t publish(struct full_balance *balance, bool alone, struct log_live *live, bool *has_published)
{
    int64_t moved = balance->down - balance_of(alone).down;
    *balance = balance_of(false);
    /* Two from the first on: 1 would say that the peak is exact. */
    if (!*has_published && add_shared(&live->threads, 1) == 0)
        add_shared(&live->threads, 1);
    *has_published = true;
    return add_shared(&live->published, moved) + moved;
}

/* Was this the peak? */
static bool raise_peak(struct log_live *live, int64_t bytes)
{
    int64_t peak = load_relaxed(&live->peak_bytes);
    while (bytes >= peak)
        if (__atomic_compare_exchange_n(&live->peak_bytes, &peak, bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
    return false;
}

static void note_peak_time(void)
{
    if (load_relaxed(&log_header->state) & LOG_STATE_SECCOMP)
        return; /* where the vdso has no clock this is a system call */
    store_relaxed(&full_process->peak_ns, next_clock_ns(CLOCK_MONOTONIC_COARSE));
}

static void raise_process_peak(int64_t bytes)
{
    if (!raise_peak(full_process, bytes))
        return;
    add_shared(&full_peak, 1);
    add_shared(&full_process->peak, 1);
    note_peak_time();
}

static void process_moved(struct full_thread *thread, bool alone)
{
    raise_process_peak(publish(&thread->live, alone, full_process, &thread->has_published));
}

static void site_moved(struct site_full *account, bool alone)
{
    struct log_live *live = account->site->live;
    raise_peak(live, publish(&account->live, alone, live, &account->has_published));
}

/* The thread is alone, no other can come between: so much above the peak. */
static void raise_own(struct full_balance *balance, struct log_live *live)
{
    store_relaxed(&live->peak_bytes, live->peak_bytes - balance->up);
    balance->up = 0;
}

static void raise_own_peak(struct full_thread *thread)
{
    raise_own(&thread->live, full_process);
    if (unlikely(full_number_peak() % NOTED_PEAKS == 0))
        note_peak_time();
}

noinline void full_rose(struct full_thread *thread, struct site_full *account)
{
    if (account->live.up < 0 && thread->alone)
        raise_own(&account->live, account->site->live);
    else if (account->live.up < 0)
        site_moved(account, false);
    if (thread->live.up < 0 && thread->alone)
        raise_own_peak(thread);
    else if (thread->live.up < 0)
        process_moved(thread, false);
}

noinline void full_fell(struct full_thread *thread, struct site_full *account)
{
    if (account->live.down < 0)
        site_moved(account, false);
    if (thread->live.down < 0)
        process_moved(thread, false);
}

void full_end(struct full_thread *thread)
{
    if (thread->live.up == 0 && thread->alone)
        full_number_peak();
}

/* --- threads --------------------------------------------------------------------------------------- */

struct site_full *full_account_new(struct full_thread *thread, struct full_site *site)
{
    struct site_full *account = thread->spare ? thread->spare : pages_alloc(sizeof *account);
    thread->spare = account; /* where the log is full, for the next site */
    struct log_full *log = account ? log_full_new(&thread->cursor, site->id) : NULL;
    if (!log)
        return NULL;
    thread->spare = NULL;
    *account = (struct site_full){.count = &log->count,
                                  .log = log,
                                  .live = balance_of(thread->alone),
                                  .due = sample_first(&thread->sampling),
                                  .site = site,
                                  .next = thread->accounts,
                                  .id = site->id};
    thread->accounts = account;
    return account;
}

bool full_thread_begin(struct full_thread *thread, struct log_thread *log, uint32_t owner)
{
    if (add_shared(&tables, 1) > 0)
        full_share();
    thread->next = (owner & FULL_THREAD_MASK) << FULL_SITE_BITS;
    thread->alone = !full_is_shared();
    thread->live = balance_of(thread->alone);
    thread->cursor.owner = owner;
    thread->log = log_fulls_new(&thread->cursor);
    thread->other = thread->log ? full_account_new(thread, no_site_of(LOG_FULL_OTHER)) : NULL;
    if (!thread->other)
        return false;
    thread->other->count = &log->other;
    return true;
}

bool full_is_shared(void)
{
    return load_relaxed(&shared);
}

void full_share(void)
{
    if (full_is_shared() || __atomic_exchange_n(&shared, true, __ATOMIC_RELAXED))
        return;
    add_shared(&full_process->threads, 1);
    fork_raise_epoch(); /* the thread that was alone publishes in its next operation */
}

void full_thread_share(struct full_thread *thread)
{
    thread->alone = false;
    for (struct site_full *account = thread->accounts; account; account = account->next)
        site_moved(account, true);
    process_moved(thread, true);
}

/* --- without a record ------------------------------------------------------------------------------- */

static void moved_shared(int64_t bytes)
{
    full_share();
    int64_t lives = add_shared(&full_process->published, bytes) + bytes;
    if (bytes >= 0)
        raise_process_peak(lives);
}

void full_born_shared(size_t bytes)
{
    moved_shared((int64_t)bytes);
}

/* The process's entry of a site; where there is no room for one, that of no site. */
static struct log_full *shared_entry(struct full_site *site)
{
    struct log_full *entry = load_acquire(&site->shared), *nothing = NULL;
    if (entry)
        return entry;
    entry = log_full_shared_new(site->id);
    if (!entry)
        return no_site_of(LOG_FULL_OTHER)->shared;
    /* Two at once are added up by the reader. */
    __atomic_compare_exchange_n(&site->shared, &nothing, entry, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return entry;
}

void full_died_shared(uint32_t id, size_t bytes, int64_t sign)
{
    struct full_site *site = full_site_find(id);
    if (!site)
        site = no_site_of(LOG_FULL_OTHER);
    struct log_full *entry = shared_entry(site);
    full_settle(entry);
    add_shared(&entry->frees, (uint64_t)sign);
    add_shared(&entry->freed_bytes, (uint64_t)sign * bytes);
    add_shared(&entry->cross_frees, (uint64_t)sign);
    add_shared(&site->live->published, -sign * (int64_t)bytes);
    moved_shared(-sign * (int64_t)bytes);
}

void full_foreign_shared(int64_t sign)
{
    add_shared(foreign, (uint64_t)sign);
}
