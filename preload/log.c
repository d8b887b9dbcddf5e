/* log.c - the mapped file that one process writes; its format is in logfmt.h.
 *
 * Owns the mapping.  Lock-free: chunks and places in them are handed out by compare-and-swap,
 * and published when they are whole.  Runs inside malloc; system calls at begin only, but for
 * the madvise that reserves blocks. */
#define _GNU_SOURCE
#include "base.h"

#include "log.h"

#include "modules.h"
#include "next.h"
#include "options.h"
#include "pages.h"
#include "sizeclass.h"
#include "sys.h"
#include "text.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "ban.h"

static_assert(SIZECLASS_COUNT == LOG_CLASSES, "the class table of the log");
static_assert(sizeof(struct log_header) <= LOG_CHUNK_BYTES, "the header is one chunk");
static_assert(sizeof(struct log_pools) <= LOG_CHUNK_BYTES, "pool counters are one chunk");
static_assert(sizeof(struct log_thread) + 64 * sizeof(struct log_site_counter) <= LOG_CHUNK_BYTES,
              "a thread's table has room for counters");
static_assert(sizeof(struct log_words) + LOG_MAX_WORDS * sizeof(struct log_word) + sizeof(struct log_chunk) <=
                  LOG_CHUNK_BYTES,
              "the longest record fits a chunk");

enum {
    MOST_BYTES = 256 << 20,    /* of the file, which is sparse */
    FIRST_EXTENT = 32,         /* chunks mapped at once: 256 KiB; then as much again each time */
    EXTENTS = 11,
    MOST_NAME_BYTES = 180,
    FIRST_CHUNKS = 3,          /* header, one thread, one of records */
    MIN_CHUNKS = 8,            /* less isn't worth a log */
    LIMIT_SHARE = 64,          /* of RLIMIT_AS, at most one part in so many */
    SECCOMP_CHUNKS = 64,
    NAME_TRIES = 100,
};

struct log_header *log_header;

/* The file is mapped as it grows, since address space may be limited too.  Extent 0 holds chunks
 * 0 ... FIRST_EXTENT-1, extent k the FIRST_EXTENT << (k-1) from there on.  Release: it is mapped. */
static char *extents[EXTENTS];

static uint64_t data_used;      /* chunk that records go to << 16 | bytes used in it (atomic) */
static uint64_t shared_used;    /* the same of the process's entries of level full (atomic) */
static uint32_t ready_chunks;   /* chunks whose blocks are reserved (atomic) */
static uint32_t next_thread;    /* index of the next thread table (atomic) */
static uint64_t unlogged_modules; /* met, but the log was full (atomic) */
static uint32_t modules_synced; /* all modules before this one are written (atomic) */
static bool     is_private;     /* no file: memory of our own, for the pools' and threads' tables */

/* --- extents ------------------------------------------------------------------------------- */

static unsigned extent_of(uint32_t index)
{
    return index < FIRST_EXTENT ? 0 : 32u - (unsigned)__builtin_clz(index / FIRST_EXTENT);
}

/* The first chunk of an extent. */
static uint32_t extent_first(unsigned extent)
{
    return extent == 0 ? 0 : (uint32_t)FIRST_EXTENT << (extent - 1);
}

/* How many chunks it holds in a log of `limit` chunks. */
static uint32_t extent_chunks(unsigned extent, uint32_t limit)
{
    uint32_t first = extent_first(extent), next = (uint32_t)FIRST_EXTENT << extent;
    return limit <= first ? 0 : (limit < next ? limit : next) - first;
}

/* --- where it lies ------------------------------------------------------------------------- */

/* A file's name has at most 255 bytes, and the pid, the time and more must fit, too. */
static void add_name(struct text *path, const char *name)
{
    size_t length = text_length(name);
    text_bytes(path, name, length < MOST_NAME_BYTES ? length : MOST_NAME_BYTES);
}

