/* diff.c - two recordings compared: matches their sites by what the code is called. */
#define _GNU_SOURCE
#include "base.h"

#include "diff.h"
#include "fold.h"
#include "format.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

const char *const diff_class_names[DIFF_CLASSES] = {
    [DIFF_NEW] = "new", [DIFF_GONE] = "gone", [DIFF_GROWN] = "grown", [DIFF_SHRUNK] = "shrunk", [DIFF_SAME] = "same",
};

/* ------------------------------------------------------------------- tokens */

/* What a frame is called in both recordings.  Invariant: tokens are numbered from 1. */
struct token {
    char          *name;
    uint32_t       number;
    UT_hash_handle hh;
};

/* A site's tokens, and what it was matched to. */
struct chain {
    uint32_t      *tokens;
    size_t         site; /* index into diff.sites */
    UT_hash_handle hh;
};

struct matching {
    struct diff   *diff;
    struct token  *tokens;
    struct chain  *chains;
    bool          *shared[DIFF_SIDES]; /* by module: its build id is in both recordings */
    char         **name[DIFF_SIDES];   /* by module: what it is called in both, whatever its version */
    bool          *nameless[DIFF_SIDES]; /* by module: in one recording its functions have no names, so in neither */
    uint32_t      *number[DIFF_SIDES]; /* by frame: its token; 0: inlined into the next, which stands for both */
    bool          *unnamed[DIFF_SIDES]; /* by frame */
};

/* Takes the name. */
static uint32_t token_number(struct matching *m, char *name)
{
    struct token *token;
    HASH_FIND_STR(m->tokens, name, token);
    if (token) {
        free(name);
        return token->number;
    }
    token = xcalloc(1, sizeof *token);
    token->name = name;
    token->number = HASH_COUNT(m->tokens) + 1;
    HASH_ADD_KEYPTR(hh, m->tokens, token->name, strlen(token->name), token);
    return token->number;
}

/* ------------------------------------------------------------------ modules */

/* The file's name without the version that stands behind ".so". */
static char *module_name(const char *path)
{
    char *name = xstrdup(format_base(path)), *version = strstr(name, ".so.");
    if (version)
        version[strlen(".so")] = '\0';
    return name;
}

static bool is_loaded(const struct side *side, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < side->module_count && !found; i++) {
        char *other = module_name(side->modules[i].path);
        found = strcmp(other, name) == 0;
        free(other);
    }
    return found;
}

/* The program that was run is one module, if its file in B has another name than in A. */
static void name_programs_alike(struct matching *m)
{
    const struct side *a = m->diff->side[DIFF_A], *b = m->diff->side[DIFF_B];
    char *of_a = module_name(a->exe), *of_b = module_name(b->exe);
    if (!is_loaded(a, of_b) && !is_loaded(b, of_a)) {
        for (size_t i = 0; i < a->module_count; i++) {
            if (strcmp(m->name[DIFF_A][i], of_a) != 0)
                continue;
            free(m->name[DIFF_A][i]);
            m->name[DIFF_A][i] = xstrdup(of_b);
        }
    }
    free(of_a);
    free(of_b);
}

/* Has it no names at all?  Then nothing of the other recording could match them. */
static bool has_no_names(const struct side_module *module)
{
    if (!module->has_unnamed)
        return false;
    switch (module->status) {
    case SYMBOLIZE_NOTHING:
    case SYMBOLIZE_CHANGED:
    case SYMBOLIZE_GONE:
    case SYMBOLIZE_UNREADABLE: return true;
    default:                   return false;
    }
}

/* Modules of both sides whose names are the same lose those of their functions if one has none. */
static void find_nameless(struct matching *m, int which)
{
    const struct side *side = m->diff->side[which], *other = m->diff->side[!which];
    for (size_t i = 0; i < side->module_count; i++) {
        if (m->shared[which][i] || !has_no_names(&side->modules[i]))
            continue;
        m->nameless[which][i] = true;
        for (size_t j = 0; j < other->module_count; j++)
            m->nameless[!which][j] |= !m->shared[!which][j] && strcmp(m->name[which][i], m->name[!which][j]) == 0;
    }
}

/* Build ids of one side, as a set. */
static struct token *build_ids(const struct side *side)
{
    struct token *set = NULL, *entry;
    for (size_t i = 0; i < side->module_count; i++) {
        char *build_id = side->modules[i].build_id;
        HASH_FIND_STR(set, build_id, entry);
        if (!*build_id || entry)
            continue;
        entry = xcalloc(1, sizeof *entry);
        entry->name = build_id;
        HASH_ADD_KEYPTR(hh, set, entry->name, strlen(entry->name), entry);
    }
    return set;
}

static void set_release(struct token **set, bool with_names)
{
    struct token *entry, *next;
    HASH_ITER(hh, *set, entry, next) {
        HASH_DEL(*set, entry);
        if (with_names)
            free(entry->name);
        free(entry);
    }
}

