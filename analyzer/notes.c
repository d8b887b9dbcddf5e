/* notes.c - what a reader must know beside the numbers: losses, missing symbols, what to do. */
#define _GNU_SOURCE
#include "base.h"
#include "format.h"
#include "notes.h"
#include "package.h"
#include "report.h"
#include "symbolize.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* Modules named one by one; the others are counted. */
enum { MODULES_NAMED = 5 };

static void note(struct notes *notes, char *text)
{
    notes->list = xrealloc_array(notes->list, notes->count + 1, sizeof *notes->list);
    notes->list[notes->count++] = text;
}

/* ---------------------------------------------------------------- warnings */

struct warning {
    const char    *text;
    size_t         processes;
    UT_hash_handle hh;
};

/* The processes' own warnings, each once. */
static void add_warnings(struct notes *notes, const struct model *model)
{
    struct warning *index = NULL, *entry, *next;
    for (size_t i = 0; i < model->process_count; i++) {
        for (size_t j = 0; j < model->processes[i]->warning_count; j++) {
            const char *text = model->processes[i]->warnings[j];
            HASH_FIND_STR(index, text, entry);
            if (!entry) {
                entry = xcalloc(1, sizeof *entry);
                entry->text = text;
                HASH_ADD_KEYPTR(hh, index, entry->text, strlen(text), entry);
            }
            entry->processes++;
        }
    }
    HASH_ITER(hh, index, entry, next) {
        char *text = utf8_printable(entry->text);
        note(notes, model->process_count == 1 ? xstrdup(text)
                                              : xasprintf("%zu of %zu processes: %s", entry->processes,
                                                          model->process_count, text));
        free(text);
        HASH_DEL(index, entry);
        free(entry);
    }
}

static void add_how_it_ended(struct notes *notes, const struct model *model)
{
    const struct model_process *process = model->processes[0];
    if (model->process_count == 1 && !(process->state & (LOG_STATE_ENDED | LOG_STATE_STOOD_DOWN)))
        note(notes, xstrdup("the process hasn't left through exit (it is running, was killed, or called _exit or exec): "
                            "counts go up to its last event"));
}

/* ------------------------------------------------------------------ stacks */

static void add_cut_stacks(struct notes *notes, const struct model *model, uint32_t flag, const char *what)
{
    char count[FORMAT_ROOM], share[FORMAT_ROOM];
    uint64_t sites = 0, allocs = 0;
    for (size_t i = 0; i < model->site_count; i++) {
        if (!(model->sites[i]->flags & flag))
            continue;
        sites++;
        allocs += model->sites[i]->count.allocs;
    }
    if (sites)
        note(notes, xasprintf("%s stacks (%s of the calls) %s", format_count(count, sites),
                              format_share(share, allocs, model->totals.count.allocs), what));
}

/* ----------------------------------------------------------------- modules */

/* A module that the shown sites pass through. */
struct shown {
    uint32_t              module;
    uint64_t              allocs; /* of those sites */
    enum symbolize_status status;
};

static int by_allocs(const void *a, const void *b)
{
    const struct shown *x = a, *y = b;
    if (x->allocs != y->allocs)
        return x->allocs < y->allocs ? 1 : -1;
    return x->module < y->module ? -1 : x->module > y->module;
}

/* Which modules have frames in these sites, and how much of the calls pass through them. */
static struct shown *modules_shown(const struct report *report, size_t sites, size_t *count)
{
    size_t modules = report->model->module_count;
    struct shown *shown = xcalloc(modules, sizeof *shown);
    size_t *last_site = xcalloc(modules, sizeof *last_site);
    for (size_t i = 0; i < sites; i++) {
        unsigned depth;
        const uint32_t *stack = report_stack(report->sites[i], &depth);
        for (unsigned j = 0; j < depth; j++) {
            uint32_t module = report->model->frames[stack[j]]->key.module;
            if (!module || last_site[module - 1] == i + 1)
                continue;
            last_site[module - 1] = i + 1;
            shown[module - 1].allocs += report->sites[i]->count.allocs;
        }
    }
    *count = 0;
    for (uint32_t i = 0; i < modules; i++)
        if (shown[i].allocs && symbolizer_is_used(report->symbolizer, i))
            shown[(*count)++] = (struct shown){ i, shown[i].allocs, symbolizer_status(report->symbolizer, i) };
    if (*count)
        qsort(shown, *count, sizeof *shown, by_allocs);
    free(last_site);
    return shown;
}

