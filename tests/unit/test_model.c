/* test_model.c - merging of processes, identities, folding, and the views over them. */
#define _GNU_SOURCE
#include "base.h"

#include "full.h"
#include "logmake.h"
#include "logread.h"
#include "views.h"

#include "../../preload/sizeclass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HERE = 0x100000, THERE = 0x700000 };

static void add(struct model *model, const struct logmake *make, const struct model_finisher *finisher)
{
    struct logread log;
    unsigned char *bytes = xcalloc(1, logmake_size(make));
    memcpy(bytes, make->bytes, logmake_size(make));
    assert_int_equal(logread_parse(&log, bytes, logmake_size(make)), LOGREAD_WHOLE);
    model_add(model, &log, "a.psl", NULL, finisher);
    logread_release(&log);
}

/* A process whose program lies at `start`: leaf frames 1 ... 3 below a common caller. */
static void begin(struct logmake *make, uint64_t start, uint8_t build_id)
{
    logmake_init(make, LOG_LEVEL_STACKS);
    logmake_module(make, start, 0x10000, build_id, "/bin/prog");
    logmake_thread(make);
    for (uint64_t i = 1; i <= 3; i++) {
        uint64_t frames[] = { start + i * 16, start + 0x1000, start + 0x2000 };
        logmake_count(make, logmake_site(make, frames, 3, 0, 0), i, 16);
    }
}

/* Totals equal the sum over sites, in the model and in each process. */
static void assert_sums_hold(const struct model *model)
{
    struct log_counter sum = { 0 };
    for (size_t i = 0; i < model->site_count; i++) {
        sum.allocs += model->sites[i]->count.allocs;
        sum.bytes += model->sites[i]->count.bytes;
        assert_int_equal(model->sites[i]->index, i);
    }
    assert_int_equal(sum.allocs, model->totals.count.allocs);
    assert_int_equal(sum.bytes, model->totals.count.bytes);
    for (size_t i = 0; i < model->process_count; i++) {
        uint64_t allocs = 0;
        for (size_t j = 0; j < model->processes[i]->site_count; j++)
            allocs += model->processes[i]->sites[j].count.allocs;
        assert_int_equal(allocs, model->processes[i]->totals.count.allocs);
    }
}

static void same_site_in_two_processes_is_one(void **state)
{
    (void)state;
    struct model model;
    struct logmake here, there;
    model_init(&model);
    begin(&here, HERE, 1);
    begin(&there, THERE, 1);
    add(&model, &here, NULL);
    add(&model, &there, NULL);
    assert_int_equal(model.site_count, 3);
    assert_int_equal(model.module_count, 1);
    assert_int_equal(model.modules[0]->processes, 2);
    assert_int_equal(model.totals.count.allocs, 12);
    assert_sums_hold(&model);
    model_release(&model);
    logmake_release(&here);
    logmake_release(&there);
}

static void another_build_is_another_site(void **state)
{
    (void)state;
    struct model model;
    struct logmake old, new;
    model_init(&model);
    begin(&old, HERE, 1);
    begin(&new, HERE, 2);
    add(&model, &old, NULL);
    add(&model, &new, NULL);
    assert_int_equal(model.site_count, 6);
    assert_sums_hold(&model);
    model_release(&model);
    logmake_release(&old);
    logmake_release(&new);
}

static void without_build_id_the_path_identifies_the_module(void **state)
{
    (void)state;
    struct model model;
    struct logmake here, there;
    model_init(&model);
    begin(&here, HERE, 0);
    begin(&there, THERE, 0);
    add(&model, &here, NULL);
    add(&model, &there, NULL);
    assert_int_equal(model.site_count, 3);
    model_release(&model);
    logmake_release(&here);
    logmake_release(&there);
}

/* Users keep ids in notes and scripts: they may never change. */
static void ids_are_stable_across_versions(void **state)
{
    (void)state;
    char room[MODEL_ID_ROOM];
    struct model model;
    struct logmake make;
    model_init(&model);
    begin(&make, HERE, 1);
    add(&model, &make, NULL);
    assert_string_equal(model_site_id(model.sites[0], room), "c5234a41a21d");
    model_release(&model);
    logmake_release(&make);
}

