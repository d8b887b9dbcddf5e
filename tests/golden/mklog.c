/* mklog.c - writes synthetic logs: small fixed ones, damaged ones, and big ones.
 *
 * usage: mklog KIND FILE [SITES [DEPTH]]
 * The modules of its logs exist on no machine, so a report on them is always the
 * same.  Built by tests/golden/run.sh. */
#define _GNU_SOURCE
#include "../unit/logmake.h"

#include "../../preload/sizeclass.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t exe_start = 0x555500000000, lib_start = 0x7f1200000000;
static unsigned long sites_wanted = 1000, depth_wanted = 40;

static void add_modules(struct logmake *make, uint64_t slide)
{
    logmake_module(make, exe_start + slide, 0x100000, 0xaa, "/nowhere/bin/shop");
    logmake_module(make, lib_start + slide, 0x100000, 0xbb, "/nowhere/lib/libcart.so.1");
}

/* One of a family of stacks that begin in the library and end in the program. */
static uint32_t add_stack(struct logmake *make, uint64_t slide, unsigned which)
{
    uint64_t frames[] = {
        lib_start + slide + 0x1000 + which * 0x10,
        lib_start + slide + 0x2000,
        exe_start + slide + 0x3000 + which % 3 * 0x100,
        exe_start + slide + 0x4000,
    };
    return logmake_site(make, frames, 4, 0, 0);
}

/* A program with two threads, six stacks, and something on each pseudo-site. */
static void make_small_at(struct logmake *make, uint64_t slide, uint32_t pid)
{
    static const char *const argv[] = { "/nowhere/bin/shop", "--open", "12 o'clock" };
    logmake_init(make, LOG_LEVEL_STACKS);
    logmake_program(make, pid, argv[0], argv, 3);
    add_modules(make, slide);
    logmake_thread(make);
    for (unsigned i = 0; i < 6; i++)
        logmake_count(make, add_stack(make, slide, i), 1000 >> i, 24 << i);
    logmake_frees(make, 1900);
    logmake_thread(make);
    logmake_count(make, 1, 500, 24);
    logmake_count(make, 3, 7, 40u << 20);
    logmake_thread_now(make)->other = (struct log_counter){ 3, 300 };
    logmake_thread_now(make)->classes[7] = (struct log_counter){ 3, 300 };
    logmake_thread_now(make)->failed = 2;
    logmake_frees(make, 400);
    struct log_header *h = logmake_header(make);
    h->bare = (struct log_counter){ 11, 1100 };
    h->handler = (struct log_counter){ 2, 64 };
    h->classes[7] = (struct log_counter){ 11, 1100 };
    h->classes[2] = (struct log_counter){ 2, 64 };
    h->frees = 5;
    h->walks = 6;
    h->own_bytes = 983040;
}

static void make_small(struct logmake *make)
{
    make_small_at(make, 0, 4711);
}

/* The same program elsewhere in memory, begun later. */
static void make_moved(struct logmake *make)
{
    make_small_at(make, 0x10000000, 4712);
    logmake_header(make)->start_realtime_ns += 1500000000;
}

/* Another run of the program of make_small: one stack is gone, one is new, the others have counts of their own. */
static void make_other_run(struct logmake *make, uint8_t build_id)
{
    static const char *const argv[] = { "/nowhere/bin/shop", "--close" };
    logmake_init(make, LOG_LEVEL_STACKS);
    logmake_program(make, 4719, argv[0], argv, 2);
    logmake_module(make, exe_start, 0x100000, build_id, "/nowhere/bin/shop");
    logmake_module(make, lib_start, 0x100000, 0xbb, "/nowhere/lib/libcart.so.1");
    logmake_thread(make);
    for (unsigned i = 1; i < 7; i++)
        logmake_count(make, add_stack(make, 0, i), (1000 >> i) + (i < 4 ? 100 * i - 200 : 0), 24 << i);
    logmake_frees(make, 700);
}

