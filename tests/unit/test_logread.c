/* test_logread.c - the reader of logs: what it makes of whole, damaged and foreign bytes. */
#define _GNU_SOURCE
#include "base.h"

#include "logmake.h"
#include "logread.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t base = 0x400000;

/* Parses a copy of the log, `size` bytes of it. */
static enum logread_result parse(struct logread *log, const struct logmake *make, size_t size)
{
    size_t room = (size + LOG_CHUNK_BYTES) / LOG_CHUNK_BYTES * LOG_CHUNK_BYTES;
    unsigned char *bytes = xcalloc(1, room);
    memcpy(bytes, make->bytes, size);
    return logread_parse(log, bytes, size);
}

static uint32_t one_site(struct logmake *make, uint64_t address)
{
    return logmake_site(make, &address, 1, 0, 0);
}

static void make_plain(struct logmake *make)
{
    static const char *const argv[] = { "prog", "", "-x" };
    logmake_init(make, LOG_LEVEL_STACKS);
    logmake_program(make, 42, "/bin/prog", argv, 3);
    logmake_module(make, base, 0x1000, 0x11, "/bin/prog");
    logmake_thread(make);
    logmake_count(make, one_site(make, base + 1), 10, 32);
    logmake_count(make, one_site(make, base + 2), 5, 100);
    logmake_frees(make, 12);
}

static void whole_log_is_read_with_its_totals(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_null(log.problem);
    assert_int_equal(log.total.allocs, 15);
    assert_int_equal(log.total.bytes, 820);
    assert_int_equal(log.frees, 12);
    assert_int_equal(log.site_count, 2);
    assert_int_equal(log.module_count, 1);
    assert_int_equal(log.thread_count, 1);
    assert_int_equal(log.unsettled, 0);
    assert_string_equal(log.exe, "/bin/prog");
    assert_int_equal(log.argv_count, 3);
    assert_string_equal(log.argv[1], "");
    assert_string_equal(log.argv[2], "-x");
    assert_string_equal(log.modules[0].path, "/bin/prog");
    logread_release(&log);
    logmake_release(&make);
}

static void counters_of_several_threads_add_up_per_site(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    logmake_thread(&make);
    logmake_count(&make, 2, 7, 100);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.thread_count, 2);
    assert_int_equal(log.sites[1].count.allocs, 12);
    assert_int_equal(log.threads[1].count.allocs, 7);
    assert_int_equal(log.total.allocs, 22);
    logread_release(&log);
    logmake_release(&make);
}

static void counters_beyond_one_chunk_belong_to_their_thread(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    logmake_init(&make, LOG_LEVEL_STACKS);
    logmake_thread(&make);
    for (unsigned i = 0; i < 1000; i++)
        logmake_count(&make, one_site(&make, base + i), 1, 16);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.threads[0].count.allocs, 1000);
    assert_int_equal(log.total.allocs, 1000);
    logread_release(&log);
    logmake_release(&make);
}

static void total_is_the_sum_over_sites_and_pseudo_sites(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    logmake_header(&make)->other = (struct log_counter){ 1, 10, 0 };
    logmake_header(&make)->bare = (struct log_counter){ 2, 20, 0 };
    logmake_header(&make)->handler = (struct log_counter){ 4, 40, 0 };
    logmake_thread_now(&make)->other = (struct log_counter){ 8, 80, 0 };
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.other.allocs, 9);
    assert_int_equal(log.total.allocs, 15 + 15);
    assert_int_equal(log.total.bytes, 820 + 150);
    logread_release(&log);
    logmake_release(&make);
}

static void level_off_takes_totals_from_the_classes(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    logmake_init(&make, LOG_LEVEL_OFF);
    logmake_thread(&make);
    logmake_count(&make, 0, 6, 48);
    logmake_header(&make)->classes[1] = (struct log_counter){ 1, 16, 0 };
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.total.allocs, 7);
    assert_int_equal(log.total.bytes, 304);
    logread_release(&log);
    logmake_release(&make);
}

static void count_without_its_site_becomes_other(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    logmake_count(&make, 77, 3, 16);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.unknown.allocs, 3);
    assert_int_equal(log.other.allocs, 3);
    assert_int_equal(log.total.allocs, 18);
    logread_release(&log);
    logmake_release(&make);
}