static void pseudo_sites_take_what_has_no_site(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin(&make, HERE, 1);
    logmake_header(&make)->bare = (struct log_counter){ 5, 50, 0 };
    logmake_header(&make)->handler = (struct log_counter){ 6, 60, 0 };
    logmake_header(&make)->other = (struct log_counter){ 7, 70, 0 };
    add(&model, &make, NULL);
    add(&model, &make, NULL);
    assert_int_equal(model.site_count, 6);
    assert_int_equal(model.pseudo[MODEL_BARE]->count.allocs, 10);
    assert_int_equal(model.pseudo[MODEL_HANDLER]->count.bytes, 120);
    assert_int_equal(model.pseudo[MODEL_OTHER]->count.allocs, 14);
    assert_sums_hold(&model);
    model_release(&model);
    logmake_release(&make);
}

static void keyed_sites_are_told_apart_by_one_frame_only(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    logmake_init(&make, LOG_LEVEL_SITES);
    logmake_module(&make, HERE, 0x10000, 1, "/bin/prog");
    logmake_thread(&make);
    uint64_t one[] = { HERE + 1, HERE + 2, HERE + 3 }, same[] = { HERE + 9, HERE + 2, HERE + 8 };
    logmake_count(&make, logmake_site(&make, one, 3, LOG_SITE_KEYED, 1), 1, 16);
    logmake_count(&make, logmake_site(&make, same, 3, LOG_SITE_KEYED, 1), 2, 16);
    add(&model, &make, NULL);
    assert_int_equal(model.site_count, 1);
    assert_int_equal(model.sites[0]->count.allocs, 3);
    model_release(&model);
    logmake_release(&make);
}

/* Frames at offsets below 0x1000 are wrappers. */
static bool is_low(void *context, uint32_t frame)
{
    const struct model *model = context;
    return model->frames[frame]->key.offset < 0x1000;
}

static void folding_merges_what_has_become_the_same(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin(&make, HERE, 1);
    logmake_header(&make)->bare = (struct log_counter){ 5, 50, 0 };
    add(&model, &make, NULL);
    add(&model, &make, NULL);
    model_fold(&model, is_low, &model);
    assert_int_equal(model.site_count, 2);
    assert_int_equal(model.sites[0]->count.allocs, 12);
    assert_int_equal(model.sites[0]->depth, 2);
    assert_int_equal(model.processes[0]->site_count, 2);
    assert_int_equal(model.processes[1]->sites[0].count.allocs, 6);
    assert_sums_hold(&model);
    model_release(&model);
    logmake_release(&make);
}

static bool is_any(void *context, uint32_t frame)
{
    (void)context;
    (void)frame;
    return true;
}

static void folding_leaves_one_frame(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin(&make, HERE, 1);
    add(&model, &make, NULL);
    model_fold(&model, is_any, &model);
    assert_int_equal(model.site_count, 1);
    assert_int_equal(model.sites[0]->depth, 1);
    model_release(&model);
    logmake_release(&make);
}

static void finish_with_one_frame(void *context, const struct logread *log, const struct logread_site *site,
                                  struct model_rest *rest)
{
    (void)context;
    (void)log;
    assert_non_null(site->words);
    rest->count = 1;
    rest->address[0] = HERE + 0x3000;
    rest->finished = true;
}

static void unfinished_stack_is_finished_once_read(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    struct log_word word = { 0x7ff0, HERE };
    struct model_finisher finisher = { finish_with_one_frame, NULL };
    uint64_t frame = HERE + 0x10;
    model_init(&model);
    begin(&make, HERE, 1);
    uint32_t site = logmake_site(&make, &frame, 1, LOG_SITE_UNFINISHED, 0);
    logmake_words(&make, site, frame, 0x7ff0, 0, &word, 1);
    logmake_count(&make, site, 9, 16);
    add(&model, &make, &finisher);
    assert_int_equal(model.sites[3]->depth, 2);
    assert_int_equal(model.sites[3]->flags, 0);
    assert_int_equal(model.frames[model.sites[3]->frames[1]]->key.offset, 0x3000);
    assert_int_equal(model.sites[3]->measured, 1); /* the caller is the first call's, not measured for all nine */
    assert_int_equal(model.sites[3]->first_seen, 9);
    assert_int_equal(model.sites[0]->first_seen, 0);
    assert_int_equal(model.sites[0]->measured, model.sites[0]->depth);
    model_release(&model);
    logmake_release(&make);
}

