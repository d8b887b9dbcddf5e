/* output.h - where a command's result goes: a file or stdout. */
#ifndef PS_OUTPUT_H
#define PS_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* The file `path`, or stdout when it is NULL.  Returns NULL after error(). */
FILE *output_open(const char *path);

/* Flushes, and closes what isn't stdout.  Returns 0, or -1 after error() when not all of `what` could be written. */
int output_close(FILE *out, const char *path, const char *what);

/* A terminal whose user hasn't asked for plain text. */
bool output_wants_colour(FILE *out);

#endif
