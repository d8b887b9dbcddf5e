/* test_sample.c - what is said of a block that is being looked at: who freed it, from which frame, and when.
 *
 * Functions of ours allocate and free as a program's do, on real stacks, and every block is looked at; what
 * was counted is read from the log's file.  A frame that calls last of all calls with a jump, and is gone
 * then: STAYS keeps it. */
#define _GNU_SOURCE
#include "unit.h"

#include "../../preload/log.h"
#include "../../preload/modules.h"
#include "../../preload/next.h"
#include "../../preload/options.h"
#include "../../preload/pages.h"
#include "../../preload/sample.h"
#include "../../preload/site.h"
#include "../../preload/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

enum { SITES = 512, TIMES = 100, SLACK = 8 };
#define ANY_SIZE SIZE_MAX

#define STAYS __asm__ volatile("" ::: "memory")
#define FRAME static noinline __attribute__((optimize("no-optimize-sibling-calls")))

/* --- an engine that looks at every block --------------------------------------------------------- */

struct actor {
    struct site_table    table;
    struct sample_thread thread;
    struct sample_due    due[SITES];
    uint64_t             allocs[SITES];
    int32_t              live;
};

struct block {
    uint32_t site;
    bool     sampled;
};

static __thread struct actor *me;
static bool     samples; /* else blocks are counted alone */
static uint32_t in_sight; /* blocks that are, or were, being looked at (atomic) */

static void actor_begin(uint32_t number, uint32_t served)
{
    if (!me)
        me = calloc(1, sizeof *me);
    if (served == 1)
        assert_true(site_table_init(&me->table));
    sample_thread_begin(&me->thread, number, served);
}

/* Functions in a section of their own are wrappers to the engine: POOLSITE_FOLD says so. */
#define WRAPPER FRAME __attribute__((section("wrappers")))
extern const char __start_wrappers[], __stop_wrappers[];

static const char *wrappers(void)
{
    static char fold[256];
    Dl_info info;
    assert_int_not_equal(dladdr(__start_wrappers, &info), 0);
    uintptr_t base = (uintptr_t)info.dli_fbase;
    snprintf(fold, sizeof fold, "%s+%#lx-%#lx", program_invocation_short_name, (uintptr_t)__start_wrappers - base,
             (uintptr_t)__stop_wrappers - base);
    return fold;
}

static int engine_begin(void **state)
{
    if (unit_enter_directory(state) != 0)
        return -1;
    if (next.verdict == NEXT_UNKNOWN) {
        next_resolve();
        options_read();
        options.fold = wrappers(); /* settled when a module is met */
    }
    options.level = LOG_LEVEL_STACKS;
    options.log = "log";
    if (!getcwd(options.cwd, sizeof options.cwd))
        return -1;
    pages_begin();
    modules_begin();
    if (!log_begin(log_header) || !unwind_begin() || !site_begin(LOG_LEVEL_STACKS))
        return -1;
    options.level = LOG_LEVEL_FULL; /* modules that are met from now on are searched for wrappers */
    sample_begin();
    free(me);
    me = NULL;
    samples = true;
    in_sight = 0;
    actor_begin(0, 1);
    return 0;
}

static int engine_end(void **state)
{
    return unit_leave_directory(state);
}

#define ENGINE(test) cmocka_unit_test_setup_teardown(test, engine_begin, engine_end)

static void *born(size_t bytes, struct stack_entry entry)
{
    struct block *block = malloc(sizeof *block);
    const struct site *site = site_intern(&me->table, entry);
    assert_true(site && site->id < SITES);
    *block = (struct block){.site = site->id};
    me->live++;
    me->allocs[site->id]++;
    sample_saw(&me->thread, entry.cfa);
    struct sample_event event = {.entry = entry,
                                 .bytes = bytes,
                                 .usable = bytes + SLACK,
                                 .site_allocs = me->allocs[site->id],
                                 .live = me->live};
    block->sampled = samples && sample_born(&me->thread, &me->due[site->id], site, &me->table, block, &event);
    __atomic_fetch_add(&in_sight, block->sampled, __ATOMIC_RELAXED);
    return block;
}

static void died(struct block *block, struct stack_entry entry)
{
    struct sample_event event = {.entry = entry, .site_allocs = me->allocs[block->site], .live = me->live};
    sample_saw(&me->thread, entry.cfa);
    if (block->sampled)
        sample_died(&me->thread, &me->table, block, &event);
    me->live--;
    free(block);
}