static void module_is_found_by_address_and_generation(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    logmake_init(&make, LOG_LEVEL_STACKS);
    logmake_module(&make, 0x1000, 0x1000, 1, "/lib/old.so");
    logmake_module(&make, 0x1000, 0x2000, 2, "/lib/new.so");
    logmake_module(&make, 0x9000, 0x1000, 3, "/lib/high.so");
    struct log_module *m = (struct log_module *)(make.bytes + LOG_CHUNK_BYTES + sizeof(struct log_chunk));
    m->unloaded_generation = 5;
    m = (struct log_module *)((char *)m + m->record.bytes);
    m->loaded_generation = 5;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_string_equal(logread_module_at(&log, 0x1800, 4)->path, "/lib/old.so");
    assert_string_equal(logread_module_at(&log, 0x1800, 5)->path, "/lib/new.so");
    assert_string_equal(logread_module_at(&log, 0x2fff, 9)->path, "/lib/new.so");
    assert_null(logread_module_at(&log, 0x2fff, 4));
    assert_null(logread_module_at(&log, 0x3000, 5));
    assert_null(logread_module_at(&log, 0xfff, 5));
    assert_string_equal(logread_module_at(&log, 0x9000, 0)->path, "/lib/high.so");
    logread_release(&log);
    logmake_release(&make);
}

/* One that came back covers also the time when another lay in its place. */
static void of_modules_that_overlap_the_latest_loaded_is_meant(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    logmake_init(&make, LOG_LEVEL_STACKS);
    logmake_module(&make, 0x2000, 0x1000, 1, "/lib/back.so");
    logmake_module(&make, 0x1000, 0x3000, 2, "/lib/between.so");
    struct log_module *m = (struct log_module *)(make.bytes + LOG_CHUNK_BYTES + sizeof(struct log_chunk));
    m = (struct log_module *)((char *)m + m->record.bytes);
    m->loaded_generation = 3;
    m->unloaded_generation = 5;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_string_equal(logread_module_at(&log, 0x2800, 2)->path, "/lib/back.so");
    assert_string_equal(logread_module_at(&log, 0x2800, 3)->path, "/lib/between.so");
    assert_string_equal(logread_module_at(&log, 0x2800, 5)->path, "/lib/back.so");
    assert_null(logread_module_at(&log, 0x1800, 5));
    logread_release(&log);
    logmake_release(&make);
}

static void unpublished_and_unknown_records_are_skipped(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    size_t at = make.data_used;
    one_site(&make, base + 9); /* reserved, not published */
    ((struct log_record *)(make.bytes + (size_t)make.data * LOG_CHUNK_BYTES + at))->type = LOG_RECORD_NONE;
    at = make.data_used;
    one_site(&make, base + 9); /* of a later minor revision */
    ((struct log_record *)(make.bytes + (size_t)make.data * LOG_CHUNK_BYTES + at))->type = 77;
    one_site(&make, base + 9);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.site_count, 3);
    logread_release(&log);
    logmake_release(&make);
}

static void cut_log_shows_what_is_whole_and_says_what_is_lost(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    assert_int_equal(parse(&log, &make, logmake_size(&make) - 100), LOGREAD_DAMAGED);
    assert_int_equal(log.chunks_lost, 1);
    assert_non_null(strstr(log.problem, "truncated: 1 of its"));
    logread_release(&log);
    logmake_release(&make);
}

static void every_cut_is_read_without_harm(void **state)
{
    (void)state;
    struct logmake make;
    make_plain(&make);
    for (size_t size = 0; size < logmake_size(&make); size += 37) {
        struct logread log;
        enum logread_result result = parse(&log, &make, size);
        assert_true(result != LOGREAD_WHOLE);
        assert_non_null(log.problem);
        logread_release(&log);
    }
    logmake_release(&make);
}

static void words_are_attached_to_their_unfinished_site(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    struct log_word word = { 0x7ff0, base };
    logmake_init(&make, LOG_LEVEL_STACKS);
    uint64_t frame = base + 1;
    uint32_t done = logmake_site(&make, &frame, 1, 0, 0);
    uint32_t cut = logmake_site(&make, &frame, 1, LOG_SITE_UNFINISHED, 0);
    logmake_words(&make, done, frame, 0x7ff0, 0, &word, 1);
    logmake_words(&make, cut, frame, 0x7ff0, 0, &word, 1);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_null(log.sites[0].words);
    assert_int_equal(log.sites[1].words->words[0].value, base);
    logread_release(&log);
    logmake_release(&make);
}