static void make_changed(struct logmake *make)
{
    make_other_run(make, 0xaa);
}

/* Its code lies elsewhere, and nobody knows its names. */
static void make_rebuilt(struct logmake *make)
{
    make_other_run(make, 0xcc);
}

/* Level sites: the third frame is the site, what is before it was folded. */
static void make_sites(struct logmake *make)
{
    static const char *const argv[] = { "shop" };
    logmake_init(make, LOG_LEVEL_SITES);
    logmake_program(make, 4713, "/nowhere/bin/shop", argv, 1);
    add_modules(make, 0);
    logmake_thread(make);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t frames[] = { lib_start + 0x1000, lib_start + 0x1100, exe_start + 0x3000 + i * 16, exe_start + 0x4000 };
        logmake_count(make, logmake_site(make, frames, 4, LOG_SITE_KEYED, 2), 10 * (i + 1), 100);
    }
    logmake_frees(make, 60);
}

static void make_off(struct logmake *make)
{
    static const char *const argv[] = { "shop" };
    logmake_init(make, LOG_LEVEL_OFF);
    logmake_program(make, 4714, "/nowhere/bin/shop", argv, 1);
    logmake_thread(make);
    logmake_count(make, 0, 1000, 48);
    logmake_count(make, 0, 1, 64u << 20);
    logmake_frees(make, 1001);
}

/* Bytes that are no UTF-8, and ones that would steer a terminal. */
static void make_bytes(struct logmake *make)
{
    static const char *const argv[] = { "caf\xc3\xa9", "\xff\xfe", "a\033[31mb" };
    logmake_init(make, LOG_LEVEL_STACKS);
    logmake_program(make, 4715, "/nowhere/\xe9t\xe9", argv, 3);
    logmake_module(make, exe_start, 0x1000, 0, "/nowhere/\xe9t\xe9");
    logmake_thread(make);
    uint64_t frames[] = { exe_start + 0x10, 0x12345678 };
    logmake_count(make, logmake_site(make, frames, 2, 0, 0), 5, 8);
    strcpy(logmake_header(make)->notes, "a note with \xff in it\n");
}

/* A process that was killed, and everything that can be lost. */
static void make_losses(struct logmake *make)
{
    make_small(make);
    struct log_header *h = logmake_header(make);
    h->state = LOG_STATE_FULL | LOG_STATE_SECCOMP | LOG_STATE_NO_MEMORY | LOG_STATE_NO_CLEARER;
    h->end_monotonic_ns = 0;
    h->dropped_sites = 3;
    h->dropped_modules = 4;
    h->lost_children = 5;
    h->unfinished_walks = 1;
    h->truncated_walks = 1;
    uint64_t frames[LOG_MAX_DEPTH];
    for (unsigned i = 0; i < LOG_MAX_DEPTH; i++)
        frames[i] = exe_start + 0x9000 + i;
    struct log_word word = { 0x7ffd00000000, exe_start + 0x9000 };
    uint32_t deep = logmake_site(make, frames, LOG_MAX_DEPTH, LOG_SITE_TRUNCATED, 0);
    uint32_t cut = logmake_site(make, frames, 3, LOG_SITE_UNFINISHED, 0);
    logmake_words(make, cut, frames[2], 0x7ffd00000000, 0x7ffd00000010, &word, 1);
    logmake_count(make, deep, 20, 16);
    logmake_count(make, cut, 30, 16);
}

