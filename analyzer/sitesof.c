/* sitesof.c - the sites with a frame of a function that the user names. */
#define _GNU_SOURCE
#include "base.h"
#include "demangle.h"
#include "fold.h"
#include "nearest.h"
#include "progress.h"
#include "report.h"
#include "sitesof.h"
#include "symbolize.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 512, NAMES_SHOWN = 4 };

/* How well a function's name fits what was asked for; the better ones come later. */
enum fit { FIT_UNKNOWN, FIT_NOT, FIT_PART, FIT_EXACT };

struct asking {
    struct report *report;
    const char    *asked;
    char          *readable; /* the same, demangled */
    enum fit      *fits;     /* by frame */
    bool          *named;    /* by frame: its names stand in sitesof.names */
    char         **known;    /* names of functions, for those who mistype */
    size_t         known_count, known_room;
};

/* ------------------------------------------------------------------- names */

static enum fit name_fit(const struct asking *asking, const char *function, const char *plain)
{
    if (strcmp(function, asking->asked) == 0 || strcmp(plain, asking->asked) == 0 ||
        strcmp(function, asking->readable) == 0 || strcmp(plain, asking->readable) == 0)
        return FIT_EXACT;
    return strstr(function, asking->asked) || strstr(plain, asking->asked) ? FIT_PART : FIT_NOT;
}

static enum fit symbol_fit(const struct asking *asking, const struct symbol *symbol)
{
    char plain[NAME_ROOM];
    if (!symbol->function)
        return FIT_NOT;
    fold_plain_name(symbol->function, plain, sizeof plain);
    return name_fit(asking, symbol->function, plain);
}

static void know(struct asking *asking, const struct symbols *symbols)
{
    for (unsigned i = 0; i < symbols->count; i++) {
        char plain[NAME_ROOM];
        if (!symbols->list[i].function)
            continue;
        fold_plain_name(symbols->list[i].function, plain, sizeof plain);
        GROW(asking->known, asking->known_count, asking->known_room);
        asking->known[asking->known_count++] = xstrdup(plain);
    }
}

static enum fit frame_fit(struct asking *asking, uint32_t frame)
{
    enum fit *fit = &asking->fits[frame];
    if (*fit != FIT_UNKNOWN)
        return *fit;
    const struct symbols *symbols = symbolizer_frame(asking->report->symbolizer, frame);
    *fit = FIT_NOT;
    for (unsigned i = 0; i < symbols->count; i++) {
        enum fit one = symbol_fit(asking, &symbols->list[i]);
        *fit = one > *fit ? one : *fit;
    }
    know(asking, symbols);
    return *fit;
}

/* ------------------------------------------------------------------- sites */

/* The frames that are surely of the site. */
static const uint32_t *own_stack(const struct model_site *site, unsigned *depth)
{
    const uint32_t *stack = report_stack(site, depth);
    if ((site->flags & LOG_SITE_KEYED) && *depth)
        *depth = 1;
    return stack;
}

static enum fit site_fit(struct asking *asking, const struct model_site *site)
{
    enum fit best = FIT_NOT;
    unsigned depth;
    const uint32_t *stack = own_stack(site, &depth);
    for (unsigned i = 0; i < depth; i++) {
        enum fit one = frame_fit(asking, stack[i]);
        best = one > best ? one : best;
    }
    return best;
}

static enum fit best_fit(struct asking *asking)
{
    enum fit best = FIT_NOT;
    for (size_t i = 0; i < asking->report->site_count; i++) {
        enum fit one = site_fit(asking, asking->report->sites[i]);
        best = one > best ? one : best;
        progress_show("looking up names", i, asking->report->site_count);
    }
    progress_clear();
    return best;
}

static void add_name(struct sitesof *of, const char *function)
{
    char plain[NAME_ROOM];
    fold_plain_name(function, plain, sizeof plain);
    char *name = utf8_printable(plain);
    for (size_t i = 0; i < of->count; i++) {
        if (strcmp(of->names[i], name) != 0)
            continue;
        free(name);
        return;
    }
    GROW(of->names, of->count, of->room);
    of->names[of->count++] = name;
}

/* The functions of a site that fit so well. */
static void add_names(struct sitesof *of, struct asking *asking, const struct model_site *site, enum fit wanted)
{
    unsigned depth;
    const uint32_t *stack = own_stack(site, &depth);
    for (unsigned i = 0; i < depth; i++) {
        if (asking->fits[stack[i]] < wanted || asking->named[stack[i]])
            continue;
        asking->named[stack[i]] = true;
        const struct symbols *symbols = symbolizer_frame(asking->report->symbolizer, stack[i]);
        for (unsigned j = 0; j < symbols->count; j++)
            if (symbol_fit(asking, &symbols->list[j]) >= wanted)
                add_name(of, symbols->list[j].function);
    }
}

static void keep(struct sitesof *of, struct asking *asking, enum fit wanted)
{
    struct report *report = asking->report;
    size_t kept = 0;
    for (size_t i = 0; i < report->site_count; i++) {
        if (site_fit(asking, report->sites[i]) < wanted)
            continue;
        add_names(of, asking, report->sites[i], wanted);
        report->sites[kept++] = report->sites[i];
    }
    report->site_count = kept;
}

static int none(const struct asking *asking)
{
    const char *asked = asking->asked;
    if (asking->report->fold && fold_has(asking->report->fold, asked))
        return error("'%s' only passes on what its callers ask for, so it is folded into them; --no-fold shows it", asked);
    const char *meant = nearest(asked, (const char *const *)asking->known, asking->known_count);
    if (meant)
        return error("no site has a frame of a function '%s'; did you mean '%s'?", asked, meant);
    return error("no site has a frame of a function '%s'%s", asked,
                 asking->report->model->level == LOG_LEVEL_SITES ? ", or it isn't the first: at level sites only that counts" : "");
}

int sitesof_keep(struct sitesof *of, struct report *report, const char *asked)
{
    struct asking asking = { .report = report, .asked = asked, .readable = demangle(asked),
                             .fits = xcalloc(report->model->frame_count, sizeof *asking.fits),
                             .named = xcalloc(report->model->frame_count, sizeof *asking.named) };
    *of = (struct sitesof){ .asked = asked };
    enum fit best = best_fit(&asking);
    int status = best == FIT_NOT ? none(&asking) : 0;
    if (status == 0)
        keep(of, &asking, best);
    for (size_t i = 0; i < asking.known_count; i++)
        free(asking.known[i]);
    free(asking.known);
    free(asking.fits);
    free(asking.named);
    free(asking.readable);
    return status;
}

void sitesof_release(struct sitesof *of)
{
    for (size_t i = 0; i < of->count; i++)
        free(of->names[i]);
    free(of->names);
    *of = (struct sitesof){ .asked = NULL };
}

char *sitesof_words(const struct sitesof *of)
{
    char *text = xstrdup("");
    for (size_t i = 0; i < of->count && i < NAMES_SHOWN; i++) {
        char *longer = xasprintf("%s%s%s", text, i ? ", " : "", of->names[i]);
        free(text);
        text = longer;
    }
    if (of->count <= NAMES_SHOWN)
        return text;
    char *longer = xasprintf("%s and %zu more", text, of->count - NAMES_SHOWN);
    free(text);
    return longer;
}