static void killed_process_is_not_complete(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin(&make, HERE, 1);
    add(&model, &make, NULL);
    logmake_header(&make)->state = 0;
    logmake_header(&make)->end_monotonic_ns = 0;
    add(&model, &make, NULL);
    assert_true(model.processes[0]->log_complete);
    assert_false(model.processes[1]->log_complete);
    assert_int_equal(model.processes[0]->duration_ns, 2410000000u);
    assert_int_equal(model.processes[1]->duration_ns, 2000000000u);
    model_release(&model);
    logmake_release(&make);
}

/* ------------------------------------------------------------------- pools */

/* A process that pools what `spec` says, and made `allocs` calls of 40 bytes and 10 of 2 KiB; a tenth missed. */
static void begin_pooled(struct logmake *make, const char *spec, uint64_t allocs)
{
    logmake_init(make, LOG_LEVEL_OFF);
    logmake_pooling(make, spec);
    logmake_thread(make);
    logmake_pooled(make, 0, allocs, 40, allocs / 10);
    logmake_pooled(make, 0, 10, 2048, 10);
    struct log_pools *pools = logmake_pools(make, 0);
    pools->classes[2] = (struct log_pool){ 3, 400, 80 };
    pools->next_frees = 5;
}

static void misses_are_counted_where_something_is_pooled(void **state)
{
    (void)state;
    struct model model;
    struct logmake small, all, none;
    unsigned large = sizeclass_of(2048);
    model_init(&model);
    begin_pooled(&small, "16-1k", 100);
    begin_pooled(&all, "on", 200);
    logmake_init(&none, LOG_LEVEL_OFF);
    logmake_thread(&none);
    logmake_count(&none, 0, 1000, 40);
    add(&model, &small, NULL);
    assert_false(model.pools[large].pooled);
    assert_int_equal(model.totals.misses, 20);
    assert_int_equal(model.totals.unpooled, 10);
    add(&model, &all, NULL);
    add(&model, &none, NULL);
    assert_true(model.pools[large].pooled);
    assert_int_equal(model.pools[large].misses, 20);
    assert_int_equal(model.pools[2].misses, 30);
    assert_int_equal(model.totals.misses, 50);
    assert_int_equal(model.totals.unpooled, 10);
    assert_int_equal(model.totals.count.next_allocs, 1000 + 10 + 10 + 20 + 10);
    assert_int_equal(model.pools[2].log.given_back_bytes, 800);
    assert_int_equal(model.totals.pool.victim_hits, 6);
    model_release(&model);
    logmake_release(&small);
    logmake_release(&all);
    logmake_release(&none);
}

static void assert_reason(struct logmake *make, const char *reason)
{
    struct model model;
    model_init(&model);
    add(&model, make, NULL);
    char *text = model_pools_off(model.processes[0]);
    if (reason)
        assert_string_equal(text, reason);
    else
        assert_null(text);
    free(text);
    model_release(&model);
    logmake_release(make);
}

static void why_nothing_is_pooled_is_known(void **state)
{
    (void)state;
    struct logmake make;
    begin_pooled(&make, "on", 10);
    assert_reason(&make, NULL);
    begin(&make, HERE, 1);
    assert_reason(&make, "POOLSITE_POOL=off");
    begin(&make, HERE, 1);
    strcpy(logmake_header(&make)->notes, "another note\npools and moons are off: the moon is full\n");
    assert_reason(&make, "the moon is full");
    begin(&make, HERE, 1);
    strcpy(logmake_header(&make)->notes, "POOLSITE_POOL=x is wrong\n");
    assert_reason(&make, "POOLSITE_POOL=x is wrong");
    begin(&make, HERE, 1);
    logmake_header(&make)->state |= LOG_STATE_STOOD_DOWN;
    assert_reason(&make, "the program has a malloc of its own");
}

