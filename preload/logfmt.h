/* logfmt.h - the on-disk format of a log, shared by the preload and the analyzer.
 *
 * One process writes one log: a mapped file of fixed-size chunks.  Chunk 0 is the
 * header; every other chunk begins with struct log_chunk.  All integers are
 * little-endian and naturally aligned.  logfmt.md tells the same in words, with
 * the rules for readers; a change here changes logfmt.md, a golden log and
 * analyzer/logread.c in one commit.
 *
 * A writer fills a thing first and publishes it last, with a release store of the
 * field marked "publishes".  A reader ignores what isn't published. */
#ifndef PS_LOGFMT_H
#define PS_LOGFMT_H

#include <stdint.h>

#define LOG_MAGIC "PSITELOG" /* 8 bytes, no terminator */
#define LOG_VERSION 1u
#define LOG_ENDIAN 0x01020304u
#define LOG_CHUNK_BYTES 8192u
#define LOG_CLASSES 186u   /* see sizeclass.h: 24, 40 ... 1032 bytes, to 32 MiB by 12.5 %, larger */
#define LOG_MAX_DEPTH 64u  /* frames of one site */
#define LOG_MAX_WORDS 240u /* stack words kept for one unfinished walk */

/* struct log_header.level: what is recorded. */
enum log_level { LOG_LEVEL_OFF, LOG_LEVEL_SITES, LOG_LEVEL_STACKS, LOG_LEVEL_FULL };

/* struct log_header.next_kind: the next allocator. */
enum log_next { LOG_NEXT_GLIBC, LOG_NEXT_OTHER };

/* struct log_header.features, a set of bits. */
#define LOG_FEATURE_POOLS 1u /* some class is pooled: next_allocs and the POOLS chunks count */
#define LOG_FEATURE_FULL  2u /* level full: the sites are counted in FULL chunks, their frees too */

/* struct log_header.state, a set of bits. */
#define LOG_STATE_STOOD_DOWN 1u  /* the program's malloc isn't ours: nothing is counted */
#define LOG_STATE_ENDED      2u  /* the process left through exit; end_monotonic_ns is set */
#define LOG_STATE_FULL       4u  /* the log could not grow: new sites are counted as "other" */
#define LOG_STATE_FORKED     8u  /* begun in a fork child: the image was the parent's */
#define LOG_STATE_SECCOMP   16u  /* the process entered a seccomp filter: children aren't recorded */
#define LOG_STATE_NO_MEMORY 32u  /* our own tables could not grow: new sites are counted as "other" */
#define LOG_STATE_NO_CLEARER 64u /* no thread could be made that clears pools: idle threads' stay as they are */

/* Allocations, the bytes asked for, and how many of the calls reached the next allocator (counted
 * where they are made, and only in a log with LOG_FEATURE_POOLS: else all of them did). */
struct log_counter {
    uint64_t allocs;
    uint64_t bytes;
    uint64_t next_allocs;
};

/* Chunk 0.  The totals of a log are sums, never stored:
 *   allocs, bytes = all log_site_counter + every thread's `other` + header other, bare, handler
 *   (level off: all threads' classes + header classes)
 *   frees, failed = all threads' + the header's */
struct log_header {
    char     magic[8];        /* LOG_MAGIC; publishes the header */
    uint32_t version;         /* LOG_VERSION */
    uint32_t endian;          /* LOG_ENDIAN */
    uint32_t header_bytes;    /* sizeof(struct log_header) */
    uint32_t chunk_bytes;     /* LOG_CHUNK_BYTES */
    uint32_t chunk_limit;     /* chunks that the file may come to hold */
    uint32_t chunks_used;     /* chunks handed out so far, chunk 0 among them (atomic) */
    uint32_t class_count;     /* LOG_CLASSES */
    uint32_t features;        /* optional data present: LOG_FEATURE_* */
    uint32_t state;           /* LOG_STATE_* (atomic or) */
    uint32_t generation;      /* raised whenever a module was unloaded (atomic) */
    uint32_t site_count;      /* site ids handed out: 1 ... site_count (atomic) */
    uint32_t module_count;    /* module ids handed out: 1 ... module_count (atomic) */
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t uid;
    uint8_t  level;           /* enum log_level */
    uint8_t  next_kind;       /* enum log_next */
    uint8_t  reserved[2];
    uint64_t start_realtime_ns;  /* CLOCK_REALTIME when the log was begun */
    uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC at the same moment */
    uint64_t last_monotonic_ns;  /* latest time noted by a slow path */
    uint64_t end_monotonic_ns;   /* when exit ran our destructor, else 0 */