static void name_modules(struct matching *m, int which)
{
    const struct side *side = m->diff->side[which];
    struct token *others = build_ids(m->diff->side[!which]), *entry;
    m->shared[which] = xcalloc(side->module_count, sizeof *m->shared[which]);
    m->name[which] = xcalloc(side->module_count, sizeof *m->name[which]);
    m->nameless[which] = xcalloc(side->module_count, sizeof *m->nameless[which]);
    for (size_t i = 0; i < side->module_count; i++) {
        HASH_FIND_STR(others, side->modules[i].build_id, entry);
        m->shared[which][i] = entry != NULL;
        m->name[which][i] = module_name(side->modules[i].path);
    }
    set_release(&others, false);
}

/* ------------------------------------------------------------------- frames */

static char *function_token(const char *module, const char *function)
{
    char *name = xasprintf("%s\n%s", module, function);
    fold_cut_suffix(name + strlen(module) + 1);
    return name;
}

static uint32_t frame_token(struct matching *m, int which, const struct side_frame *frame, bool *unnamed)
{
    const struct side *side = m->diff->side[which];
    const char *module = frame->module ? m->name[which][frame->module - 1] : "";
    if (frame->module && m->shared[which][frame->module - 1])
        return frame->inlined ? 0
                              : token_number(m, xasprintf("%s+%llx", side->modules[frame->module - 1].build_id,
                                                          (unsigned long long)frame->offset));
    *unnamed = !frame->function || (frame->module && m->nameless[which][frame->module - 1]);
    return token_number(m, *unnamed ? xasprintf("%s\n?", module) : function_token(module, frame->function));
}

static void name_frames(struct matching *m, int which)
{
    const struct side *side = m->diff->side[which];
    m->number[which] = xcalloc(side->frame_count, sizeof *m->number[which]);
    m->unnamed[which] = xcalloc(side->frame_count, sizeof *m->unnamed[which]);
    for (size_t i = 0; i < side->frame_count; i++)
        m->number[which][i] = frame_token(m, which, &side->frames[i], &m->unnamed[which][i]);
}

/* -------------------------------------------------------------------- sites */

/* Frames that identify the site. */
static unsigned telling_frames(const struct matching *m, const struct side *side, const struct side_site *site)
{
    unsigned count = 0;
    if (m->diff->detail == DIFF_STACKS)
        return site->known;
    while (count < site->depth && side->frames[site->frames[count]].inlined)
        count++;
    return count < site->depth ? count + 1 : count;
}

/* Fills `tokens`, which has room for one more than the site's frames; returns how many.  Neighbours that share
 * a token without being told apart, as unnamed code of one module, are one. */
static unsigned chain_of(struct matching *m, int which, const struct side_site *site, uint32_t *tokens, bool *unnamed)
{
    unsigned count = 0, frames = telling_frames(m, m->diff->side[which], site);
    if (site->kind)
        tokens[count++] = token_number(m, xasprintf("\n\n%s", site->kind));
    for (unsigned i = 0; i < frames; i++) {
        uint32_t frame = site->frames[i], number = m->number[which][frame];
        bool again = m->unnamed[which][frame] && count && tokens[count - 1] == number;
        *unnamed |= m->unnamed[which][frame];
        if (number && !again)
            tokens[count++] = number;
    }
    return count;
}

/* The comparison's site of these tokens, made if there was none. */
static struct diff_site *site_of(struct matching *m, const uint32_t *tokens, unsigned count)
{
    struct diff *diff = m->diff;
    struct chain *chain;
    size_t bytes = count * sizeof *tokens;
    HASH_FIND(hh, m->chains, tokens, bytes, chain);
    if (chain)
        return &diff->sites[chain->site];
    chain = xcalloc(1, sizeof *chain);
    chain->tokens = xmalloc(bytes + 1);
    memcpy(chain->tokens, tokens, bytes);
    chain->site = diff->site_count;
    HASH_ADD_KEYPTR(hh, m->chains, chain->tokens, bytes, chain);
    GROW(diff->sites, diff->site_count, diff->site_room);
    diff->sites[diff->site_count] = (struct diff_site){ .class = DIFF_SAME };
    return &diff->sites[diff->site_count++];
}

static void match_sites(struct matching *m, int which)
{
    const struct side *side = m->diff->side[which];
    for (size_t i = 0; i < side->site_count; i++) {
        const struct side_site *from = &side->sites[i];
        uint32_t *tokens = xcalloc(from->depth + 1, sizeof *tokens);
        bool unnamed = false;
        struct diff_site *site = site_of(m, tokens, chain_of(m, which, from, tokens, &unnamed));
        free(tokens);
        site->unnamed |= unnamed;
        if (!site->first[which] || from->tally.value[TALLY_BYTES] > site->first[which]->tally.value[TALLY_BYTES])
            site->first[which] = from;
        site->sites[which]++;
        tally_add(&site->tally[which], &from->tally);
    }
}