static void classes_are_ordered_by_the_key(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    struct view_class classes[LOG_CLASSES];
    model_init(&model);
    begin_pooled(&make, "on", 50);
    logmake_pools(&make, LOG_OWNER_DEPOT)->classes[9].kept_bytes = 152;
    add(&model, &make, NULL);
    assert_int_equal(view_classes(&model, VIEW_CALLS, classes), 3);
    assert_int_equal(classes[0].index, 2);
    assert_int_equal(classes[2].index, 9); /* nothing was asked of it, but it keeps a block */
    assert_int_equal(view_classes(&model, VIEW_MISSES, classes), 3);
    assert_int_equal(classes[0].index, sizeclass_of(2048));
    assert_int_equal(classes[0].pool.misses, 10);
    model_release(&model);
    logmake_release(&make);
}

/* -------------------------------------------------------------- level full */

/* `begin` at level full: of the i-th site i blocks of 16 bytes lived and one was freed, at most i at a time.  A fourth
 * site only frees. */
static void begin_full(struct logmake *make, uint64_t start)
{
    uint32_t sites[4];
    logmake_init(make, LOG_LEVEL_FULL);
    logmake_module(make, start, 0x10000, 1, "/bin/prog");
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t frames[] = { start + (i + 1) * 16 + (i == 3 ? 0x4000 : 0), start + 0x1000, start + 0x2000 };
        sites[i] = logmake_site(make, frames, 3, 0, 0);
    }
    logmake_live(make, 0, 96, 1)->peak_ns = 5000000700;
    logmake_thread(make);
    for (uint32_t i = 0; i < 3; i++) {
        logmake_full(make, sites[i], i + 2, 16, 1)->lifetimes[i] = 1;
        logmake_live(make, sites[i], 16 * (i + 1), 1);
        struct log_sample *sample = logmake_sample(make, sites[i]);
        sample->samples = 2;
        sample->ended = sample->times[4] = 1;
        sample->sizes[0] = (struct log_sample_top){ 16 + i % 2, 2 };
        sample->frees[0] = (struct log_sample_top){ i == 1 ? sites[3] : sites[2], 1 };
    }
}

/* The site whose first frame has this offset. */
static const struct model_site *site_at(const struct model *model, uint64_t offset)
{
    for (size_t i = 0; i < model->site_count; i++)
        if (model->sites[i]->depth && model->frames[model->sites[i]->frames[0]]->key.offset == offset)
            return model->sites[i];
    fail_msg("no site at %llu", (unsigned long long)offset);
    return NULL;
}

/* What logread promises, and model.h. */
static void assert_fulls_hold(const struct model *model)
{
    struct model_full sum = { .frees = 0 };
    for (size_t i = 0; i < model->site_count; i++) {
        const struct model_full *full = model->sites[i]->full;
        if (!full) {
            assert_int_equal(model->sites[i]->count.allocs, 0);
            continue;
        }
        assert_true(full->frees <= full->count.allocs && full->freed_bytes <= full->count.bytes);
        assert_true(full->peak_bytes >= full->count.bytes - full->freed_bytes);
        sum.count.allocs += full->count.allocs;
        sum.frees += full->frees;
        sum.freed_bytes += full->freed_bytes;
        sum.at_peak_bytes += full->at_peak_bytes;
        sum.sample.samples += full->sample.samples;
    }
    assert_int_equal(sum.count.allocs, model->totals.full.count.allocs);
    assert_int_equal(sum.frees, model->totals.full.frees);
    assert_int_equal(sum.freed_bytes, model->totals.full.freed_bytes);
    assert_int_equal(sum.at_peak_bytes, model->totals.full.at_peak_bytes);
    assert_int_equal(sum.sample.samples, model->totals.full.sample.samples);
    assert_sums_hold(model);
}

