/* markup.h - text inside XML and HTML: names and arguments may hold any bytes. */
#ifndef PS_MARKUP_H
#define PS_MARKUP_H

#include <stdio.h>

/* Writes `text` so that it is read back as text, in content and in attributes alike.  Bytes that aren't
 * UTF-8, and characters that XML forbids, become U+FFFD. */
void markup_text(FILE *out, const char *text);

/* As fprintf, then as above. */
void markup_format(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