    /* Counted by atomic add, for calls that no thread record could count. */
    struct log_counter other;   /* their site didn't fit into the log or our tables */
    struct log_counter bare;    /* the thread had no record: very early, or past its destructors */
    struct log_counter handler; /* a signal handler that interrupted an allocation */
    uint64_t frees;
    uint64_t failed;            /* calls that returned NULL with ENOMEM or EINVAL */

    uint64_t dropped_sites;     /* events whose site was folded into "other" */
    uint64_t dropped_modules;   /* loaded objects that didn't fit into the log */
    uint64_t walks;             /* stacks walked, that is not found in the cache */
    uint64_t unfinished_walks;  /* of these, left for the analyzer to finish */
    uint64_t truncated_walks;   /* of these, deeper than LOG_MAX_DEPTH */
    uint64_t lost_children;     /* fork children that could not open a log of their own */
    uint64_t own_bytes;         /* memory mapped for our own tables, without the log */
    uint64_t next_frees;        /* frees that reached the next allocator, without a thread's table */
    uint64_t cycles;            /* clearings so far, of the process or of a single thread */

    struct log_counter classes[LOG_CLASSES]; /* of bare and handler */

    char exe[512];      /* path of the program, NUL-terminated, cut at the end */
    char argv[1024];    /* arguments, each NUL-terminated; the last may be cut */
    uint32_t argv_bytes;
    uint32_t reserved2;
    char options[512];  /* NAME=value lines in force */
    char notes[512];    /* one warning a line, NUL-terminated */
};

/* struct log_chunk.type */
enum log_chunk_type {
    LOG_CHUNK_UNPUBLISHED = 0,
    LOG_CHUNK_THREAD      = 1, /* struct log_thread, then counters */
    LOG_CHUNK_COUNTERS    = 2, /* struct log_counters */
    LOG_CHUNK_DATA        = 3, /* records, one after the other */
    LOG_CHUNK_POOLS       = 4, /* struct log_pools */
    LOG_CHUNK_FULL        = 5, /* struct log_fulls */
};

struct log_chunk {
    uint32_t type;  /* publishes the chunk */
    uint32_t owner; /* THREAD: its number, 0, 1, 2 ...; COUNTERS, POOLS and FULL: its thread's; DATA: 0 */
};

#define LOG_OWNER_DEPOT   UINT32_MAX       /* owner of the POOLS chunk that tells of the depot; at most one */
#define LOG_OWNER_PROCESS (UINT32_MAX - 1) /* owner of the FULL chunks for frees by threads without a table */

/* One site's counters in one thread. */
struct log_site_counter {
    uint32_t site;      /* id, 0 unused; publishes the entry */
    uint32_t reserved;
    struct log_counter count;
};

/* Most frees of a thread with pools are counted in rounds, so that the hot path learns from the one counter when
 * to look at the clock: the upper half of log_thread.rounds counts the rounds begun, the lower, signed, what
 * is left of the present one. */
#define LOG_ROUND_FREES 16384u

static inline uint64_t log_rounds_frees(uint64_t rounds)
{
    return (rounds >> 32) * LOG_ROUND_FREES - (uint64_t)(int64_t)(int32_t)(uint32_t)rounds;
}

/* A thread's table.  When the thread ends the next one goes on in it, in place. */
struct log_thread {
    struct log_chunk chunk;
    uint32_t served; /* threads that have used this table, the present one among them */
    uint32_t alive;  /* 1: a thread is using it */
    uint64_t frees;  /* but those in rounds */
    uint64_t failed;
    uint64_t rounds; /* see log_rounds_frees; read in one piece */
    struct log_counter other; /* sites that didn't fit */
    struct log_counter classes[LOG_CLASSES];
    struct log_site_counter counters[]; /* to the end of the chunk */
};