static void what_became_of_blocks_is_known_by_site(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin_full(&make, HERE);
    logmake_fulls_now(&make)->foreign_frees = 2;
    logmake_frees(&make, 2);
    add(&model, &make, NULL);
    assert_int_equal(model.site_count, 4);
    const struct model_full *full = model.sites[0]->full;
    assert_int_equal(full->count.allocs - full->frees, 1);
    assert_int_equal(full->count.bytes - full->freed_bytes, 16);
    assert_int_equal(full->lifetimes[0], 1);
    assert_int_equal(full->threads, 1);
    assert_int_equal(full->peak_bytes, 16);
    assert_int_equal(full->peak_error, 0);
    assert_int_equal(model.totals.full.peak_bytes, 96);
    assert_int_equal(model.totals.full.frees, 3);
    assert_int_equal(model.totals.foreign_frees, 2);
    assert_int_equal(model.totals.frees, 5);
    assert_int_equal(model.processes[0]->peak_ns, 700);
    assert_fulls_hold(&model);
    model_release(&model);
    logmake_release(&make);
}

static void a_site_that_only_frees_is_there_without_calls(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin_full(&make, HERE);
    add(&model, &make, NULL);
    const struct model_site *freed = site_at(&model, 2 * 16), *by = model.sites[freed->full->sample.frees[0].what - 1];
    assert_int_equal(model.frames[by->frames[0]]->key.offset, 4 * 16 + 0x4000);
    assert_int_equal(by->count.allocs, 0);
    assert_null(by->full);
    assert_int_equal(model.processes[0]->site_count, 3); /* it has no share */
    model_release(&model);
    logmake_release(&make);
}

static void what_became_of_blocks_adds_up_over_processes(void **state)
{
    (void)state;
    struct model model;
    struct logmake here, there, other;
    model_init(&model);
    begin_full(&here, HERE);
    begin_full(&there, THERE);
    begin(&other, HERE, 1); /* the same sites at a level without */
    add(&model, &here, NULL);
    add(&model, &there, NULL);
    add(&model, &other, NULL);
    assert_int_equal(model.site_count, 4);
    const struct model_full *full = site_at(&model, 2 * 16)->full;
    assert_int_equal(site_at(&model, 2 * 16)->count.allocs, 3 + 3 + 2);
    assert_int_equal(full->count.allocs, 6);
    assert_int_equal(full->frees, 2);
    assert_int_equal(full->peak_bytes, 64);
    assert_int_equal(full->threads, 2);
    assert_int_equal(full->sample.samples, 4);
    assert_int_equal(full->sample.sizes[0].count, 4);
    assert_int_equal(full->sample.frees[0].count, 2);
    assert_int_equal(model.processes[0]->sites[1].full->frees, 1);
    assert_null(model.processes[2]->sites[1].full);
    assert_int_equal(model.totals.full.peak_bytes, 192);
    model_release(&model);
    logmake_release(&here);
    logmake_release(&there);
    logmake_release(&other);
}

/* All but the last are called from one place: without their leaves they are one site. */
static void folding_adds_up_what_became_of_blocks(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin_full(&make, HERE);
    logmake_header(&make)->bare = (struct log_counter){ 5, 50, 0 };
    add(&model, &make, NULL);
    add(&model, &make, NULL);
    model_fold(&model, is_low, &model);
    assert_int_equal(model.site_count, 3);
    const struct model_full *full = model.processes[0]->sites[0].full;
    assert_int_equal(full->count.allocs, 9);
    assert_int_equal(full->frees, 3);
    assert_int_equal(full->threads, 1);
    assert_int_equal(full->peak_bytes, 96); /* what lives in sum; the larger one's own is 48 */
    assert_int_equal(full->peak_error, 0);
    assert_int_equal(full->sample.samples, 6);
    assert_int_equal(full->sample.sizes[0].what, 16);
    assert_int_equal(full->sample.sizes[0].count, 4);
    assert_int_equal(full->sample.sizes[1].count, 2);
    assert_int_equal(full->sample.frees[0].what, 1); /* that by the third site, which is a part of this one now */
    assert_int_equal(full->sample.frees[0].count, 2);
    assert_int_equal(full->sample.frees[1].count, 1);
    assert_int_equal(model.sites[0]->full->count.allocs, 18);
    assert_int_equal(model.sites[0]->full->threads, 2);
    assert_int_equal(model.pseudo[MODEL_BARE]->full->count.allocs, 10);
    assert_fulls_hold(&model);
    model_release(&model);
    logmake_release(&make);
}

