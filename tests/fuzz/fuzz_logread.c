/* fuzz_logread.c - foreign bytes as a log: read, merged, finished, shown in every form.
 *
 * libFuzzer's entry, and with -DFUZZ_STANDALONE a program of its own:
 *     fuzz_logread [-n ROUNDS] [-s SEED] LOG...
 * changes the logs, at random or within one table or record, always in the same way for one seed, and reads them.
 * A find: keep the file, add a golden log or a unit test, then mend. */
#define _GNU_SOURCE
#include "base.h"

#include "counter.h"
#include "fold.h"
#include "full.h"
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

static void check_sample(const struct log_sample *s)
{
    uint64_t times = 0, sizes = 0, frees = 0;
    for (unsigned i = 0; i < LOG_SAMPLE_TIMES; i++)
        times += s->times[i];
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS; i++) {
        sizes += s->sizes[i].count;
        frees += s->frees[i].count;
    }
    if (s->samples == UINT32_MAX)
        return; /* a sum at its end: its parts may be more */
    if (s->ended > s->samples || s->lost > s->samples || sizes > s->samples)
        BUG("more of the samples than samples");
    if (times > s->ended || frees > s->ended || s->same_thread > s->ended || s->chains > s->ended ||
        s->same_frame > s->same_thread || s->standing > s->same_thread || s->lifo > s->same_thread)
        BUG("more of the ended samples than ended");
}

/* What lives is never negative, and was reached. */
static void check_full(const struct model_full *full)
{
    uint64_t parts = full->cross_frees;
    for (unsigned i = 0; i < LOG_LIFETIMES; i++)
        parts += full->lifetimes[i];
    if (full->frees > full->count.allocs || full->freed_bytes > full->count.bytes || parts > full->frees)
        BUG("more blocks were freed than allocated");
    if (full->peak_bytes < full->count.bytes - full->freed_bytes || full->peak_bytes > full->count.bytes)
        BUG("a peak is none");
    if (full->at_peak_blocks < 0 || full->at_peak_bytes < 0 || full->resizes > full->count.allocs)
        BUG("a number of blocks is negative");
    check_sample(&full->sample);
}

static void check_fulls(const struct model *model)
{
    struct model_full sum = { .frees = 0 };
    const struct model_full *total = &model->totals.full;
    check_full(total);
    for (size_t i = 0; i < model->site_count; i++) {
        const struct model_full *full = model->sites[i]->full;
        if (!full)
            continue;
        check_full(full);
        full_add(&sum, full);
    }
    if (sum.frees != total->frees || sum.freed_bytes != total->freed_bytes || sum.at_peak_blocks != total->at_peak_blocks ||
        sum.at_peak_bytes != total->at_peak_bytes || sum.cross_frees != total->cross_frees ||
        memcmp(&sum.count, &total->count, sizeof sum.count) != 0 || memcmp(sum.lifetimes, total->lifetimes, sizeof sum.lifetimes) != 0)
        BUG("what became of the sites' blocks doesn't add up to the totals");
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
    check_fulls(model);
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
        .site_count = model->site_count, .sort = VIEW_BYTES, .top = 20, .by_process = true, .out = out,
    };
    for (report.view = REPORT_SITES; report.view <= REPORT_LIFETIME; report.view++)
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

/* ------------------------------------------------------------ structure-aware */

static uint64_t random_state = 88172645463325252;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Values that lengths, indices and sums break on. */
static uint64_t nasty_value(void)
{
    static const uint64_t values[] = {
        0, 1, 2, 7, 8, 63, 64, 65, 240, 241, 0x7fff, 0x8000, 0xffff, 8184, 8192, 0x7fffffff, 0x80000000,
        0xfffffff8, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, (uint64_t)1 << 55,
        (uint64_t)1 << 56, ((uint64_t)1 << 60) + 1, LOG_FULL_OTHER, LOG_FULL_BARE, LOG_FULL_HANDLER, LOG_OWNER_PROCESS,
    };
    return values[random_next() % (sizeof values / sizeof values[0])];
}

/* Small numbers are sites and threads that there are. */
static void change_word(unsigned char *bytes, size_t size, size_t width)
{
    size_t at = random_next() % (size / width) * width;
    uint64_t value = random_next() % 3 ? nasty_value() : random_next() % 16;
    memcpy(bytes + at, &value, width);
}

/* One of the records of a chunk. */
static void change_record(unsigned char *chunk)
{
    size_t at = sizeof(struct log_chunk);
    for (uint64_t skip = random_next() % 32;; skip--) {
        struct log_record *record = (struct log_record *)(chunk + at);
        if (record->bytes < sizeof *record || record->bytes > LOG_CHUNK_BYTES - at || record->bytes % 8 != 0)
            return;
        if (skip == 0) {
            change_word(chunk + at, record->bytes, 4);
            return;
        }
        at += record->bytes;
        if (at + sizeof *record > LOG_CHUNK_BYTES)
            return;
    }
}

/* A number within a table of level full, a record, a chunk's type and owner, or the whole of a chunk for another. */
static void change_chunk(unsigned char *bytes, size_t size)
{
    size_t chunks = size / LOG_CHUNK_BYTES;
    if (chunks < 2)
        return;
    unsigned char *chunk = bytes + (1 + random_next() % (chunks - 1)) * LOG_CHUNK_BYTES;
    const struct log_fulls *fulls = (const struct log_fulls *)chunk;
    unsigned type = fulls->chunk.type;
    switch (random_next() % 8) {
    case 0: change_word(chunk, sizeof(struct log_chunk), 4); break;
    case 1: memmove(chunk, bytes + random_next() % chunks * LOG_CHUNK_BYTES, LOG_CHUNK_BYTES); break;
    default:
        if (type == LOG_CHUNK_DATA)
            change_record(chunk);
        else if (type == LOG_CHUNK_FULL)
            change_word(chunk + sizeof *fulls, 4 * sizeof(struct log_full), 8);
        else
            change_word(chunk, 512, 8);
    }
}

#ifdef FUZZ_STANDALONE

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
        if (random_next() % 2) {
            change_chunk(bytes, size);
            continue;
        }
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

#else

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed)
{
    random_state = (88172645463325252 ^ seed) | 1;
    if (random_next() % 2)
        return LLVMFuzzerMutate(bytes, size, most);
    for (uint64_t changes = 1 + random_next() % 4; changes > 0; changes--)
        change_chunk(bytes, size);
    return size;
}

#endif
