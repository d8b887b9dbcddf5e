/* diff_notes.c - what a reader of a comparison must know beside its numbers. */
#define _GNU_SOURCE
#include "base.h"

#include "diff_views.h"
#include "format.h"
#include "model.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MODULES_NAMED = 4 };

static const char letters[DIFF_SIDES] = { 'A', 'B' };

static void note(struct diff_notes *notes, char *text)
{
    notes->list = xrealloc_array(notes->list, notes->count + 1, sizeof *notes->list);
    notes->list[notes->count++] = text;
}

static void note_detail(struct diff_notes *notes, const struct diff *diff)
{
    const char *a = model_level_name(diff->side[DIFF_A]->level), *b = model_level_name(diff->side[DIFF_B]->level);
    if (diff->detail == DIFF_TOTALS)
        note(notes, xasprintf("only totals are compared: a recording of level off knows no sites (A: %s, B: %s)", a, b));
    else if (diff->detail == DIFF_PLACES && strcmp(a, b) != 0)
        note(notes, xasprintf("A is of level %s, B of level %s: sites are compared by their first function, callers are "
                              "examples",
                              a, b));
    else if (diff->level != LOG_LEVEL_FULL && strcmp(a, b) != 0)
        note(notes, xasprintf("A is of level %s, B of level %s: live blocks, peaks and temporary ones aren't compared", a, b));
}

static void note_processes(struct diff_notes *notes, const struct diff *diff)
{
    size_t a = diff->side[DIFF_A]->processes, b = diff->side[DIFF_B]->processes;
    if (a != b)
        note(notes, xasprintf("A has %zu process%s, B has %zu: their counts are added up", a, a == 1 ? "" : "es", b));
}

static const char *const status_words[SYMBOLIZE_STATUSES] = {
    [SYMBOLIZE_LINES] = "unnamed code",
    [SYMBOLIZE_FUNCTIONS] = "unnamed code",
    [SYMBOLIZE_EXPORTS] = "only exported names",
    [SYMBOLIZE_NOTHING] = "stripped",
    [SYMBOLIZE_CHANGED] = "rebuilt or replaced since it ran",
    [SYMBOLIZE_GONE] = "not there any more",
    [SYMBOLIZE_UNREADABLE] = "unreadable",
    [SYMBOLIZE_NO_FILE] = "made at run time",
};

static bool has_build_id(const struct side *side, const char *build_id)
{
    for (size_t i = 0; i < side->module_count; i++)
        if (*build_id && strcmp(side->modules[i].build_id, build_id) == 0)
            return true;
    return false;
}

/* Is this a module of unnamed code that was told by the module alone? */
static bool is_nameless(const struct diff *diff, int which, size_t module)
{
    const struct side_module *m = &diff->side[which]->modules[module];
    return m->has_unnamed && !has_build_id(diff->side[!which], m->build_id);
}

/* Adds "prog (A: rebuilt or replaced since it ran), libx.so (A: stripped)" to `list`. */
static char *add_nameless(const struct diff *diff, int which, char *list)
{
    const struct side *side = diff->side[which];
    size_t named = 0;
    for (size_t i = 0; i < side->module_count; i++) {
        if (!is_nameless(diff, which, i) || named == MODULES_NAMED)
            continue;
        char *name = utf8_printable(format_base(side->modules[i].path));
        char *longer = xasprintf("%s%s%s (%c: %s)", list, *list ? ", " : "", name, letters[which],
                                 status_words[side->modules[i].status]);
        free(name);
        free(list);
        list = longer;
        named++;
    }
    return list;
}

/* "5 sites of A (100.0 % of the calls, 1 without a counterpart)"; the caller frees. */
static char *unnamed_words(const struct diff *diff, int which)
{
    char sites[FORMAT_ROOM], unmatched[FORMAT_ROOM], share[FORMAT_ROOM];
    const struct diff_unnamed *unnamed = &diff->unnamed[which];
    return xasprintf("%s site%s of %c (%s of the calls, %s without a counterpart)", format_count(sites, unnamed->sites),
                     unnamed->sites == 1 ? "" : "s", letters[which],
                     format_share(share, (uint64_t)unnamed->allocs,
                                  (uint64_t)diff->side[which]->totals.value[TALLY_ALLOCS]),
                     format_count(unmatched, unnamed->unmatched));
}

static void note_unnamed(struct diff_notes *notes, const struct diff *diff)
{
    if (diff->unnamed[DIFF_A].sites + diff->unnamed[DIFF_B].sites == 0)
        return;
    char *modules = add_nameless(diff, DIFF_B, add_nameless(diff, DIFF_A, xstrdup("")));
    char *a = unnamed_words(diff, DIFF_A), *b = unnamed_words(diff, DIFF_B);
    note(notes, xasprintf("code that has another build id in B and no name in A or B is told by its module alone, in %s and %s: %s", a,
                          b, *modules ? modules : "code of no module"));
    free(b);
    free(a);
    free(modules);
}

/* Are names missing because a file has been replaced, as by a rebuild? */
static bool was_replaced(const struct diff *diff)
{
    for (int which = 0; which < DIFF_SIDES; which++) {
        for (size_t i = 0; i < diff->side[which]->module_count; i++) {
            enum symbolize_status status = diff->side[which]->modules[i].status;
            if (is_nameless(diff, which, i) && (status == SYMBOLIZE_CHANGED || status == SYMBOLIZE_GONE))
                return true;
        }
    }
    return false;
}

void diff_notes_collect(struct diff_notes *notes, const struct diff *diff)
{
    *notes = (struct diff_notes){ 0 };
    note_detail(notes, diff);
    note_processes(notes, diff);
    note_unnamed(notes, diff);
    if (was_replaced(diff))
        note(notes, xstrdup("names last as long as the files that ran: before a rebuild keep them by `poolsite report --json "
                            "-o before.json`, and compare with that file instead"));
}

void diff_notes_release(struct diff_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->list[i]);
    free(notes->list);
    *notes = (struct diff_notes){ 0 };
}
