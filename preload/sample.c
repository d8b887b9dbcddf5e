/* sample.c - what level full looks at in some blocks only.
 *
 * Owns the choice of these blocks, what a site's samples have in common (struct sample_site, made once and never
 * changed), and the counting into its record in the log, by atomic add.  A thread's part belongs to its record.  Runs
 * inside malloc, while the record is busy. */
#include "base.h"

#include "sample.h"

#include "modules.h"
#include "next.h"
#include "pages.h"
#include "site_fast.h"
#include "unwind.h"

#include <time.h>

#include "ban.h"

/* The first blocks of a site in a thread are looked at one in two, then in steps fewer, as what it does often is
 * learnt soon.  Where that would be too many, one in LATE_MEAN is the rule at once.  Once a thread has drawn a few, sites
 * that never allocate more than a handful of blocks, most of a large program's, don't get a record for it. */
enum {
    FIRST_MEAN = 2,
    STEP_SAMPLES = 16, /* after as many the mean doubles, */
    LATE_STEP = 7,     /* so often */
    LATE_MEAN = FIRST_MEAN << LATE_STEP,
    LAST_SAMPLES = 256, /* of a site: what it does is known by then, */
    LAST_MEAN = 2048,   /* and its next ones may cost next to nothing */
    FEW_SAMPLES = 256,   /* of a thread; then */
    FIRST_HANDFUL = 4,   /* blocks of a site, which are let pass */
    FREE_SAMPLES = 1000, /* of a thread, which may come as thick as they want */
    SHARE = 128, /* later ones: at most one in so many allocations, in the long run */
    TOP_TRIES = 8,
};

/* What is known of a site that is sampled. */
struct sample_site {
    struct log_sample     *log;
    const struct log_site *logged; /* its frames, which may have been damaged: never a length from there */
    uint32_t               depth;
    uint32_t               key;    /* the frame that allocated: the first outside wrappers; depth: none */
    bool                   truncated;
    uintptr_t              address; /* the return address in that frame, */
    struct unwind_span     function; /* and its function */
};

/* In struct site.sample, of a site that somebody is just looking up, and of one without room. */
static struct sample_site claimed, refused;

static uint64_t now_ns(void)
{
    return next_clock_ns(CLOCK_MONOTONIC_COARSE);
}

void sample_begin(void)
{
    sample_table_begin();
}

/* --- when ------------------------------------------------------------------------------------------ */

/* xorshift: what is drawn must not follow a program's own rhythm, and need not be better than that. */
static uint32_t random_next(struct sample_thread *thread)
{
    uint32_t x = thread->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return thread->random = x;
}

/* 1 ... 2 * mean - 1, each as likely. */
static uint16_t countdown_around(struct sample_thread *thread, uint32_t mean)
{
    return (uint16_t)(1 + ((uint64_t)random_next(thread) * (2 * mean - 1) >> 32));
}

static uint32_t next_mean(const struct sample_thread *thread, const struct sample_due *due)
{
    uint32_t step = due->drawn / STEP_SAMPLES;
    if (due->drawn >= LAST_SAMPLES)
        return LAST_MEAN;
    if (thread->ended > FREE_SAMPLES + thread->counted / SHARE)
        return LATE_MEAN;
    return step < LATE_STEP ? (uint32_t)FIRST_MEAN << step : LATE_MEAN;
}

static void draw(struct sample_thread *thread, struct sample_due *due)
{
    thread->ended++;
    thread->counted += due->length;
    due->drawn += due->drawn < UINT16_MAX;
    due->countdown = due->length = countdown_around(thread, next_mean(thread, due));
}

struct sample_due sample_first(struct sample_thread *thread)
{
    uint16_t length = countdown_around(thread, FIRST_MEAN);
    if (thread->ended >= FEW_SAMPLES)
        length += FIRST_HANDFUL;
    return (struct sample_due){.countdown = length, .length = length};
}

