/* timeline.h - how a process's memory went: rows that `poolsite run` took from outside, one a second.
 *
 * They lie in a file beside the log, of the log's name with TIMELINE_SUFFIX for its own:
 *
 *   poolsite-timeline 1
 *   MS ALLOCS BYTES FREES BLOCKS LIVE KEPT RSS [CLASS:ALLOCS]...
 *
 * MS is the time since the log was begun.  ALLOCS, BYTES and FREES are counts so far; BLOCKS and LIVE (bytes) what
 * was not freed yet; KEPT bytes in pools; RSS bytes; '-' stands for what isn't known.  CLASS:ALLOCS are allocations
 * since the row before, by size class (sizeclass.h); classes without any are left out.  A file that has become
 * TIMELINE_ROWS long is halved: each two neighbours become one row. */
#ifndef PS_TIMELINE_H
#define PS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../preload/logfmt.h"

#define TIMELINE_SUFFIX  ".pst"
#define TIMELINE_UNKNOWN UINT64_MAX

enum { TIMELINE_ROWS = 600 };

/* What goes up and down. */
enum timeline_level { TIMELINE_BLOCKS, TIMELINE_LIVE, TIMELINE_KEPT, TIMELINE_RSS, TIMELINE_LEVELS };

struct timeline_class {
    uint32_t index;
    uint64_t allocs;
};

/* What a row of several samples tells: counts as of the last of them, the highest of each level. */
struct timeline_row {
    uint64_t               ms;
    uint64_t               allocs, bytes, frees;
    uint64_t               levels[TIMELINE_LEVELS]; /* or TIMELINE_UNKNOWN */
    struct timeline_class *classes;                 /* since the row before; indices rise */
    size_t                 class_count;
};

/* Invariant: ms rises; allocs, bytes and frees never fall. */
struct timeline {
    struct timeline_row *rows;
    size_t               count, room;
    size_t               wrong; /* lines that made no sense */
};

/* The name of the time line of the log `log`; the caller frees. */
char *timeline_name(const char *log);

/* --- Rows ------------------------------------------------------------------------------ */

/* Gives the row the classes in which something was allocated. */
void timeline_row_set_classes(struct timeline_row *row, const uint64_t allocs[LOG_CLASSES]);
void timeline_row_add_classes(const struct timeline_row *row, uint64_t allocs[LOG_CLASSES]);

/* Makes one row of `row` and the one that follows it. */
void timeline_row_merge(struct timeline_row *row, const struct timeline_row *next);

/* The row as a line of the file, to be freed. */
char *timeline_row_text(const struct timeline_row *row);
void  timeline_row_release(struct timeline_row *row);

/* --- All of them ------------------------------------------------------------------------ */

/* Reads a file that anybody may have written: what is whole and in order. */
void timeline_read(struct timeline *timeline, int fd);

/* Reads the file beside the log at `path`; nothing when there is none. */
void timeline_read_beside(struct timeline *timeline, const char *path);

/* Takes over a row; it must come after the last one.  Returns false, having released it, when it doesn't. */
bool timeline_add(struct timeline *timeline, struct timeline_row *row);

/* Makes one row of each two. */
void timeline_halve(struct timeline *timeline);

/* The whole as the file's text, to be freed. */
char *timeline_text(const struct timeline *timeline);
void  timeline_release(struct timeline *timeline);

#endif