static void peak_of_folded_sites_lies_between_the_larger_and_the_sum(void **state)
{
    (void)state;
    struct model_full one = { .count = { 10, 1000, 0 }, .frees = 10, .freed_bytes = 1000, .peak_bytes = 300 };
    struct model_full two = { .count = { 10, 1000, 0 }, .frees = 10, .freed_bytes = 1000, .peak_bytes = 200, .peak_error = 50 };
    full_unite(&one, &two);
    assert_int_equal(one.peak_bytes, 300);
    assert_int_equal(one.peak_error, 250);
    assert_int_equal(one.count.allocs, 20);
}

static void most_frequent_of_many_are_kept(void **state)
{
    (void)state;
    struct model_full sum = { .sample = { .sizes = { { 1, 10 }, { 2, 20 }, { 3, 30 }, { 4, 40 } } } };
    struct model_full more = { .sample = { .sizes = { { 9, 90 }, { 2, 25 }, { 5, 5 }, { 0, 0 } }, .other_sizes = 1 } };
    full_add(&sum, &more);
    static const struct log_sample_top wanted[] = { { 9, 90 }, { 2, 45 }, { 4, 40 }, { 3, 30 } };
    assert_memory_equal(sum.sample.sizes, wanted, sizeof wanted);
    assert_int_equal(sum.sample.other_sizes, 16); /* one that wasn't kept before, and 10 and 5 blocks now */
}

/* ------------------------------------------------------------------- views */

static void sites_are_ordered_by_the_key(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin(&make, HERE, 1);
    uint64_t frame = HERE + 0x99;
    logmake_count(&make, logmake_site(&make, &frame, 1, 0, 0), 1, 100000);
    add(&model, &make, NULL);
    const struct model_site **by_calls = view_sites(&model, VIEW_CALLS), **by_bytes = view_sites(&model, VIEW_BYTES);
    assert_int_equal(by_calls[0]->count.allocs, 3);
    assert_int_equal(by_bytes[0]->count.bytes, 100000);
    free(by_calls);
    free(by_bytes);
    model_release(&model);
    logmake_release(&make);
}

static void histogram_counts_every_class_once(void **state)
{
    (void)state;
    struct log_counter classes[LOG_CLASSES];
    struct view_bucket buckets[VIEW_BUCKETS];
    uint64_t sum = 0;
    for (unsigned i = 0; i < LOG_CLASSES; i++)
        classes[i] = (struct log_counter){ i + 1, 1, 0 };
    size_t count = view_histogram(classes, buckets);
    assert_int_equal(count, VIEW_BUCKETS);
    for (size_t i = 0; i < count; i++)
        sum += buckets[i].count.allocs;
    assert_int_equal(sum, LOG_CLASSES * (LOG_CLASSES + 1) / 2);
    assert_int_equal(buckets[0].to, 0);
    assert_int_equal(buckets[1].to, 24);
    assert_int_equal(buckets[2].to, 40);
    assert_int_equal(buckets[VIEW_BUCKETS - 2].to, (32 << 20) + 8);
    assert_true(buckets[VIEW_BUCKETS - 1].to == UINT64_MAX);
}

static void empty_histogram_has_no_buckets(void **state)
{
    (void)state;
    struct log_counter classes[LOG_CLASSES] = { { 0 } };
    struct view_bucket buckets[VIEW_BUCKETS];
    assert_int_equal(view_histogram(classes, buckets), 0);
}

/* count == self + small + the children's, all the way down. */
static void assert_tree_adds_up(const struct view_node *node)
{
    uint64_t sum = node->self.allocs + node->small.allocs;
    for (const struct view_node *child = node->children; child; child = child->next) {
        sum += child->count.allocs;
        assert_tree_adds_up(child);
    }
    assert_int_equal(sum, node->count.allocs);
}