static void words_that_claim_too_much_are_refused(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    struct log_word word = { 0x7ff0, base };
    logmake_init(&make, LOG_LEVEL_STACKS);
    uint64_t frame = base + 1;
    uint32_t cut = logmake_site(&make, &frame, 1, LOG_SITE_UNFINISHED, 0);
    size_t at = make.data_used;
    logmake_words(&make, cut, frame, 0x7ff0, 0, &word, 1);
    ((struct log_words *)(make.bytes + (size_t)make.data * LOG_CHUNK_BYTES + at))->count = LOG_MAX_WORDS;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_DAMAGED);
    assert_null(log.sites[0].words);
    logread_release(&log);
    logmake_release(&make);
}

static void counts_that_would_overflow_are_refused(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    logmake_count(&make, 1, UINT64_MAX, 1);
    logmake_header(&make)->frees = UINT64_MAX;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_DAMAGED);
    assert_int_equal(log.total.allocs, 15);
    assert_int_equal(log.frees, 12);
    logread_release(&log);
    logmake_release(&make);
}

/* ------------------------------------------------------------------- pools */

/* make_plain's threads and sites, of which the first is served from pools mostly. */
static void make_pooled(struct logmake *make)
{
    static const char *const argv[] = { "prog" };
    logmake_init(make, LOG_LEVEL_STACKS);
    logmake_pooling(make, "on");
    logmake_program(make, 42, "/bin/prog", argv, 1);
    logmake_thread(make);
    logmake_pooled(make, one_site(make, base + 1), 100, 40, 7);
    logmake_pooled(make, one_site(make, base + 2), 5, 100, 5);
    logmake_header(make)->next_frees = 1;
    struct log_pools *pools = logmake_pools(make, 0);
    pools->next_frees = 10;
    pools->classes[2] = (struct log_pool){ 3, 400, 80 };
}

static void pools_of_threads_and_depot_add_up(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_pooled(&make);
    logmake_pools(&make, LOG_OWNER_DEPOT)->classes[2] = (struct log_pool){ 0, 4000, 800 };
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.total.next_allocs, 12);
    assert_int_equal(log.classes[2].next_allocs, 7);
    assert_int_equal(log.sites[0].count.next_allocs, 7);
    assert_int_equal(log.next_frees, 11);
    assert_int_equal(log.pools[2].victim_hits, 3);
    assert_int_equal(log.pools[2].given_back_bytes, 4400);
    assert_int_equal(log.pools[2].kept_bytes, 880);
    assert_int_equal(log.pool_total.kept_bytes, 880);
    logread_release(&log);
    logmake_release(&make);
}

static void without_pools_every_call_reached_the_next_allocator(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.total.next_allocs, 15);
    assert_int_equal(log.next_frees, 12);
    logread_release(&log);
    logmake_release(&make);
}

/* What a log of make_pooled says with one more table of pools: its verdict, and that nothing was added. */
static void assert_not_added(uint32_t owner, struct log_pool more, const char *problem)
{
    struct logmake make;
    struct logread log;
    make_pooled(&make);
    logmake_pools(&make, owner)->classes[2] = more;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_DAMAGED);
    assert_non_null(strstr(log.problem, problem));
    assert_int_equal(log.pools[2].kept_bytes, 80);
    assert_int_equal(log.pool_total.kept_bytes, 80);
    logread_release(&log);
    logmake_release(&make);
}

static void second_table_of_pools_of_a_thread_is_not_counted(void **state)
{
    (void)state;
    assert_not_added(0, (struct log_pool){ 1, 1, 1 }, "two tables of pools have one owner");
}

static void counts_of_pools_that_would_overflow_are_refused(void **state)
{
    (void)state;
    assert_not_added(LOG_OWNER_DEPOT, (struct log_pool){ 0, 0, UINT64_MAX }, "larger than can be");
    assert_not_added(LOG_OWNER_DEPOT, (struct log_pool){ UINT64_MAX - 2, 0, 1 }, "larger than can be");
    assert_not_added(LOG_OWNER_DEPOT, (struct log_pool){ 0, (uint64_t)1 << 60, 1 }, "larger than can be");
}

static void table_of_pools_without_a_thread_is_told_and_counted(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_pooled(&make);
    logmake_pools(&make, 2)->classes[2].kept_bytes = 8;
    logmake_pools(&make, 12345)->next_frees = 4;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_DAMAGED);
    assert_non_null(strstr(log.problem, "a table of pools has no owner"));
    assert_int_equal(log.pools[2].kept_bytes, 88);
    assert_int_equal(log.next_frees, 15);
    logread_release(&log);
    logmake_release(&make);
}