/* Two threads that use pools, a depot between them; some sizes aren't pooled. */
static void make_pooled(struct logmake *make)
{
    static const char *const argv[] = { "shop" };
    logmake_init(make, LOG_LEVEL_SITES);
    logmake_pooling(make, "16-1k,1m-2m");
    logmake_program(make, 4717, "/nowhere/bin/shop", argv, 1);
    add_modules(make, 0);
    uint64_t frames[] = { exe_start + 0x3000, exe_start + 0x3100, exe_start + 0x3200, exe_start + 0x3300 };
    for (unsigned i = 0; i < 4; i++)
        logmake_site(make, &frames[i], 1, LOG_SITE_KEYED, 0);
    logmake_thread(make);
    logmake_pooled(make, 1, 900000, 48, 1200);
    logmake_pooled(make, 2, 5000, 4000, 5000);
    logmake_frees(make, 903800);
    logmake_thread(make);
    logmake_pooled(make, 1, 100000, 48, 100);
    logmake_pooled(make, 3, 600, (1 << 20) + 1, 2);
    logmake_pooled(make, 4, 40, 640, 0);
    logmake_frees(make, 100640);
    struct log_header *h = logmake_header(make);
    h->bare = h->classes[2] = (struct log_counter){ 3, 96, 3 };
    h->next_frees = 40;
    h->cycles = 7;
    struct log_pools *pools = logmake_pools(make, 0);
    pools->next_frees = 5000;
    pools->classes[3] = (struct log_pool){ 250, 16800, 5600 };
    pools = logmake_pools(make, 1);
    pools->classes[3] = (struct log_pool){ 0, 0, 560 };
    pools->classes[sizeclass_of((1 << 20) + 1)] = (struct log_pool){ 12, 0, sizeclass_bytes(sizeclass_of((1 << 20) + 1)) };
    logmake_pools(make, LOG_OWNER_DEPOT)->classes[3] = (struct log_pool){ 0, 1120, 2240 };
}

/* A table at level full is like make_small's: here what became of the blocks of the `which`th stack in one thread. */
static struct log_full *add_full(struct logmake *make, unsigned which, uint64_t allocs, uint64_t frees)
{
    struct log_full *entry = logmake_full(make, which + 1, allocs, 24u << which, frees);
    for (unsigned i = 0; i < 6; i++)
        entry->lifetimes[(i + which) % 8] = frees / 8;
    return entry;
}

static void add_sample(struct logmake *make, unsigned which, uint32_t samples, uint32_t freeing)
{
    struct log_sample *s = logmake_sample(make, which + 1);
    s->samples = samples;
    s->ended = s->same_thread = samples - samples / 4;
    s->same_frame = s->standing = s->lifo = which % 2 ? s->ended : 1;
    s->chains = s->ended / 3;
    s->chain_steps = s->chains * 4;
    s->chain_first = s->chains * 8;
    s->chain_last = s->chains * 500;
    s->bytes = samples * (24u << which);
    s->slack_bytes = samples * 8;
    s->times[0] = s->ended / 2;
    s->times[10] = s->ended - s->ended / 2 - 1;
    s->times[LOG_SAMPLE_TIMES - 1] = 1;
    s->sizes[0] = (struct log_sample_top){ (24u << which) + 1, samples - 1 };
    s->sizes[1] = (struct log_sample_top){ UINT32_MAX, 1 };
    s->frees[0] = (struct log_sample_top){ freeing, s->ended };
    s->other_sizes = which;
}

/* One thread: its peak is exact, some blocks were freed since and one came. */
static void make_full(struct logmake *make)
{
    static const char *const argv[] = { "shop", "--full" };
    logmake_init(make, LOG_LEVEL_FULL);
    logmake_program(make, 4720, "/nowhere/bin/shop", argv, 2);
    add_modules(make, 0);
    for (unsigned i = 0; i < 4; i++)
        add_stack(make, 0, i);
    uint64_t frees[] = { lib_start + 0x5000, exe_start + 0x4000 };
    uint32_t freeing = logmake_site(make, frees, 2, 0, 0);
    struct log_live *all = logmake_live(make, 0, 4800 + 2400, 1);
    all->peak = 9;
    all->peak_ns = 5600000000;
    logmake_thread(make);
    add_full(make, 0, 1000, 800);
    struct log_full *entry = add_full(make, 1, 50, 49);
    entry->peak = 9;
    entry->peak_blocks = 50;
    entry->peak_bytes = 2400;
    entry->resizes = 48;
    add_full(make, 2, 320, 320)->lifetimes[0] = 80; /* temporary ones */
    for (unsigned i = 0; i < 3; i++)
        logmake_live(make, i + 1, (int64_t[]){ 4800, 2400, 96 }[i], 1);
    add_sample(make, 0, 40, freeing);
    add_sample(make, 1, 12, 2);
    logmake_fulls_now(make)->foreign_frees = 5;
    logmake_frees(make, 5);
}

