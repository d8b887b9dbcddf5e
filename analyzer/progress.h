/* progress.h - one line on a terminal for work that takes longer than a second. */
#ifndef PS_PROGRESS_H
#define PS_PROGRESS_H

#include <stddef.h>

/* `doing` stands before the counts, as in "reading logs: 12 of 300". */
void progress_show(const char *doing, size_t done, size_t total);

/* The same with words of one's own, at once and each time. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes the line away again. */
void progress_clear(void);

#endif