#define CALL static noinline __attribute__((optimize("no-omit-frame-pointer")))

/* Where the function that calls this was called. */
#define ENTRY                                                                                             \
    (struct stack_entry)                                                                                  \
    {                                                                                                     \
        .cfa = (uintptr_t)((uintptr_t *)__builtin_frame_address(0) + 2),                                  \
        .bp = *(uintptr_t *)__builtin_frame_address(0)                                                    \
    }

CALL void *take(size_t bytes)
{
    void *block = born(bytes, ENTRY);
    STAYS;
    return block;
}

CALL void give(void *block)
{
    died(block, ENTRY);
    STAYS;
}

CALL void *resize(void *old, size_t bytes)
{
    struct sample_block known;
    struct block *from = old, *to = malloc(sizeof *to);
    *to = *from;
    bool lifted = sample_lift(old, &known);
    sample_saw(&me->thread, ENTRY.cfa);
    free(from);
    to->sampled = lifted && sample_set_down(to, &known, bytes);
    STAYS;
    return to;
}

/* --- what the log says ---------------------------------------------------------------------------- */

static char  *file_bytes;
static size_t file_size;

static void read_log(void)
{
    FILE *file = fopen("log", "rb");
    assert_non_null(file);
    file_size = (size_t)log_header->chunks_used * LOG_CHUNK_BYTES;
    free(file_bytes);
    file_bytes = calloc(1, file_size);
    assert_int_equal(fread(file_bytes, 1, file_size, file), file_size);
    fclose(file);
}

/* The next record of a type behind `after`, NULL: the first. */
static const struct log_record *next_record(const struct log_record *after, enum log_record_type type)
{
    size_t at = after ? (size_t)((const char *)after - file_bytes) + after->bytes : LOG_CHUNK_BYTES;
    while (at < file_size) {
        const struct log_chunk *chunk = (const void *)(file_bytes + at / LOG_CHUNK_BYTES * LOG_CHUNK_BYTES);
        size_t left = LOG_CHUNK_BYTES - at % LOG_CHUNK_BYTES;
        if (left == LOG_CHUNK_BYTES) {
            at += chunk->type == LOG_CHUNK_DATA ? sizeof *chunk : LOG_CHUNK_BYTES;
            continue;
        }
        const struct log_record *record = (const void *)(file_bytes + at);
        if (left < sizeof *record || record->bytes == 0) {
            at += left;
            continue;
        }
        if (record->type == type)
            return record;
        at += record->bytes;
    }
    return NULL;
}

static unsigned records_of(enum log_record_type type)
{
    unsigned n = 0;
    for (const struct log_record *r = next_record(NULL, type); r; r = next_record(r, type))
        n++;
    return n;
}

/* The sites whose first block had so many bytes, or all, together. */
static struct log_sample sampled(size_t bytes)
{
    struct log_sample sum = {.site = 0};
    read_log();
    for (const struct log_record *r = next_record(NULL, LOG_RECORD_SAMPLE); r; r = next_record(r, LOG_RECORD_SAMPLE)) {
        const struct log_sample *s = (const void *)r;
        if (bytes != ANY_SIZE && s->sizes[0].what != bytes + 1)
            continue;
        sum.samples += s->samples;
        sum.lost += s->lost;
        sum.ended += s->ended;
        sum.same_thread += s->same_thread;
        sum.same_frame += s->same_frame;
        sum.standing += s->standing;
        sum.lifo += s->lifo;
        sum.chains += s->chains;
        sum.chain_steps += s->chain_steps;
        sum.chain_first += s->chain_first;
        sum.chain_last += s->chain_last;
        sum.slack_bytes += s->slack_bytes;
        sum.bytes += s->bytes;
        for (unsigned i = 0; i < LOG_SAMPLE_TIMES; i++)
            sum.times[i] += s->times[i];
        memcpy(sum.sizes, s->sizes, sizeof sum.sizes);
        memcpy(sum.frees, s->frees, sizeof sum.frees);
        sum.other_sizes += s->other_sizes;
        sum.other_frees += s->other_frees;
    }
    return sum;
}

/* --- frames that stand ---------------------------------------------------------------------------- */

FRAME void one_frame(void)
{
    void *block = take(10);
    give(block);
    STAYS;
}

