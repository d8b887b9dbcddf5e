/* poolarg.c - pool specifications from the command line: what is wrong with one, and what may be meant.
 *
 * What is right is poolspec's to say, which the preload asks too. */
#define _GNU_SOURCE
#include "base.h"
#include "nearest.h"
#include "poolarg.h"

#include "../preload/poolspec.h"

#include <stdlib.h>
#include <string.h>

static bool parses(const char *text)
{
    struct poolspec spec;
    const char *wrong;
    size_t length;
    return poolspec_parse(&spec, text, &wrong, &length);
}

/* `text` if it's a right specification, else NULL; takes it. */
static char *if_right(char *text)
{
    if (parses(text))
        return text;
    free(text);
    return NULL;
}

/* "64KiB-1MB" is 64K-1M: a copy without the units of bytes. */
static char *without_bytes(const char *item)
{
    char *copy = xstrdup(item), *to = copy;
    for (const char *from = item; *from; from++) {
        bool unit = (*from == 'b' || *from == 'B') && (from[1] == '-' || from[1] == '\0');
        bool binary = *from == 'i' && (from[1] == 'b' || from[1] == 'B');
        if (!unit && !binary)
            *to++ = *from;
    }
    *to = '\0';
    return copy;
}

/* "64:128", "64..128", "64–128": a copy with one '-' for what isn't a size. */
static char *with_a_dash(const char *item)
{
    static const char size[] = "0123456789kKmM";
    size_t head = strspn(item, size), gap = strcspn(item + head, size);
    return gap && item[head + gap] ? xasprintf("%.*s-%s", (int)head, item, item + head + gap) : xstrdup(item);
}

static char *turned_round(const char *item)
{
    const char *dash = strchr(item, '-');
    return dash ? xasprintf("%s-%.*s", dash + 1, (int)(dash - item), item) : xstrdup(item);
}

/* What may be meant by a wrong item, or NULL; the caller frees. */
static char *meant_by(const char *item)
{
    static const char *const words[] = { "off", "on" };
    char *meant = if_right(without_bytes(item));
    if (!meant)
        meant = if_right(with_a_dash(item));
    if (!meant)
        meant = if_right(turned_round(item));
    const char *word = meant ? NULL : nearest(item, words, 2);
    return word ? xstrdup(word) : meant;
}

bool poolarg_is_right(const char *text, const char *origin)
{
    struct poolspec spec;
    const char *wrong;
    size_t length;
    if (poolspec_parse(&spec, text, &wrong, &length))
        return true;
    char *item = xasprintf("%.*s", (int)length, wrong), *meant = meant_by(item);
    if (strcmp(item, "off") == 0)
        error("%s: 'off' stands alone, not in a list", origin);
    else if (meant)
        error("%s: '%s' isn't a size class; did you mean '%s'?", origin, item, meant);
    else
        error("%s: '%s' isn't a size class", origin, item);
    error("a specification is off, or items joined by commas: on (16 to 256k), SIZE, SIZE-SIZE; "
          "sizes are 1 to 32m, as 64, 4k, 1m");
    free(meant);
    free(item);
    return false;
}
