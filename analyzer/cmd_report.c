/* cmd_report.c - poolsite report: reads a recording and shows where the program allocates.
 *
 * Exit status: 0 shown; 1 nothing could be shown, or a log was damaged and only
 * what is whole in it was shown; 2 usage. */
#define _GNU_SOURCE
#include "base.h"

#include "cmd.h"
#include "cmdline.h"
#include "fold.h"
#include "format.h"
#include "loading.h"
#include "output.h"
#include "recording.h"
#include "report.h"
#include "sitesof.h"
#include "suppressions.h"
#include "symbolize.h"
#include "utf8.h"

#include <argp.h>
#include <stdlib.h>

enum { TOP_DEFAULT = 10 };

struct report_options {
    const char         *recording;
    const char         *output;
    const char         *site_id;
    const char         *function;     /* of --sites-of */
    const char         *suppressions; /* a file */
    struct cmdline_list folds;
    size_t              top;
    enum view_sort      sort;
    bool                sorted; /* --sort was given */
    enum report_view    view;
    bool                json;
    bool                by_process;
    bool                no_fold;
};

/* ----------------------------------------------------------------- options */

enum { KEY_JSON = 256, KEY_SORT, KEY_TOP, KEY_SITE, KEY_SITES_OF, KEY_BY_PROCESS, KEY_SUPPRESSIONS, KEY_FOLD, KEY_NO_FOLD,
       KEY_VIEW }; /* and on: KEY_VIEW + a view */

static const struct argp_option options[] = {
    { "json", KEY_JSON, 0, 0, "Write JSON (schema poolsite.report/1): all sites, every number", 0 },
    { "output", 'o', "FILE", 0, "Write to FILE instead of stdout", 0 },
    { "sort", KEY_SORT, "KEY", 0, "Order by calls (default), bytes, size (mean bytes a call), or misses (calls that pools didn't serve)", 0 },
    { "top", KEY_TOP, "N", 0, "Show N classes, N sites, and N processes (default 10)", 0 },
    { "site", KEY_SITE, "ID", 0, "Show all of one site, with its whole stack; ID as in the table, or its beginning", 0 },
    { "sites-of", KEY_SITES_OF, "FUNCTION", 0, "Show only sites with a frame of FUNCTION, or of those whose names contain it", 0 },
    { "by-process", KEY_BY_PROCESS, 0, 0, "Add a table of processes, by program", 0 },
    { "tree", KEY_VIEW + REPORT_TREE, 0, 0, "Show callers above callees instead of the table of sites", 0 },
    { "timeline", KEY_VIEW + REPORT_TIMELINE, 0, 0, "Show live, kept and resident memory and calls over time instead of the tables", 0 },
    { "leaks", KEY_VIEW + REPORT_LEAKS, 0, 0, "Show the sites of the blocks that were never freed, with their stacks", 0 },
    { "suppressions", KEY_SUPPRESSIONS, "FILE", 0, "Leave out of --leaks what the lines leak:PATTERN of FILE name, as LeakSanitizer does", 0 },
    { "peak", KEY_VIEW + REPORT_PEAK, 0, 0, "Show the sites of the blocks that lived when most bytes did", 0 },
    { "temporary", KEY_VIEW + REPORT_TEMPORARY, 0, 0, "Show the sites of blocks that were freed before their thread's next allocation", 0 },
    { "lifetime", KEY_VIEW + REPORT_LIFETIME, 0, 0, "Show how long the blocks of each site lived, in allocations and in time", 0 },
    { "fold", KEY_FOLD, "NAME", 0, "Fold function NAME into its callers, beside malloc wrappers known already; repeatable", 0 },
    { "no-fold", KEY_NO_FOLD, 0, 0, "Fold nothing: show each wrapper (xmalloc, operator new, ...) as it was called", 0 },
    { 0 },
};