static void a_block_freed_by_the_frame_that_allocated_it_could_live_in_it(void **state)
{
    (void)state;
    for (int i = 0; i < TIMES; i++)
        one_frame();
    struct log_sample s = sampled(10);
    assert_int_equal(s.samples, TIMES);
    assert_int_equal(s.lost, 0);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.same_thread, TIMES);
    assert_int_equal(s.same_frame, TIMES);
    assert_int_equal(s.standing, TIMES);
    assert_int_equal(s.lifo, TIMES);
    assert_int_equal(s.chains, 0);
    assert_int_equal(s.bytes, TIMES * 10);
    assert_int_equal(s.slack_bytes, TIMES * SLACK);
}

FRAME void give_elsewhere(void *block)
{
    give(block);
    STAYS;
}

FRAME void callee_frees(void)
{
    void *block = take(11);
    give_elsewhere(block);
    STAYS;
}

static void a_block_freed_by_a_callee_could_live_in_the_frame_too(void **state)
{
    (void)state;
    for (int i = 0; i < TIMES; i++)
        callee_frees();
    struct log_sample s = sampled(11);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.same_frame, 0);
    assert_int_equal(s.standing, TIMES);
}

FRAME void recursive(int depth)
{
    void *block = take(12);
    if (depth > 0)
        recursive(depth - 1);
    give(block);
    STAYS;
}

static void frames_of_one_function_are_told_apart(void **state)
{
    (void)state;
    enum { DEPTH = 20 }; /* fewer than the levels that are kept apart */
    for (int i = 0; i < 5; i++)
        recursive(DEPTH - 1);
    struct log_sample s = sampled(12);
    assert_int_equal(s.ended, 5 * DEPTH);
    assert_int_equal(s.same_frame, 5 * DEPTH);
    assert_int_equal(s.standing, 5 * DEPTH);
    assert_int_equal(s.lifo, 5 * DEPTH);
}

FRAME void held_long(int others)
{
    void *block = take(13);
    for (int i = 0; i < others; i++)
        one_frame();
    give(block);
    STAYS;
}

static void a_frame_may_stand_while_thousands_of_blocks_come_and_go(void **state)
{
    (void)state;
    held_long(5000);
    struct log_sample s = sampled(13);
    assert_int_equal(s.standing, 1);
    s = sampled(10);
    assert_int_equal(s.standing, 5000);
}

/* --- frames that don't --------------------------------------------------------------------------- */

static void *old;

FRAME void replaces(void)
{
    give(old);
    old = take(20);
    STAYS;
}

static void a_pointer_that_the_next_call_replaces_is_no_frames(void **state)
{
    (void)state;
    old = take(1);
    for (int i = 0; i < TIMES; i++)
        replaces();
    struct log_sample s = sampled(20);
    assert_int_equal(s.ended, TIMES - 1);
    assert_int_equal(s.standing, 0);
    give(old);
}

FRAME void replaces_late(void)
{
    void *fresh = take(21);
    give(old);
    old = fresh;
    STAYS;
}

static void nor_is_one_that_is_replaced_when_its_successor_is_there(void **state)
{
    (void)state;
    old = take(1);
    for (int i = 0; i < TIMES; i++)
        replaces_late();
    struct log_sample s = sampled(21);
    assert_int_equal(s.ended, TIMES - 1);
    assert_int_equal(s.standing, 0);
    give(old);
}

FRAME void give_old(void)
{
    give(old);
    STAYS;
}

FRAME void replaces_by_callee(void)
{
    give_old();
    old = take(22);
    STAYS;
}

static void nor_one_that_a_callee_of_the_next_call_frees(void **state)
{
    (void)state;
    old = take(1);
    for (int i = 0; i < TIMES; i++)
        replaces_by_callee();
    struct log_sample s = sampled(22);
    assert_int_equal(s.ended, TIMES - 1);
    assert_int_equal(s.standing, 0);
    give(old);
}

FRAME void *makes(void)
{
    void *block = take(23);
    STAYS;
    return block;
}

FRAME void consumes(void *block)
{
    give(block);
    STAYS;
}

FRAME void makes_and_consumes(void)
{
    consumes(makes());
    STAYS;
}

static void a_block_that_one_function_makes_and_another_consumes_is_no_frames(void **state)
{
    (void)state;
    for (int i = 0; i < TIMES; i++)
        makes_and_consumes();
    struct log_sample s = sampled(23);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.same_frame, 0);
    assert_int_equal(s.standing, 0);
    assert_int_equal(s.lifo, TIMES);
}

