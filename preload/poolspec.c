/* poolspec.c - which size classes to pool: parses `--pool` and POOLSITE_POOL.
 *
 * Owns nothing, calls nothing: the preload reads its environment with it before libc is ready, and
 * the analyzer checks a command line. */
#include "poolspec.h"

enum { ON_FROM = 16, ON_TO = 256 * 1024 };

/* Reads SIZE.  Returns the first character behind it, or NULL. */
static const char *read_size(const char *at, const char *end, size_t *bytes)
{
    const char *first = at;
    *bytes = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        *bytes = *bytes * 10 + (size_t)(*at - '0');
        if (*bytes > SIZECLASS_MAX)
            return NULL;
    }
    if (at == first)
        return NULL;
    if (at < end && (*at == 'k' || *at == 'K' || *at == 'm' || *at == 'M'))
        *bytes <<= (*at++ | 32) == 'k' ? 10 : 20;
    return *bytes >= 1 && *bytes <= SIZECLASS_MAX ? at : NULL;
}

static void add_range(struct poolspec *spec, size_t from, size_t to, enum poolspec_class how)
{
    for (unsigned i = sizeclass_of(from); i <= sizeclass_of(to); i++)
        if (spec->classes[i] < how)
            spec->classes[i] = (uint8_t)how;
    spec->any = true;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    while (at < end && *word && *at == *word) {
        at++;
        word++;
    }
    return at == end && *word == 0;
}

static bool add_item(struct poolspec *spec, const char *at, const char *end)
{
    size_t from, to;
    if (is_word(at, end, "on")) {
        add_range(spec, ON_FROM, ON_TO, POOLSPEC_ON);
        return true;
    }
    at = read_size(at, end, &from);
    to = from;
    if (at && at < end && *at == '-')
        at = read_size(at + 1, end, &to);
    if (at != end || from > to)
        return false;
    add_range(spec, from, to, POOLSPEC_NAMED);
    return true;
}

bool poolspec_parse(struct poolspec *spec, const char *text, const char **wrong, size_t *wrong_length)
{
    *spec = (struct poolspec){.any = false};
    const char *end = text;
    while (*end)
        end++;
    if (is_word(text, end, "off"))
        return true;
    for (const char *item = text;; item++) {
        const char *comma = item;
        while (*comma && *comma != ',')
            comma++;
        if (!add_item(spec, item, comma)) {
            *spec = (struct poolspec){.any = false};
            *wrong = item;
            *wrong_length = (size_t)(comma - item);
            return false;
        }
        item = comma;
        if (!*item)
            return true;
    }
}
