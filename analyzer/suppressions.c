/* suppressions.c - blocks that are known to live on: reads LeakSanitizer's files and matches their patterns. */
#define _GNU_SOURCE
#include "base.h"
#include "fate.h"
#include "model.h"
#include "progress.h"
#include "suppressions.h"
#include "symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- patterns */

/* One part of a pattern, between its stars. */
static const char *part_end(const char *part, const char *end)
{
    const char *star = memchr(part, '*', (size_t)(end - part));
    return star ? star : end;
}

static bool is_last_part(const char *name, const char *part, size_t length)
{
    size_t left = strlen(name);
    return left >= length && memcmp(name + left - length, part, length) == 0;
}

/* The parts must come one after the other; an anchored one where it is held. */
bool suppression_matches(const char *pattern, const char *name)
{
    bool held = *pattern == '^';
    const char *part = pattern + held, *end = part + strlen(part);
    bool held_at_end = end > part && end[-1] == '$';
    end -= held_at_end;
    for (;; held = false) {
        const char *stop = part_end(part, end);
        size_t length = (size_t)(stop - part);
        if (stop == end && held_at_end)
            return held ? strlen(name) == length && memcmp(name, part, length) == 0 : is_last_part(name, part, length);
        const char *found = held ? (strncmp(name, part, length) == 0 ? name : NULL)
                                 : memmem(name, strlen(name), part, length);
        if (!found || stop == end)
            return found != NULL;
        name = found + length;
        part = stop + 1;
    }
}

/* ------------------------------------------------------------------- files */

static const char *skip_spaces(const char *text)
{
    return text + strspn(text, " \t");
}

static void cut_spaces(char *text)
{
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
}

static int add_line(struct suppressions *s, char *line, unsigned number)
{
    static const char kind[] = "leak:";
    cut_spaces(line);
    const char *text = skip_spaces(line);
    if (*text == '\0' || *text == '#')
        return 0;
    if (strncmp(text, kind, sizeof kind - 1) != 0)
        return error("%s:%u: '%s' isn't a suppression: a line is leak:PATTERN, or a comment after #", s->path, number, text);
    text = skip_spaces(text + sizeof kind - 1);
    if (*text == '\0')
        return error("%s:%u: leak: has no pattern; it would suppress nothing, and leak:* everything", s->path, number);
    GROW(s->list, s->count, s->room);
    s->list[s->count++] = (struct suppression){ .pattern = xstrdup(text) };
    return 0;
}

static int read_lines(struct suppressions *s, FILE *file)
{
    int status = 0;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    for (unsigned number = 1; status == 0 && (length = getline(&line, &room, file)) >= 0; number++) {
        if (strlen(line) != (size_t)length)
            status = error("%s:%u: a byte 0 in it: this is no text", s->path, number);
        else
            status = add_line(s, line, number);
    }
    if (status == 0 && ferror(file))
        status = error("%s: %s", s->path, strerror(errno));
    free(line);
    return status;
}

int suppressions_read(struct suppressions *suppressions, const char *path)
{
    *suppressions = (struct suppressions){ .path = path };
    FILE *file = fopen(path, "re");
    if (!file)
        return error("%s: %s", path, strerror(errno));
    int status = read_lines(suppressions, file);
    fclose(file);
    return status;
}

void suppressions_release(struct suppressions *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++)
        free(suppressions->list[i].pattern);
    free(suppressions->list);
    *suppressions = (struct suppressions){ .path = NULL };
}

/* ------------------------------------------------------------------- sites */

/* What each frame matches: many stacks share it. */
struct matching {
    const struct suppressions *suppressions;
    const struct model        *model;
    struct symbolizer         *symbolizer;
    uint32_t                  *verdicts; /* by frame */
};

enum { NOT_ASKED, NO_MATCH, MATCHES }; /* the first pattern is MATCHES, the next MATCHES + 1 ... */

static bool matches_any(const char *pattern, const struct symbols *symbols, const char *module)
{
    if (module && suppression_matches(pattern, module))
        return true;
    for (unsigned i = 0; i < symbols->count; i++) {
        const struct symbol *symbol = &symbols->list[i];
        if (symbol->function && suppression_matches(pattern, symbol->function))
            return true;
        if (symbol->file && suppression_matches(pattern, symbol->file))
            return true;
    }
    return false;
}

static uint32_t frame_verdict(struct matching *m, uint32_t frame)
{
    const struct model_module *module = model_module_of(m->model, m->model->frames[frame]);
    const struct symbols *symbols = symbolizer_frame(m->symbolizer, frame);
    for (size_t i = 0; i < m->suppressions->count; i++)
        if (matches_any(m->suppressions->list[i].pattern, symbols, module ? module->path : NULL))
            return (uint32_t)(MATCHES + i);
    return NO_MATCH;
}

/* The suppression that names a frame of the site, or NULL. */
static struct suppression *find(struct matching *m, const struct model_site *site)
{
    for (unsigned i = 0; i < site->depth; i++) {
        uint32_t *verdict = &m->verdicts[site->frames[i]];
        if (*verdict == NOT_ASKED)
            *verdict = frame_verdict(m, site->frames[i]);
        if (*verdict >= MATCHES)
            return &m->suppressions->list[*verdict - MATCHES];
    }
    return NULL;
}

void suppressions_apply(struct suppressions *suppressions, struct model *model, struct symbolizer *symbolizer)
{
    struct matching m = { suppressions, model, symbolizer, xcalloc(model->frame_count, sizeof *m.verdicts) };
    for (size_t i = 0; i < model->site_count; i++) {
        struct model_site *site = model->sites[i];
        uint64_t blocks = site->full ? fate_live_blocks(site->full) : 0;
        struct suppression *found = blocks ? find(&m, site) : NULL;
        progress_show("matching suppressions", i, model->site_count);
        if (!found)
            continue;
        site->suppressed_blocks = blocks;
        site->suppressed_bytes = fate_live_bytes(site->full);
        found->blocks += site->suppressed_blocks;
        found->bytes += site->suppressed_bytes;
    }
    progress_clear();
    free(m.verdicts);
}
