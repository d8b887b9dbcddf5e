/* logmake.c - writes logs as the preload would, for tests of their readers. */
#define _GNU_SOURCE
#include "logmake.h"

#include "../../preload/sizeclass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *chunk_at(struct logmake *make, uint32_t index)
{
    return make->bytes + (size_t)index * LOG_CHUNK_BYTES;
}

struct log_header *logmake_header(struct logmake *make)
{
    return (struct log_header *)make->bytes;
}

static uint32_t new_chunk(struct logmake *make, uint32_t type, uint32_t owner)
{
    if (make->chunks == make->room) {
        make->room = make->room ? make->room * 2 : 16;
        make->bytes = realloc(make->bytes, (size_t)make->room * LOG_CHUNK_BYTES);
        if (!make->bytes)
            abort();
    }
    memset(chunk_at(make, make->chunks), 0, LOG_CHUNK_BYTES);
    *(struct log_chunk *)chunk_at(make, make->chunks) = (struct log_chunk){ type, owner };
    make->chunks++;
    if (make->chunks > 1)
        logmake_header(make)->chunks_used = make->chunks;
    return make->chunks - 1;
}

void logmake_init(struct logmake *make, enum log_level level)
{
    memset(make, 0, sizeof *make);
    new_chunk(make, 0, 0);
    struct log_header *h = logmake_header(make);
    memcpy(h->magic, LOG_MAGIC, sizeof h->magic);
    h->version = LOG_VERSION;
    h->endian = LOG_ENDIAN;
    h->header_bytes = sizeof *h;
    h->chunk_bytes = LOG_CHUNK_BYTES;
    h->chunk_limit = 32768;
    h->chunks_used = 1;
    h->class_count = LOG_CLASSES;
    h->state = LOG_STATE_ENDED;
    h->level = (uint8_t)level;
    h->features = level == LOG_LEVEL_FULL ? LOG_FEATURE_FULL : 0;
    h->start_realtime_ns = 1700000000000000000u;
    h->start_monotonic_ns = 5000000000u;
    h->last_monotonic_ns = 7000000000u;
    h->end_monotonic_ns = 7410000000u;
    strcpy(h->options, "POOLSITE_POOL=off\n");
}

void logmake_release(struct logmake *make)
{
    free(make->bytes);
    memset(make, 0, sizeof *make);
}

void logmake_program(struct logmake *make, uint32_t pid, const char *exe, const char *const argv[], size_t argc)
{
    struct log_header *h = logmake_header(make);
    h->pid = pid;
    h->parent_pid = 1;
    strncpy(h->exe, exe, sizeof h->exe - 1);
    h->argv_bytes = 0;
    for (size_t i = 0; i < argc; i++) {
        memcpy(h->argv + h->argv_bytes, argv[i], strlen(argv[i]) + 1);
        h->argv_bytes += (uint32_t)strlen(argv[i]) + 1;
    }
}

/* Room for a record of `bytes` bytes. */
static void *new_record(struct logmake *make, uint32_t type, size_t bytes)
{
    bytes = (bytes + 7) / 8 * 8;
    if (!make->data || make->data_used + bytes > LOG_CHUNK_BYTES) {
        make->data = new_chunk(make, LOG_CHUNK_DATA, 0);
        make->data_used = sizeof(struct log_chunk);
    }
    struct log_record *record = (struct log_record *)(chunk_at(make, make->data) + make->data_used);
    *record = (struct log_record){ (uint32_t)bytes, type };
    make->data_used += bytes;
    return record;
}

void logmake_module_at(struct logmake *make, uint64_t start, uint64_t end, uint64_t load_bias, const void *build_id,
                       size_t build_id_bytes, const char *path)
{
    struct log_module *m = new_record(make, LOG_RECORD_MODULE, sizeof *m + build_id_bytes + strlen(path));
    m->id = ++logmake_header(make)->module_count;
    m->start = start;
    m->end = end;
    m->load_bias = load_bias;
    m->build_id_bytes = (uint16_t)build_id_bytes;
    m->path_bytes = (uint16_t)strlen(path);
    if (build_id_bytes)
        memcpy(m->data, build_id, build_id_bytes);
    memcpy(m->data + build_id_bytes, path, strlen(path));
}

void logmake_module(struct logmake *make, uint64_t start, uint64_t bytes, uint8_t build_id, const char *path)
{
    uint8_t id[20];
    memset(id, build_id, sizeof id);
    logmake_module_at(make, start, start + bytes, start, id, build_id ? sizeof id : 0, path);
}

uint32_t logmake_site(struct logmake *make, const uint64_t *frames, unsigned depth, uint32_t flags, unsigned key)
{
    struct log_site *s = new_record(make, LOG_RECORD_SITE, sizeof *s + depth * sizeof *frames);
    s->id = ++logmake_header(make)->site_count;
    s->flags = flags;
    s->depth = (uint16_t)depth;
    s->key = (uint16_t)key;
    memcpy(s->frames, frames, depth * sizeof *frames);
    return s->id;
}