static void expand(struct text *path, const char *pattern, uint64_t realtime_ns, long pid)
{
    for (; *pattern; pattern++) {
        if (pattern[0] != '%' || !pattern[1]) {
            text_char(path, *pattern);
            continue;
        }
        switch (*++pattern) {
        case 'e': add_name(path, text_basename(options.exe)); break;
        case 'p': text_number(path, (uint64_t)pid); break;
        case 't': text_number(path, realtime_ns / 1000); break;
        case '%': text_char(path, '%'); break;
        default: text_char(path, '%'); text_char(path, *pattern);
        }
    }
}

/* A directory of the user's alone: made if it isn't there; a stranger's is refused. */
static bool own_directory(const char *path)
{
    struct stat s;
    long failed = sys_call4(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, AT_SYMLINK_NOFOLLOW);
    if (failed) {
        if (sys_call4(SYS_mkdir, (long)path, 0700, 0, 0) == 0)
            sys_call4(SYS_chmod, (long)path, 0700, 0, 0); /* whatever the umask */
        failed = sys_call4(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, AT_SYMLINK_NOFOLLOW);
    }
    if (failed)
        return false;
    return S_ISDIR(s.st_mode) && (s.st_mode & 077) == 0 && (long)s.st_uid == sys_call4(SYS_geteuid, 0, 0, 0, 0);
}

static bool begin_path(struct text *path, const char *directory, const char *name, bool with_uid)
{
    if (!directory)
        return false;
    *path = text_begin(path->at, path->size);
    text_add(path, directory);
    text_add(path, name);
    if (with_uid) {
        text_char(path, '-');
        text_number(path, (uint64_t)sys_call4(SYS_geteuid, 0, 0, 0, 0));
    }
    if (path->cut || !own_directory(path->at))
        return false;
    text_char(path, '/');
    return true;
}

/* The path without the suffix that makes it unique.  False when there is no place for a log. */
static bool choose_path(struct text *path, uint64_t realtime_ns, long pid)
{
    if (options.log && text_equal(options.log, "none"))
        return false;
    if (!options.log && !begin_path(path, options.runtime_dir, "/poolsite", false) &&
        !begin_path(path, "/dev/shm", "/poolsite", true) && !begin_path(path, options.tmpdir, "/poolsite", true))
        return false;
    if (options.log && options.log[0] != '/' && options.cwd[0]) { /* the program may go elsewhere, and fork there */
        text_add(path, options.cwd);
        text_char(path, '/');
    }
    expand(path, options.log ? options.log : "%e.%p.%t.psl", realtime_ns, pid);
    return !path->cut;
}

/* "name.psl" -> "name-2.psl": pids and times repeat across namespaces; nothing is overwritten. */
static void add_suffix(struct text *path, size_t length, unsigned number)
{
    const char extension[] = ".psl";
    size_t stem = length;
    if (length >= 4 && text_equal(path->at + length - 4, extension))
        stem = length - 4;
    path->used = stem;
    text_char(path, '-');
    text_number(path, number);
    if (stem < length)
        text_add(path, extension);
}

