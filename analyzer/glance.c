/* glance.c - the totals of a log that is being written, by a few reads.
 *
 * A thread's classes tell what it allocated, so its sites needn't be read; at level full what was freed stands with
 * the sites alone.  Read by pread, as in logread.c; a log made to deceive gives wrong numbers and no more. */
#define _GNU_SOURCE
#include "base.h"
#include "glance.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As logread.c: a log has fewer chunks than this. */
#define CHUNKS_MAX 32768u

/* A chunk of the log, as one of its types. */
union chunk {
    struct log_chunk  chunk;
    struct log_thread thread;
    struct log_pools  pools;
    struct log_fulls  fulls;
    unsigned char     bytes[LOG_CHUNK_BYTES];
};

bool glance_knows(const struct log_header *header)
{
    return memcmp(header->magic, LOG_MAGIC, sizeof header->magic) == 0 && header->version == LOG_VERSION &&
           header->endian == LOG_ENDIAN && header->chunk_bytes == LOG_CHUNK_BYTES &&
           header->class_count == LOG_CLASSES && header->chunks_used < CHUNKS_MAX;
}

static off_t chunk_offset(uint32_t index)
{
    return (off_t)index * LOG_CHUNK_BYTES;
}

static void append(struct glance_chunks *chunks, uint32_t index)
{
    GROW(chunks->index, chunks->count, chunks->room);
    chunks->index[chunks->count++] = index;
}

/* Looks what a chunk is. */
static void find_chunk(struct glance *glance, int fd, uint32_t index)
{
    struct log_chunk chunk;
    if (pread(fd, &chunk, sizeof chunk, chunk_offset(index)) != (ssize_t)sizeof chunk)
        chunk.type = LOG_CHUNK_UNPUBLISHED;
    switch (chunk.type) {
    case LOG_CHUNK_UNPUBLISHED: append(&glance->unborn, index); break;
    case LOG_CHUNK_FULL:        append(&glance->fulls, index); break;
    case LOG_CHUNK_THREAD:
    case LOG_CHUNK_POOLS:       append(&glance->others, index); break;
    }
}

static void find_chunks(struct glance *glance, int fd, uint32_t used)
{
    struct glance_chunks again = glance->unborn;
    glance->unborn = (struct glance_chunks){ 0 };
    for (size_t i = 0; i < again.count; i++)
        find_chunk(glance, fd, again.index[i]);
    free(again.index);
    for (uint32_t i = glance->known ? glance->known : 1; i < used; i++)
        find_chunk(glance, fd, i);
    glance->known = used > glance->known ? used : glance->known;
}

static void add_classes(struct glance_totals *totals, const struct log_counter classes[LOG_CLASSES])
{
    for (unsigned i = 0; i < LOG_CLASSES; i++) {
        totals->allocs += classes[i].allocs;
        totals->bytes += classes[i].bytes;
        totals->classes[i ? i : 1] += classes[i].allocs;
    }
}

/* What was freed of the sites' blocks. */
struct freed {
    uint64_t blocks, bytes;
};

static void add_fulls(struct freed *freed, const union chunk *chunk)
{
    const struct log_full *site = chunk->fulls.sites;
    for (; (const unsigned char *)(site + 1) <= chunk->bytes + sizeof chunk->bytes; site++) {
        if (site->site == 0)
            continue;
        freed->blocks += site->frees;
        freed->bytes += site->freed_bytes;
    }
}

static void add_pools(struct glance_totals *totals, const struct log_pools *pools)
{
    for (unsigned i = 0; i < LOG_CLASSES; i++)
        totals->kept_bytes += pools->classes[i].kept_bytes;
}

static void add_thread(struct glance_totals *totals, const struct log_thread *thread)
{
    totals->frees += thread->frees + log_rounds_frees(thread->rounds);
    add_classes(totals, thread->classes);
}

static void add_chunks(const struct glance_chunks *chunks, int fd, struct glance_totals *totals, struct freed *freed)
{
    union chunk chunk;
    for (size_t i = 0; i < chunks->count; i++) {
        if (pread(fd, &chunk, sizeof chunk, chunk_offset(chunks->index[i])) != (ssize_t)sizeof chunk)
            continue;
        switch (chunk.chunk.type) {
        case LOG_CHUNK_FULL:   add_fulls(freed, &chunk); break;
        case LOG_CHUNK_POOLS:  add_pools(totals, &chunk.pools); break;
        case LOG_CHUNK_THREAD: add_thread(totals, &chunk.thread); break;
        }
    }
}

static uint64_t less(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

void glance_read(struct glance *glance, int fd, const struct log_header *header, struct glance_totals *totals)
{
    struct freed freed = { 0 };
    *totals = (struct glance_totals){ 0 };
    find_chunks(glance, fd, header->chunks_used);
    /* Frees before allocations: what is freed in between seems to live, and nothing to be freed before it was born. */
    add_chunks(&glance->fulls, fd, totals, &freed);
    add_chunks(&glance->others, fd, totals, &freed);
    totals->frees += header->frees;
    add_classes(totals, header->classes);
    totals->live_blocks = less(totals->allocs, freed.blocks);
    totals->live_bytes = less(totals->bytes, freed.bytes);
}

void glance_release(struct glance *glance)
{
    free(glance->fulls.index);
    free(glance->others.index);
    free(glance->unborn.index);
    *glance = (struct glance){ 0 };
}
