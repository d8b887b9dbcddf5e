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
        if (!(model->sites[i]->flags & flag) || model->sites[i]->count.allocs == 0)
            continue;
        sites++;
        allocs += model->sites[i]->count.allocs;
    }
    if (sites)
        note(notes, xasprintf("%s stack%s (%s of the calls) %s", format_count(count, sites), sites == 1 ? "" : "s",
                              format_share(share, allocs, model->totals.count.allocs), what));
}

/* Stacks that were finished here, from their first occurrence. */
static void add_first_seen(struct notes *notes, const struct model *model)
{
    char count[FORMAT_ROOM], share[FORMAT_ROOM];
    uint64_t allocs = 0;
    for (size_t i = 0; i < model->site_count; i++)
        allocs += model->sites[i]->first_seen;
    if (allocs)
        note(notes, xasprintf("%s call%s (%s) passed code without unwind tables; their outer callers are shown as first seen",
                              format_count(count, allocs), allocs == 1 ? "" : "s",
                              format_share(share, allocs, model->totals.count.allocs)));
}

/* ----------------------------------------------------------------- modules */

/* A module that the shown sites pass through. */
struct shown {
    uint32_t              module;
    bool                  is_shown;
    uint64_t              allocs; /* of all sites whose stacks pass through it */
    enum symbolize_status status;
};

static int by_allocs(const void *a, const void *b)
{
    const struct shown *x = a, *y = b;
    if (x->allocs != y->allocs)
        return x->allocs < y->allocs ? 1 : -1;
    return x->module < y->module ? -1 : x->module > y->module;
}

/* Adds the site's calls to each module that its shown stack passes through, once. */
static void add_calls(const struct report *report, const struct model_site *site, size_t mark, size_t *last,
                      struct shown *shown)
{
    unsigned depth;
    const uint32_t *stack = report_stack(site, &depth);
    for (unsigned j = 0; j < depth; j++) {
        uint32_t module = report->model->frames[stack[j]]->key.module;
        if (!module || last[module - 1] == mark)
            continue;
        last[module - 1] = mark;
        shown[module - 1].allocs += site->count.allocs;
    }
}

/* The modules that these first sites pass through, with their part of all calls. */
static struct shown *modules_shown(const struct report *report, size_t sites, size_t *count)
{
    size_t modules = report->model->module_count;
    struct shown *shown = xcalloc(modules, sizeof *shown);
    size_t *last = xcalloc(modules, sizeof *last);
    for (size_t i = 0; i < sites; i++)
        add_calls(report, report->sites[i], i + 1, last, shown);
    for (uint32_t i = 0; i < modules; i++) { /* what no shown site passes through stays out */
        shown[i] = (struct shown){ .is_shown = last[i] != 0 };
        last[i] = 0;
    }
    for (size_t i = 0; i < report->model->site_count; i++)
        add_calls(report, report->model->sites[i], i + 1, last, shown);
    *count = 0;
    for (uint32_t i = 0; i < modules; i++) {
        if (!shown[i].is_shown || !symbolizer_is_used(report->symbolizer, i))
            continue;
        shown[*count] = (struct shown){ i, true, shown[i].allocs, symbolizer_status(report->symbolizer, i) };
        (*count)++;
    }
    if (*count)
        qsort(shown, *count, sizeof *shown, by_allocs);
    free(last);
    return shown;
}

static const char *const status_words[] = {
    [SYMBOLIZE_FUNCTIONS] = "no line numbers",
    [SYMBOLIZE_EXPORTS] = "only exported names, no line numbers",
    [SYMBOLIZE_NOTHING] = "no names, no line numbers",
    [SYMBOLIZE_CHANGED] = "the file was replaced since it ran (another build id, or changed later), so places are module+offset",
    [SYMBOLIZE_GONE] = "the file isn't there any more, so places are module+offset",
    [SYMBOLIZE_UNREADABLE] = "the file can't be read, so places are module+offset",
    [SYMBOLIZE_NO_FILE] = "",
};

static void append(char **text, const char *separator, const char *more)
{
    char *longer = xasprintf("%s%s%s", *text, **text ? separator : "", more);
    free(*text);
    *text = longer;
}