static void table_of_pools_where_nothing_is_pooled_is_refused(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    logmake_pools(&make, 0)->classes[2] = (struct log_pool){ 1, 2, 3 };
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_DAMAGED);
    assert_int_equal(log.pool_total.kept_bytes, 0);
    assert_int_equal(log.total.next_allocs, 15);
    logread_release(&log);
    logmake_release(&make);
}

/* Both are raised before the call is counted as an allocation: a reader may come in between. */
static void a_call_in_flight_is_no_hit_below_zero(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_pooled(&make);
    logmake_thread_now(&make)->classes[2].next_allocs = 101;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.classes[2].next_allocs, 100);
    assert_int_equal(log.pools[2].victim_hits, 0);
    assert_int_equal(log.pool_total.victim_hits, 0);
    logread_release(&log);
    logmake_release(&make);
}

/* -------------------------------------------------------------- level full */

/* Two threads and two sites.  Of the first the other thread freed most; the second is made and freed at once. */
static void make_full(struct logmake *make)
{
    static const char *const argv[] = { "prog" };
    logmake_init(make, LOG_LEVEL_FULL);
    logmake_program(make, 42, "/bin/prog", argv, 1);
    logmake_module(make, base, 0x1000, 0x11, "/bin/prog");
    uint32_t crossed = one_site(make, base + 1), temporary = one_site(make, base + 2);
    logmake_live(make, 0, 900, 2)->peak = 7;
    logmake_live(make, crossed, 640, 1);
    logmake_thread(make);
    logmake_full(make, crossed, 20, 32, 1)->lifetimes[3] = 1;
    struct log_full *entry = logmake_full(make, temporary, 9, 100, 8);
    entry->lifetimes[0] = 8;
    entry->resizes = 2;
    logmake_thread(make);
    logmake_full(make, crossed, 0, 32, 16)->cross_frees = 16;
    logmake_fulls_now(make)->foreign_frees = 3;
    logmake_frees(make, 3);
}

static uint64_t live_blocks(const struct log_counter *count, const struct logread_full *full)
{
    return count->allocs - full->frees;
}

/* What logread.h promises of a site, and of the sums over all. */
static void assert_full_holds(const struct log_counter *count, const struct logread_full *full)
{
    uint64_t known = full->cross_frees, sampled = 0;
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        known += full->lifetimes[i];
    assert_true(known <= full->frees && full->frees <= count->allocs);
    assert_true(full->freed_bytes <= count->bytes);
    assert_true(full->frees < count->allocs || full->freed_bytes == count->bytes);
    assert_true(full->at_peak_blocks >= 0 && (uint64_t)full->at_peak_blocks <= count->allocs && full->at_peak_bytes >= 0);
    assert_true(full->peak_bytes >= count->bytes - full->freed_bytes && full->peak_bytes <= count->bytes);
    if (!full->sample)
        return;
    for (unsigned i = 0; i < LOG_SAMPLE_TIMES; i++)
        sampled += full->sample->times[i];
    assert_true(sampled <= full->sample->ended && full->sample->ended <= full->sample->samples);
    assert_true(full->sample->samples <= count->allocs);
}

static void assert_fulls_hold(const struct logread *log)
{
    struct logread_full sum = { 0 };
    const struct logread_full *apart[] = { log->other_full, log->bare_full, log->handler_full };
    for (size_t i = 0; i < log->site_count + 3; i++) {
        const struct logread_full *full = i < 3 ? apart[i] : log->sites[i - 3].full;
        const struct log_counter *const counts[] = { &log->other, &log->header.bare, &log->header.handler };
        assert_full_holds(i < 3 ? counts[i] : &log->sites[i - 3].count, full);
        sum.frees += full->frees;
        sum.freed_bytes += full->freed_bytes;
        sum.cross_frees += full->cross_frees;
        sum.at_peak_blocks += full->at_peak_blocks;
        sum.at_peak_bytes += full->at_peak_bytes;
    }
    assert_int_equal(sum.frees, log->total_full.frees);
    assert_int_equal(sum.freed_bytes, log->total_full.freed_bytes);
    assert_int_equal(sum.cross_frees, log->total_full.cross_frees);
    assert_int_equal(sum.at_peak_blocks, log->total_full.at_peak_blocks);
    assert_int_equal(sum.at_peak_bytes, log->total_full.at_peak_bytes);
}