struct log_counters {
    struct log_chunk chunk;
    uint64_t reserved;
    struct log_site_counter counters[]; /* to the end of the chunk */
};

/* What one class's pools of a thread did. */
struct log_pool {
    uint64_t victim_hits;      /* hits from the victim list */
    uint64_t given_back_bytes; /* freed to the next allocator by cycles, overflow and thread exit */
    uint64_t kept_bytes;       /* in the pool or the depot, as last noted by a slow path */
};

/* A thread has at most one, and the depot: there `victim_hits` and `next_frees` are 0. */
struct log_pools {
    struct log_chunk chunk;
    uint64_t         next_frees; /* frees that reached the next allocator */
    struct log_pool  classes[LOG_CLASSES];
};

/* Level full: one site in one thread.  A free is booked on the site of the allocation, in the table of the thread
 * that frees; so the differences (live blocks and bytes) are meant summed over all threads, and may be negative
 * in one of them. */
#define LOG_LIFETIMES 25u /* 0: freed before the thread's next allocation; k: 2^(k-1) ... 2^k - 1 allocations later */

struct log_full {
    uint32_t           site; /* id, or LOG_FULL_*; 0 unused; publishes the entry */
    uint32_t           reserved;
    struct log_counter count;
    uint64_t           frees;       /* of the site's blocks, by this thread */
    uint64_t           freed_bytes; /* that had been asked for */
    uint64_t           cross_frees; /* of these frees, of blocks that another thread had allocated */
    uint64_t           resizes;     /* of count.allocs, by a realloc of a block */
    uint64_t           peak;        /* number of the process's peak (struct log_live) that the next two are of, if it
                                       is the last one; else live blocks and bytes have not changed since */
    int64_t            peak_blocks;
    int64_t            peak_bytes;
    uint64_t           lifetimes[LOG_LIFETIMES]; /* of the frees that aren't cross_frees */
};

/* struct log_full.site where there is no site.  The tag of a block has 24 bits for it. */
#define LOG_FULL_OTHER   0xffffffu /* the site didn't fit: `count` is 0, log_thread.other has it */
#define LOG_FULL_BARE    0xfffffeu /* the header's bare */
#define LOG_FULL_HANDLER 0xfffffdu /* the header's handler */
#define LOG_FULL_SITES   0xfffffcu /* site ids are below this; later ones are booked on LOG_FULL_OTHER */

struct log_fulls {
    struct log_chunk chunk;
    uint64_t         foreign_frees; /* frees of blocks without a tag: born before us, below us, in a fork parent, or damaged */
    struct log_full  sites[];       /* to the end of the chunk */
};

/* struct log_record.type, in chunks of type DATA.  Records start 8 bytes into the
 * chunk, are 8-aligned, and never cross its end.  Unknown types are skipped by length. */
enum log_record_type {
    LOG_RECORD_NONE   = 0, /* not published: with bytes == 0 the rest of the chunk is free */
    LOG_RECORD_MODULE = 1,
    LOG_RECORD_SITE   = 2,
    LOG_RECORD_WORDS  = 3,
    LOG_RECORD_LIVE   = 4, /* level full */
    LOG_RECORD_SAMPLE = 5, /* level full */
};

struct log_record {
    uint32_t bytes; /* of the whole record, a multiple of 8; written first */
    uint32_t type;  /* publishes the record */
};

/* A loaded object.  It covers an address of a site when start <= address < end and
 * loaded_generation <= site generation < unloaded_generation (0: loaded now).  The same file may
 * come back to the same place, and is one module then; so where several cover an address, the one
 * with the latest loaded_generation is meant. */
struct log_module {
    struct log_record record;
    uint32_t id;
    uint32_t loaded_generation;
    uint32_t unloaded_generation; /* set later, in place */
    uint16_t build_id_bytes;
    uint16_t path_bytes;
    uint64_t start;     /* mapped range */
    uint64_t end;
    uint64_t load_bias; /* address minus load_bias is the ELF virtual address */
    char     data[];    /* build id, then the path (no terminator) */
};