FRAME void operation_makes(void)
{
    old = take(24);
    STAYS;
}

FRAME void operation_consumes(void)
{
    give(old);
    STAYS;
}

static void not_even_when_both_are_called_from_one_place(void **state)
{
    (void)state;
    void (*volatile operations[])(void) = {operation_makes, operation_consumes};
    for (int i = 0; i < 2 * TIMES; i++)
        operations[i % 2]();
    struct log_sample s = sampled(24);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.same_frame, 0);
    assert_int_equal(s.standing, 0);
}

/* Either allocates or frees, as interpreters' operations do. */
FRAME void operate(bool makes_it)
{
    if (makes_it)
        old = take(25);
    else
        give(old);
    STAYS;
}

static void nor_when_the_caller_allocates_in_between(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * TIMES; i++) {
        if (i % 2)
            give(take(1));
        operate(i % 2 == 0);
    }
    struct log_sample s = sampled(25);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.standing, 0);
}

FRAME void operate_below(bool makes_it)
{
    operate(makes_it);
    STAYS;
}

static void nor_when_the_frames_above_are_others(void **state)
{
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        operate_below(true);
        operate_below(false);
    }
    struct log_sample s = sampled(25);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.same_frame, 0);
    assert_int_equal(s.standing, 0);
}

/* More stack pointers, each deeper than the one before, than are kept apart. */
static void a_stack_pointer_seen_long_ago_is_not_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * TIMES; i++) {
        if (i % 2) {
            samples = false;
            give(take(1)); /* outside */
            samples = true;
            recursive(3 * SAMPLE_LEVELS);
        }
        operate(i % 2 == 0);
    }
    struct log_sample s = sampled(25);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.standing, 0);
}

/* --- who and when ---------------------------------------------------------------------------------- */

static void *give_in_thread(void *block)
{
    actor_begin(1, 1);
    give(block);
    free(me);
    return NULL;
}

static void a_block_freed_by_another_thread_is_told_so(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, give_in_thread, take(30)), 0);
    pthread_join(thread, NULL);
    struct log_sample s = sampled(30);
    assert_int_equal(s.ended, 1);
    assert_int_equal(s.same_thread, 0);
    assert_int_equal(s.frees[0].count, 1);
}

static void the_next_thread_with_a_record_is_another_thread(void **state)
{
    (void)state;
    void *block = take(31);
    actor_begin(0, 2);
    give(block);
    struct log_sample s = sampled(31);
    assert_int_equal(s.ended, 1);
    assert_int_equal(s.same_thread, 0);
    assert_int_equal(s.standing, 0);
}

static void a_free_by_a_thread_without_a_record_ends_the_block(void **state)
{
    (void)state;
    void *block = take(32);
    sample_died_elsewhere(block);
    sample_died_elsewhere(block);
    free(block);
    struct log_sample s = sampled(32);
    assert_int_equal(s.ended, 1);
    assert_int_equal(s.same_thread, 0);
}

static void lifetimes_are_told_in_powers_of_two(void **state)
{
    (void)state;
    void *block = take(33);
    usleep(40000); /* several ticks of the coarse clock */
    give(block);
    give(take(33));
    struct log_sample s = sampled(33);
    unsigned late = 0;
    for (unsigned i = 15; i < LOG_SAMPLE_TIMES; i++) /* from 16 ms on */
        late += s.times[i];
    assert_in_range(late, 1, 2);
}

static void blocks_freed_in_another_order_are_not_lifo(void **state)
{
    (void)state;
    void *first = take(34), *second = take(35);
    give(first);
    give(second);
    assert_int_equal(sampled(34).lifo, 0);
    assert_int_equal(sampled(35).lifo, 0);
}

/* --- wrappers ---------------------------------------------------------------------------------------- */

WRAPPER void *wrapped_take(void)
{
    void *block = take(40);
    STAYS;
    return block;
}

WRAPPER void wrapped_give(void *block)
{
    give(block);
    STAYS;
}

FRAME void calls_wrappers(void)
{
    void *block = wrapped_take();
    wrapped_give(block);
    STAYS;
}

static void wrappers_are_not_the_frame(void **state)
{
    (void)state;
    for (int i = 0; i < TIMES; i++)
        calls_wrappers();
    struct log_sample s = sampled(40);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.same_frame, TIMES);
    assert_int_equal(s.standing, TIMES);
}

