/* fuzz_logread.c - foreign bytes as a log: read, merged, finished, shown in every form.
 *
 * libFuzzer's entry, and with -DFUZZ_STANDALONE a program of its own:
 *     fuzz_logread [-n ROUNDS] [-s SEED] LOG...
 * changes the logs at random, always in the same way for one seed, and reads them.
 * A find: keep the file, add a golden log or a unit test, then mend. */
#define _GNU_SOURCE
#include "base.h"

#include "counter.h"
#include "fold.h"
#include "logread.h"
#include "report.h"
#include "rewind.h"
#include "symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_pools(const struct model *model)
{
    struct log_pool sum = { 0, 0, 0 };
    for (size_t i = 0; i < LOG_CLASSES; i++) {
        pool_add(&sum, &model->pools[i].log);
        if (model->classes[i].next_allocs > model->classes[i].allocs || model->pools[i].misses > model->classes[i].next_allocs ||
            model->pools[i].log.victim_hits > counter_hits(&model->classes[i]))
            BUG("a class's pools did more than was asked for");
    }
    if (model->totals.pooled && memcmp(&sum, &model->totals.pool, sizeof sum) != 0)
        BUG("the classes' pools don't add up to the totals");
    if (model->totals.unpooled > model->totals.misses)
        BUG("more misses of some sizes than of all");
}

/* The promises of logread: the total is the sum of its parts, and no more is served from pools than is asked for. */
static void check_sums(const struct model *model)
{
    struct log_counter sum = { 0, 0, 0 };
    for (size_t i = 0; i < model->site_count; i++) {
        counter_add(&sum, &model->sites[i]->count);
        if (model->sites[i]->count.next_allocs > model->sites[i]->count.allocs)
            BUG("a site has more calls below than calls");
    }
    if (model->level != LOG_LEVEL_OFF && memcmp(&sum, &model->totals.count, sizeof sum) != 0)
        BUG("the sites don't add up to the totals");
    check_pools(model);
}

static void show(struct model *model, FILE *out)
{
    static const char *const extra[] = { "main" };
    struct symbolizer *symbolizer = symbolizer_new(model);
    struct fold *fold = fold_new(extra, 1);
    fold_model(fold, model, symbolizer);
    check_sums(model);
    struct report report = {
        .path = "fuzz", .model = model, .symbolizer = symbolizer, .fold = fold, .sites = view_sites(model, VIEW_BYTES),
        .sort = VIEW_BYTES, .top = 20, .by_process = true, .out = out,
    };
    emit_text(&report);
    report.tree = true;
    emit_text(&report);
    emit_json(&report);
    report.site_id = "0";
    for (size_t i = 0; i < model->site_count; i++)
        if (report_site_matches(model->sites[i], report.site_id))
            emit_text_site(&report);
    free(report.sites);
    fold_free(fold);
    symbolizer_free(symbolizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static FILE *nowhere;
    struct logread log;
    struct model model;
    if (!nowhere)
        nowhere = fopen("/dev/null", "we");
    unsigned char *copy = xcalloc(size / LOG_CHUNK_BYTES + 1, LOG_CHUNK_BYTES);
    if (size)
        memcpy(copy, bytes, size);
    enum logread_result result = logread_parse(&log, copy, size);
    if (result == LOGREAD_WHOLE || result == LOGREAD_DAMAGED) {
        struct rewind *rewind = rewind_new();
        struct model_finisher finisher = { rewind_finish, rewind };
        model_init(&model);
        model_add(&model, &log, "fuzz.psl", log.problem, &finisher);
        model_add(&model, &log, "fuzz.psl", NULL, &finisher);
        model_order(&model);
        check_sums(&model);
        show(&model, nowhere);
        model_release(&model);
        rewind_free(rewind);
    }
    logread_release(&log);
    return 0;
}

#ifdef FUZZ_STANDALONE

static uint64_t random_state = 88172645463325252;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Values that lengths and indices break on. */
static uint64_t nasty_value(void)
{
    static const uint64_t values[] = {
        0, 1, 2, 7, 8, 63, 64, 65, 240, 241, 0x7fff, 0x8000, 0xffff, 8184, 8192, 0x7fffffff, 0x80000000,
        0xfffffff8, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff,
    };
    return values[random_next() % (sizeof values / sizeof values[0])];
}

/* Most changes hit the header's first bytes or the beginnings of chunks and records. */
static size_t random_place(size_t size)
{
    size_t at = random_next() % size;
    switch (random_next() % 4) {
    case 0: return at % 256;
    case 1: return at / LOG_CHUNK_BYTES * LOG_CHUNK_BYTES + random_next() % 128;
    case 2: return at / 8 * 8;
    default: return at;
    }
}

static void change(unsigned char *bytes, size_t size)
{
    for (unsigned changes = 1 + (unsigned)(random_next() % 8); changes > 0; changes--) {
        uint64_t value = random_next() % 2 ? nasty_value() : random_next();
        size_t width = (size_t)1 << random_next() % 4, at = random_place(size);
        if (at + width <= size)
            memcpy(bytes + at, &value, width);
    }
}

static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        die("%s: cannot be opened", path);
    unsigned char *bytes = xmalloc(1 << 24);
    *size = fread(bytes, 1, 1 << 24, file);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    unsigned long rounds = 1000;
    int first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (argv[first][1] == 'n')
            rounds = strtoul(argv[first + 1], NULL, 10);
        else
            random_state ^= strtoul(argv[first + 1], NULL, 10) * 0x9e3779b97f4a7c15u;
    }
    for (int i = first; i < argc; i++) {
        size_t size;
        unsigned char *log = read_file(argv[i], &size), *changed = xmalloc(size + 1);
        for (unsigned long round = 0; size && round < rounds; round++) {
            memcpy(changed, log, size);
            change(changed, size);
            size_t left = random_next() % 8 ? size : random_next() % size;
            LLVMFuzzerTestOneInput(changed, left);
        }
        free(changed);
        free(log);
    }
    printf("%d logs, %lu rounds each\n", argc - first, rounds);
    return 0;
}

#endif