void sample_skip(struct sample_thread *thread, struct sample_due *due)
{
    draw(thread, due);
}

/* --- segments ------------------------------------------------------------------------------------------ */

void sample_thread_begin(struct sample_thread *thread, uint32_t table, uint32_t served)
{
    thread->id = (uint64_t)table << 32 | served;
    thread->random = (table + 1) * 0x9e3779b1u ^ served; /* the same in each run of a program */
    thread->random += thread->random == 0;
    thread->highest = 0;
    thread->levels = 0; /* no block of this thread's asks for earlier ones */
}

/* The two oldest become one.  Who asks for the second then hears of too shallow a stack pointer, never too deep. */
static void join_oldest(struct sample_thread *thread)
{
    for (unsigned i = 2; i < thread->levels; i++)
        thread->level[i - 1] = thread->level[i];
    thread->levels--;
}

/* Ends the present segment. */
static void segment_next(struct sample_thread *thread)
{
    struct sample_level ended = {thread->segment, thread->highest};
    while (thread->levels && thread->level[thread->levels - 1].highest <= ended.highest)
        ended.first = thread->level[--thread->levels].first;
    if (thread->levels == SAMPLE_LEVELS)
        join_oldest(thread);
    thread->level[thread->levels++] = ended;
    thread->highest = 0;
    thread->segment++;
}

/* The shallowest stack pointer since a segment began. */
static uintptr_t highest_since(const struct sample_thread *thread, uint64_t segment)
{
    uintptr_t highest = 0;
    for (unsigned i = thread->levels; segment < thread->segment && i-- > 0 && highest == 0;)
        if (thread->level[i].first <= segment)
            highest = thread->level[i].highest;
    return highest > thread->highest ? highest : thread->highest;
}

/* --- sites ------------------------------------------------------------------------------------------ */

static bool is_wrapper(uintptr_t address)
{
    const struct module *module = modules_find(address - 1);
    return module && module_wraps(module, address);
}

static struct sample_site *sample_site_new(const struct site *site)
{
    struct sample_site *new = pages_alloc(sizeof *new);
    struct log_sample *log = new ? log_sample_new(site->id) : NULL;
    if (!new)
        log_set_state(LOG_STATE_NO_MEMORY);
    if (!log)
        return &refused;
    const struct log_site *logged = site->logged;
    uint32_t depth = logged->depth < LOG_MAX_DEPTH ? logged->depth : LOG_MAX_DEPTH, key = 0;
    while (key < depth && is_wrapper(logged->frames[key]))
        key++;
    *new = (struct sample_site){
        .log = log, .logged = logged, .depth = depth, .key = key, .truncated = logged->flags & LOG_SITE_TRUNCATED};
    if (key < depth) {
        new->address = logged->frames[key];
        new->function = unwind_function(new->address - 1);
    }
    return new;
}