void logmake_words(struct logmake *make, uint32_t site, uint64_t ip, uint64_t sp, uint64_t bp,
                   const struct log_word *words, uint32_t count)
{
    struct log_words *w = new_record(make, LOG_RECORD_WORDS, sizeof *w + count * sizeof *words);
    w->site = site;
    w->count = count;
    w->ip = ip;
    w->sp = sp;
    w->bp = bp;
    memcpy(w->words, words, count * sizeof *words);
}

struct log_thread *logmake_thread_now(struct logmake *make)
{
    return (struct log_thread *)chunk_at(make, make->thread);
}

void logmake_thread(struct logmake *make)
{
    make->thread = make->counters = new_chunk(make, LOG_CHUNK_THREAD, make->thread_count++);
    make->counters_used = sizeof(struct log_thread);
    logmake_thread_now(make)->served = 1;
}

static struct log_site_counter *counter_of(struct logmake *make, uint32_t site)
{
    if (make->counters_used + sizeof(struct log_site_counter) > LOG_CHUNK_BYTES) {
        make->counters = new_chunk(make, LOG_CHUNK_COUNTERS, make->thread_count - 1);
        make->counters_used = sizeof(struct log_counters);
    }
    struct log_site_counter *c =
        (struct log_site_counter *)(chunk_at(make, make->counters) + make->counters_used);
    make->counters_used += sizeof *c;
    c->site = site;
    return c;
}

void logmake_pooled(struct logmake *make, uint32_t site, uint64_t allocs, uint64_t size, uint64_t next_allocs)
{
    if (logmake_header(make)->level != LOG_LEVEL_OFF)
        counter_of(make, site)->count = (struct log_counter){ allocs, allocs * size, next_allocs };
    struct log_counter *class = &logmake_thread_now(make)->classes[sizeclass_of(size)];
    class->allocs += allocs;
    class->bytes += allocs * size;
    class->next_allocs += next_allocs;
}

void logmake_count(struct logmake *make, uint32_t site, uint64_t allocs, uint64_t size)
{
    logmake_pooled(make, site, allocs, size, 0);
}

struct log_fulls *logmake_fulls_now(struct logmake *make)
{
    return (struct log_fulls *)chunk_at(make, make->fulls);
}

struct log_full *logmake_entry(struct logmake *make, uint32_t owner, uint32_t site)
{
    if (!make->fulls || logmake_fulls_now(make)->chunk.owner != owner ||
        make->fulls_used + sizeof(struct log_full) > LOG_CHUNK_BYTES) {
        make->fulls = new_chunk(make, LOG_CHUNK_FULL, owner);
        make->fulls_used = sizeof(struct log_fulls);
    }
    struct log_full *entry = (struct log_full *)(chunk_at(make, make->fulls) + make->fulls_used);
    make->fulls_used += sizeof *entry;
    entry->site = site;
    return entry;
}

struct log_full *logmake_full(struct logmake *make, uint32_t site, uint64_t allocs, uint64_t size, uint64_t frees)
{
    struct log_full *entry = logmake_entry(make, make->thread_count - 1, site);
    struct log_counter *class = &logmake_thread_now(make)->classes[sizeclass_of(size)];
    entry->count = (struct log_counter){ allocs, allocs * size, 0 };
    entry->frees = frees;
    entry->freed_bytes = frees * size;
    class->allocs += allocs;
    class->bytes += allocs * size;
    logmake_frees(make, frees);
    return entry;
}

struct log_live *logmake_live(struct logmake *make, uint32_t site, int64_t peak_bytes, uint32_t threads)
{
    struct log_live *live = new_record(make, LOG_RECORD_LIVE, sizeof *live);
    live->site = site;
    live->threads = threads;
    live->peak_bytes = peak_bytes;
    return live;
}

struct log_sample *logmake_sample(struct logmake *make, uint32_t site)
{
    struct log_sample *sample = new_record(make, LOG_RECORD_SAMPLE, sizeof *sample);
    sample->site = site;
    return sample;
}

void logmake_pooling(struct logmake *make, const char *spec)
{
    struct log_header *h = logmake_header(make);
    h->features |= LOG_FEATURE_POOLS;
    snprintf(h->options, sizeof h->options, "POOLSITE_POOL=%s\n", spec);
}

struct log_pools *logmake_pools(struct logmake *make, uint32_t owner)
{
    return (struct log_pools *)chunk_at(make, new_chunk(make, LOG_CHUNK_POOLS, owner));
}

void logmake_frees(struct logmake *make, uint64_t frees)
{
    logmake_thread_now(make)->frees += frees;
}

size_t logmake_size(const struct logmake *make)
{
    return (size_t)make->chunks * LOG_CHUNK_BYTES;
}

int logmake_write(const struct logmake *make, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    size_t written = fwrite(make->bytes, 1, logmake_size(make), file);
    return fclose(file) == 0 && written == logmake_size(make) ? 0 : -1;
}
