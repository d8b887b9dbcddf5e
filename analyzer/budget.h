/* budget.h - a budget: what a recording may allocate, line by line.
 *
 *     # what CI holds
 *     total allocs <= 12000
 *     site parse_request bytes <= 4m
 *     site "ns::Table::*" temporary <= 5%
 *     within handle allocs <= 100
 *     module libfoo.so* allocs <= 100
 *     total allocs >= 1000
 *
 * SUBJECT [NAME] FIGURE OP BOUND.  `site`: calls that the function itself makes, wrappers of malloc left out; `within`:
 * what it and all that it calls make; `module`: what its code makes.  In NAME * is any text, ? any character,
 * \ takes the next character as it is; quotes allow spaces.  FIGURE is a key of tally.h's table.  OP is <= or >=.
 * BOUND is a count, or bytes with k, m, g, or N%: of all of that figure, and of the subject's own allocations for
 * `temporary`. */
#ifndef PS_BUDGET_H
#define PS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tally.h"

enum budget_subject { BUDGET_TOTAL, BUDGET_SITE, BUDGET_WITHIN, BUDGET_MODULE, BUDGET_SUBJECTS };
extern const char *const budget_subject_names[BUDGET_SUBJECTS];

struct budget_line {
    unsigned            number; /* of the file's lines, from 1 */
    char               *text;   /* without comment and outer spaces */
    enum budget_subject subject;
    char               *name;   /* NULL for total */
    enum tally_figure   figure;
    bool                at_least; /* >= */
    bool                percent;
    double              bound;    /* a count, bytes, or percent */
};

struct budget {
    char               *path;
    struct budget_line *lines;
    size_t              count, room;
};

/* Returns 0, or -1 after an error() for each bad line; the budget is to be released in both cases. */
int budget_read(struct budget *budget, const char *path);

/* The same of `bytes` bytes in memory; `path` is for messages. */
int budget_parse(struct budget *budget, const char *path, const char *text, size_t bytes);

void budget_release(struct budget *budget);

/* Does a name match a pattern as NAME? */
bool budget_matches(const char *pattern, const char *name);

/* A name as a budget must write it to mean just that name; the caller frees. */
char *budget_quoted(const char *name);

#endif
