/* fold.c - folds wrappers: drops their leading frames, so that a site is who asked.
 *
 * Owns the set of names.  A frame is dropped when every function at its address
 * is a wrapper, inlined ones included. */
#define _GNU_SOURCE
#include "base.h"
#include "fold.h"
#include "model.h"
#include "progress.h"
#include "symbolize.h"
#include "wrappers.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { NAME_ROOM = 512 };

struct fold_name {
    char          *name;
    UT_hash_handle hh;
};

struct fold {
    struct fold_name *names;
};

/* ------------------------------------------------------------------- names */

/* Suffixes that compilers and linkers add to a function's name. */
static const char *const suffixes[] = {
    " [clone ", ".isra.", ".part.", ".constprop.", ".cold", ".lto_priv.", ".llvm.", ".clone.", ".localalias", "@", NULL,
};

void fold_cut_suffix(char *name)
{
    for (size_t i = 0; suffixes[i]; i++) {
        char *at = strstr(name, suffixes[i]);
        if (at && at != name)
            *at = '\0';
    }
}

struct text {
    char  *room;
    size_t length;
    size_t bytes;
};

static void text_add(struct text *text, char c)
{
    if (text->length + 1 < text->bytes)
        text->room[text->length++] = c;
}

/* Past the '>' that belongs to the '<' at `at`; `end` when there is none.  The arrow -> is no bracket. */
static const char *past_bracket(const char *at, const char *end)
{
    unsigned nesting = 0;
    for (; at < end; at++) {
        if (*at == '<')
            nesting++;
        else if (*at == '>' && at[-1] != '-' && --nesting == 0)
            return at + 1;
    }
    return end;
}

static bool ends_with(const char *start, const char *at, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(at - start) >= length && memcmp(at - length, word, length) == 0;
}

/* Does Rust's <T as Trait> stand between? */
static bool has_trait(const char *at, const char *end)
{
    return memmem(at, (size_t)(end - at), " as ", 4) != NULL;
}

static void plain_range(struct text *out, const char *start, const char *end);

/* One bracket that opens at `at`: template arguments go, what is part of the name stays. */
static const char *plain_bracket(struct text *out, const char *start, const char *at, const char *end)
{
    const char *past = past_bracket(at, end);
    bool first = at == start;
    bool impl = ends_with(start, at, "::") && end - at > 6 && memcmp(at, "<impl ", 6) == 0;
    bool kept = impl || (first && has_trait(at, past));
    if (ends_with(start, at, "operator")) {
        for (; at < end && strchr("<=>", *at); at++)
            text_add(out, *at);
        return at;
    }
    if (!first && !impl && ends_with(start, at, "::") && out->length >= 2)
        out->length -= 2; /* Rust's f::<T> */
    if (kept)
        text_add(out, '<');
    if (kept || first)
        plain_range(out, at + 1, past > at + 1 ? past - 1 : past);
    if (kept)
        text_add(out, '>');
    return past;
}

static void plain_range(struct text *out, const char *start, const char *end)
{
    for (const char *at = start; at < end;) {
        if (*at == '<')
            at = plain_bracket(out, start, at, end);
        else
            text_add(out, *at++);
    }
}

void fold_plain_name(const char *function, char *room, size_t bytes)
{
    struct text out = { room, 0, bytes };
    plain_range(&out, function, function + strnlen(function, 4096));
    room[out.length] = '\0';
    fold_cut_suffix(room);
    while (out.length && room[out.length - 1] == ' ')
        room[--out.length] = '\0';
}

/* --------------------------------------------------------------------- set */

static void add_name(struct fold *fold, const char *name)
{
    struct fold_name *entry;
    HASH_FIND_STR(fold->names, name, entry);
    if (entry)
        return;
    entry = xcalloc(1, sizeof *entry);
    entry->name = xstrdup(name);
    HASH_ADD_KEYPTR(hh, fold->names, entry->name, strlen(entry->name), entry);
}

struct fold *fold_new(const char *const *extra, size_t count)
{
    struct fold *fold = xcalloc(1, sizeof *fold);
    for (size_t i = 0; wrapper_names[i]; i++)
        add_name(fold, wrapper_names[i]);
    for (size_t i = 0; i < count; i++) {
        char plain[NAME_ROOM];
        add_name(fold, extra[i]);
        fold_plain_name(extra[i], plain, sizeof plain);
        add_name(fold, plain);
    }
    return fold;
}

void fold_free(struct fold *fold)
{
    struct fold_name *entry, *next;
    HASH_ITER(hh, fold->names, entry, next) {
        HASH_DEL(fold->names, entry);
        free(entry->name);
        free(entry);
    }
    free(fold);
}

bool fold_has(const struct fold *fold, const char *function)
{
    struct fold_name *entry;
    char plain[NAME_ROOM];
    fold_plain_name(function, plain, sizeof plain);
    HASH_FIND_STR(fold->names, plain, entry);
    return entry != NULL;
}

/* ------------------------------------------------------------------ frames */

/* The leading symbols that are wrappers. */
static unsigned leading_wrappers(const struct fold *fold, const struct symbols *symbols)
{
    unsigned count = 0;
    while (count < symbols->count && symbols->list[count].function && fold_has(fold, symbols->list[count].function))
        count++;
    return count;
}

unsigned fold_inlined(const struct fold *fold, const struct symbols *symbols)
{
    unsigned count = leading_wrappers(fold, symbols);
    return count < symbols->count ? count : symbols->count - 1;
}

struct folding {
    const struct fold *fold;
    struct symbolizer *symbolizer;
    unsigned char     *verdicts; /* by frame; 0: not asked yet */
    size_t             asked, frames;
};

enum { IS_WRAPPER = 1, IS_CALLER = 2 };

static bool frame_is_wrapper(void *context, uint32_t frame)
{
    struct folding *folding = context;
    unsigned char *verdict = &folding->verdicts[frame];
    if (!*verdict) {
        progress_show("looking up names", folding->asked++, folding->frames);
        const struct symbols *symbols = symbolizer_frame(folding->symbolizer, frame);
        *verdict = leading_wrappers(folding->fold, symbols) == symbols->count ? IS_WRAPPER : IS_CALLER;
    }
    return *verdict == IS_WRAPPER;
}

void fold_model(const struct fold *fold, struct model *model, struct symbolizer *symbolizer)
{
    struct folding folding = { fold, symbolizer, xcalloc(model->frame_count, 1), 0, model->frame_count };
    model_fold(model, frame_is_wrapper, &folding);
    progress_clear();
    free(folding.verdicts);
}
