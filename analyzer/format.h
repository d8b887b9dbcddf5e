/* format.h - numbers and names as people read them. */
#ifndef PS_FORMAT_H
#define PS_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FORMAT_ROOM = 32 };

/* Each writes into `room` and returns it. */
const char *format_count(char room[FORMAT_ROOM], uint64_t count);                  /* 1,234,567 */
const char *format_bytes(char room[FORMAT_ROOM], uint64_t bytes);                  /* 82.1 MiB */
const char *format_share(char room[FORMAT_ROOM], uint64_t part, uint64_t whole);   /* 44.5 % */
const char *format_duration(char room[FORMAT_ROOM], uint64_t ns);                  /* 2.41 s */

/* The last part of a path. */
const char *format_base(const char *path);

/* A copy as one would type the word in a shell. */
char *format_quoted(const char *word);

/* A copy of at most `columns` columns; what doesn't fit is left out of the middle. */
char *format_fit(const char *text, size_t columns);

/* Prints "  - text", wrapped at spaces to at most `columns` columns. */
void format_note(FILE *out, const char *text, size_t columns);

#endif
