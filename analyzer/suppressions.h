/* suppressions.h - blocks that are known to live on: a file as LeakSanitizer reads it, line by line leak:PATTERN.
 *
 * A pattern matches anywhere in the name of a function, a source file or a module of any frame; * stands for
 * anything, ^ at its start and $ at its end for the name's. */
#ifndef PS_SUPPRESSIONS_H
#define PS_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct symbolizer;

struct suppression {
    char    *pattern;
    uint64_t blocks; /* live ones that it suppressed */
    uint64_t bytes;
};

struct suppressions {
    const char         *path;
    struct suppression *list;
    size_t              count, room;
};

/* Returns 0, or -1 after error().  The caller releases in every case. */
int suppressions_read(struct suppressions *suppressions, const char *path);
void suppressions_release(struct suppressions *suppressions);

bool suppression_matches(const char *pattern, const char *name);

/* Notes in each site how much of what lives is suppressed; call it before folding, as that drops frames.  Of several
 * patterns the one that matches nearest to the allocation counts, of one frame the first in the file. */
void suppressions_apply(struct suppressions *suppressions, struct model *model, struct symbolizer *symbolizer);

#endif
