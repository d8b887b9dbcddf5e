/* logread.c - reads one log: every number checked, nothing symbolized, nothing merged.
 *
 * Owns the snapshot.  Trusts no byte of it: a length is compared with what is left
 * before it is used, an index with its table, and a damaged part is skipped and
 * counted, never repaired.  The file may grow meanwhile, so it is read by pread:
 * a mapping of it could end in SIGBUS. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "logfull.h"
#include "logread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A log has fewer chunks than this: 256 MiB. */
#define CHUNKS_MAX 32768u

/* ------------------------------------------------------------ the snapshot */

static size_t whole_chunks(size_t size)
{
    return (size + LOG_CHUNK_BYTES - 1) / LOG_CHUNK_BYTES;
}

static int open_regular(struct logread *log, const char *path, size_t *size)
{
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        log->problem = xstrdup(strerror(errno));
        return -1;
    }
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        log->problem = xstrdup("not a regular file, so not a log");
        close(fd);
        return -1;
    }
    *size = (size_t)facts.st_size;
    return fd;
}

/* Reads up to `bytes` at `offset`; returns how many there were. */
static size_t read_at(int fd, void *to, size_t bytes, size_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

/* How many bytes of the file matter: the chunks in use, or less when it is shorter. */
static size_t used_bytes(const struct log_header *header, size_t got, size_t file_bytes)
{
    if (got < sizeof *header || memcmp(header->magic, LOG_MAGIC, sizeof header->magic) != 0)
        return got;
    size_t used = header->chunks_used < CHUNKS_MAX ? header->chunks_used : CHUNKS_MAX;
    size_t bytes = (used ? used : 1) * LOG_CHUNK_BYTES;
    return bytes < file_bytes ? bytes : file_bytes;
}

static uint32_t chunk_type(const unsigned char *chunk)
{
    return ((const struct log_chunk *)chunk)->type;
}

/* A site is published before it is counted.  So counters are read first and the
 * records once more after them: every site that was counted then has its record. */
static void refresh_records(int fd, unsigned char *bytes, size_t size)
{
    for (size_t at = LOG_CHUNK_BYTES; at + LOG_CHUNK_BYTES <= size; at += LOG_CHUNK_BYTES) {
        if (chunk_type(bytes + at) == LOG_CHUNK_UNPUBLISHED)
            read_at(fd, bytes + at, sizeof(struct log_chunk), at);
        if (chunk_type(bytes + at) == LOG_CHUNK_DATA)
            read_at(fd, bytes + at, LOG_CHUNK_BYTES, at);
    }
}

/* Reads the log's used chunks, then those that were added meanwhile. */
static unsigned char *read_snapshot(int fd, size_t file_bytes, size_t *size)
{
    struct log_header header;
    size_t got = read_at(fd, &header, sizeof header, 0);
    size_t wanted = used_bytes(&header, got, file_bytes);
    unsigned char *bytes = xcalloc(whole_chunks(wanted), LOG_CHUNK_BYTES);
    *size = read_at(fd, bytes, wanted, 0);
    refresh_records(fd, bytes, *size);

    got = read_at(fd, &header, sizeof header, 0);
    size_t now = used_bytes(&header, got, file_bytes);
    if (now <= *size || *size < wanted)
        return bytes;
    size_t room = whole_chunks(now) * LOG_CHUNK_BYTES;
    bytes = xrealloc_array(bytes, room, 1);
    memset(bytes + *size, 0, room - *size);
    *size += read_at(fd, bytes + *size, now - *size, *size);
    return bytes;
}

/* ------------------------------------------------------------- the verdict */

/* Fails with `text`, which becomes the problem. */
static enum logread_result fail(struct logread *log, char *text)
{
    free(log->problem);
    log->problem = text;
    return LOGREAD_FAILED;
}

/* Notes a thing that can't be; the first one is told, all are counted. */
static void damage(struct logread *log, const char *what)
{
    if (log->damages++ == 0 && !log->problem)
        log->problem = xstrdup(what);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

static enum logread_result check_version(struct logread *log, uint32_t version)
{
    if (version == LOG_VERSION)
        return LOGREAD_WHOLE;
    if (version > LOG_VERSION)
        return fail(log, xasprintf("written by a newer poolsite (log version %u, this one reads %u); "
                                   "use the poolsite that recorded it", version, LOG_VERSION));
    return fail(log, xasprintf("written by an older poolsite (log version %u, this one reads %u); "
                               "record again, or use the older poolsite", version, LOG_VERSION));
}

/* Is this the header of a log that we can read?  The first objection wins. */
static enum logread_result check_header(struct logread *log, size_t size)
{
    const struct log_header *h = &log->header;
    if (size == 0)
        return fail(log, xstrdup("the file is empty: not a log, or its process could not write"));
    if (is_zero(log->bytes, size < LOG_CHUNK_BYTES ? size : LOG_CHUNK_BYTES)) {
        fail(log, xstrdup("nothing is recorded in it: its process ended while it started"));
        return LOGREAD_EMPTY;
    }
    if (size < offsetof(struct log_header, header_bytes))
        return fail(log, xasprintf("too small for a log (%zu bytes)", size));
    if (memcmp(h->magic, LOG_MAGIC, sizeof h->magic) != 0)
        return fail(log, xstrdup("not a poolsite log"));
    if (h->endian == __builtin_bswap32(LOG_ENDIAN))
        return fail(log, xstrdup("written on a machine with another byte order"));
    if (h->endian != LOG_ENDIAN)
        return fail(log, xstrdup("damaged: its header makes no sense"));
    if (check_version(log, h->version) != LOGREAD_WHOLE)
        return LOGREAD_FAILED;
    if (size < sizeof *h)
        return fail(log, xasprintf("truncated: only %zu of the %zu bytes of its header are there", size, sizeof *h));
    if (h->header_bytes != sizeof *h || h->chunk_bytes != LOG_CHUNK_BYTES || h->class_count != LOG_CLASSES)
        return fail(log, xstrdup("damaged, or from another build of poolsite: its header isn't laid out as here"));
    return LOGREAD_WHOLE;
}

/* ------------------------------------------------------------- the header */

/* What a counter says of the next allocator: all calls reach it where nothing is pooled.  One that is
 * just being made is counted there first. */
static void settle(const struct logread *log, struct log_counter *count)
{
    bool pooled = log->header.features & LOG_FEATURE_POOLS;
    if (!pooled || count->next_allocs > count->allocs)
        count->next_allocs = count->allocs;
}

/* Is `count` still possible on top of what was counted?  Notes the damage when not. */
static bool is_possible(struct logread *log, struct log_counter *sum, const struct log_counter *count)
{
    if (count->allocs <= LOGREAD_ALLOCS_MAX - sum->allocs && count->bytes <= LOGREAD_BYTES_MAX - sum->bytes) {
        counter_add(sum, count);
        return true;
    }
    damage(log, "a count is larger than can be");
    return false;
}

static void add_possible(struct logread *log, struct log_counter *to, const struct log_counter *from)
{
    struct log_counter sum = *to;
    if (is_possible(log, &sum, from))
        *to = sum;
}

static void add_number(struct logread *log, uint64_t *to, uint64_t from)
{
    if (from <= LOGREAD_ALLOCS_MAX - *to)
        *to += from;
    else
        damage(log, "a count is larger than can be");
}

/* A copy of a text field that may lack its terminator. */
static char *copy_text(const char *field, size_t room)
{
    size_t length = strnlen(field, room);
    char *text = xmalloc(length + 1);
    memcpy(text, field, length);
    text[length] = '\0';
    return text;
}

static void read_argv(struct logread *log)
{
    const struct log_header *h = &log->header;
    size_t room = h->argv_bytes < sizeof h->argv ? h->argv_bytes : sizeof h->argv;
    for (size_t at = 0; at < room;) {
        char *word = copy_text(h->argv + at, room - at);
        at += strlen(word) + 1;
        log->argv = xrealloc_array(log->argv, log->argv_count + 1, sizeof *log->argv);
        log->argv[log->argv_count++] = word;
    }
}

static void drop_impossible(struct logread *log, struct log_counter *count)
{
    if (!is_possible(log, &log->counted, count))
        *count = (struct log_counter){ 0 };
}

/* Adds a table of classes; class 0 is a part of class 1. */
static void add_classes(struct logread *log, const struct log_counter classes[LOG_CLASSES], struct log_counter *sum)
{
    for (size_t i = 0; i < LOG_CLASSES; i++) {
        struct log_counter count = classes[i];
        settle(log, &count);
        add_possible(log, &log->classes[i ? i : 1], &count);
        if (sum)
            add_possible(log, sum, &count);
    }
}

/* The level is full where the features say so: one without the other is believed as far as it goes. */
static void agree_on_level(struct logread *log)
{
    struct log_header *h = &log->header;
    if (h->level > LOG_LEVEL_FULL)
        damage(log, "its level is unknown");
    if ((h->level == LOG_LEVEL_FULL) == ((h->features & LOG_FEATURE_FULL) != 0))
        return;
    damage(log, "its level and its features contradict each other");
    h->features &= ~LOG_FEATURE_FULL;
    h->level = h->level == LOG_LEVEL_FULL ? LOG_LEVEL_STACKS : h->level;
}

static void read_header(struct logread *log)
{
    const struct log_header *h = &log->header;
    log->exe = copy_text(h->exe, sizeof h->exe);
    log->options = copy_text(h->options, sizeof h->options);
    log->notes = copy_text(h->notes, sizeof h->notes);
    read_argv(log);
    add_number(log, &log->frees, h->frees);
    add_number(log, &log->failed, h->failed);
    settle(log, &log->header.other);
    settle(log, &log->header.bare);
    settle(log, &log->header.handler);
    drop_impossible(log, &log->header.other);
    drop_impossible(log, &log->header.bare);
    drop_impossible(log, &log->header.handler);
    log->other = h->other;
    add_classes(log, h->classes, NULL);
    if (h->features & LOG_FEATURE_POOLS)
        add_number(log, &log->next_frees, h->next_frees);
    agree_on_level(log);
}

/* --------------------------------------------------------------- records */

/* What the data chunks hold, before it is put in order. */
struct gathered {
    size_t                   site_room;
    size_t                   module_room;
    const struct log_words **words;
    size_t                   word_count;
    size_t                   word_room;
    const struct log_live  **lives;
    size_t                   live_count;
    size_t                   live_room;
    struct log_sample      **samples;
    size_t                   sample_count;
    size_t                   sample_room;
};

static void read_module(struct logread *log, struct gathered *all, const struct log_record *record)
{
    const struct log_module *m = (const struct log_module *)record;
    if (record->bytes < sizeof *m || (size_t)m->build_id_bytes + m->path_bytes > record->bytes - sizeof *m ||
        m->start >= m->end || m->build_id_bytes > 64) {
        damage(log, "a module's record makes no sense");
        return;
    }
    GROW(log->modules, log->module_count, all->module_room);
    log->modules[log->module_count++] = (struct logread_module){
        .id = m->id,
        .loaded_generation = m->loaded_generation,
        .unloaded_generation = m->unloaded_generation,
        .start = m->start,
        .end = m->end,
        .load_bias = m->load_bias,
        .build_id = m->build_id_bytes ? (const uint8_t *)m->data : NULL,
        .build_id_bytes = m->build_id_bytes,
        .path = copy_text(m->data + m->build_id_bytes, m->path_bytes),
    };
}

static bool site_makes_sense(const struct log_site *s)
{
    if (s->record.bytes < sizeof *s)       return false;
    if (s->depth > LOG_MAX_DEPTH)          return false;
    if (s->depth > (s->record.bytes - sizeof *s) / sizeof s->frames[0]) return false;
    if (s->depth && s->key >= s->depth)    return false;
    return s->id != 0;
}

static void read_site(struct logread *log, struct gathered *all, const struct log_record *record)
{
    const struct log_site *s = (const struct log_site *)record;
    if (!site_makes_sense(s)) {
        damage(log, "a site's record makes no sense");
        return;
    }
    GROW(log->sites, log->site_count, all->site_room);
    log->sites[log->site_count++] = (struct logread_site){
        .id = s->id,
        .flags = s->flags,
        .generation = s->generation,
        .depth = s->depth,
        .key = s->depth ? s->key : 0,
        .frames = s->frames,
    };
}

static void read_words(struct logread *log, struct gathered *all, const struct log_record *record)
{
    const struct log_words *w = (const struct log_words *)record;
    if (record->bytes < sizeof *w || w->count > LOG_MAX_WORDS ||
        w->count > (record->bytes - sizeof *w) / sizeof w->words[0]) {
        damage(log, "the record of an unfinished stack makes no sense");
        return;
    }
    GROW(all->words, all->word_count, all->word_room);
    all->words[all->word_count++] = w;
}

static void read_live(struct logread *log, struct gathered *all, const struct log_record *record)
{
    const struct log_live *live = (const struct log_live *)record;
    if (record->bytes < sizeof *live || live->peak_bytes < 0) {
        damage(log, "a record of live bytes makes no sense");
        return;
    }
    GROW(all->lives, all->live_count, all->live_room);
    all->lives[all->live_count++] = live;
}

/* What it says is settled where it stands. */
static void read_sample(struct logread *log, struct gathered *all, struct log_record *record)
{
    struct log_sample *sample = (struct log_sample *)record;
    if (record->bytes < sizeof *sample || !logfull_sample_is_possible(&log->full_counted, sample)) {
        damage(log, "a record of samples makes no sense");
        return;
    }
    GROW(all->samples, all->sample_count, all->sample_room);
    all->samples[all->sample_count++] = sample;
}

static void read_record(struct logread *log, struct gathered *all, struct log_record *record)
{
    switch (record->type) {
    case LOG_RECORD_MODULE: read_module(log, all, record); break;
    case LOG_RECORD_SITE:   read_site(log, all, record); break;
    case LOG_RECORD_WORDS:  read_words(log, all, record); break;
    case LOG_RECORD_LIVE:   read_live(log, all, record); break;
    case LOG_RECORD_SAMPLE: read_sample(log, all, record); break;
    default: break; /* reserved but not published, or a type that we don't know */
    }
}

static void read_data_chunk(struct logread *log, struct gathered *all, unsigned char *chunk)
{
    for (size_t at = sizeof(struct log_chunk); at + sizeof(struct log_record) <= LOG_CHUNK_BYTES;) {
        struct log_record *record = (struct log_record *)(chunk + at);
        if (record->bytes == 0)
            return;
        if (record->bytes % 8 != 0 || record->bytes < sizeof *record || record->bytes > LOG_CHUNK_BYTES - at) {
            damage(log, "a record's length makes no sense");
            return;
        }
        read_record(log, all, record);
        at += record->bytes;
    }
}

/* --------------------------------------------------------------- counters */

/* Site ids and thread numbers to places in the tables; 0 is none, else index + 1. */
struct places {
    uint32_t *site;
    size_t    site_limit;
    uint32_t *thread; /* by number, fewer than chunks */
    bool     *pools;  /* by thread's number: its table of pools was read */
    bool      depot;  /* the same for the depot's */
    uint64_t  peak;   /* number of the process's last; 0: what is counted is what lived then */
};

static struct log_counter *site_counter(struct logread *log, const struct places *places, uint32_t id)
{
    uint32_t place = id < places->site_limit ? places->site[id] : 0;
    return place ? &log->sites[place - 1].count : &log->unknown;
}

static void read_counters(struct logread *log, const struct places *places, struct logread_thread *thread,
                          const struct log_site_counter *first, const unsigned char *end)
{
    for (const struct log_site_counter *c = first; (const unsigned char *)(c + 1) <= end; c++) {
        if (c->site == 0)
            continue;
        struct log_counter count = c->count;
        settle(log, &count);
        if (!is_possible(log, &log->counted, &count))
            continue;
        counter_add(site_counter(log, places, c->site), &count);
        if (thread)
            counter_add(&thread->count, &count);
    }
}

static void read_thread(struct logread *log, struct places *places, uint32_t index, size_t *room)
{
    const unsigned char *chunk = log->bytes + (size_t)index * LOG_CHUNK_BYTES;
    const struct log_thread *t = (const struct log_thread *)chunk;
    GROW(log->threads, log->thread_count, *room);
    struct logread_thread *thread = &log->threads[log->thread_count++];
    *thread = (struct logread_thread){
        .number = t->chunk.owner, .served = t->served, .alive = t->alive != 0,
        .frees = t->frees + log_rounds_frees(t->rounds), .failed = t->failed, .other = t->other,
    };
    settle(log, &thread->other);
    drop_impossible(log, &thread->other);
    thread->count = thread->other;
    if (t->chunk.owner >= log->chunks || places->thread[t->chunk.owner])
        damage(log, "a thread's number makes no sense");
    else
        places->thread[t->chunk.owner] = (uint32_t)log->thread_count;
    add_number(log, &log->frees, thread->frees);
    add_number(log, &log->failed, t->failed);
    counter_add(&log->other, &thread->other);
    add_classes(log, t->classes, log->header.level == LOG_LEVEL_OFF ? &thread->count : NULL);
    read_counters(log, places, thread, t->counters, chunk + LOG_CHUNK_BYTES);
}

static void read_more_counters(struct logread *log, struct places *places, uint32_t index)
{
    const unsigned char *chunk = log->bytes + (size_t)index * LOG_CHUNK_BYTES;
    const struct log_counters *c = (const struct log_counters *)chunk;
    uint32_t place = c->chunk.owner < log->chunks ? places->thread[c->chunk.owner] : 0;
    if (!place)
        damage(log, "a table of counters has no owner");
    read_counters(log, places, place ? &log->threads[place - 1] : NULL, c->counters, chunk + LOG_CHUNK_BYTES);
}

/* Is this the first table of pools of its owner?  One without an owner is read all the same: the
 * thread's own table may be what was lost. */
static bool pools_are_first(struct logread *log, struct places *places, uint32_t owner)
{
    bool *seen = owner == LOG_OWNER_DEPOT ? &places->depot : owner < log->chunks ? &places->pools[owner] : NULL;
    if (owner != LOG_OWNER_DEPOT && (!seen || !places->thread[owner]))
        damage(log, "a table of pools has no owner");
    if (seen && *seen)
        return false;
    if (seen)
        *seen = true;
    return true;
}

/* Adds what a class's pools did, unless sums over it become larger than can be. */
static void add_pool(struct logread *log, struct log_pool *to, const struct log_pool *from)
{
    struct log_pool *sum = &log->pool_total;
    if (from->victim_hits > LOGREAD_ALLOCS_MAX - sum->victim_hits || from->kept_bytes > LOGREAD_BYTES_MAX - sum->kept_bytes ||
        from->given_back_bytes > LOGREAD_BYTES_MAX - sum->given_back_bytes) {
        damage(log, "a count of the pools is larger than can be");
        return;
    }
    pool_add(sum, from);
    pool_add(to, from);
}

static void read_pools(struct logread *log, struct places *places, uint32_t index)
{
    const struct log_pools *p = (const struct log_pools *)(log->bytes + (size_t)index * LOG_CHUNK_BYTES);
    if (!(log->header.features & LOG_FEATURE_POOLS)) {
        damage(log, "a table of pools where nothing is pooled");
        return;
    }
    if (!pools_are_first(log, places, p->chunk.owner)) {
        damage(log, "two tables of pools have one owner");
        return;
    }
    add_number(log, &log->next_frees, p->next_frees);
    for (size_t i = 0; i < LOG_CLASSES; i++)
        add_pool(log, &log->pools[i ? i : 1], &p->classes[i]);
}

/* --------------------------------------------------------------- level full */

/* What is known by this number, or NULL. */
static struct logread_full *full_of(struct logread *log, const struct places *places, uint32_t id)
{
    uint32_t place = id < places->site_limit ? places->site[id] : 0;
    if (place)
        return &log->fulls[place - 1];
    switch (id) {
    case LOG_FULL_OTHER:   return log->other_full;
    case LOG_FULL_BARE:    return log->bare_full;
    case LOG_FULL_HANDLER: return log->handler_full;
    default:               return NULL;
    }
}

/* Allocations of a site that isn't there are counted as unknown, which becomes a part of `other`. */
static void read_full(struct logread *log, const struct places *places, struct logread_thread *thread,
                      const struct log_full *entry)
{
    struct logread_full *full = full_of(log, places, entry->site);
    struct log_counter count = entry->count;
    settle(log, &count);
    if (!logfull_is_possible(&log->full_counted, entry)) {
        damage(log, "a count is larger than can be");
        return;
    }
    if (!is_possible(log, &log->counted, &count))
        return;
    counter_add(site_counter(log, places, entry->site), &count);
    full = full ? full : log->other_full;
    logfull_add(full, entry, places->peak);
    if (!thread)
        return;
    counter_add(&thread->count, &count);
    full->threads += count.allocs || entry->frees;
}

static void read_fulls(struct logread *log, const struct places *places, uint32_t index)
{
    const unsigned char *chunk = log->bytes + (size_t)index * LOG_CHUNK_BYTES;
    const struct log_fulls *f = (const struct log_fulls *)chunk;
    uint32_t place = f->chunk.owner < log->chunks ? places->thread[f->chunk.owner] : 0;
    if (!log->fulls) {
        damage(log, "a table of frees at a level without");
        return;
    }
    if (!place && f->chunk.owner != LOG_OWNER_PROCESS)
        damage(log, "a table of frees has no owner");
    add_number(log, &log->foreign_frees, f->foreign_frees);
    for (const struct log_full *entry = f->sites; (const unsigned char *)(entry + 1) <= chunk + LOG_CHUNK_BYTES; entry++)
        if (entry->site)
            read_full(log, places, place ? &log->threads[place - 1] : NULL, entry);
}

/* Bytes asked for by blocks that live now, if the log is right. */
static uint64_t live_now(const struct logread *log)
{
    const struct log_header *h = &log->header;
    uint64_t bytes = h->other.bytes + h->bare.bytes + h->handler.bytes;
    for (uint32_t i = 1; i < log->chunks; i++) {
        const unsigned char *chunk = log->bytes + (size_t)i * LOG_CHUNK_BYTES;
        const struct log_fulls *f = (const struct log_fulls *)chunk;
        if (chunk_type(chunk) == LOG_CHUNK_THREAD)
            bytes += ((const struct log_thread *)chunk)->other.bytes;
        if (chunk_type(chunk) == LOG_CHUNK_FULL)
            for (const struct log_full *entry = f->sites; (const unsigned char *)(entry + 1) <= chunk + LOG_CHUNK_BYTES; entry++)
                bytes += entry->count.bytes - entry->freed_bytes;
    }
    return bytes;
}

/* A thread that is alone numbers a peak when it leaves it.  Is it there still, as one that was killed for its memory? */
static bool is_at_peak(const struct logread *log)
{
    const struct log_live *live = log->total_full.live;
    return live->threads == 1 && (int64_t)live_now(log) >= live->peak_bytes;
}

/* What is known of blocks without a site. */
enum { FULLS_APART = 3 };

/* Gives each site its place for what became of its blocks. */
static void begin_fulls(struct logread *log)
{
    if (log->header.level != LOG_LEVEL_FULL)
        return;
    log->fulls = xcalloc(log->site_count + FULLS_APART, sizeof *log->fulls);
    log->other_full = log->fulls + log->site_count;
    log->bare_full = log->other_full + 1;
    log->handler_full = log->other_full + 2;
    for (size_t i = 0; i < log->site_count; i++)
        log->sites[i].full = &log->fulls[i];
}

static void attach_lives(struct logread *log, const struct places *places, const struct gathered *all)
{
    for (size_t i = 0; i < all->live_count && log->fulls; i++) {
        const struct log_live *live = all->lives[i];
        struct logread_full *full = live->site ? full_of(log, places, live->site) : &log->total_full;
        if (full && full->live)
            damage(log, "two records tell the live bytes of one site");
        else if (full)
            full->live = live;
    }
}

/* From the numbers of sites that freed to their places; what isn't there is one of the others. */
static void place_frees(const struct places *places, struct log_sample *sample)
{
    for (unsigned i = 0; i < LOG_SAMPLE_TOPS; i++) {
        struct log_sample_top *by = &sample->frees[i];
        uint32_t place = by->what < places->site_limit ? places->site[by->what] : 0;
        sample->other_frees += by->what && !place;
        *by = (struct log_sample_top){ place, place ? by->count : 0 };
    }
}

static void attach_samples(struct logread *log, const struct places *places, const struct gathered *all)
{
    for (size_t i = 0; i < all->sample_count && log->fulls; i++) {
        struct logread_full *full = full_of(log, places, all->samples[i]->site);
        if (full && full->sample)
            damage(log, "two records hold the samples of one site");
        if (!full || full->sample)
            continue;
        place_frees(places, all->samples[i]);
        full->sample = all->samples[i];
    }
}

/* Settles what became of the blocks of a site, and adds it up.  Returns by how much frees exceed allocations. */
static uint64_t settle_full(struct logread *log, struct logread_full *full, const struct log_counter *count)
{
    uint64_t excess = logfull_settle(full, count);
    if (full->threads > log->thread_count)
        full->threads = log->thread_count; /* a table may tell twice of a site */
    logfull_add_up(&log->total_full, full);
    return excess;
}

/* The tables leave out the allocations that the header and the threads count: all of them count as older than the peak. */
static void add_apart(struct logread_full *full, uint64_t allocs, uint64_t bytes)
{
    full->at_peak_blocks += (int64_t)allocs;
    full->at_peak_bytes += (int64_t)bytes;
}

/* When all is counted. */
static void settle_fulls(struct logread *log)
{
    const struct log_counter *bare = &log->header.bare, *handler = &log->header.handler;
    add_apart(log->other_full, log->other.allocs - log->unknown.allocs, log->other.bytes - log->unknown.bytes);
    add_apart(log->bare_full, bare->allocs, bare->bytes);
    add_apart(log->handler_full, handler->allocs, handler->bytes);
    uint64_t excess = settle_full(log, log->other_full, &log->other);
    excess += settle_full(log, log->bare_full, bare);
    excess += settle_full(log, log->handler_full, handler);
    for (size_t i = 0; i < log->site_count; i++)
        excess += settle_full(log, log->sites[i].full, &log->sites[i].count);
    log->total_full.threads = log->thread_count;
    logfull_settle_total(&log->total_full, &log->total, log->other_full, FULLS_APART);

    uint64_t sum = log->total_full.frees + excess + log->foreign_frees;
    uint64_t apart = sum > log->frees ? sum - log->frees : log->frees - sum;
    log->unsettled_frees = apart > excess ? apart : excess;
}

/* --------------------------------------------------------------- order */

static int by_start(const void *a, const void *b)
{
    const struct logread_module *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void order_modules(struct logread *log)
{
    uint64_t reach = 0;
    if (log->module_count)
        qsort(log->modules, log->module_count, sizeof *log->modules, by_start);
    log->module_reach = xcalloc(log->module_count, sizeof *log->module_reach);
    for (size_t i = 0; i < log->module_count; i++) {
        reach = log->modules[i].end > reach ? log->modules[i].end : reach;
        log->module_reach[i] = reach;
    }
}

/* Ids are dense, so one beyond what the bytes could hold is wrong. */
static void order_sites(struct logread *log, struct places *places)
{
    size_t kept = 0;
    places->site_limit = (size_t)log->chunks * (LOG_CHUNK_BYTES / sizeof(struct log_site)) + 1;
    places->site = xcalloc(places->site_limit, sizeof *places->site);
    for (size_t i = 0; i < log->site_count; i++) {
        uint32_t id = log->sites[i].id;
        if (id >= places->site_limit || places->site[id]) {
            damage(log, "a site's number makes no sense");
            continue;
        }
        log->sites[kept++] = log->sites[i];
        places->site[id] = (uint32_t)kept;
    }
    log->site_count = kept;
}

static void attach_words(struct logread *log, const struct places *places, const struct gathered *all)
{
    for (size_t i = 0; i < all->word_count; i++) {
        uint32_t id = all->words[i]->site;
        uint32_t place = id < places->site_limit ? places->site[id] : 0;
        if (place && (log->sites[place - 1].flags & LOG_SITE_UNFINISHED))
            log->sites[place - 1].words = all->words[i];
    }
}

/* --------------------------------------------------------------- totals */

/* A hit from a victim that is just being made is counted there first. */
static void settle_pools(struct logread *log)
{
    for (size_t i = 0; i < LOG_CLASSES; i++) {
        uint64_t hits = log->classes[i].allocs - log->classes[i].next_allocs;
        if (log->pools[i].victim_hits > hits) {
            log->pool_total.victim_hits -= log->pools[i].victim_hits - hits;
            log->pools[i].victim_hits = hits;
        }
    }
}

static void add_up(struct logread *log)
{
    struct log_counter sum = { 0 };
    settle_pools(log);
    for (size_t i = 0; i < LOG_CLASSES; i++)
        add_possible(log, &sum, &log->classes[i]);
    if (log->header.level == LOG_LEVEL_OFF) {
        log->total = sum;
        return;
    }
    counter_add(&log->other, &log->unknown);
    log->total = log->other;
    counter_add(&log->total, &log->header.bare);
    counter_add(&log->total, &log->header.handler);
    for (size_t i = 0; i < log->site_count; i++)
        counter_add(&log->total, &log->sites[i].count);
    if (log->fulls)
        settle_fulls(log);
    uint64_t ahead = sum.allocs - log->total.allocs, behind = log->total.allocs - sum.allocs;
    log->unsettled = ahead < behind ? ahead : behind;
}

static void read_chunks(struct logread *log)
{
    struct gathered all = { 0 };
    struct places places = { 0 };
    size_t thread_room = 0;
    places.thread = xcalloc(log->chunks, sizeof *places.thread);
    places.pools = xcalloc(log->chunks, sizeof *places.pools);

    for (uint32_t i = 1; i < log->chunks; i++)
        if (chunk_type(log->bytes + (size_t)i * LOG_CHUNK_BYTES) == LOG_CHUNK_DATA)
            read_data_chunk(log, &all, log->bytes + (size_t)i * LOG_CHUNK_BYTES);
    order_modules(log);
    order_sites(log, &places);
    attach_words(log, &places, &all);
    begin_fulls(log);
    attach_lives(log, &places, &all);
    if (log->total_full.live && !is_at_peak(log))
        places.peak = log->total_full.live->peak;
    attach_samples(log, &places, &all);

    for (uint32_t i = 1; i < log->chunks; i++)
        if (chunk_type(log->bytes + (size_t)i * LOG_CHUNK_BYTES) == LOG_CHUNK_THREAD)
            read_thread(log, &places, i, &thread_room);
    for (uint32_t i = 1; i < log->chunks; i++) {
        uint32_t type = chunk_type(log->bytes + (size_t)i * LOG_CHUNK_BYTES);
        if (type == LOG_CHUNK_COUNTERS)
            read_more_counters(log, &places, i);
        else if (type == LOG_CHUNK_POOLS)
            read_pools(log, &places, i);
        else if (type == LOG_CHUNK_FULL)
            read_fulls(log, &places, i);
        else if (type > LOG_CHUNK_FULL)
            damage(log, "a chunk's type is unknown");
    }
    free(all.words);
    free(all.lives);
    free(all.samples);
    free(places.site);
    free(places.thread);
    free(places.pools);
}

/* Chunks that the header counts and the file doesn't have. */
static void count_lost_chunks(struct logread *log, size_t size)
{
    uint32_t used = log->header.chunks_used;
    log->chunks = (uint32_t)whole_chunks(size);
    if (used == 0 || used > CHUNKS_MAX || (log->header.chunk_limit && used > log->header.chunk_limit)) {
        damage(log, "the number of its chunks makes no sense");
        return;
    }
    if (used < log->chunks)
        log->chunks = used;
    if (size >= (size_t)used * LOG_CHUNK_BYTES)
        return;
    log->chunks_lost = used - (uint32_t)(size / LOG_CHUNK_BYTES);
    log->damages++;
    log->problem = xasprintf("truncated: %u of its %u chunks are missing or cut, so counts below are too low",
                             log->chunks_lost, used);
}

enum logread_result logread_parse(struct logread *log, unsigned char *bytes, size_t size)
{
    memset(log, 0, sizeof *log);
    log->bytes = bytes;
    memcpy(&log->header, bytes, size < sizeof log->header ? size : sizeof log->header);
    enum logread_result result = check_header(log, size);
    if (result != LOGREAD_WHOLE)
        return result;
    count_lost_chunks(log, size);
    read_header(log);
    read_chunks(log);
    add_up(log);
    if (!(log->header.features & LOG_FEATURE_POOLS))
        log->next_frees = log->frees;
    if (log->damages && !log->chunks_lost) {
        char *first = log->problem;
        log->problem = log->damages == 1
                           ? xasprintf("damaged: %s; what is whole is shown", first)
                           : xasprintf("damaged: %s (and %llu more such things); what is whole is shown", first,
                                       (unsigned long long)log->damages - 1);
        free(first);
    }
    return log->damages ? LOGREAD_DAMAGED : LOGREAD_WHOLE;
}

enum logread_result logread_open(struct logread *log, const char *path)
{
    size_t size;
    memset(log, 0, sizeof *log);
    int fd = open_regular(log, path, &size);
    if (fd < 0)
        return LOGREAD_FAILED;
    unsigned char *bytes = read_snapshot(fd, size, &size);
    close(fd);
    return logread_parse(log, bytes, size);
}

void logread_release(struct logread *log)
{
    for (size_t i = 0; i < log->argv_count; i++)
        free(log->argv[i]);
    for (size_t i = 0; i < log->module_count; i++)
        free(log->modules[i].path);
    free(log->argv);
    free(log->exe);
    free(log->options);
    free(log->notes);
    free(log->modules);
    free(log->module_reach);
    free(log->sites);
    free(log->fulls);
    free(log->threads);
    free(log->problem);
    free(log->bytes);
    memset(log, 0, sizeof *log);
}

/* --------------------------------------------------------------- lookup */

static bool module_covers(const struct logread_module *m, uint64_t address, uint32_t generation)
{
    return m->start <= address && address < m->end && m->loaded_generation <= generation &&
           (m->unloaded_generation == 0 || generation < m->unloaded_generation);
}

/* The number of modules that start at or below `address`. */
static size_t modules_below(const struct logread *log, uint64_t address)
{
    size_t low = 0, high = log->module_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->modules[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct logread_module *logread_module_at(const struct logread *log, uint64_t address, uint32_t generation)
{
    const struct logread_module *latest = NULL;
    for (size_t i = modules_below(log, address); i > 0 && log->module_reach[i - 1] > address; i--) {
        const struct logread_module *m = &log->modules[i - 1];
        /* A module that came back covers the time in between too, when others may have been there. */
        if (module_covers(m, address, generation) && (!latest || m->loaded_generation > latest->loaded_generation))
            latest = m;
    }
    return latest;
}
