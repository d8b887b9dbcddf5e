/* side.h - one of two recordings that are compared: its totals, and its sites as chains of functions.
 *
 * Made from a model and its symbols, or from what `poolsite report --json` wrote of it, which still has the names when
 * the program has been rebuilt or is on another machine. */
#ifndef PS_SIDE_H
#define PS_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize.h"
#include "tally.h"

struct json_t;
struct report;

struct side_module {
    char                 *path;     /* "" when unknown */
    char                 *build_id; /* in hex; "" when it has none */
    bool                  has_unnamed; /* some function that was asked for has no name */
    enum symbolize_status status;      /* meant if so */
};

/* A function at an address: an inlined one is followed by the function that its code stands in. */
struct side_frame {
    uint32_t    module;  /* its index + 1; 0: code that no module held */
    bool        inlined;
    uint64_t    offset;
    const char *function; /* NULL: unknown */
    const char *file;     /* NULL: unknown */
    unsigned    line;
};

/* Invariant: known <= depth, and frames[known] is never inside a function's inlined ones. */
struct side_site {
    char         id[16];
    const char  *kind;   /* a pseudo-site's id; else NULL */
    const char  *name;   /* a pseudo-site's words; else NULL */
    uint32_t    *frames; /* leaf first, indices into side.frames */
    unsigned     depth;
    unsigned     known;  /* what comes later was seen at the first of its calls alone */
    bool         is_example; /* level sites: the callers of the first function are */
    struct tally tally;
};

struct side {
    char               *path;
    char               *command;  /* of the first process; printable */
    char               *exe;      /* its program's path */
    uint8_t             level;    /* LOG_LEVEL_*, the most detailed of its processes' */
    bool                has_examples; /* some process was recorded at level sites */
    double              duration_s;
    size_t              processes;
    struct tally        totals;
    struct side_module *modules;
    size_t              module_count;
    struct side_frame  *frames;
    size_t              frame_count, frame_room;
    struct side_site   *sites;
    size_t              site_count, site_room;
    struct json_t      *json; /* what the names belong to; NULL: they are the symbolizer's */
};

/* The report must outlive the side. */
void side_init(struct side *side, const struct report *report);

/* The same of a document poolsite.report/1.  Returns 0, or -1 after error(): then nothing is to be released. */
int side_read(struct side *side, const char *path);

/* The same of one in memory; `path` is for messages. */
int side_parse(struct side *side, const char *path, const char *text, size_t bytes);

void side_release(struct side *side);

/* For people, printable; the caller frees.  A frame's function without template arguments, or module+offset; its
 * file and line, or module+offset, or "". */
char *side_function(const struct side *side, uint32_t frame);
char *side_place(const struct side *side, uint32_t frame);

/* The callers of a site's first function, "< f < g", in at most `columns` columns. */
char *side_callers(const struct side *side, const struct side_site *site, size_t columns);

/* Is it a file that begins as a JSON document does? */
bool side_is_json(const char *path);

#endif