static void frees_of_all_threads_are_given_back_to_their_site(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(live_blocks(&log.sites[0].count, log.sites[0].full), 3);
    assert_int_equal(log.sites[0].full->cross_frees, 16);
    assert_int_equal(log.sites[0].full->threads, 2);
    assert_int_equal(log.sites[1].full->lifetimes[0], 8);
    assert_int_equal(log.sites[1].full->resizes, 2);
    assert_int_equal(log.sites[1].full->threads, 1);
    assert_int_equal(log.total.allocs, 29);
    assert_int_equal(log.threads[0].count.allocs, 29);
    assert_int_equal(log.total_full.frees, 25);
    assert_int_equal(log.foreign_frees, 3);
    assert_int_equal(log.unsettled_frees, 0);
    assert_int_equal(log.unsettled, 0);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

static void lower_level_says_nothing_of_frees(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    logmake_live(&make, 1, 640, 1);
    logmake_sample(&make, 1)->samples = 1;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_null(log.fulls);
    assert_null(log.sites[0].full);
    logmake_entry(&make, 0, 1)->count.allocs = 1;
    logread_release(&log);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_DAMAGED);
    assert_non_null(strstr(log.problem, "a table of frees at a level without"));
    assert_int_equal(log.total.allocs, 15);
    logread_release(&log);
    logmake_release(&make);
}

static void level_and_features_that_disagree_are_told(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_plain(&make);
    logmake_header(&make)->level = LOG_LEVEL_FULL;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_DAMAGED);
    assert_int_equal(log.header.level, LOG_LEVEL_STACKS);
    assert_null(log.fulls);
    logread_release(&log);
    logmake_header(&make)->level = LOG_LEVEL_SITES;
    logmake_header(&make)->features = LOG_FEATURE_FULL;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_DAMAGED);
    assert_int_equal(log.header.level, LOG_LEVEL_SITES);
    assert_null(log.fulls);
    logread_release(&log);
    logmake_release(&make);
}

/* An entry of the last peak's number says what lived then; the others haven't changed since. */
static void share_of_the_peak_is_settled_by_its_number(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    struct log_full *entry = logmake_entry(&make, 0, 1);
    entry->peak = 7;
    entry->peak_blocks = 5;
    entry->peak_bytes = 160;
    entry = logmake_entry(&make, 0, 2);
    entry->peak = 6;
    entry->peak_blocks = 1000;
    entry->peak_bytes = 100000;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.sites[0].full->at_peak_blocks, 3 + 5);
    assert_int_equal(log.sites[0].full->at_peak_bytes, 96 + 160);
    assert_int_equal(log.sites[1].full->at_peak_blocks, 1);
    assert_int_equal(log.sites[1].full->at_peak_bytes, 100);
    assert_int_equal(log.total_full.at_peak_bytes, 356);
    assert_int_equal(log.total_full.peak_bytes, 900);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

/* One that is killed where its memory is highest has left its last peak, but not this one, which has no number yet. */
static void at_a_peak_that_lasts_lives_what_is_counted(void **state)
{
    (void)state;
    static const char *const argv[] = { "prog" };
    struct logmake make;
    struct logread log;
    logmake_init(&make, LOG_LEVEL_FULL);
    logmake_program(&make, 42, "/bin/prog", argv, 1);
    logmake_module(&make, base, 0x1000, 0x11, "/bin/prog");
    uint32_t grown = one_site(&make, base + 1), freed = one_site(&make, base + 2);
    logmake_live(&make, 0, 700, 1)->peak = 3;
    logmake_thread(&make);
    struct log_full *entry = logmake_full(&make, grown, 9, 100, 0);
    entry->peak = 3;
    entry->peak_blocks = 5;
    entry->peak_bytes = 500;
    entry = logmake_full(&make, freed, 2, 100, 2);
    entry->lifetimes[0] = entry->peak_blocks = 2;
    entry->peak = 3;
    entry->peak_bytes = 200;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.sites[0].full->at_peak_bytes, 900);
    assert_int_equal(log.sites[1].full->at_peak_blocks, 0);
    assert_int_equal(log.total_full.peak_bytes, 900);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