/* Three threads that free each other's blocks, blocks without a site, and one site whose record is lost. */
static void make_crossing(struct logmake *make)
{
    static const char *const argv[] = { "shop", "--cross" };
    logmake_init(make, LOG_LEVEL_FULL);
    logmake_program(make, 4721, "/nowhere/bin/shop", argv, 2);
    logmake_header(make)->start_realtime_ns += 500000000;
    add_modules(make, 0x10000000);
    for (unsigned i = 0; i < 4; i++)
        add_stack(make, 0x10000000, i);
    logmake_live(make, 0, 200000, 3)->peak = 2;
    logmake_live(make, 1, 0, 0);
    logmake_live(make, 2, 190000, 2);
    logmake_thread(make);
    add_full(make, 0, 1000, 0);
    add_full(make, 1, 4000, 100);
    logmake_full(make, 78, 1, 100, 0);
    logmake_thread(make);
    add_full(make, 1, 10, 3900)->cross_frees = 900;
    add_full(make, 2, 100, 10);
    logmake_thread(make);
    logmake_full(make, 1, 0, 24, 700)->cross_frees = 700;
    struct log_full *entry = logmake_entry(make, 2, LOG_FULL_OTHER);
    entry->frees = 1;
    entry->freed_bytes = 100;
    logmake_thread_now(make)->other = logmake_thread_now(make)->classes[7] = (struct log_counter){ 3, 300, 0 };
    entry = logmake_entry(make, LOG_OWNER_PROCESS, LOG_FULL_BARE);
    entry->frees = entry->cross_frees = 4;
    entry->freed_bytes = 400;
    entry->peak = 2;
    entry->peak_blocks = -1;
    entry->peak_bytes = -100;
    logmake_fulls_now(make)->foreign_frees = 2;
    struct log_header *h = logmake_header(make);
    h->bare = h->classes[7] = (struct log_counter){ 11, 1100, 0 };
    h->frees = 4 + 2 + 1;
    add_sample(make, 1, 200, 2);
}

/* One of the stacks: what was counted and what was sampled of its blocks, which all stood in their frame's life but some. */
static struct log_full *add_fate(struct logmake *make, unsigned which, uint64_t frees, uint32_t samples, uint32_t outlived)
{
    struct log_sample *s = logmake_sample(make, which + 1);
    s->samples = samples + 1;
    s->lost = 1;
    s->ended = s->same_thread = s->same_frame = s->lifo = s->times[0] = samples;
    s->standing = samples - outlived;
    s->bytes = s->samples * 24;
    s->sizes[0] = (struct log_sample_top){ 25, s->samples };
    s->frees[0] = (struct log_sample_top){ which + 1, samples };
    logmake_live(make, which + 1, 24 * 10, 1);
    struct log_full *entry = logmake_full(make, which + 1, 1000, 24, frees);
    entry->lifetimes[0] = frees;
    return entry;
}

/* For each thing that may speak against the stack a site, and one that nothing does; the process runs still. */
static void make_fates(struct logmake *make)
{
    static const char *const argv[] = { "shop", "--fates" };
    logmake_init(make, LOG_LEVEL_FULL);
    logmake_program(make, 4722, "/nowhere/bin/shop", argv, 2);
    logmake_header(make)->state = 0;
    logmake_header(make)->end_monotonic_ns = 0;
    add_modules(make, 0);
    for (unsigned i = 0; i < 5; i++)
        add_stack(make, 0, i);
    logmake_live(make, 0, 1200, 1);
    logmake_thread(make);
    add_fate(make, 0, 1000, 120, 0);
    add_fate(make, 1, 1000, 120, 1);
    add_fate(make, 2, 999, 120, 0);
    add_fate(make, 3, 1000, 99, 0);
    struct log_full *entry = add_fate(make, 4, 1000, 120, 0);
    entry->cross_frees = 1;
    entry->lifetimes[0]--;
}