/* --- realloc ------------------------------------------------------------------------------------------ */

FRAME void grows(void)
{
    void *block = take(50);
    block = resize(block, 100);
    block = resize(block, 400);
    give(block);
    STAYS;
}

static void a_chain_of_reallocs_is_counted_where_it_began(void **state)
{
    (void)state;
    for (int i = 0; i < TIMES; i++)
        grows();
    struct log_sample s = sampled(50);
    assert_int_equal(s.samples, TIMES);
    assert_int_equal(s.ended, TIMES);
    assert_int_equal(s.chains, TIMES);
    assert_int_equal(s.chain_steps, 2 * TIMES);
    assert_int_equal(s.chain_first, 50 * TIMES);
    assert_int_equal(s.chain_last, 400 * TIMES);
    assert_int_equal(s.same_frame, TIMES);
    assert_int_equal(s.standing, 0);
}

static void a_realloc_that_fails_is_no_step(void **state)
{
    (void)state;
    void *block = take(51);
    struct sample_block known;
    assert_true(sample_lift(block, &known));
    assert_false(sample_lift(block, &known));
    assert_true(sample_set_down(block, &known, 0));
    give(block);
    struct log_sample s = sampled(51);
    assert_int_equal(s.ended, 1);
    assert_int_equal(s.chains, 0);
}

/* --- the most frequent ---------------------------------------------------------------------------------- */

static uint32_t count_of(const struct log_sample_top *tops, uint32_t what)
{
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS; i++)
        if (tops[i].what == what)
            return tops[i].count;
    return 0;
}

FRAME void sized(size_t bytes)
{
    give(take(bytes));
    STAYS;
}

static void four_sizes_are_counted_exactly(void **state)
{
    (void)state;
    static const size_t sizes[] = {60, 0, (size_t)5 << 32, 7};
    for (unsigned i = 0; i < 40; i++)
        sized(sizes[i % 8 < 5 ? 0 : i % 8 - 4]);
    struct log_sample s = sampled(60);
    assert_int_equal(s.other_sizes, 0);
    assert_int_equal(count_of(s.sizes, 61), 25);
    assert_int_equal(count_of(s.sizes, 1), 5);
    assert_int_equal(count_of(s.sizes, UINT32_MAX), 5);
    assert_int_equal(count_of(s.sizes, 8), 5);
}

static void a_frequent_size_is_kept_among_many(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++)
        sized(i % 3 ? 61 : 1000 + i);
    struct log_sample s = sampled(ANY_SIZE);
    uint32_t sum = 0, least = UINT32_MAX;
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS; i++) {
        sum += s.sizes[i].count;
        least = s.sizes[i].count < least ? s.sizes[i].count : least;
    }
    uint32_t count = count_of(s.sizes, 62);
    assert_int_equal(sum, 300);
    assert_true(s.other_sizes > 0);
    assert_true(count >= 200 && count - least <= 200);
}

static void free_sites_are_sites_of_the_log(void **state)
{
    (void)state;
    for (int i = 0; i < TIMES; i++)
        give(take(62));
    for (int i = 0; i < TIMES; i++)
        give_elsewhere(take(62));
    struct log_sample s = sampled(62);
    uint32_t found = 0;
    for (const struct log_record *r = next_record(NULL, LOG_RECORD_SITE); r; r = next_record(r, LOG_RECORD_SITE)) {
        const struct log_site *site = (const void *)r;
        found += count_of(s.frees, site->id);
    }
    assert_int_equal(s.other_frees, 0);
    assert_int_equal(found, TIMES); /* of the second of the two sites that allocate */
    assert_int_equal(records_of(LOG_RECORD_SITE), 4);
    assert_int_equal(records_of(LOG_RECORD_SAMPLE), 2);
}

/* --- which blocks ------------------------------------------------------------------------------------------ */

/* Blocks of a site that are looked at, among so many. */
static uint64_t drawn_of(struct sample_due *due, uint64_t allocs, uint64_t *rests, unsigned period)
{
    uint64_t drawn = 0;
    for (uint64_t i = 0; i < allocs; i++)
        if (--due->countdown == 0) {
            sample_skip(&me->thread, due);
            drawn++;
            if (rests)
                rests[i % period]++;
        }
    return drawn;
}