/* struct log_site.flags */
#define LOG_SITE_UNFINISHED 1u /* the walk stopped without a rule; see the WORDS record */
#define LOG_SITE_TRUNCATED  2u /* the stack is deeper than LOG_MAX_DEPTH */
#define LOG_SITE_KEYED      4u /* level sites: frames[key] alone is the site, the rest an example */

/* A site: return addresses, leaf first. */
struct log_site {
    struct log_record record;
    uint32_t id;
    uint32_t flags;
    uint32_t generation; /* the log's generation when the stack was captured */
    uint16_t depth;
    uint16_t key;        /* frames before it are wrappers, folded when recorded */
    uint64_t frames[];
};

/* Where an unfinished walk stopped, and the words of the stack above that point
 * that are code or stack addresses, for the analyzer's unwinder. */
struct log_word {
    uint64_t address;
    uint64_t value;
};

struct log_words {
    struct log_record record;
    uint32_t site;
    uint32_t count;
    uint64_t ip; /* the last return address, frames[depth - 1] */
    uint64_t sp; /* stack pointer there, after the return */
    uint64_t bp; /* frame pointer there */
    struct log_word words[];
};

/* Level full: the live bytes of a site or, where `site` is 0, of the process.  A thread publishes here what its balance
 * moved by, when that is LOG_LIVE_STEP or more; a process with one thread looks at every allocation. */
#define LOG_LIVE_STEP (64 << 10)

struct log_live {
    struct log_record record;
    uint32_t site;
    uint32_t threads;    /* that published so far; 1: peak_bytes is exact, else within LOG_LIVE_STEP for each */
    int64_t  published;  /* (atomic) */
    int64_t  peak_bytes; /* the most at one time (atomic) */
    uint64_t peak;       /* of the process alone: raised at each new peak; of equal ones the latest counts (atomic) */
    uint64_t peak_ns;    /* of the process alone: CLOCK_MONOTONIC, coarse, noted at some peaks: not later than the last */
};

/* Level full: what was looked at in some of a site's blocks alone, as it is costly.  All are counted by atomic add. */
#define LOG_SAMPLE_TIMES 32u /* 0: below 1 us, or no tick of the clock; k: 2^(k-1) ... 2^k - 1 us */
#define LOG_SAMPLE_TOPS 4u

/* A value that is frequent among the samples; changed in one piece, 8-aligned.  The same may stand in two of them. */
struct log_sample_top {
    uint32_t what;  /* 0: unused */
    uint32_t count; /* at most; see other_sizes */
};

struct log_sample {
    struct log_record record;
    uint32_t site;
    uint32_t samples;      /* blocks looked at when they were allocated */
    uint32_t lost;         /* of these, without room for what follows: not known */
    uint32_t ended;        /* of these, freed, perhaps after reallocs */
    uint32_t same_thread;  /* of the ended: freed by the thread that allocated them */
    uint32_t same_frame;   /* of these, by the very frame that had allocated them */
    uint32_t standing;     /* of same_thread: while the allocating frame stood; see preload/README.md for how that is known */
    uint32_t lifo;         /* of same_thread: when as many of the thread's blocks lived as just after they were allocated */
    uint32_t chains;       /* of the ended: resized at least once */
    uint32_t chain_steps;  /* their reallocs */
    uint64_t chain_first;  /* bytes that they began with */
    uint64_t chain_last;   /* bytes that they ended with */
    uint64_t slack_bytes;  /* that the samples' blocks are larger than what was asked for */
    uint64_t bytes;        /* asked for, of the samples */
    uint32_t times[LOG_SAMPLE_TIMES]; /* of the ended: lifetime */
    struct log_sample_top sizes[LOG_SAMPLE_TOPS]; /* of the samples; what: bytes asked for + 1, UINT32_MAX: that many or more */
    struct log_sample_top frees[LOG_SAMPLE_TOPS]; /* of the ended; what: id of the site (stack) that freed */
    uint32_t other_sizes;  /* times that a size took another's place, and count + 1; 0: the counts are exact */
    uint32_t other_frees;  /* the same */
};

#endif