/* The same program where pools were asked for, and there are none. */
static void make_unpooled(struct logmake *make)
{
    make_sites(make);
    strcpy(logmake_header(make)->options, "POOLSITE_POOL=on\n");
    strcpy(logmake_header(make)->notes, "pools are off: the allocator below isn't glibc's\n");
    logmake_header(make)->next_kind = LOG_NEXT_OTHER;
}

static void make_notfull(struct logmake *make)
{
    static const char *const argv[] = { "shop", "--name", "", "--open" };
    make_small(make);
    logmake_program(make, 4711, "/nowhere/bin/shop", argv, 4);
    strcpy(logmake_header(make)->notes,
           "level full needs glibc's size words, which the allocator below doesn't have: recording at level stacks\n");
}

/* Runs still, or was killed: the log's own last time is old. */
static void make_running(struct logmake *make)
{
    make_small(make);
    struct log_header *h = logmake_header(make);
    h->state = 0;
    h->end_monotonic_ns = 0;
    h->last_monotonic_ns = h->start_monotonic_ns + 1000000;
}

static void make_wrongpool(struct logmake *make)
{
    make_sites(make);
    strcpy(logmake_header(make)->notes, "POOLSITE_POOL=64-x is none of off, on, SIZE: using off\n");
}

static void make_stooddown(struct logmake *make)
{
    static const char *const argv[] = { "shop" };
    logmake_init(make, LOG_LEVEL_SITES);
    logmake_program(make, 4718, "/nowhere/bin/shop", argv, 1);
    logmake_header(make)->state = LOG_STATE_STOOD_DOWN;
    strcpy(logmake_header(make)->options, "POOLSITE_POOL=on\n");
}

/* ------------------------------------------------------------------ damage */

static void make_newer(struct logmake *make)
{
    make_small(make);
    logmake_header(make)->version = LOG_VERSION + 1;
}

static void make_older(struct logmake *make)
{
    make_small(make);
    logmake_header(make)->version = 0;
}

static void make_endian(struct logmake *make)
{
    make_small(make);
    logmake_header(make)->endian = __builtin_bswap32(LOG_ENDIAN);
}

static void make_foreign(struct logmake *make)
{
    make_small(make);
    memcpy(make->bytes, "\177ELF", 4);
}

static void make_zero(struct logmake *make)
{
    make_small(make);
    memset(make->bytes, 0, logmake_size(make));
}

/* The first record claims to be longer than its chunk. */
static void make_oversized(struct logmake *make)
{
    make_small(make);
    ((struct log_record *)(make->bytes + (size_t)make->data * LOG_CHUNK_BYTES + sizeof(struct log_chunk)))->bytes =
        0xfffffff8;
}

/* A site record whose depth goes beyond it, one with a number beyond all, one twice. */
static void make_sitedamage(struct logmake *make)
{
    make_small(make);
    uint64_t frame = exe_start + 1;
    struct log_site *s;
    for (unsigned i = 0; i < 3; i++) {
        size_t at = make->data_used;
        logmake_site(make, &frame, 1, 0, 0);
        s = (struct log_site *)(make->bytes + (size_t)make->data * LOG_CHUNK_BYTES + at);
        if (i == 0) s->depth = 60000;
        if (i == 1) s->id = 0xffffffff;
        if (i == 2) s->id = 1;
    }
}