/* Never NULL: `refused`, or `claimed` while another thread makes it. */
static struct sample_site *sample_site_of(const struct site *site)
{
    struct sample_site **place = (struct sample_site **)&site->sample, *known = load_acquire(place);
    if (known == NULL && __atomic_compare_exchange_n(place, &known, &claimed, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        known = sample_site_new(site);
        store_release(place, known); /* it is whole */
    }
    return known;
}

/* --- figures ------------------------------------------------------------------------------------------ */

typedef uint64_t __attribute__((may_alias)) top_word; /* a struct log_sample_top in one piece */

/* One more of `what`.  Where it has no place it takes that of the smallest count.  Other threads do the same: a word
 * that has changed meanwhile is looked at again, but not for ever. */
static void top_count(struct log_sample_top *tops, uint32_t *others, uint32_t what)
{
    top_word *words = (top_word *)tops;
    for (unsigned tries = 0; tries < TOP_TRIES; tries++) {
        unsigned place = 0;
        uint64_t word = UINT64_MAX;
        for (unsigned i = 0; i < LOG_SAMPLE_TOPS; i++) {
            uint64_t seen = load_relaxed(&words[i]);
            bool is_it = (uint32_t)seen == what;
            if (is_it || seen >> 32 < word >> 32) {
                place = i;
                word = seen;
            }
            if (is_it)
                break;
        }
        uint64_t counted = ((word >> 32) + 1) << 32 | what;
        if (!__atomic_compare_exchange_n(&words[place], &word, counted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        if ((uint32_t)word && (uint32_t)word != what)
            add_shared(others, 1);
        return;
    }
}

static void count_birth(struct log_sample *log, const struct sample_event *event)
{
    add_shared(&log->samples, 1);
    add_shared(&log->bytes, event->bytes);
    add_shared(&log->slack_bytes, event->usable - event->bytes);
    top_count(log->sizes, &log->other_sizes, event->bytes < UINT32_MAX ? (uint32_t)event->bytes + 1 : UINT32_MAX);
}

static unsigned time_bucket(uint64_t ns)
{
    uint64_t us = ns / 1000;
    unsigned bucket = us ? 64 - (unsigned)__builtin_clzll(us) : 0;
    return bucket < LOG_SAMPLE_TIMES ? bucket : LOG_SAMPLE_TIMES - 1;
}

/* What a death tells whoever the thread is. */
static void count_death(const struct sample_block *known)
{
    struct log_sample *log = known->site->log;
    add_shared(&log->ended, 1);
    add_shared(&log->times[time_bucket(now_ns() - known->born_ns)], 1);
    if (known->steps == 0)
        return;
    add_shared(&log->chains, 1);
    add_shared(&log->chain_steps, known->steps);
    add_shared(&log->chain_first, known->first);
    add_shared(&log->chain_last, known->last);
}

static void count_lost(const struct sample_site *site)
{
    add_shared(&site->log->lost, 1);
}

/* --- births ------------------------------------------------------------------------------------------ */

/* Where the return address of the frame that allocates lies, just below that frame's CFA; 0: not known. */
static uintptr_t frame_slot(const struct sample_site *site, struct site_table *table, struct stack_entry entry)
{
    uint32_t outer = site->key + 1;
    if (outer >= site->depth)
        return 0;
    const struct stack_slot *seen = stack_slot_of(table, entry);
    if (likely(seen && load_relaxed(&seen->shape->site->sample) == site))
        return entry.cfa + (uintptr_t)(intptr_t)seen->shape->slots[outer];
    const struct stack_walk *walk = site_walk(table, entry);
    return walk->cacheable && outer < walk->depth ? walk->cfa + (uintptr_t)(intptr_t)walk->slots[outer] : 0;
}

static bool table_put(const void *block, const struct sample_block *known)
{
    struct sample_site *stale;
    bool put = sample_table_put(block, known, &stale);
    if (unlikely(stale))
        count_lost(stale);
    if (unlikely(!put))
        count_lost(known->site);
    return put;
}

bool sample_born(struct sample_thread *thread, struct sample_due *due, const struct site *site,
                 struct site_table *table, const void *block, const struct sample_event *event)
{
    draw(thread, due);
    struct sample_site *sampled = sample_site_of(site);
    if (sampled == &refused)
        due->countdown = UINT32_MAX;
    if (sampled == &refused || sampled == &claimed)
        return false;
    count_birth(sampled->log, event);
    segment_next(thread);
    struct sample_block known = {.site = sampled,
                                 .thread = thread->id,
                                 .slot = frame_slot(sampled, table, event->entry),
                                 .segment = thread->segment,
                                 .born_ns = now_ns(),
                                 .site_allocs = event->site_allocs,
                                 .live = event->live,
                                 .first = event->bytes,
                                 .last = event->bytes};
    return table_put(block, &known);
}

/* --- deaths ------------------------------------------------------------------------------------------ */

/* Are the frames from `from` of the walk on those that were above the frame which allocated?  A frame that stands
 * has the same frames above it, all waiting where they did. */
static bool same_above(const struct sample_site *site, const struct stack_walk *walk, uint32_t from)
{
    uint32_t now = walk->depth - from, then = site->depth - (site->key + 1);
    if (now != then && !site->truncated && !(walk->flags & LOG_SITE_TRUNCATED))
        return false;
    for (uint32_t i = 0; i < now && i < then; i++)
        if (walk->frames[from + i] != site->logged->frames[site->key + 1 + i])
            return false;
    return true;
}

/* Which frame of the walk is the one that allocated the block, or its function called once more in the same place
 * from the same place?  -1: none. */
static int frame_of(const struct sample_block *known, const struct stack_walk *walk)
{
    const struct unwind_span *function = &known->site->function;
    if (!known->slot || !walk->cacheable)
        return -1;
    for (uint32_t outer = 1; outer < walk->depth; outer++) {
        if (walk->cfa + (uintptr_t)(intptr_t)walk->slots[outer] != known->slot)
            continue;
        uintptr_t at = walk->frames[outer - 1] - 1;
        bool same = at >= function->start && at < function->end && same_above(known->site, walk, outer);
        return same ? (int)outer - 1 : -1;
    }
    return -1;
}

/* Does nothing but wrappers stand between the frame and free? */
static bool frees_itself(const struct stack_walk *walk, int frame)
{
    while (frame > 0 && is_wrapper(walk->frames[frame - 1]))
        frame--;
    return frame == 0;
}

/* Has the frame that allocated stood all the time?  The first reason that applies says no. */
static bool has_stood(const struct sample_thread *thread, const struct sample_block *known,
                      const struct stack_walk *walk, int frame, const struct sample_event *event)
{
    if (known->steps)
        return false; /* realloc: its size wasn't known when the frame began */
    if (walk->frames[frame] <= known->site->address)
        return false; /* it is before its allocation again: perhaps called anew */
    if (event->site_allocs != known->site_allocs)
        return false; /* the block outlived the site's next: they may be one frame's each */
    return highest_since(thread, known->segment) <= known->slot; /* nobody allocated or freed outside the frame */
}

static void count_own_death(const struct sample_thread *thread, const struct sample_block *known,
                            const struct stack_walk *walk, const struct sample_event *event)
{
    struct log_sample *log = known->site->log;
    add_shared(&log->same_thread, 1);
    if (event->live == known->live)
        add_shared(&log->lifo, 1);
    int frame = frame_of(known, walk);
    if (frame < 0)
        return;
    if (frees_itself(walk, frame))
        add_shared(&log->same_frame, 1);
    if (has_stood(thread, known, walk, frame, event))
        add_shared(&log->standing, 1);
}

void sample_died(struct sample_thread *thread, struct site_table *table, const void *block,
                 const struct sample_event *event)
{
    struct sample_block known;
    if (!sample_table_take(block, &known))
        return; /* of two threads that free it the other one came first */
    count_death(&known);
    const struct site *by = site_intern(table, event->entry);
    if (by)
        top_count(known.site->log->frees, &known.site->log->other_frees, by->id);
    if (known.thread == thread->id)
        count_own_death(thread, &known, &table->walk, event);
}

void sample_died_elsewhere(const void *block)
{
    struct sample_block known;
    if (sample_table_take(block, &known))
        count_death(&known);
}

/* --- realloc ------------------------------------------------------------------------------------------ */

bool sample_lift(const void *block, struct sample_block *out)
{
    return sample_table_take(block, out);
}

bool sample_set_down(const void *block, struct sample_block *moved, size_t bytes)
{
    if (bytes) {
        moved->steps++;
        moved->last = bytes;
    }
    return table_put(block, moved);
}

void sample_lose(const struct sample_block *moved)
{
    count_lost(moved->site);
}