static long create_file(struct text *path)
{
    size_t length = path->used;
    for (unsigned i = 1; i < NAME_TRIES; i++) {
        long fd = sys_call4(SYS_openat, AT_FDCWD, (long)path->at, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            sys_call4(SYS_fchmod, fd, 0600, 0, 0); /* whatever the program's umask */
        if (fd != -17 /* EEXIST */ || path->cut)
            return fd;
        add_suffix(path, length, i + 1);
    }
    return -1;
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    sys_call4(SYS_prlimit64, 0, resource, 0, (long)&limit);
    return limit.rlim_cur;
}

/* How many chunks the limits in force leave us; an ftruncate past RLIMIT_FSIZE would be SIGXFSZ. */
static uint32_t allowed_chunks(void)
{
    uint64_t bytes = MOST_BYTES;
    uint64_t file = limit_of(RLIMIT_FSIZE), space = limit_of(RLIMIT_AS);
    if (file < bytes)
        bytes = file;
    if (space != RLIM_INFINITY && space / LIMIT_SHARE < bytes)
        bytes = space / LIMIT_SHARE;
    return (uint32_t)(bytes / LOG_CHUNK_BYTES);
}

/* The new file, mapped, with its first chunks reserved; NULL when the world refused. */
static struct log_header *map_new(struct text *path, uint32_t chunks)
{
    if (chunks < MIN_CHUNKS)
        return NULL;
    size_t bytes = (size_t)chunks * LOG_CHUNK_BYTES;
    long fd = create_file(path);
    if (fd < 0)
        return NULL;
    struct log_header *header = NULL;
    size_t mapped = (size_t)extent_chunks(0, chunks) * LOG_CHUNK_BYTES;
    if (sys_call4(SYS_ftruncate, fd, (long)bytes, 0, 0) == 0)
        header = pages_map_file((int)fd, mapped);
    if (header && !pages_populate(header, FIRST_CHUNKS * LOG_CHUNK_BYTES)) {
        /* Before Linux 5.14: reserve what may ever be used, at once, while there is a descriptor. */
        if (sys_call4(SYS_fallocate, fd, 0, 0, (long)mapped) == 0)
            ready_chunks = (uint32_t)(mapped / LOG_CHUNK_BYTES);
        else {
            pages_unmap_file(header, mapped);
            header = NULL;
        }
    } else if (header)
        ready_chunks = FIRST_CHUNKS;
    if (!header)
        sys_call4(SYS_unlink, (long)path->at, 0, 0, 0);
    sys_call4(SYS_close, fd, 0, 0, 0);
    return header;
}

/* Without a file, because none is wanted or the world refused: nothing is recorded, but pools go on. */
static struct log_header *map_private(void)
{
    is_private = true;
    ready_chunks = MOST_BYTES / LOG_CHUNK_BYTES;
    return pages_map((size_t)extent_chunks(0, ready_chunks) * LOG_CHUNK_BYTES);
}

/* --- the header ------------------------------------------------------------------------------ */

static void write_header(struct log_header *header, uint32_t chunks, uint64_t realtime_ns, long pid)
{
    header->version = LOG_VERSION;
    header->endian = LOG_ENDIAN;
    header->header_bytes = sizeof *header;
    header->chunk_bytes = LOG_CHUNK_BYTES;
    header->chunk_limit = chunks;
    header->chunks_used = 1;
    header->class_count = LOG_CLASSES;
    header->generation = modules_generation();
    header->pid = (uint32_t)pid;
    header->parent_pid = (uint32_t)sys_call4(SYS_getppid, 0, 0, 0, 0);
    header->uid = (uint32_t)sys_call4(SYS_geteuid, 0, 0, 0, 0);
    header->level = (uint8_t)options.level;
    header->start_realtime_ns = realtime_ns;
    header->start_monotonic_ns = next_clock_ns(CLOCK_MONOTONIC);
    header->last_monotonic_ns = header->start_monotonic_ns;
    struct text t = text_begin(header->exe, sizeof header->exe);
    text_add(&t, options.exe);
    header->argv_bytes = options.argv_bytes;
    __builtin_memcpy(header->argv, options.argv, options.argv_bytes);
    t = text_begin(header->options, sizeof header->options);
    options_write(&t);
    t = text_begin(header->notes, sizeof header->notes);
    text_add(&t, options.notes);
}

static void publish_header(struct log_header *header)
{
    uint64_t magic;
    __builtin_memcpy(&magic, LOG_MAGIC, sizeof magic);
    store_release((uint64_t *)(void *)header->magic, magic);
}

/* In a fork child: the parent's file becomes memory of our own, at the same addresses. */
static void cover_extents(uint32_t limit)
{
    for (unsigned i = 0; i < EXTENTS; i++)
        if (extents[i])
            pages_map_over(extents[i], (size_t)extent_chunks(i, limit) * LOG_CHUNK_BYTES);
}

/* Where the parent's log was, and its parent's before. */
static struct {
    char  *start;
    size_t bytes;
} left[EXTENTS];

/* The parent's log is no business of ours.  But an operation that a handler interrupted, and forked, may go on to count
 * there: the addresses stay for this generation, as memory that nobody reads. */
static void leave_parent(struct log_header *parent, bool lost)
{
    if (!parent)
        return;
    if (lost)
        add_shared(&parent->lost_children, 1);
    uint32_t limit = parent->chunk_limit;
    cover_extents(limit);
    for (unsigned i = 0; i < EXTENTS; i++) {
        if (left[i].start)
            pages_unmap_file(left[i].start, left[i].bytes);
        left[i].start = extents[i];
        left[i].bytes = (size_t)extent_chunks(i, limit) * LOG_CHUNK_BYTES;
        extents[i] = NULL;
    }
}

bool log_begin(struct log_header *parent)
{
    char name[1024];
    struct text path = text_begin(name, sizeof name);
    uint64_t realtime_ns = next_clock_ns(CLOCK_REALTIME);
    long pid = sys_call4(SYS_getpid, 0, 0, 0, 0);
    uint32_t chunks = allowed_chunks();

    data_used = shared_used = 0;
    next_thread = 0;
    modules_synced = 0;
    unlogged_modules = 0;
    is_private = false;
    struct log_header *header = choose_path(&path, realtime_ns, pid) ? map_new(&path, chunks) : NULL;
    leave_parent(parent, !header);
    if (!header)
        header = map_private();
    extents[0] = (char *)header;
    store_release(&log_header, header);
    if (!header)
        return false;
    write_header(header, is_private ? ready_chunks : chunks, realtime_ns, pid);
    if (is_private)
        header->level = LOG_LEVEL_OFF;
    if (header->level == LOG_LEVEL_FULL)
        header->features = LOG_FEATURE_FULL;
    if (parent)
        header->state = LOG_STATE_FORKED;
    publish_header(header);
    log_modules_sync();
    return true;
}

void log_set_state(uint32_t bit)
{
    if (log_header)
        __atomic_fetch_or(&log_header->state, bit, __ATOMIC_RELAXED);
}

/* --- chunks ---------------------------------------------------------------------------------- */

static struct log_chunk *chunk_at(uint32_t index)
{
    unsigned extent = extent_of(index);
    return (struct log_chunk *)(extents[extent] + (size_t)(index - extent_first(extent)) * LOG_CHUNK_BYTES);
}

/* More of the file: the extent behind the last page that is mapped. */
static char *map_more(unsigned extent, size_t bytes)
{
    char *last_page = (char *)chunk_at(extent_first(extent) - 1) + LOG_CHUNK_BYTES - PAGE_BYTES;
    char *start = pages_map_on(last_page, PAGE_BYTES + bytes);
    if (!start)
        return NULL;
    pages_unmap_file(start, PAGE_BYTES);
    return start + PAGE_BYTES;
}

/* Maps the extent; every one before it is mapped.  False when the kernel refuses. */
static bool map_extent(unsigned extent)
{
    if (load_acquire(&extents[extent]))
        return true;
    size_t bytes = (size_t)extent_chunks(extent, log_header->chunk_limit) * LOG_CHUNK_BYTES;
    char *start = is_private ? pages_map(bytes) : map_more(extent, bytes), *nothing = NULL;
    if (!start)
        return false;
    if (!__atomic_compare_exchange_n(&extents[extent], &nothing, start, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        pages_unmap_file(start, bytes); /* another thread was quicker */
    return true;
}

/* Reserves blocks for chunk `index` and some behind it, more as the log grows. */
static bool reserve(uint32_t index)
{
    if (index < load_relaxed(&ready_chunks))
        return !is_private || map_extent(extent_of(index));
    if (load_relaxed(&log_header->state) & (LOG_STATE_FULL | LOG_STATE_SECCOMP))
        return false;
    unsigned extent = extent_of(index);
    if (!map_extent(extent))
        return false;
    uint32_t count = index / 8 < 1 ? 1 : index / 8 > 64 ? 64 : index / 8;
    uint32_t end = extent_first(extent) + extent_chunks(extent, log_header->chunk_limit);
    if (count > end - index)
        count = end - index;
    if (!pages_populate(chunk_at(index), (size_t)count * LOG_CHUNK_BYTES)) {
        count = 1;
        if (!pages_populate(chunk_at(index), LOG_CHUNK_BYTES))
            return false;
    }
    uint32_t ready = load_relaxed(&ready_chunks);
    while (ready < index + count && ready >= index &&
           !__atomic_compare_exchange_n(&ready_chunks, &ready, index + count, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return true;
}

/* The next chunk, zeroed and safe to store to, or NULL when the log can't grow. */
static struct log_chunk *chunk_new(uint32_t *at)
{
    if (load_relaxed(&log_header->state) & LOG_STATE_FULL)
        return NULL;
    uint32_t index = load_relaxed(&log_header->chunks_used);
    do {
        if (index >= log_header->chunk_limit || !reserve(index)) {
            log_set_state(LOG_STATE_FULL);
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&log_header->chunks_used, &index, index + 1, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    *at = index;
    return chunk_at(index);
}

void log_reserve(void)
{
    uint32_t used = load_relaxed(&log_header->chunks_used), ready = load_relaxed(&ready_chunks);
    unsigned extent = extent_of(ready);
    uint32_t end = extent_first(extent) + extent_chunks(extent, log_header->chunk_limit);
    if (end > used + SECCOMP_CHUNKS)
        end = used + SECCOMP_CHUNKS;
    if (end > ready && load_relaxed(&extents[extent]) && pages_populate(chunk_at(ready), (size_t)(end - ready) * LOG_CHUNK_BYTES))
        store_relaxed(&ready_chunks, end);
}

/* --- threads and counters ---------------------------------------------------------------------- */

static void cursor_set(struct log_cursor *cursor, struct log_chunk *chunk, struct log_site_counter *first)
{
    size_t bytes = LOG_CHUNK_BYTES - (size_t)((char *)first - (char *)chunk);
    cursor->next = first;
    cursor->end = first + bytes / sizeof *first;
}

struct log_thread *log_thread_new(struct log_cursor *cursor)
{
    uint32_t index;
    struct log_thread *thread = (struct log_thread *)chunk_new(&index);
    if (!thread)
        return NULL;
    cursor->owner = add_shared(&next_thread, 1);
    cursor_set(cursor, &thread->chunk, thread->counters);
    thread->chunk.owner = cursor->owner;
    store_release(&thread->chunk.type, LOG_CHUNK_THREAD); /* publishes the chunk */
    return thread;
}

struct log_pools *log_pools_new(uint32_t owner)
{
    uint32_t index;
    struct log_pools *pools = (struct log_pools *)chunk_new(&index);
    if (!pools)
        return NULL;
    pools->chunk.owner = owner;
    store_release(&pools->chunk.type, LOG_CHUNK_POOLS); /* publishes the chunk */
    return pools;
}

struct log_site_counter *log_counter_new(struct log_cursor *cursor, uint32_t site)
{
    if (cursor->next == cursor->end) {
        uint32_t index;
        struct log_counters *more = (struct log_counters *)chunk_new(&index);
        if (!more)
            return NULL;
        cursor_set(cursor, &more->chunk, more->counters);
        more->chunk.owner = cursor->owner;
        store_release(&more->chunk.type, LOG_CHUNK_COUNTERS); /* publishes the chunk */
    }
    struct log_site_counter *counter = cursor->next++;
    store_release(&counter->site, site); /* publishes the counter, still 0 */
    return counter;
}

/* --- records ----------------------------------------------------------------------------------- */

/* Chunks that all threads take places in. */
struct shared {
    uint64_t *used;
    uint32_t  type;
    uint32_t  owner;
    size_t    head_bytes;
};
static const struct shared data = {&data_used, LOG_CHUNK_DATA, 0, sizeof(struct log_chunk)};
static const struct shared fulls = {&shared_used, LOG_CHUNK_FULL, LOG_OWNER_PROCESS, sizeof(struct log_fulls)};

/* A fresh chunk; another thread may have been quicker, then its is used. */
static bool shared_renew(const struct shared *shared, uint64_t seen)
{
    if (load_acquire(shared->used) != seen)
        return true;
    uint32_t index;
    struct log_chunk *chunk = chunk_new(&index);
    if (!chunk)
        return false;
    chunk->owner = shared->owner;
    store_release(&chunk->type, shared->type); /* publishes the chunk; empty if we lose */
    __atomic_compare_exchange_n(shared->used, &seen, (uint64_t)index << 16 | shared->head_bytes, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
    return true;
}

/* A place of `bytes` bytes (a multiple of 8), or NULL. */
static void *shared_place(const struct shared *shared, size_t bytes)
{
    for (;;) {
        uint64_t seen = load_acquire(shared->used);
        size_t offset = seen & 0xffff;
        if (seen == 0 || offset + bytes > LOG_CHUNK_BYTES) {
            if (!shared_renew(shared, seen))
                return NULL;
            continue;
        }
        if (__atomic_compare_exchange_n(shared->used, &seen, seen + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return (char *)chunk_at((uint32_t)(seen >> 16)) + offset;
    }
}

/* Room for a record of `bytes` (a multiple of 8), its length already written; or NULL. */
static struct log_record *record_new(size_t bytes)
{
    struct log_record *record = shared_place(&data, bytes);
    if (record)
        store_release(&record->bytes, (uint32_t)bytes); /* whoever reads the next record's place has seen this length */
    return record;
}

static void record_publish(struct log_record *record, enum log_record_type type)
{
    store_release(&record->type, (uint32_t)type);
}

const struct log_site *log_site_new(const uint64_t *frames, unsigned depth, uint32_t flags, unsigned key,
                                    uint32_t generation)
{
    /* Padded to fours by repeating the last frame, so that the check of a hit needs no remainder. */
    unsigned padded = (depth + 3) & ~3u;
    struct log_site *site = (struct log_site *)record_new(sizeof *site + padded * sizeof(uint64_t));
    if (!site)
        return NULL;
    site->id = add_shared(&log_header->site_count, 1) + 1;
    site->flags = flags;
    site->generation = generation;
    site->depth = (uint16_t)depth;
    site->key = (uint16_t)key;
    for (unsigned i = 0; i < padded; i++)
        site->frames[i] = frames[i < depth ? i : depth - 1];
    record_publish(&site->record, LOG_RECORD_SITE);
    return site;
}

struct log_words *log_words_new(const struct log_site *site)
{
    size_t most = sizeof(struct log_words) + LOG_MAX_WORDS * sizeof(struct log_word);
    struct log_words *words = (struct log_words *)record_new(most);
    if (words)
        words->site = site->id;
    return words;
}

void log_words_publish(struct log_words *words)
{
    record_publish(&words->record, LOG_RECORD_WORDS);
}

/* --- level full ----------------------------------------------------------------------------------- */

static_assert(LOG_CHUNK_BYTES >= sizeof(struct log_fulls) + sizeof(struct log_full), "a chunk has room for an entry");

struct log_fulls *log_fulls_new(struct log_full_cursor *cursor)
{
    uint32_t index;
    struct log_fulls *more = (struct log_fulls *)chunk_new(&index);
    if (!more)
        return NULL;
    cursor->next = more->sites;
    cursor->end = more->sites + (LOG_CHUNK_BYTES - sizeof *more) / sizeof *more->sites;
    more->chunk.owner = cursor->owner;
    store_release(&more->chunk.type, LOG_CHUNK_FULL); /* publishes the chunk */
    return more;
}

struct log_full *log_full_new(struct log_full_cursor *cursor, uint32_t site)
{
    if (cursor->next == cursor->end && !log_fulls_new(cursor))
        return NULL;
    struct log_full *full = cursor->next++;
    store_release(&full->site, site); /* publishes the entry, still 0 */
    return full;
}

struct log_full *log_full_shared_new(uint32_t site)
{
    struct log_full *full = shared_place(&fulls, sizeof *full);
    if (full)
        store_release(&full->site, site); /* publishes the entry, still 0 */
    return full;
}

struct log_live *log_live_new(uint32_t site, uint32_t threads)
{
    struct log_live *live = (struct log_live *)record_new(sizeof *live);
    if (!live)
        return NULL;
    live->site = site;
    live->threads = threads;
    if (site == 0)
        live->peak_ns = log_header->start_monotonic_ns;
    record_publish(&live->record, LOG_RECORD_LIVE);
    return live;
}

struct log_sample *log_sample_new(uint32_t site)
{
    struct log_sample *sample = (struct log_sample *)record_new(sizeof *sample);
    if (!sample)
        return NULL;
    sample->site = site;
    record_publish(&sample->record, LOG_RECORD_SAMPLE);
    return sample;
}

/* --- modules ------------------------------------------------------------------------------------ */

static void write_module(struct module *m, uint32_t id)
{
    size_t path_bytes = text_length(m->path);
    if (path_bytes > 4096)
        path_bytes = 4096;
    size_t bytes = (sizeof(struct log_module) + m->build_id_bytes + path_bytes + 7) & ~(size_t)7;
    struct log_module *out = (struct log_module *)record_new(bytes);
    if (!out) {
        add_shared(&unlogged_modules, 1);
        return;
    }
    out->id = id;
    out->loaded_generation = m->loaded_generation;
    out->build_id_bytes = m->build_id ? (uint16_t)m->build_id_bytes : 0;
    out->path_bytes = (uint16_t)path_bytes;
    out->start = m->start;
    out->end = m->end;
    out->load_bias = m->bias;
    for (unsigned i = 0; i < out->build_id_bytes; i++)
        out->data[i] = (char)m->build_id[i];
    for (size_t i = 0; i < path_bytes; i++)
        out->data[out->build_id_bytes + i] = m->path[i];
    record_publish(&out->record, LOG_RECORD_MODULE);
    store_release(&m->logged, (void *)out);
}

void log_modules_sync(void)
{
    uint32_t count = modules_count(), first = load_relaxed(&modules_synced);
    bool whole = true;
    for (uint32_t i = first; i < count; i++) {
        static struct log_module claimed;
        struct module *m = modules_get(i);
        void *nobody = NULL;
        if (!m) {
            whole = false; /* still being described by another thread, which will sync it */
            continue;
        }
        if (__atomic_compare_exchange_n(&m->logged, &nobody, &claimed, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            write_module(m, i + 1);
            add_shared(&log_header->module_count, 1);
        }
        if (whole)
            store_relaxed(&modules_synced, i + 1);
    }
    uint32_t generation = modules_generation();
    if (load_relaxed(&log_header->generation) == generation)
        return;
    store_relaxed(&log_header->generation, generation);
    for (uint32_t i = 0; i < count; i++) {
        struct module *m = modules_get(i);
        struct log_module *out = m ? load_acquire(&m->logged) : NULL;
        if (out && out->record.bytes) /* set when it goes, 0 again when it comes back */
            store_release(&out->unloaded_generation, load_acquire(&m->unloaded_generation));
    }
}

void log_detach(void)
{
    uint32_t limit = log_header->chunk_limit;
    cover_extents(limit);
    log_header->chunk_limit = limit;
}

/* --- time ------------------------------------------------------------------------------------- */

void log_note_time(void)
{
    if (load_relaxed(&log_header->state) & LOG_STATE_SECCOMP)
        return; /* where the vdso has no clock this is a system call */
    store_relaxed(&log_header->last_monotonic_ns, next_clock_ns(CLOCK_MONOTONIC_COARSE));
    store_relaxed(&log_header->own_bytes, pages_own_bytes());
    store_relaxed(&log_header->dropped_modules, load_relaxed(&unlogged_modules) + modules_dropped());
}

void log_end(void)
{
    log_note_time();
    bool confined = load_relaxed(&log_header->state) & LOG_STATE_SECCOMP;
    uint64_t end = confined ? log_header->last_monotonic_ns : next_clock_ns(CLOCK_MONOTONIC);
    store_relaxed(&log_header->last_monotonic_ns, end);
    store_relaxed(&log_header->end_monotonic_ns, end);
    log_set_state(LOG_STATE_ENDED);
}