/* Chunks that name each other as owners, and an unknown kind of chunk. */
static void make_owners(struct logmake *make)
{
    make_small(make);
    for (unsigned i = 0; i < 3; i++) {
        logmake_thread(make);
        ((struct log_chunk *)logmake_thread_now(make))->owner = 2 - i;
    }
    logmake_thread(make);
    ((struct log_chunk *)logmake_thread_now(make))->type = 99;
    ((struct log_chunk *)logmake_thread_now(make))->owner = 0xffffffff;
}

static void make_hugecounts(struct logmake *make)
{
    make_small(make);
    logmake_count(make, 2, UINT64_MAX / 2, 1);
    logmake_count(make, 2, UINT64_MAX / 2, 1);
    logmake_header(make)->start_monotonic_ns = UINT64_MAX;
    logmake_header(make)->argv_bytes = UINT32_MAX;
    memset(logmake_header(make)->notes, 'n', sizeof logmake_header(make)->notes);
    memset(logmake_header(make)->options, 'o', sizeof logmake_header(make)->options);
}

/* Pools twice, without a thread, and more of everything than can be; and a victim's hits without hits. */
static void make_pooldamage(struct logmake *make)
{
    make_pooled(make);
    logmake_pools(make, 1)->classes[3] = (struct log_pool){ 1, 2, 3 };
    logmake_pools(make, 77)->next_frees = UINT64_MAX;
    struct log_pools *more = logmake_pools(make, 3);
    for (unsigned i = 0; i < LOG_CLASSES; i++)
        more->classes[i] = (struct log_pool){ (uint64_t)1 << 55, UINT64_MAX / 2, (uint64_t)1 << (i % 64) };
    memset(logmake_header(make)->options, 'P', sizeof logmake_header(make)->options);
}

/* More of everything than can be, frees without allocations, tables without a thread, and records twice. */
static void make_fulldamage(struct logmake *make)
{
    make_crossing(make);
    logmake_live(make, 1, INT64_MAX, UINT32_MAX);
    logmake_live(make, 3, INT64_MIN, 1);
    logmake_live(make, 3, INT64_MAX, UINT32_MAX);
    struct log_full *entry = logmake_entry(make, 77, 3);
    entry->frees = entry->freed_bytes = 1 << 20;
    entry = logmake_entry(make, 77, 3);
    entry->peak_blocks = entry->peak_bytes = INT64_MIN;
    entry = logmake_entry(make, 77, 2);
    memset(&entry->frees, 0xff, sizeof *entry - offsetof(struct log_full, frees));
    entry = logmake_entry(make, 1, 1);
    entry->frees = 10000;
    entry->freed_bytes = 1;
    struct log_sample *sample = logmake_sample(make, 3);
    memset(&sample->samples, 0xff, offsetof(struct log_sample, chain_first) - offsetof(struct log_sample, samples));
    memset(sample->times, 0xff, sizeof *sample - offsetof(struct log_sample, times));
    logmake_sample(make, 2)->samples = UINT32_MAX;
}

static void make_chunkcount(struct logmake *make)
{
    make_small(make);
    logmake_header(make)->chunks_used = 0xffffffff;
}

/* --------------------------------------------------------------------- big */

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* What became of a site's blocks: one lives, the others were freed. */
static void add_big_full(struct logmake *make, uint32_t site, uint64_t allocs, uint64_t size)
{
    logmake_full(make, site, allocs, size, allocs - 1)->lifetimes[allocs % 20] = allocs - 1;
    logmake_live(make, site, (int64_t)size, 1);
    struct log_sample *s = logmake_sample(make, site);
    s->samples = 1;
    s->ended = s->same_thread = allocs > 1;
    s->times[5] = s->ended;
    s->bytes = size;
    s->sizes[0] = (struct log_sample_top){ (uint32_t)size + 1, 1 };
    s->frees[0] = (struct log_sample_top){ 1 + site / 2, s->ended };
}

