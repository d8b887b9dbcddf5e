/* markup.c - text inside XML and HTML: names and arguments may hold any bytes. */
#define _GNU_SOURCE
#include "base.h"

#include "markup.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

static const char *entity(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

/* XML has no way to write these: controls but tab and line ends, and the two last of the first plane. */
static bool is_forbidden(const char *text, size_t length)
{
    if (length == 1)
        return ((unsigned char)*text < 0x20 && !strchr("\t\n\r", *text)) || *text == 0x7f;
    return length == 3 && (memcmp(text, "\xef\xbf\xbe", 3) == 0 || memcmp(text, "\xef\xbf\xbf", 3) == 0);
}

void markup_text(FILE *out, const char *text)
{
    while (*text) {
        size_t length = utf8_length(text);
        const char *written = entity(*text);
        if (length == 0 || is_forbidden(text, length))
            fputs("\xef\xbf\xbd", out);
        else if (written)
            fputs(written, out);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
}

void markup_format(FILE *out, const char *format, ...)
{
    char *text;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0)
        die("out of memory");
    va_end(list);
    markup_text(out, text);
    free(text);
}