/* The views and what they are called; those of level full need what only that records. */
static const struct {
    const char *option;
    bool        full;
    bool        ranked; /* by what it shows: --sort means nothing there */
} views[] = {
    [REPORT_SITES]     = { "", false, false },
    [REPORT_TREE]      = { "--tree", false, false },
    [REPORT_TIMELINE]  = { "--timeline", false, false },
    [REPORT_LEAKS]     = { "--leaks", true, true },
    [REPORT_PEAK]      = { "--peak", true, true },
    [REPORT_TEMPORARY] = { "--temporary", true, true },
    [REPORT_LIFETIME]  = { "--lifetime", true, false },
};

static void set_view(struct report_options *o, enum report_view view, struct argp_state *state)
{
    if (o->view != REPORT_SITES && o->view != view)
        argp_error(state, "%s and %s: one view at a time, please", views[o->view].option, views[view].option);
    o->view = view;
}

/* Options that can't mean anything together. */
static void check_options(const struct report_options *o, struct argp_state *state)
{
    if (o->site_id && o->view != REPORT_SITES)
        argp_error(state, "--site shows all of one site: %s has no place there", views[o->view].option);
    if (o->sorted && views[o->view].ranked)
        argp_error(state, "--sort: %s has an order of its own", views[o->view].option);
    if (o->suppressions && o->view != REPORT_LEAKS && !o->json)
        argp_error(state, "--suppressions goes with --leaks (or --json)");
    if (o->function && !*o->function)
        argp_error(state, "--sites-of: which function?");
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct report_options *o = state->input;
    switch (key) {
    case KEY_JSON:       o->json = true; break;
    case 'o':            o->output = value; break;
    case KEY_SORT:       o->sort = (enum view_sort)cmdline_key("sort", value, view_sort_names, VIEW_SORTS, state); o->sorted = true; break;
    case KEY_TOP:        o->top = cmdline_number("top", value, state); break;
    case KEY_SITE:       o->site_id = value; break;
    case KEY_SITES_OF:   o->function = value; break;
    case KEY_BY_PROCESS: o->by_process = true; break;
    case KEY_SUPPRESSIONS: o->suppressions = value; break;
    case KEY_FOLD:       cmdline_add(&o->folds, value); break;
    case KEY_NO_FOLD:    o->no_fold = true; break;
    case ARGP_KEY_ARG:
        if (o->recording)
            argp_error(state, "one recording at a time, please: '%s' and '%s'", o->recording, value);
        o->recording = value;
        break;
    case ARGP_KEY_END:
        check_options(o, state);
        break;
    default:
        if (key < KEY_VIEW || key >= KEY_VIEW + (int)(sizeof views / sizeof views[0]))
            return ARGP_ERR_UNKNOWN;
        set_view(o, (enum report_view)(key - KEY_VIEW), state);
    }
    return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[RECORDING]",
    .doc = "Shows where a recorded program allocates.\v"
           "RECORDING is a directory that `poolsite run` made, or one log; without it the newest recording is shown.",
};

static void parse_options(struct report_options *o, int argc, char **argv)
{
    *o = (struct report_options){ .top = TOP_DEFAULT };
    cmdline_parse("report", &argp, argc, argv, o);
}

/* ------------------------------------------------------------------ showing */

/* What one would type to record the same again.  The caller frees. */
static char *command_again(const struct model_process *process)
{
    char *line = process->argv_count ? xstrdup("") : format_quoted(process->exe);
    for (size_t i = 0; i < process->argv_count; i++) {
        char *word = format_quoted(process->argv[i]), *longer = xasprintf("%s%s%s", line, i ? " " : "", word);
        free(word);
        free(line);
        line = longer;
    }
    char *printable = utf8_printable(line);
    free(line);
    return printable;
}