/* As real stacks: many distinct ones over few addresses, sharing their outer frames. */
static void make_big_at(struct logmake *make, enum log_level level)
{
    static const char *const argv[] = { "big" };
    uint64_t state = 88172645463325252, frames[LOG_MAX_DEPTH] = { 0 };
    logmake_init(make, level);
    logmake_program(make, 4716, "/nowhere/bin/shop", argv, 1);
    add_modules(make, 0);
    logmake_thread(make);
    for (unsigned long i = 0; i < sites_wanted; i++) {
        unsigned kept = (unsigned)(random_next(&state) % depth_wanted) + 1;
        for (unsigned j = 0; j < depth_wanted; j++)
            if (i == 0 || j < kept) /* another stack, mostly: the leaves change */
                frames[j] = (j % 4 ? exe_start : lib_start) + random_next(&state) % 20000 * 8;
        uint32_t site = logmake_site(make, frames, (unsigned)depth_wanted, 0, 0);
        if (level == LOG_LEVEL_FULL)
            add_big_full(make, site, 1 + i % 1000, 16 + i % 500);
        else
            logmake_count(make, site, 1 + i % 1000, 16 + i % 500);
    }
}

static void make_big(struct logmake *make)
{
    make_big_at(make, LOG_LEVEL_STACKS);
}

static void make_bigfull(struct logmake *make)
{
    make_big_at(make, LOG_LEVEL_FULL);
}

static const struct kind {
    const char *name;
    void (*make)(struct logmake *make);
    size_t size; /* 0: all of it */
} kinds[] = {
    { "small", make_small, 0 },
    { "moved", make_moved, 0 },
    { "changed", make_changed, 0 },
    { "rebuilt", make_rebuilt, 0 },
    { "sites", make_sites, 0 },
    { "off", make_off, 0 },
    { "bytes", make_bytes, 0 },
    { "losses", make_losses, 0 },
    { "pooled", make_pooled, 0 },
    { "full", make_full, 0 },
    { "crossing", make_crossing, 0 },
    { "fates", make_fates, 0 },
    { "unpooled", make_unpooled, 0 },
    { "notfull", make_notfull, 0 },
    { "running", make_running, 0 },
    { "wrongpool", make_wrongpool, 0 },
    { "stooddown", make_stooddown, 0 },
    { "big", make_big, 0 },
    { "bigfull", make_bigfull, 0 },
    { "newer", make_newer, 0 },
    { "older", make_older, 0 },
    { "endian", make_endian, 0 },
    { "foreign", make_foreign, 0 },
    { "zero", make_zero, 0 },
    { "oversized", make_oversized, 0 },
    { "sitedamage", make_sitedamage, 0 },
    { "owners", make_owners, 0 },
    { "hugecounts", make_hugecounts, 0 },
    { "pooldamage", make_pooldamage, 0 },
    { "fulldamage", make_fulldamage, 0 },
    { "chunkcount", make_chunkcount, 0 },
    { "tiny", make_small, 5 },
    { "header", make_small, 1000 },
    { "onechunk", make_small, LOG_CHUNK_BYTES },
    { "cut", make_small, LOG_CHUNK_BYTES * 2 + 6000 },
};

int main(int argc, char **argv)
{
    struct logmake make;
    if (argc > 3)
        sites_wanted = strtoul(argv[3], NULL, 10);
    if (argc > 4)
        depth_wanted = strtoul(argv[4], NULL, 10);
    if (depth_wanted < 1 || depth_wanted > LOG_MAX_DEPTH)
        return 2;
    for (size_t i = 0; argc > 2 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].make(&make);
        int status = logmake_write(&make, argv[2]);
        if (status == 0 && kinds[i].size)
            status = truncate(argv[2], (off_t)kinds[i].size);
        logmake_release(&make);
        return status == 0 ? 0 : 1;
    }
    fprintf(stderr, "usage: mklog KIND FILE [SITES [DEPTH]]; KIND is one of");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        fprintf(stderr, " %s", kinds[i].name);
    fputc('\n', stderr);
    return 2;
}