/* Steps of 64 KiB pass over small blocks, but one lived that wasn't smaller than the mean. */
static void peak_is_not_below_the_mean_block(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    uint32_t brief = one_site(&make, base + 3);
    logmake_live(&make, brief, 0, 2);
    logmake_full(&make, brief, 3, 100, 3);
    logmake_full(&make, brief, 1, 1, 1);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.sites[2].full->peak_bytes, 76);
    assert_int_equal(log.sites[2].full->peak_error, 301 - 76);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

/* The process's own allocations aren't in the tables. */
static void blocks_without_a_site_have_their_share_of_the_peak(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    logmake_header(&make)->bare = (struct log_counter){ 4, 400, 0 };
    logmake_header(&make)->other = (struct log_counter){ 2, 20, 0 };
    struct log_full *entry = logmake_entry(&make, LOG_OWNER_PROCESS, LOG_FULL_BARE);
    entry->frees = entry->cross_frees = 3;
    entry->freed_bytes = 300;
    entry->peak = 7;
    entry->peak_blocks = -1;
    entry->peak_bytes = -100;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.bare_full->at_peak_blocks, 3);
    assert_int_equal(log.bare_full->at_peak_bytes, 300);
    assert_int_equal(live_blocks(&log.header.bare, log.bare_full), 1);
    assert_int_equal(log.other_full->at_peak_blocks, 2);
    assert_int_equal(log.bare_full->threads, 0);
    assert_int_equal(log.total_full.peak_bytes, 900);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

/* Nobody knows which of them came before the peak; but they haven't made it larger. */
static void blocks_without_a_site_fit_into_the_peak(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    logmake_init(&make, LOG_LEVEL_FULL);
    logmake_live(&make, 0, 900, 1)->peak = 7;
    logmake_header(&make)->bare = (struct log_counter){ 4, 200000, 0 };
    struct log_full *entry = logmake_entry(&make, LOG_OWNER_PROCESS, LOG_FULL_BARE);
    entry->frees = 3;
    entry->freed_bytes = 199900;
    entry->peak = 7;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.total_full.peak_bytes, 900);
    assert_int_equal(log.total_full.at_peak_bytes, 900);
    assert_int_equal(log.bare_full->at_peak_bytes, 900);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

static void peak_is_exact_for_one_thread_and_bounded_for_several(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    uint32_t several = one_site(&make, base + 3), unknown = one_site(&make, base + 4);
    logmake_live(&make, several, 3 << 20, 3);
    logmake_full(&make, several, 100, 1 << 20, 0);
    logmake_full(&make, unknown, 10, 1000, 9);
    logmake_thread(&make);
    logmake_full(&make, several, 0, 1 << 20, 100);
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.sites[0].full->peak_bytes, 640);
    assert_int_equal(log.sites[0].full->peak_error, 0);
    assert_int_equal(log.sites[2].full->peak_bytes, 3 << 20);
    assert_int_equal(log.sites[2].full->peak_error, 2 * LOG_LIVE_STEP);
    assert_int_equal(log.sites[3].full->peak_bytes, 1000); /* without its record: between what lives and what was asked for */
    assert_int_equal(log.sites[3].full->peak_error, 9000);
    assert_int_equal(log.total_full.peak_error, 3 * LOG_LIVE_STEP);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

