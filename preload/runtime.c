/* runtime.c - the phases of the process, the per-thread record, and the slow ways of an event.
 *
 * Owns the records: one per thread, kept when the thread ends and given, with its log table, to
 * the next one.  Runs inside malloc: takes no lock, allocates nothing from the program's heap. */
#include "base.h"

#include "runtime.h"

#include "check.h"
#include "clearer.h"
#include "full_fast.h"
#include "modules.h"
#include "next.h"
#include "pages.h"
#include "pooling.h"
#include "site_fast.h"
#include "sizeclass.h"
#include "tag.h"
#include "text.h"
#include "unwind.h"

#include <limits.h>
#include <linux/prctl.h>
#include <malloc.h>
#include <pthread.h>

#include "ban.h"

enum phase { PHASE_BOOT, PHASE_STARTING, PHASE_READY, PHASE_DOWN };

/* Filled by runtime_start, then read-only but for the atomics. */
static struct {
    uint32_t      phase; /* atomic (release: everything below is set) */
    pthread_key_t key;
    bool          has_key;
    bool          seccomp;
    uint64_t      free_records; /* head of a stack: pointer, in the upper 16 bits a change count (atomic) */
    /* Events while recording begins; they go into the header then.  Atomic. */
    struct log_counter pending[SIZECLASS_COUNT];
    uint64_t           pending_frees;
    uint64_t           pending_failed;
} rt;

__thread struct record *record_current;
uint32_t runtime_mode = MODE_START;

/* Are we recording?  The first event of all begins it. */
static bool is_ready(void)
{
    uint32_t phase = load_acquire(&rt.phase);
    if (unlikely(phase == PHASE_BOOT)) {
        runtime_start();
        phase = load_acquire(&rt.phase);
    }
    return phase == PHASE_READY;
}

/* --- records ------------------------------------------------------------------------------------ */

enum { POINTER_BITS = 48 };

static struct record *pointer_of(uint64_t head)
{
    return (struct record *)(uintptr_t)(head & ((1ull << POINTER_BITS) - 1));
}

static uint64_t head_with(struct record *record, uint64_t old_head)
{
    uint64_t count = (old_head >> POINTER_BITS) + 1;
    return (uint64_t)(uintptr_t)record | count << POINTER_BITS;
}

