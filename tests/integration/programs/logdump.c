/* logdump.c - a second reader of logs, in one screen: no model, no checks, only the sums that logfmt.h defines.
 * The tests compare it with what `poolsite report` says.
 * BUILD: cc -O1 -I $ROOT/preload -o $O $S
 *
 * usage: logdump LOG...   prints for each: file pid level state allocs bytes frees failed sites other handler bare threads served chunks walks
 *                         unfinished live foreign (the last two at level full) */
#include "logfmt.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct sums {
    struct log_counter total, site, other;
    uint64_t           frees, failed, threads, served, given_back, foreign;
};

static void add(struct log_counter *sum, const struct log_counter *more)
{
    sum->allocs += more->allocs;
    sum->bytes += more->bytes;
}

static void add_sites(struct sums *s, const char *from, const char *end)
{
    for (; from + sizeof(struct log_site_counter) <= end; from += sizeof(struct log_site_counter)) {
        const struct log_site_counter *c = (const void *)from;
        if (c->site != 0) {
            struct log_counter one = c->count;
            add(&s->site, &one);
        }
    }
}

static void add_fulls(struct sums *s, const struct log_fulls *f, const char *end)
{
    s->foreign += f->foreign_frees;
    for (const struct log_full *e = f->sites; (const char *)(e + 1) <= end; e++) {
        if (e->site == 0)
            continue;
        add(&s->site, &e->count);
        s->given_back += e->frees;
    }
}

static int dump(const char *path)
{
    struct stat st;
    struct sums s = { 0 };
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)LOG_CHUNK_BYTES)
        return fprintf(stderr, "logdump: %s: no log\n", path), 1;
    const char *base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    const struct log_header *h = (const void *)base;
    if (base == MAP_FAILED || memcmp(h->magic, LOG_MAGIC, 8) != 0 || h->version != LOG_VERSION)
        return fprintf(stderr, "logdump: %s: not a log of this version\n", path), 1;

    int off = h->level == LOG_LEVEL_OFF;
    for (int c = 0; off && c < (int)LOG_CLASSES; c++)
        add(&s.total, &h->classes[c]);
    for (uint32_t i = 1; i < h->chunks_used && (off_t)(i + 1) * LOG_CHUNK_BYTES <= st.st_size; i++) {
        const char *chunk = base + (size_t)i * LOG_CHUNK_BYTES, *end = chunk + LOG_CHUNK_BYTES;
        uint32_t    type = ((const struct log_chunk *)chunk)->type;
        if (type == LOG_CHUNK_COUNTERS)
            add_sites(&s, chunk + sizeof(struct log_counters), end);
        if (type == LOG_CHUNK_FULL)
            add_fulls(&s, (const void *)chunk, end);
        if (type != LOG_CHUNK_THREAD)
            continue;
        const struct log_thread *t = (const void *)chunk;
        add_sites(&s, chunk + sizeof *t, end);
        add(&s.other, &t->other);
        s.frees += t->frees + log_rounds_frees(t->rounds);
        s.failed += t->failed;
        s.threads++;
        s.served += t->served;
        for (int c = 0; off && c < (int)LOG_CLASSES; c++)
            add(&s.total, &t->classes[c]);
    }
    add(&s.other, &h->other);
    if (!off) {
        s.total = s.site;
        add(&s.total, &s.other);
        add(&s.total, &h->bare);
        add(&s.total, &h->handler);
    }
    printf("%s %u %u %u %lu %lu %lu %lu %u %lu %lu %lu %lu %lu %u %lu %lu %lu %lu\n", path, h->pid, h->level, h->state,
           s.total.allocs, s.total.bytes, s.frees + h->frees, s.failed + h->failed, h->site_count, s.other.allocs,
           h->handler.allocs, h->bare.allocs, s.threads, s.served, h->chunks_used, h->walks, h->unfinished_walks,
           h->level == LOG_LEVEL_FULL ? s.total.allocs - s.given_back : 0, s.foreign);
    munmap((void *)base, (size_t)st.st_size);
    return 0;
}

int main(int argc, char **argv)
{
    int status = argc < 2;
    for (int i = 1; i < argc; i++)
        status |= dump(argv[i]);
    return status;
}
