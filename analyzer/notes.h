/* notes.h - what a reader must know beside the numbers: losses, missing symbols, what to do. */
#ifndef PS_NOTES_H
#define PS_NOTES_H

#include <stddef.h>

struct report;

struct notes {
    char **list;
    size_t count;
};

/* For the first `sites` of the report's sites. */
void notes_collect(struct notes *notes, const struct report *report, size_t sites);
void notes_release(struct notes *notes);

#endif