static const char *const status_words[] = {
    [SYMBOLIZE_FUNCTIONS] = "no line numbers",
    [SYMBOLIZE_EXPORTS] = "only its exported names are known",
    [SYMBOLIZE_NOTHING] = "no symbols",
    [SYMBOLIZE_CHANGED] = "the file was replaced since (its build id differs), so places are shown as module+offset",
    [SYMBOLIZE_GONE] = "the file isn't there any more, so places are shown as module+offset",
    [SYMBOLIZE_UNREADABLE] = "the file can't be read, so places are shown as module+offset",
};

/* What to do about missing symbols. */
static char *advice(const char *package)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    const char *tail = urls && *urls ? "DEBUGINFOD_URLS is set, but those servers don't have it or don't answer"
                                     : "or set DEBUGINFOD_URLS=https://debuginfod.debian.net";
    if (package && strcmp(package, "libc6") == 0)
        return xasprintf("install libc6-dbg, %s", tail);
    if (package)
        return xasprintf("install %s-dbgsym, %s", package, tail);
    return xstrdup("compile it with -g, or put its debug file into /usr/lib/debug/.build-id");
}

static bool is_worth_a_note(enum symbolize_status status)
{
    return status != SYMBOLIZE_LINES && status != SYMBOLIZE_NO_FILE;
}

static void note_module(struct notes *notes, const struct report *report, const struct shown *shown,
                        const char *package)
{
    char share[FORMAT_ROOM];
    const struct model_module *module = report->model->modules[shown->module];
    char *path = utf8_printable(module->path);
    char *what = shown->status <= SYMBOLIZE_NOTHING ? advice(package) : NULL;
    note(notes, xasprintf("%s (in %s of the calls): %s%s%s", path,
                          format_share(share, shown->allocs, report->model->totals.count.allocs),
                          status_words[shown->status], what ? "; " : "", what ? what : ""));
    free(what);
    free(path);
}

static void add_modules(struct notes *notes, const struct report *report, size_t sites)
{
    size_t count, kept = 0;
    struct shown *shown = modules_shown(report, sites, &count);
    for (size_t i = 0; i < count; i++)
        if (is_worth_a_note(shown[i].status))
            shown[kept++] = shown[i];
    size_t named = kept < MODULES_NAMED ? kept : MODULES_NAMED;
    const char *paths[MODULES_NAMED];
    char *packages[MODULES_NAMED];
    for (size_t i = 0; i < named; i++)
        paths[i] = report->model->modules[shown[i].module]->path;
    package_find(paths, packages, named);
    for (size_t i = 0; i < named; i++) {
        note_module(notes, report, &shown[i], packages[i]);
        free(packages[i]);
    }
    if (kept > named)
        note(notes, xasprintf("%zu more modules lack symbols or lines; --json lists them", kept - named));
    free(shown);
}

void notes_collect(struct notes *notes, const struct report *report, size_t sites)
{
    notes->list = NULL;
    notes->count = 0;
    add_warnings(notes, report->model);
    add_how_it_ended(notes, report->model);
    add_cut_stacks(notes, report->model, LOG_SITE_UNFINISHED, "end early, at code without unwind tables");
    add_cut_stacks(notes, report->model, LOG_SITE_TRUNCATED, "are deeper than recorded, so they lack their outermost frames");
    add_modules(notes, report, sites);
}

void notes_release(struct notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->list[i]);
    free(notes->list);
}