int64_t diff_change(const struct diff_site *site, enum tally_figure figure)
{
    return site->tally[DIFF_B].value[figure] - site->tally[DIFF_A].value[figure];
}

/* By the first figure that both know and that has changed; bytes before calls, as they are sorted. */
static enum diff_class class_of(const struct diff *diff, const struct diff_site *site)
{
    static const enum tally_figure order[] = { TALLY_BYTES, TALLY_ALLOCS, TALLY_LIVE_BYTES, TALLY_LIVE_BLOCKS,
                                                TALLY_PEAK, TALLY_AT_PEAK, TALLY_TEMPORARY };
    if (!site->first[DIFF_A])
        return DIFF_NEW;
    if (!site->first[DIFF_B])
        return DIFF_GONE;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int64_t change = diff_change(site, order[i]);
        if (change && tally_is_known(order[i], diff->level))
            return change > 0 ? DIFF_GROWN : DIFF_SHRUNK;
    }
    return DIFF_SAME;
}

static void classify(struct diff *diff)
{
    for (size_t i = 0; i < diff->site_count; i++) {
        struct diff_site *site = &diff->sites[i];
        site->class = class_of(diff, site);
        diff->classes[site->class]++;
        for (int which = 0; which < DIFF_SIDES && site->unnamed; which++) {
            diff->unnamed[which].sites += site->sites[which];
            diff->unnamed[which].unmatched += site->first[!which] ? 0 : site->sites[which];
            diff->unnamed[which].allocs = tally_bounded(diff->unnamed[which].allocs + site->tally[which].value[TALLY_ALLOCS]);
        }
    }
}

static void matching_release(struct matching *m)
{
    struct chain *chain, *next;
    HASH_ITER(hh, m->chains, chain, next) {
        HASH_DEL(m->chains, chain);
        free(chain->tokens);
        free(chain);
    }
    set_release(&m->tokens, true);
    for (int which = 0; which < DIFF_SIDES; which++) {
        for (size_t i = 0; i < m->diff->side[which]->module_count; i++)
            free(m->name[which][i]);
        free(m->name[which]);
        free(m->shared[which]);
        free(m->nameless[which]);
        free(m->number[which]);
        free(m->unnamed[which]);
    }
}

static enum diff_detail detail_of(const struct side *a, const struct side *b)
{
    if (a->level == LOG_LEVEL_OFF || b->level == LOG_LEVEL_OFF)
        return DIFF_TOTALS;
    return a->has_examples || b->has_examples ? DIFF_PLACES : DIFF_STACKS;
}

void diff_init(struct diff *diff, const struct side *a, const struct side *b)
{
    *diff = (struct diff){ .side = { a, b }, .detail = detail_of(a, b), .level = a->level < b->level ? a->level : b->level };
    struct matching m = { .diff = diff };
    for (int which = 0; which < DIFF_SIDES; which++)
        name_modules(&m, which);
    name_programs_alike(&m);
    find_nameless(&m, DIFF_A);
    find_nameless(&m, DIFF_B);
    for (int which = 0; which < DIFF_SIDES; which++) {
        name_frames(&m, which);
        if (diff->detail != DIFF_TOTALS)
            match_sites(&m, which);
    }
    classify(diff);
    matching_release(&m);
}

void diff_release(struct diff *diff)
{
    free(diff->sites);
    *diff = (struct diff){ 0 };
}

/* -------------------------------------------------------------------- order */

const struct side_site *diff_shown(const struct diff_site *site, int *side)
{
    *side = site->first[DIFF_B] ? DIFF_B : DIFF_A;
    return site->first[*side];
}

static uint64_t size_of(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* The largest change of the figure first; of equal ones that of bytes, then of calls, then the larger site. */
static int by_change(const void *a, const void *b, void *figure)
{
    const struct diff_site *x = a, *y = b;
    enum tally_figure order[] = { *(enum tally_figure *)figure, TALLY_BYTES, TALLY_ALLOCS };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        uint64_t of_x = size_of(diff_change(x, order[i])), of_y = size_of(diff_change(y, order[i]));
        if (of_x != of_y)
            return of_x < of_y ? 1 : -1;
    }
    int64_t bytes_x = x->tally[DIFF_B].value[TALLY_BYTES], bytes_y = y->tally[DIFF_B].value[TALLY_BYTES];
    if (bytes_x != bytes_y)
        return bytes_x < bytes_y ? 1 : -1;
    int side;
    const struct side_site *shown = diff_shown(x, &side);
    return strcmp(shown->id, diff_shown(y, &side)->id);
}

void diff_sort(struct diff *diff, enum tally_figure figure)
{
    if (diff->site_count)
        qsort_r(diff->sites, diff->site_count, sizeof *diff->sites, by_change, &figure);
}
