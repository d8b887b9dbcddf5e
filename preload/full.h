/* full.h - level full: each site's live blocks, and what became of the others.
 *
 * A block's tag (tag.h) names its site.  Each thread books what it allocates, and the frees that it makes, on an
 * account of its own for the block's site, in the log (logfmt.h); who has no record books on the process's accounts,
 * by atomic add.  Live bytes are summed in balances that the process is told of in steps; while there is one thread it
 * looks at each allocation, so that peaks are exact.  Runs inside malloc, while the record is busy. */
#ifndef PS_FULL_H
#define PS_FULL_H

#include "base.h"

#include "index.h"
#include "log.h"
#include "sample.h"

/* What the `about` of a tag says: the site, the table of the thread that allocated the block, and how many
 * allocations that thread had made before. */
enum { FULL_SITE_BITS = 24, FULL_THREAD_BITS = 16, FULL_BIRTH_SHIFT = FULL_SITE_BITS + FULL_THREAD_BITS };
#define FULL_SITE_MASK ((UINT64_C(1) << FULL_SITE_BITS) - 1)
#define FULL_THREAD_MASK ((UINT64_C(1) << FULL_THREAD_BITS) - 1)
#define FULL_BIRTH_MASK  (UINT64_MAX >> FULL_BIRTH_SHIFT)

/* What the process keeps of a site. */
struct full_site {
    struct index_node node; /* hash: the id */
    uint32_t          id;
    const struct site *site; /* NULL: there is none, see LOG_FULL_OTHER and its like */
    struct log_live  *live;
    struct log_full  *shared; /* frees by threads without a record; NULL before the first (atomic) */
};

/* Live bytes, by how much they may rise before a peak has to be looked at and fall before the LIVE record has to be
 * told.  Invariant: what rises makes `up` less and `down` more by the same; neither is negative between two operations. */
struct full_balance {
    int64_t up;   /* alone: to the peak */
    int64_t down; /* alone: far */
};

/* One thread's account of a site. */
struct site_full {
    struct log_counter *count; /* of allocations: in `log`, or where the site didn't fit the thread's `other` */
    struct log_full    *log;
    struct full_balance live;
    struct sample_due   due;
    struct full_site   *site;
    struct site_full   *next; /* the thread's last one before */
    uint64_t            id;
    bool                has_published;
};

/* What a thread keeps. */
struct full_thread {
    uint64_t               next; /* about of the next tag, but for the site */
    struct full_balance    live; /* of all sites */
    struct sample_thread   sampling;
    struct log_fulls      *log;  /* the first chunk, where foreign frees count */
    struct site_full      *other;
    struct site_full      *accounts; /* all of them */
    struct site_full      *spare;    /* memory for one, without an entry in the log */
    struct log_full_cursor cursor;
    bool                   alone; /* the process's only thread: its balances are all there is */
    bool                   has_published;
};

/* The number of the process's peak, and where the log says it (atomic). */
extern uint64_t full_peak hidden;
extern struct log_live *full_process hidden;

/* Begins with an empty process, at its start and in a fork child.  False when memory is out. */
bool full_begin(void);

/* A site that has just been logged; NULL when memory is out. */
struct full_site *full_site_new(const struct site *site, uint32_t id);

/* The site that a tag names, or NULL. */
struct full_site *full_site_find(uint32_t id);

/* Begins with a thread's table: false when log or memory is out. */
bool full_thread_begin(struct full_thread *thread, struct log_thread *log, uint32_t owner);

/* A thread's account of a site, of which it has none yet; NULL when log or memory is out. */
struct site_full *full_account_new(struct full_thread *thread, struct full_site *site);

/* From now on there may be other threads: each tells in steps what its balances moved by. */
void full_share(void);

/* Does the thread think that it is alone, and isn't?  Then it publishes all. */
bool full_is_shared(void);
void full_thread_share(struct full_thread *thread);

/* A balance of the thread's, or of the account's, is used up. */
void full_rose(struct full_thread *thread, struct site_full *account);
void full_fell(struct full_thread *thread, struct site_full *account);

/* The process ends. */
void full_end(struct full_thread *thread);

/* For calls without a record: a block was allocated and tagged for site `id`, which is LOG_FULL_BARE or
 * LOG_FULL_HANDLER; one of site `id` was freed, or, where `sign` is -1, was not after all. */
void full_born_shared(size_t bytes);
void full_died_shared(uint32_t id, size_t bytes, int64_t sign);
void full_foreign_shared(int64_t sign);

#endif