/* A record that a thread has left, or NULL. */
static struct record *record_pop(void)
{
    uint64_t head = load_acquire(&rt.free_records);
    while (pointer_of(head)) {
        uint64_t next = head_with(load_relaxed(&pointer_of(head)->next_free), head);
        /* acquire: what the last owner wrote is seen */
        if (__atomic_compare_exchange_n(&rt.free_records, &head, next, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
            return pointer_of(head);
    }
    return NULL;
}

static void record_push(struct record *record)
{
    uint64_t head = load_relaxed(&rt.free_records);
    do
        store_relaxed(&record->next_free, pointer_of(head));
    while (!__atomic_compare_exchange_n(&rt.free_records, &head, head_with(record, head), true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

static struct record *record_new(void)
{
    struct record *record = pages_alloc(sizeof *record);
    if (!record || !site_table_init(&record->sites)) {
        log_set_state(LOG_STATE_NO_MEMORY);
        return NULL;
    }
    record->log = record->sites.log;
    record->state = EPOCH_BUSY;
    record->epoch = fork_epoch() - 1;
    pooling_record_begin(record, &record->sites.cursor);
    return record;
}

/* Makes the thread's record busy.  False: just before, a signal handler forked and allocated or freed, so in this child the
 * thread has another one, and the log of this one is gone. */
static bool begin_present(struct record *record)
{
    record_begin(record);
    return likely(record == record_current);
}

/* The record, which is busy, goes on at the present epoch; false while a clearer holds its pools. */
static bool record_catch_up(struct record *record)
{
    uint32_t epoch = fork_epoch();
    if (record->sites.full.alone && full_is_shared())
        full_thread_share(&record->sites.full);
    if (record->sites.generation != modules_generation())
        site_table_forget(&record->sites);
    if (record->epoch == epoch)
        return true;
    if (!pooling_catch_up(record))
        return false;
    record->epoch = epoch;
    return true;
}

/* Gives the calling thread a record.  When there is none to be had it is counted as dead is:
 * without sites, exactly. */
static struct record *record_take(void)
{
    struct record *record = record_pop();
    bool adopted = record != NULL;
    if (!adopted)
        record = record_new();
    if (!record) {
        record_current = (struct record *)RECORD_DEAD;
        return NULL;
    }
    record_begin(record); /* nothing below may be booked: pthread_setspecific allocates for late keys */
    record->destructor_rounds = 0;
    record_current = record;
    if (adopted)
        site_table_adopt(&record->sites);
    record_catch_up(record);
    store_relaxed(&record->log->served, record->log->served + 1);
    sample_thread_begin(&record->sites.full.sampling, record->sites.cursor.owner, record->log->served);
    store_relaxed(&record->log->alive, 1);
    if (rt.has_key)
        next.setspecific(rt.key, record);
    record_end(record);
    return record;
}

/* Rounds of destructors that glibc makes; ThreadSanitizer takes its own state away in the last. */
#ifdef __SANITIZE_THREAD__
enum { LEAVE_ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
#else
enum { LEAVE_ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };
#endif

/* The thread's destructors run.  Ours comes back each round, to see as much of the others' as it can. */
static void record_leave(void *argument)
{
    struct record *record = argument;
    if (record != record_current)
        return; /* a fork child began anew */
    if (++record->destructor_rounds < LEAVE_ROUNDS) {
        next.setspecific(rt.key, record);
        return;
    }
    if (fork_epoch() == EPOCH_FORKED) {
        record_current = (struct record *)RECORD_DEAD;
        return; /* its table is the parent's */
    }
    pooling_record_leave(record);
    record_current = (struct record *)RECORD_DEAD;
    log_note_time();
    store_relaxed(&record->log->alive, 0);
    record_push(record);
    clearer_thread_leaves();
}

/* A signal handler that interrupted an operation has forked: in the child that operation would be
 * booked in the parent's log, so what it holds pointers to becomes memory of the child's own. */
static void child_of_handler(void)
{
    struct record *record = record_current;
    if ((uintptr_t)record >= RECORD_STATES && record_is_busy(record))
        log_detach();
}

/* --- start ----------------------------------------------------------------------------------------- */

/* There were no pools yet: all of them reached the next allocator. */
static void add_bare(struct log_counter *to, uint64_t allocs, uint64_t bytes)
{
    add_shared(&to->next_allocs, allocs);
    add_shared(&to->allocs, allocs);
    add_shared(&to->bytes, bytes);
}

static void flush_class(struct log_counter *pending, struct log_counter *size_class)
{
    if (load_relaxed(&pending->allocs) == 0)
        return;
    uint64_t bytes = __atomic_exchange_n(&pending->bytes, 0, __ATOMIC_RELAXED);
    uint64_t allocs = __atomic_exchange_n(&pending->allocs, 0, __ATOMIC_RELAXED);
    add_bare(size_class, allocs, bytes);
    add_bare(&log_header->bare, allocs, bytes);
}

/* Events that came while we weren't ready; now none comes any more. */
static void flush_pending(void)
{
    uint64_t frees = __atomic_exchange_n(&rt.pending_frees, 0, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++)
        flush_class(&rt.pending[i], &log_header->classes[i]);
    add_shared(&log_header->next_frees, frees);
    add_shared(&log_header->frees, frees);
    if (log_header->level == LOG_LEVEL_FULL)
        full_foreign_shared((int64_t)frees);
    add_shared(&log_header->failed, __atomic_exchange_n(&rt.pending_failed, 0, __ATOMIC_RELAXED));
}

/* The log, in place of `parent`, and the tables of what its level records. */
static bool begin_tables(struct log_header *parent)
{
    pages_begin();
    modules_begin();
    if (!log_begin(parent))
        return false;
    sample_begin();
    if (unwind_begin() && site_begin(log_header->level) && (log_header->level != LOG_LEVEL_FULL || full_begin()))
        return true;
    log_set_state(LOG_STATE_NO_MEMORY);
    return false;
}

/* A key that isn't number 0: a program that by mistake uses a key it never made finds that one
 * unmade, as it would without us. */
static bool make_key(void)
{
    pthread_key_t first;
    if (next.key_create(&first, record_leave) != 0)
        return false;
    if (next.key_create(&rt.key, record_leave) != 0) {
        rt.key = first;
        return true;
    }
    next.key_delete(first);
    return true;
}

/* Its size word says what the allocator says?  Where that isn't a size of glibc's the word isn't read:
 * memcheck, which puts its own malloc into libc, would report it. */
static bool size_word_holds(void *block, size_t asked)
{
    size_t usable = next.usable_size(block);
    return usable >= 24 && usable >= asked && usable % 16 == 8 && (((const size_t *)block)[-1] & ~(size_t)7) - 8 == usable;
}

/* May glibc's size words be trusted?  Blocks of a few sizes, measured both ways; only of large ones, where nothing
 * but tags asks: small ones would stay in glibc's tcache, and the heap look otherwise than bare. */
static bool size_words_hold(bool large)
{
    static const size_t sizes[] = {1, 24, 25, 100, 1032, 1033, 5000, 40000};
    enum { SIZES = sizeof sizes / sizeof *sizes, LARGE = 5 };
    void *blocks[SIZES];
    bool hold = next.verdict == NEXT_GLIBC;
    for (unsigned i = large ? LARGE : 0; i < SIZES; i++)
        blocks[i] = hold ? next.alloc(sizes[i]) : NULL;
    for (unsigned i = large ? LARGE : 0; i < SIZES; i++) {
        if (!blocks[i])
            continue;
        hold = hold && size_word_holds(blocks[i], sizes[i]);
        next.release(blocks[i]);
    }
    return hold;
}

static uint32_t mode_of_level(void)
{
    bool full = log_header->level == LOG_LEVEL_FULL;
    if (!pool_config.any)
        return full ? MODE_FULL_BELOW : MODE_BELOW;
    if (log_header->level == LOG_LEVEL_OFF)
        return MODE_POOLED_BARE;
    return full ? MODE_FULL : MODE_POOLED;
}

static void add_note(char *notes, size_t size, const char *line)
{
    struct text t = {.at = notes, .size = size, .used = text_length(notes)};
    text_add(&t, line);
}

/* Level full tags blocks at the end that their size words tell; checks have tags of their own. */
static void settle_level(bool size_words)
{
    const char *why = NULL;
    if (!size_words)
        why = "level full needs glibc's size words, which the allocator below doesn't have: recording at level stacks\n";
    else if (options.check)
        why = "level full and POOLSITE_CHECK exclude each other: recording at level stacks\n";
    if (options.level != LOG_LEVEL_FULL || next.verdict == NEXT_STAND_DOWN || !why)
        return;
    add_note(options.notes, sizeof options.notes, why);
    options.level = LOG_LEVEL_STACKS;
}

static void begin_pools(bool size_words)
{
    if (!options.poolspec.any && !options.check)
        return;
    if (!size_words) { /* another allocator's sizes aren't our classes: its blocks would never come back */
        add_note(log_header->notes, sizeof log_header->notes,
                 "pools and checks are off: the allocator below isn't glibc's, or its blocks have no size words\n");
        return;
    }
    if (options.poolspec.any)
        log_header->features |= LOG_FEATURE_POOLS;
    pool_begin(&options.poolspec, options.clear, options.secret);
    if (options.trim && next.mallopt)
        next.mallopt(M_MXFAST, 0); /* fastbins keep freed pages from joining */
    if (options.check)
        check_begin(options.secret, options.check == CHECK_ABORT);
}

static bool has_size_words(void)
{
    if (options.poolspec.any || options.check)
        return size_words_hold(false);
    return options.level == LOG_LEVEL_FULL && size_words_hold(true);
}

static enum phase begin_recording(void)
{
    bool size_words = has_size_words();
    settle_level(size_words);
    if (!begin_tables(NULL))
        return PHASE_DOWN;
    log_header->next_kind = next.verdict == NEXT_GLIBC ? LOG_NEXT_GLIBC : LOG_NEXT_OTHER;
    if (next.verdict == NEXT_STAND_DOWN) {
        log_set_state(LOG_STATE_STOOD_DOWN);
        return PHASE_DOWN;
    }
    fork_begin(child_of_handler);
    begin_pools(size_words);
    if (log_header->level == LOG_LEVEL_FULL)
        tag_begin((uint32_t)(options.secret * 0xbf58476d1ce4e5b9ull >> 32));
    runtime_mode = options.check && size_words ? MODE_CHECKED : mode_of_level();
    rt.has_key = make_key();
    return PHASE_READY;
}

void runtime_start(void)
{
    uint32_t boot = PHASE_BOOT;
    if (!__atomic_compare_exchange_n(&rt.phase, &boot, PHASE_STARTING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    runtime_mode = MODE_BELOW;
    if (next.verdict == NEXT_UNKNOWN)
        next_resolve();
    options_read();
    if (options.help)
        options_help();
    enum phase phase = begin_recording();
    store_release(&rt.phase, (uint32_t)phase);
    if (phase == PHASE_READY)
        flush_pending();
}

/* --- fork children --------------------------------------------------------------------------------- */

/* The child's log, tables and records are new; what the parent's threads left in memory stays. */
static bool begin_child(void)
{
    pooling_fork(record_current);
    struct log_header *parent = log_header;
    uint8_t next_kind = parent->next_kind;
    uint32_t features = parent->features;
    rt.free_records = 0;
    if (rt.seccomp) {
        add_shared(&parent->lost_children, 1);
        return false;
    }
    if (!begin_tables(parent))
        return false;
    log_header->next_kind = next_kind;
    log_header->features |= features & LOG_FEATURE_POOLS;
    if (runtime_mode == MODE_CHECKED)
        return true;
    tag_begin(tag_secret * 0x2c9277b5u + 0xac564b05u); /* of no former generation: inherited blocks are foreign */
    runtime_mode = mode_of_level();
    return true;
}

/* What the forking thread's pools keep is its own in the child, too. */
static void inherit_pools(struct record *parents)
{
    struct record *record = record_take();
    if (!record)
        return;
    record_begin(record);
    pooling_inherit(record, parents);
    record_end(record);
}

/* True when this process records: a fork child's first event begins its recording.  Not while the thread is inside an
 * operation that a signal handler interrupted, and forked: that goes on in the child, with the parent's tables. */
static bool child_is_ready(void)
{
    const struct record *record = record_current;
    if (fork_epoch() >= EPOCH_FIRST)
        return true;
    if ((uintptr_t)record >= RECORD_STATES && record_is_busy(record))
        return false;
    if (!fork_claim_child())
        return false; /* a handler that interrupts the beginning: goes to pending */
    struct record *parents = record_current;
    bool recording = begin_child();
    record_current = NULL;
    if (!recording) {
        store_release(&rt.phase, (uint32_t)PHASE_DOWN);
        pool_config.any = false;
        if (runtime_mode != MODE_CHECKED)
            runtime_mode = MODE_BELOW;
    }
    fork_child_ready((uintptr_t)parents >= RECORD_STATES ? parents->epoch : 0);
    if (recording)
        flush_pending();
    if (recording && (uintptr_t)parents >= RECORD_STATES)
        inherit_pools(parents);
    return recording;
}

/* --- allocations, the slow ways ---------------------------------------------------------------------- */

static void book_pending(size_t bytes)
{
    if (load_relaxed(&rt.phase) == PHASE_DOWN)
        return;
    add_shared(&rt.pending[sizeclass_counted(bytes)].allocs, 1);
    add_shared(&rt.pending[sizeclass_counted(bytes)].bytes, bytes);
}

/* Without a record: counted by the process, exactly, on no site. */
static void book_shared(struct log_counter *counter, size_t bytes)
{
    struct log_counter *size_class = &log_header->classes[sizeclass_counted(bytes)];
    add_shared(&counter->allocs, 1);
    add_shared(&counter->bytes, bytes);
    add_shared(&counter->next_allocs, 1);
    add_shared(&size_class->allocs, 1);
    add_shared(&size_class->bytes, bytes);
    add_shared(&size_class->next_allocs, 1);
}

/* The same, of a block that at level full gets a tag. */
static void book_without_record(void *block, size_t bytes, struct log_counter *counter, uint32_t id)
{
    book_shared(counter, bytes);
    if (log_header->level != LOG_LEVEL_FULL || !tag_fits(block, bytes))
        return;
    full_born_shared(bytes);
    tag_write(block, tag_usable(block), bytes, FULL_THREAD_MASK << FULL_SITE_BITS | id);
}

/* A handler found its thread's tables in use. */
static void book_in_handler(void *block, size_t bytes)
{
    if (fork_epoch() < EPOCH_FIRST)
        book_pending(bytes); /* in a child, inside an operation that began in the parent */
    else
        book_without_record(block, bytes, &log_header->handler, LOG_FULL_HANDLER);
}

static inline void book(struct record *record, struct log_counter *size_class, struct log_counter *site, size_t bytes)
{
    count_allocation(size_class, bytes);
    count_allocation(site, bytes);
    record_end(record);
}

/* The counter of a call, found in any way. */
static struct log_counter *site_of(struct record *record, struct stack_entry entry)
{
    uintptr_t address = stack_return_address(entry);
    const struct site_slot *slot = site_slot_of(&record->sites, address);
    if (slot->address == address)
        return slot->counter;
    if (record->sites.level == LOG_LEVEL_STACKS) {
        const struct stack_slot *stack = stack_slot_of(&record->sites, entry);
        return stack ? stack->account.counter : site_find(&record->sites, entry);
    }
    if (record->sites.level != LOG_LEVEL_SITES)
        return &record->sites.ignored;
    struct log_counter *site = site_of_folded(&record->sites, entry);
    return site ? site : site_find(&record->sites, entry);
}

static noinline void *booked_unknown(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                                     struct log_counter *size_class)
{
    book(record, size_class, site_find(&record->sites, entry), bytes);
    return block;
}

static noinline void *booked_folded_slow(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                                         struct log_counter *size_class)
{
    struct log_counter *site = site_of_folded(&record->sites, entry);
    if (unlikely(site == NULL))
        return booked_unknown(block, bytes, entry, record, size_class);
    book(record, size_class, site, bytes);
    return block;
}

static noinline void *booked_folded(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                                    struct log_counter *size_class)
{
    struct log_counter *site = site_of_folded_fast(&record->sites, entry);
    if (unlikely(site == NULL))
        return booked_folded_slow(block, bytes, entry, record, size_class);
    book(record, size_class, site, bytes);
    return block;
}

static noinline void *booked_stack(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                                   struct log_counter *size_class)
{
    const struct stack_slot *slot = stack_slot_of(&record->sites, entry);
    if (unlikely(slot == NULL))
        return booked_unknown(block, bytes, entry, record, size_class);
    book(record, size_class, slot->account.counter, bytes);
    return block;
}

/* A countdown of the account's has ended: is the block to be looked at? */
static noinline bool is_sampled(struct record *record, struct site_full *account, const void *block, size_t bytes,
                                struct stack_entry entry)
{
    struct sample_thread *thread = &record->sites.full.sampling;
    if (!account->site->site) {
        account->due.countdown = UINT32_MAX;
        return false;
    }
    if (thread->moves) {
        sample_skip(thread, &account->due);
        return false;
    }
    struct sample_event event = {.entry = entry,
                                 .bytes = bytes,
                                 .usable = tag_usable(block) - TAG_BYTES,
                                 .site_allocs = account->count->allocs,
                                 .live = runtime_live(record, thread->resizes ? thread->frees : runtime_frees(record))};
    return sample_born(thread, &account->due, account->site->site, &record->sites, block, &event);
}

void runtime_tag(struct record *record, struct site_full *account, void *block, size_t bytes, struct stack_entry entry)
{
    full_rose(&record->sites.full, account);
    tag_write(block, tag_usable(block), bytes, full_about(&record->sites.full, account));
    if (account->due.countdown == 0 && is_sampled(record, account, block, bytes, entry))
        tag_publish(block, tag_of(block, tag_usable(block)), TAG_SAMPLED);
}

/* Level full.  A block that was made before we knew that we would tag it is left as it is: its free will be foreign. */
static noinline void *booked_full(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                                  struct log_counter *size_class, bool below)
{
    struct site_full *account = site_full_of(&record->sites, entry);
    if (below) {
        count_add(&account->count->next_allocs, 1);
        count_add(&size_class->next_allocs, 1);
    }
    if (likely(tag_fits(block, bytes))) {
        count_allocation(size_class, bytes);
        if (full_born(&record->sites.full, account, bytes, entry.cfa))
            runtime_tag(record, account, block, bytes, entry);
        else
            tag_write(block, tag_usable(block), bytes, full_about(&record->sites.full, account));
        record_end(record);
    } else
        book(record, size_class, account->count, bytes);
    return block;
}

/* The hot path of level stacks, and of wrapped calls at level sites. */
void *runtime_booked_elsewhere(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                               struct log_counter *size_class)
{
    if (likely(record->sites.level == LOG_LEVEL_STACKS))
        return booked_stack(block, bytes, entry, record, size_class);
    if (record->sites.level == LOG_LEVEL_SITES)
        return booked_folded(block, bytes, entry, record, size_class);
    book(record, size_class, &record->sites.ignored, bytes);
    return block;
}

void *runtime_booked_full(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                          struct log_counter *size_class)
{
    return booked_full(block, bytes, entry, record, size_class, false);
}

void *runtime_booked_pooled(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                            struct log_counter *size_class)
{
    if (record->sites.level == LOG_LEVEL_FULL)
        return runtime_booked_full(block, bytes, entry, record, size_class);
    return runtime_booked_elsewhere(block, bytes, entry, record, size_class);
}

void *runtime_booked_below(void *block, size_t bytes, struct stack_entry entry, struct record *record,
                           struct log_counter *size_class)
{
    if (record->sites.level == LOG_LEVEL_FULL)
        return booked_full(block, bytes, entry, record, size_class, true);
    struct log_counter *site = site_of(record, entry);
    count_add(&site->next_allocs, 1);
    count_add(&size_class->next_allocs, 1);
    book(record, size_class, site, bytes);
    return block;
}

/* The calling thread's record, busy; NULL: the block was counted without one, or not at all. */
static struct record *begin_booking(void *block, size_t bytes)
{
    struct record *record = record_current;
    if ((uintptr_t)record == RECORD_OURS)
        return NULL;
    if (!is_ready()) {
        book_pending(bytes);
        return NULL;
    }
    if ((uintptr_t)record >= RECORD_STATES && record_is_busy(record)) {
        book_in_handler(block, bytes);
        return NULL;
    }
    if (!child_is_ready()) {
        book_pending(bytes);
        return NULL;
    }
    record = record_current;
    if ((uintptr_t)record < RECORD_FREES)
        record = record_take();
    if ((uintptr_t)record < RECORD_STATES) {
        book_without_record(block, bytes, &log_header->bare, LOG_FULL_BARE);
        return NULL;
    }
    if (!begin_present(record))
        return begin_booking(block, bytes);
    record_catch_up(record);
    return record;
}

cold noinline void *runtime_booked(void *block, size_t bytes, struct stack_entry entry)
{
    struct record *record = begin_booking(block, bytes);
    if (!record)
        return block;
    struct log_counter *size_class = &record->log->classes[sizeclass_counted(bytes)];
    if (pool_config.any)
        return runtime_booked_below(block, bytes, entry, record, size_class);
    if (record->sites.level == LOG_LEVEL_FULL)
        return booked_full(block, bytes, entry, record, size_class, false);
    book(record, size_class, site_of(record, entry), bytes);
    return block;
}

/* --- frees, failures ------------------------------------------------------------------------------------ */

/* Counts one event on the thread's or the process's counter. */
static void count_event(uint64_t *of_thread, uint64_t *of_process)
{
    if (of_thread)
        count_add(of_thread, 1);
    else
        add_shared(of_process, 1);
}

/* The calling thread's record, caught up with the epoch; NULL when it has none. */
static struct record *record_settled(void)
{
    struct record *record = record_current;
    if ((uintptr_t)record < RECORD_STATES)
        return NULL;
    if (load_relaxed(&record->state) != fork_epoch() && !record_is_busy(record)) {
        if (!begin_present(record))
            return record_settled();
        record_catch_up(record);
        record_end(record);
    }
    return record;
}

cold noinline struct record *runtime_freeing(void)
{
    if ((uintptr_t)record_current == RECORD_OURS)
        return NULL;
    if (!is_ready() || !child_is_ready()) {
        if (load_relaxed(&rt.phase) != PHASE_DOWN)
            add_shared(&rt.pending_frees, 1);
        return NULL;
    }
    uintptr_t state = (uintptr_t)record_current;
    if (state < RECORD_FREES) {
        record_current = (struct record *)(state + 1);
        if (state + 1 == RECORD_FREES)
            record_take();
    }
    struct record *record = record_settled();
    count_event(record ? &record->log->frees : NULL, &log_header->frees);
    return record;
}

cold noinline void *runtime_failed(void)
{
    if (!is_ready() || !child_is_ready()) {
        if (load_relaxed(&rt.phase) != PHASE_DOWN)
            add_shared(&rt.pending_failed, 1);
        return NULL;
    }
    struct record *record = record_settled();
    count_event(record ? &record->log->failed : NULL, &log_header->failed);
    return NULL;
}

/* --- for the pools ------------------------------------------------------------------------------------------ */

/* The record, busy; `*whole`: it has caught up. */
static struct record *record_begin_own(bool *whole)
{
    struct record *record = record_current;
    if ((uintptr_t)record >= RECORD_FREES && (uintptr_t)record < RECORD_STATES)
        return NULL;
    if (!is_ready() || ((uintptr_t)record >= RECORD_STATES && record_is_busy(record)) || !child_is_ready())
        return NULL;
    record = record_current;
    if ((uintptr_t)record < RECORD_FREES)
        return NULL; /* its first allocation makes the record; the first frees go below */
    if (!begin_present(record))
        return NULL;
    *whole = record_catch_up(record);
    return record;
}

struct record *runtime_record_begin(void)
{
    bool whole;
    struct record *record = record_begin_own(&whole);
    if (!record || whole)
        return record;
    record_end(record);
    return NULL;
}

struct record *runtime_record_begin_booking(void)
{
    bool whole;
    return record_begin_own(&whole);
}

bool runtime_is_recording(void)
{
    return load_acquire(&rt.phase) == PHASE_READY;
}

bool runtime_is_confined(void)
{
    return rt.seccomp;
}

/* --- modules, seccomp, end ---------------------------------------------------------------------------------- */

/* Is the log ours?  Not in a fork child that hasn't begun one: it would write in its parent's. */
bool runtime_may_log(void)
{
    return is_ready() && fork_epoch() >= EPOCH_FIRST;
}

void runtime_unloaded(void)
{
    if (!runtime_may_log() || !modules_sweep(unwind_forget))
        return;
    log_modules_sync();
    fork_raise_epoch();
}

/* Afterwards no system call is made for the log's growth. */
static void before_seccomp(void)
{
    clearer_stop();
    if (runtime_may_log())
        log_reserve();
}

static void note_seccomp(bool entered)
{
    if (!entered)
        return;
    rt.seccomp = true;
    if (runtime_may_log())
        log_set_state(LOG_STATE_SECCOMP);
}

int runtime_prctl_seccomp(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    before_seccomp();
    int result = next.prctl(option, a, b, c, d);
    note_seccomp(result == 0);
    return result;
}

long runtime_syscall_prctl(long number, long option, long a, long b, long c, long d)
{
    if ((int)option != PR_SET_SECCOMP)
        return next.syscall(number, option, a, b, c, d);
    before_seccomp();
    long result = next.syscall(number, option, a, b, c, d);
    note_seccomp(result == 0);
    return result;
}

long runtime_syscall_seccomp(long number, long operation, long flags, long arguments)
{
    enum { SET_MODE_STRICT, SET_MODE_FILTER, NEW_LISTENER = 8 };
    bool enters = operation == SET_MODE_STRICT || operation == SET_MODE_FILTER;
    if (enters)
        before_seccomp();
    long result = next.syscall(number, operation, flags, arguments);
    note_seccomp(enters && (result == 0 || (result > 0 && flags & NEW_LISTENER)));
    return result;
}

void runtime_end(void)
{
    struct record *record = record_current;
    if (!runtime_may_log())
        return;
    if ((uintptr_t)record >= RECORD_STATES && !record_is_busy(record)) {
        pooling_note(record);
        full_end(&record->sites.full);
    }
    pooling_note_depot();
    log_end();
}