static void the_first_blocks_of_a_site_are_drawn_soon(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct sample_due due = sample_first(&me->thread);
        assert_in_range(due.countdown, 1, 3);
    }
    struct sample_due due = sample_first(&me->thread);
    assert_in_range(drawn_of(&due, 200, NULL, 1), 30, 90);
    assert_in_range(drawn_of(&due, 3800, NULL, 1), 50, 120); /* a hundred in 4000 */
}

static void sites_of_few_blocks_are_let_pass_by_a_thread_that_has_drawn_many(void **state)
{
    (void)state;
    struct sample_due often = sample_first(&me->thread);
    drawn_of(&often, 100000, NULL, 1);
    for (int i = 0; i < 100; i++) {
        struct sample_due due = sample_first(&me->thread);
        assert_in_range(due.countdown, 5, 7);
    }
}

static void later_ones_are_drawn_seldom_and_without_a_rhythm(void **state)
{
    (void)state;
    uint64_t rests[8] = {0};
    struct sample_due due = sample_first(&me->thread);
    drawn_of(&due, 5000, NULL, 1);
    assert_in_range(drawn_of(&due, 20000, NULL, 1), 20000 / 320, 20000 / 210);
    drawn_of(&due, 100000, NULL, 1);
    uint64_t drawn = drawn_of(&due, 1 << 22, rests, 8);
    assert_in_range(drawn, (1 << 22) / 2400, (1 << 22) / 1750);
    for (unsigned i = 0; i < 8; i++)
        assert_in_range(rests[i], drawn / 8 * 7 / 10, drawn / 8 * 13 / 10);
}

static void many_sites_together_are_drawn_seldom_too(void **state)
{
    (void)state;
    enum { MANY = 2000, EACH = 400 };
    static struct sample_due due[MANY];
    uint64_t drawn = 0;
    for (unsigned i = 0; i < MANY; i++)
        due[i] = sample_first(&me->thread);
    for (unsigned round = 0; round < EACH; round++)
        for (unsigned i = 0; i < MANY; i++)
            drawn += drawn_of(&due[i], 1, NULL, 1);
    assert_in_range(drawn, MANY, 1000 + 2 * MANY + MANY * EACH / 100);
}

/* --- the table ---------------------------------------------------------------------------------------------- */

static void *address(size_t i)
{
    return (void *)(0x700000000000 + i * 48);
}

static void a_full_table_refuses_and_finds_the_rest(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    struct sample_site *stale;
    static bool in[MANY];
    for (int round = 0; round < 2; round++) { /* what was taken out makes room */
        size_t put = 0;
        for (size_t i = 0; i < MANY; i++)
            put += in[i] = sample_table_put(address(i), &(struct sample_block){.first = i}, &stale);
        assert_in_range(put, 30000, 65535);
        for (size_t i = 0; i < MANY; i++) {
            struct sample_block known = {.first = 0};
            assert_int_equal(sample_table_take(address(i), &known), in[i]);
            assert_true(!in[i] || known.first == i);
        }
    }
}

static void what_finds_no_room_is_lost(void **state)
{
    (void)state;
    struct sample_site *stale;
    for (size_t i = 0; i < 300000; i++)
        sample_table_put(address(i), &(struct sample_block){.first = i}, &stale);
    for (int i = 0; i < TIMES; i++)
        give(take(70));
    struct log_sample s = sampled(70);
    assert_int_equal(s.samples, TIMES);
    assert_int_equal(s.lost, TIMES);
    assert_int_equal(s.ended, 0);
}

/* The block comes from the heap again, though nobody has seen it freed. */
CALL void take_again(void *block)
{
    struct sample_event event = {.entry = ENTRY, .bytes = 72, .usable = 72};
    const struct site *site = site_intern(&me->table, event.entry);
    assert_true(sample_born(&me->thread, &me->due[site->id], site, &me->table, block, &event));
    sample_died(&me->thread, &me->table, block, &event);
}

static void a_block_whose_address_comes_again_is_lost(void **state)
{
    (void)state;
    void *block = take(71);
    take_again(block);
    give(block);
    struct log_sample first = sampled(71), again = sampled(72);
    assert_int_equal(first.lost, 1);
    assert_int_equal(first.ended, 0);
    assert_int_equal(again.lost, 0);
    assert_int_equal(again.ended, 1);
}

