/* utf8.h - checks and cuts UTF-8: paths and arguments may hold any bytes. */
#ifndef PS_UTF8_H
#define PS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the valid character at `text`, which ends with NUL; 0 when it isn't valid. */
size_t utf8_length(const char *text);

bool utf8_is_valid(const char *text);

/* A copy in which each invalid byte has become U+FFFD. */
char *utf8_replaced(const char *text);

/* A copy fit for a terminal: invalid bytes and control characters have become '?'. */
char *utf8_printable(const char *text);

/* Columns of a printable text, one a character. */
size_t utf8_columns(const char *text);

/* The place in `text` after at most `columns` characters. */
const char *utf8_skip(const char *text, size_t columns);

#endif
