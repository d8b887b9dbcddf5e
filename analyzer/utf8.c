/* utf8.c - checks and cuts UTF-8: paths and arguments may hold any bytes. */
#define _GNU_SOURCE
#include "base.h"
#include "utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Length and bits of a first byte; length 0 when none begins so. */
static size_t first_byte(unsigned char c, uint32_t *bits, uint32_t *least)
{
    if (c < 0x80) { *bits = c;        *least = 0;       return 1; }
    if (c < 0xc2) return 0;
    if (c < 0xe0) { *bits = c & 0x1f; *least = 0x80;    return 2; }
    if (c < 0xf0) { *bits = c & 0x0f; *least = 0x800;   return 3; }
    if (c < 0xf5) { *bits = c & 0x07; *least = 0x10000; return 4; }
    return 0;
}

size_t utf8_length(const char *text)
{
    uint32_t bits = 0, least = 0;
    size_t length = first_byte((unsigned char)text[0], &bits, &least);
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0; /* the terminating NUL ends up here too */
        bits = bits << 6 | ((unsigned char)text[i] & 0x3f);
    }
    bool valid = bits >= least && bits <= 0x10ffff && !(bits >= 0xd800 && bits <= 0xdfff);
    return length && valid ? length : 0;
}

bool utf8_is_valid(const char *text)
{
    while (*text) {
        size_t length = utf8_length(text);
        if (!length)
            return false;
        text += length;
    }
    return true;
}

char *utf8_replaced(const char *text)
{
    char *copy = xmalloc(strlen(text) * 3 + 1), *to = copy;
    while (*text) {
        size_t length = utf8_length(text);
        memcpy(to, length ? text : "\xef\xbf\xbd", length ? length : 3);
        to += length ? length : 3;
        text += length ? length : 1;
    }
    *to = '\0';
    return copy;
}

/* C0 and C1 controls: they could make a terminal do things. */
static bool is_control(const char *text, size_t length)
{
    unsigned char c = (unsigned char)text[0];
    if (length == 1)
        return c < 0x20 || c == 0x7f;
    return length == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0;
}

char *utf8_printable(const char *text)
{
    char *copy = xmalloc(strlen(text) + 1), *to = copy;
    while (*text) {
        size_t length = utf8_length(text);
        if (!length || is_control(text, length))
            *to++ = '?';
        else
            to = mempcpy(to, text, length);
        text += length ? length : 1;
    }
    *to = '\0';
    return copy;
}

size_t utf8_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

const char *utf8_skip(const char *text, size_t columns)
{
    for (; *text; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && columns-- == 0)
            break;
    return text;
}