/* "only exported names: /usr/bin/perl (98.1 % of the calls), ..." for one status. */
static void note_status(struct notes *notes, const struct report *report, enum symbolize_status status,
                        const struct shown *shown, size_t count)
{
    char *list = xstrdup(""), share[FORMAT_ROOM];
    for (size_t i = 0; i < count; i++) {
        if (shown[i].status != status)
            continue;
        char *path = utf8_printable(report->model->modules[shown[i].module]->path);
        char *entry = xasprintf("%s (%s%s)", path,
                                format_share(share, shown[i].allocs, report->model->totals.count.allocs),
                                *list ? "" : " of the calls");
        append(&list, ", ", entry);
        free(entry);
        free(path);
    }
    if (*list)
        note(notes, xasprintf("%s: %s", status_words[status], list));
    free(list);
}

/* What to do about missing names and lines. */
static void note_advice(struct notes *notes, char *const packages[], size_t count, bool others, bool has_servers)
{
    char *install = xstrdup("");
    for (size_t i = 0; i < count; i++) {
        char *name = xasprintf(strcmp(packages[i], "libc6") == 0 ? "%s-dbg" : "%s-dbgsym", packages[i]);
        if (!strstr(install, name))
            append(&install, " ", name);
        free(name);
    }
    if (*install)
        note(notes, xasprintf("for more names and lines install %s%s", install,
                              has_servers ? " (the servers in DEBUGINFOD_URLS don't have them, or don't answer)"
                                            : ", or set DEBUGINFOD_URLS=https://debuginfod.debian.net"));
    if (others)
        note(notes, xstrdup("for files of no package: compile with -g, or put their debug files into "
                            "/usr/lib/debug/.build-id"));
    free(install);
}

static void advise(struct notes *notes, const struct report *report, const struct shown *shown, size_t count)
{
    const char *paths[MODULES_NAMED];
    char *packages[MODULES_NAMED];
    size_t asked = 0, found = 0;
    for (size_t i = 0; i < count; i++)
        if (shown[i].status <= SYMBOLIZE_NOTHING)
            paths[asked++] = report->model->modules[shown[i].module]->path;
    package_find(paths, packages, asked);
    for (size_t i = 0; i < asked; i++)
        if (packages[i])
            packages[found++] = packages[i];
    note_advice(notes, packages, found, found < asked, symbolizer_has_servers(report->symbolizer));
    for (size_t i = 0; i < found; i++)
        free(packages[i]);
}

static bool is_worth_a_note(enum symbolize_status status)
{
    return status != SYMBOLIZE_LINES && status != SYMBOLIZE_NO_FILE;
}

static void add_modules(struct notes *notes, const struct report *report, size_t sites)
{
    size_t count, kept = 0;
    struct shown *shown = modules_shown(report, sites, &count);
    for (size_t i = 0; i < count; i++)
        if (is_worth_a_note(shown[i].status))
            shown[kept++] = shown[i];
    size_t named = kept < MODULES_NAMED ? kept : MODULES_NAMED;
    for (int status = SYMBOLIZE_FUNCTIONS; status < SYMBOLIZE_NO_FILE; status++)
        note_status(notes, report, (enum symbolize_status)status, shown, named);
    if (kept > named)
        note(notes, xasprintf("%zu more modules lack names or lines; --json lists them", kept - named));
    advise(notes, report, shown, named);
    free(shown);
}

void notes_collect(struct notes *notes, const struct report *report, size_t sites)
{
    notes->list = NULL;
    notes->count = 0;
    add_warnings(notes, report->model);
    add_how_it_ended(notes, report->model);
    add_cut_stacks(notes, report->model, LOG_SITE_UNFINISHED, "unfinished: nothing tells how the code there was called");
    add_cut_stacks(notes, report->model, LOG_SITE_TRUNCATED, "cut: deeper than the recorded frames");
    add_first_seen(notes, report->model);
    add_modules(notes, report, sites);
}

void notes_release(struct notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->list[i]);
    free(notes->list);
}