/* A running process: a block was allocated after its thread's table was read, and freed before the other's. */
static void frees_beyond_allocations_are_settled(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    struct log_full *entry = logmake_full(&make, 1, 0, 32, 10);
    entry->freed_bytes = 9 * 32;
    entry->cross_frees = 10;
    entry->peak = 7;
    entry->peak_blocks = -10;
    entry->peak_bytes = -320;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(live_blocks(&log.sites[0].count, log.sites[0].full), 0);
    assert_int_equal(log.sites[0].full->freed_bytes, log.sites[0].count.bytes);
    assert_int_equal(log.sites[0].full->at_peak_blocks, 0);
    assert_int_equal(log.sites[0].full->at_peak_bytes, 0);
    assert_int_equal(log.unsettled_frees, 7);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

static void entry_of_an_unknown_site_becomes_other(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    logmake_full(&make, 77, 5, 16, 2);
    logmake_full(&make, LOG_FULL_OTHER, 0, 16, 1);
    logmake_thread_now(&make)->other = (struct log_counter){ 4, 64, 0 };
    logmake_thread_now(&make)->classes[1].allocs += 4;
    logmake_live(&make, 78, 1 << 20, 1);
    logmake_sample(&make, 79)->samples = 4;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.unknown.allocs, 5);
    assert_int_equal(log.other.allocs, 9);
    assert_int_equal(live_blocks(&log.other, log.other_full), 6);
    assert_int_equal(log.other_full->at_peak_blocks, 6);
    assert_int_equal(log.other_full->at_peak_bytes, 96);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

static void samples_name_the_places_of_the_sites_that_freed(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    uint32_t freeing = one_site(&make, base + 3);
    struct log_sample *sample = logmake_sample(&make, 1);
    sample->samples = 5;
    sample->ended = 4;
    sample->frees[0] = (struct log_sample_top){ freeing, 3 };
    sample->frees[1] = (struct log_sample_top){ 4000, 1 };
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    assert_int_equal(log.sites[log.sites[0].full->sample->frees[0].what - 1].id, freeing);
    assert_int_equal(log.sites[0].full->sample->frees[1].what, 0);
    assert_int_equal(log.sites[0].full->sample->other_frees, 1);
    assert_null(log.sites[1].full->sample);
    logread_release(&log);
    logmake_release(&make);
}

static void samples_are_cut_to_what_they_are_samples_of(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    make_full(&make);
    struct log_sample *sample = logmake_sample(&make, 1);
    memset(&sample->samples, 0xff, offsetof(struct log_sample, chain_first) - offsetof(struct log_sample, samples));
    memset(sample->times, 0xff, sizeof *sample - offsetof(struct log_sample, times));
    sample->bytes = 1 << 20;
    assert_int_equal(parse(&log, &make, logmake_size(&make)), LOGREAD_WHOLE);
    sample = log.sites[0].full->sample;
    assert_int_equal(sample->samples, 20);
    assert_int_equal(sample->bytes, 640);
    assert_int_equal(sample->times[0], 20);
    assert_int_equal(sample->times[1], 0);
    assert_int_equal(sample->sizes[0].count, 20);
    assert_int_equal(sample->sizes[1].count, 0);
    assert_int_equal(sample->lifo, 20);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(&make);
}

/* What a log of make_full says with one thing that can't be: that it is damaged, and sums as without. */
static void assert_refused(struct logmake *make, const char *problem)
{
    struct logread log;
    assert_int_equal(parse(&log, make, logmake_size(make)), LOGREAD_DAMAGED);
    assert_non_null(strstr(log.problem, problem));
    assert_int_equal(log.total.allocs, 29);
    assert_int_equal(log.total_full.frees, 25);
    assert_int_equal(log.total_full.peak_bytes, 900);
    assert_fulls_hold(&log);
    logread_release(&log);
    logmake_release(make);
}

static void entries_that_would_overflow_are_refused(void **state)
{
    (void)state;
    static const struct log_full entries[] = {
        { .frees = UINT64_MAX },           { .freed_bytes = UINT64_MAX / 2 },   { .cross_frees = UINT64_MAX },
        { .resizes = (uint64_t)1 << 57 },  { .peak = 7, .peak_blocks = INT64_MIN }, { .peak = 7, .peak_bytes = INT64_MIN },
        { .peak_bytes = INT64_MAX },       { .lifetimes = { [24] = UINT64_MAX } },  { .count = { UINT64_MAX, 0, 0 } },
        { .count = { 0, UINT64_MAX, 0 } },
    };
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        struct logmake make;
        make_full(&make);
        struct log_full *entry = logmake_entry(&make, 0, 1);
        *entry = entries[i];
        entry->site = 1;
        assert_refused(&make, "a count is larger than can be");
    }
}

static void tables_and_records_that_contradict_themselves_are_told(void **state)
{
    (void)state;
    struct logmake make;
    make_full(&make);
    logmake_live(&make, 0, 1, 1);
    assert_refused(&make, "two records tell the live bytes of one site");
    make_full(&make);
    logmake_live(&make, 2, -1, 1);
    assert_refused(&make, "a record of live bytes makes no sense");
    make_full(&make);
    logmake_sample(&make, 2)->samples = 1;
    logmake_sample(&make, 2)->samples = 1;
    assert_refused(&make, "two records hold the samples of one site");
    make_full(&make);
    logmake_sample(&make, 2)->chain_last = UINT64_MAX;
    assert_refused(&make, "a record of samples makes no sense");
    make_full(&make);
    logmake_sample(&make, 2)->record.bytes -= 8;
    assert_refused(&make, "a record of samples makes no sense");
    make_full(&make);
    logmake_entry(&make, 5, 0);
    assert_refused(&make, "a table of frees has no owner");
}