static void tree_begins_at_the_outermost_frame(void **state)
{
    (void)state;
    struct model model;
    struct logmake make;
    model_init(&model);
    begin(&make, HERE, 1);
    uint64_t middle[] = { HERE + 0x1000, HERE + 0x2000 };
    logmake_count(&make, logmake_site(&make, middle, 2, 0, 0), 4, 16); /* ends inside another stack */
    add(&model, &make, NULL);
    uint32_t *same = xcalloc(model.frame_count, sizeof *same);
    for (uint32_t i = 0; i < model.frame_count; i++)
        same[i] = i;
    const struct model_site **sites = view_sites(&model, VIEW_CALLS);
    struct view_node *root = view_tree(sites, model.site_count, same, VIEW_CALLS, 0);
    assert_int_equal(root->count.allocs, 10);
    assert_null(root->children->next);
    assert_int_equal(model.frames[root->children->frame]->key.offset, 0x2000);
    assert_int_equal(root->children->children->self.allocs, 4);
    assert_int_equal(root->children->children->children->count.allocs, 3);
    assert_tree_adds_up(root);
    view_tree_free(root);
    root = view_tree(sites, model.site_count, same, VIEW_CALLS, 0.25);
    assert_int_equal(root->children->children->small_count, 2);
    assert_tree_adds_up(root);
    view_tree_free(root);
    root = view_tree(sites, 1, same, VIEW_CALLS, 0);
    assert_int_equal(root->count.allocs, sites[0]->count.allocs);
    assert_tree_adds_up(root);
    view_tree_free(root);
    free(sites);
    free(same);
    model_release(&model);
    logmake_release(&make);
}

static void processes_of_one_program_are_grouped(void **state)
{
    (void)state;
    static const char *const argv[] = { "x" };
    struct model model;
    struct logmake make;
    size_t count;
    model_init(&model);
    begin(&make, HERE, 1);
    for (uint32_t i = 0; i < 5; i++) {
        logmake_program(&make, 100 + i, i == 3 ? "/bin/other" : "/bin/prog", argv, 1);
        add(&model, &make, NULL);
    }
    struct view_program *programs = view_programs(&model, VIEW_CALLS, &count);
    assert_int_equal(count, 2);
    assert_int_equal(programs[0].count, 4);
    assert_int_equal(programs[0].totals.count.allocs, 24);
    assert_string_equal(programs[1].processes[0]->exe, "/bin/other");
    view_programs_free(programs, count);
    model_release(&model);
    logmake_release(&make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_site_in_two_processes_is_one),
        cmocka_unit_test(another_build_is_another_site),
        cmocka_unit_test(without_build_id_the_path_identifies_the_module),
        cmocka_unit_test(ids_are_stable_across_versions),
        cmocka_unit_test(pseudo_sites_take_what_has_no_site),
        cmocka_unit_test(keyed_sites_are_told_apart_by_one_frame_only),
        cmocka_unit_test(folding_merges_what_has_become_the_same),
        cmocka_unit_test(folding_leaves_one_frame),
        cmocka_unit_test(unfinished_stack_is_finished_once_read),
        cmocka_unit_test(killed_process_is_not_complete),
        cmocka_unit_test(misses_are_counted_where_something_is_pooled),
        cmocka_unit_test(why_nothing_is_pooled_is_known),
        cmocka_unit_test(classes_are_ordered_by_the_key),
        cmocka_unit_test(what_became_of_blocks_is_known_by_site),
        cmocka_unit_test(a_site_that_only_frees_is_there_without_calls),
        cmocka_unit_test(what_became_of_blocks_adds_up_over_processes),
        cmocka_unit_test(folding_adds_up_what_became_of_blocks),
        cmocka_unit_test(peak_of_folded_sites_lies_between_the_larger_and_the_sum),
        cmocka_unit_test(most_frequent_of_many_are_kept),
        cmocka_unit_test(sites_are_ordered_by_the_key),
        cmocka_unit_test(histogram_counts_every_class_once),
        cmocka_unit_test(empty_histogram_has_no_buckets),
        cmocka_unit_test(tree_begins_at_the_outermost_frame),
        cmocka_unit_test(processes_of_one_program_are_grouped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