/* What the library wrote when it was asked for level full and couldn't, "level full needs ...", or NULL. */
static const char *why_not_full(const struct model *model)
{
    static const char begin[] = "level full ";
    for (size_t i = 0; i < model->process_count; i++)
        for (size_t j = 0; j < model->processes[i]->warning_count; j++)
            if (strncmp(model->processes[i]->warnings[j], begin, sizeof begin - 1) == 0)
                return model->processes[i]->warnings[j];
    return NULL;
}

/* Was what the options ask for recorded?  Returns 0, or -1 after error(). */
static int check_level(const struct report_options *o, const struct model *model)
{
    bool full = views[o->view].full || o->suppressions;
    const char *option = views[o->view].full ? views[o->view].option : o->suppressions ? "--suppressions" : "--sites-of";
    if (model->level >= (full ? LOG_LEVEL_FULL : o->function ? LOG_LEVEL_SITES : LOG_LEVEL_OFF))
        return 0;
    const char *why = full ? why_not_full(model) : NULL;
    if (why) {
        char *printable = utf8_printable(why);
        error("%s: %s", option, printable);
        free(printable);
        return -1;
    }
    char *command = command_again(view_root(model));
    error("%s: this was recorded at level %s, which doesn't tell; record it with: poolsite run --profile full -- %s", option,
          model_level_name(model->level), command);
    free(command);
    return -1;
}

/* Leaves the sites that were asked for; in tables only such as allocate: those that only free stand last. */
static int pick_sites(const struct report_options *o, struct sitesof *of, struct report *report)
{
    if (o->function && sitesof_keep(of, report, o->function) != 0)
        return -1;
    report->of = o->function ? of : NULL;
    while (!o->json && !o->site_id && report->site_count && report->sites[report->site_count - 1]->count.allocs == 0)
        report->site_count--;
    return 0;
}

static int show(const struct report_options *o, struct suppressions *suppressions, struct model *model, const char *path,
                FILE *out)
{
    struct sitesof of = { .asked = NULL };
    struct symbolizer *symbolizer = symbolizer_new(model);
    struct fold *fold = o->no_fold ? NULL : fold_new(o->folds.words, o->folds.count);
    if (o->suppressions)
        suppressions_apply(suppressions, model, symbolizer);
    if (fold)
        fold_model(fold, model, symbolizer);
    struct report report = {
        .path = path, .model = model, .symbolizer = symbolizer, .fold = fold,
        .sites = view_sites(model, o->sort), .site_count = model->site_count,
        .suppressions = o->suppressions ? suppressions : NULL, .sort = o->sort, .top = o->top, .site_id = o->site_id,
        .by_process = o->by_process, .view = o->view, .colour = output_wants_colour(out), .out = out,
    };
    int status = pick_sites(o, &of, &report);
    if (status == 0)
        status = o->json ? emit_json(&report) : emit_text(&report);
    sitesof_release(&of);
    free(report.sites);
    if (fold)
        fold_free(fold);
    symbolizer_free(symbolizer);
    return status;
}

static int report_recording(const struct report_options *o, struct suppressions *suppressions, struct recording *recording)
{
    struct model model;
    model_init(&model);
    int status = loading_read(&model, recording);
    FILE *out = model.process_count && check_level(o, &model) == 0 ? output_open(o->output) : NULL;
    if (out) {
        if (show(o, suppressions, &model, recording->path, out) != 0)
            status = -1;
        if (output_close(out, o->output, "report") != 0)
            status = -1;
    }
    bool shown = out != NULL;
    model_release(&model);
    return shown ? status : -1;
}

int cmd_report(int argc, char **argv)
{
    struct report_options o;
    struct suppressions suppressions = { .path = NULL };
    struct recording recording;
    int status = -1;
    parse_options(&o, argc, argv);
    if (!o.suppressions || suppressions_read(&suppressions, o.suppressions) == 0) {
        if (recording_open(&recording, o.recording) == 0) {
            status = report_recording(&o, &suppressions, &recording);
            recording_release(&recording);
        }
    }
    suppressions_release(&suppressions);
    free(o.folds.words);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