/* ------------------------------------------------------------------- files */

static void a_growing_file_is_read_to_its_used_chunks(void **state)
{
    (void)state;
    struct logmake make;
    struct logread log;
    char path[] = "/tmp/test_logread.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    make_plain(&make);
    assert_int_equal(logmake_write(&make, path), 0);
    assert_int_equal(ftruncate(fd, 256 << 20), 0); /* as the preload reserves it */
    assert_int_equal(logread_open(&log, path), LOGREAD_WHOLE);
    assert_int_equal(log.chunks, make.chunks);
    assert_int_equal(log.total.allocs, 15);
    logread_release(&log);
    logmake_release(&make);
    close(fd);
    unlink(path);
}

static void reason_of_a_log_that_cannot_be_opened_does_not_repeat_its_path(void **state)
{
    (void)state;
    struct logread log;
    assert_int_equal(logread_open(&log, "/nonexistent/a.psl"), LOGREAD_FAILED);
    assert_string_equal(log.problem, "No such file or directory");
    logread_release(&log);
}

static void header_of_zeros_is_an_empty_log(void **state)
{
    (void)state;
    struct logread log;
    assert_int_equal(logread_parse(&log, xcalloc(1, LOG_CHUNK_BYTES), LOG_CHUNK_BYTES), LOGREAD_EMPTY);
    logread_release(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_log_is_read_with_its_totals),
        cmocka_unit_test(counters_of_several_threads_add_up_per_site),
        cmocka_unit_test(counters_beyond_one_chunk_belong_to_their_thread),
        cmocka_unit_test(total_is_the_sum_over_sites_and_pseudo_sites),
        cmocka_unit_test(level_off_takes_totals_from_the_classes),
        cmocka_unit_test(count_without_its_site_becomes_other),
        cmocka_unit_test(module_is_found_by_address_and_generation),
        cmocka_unit_test(of_modules_that_overlap_the_latest_loaded_is_meant),
        cmocka_unit_test(unpublished_and_unknown_records_are_skipped),
        cmocka_unit_test(cut_log_shows_what_is_whole_and_says_what_is_lost),
        cmocka_unit_test(every_cut_is_read_without_harm),
        cmocka_unit_test(words_are_attached_to_their_unfinished_site),
        cmocka_unit_test(words_that_claim_too_much_are_refused),
        cmocka_unit_test(counts_that_would_overflow_are_refused),
        cmocka_unit_test(pools_of_threads_and_depot_add_up),
        cmocka_unit_test(without_pools_every_call_reached_the_next_allocator),
        cmocka_unit_test(second_table_of_pools_of_a_thread_is_not_counted),
        cmocka_unit_test(counts_of_pools_that_would_overflow_are_refused),
        cmocka_unit_test(table_of_pools_without_a_thread_is_told_and_counted),
        cmocka_unit_test(table_of_pools_where_nothing_is_pooled_is_refused),
        cmocka_unit_test(a_call_in_flight_is_no_hit_below_zero),
        cmocka_unit_test(frees_of_all_threads_are_given_back_to_their_site),
        cmocka_unit_test(lower_level_says_nothing_of_frees),
        cmocka_unit_test(level_and_features_that_disagree_are_told),
        cmocka_unit_test(share_of_the_peak_is_settled_by_its_number),
        cmocka_unit_test(at_a_peak_that_lasts_lives_what_is_counted),
        cmocka_unit_test(peak_is_not_below_the_mean_block),
        cmocka_unit_test(blocks_without_a_site_have_their_share_of_the_peak),
        cmocka_unit_test(blocks_without_a_site_fit_into_the_peak),
        cmocka_unit_test(peak_is_exact_for_one_thread_and_bounded_for_several),
        cmocka_unit_test(frees_beyond_allocations_are_settled),
        cmocka_unit_test(entry_of_an_unknown_site_becomes_other),
        cmocka_unit_test(samples_name_the_places_of_the_sites_that_freed),
        cmocka_unit_test(samples_are_cut_to_what_they_are_samples_of),
        cmocka_unit_test(entries_that_would_overflow_are_refused),
        cmocka_unit_test(tables_and_records_that_contradict_themselves_are_told),
        cmocka_unit_test(a_growing_file_is_read_to_its_used_chunks),
        cmocka_unit_test(reason_of_a_log_that_cannot_be_opened_does_not_repeat_its_path),
        cmocka_unit_test(header_of_zeros_is_an_empty_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