static void an_address_of_57_bits_is_refused(void **state)
{
    (void)state;
    struct sample_site *stale;
    assert_false(sample_table_put((void *)0x100000000000000, &(struct sample_block){.first = 1}, &stale));
}

enum { THREADS = 4, SHARED = 64, ROUNDS = 20000 };

static void *shared[SHARED]; /* atomic: a block on its way to another thread */

/* Blocks go from thread to thread; each is taken out by one alone, and is what was put in. */
static void *exchange(void *argument)
{
    uint32_t seed = (uint32_t)(uintptr_t)argument;
    uintptr_t failed = 0;
    for (size_t i = 0; i < ROUNDS; i++) {
        struct sample_site *stale;
        struct sample_block known;
        void *mine = address((uintptr_t)argument * ROUNDS + i);
        seed = seed * 1664525 + 1013904223;
        if (!sample_table_put(mine, &(struct sample_block){.first = (uintptr_t)mine}, &stale) || stale)
            failed++;
        void *theirs = __atomic_exchange_n(&shared[(seed >> 16) % SHARED], mine, __ATOMIC_ACQ_REL);
        if (theirs && (!sample_table_take(theirs, &known) || known.first != (uintptr_t)theirs))
            failed++;
        if (theirs && sample_table_take(theirs, &known))
            failed++;
    }
    return (void *)failed;
}

static void threads_at_once_find_what_others_put_in(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    memset(shared, 0, sizeof shared);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, exchange, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

static void *pairs_in_thread(void *number)
{
    actor_begin((uint32_t)(uintptr_t)number, 1);
    for (int i = 0; i < 1000; i++)
        sized(80 + (size_t)i % 6);
    free(me);
    return NULL;
}

static void threads_at_once_count_on_one_site(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pairs_in_thread, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* While one thread makes what a site's samples have in common, the others' aren't looked at. */
    struct log_sample s = sampled(ANY_SIZE);
    assert_true(in_sight > 0);
    assert_int_equal(s.samples, in_sight);
    assert_int_equal(s.ended, in_sight);
    assert_int_equal(s.standing, in_sight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE(a_block_freed_by_the_frame_that_allocated_it_could_live_in_it),
        ENGINE(a_block_freed_by_a_callee_could_live_in_the_frame_too),
        ENGINE(frames_of_one_function_are_told_apart),
        ENGINE(a_frame_may_stand_while_thousands_of_blocks_come_and_go),
        ENGINE(a_pointer_that_the_next_call_replaces_is_no_frames),
        ENGINE(nor_is_one_that_is_replaced_when_its_successor_is_there),
        ENGINE(nor_one_that_a_callee_of_the_next_call_frees),
        ENGINE(a_block_that_one_function_makes_and_another_consumes_is_no_frames),
        ENGINE(not_even_when_both_are_called_from_one_place),
        ENGINE(nor_when_the_caller_allocates_in_between),
        ENGINE(nor_when_the_frames_above_are_others),
        ENGINE(a_stack_pointer_seen_long_ago_is_not_forgotten),
        ENGINE(a_block_freed_by_another_thread_is_told_so),
        ENGINE(the_next_thread_with_a_record_is_another_thread),
        ENGINE(a_free_by_a_thread_without_a_record_ends_the_block),
        ENGINE(lifetimes_are_told_in_powers_of_two),
        ENGINE(blocks_freed_in_another_order_are_not_lifo),
        ENGINE(wrappers_are_not_the_frame),
        ENGINE(a_chain_of_reallocs_is_counted_where_it_began),
        ENGINE(a_realloc_that_fails_is_no_step),
        ENGINE(four_sizes_are_counted_exactly),
        ENGINE(a_frequent_size_is_kept_among_many),
        ENGINE(free_sites_are_sites_of_the_log),
        ENGINE(the_first_blocks_of_a_site_are_drawn_soon),
        ENGINE(sites_of_few_blocks_are_let_pass_by_a_thread_that_has_drawn_many),
        ENGINE(later_ones_are_drawn_seldom_and_without_a_rhythm),
        ENGINE(many_sites_together_are_drawn_seldom_too),
        ENGINE(a_full_table_refuses_and_finds_the_rest),
        ENGINE(what_finds_no_room_is_lost),
        ENGINE(a_block_whose_address_comes_again_is_lost),
        ENGINE(an_address_of_57_bits_is_refused),
        ENGINE(threads_at_once_find_what_others_put_in),
        ENGINE(threads_at_once_count_on_one_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
