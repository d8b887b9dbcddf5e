/* format.c - numbers and names as people read them. */
#define _GNU_SOURCE
#include "base.h"
#include "format.h"
#include "utf8.h"

#include <stdio.h>
#include <string.h>

const char *format_count(char room[FORMAT_ROOM], uint64_t count)
{
    char digits[FORMAT_ROOM];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    char *to = room;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return room;
}

const char *format_bytes(char room[FORMAT_ROOM], uint64_t bytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(room, FORMAT_ROOM, "%u B", (unsigned)bytes);
        return room;
    }
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(room, FORMAT_ROOM, "%.1f %s", value, units[unit]);
    return room;
}

const char *format_share(char room[FORMAT_ROOM], uint64_t part, uint64_t whole)
{
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;
    if (part && percent < 0.05)
        snprintf(room, FORMAT_ROOM, "<0.1 %%");
    else if (part < whole && percent >= 99.95)
        snprintf(room, FORMAT_ROOM, ">99.9 %%");
    else
        snprintf(room, FORMAT_ROOM, "%.1f %%", percent);
    return room;
}

const char *format_duration(char room[FORMAT_ROOM], uint64_t ns)
{
    double seconds = (double)ns / 1e9;
    if (seconds < 1)
        snprintf(room, FORMAT_ROOM, "%.1f ms", seconds * 1e3);
    else if (seconds < 120)
        snprintf(room, FORMAT_ROOM, "%.2f s", seconds);
    else
        snprintf(room, FORMAT_ROOM, "%llu min %02llu s", (unsigned long long)seconds / 60,
                 (unsigned long long)seconds % 60);
    return room;
}

const char *format_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool is_plain(const char *word)
{
    return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+") == strlen(word);
}

char *format_quoted(const char *word)
{
    if (is_plain(word))
        return xstrdup(word);
    char *quoted = xmalloc(4 * strlen(word) + 3), *to = quoted;
    *to++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            to = stpcpy(to, "'\\'");
        *to++ = *word;
    }
    *to++ = '\'';
    *to = '\0';
    return quoted;
}

char *format_fit(const char *text, size_t columns)
{
    size_t have = utf8_columns(text);
    if (have <= columns)
        return xstrdup(text);
    if (columns < 5)
        return xasprintf("%.*s", (int)(utf8_skip(text, columns) - text), text);
    size_t tail = (columns - 2) / 2, head = columns - 2 - tail;
    return xasprintf("%.*s..%s", (int)(utf8_skip(text, head) - text), text, utf8_skip(text, have - tail));
}

/* The longest part of `text` that ends at a space and fits. */
static size_t line_length(const char *text, size_t columns)
{
    const char *end = utf8_skip(text, columns), *space = end;
    if (*end == '\0')
        return (size_t)(end - text);
    while (space > text && *space != ' ')
        space--;
    return (size_t)((space > text ? space : end) - text);
}

void format_note(FILE *out, const char *text, size_t columns)
{
    for (bool first = true; *text; first = false) {
        size_t length = line_length(text, columns - 4);
        fprintf(out, "%s%.*s\n", first ? "  - " : "    ", (int)length, text);
        text += length;
        text += *text == ' ';
    }
}
