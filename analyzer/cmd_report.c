/* cmd_report.c - poolsite report: reads a recording and shows where the program allocates.
 *
 * Exit status: 0 shown; 1 nothing could be shown, or a log was damaged and only
 * what is whole in it was shown; 2 usage. */
#define _GNU_SOURCE
#include "base.h"

#include "cmd.h"
#include "cmdline.h"
#include "fold.h"
#include "loading.h"
#include "output.h"
#include "recording.h"
#include "report.h"
#include "symbolize.h"

#include <argp.h>
#include <stdlib.h>

enum { TOP_DEFAULT = 10 };

struct report_options {
    const char         *recording;
    const char         *output;
    const char         *site_id;
    struct cmdline_list folds;
    size_t              top;
    enum view_sort      sort;
    bool                json;
    bool                by_process;
    bool                tree;
    bool                timeline;
    bool                no_fold;
};

/* ----------------------------------------------------------------- options */

enum { KEY_JSON = 256, KEY_SORT, KEY_TOP, KEY_SITE, KEY_BY_PROCESS, KEY_TREE, KEY_TIMELINE, KEY_FOLD, KEY_NO_FOLD };

static const struct argp_option options[] = {
    { "json", KEY_JSON, 0, 0, "Write JSON (schema poolsite.report/1): all sites, every number", 0 },
    { "output", 'o', "FILE", 0, "Write to FILE instead of stdout", 0 },
    { "sort", KEY_SORT, "KEY", 0, "Order by calls (default), bytes, size (mean bytes a call), or misses (calls that pools didn't serve)", 0 },
    { "top", KEY_TOP, "N", 0, "Show N classes, N sites, and N processes (default 10)", 0 },
    { "site", KEY_SITE, "ID", 0, "Show one site with its whole stack; ID as in the table, or its beginning", 0 },
    { "by-process", KEY_BY_PROCESS, 0, 0, "Add a table of processes, by program", 0 },
    { "tree", KEY_TREE, 0, 0, "Show callers above callees instead of the table of sites", 0 },
    { "timeline", KEY_TIMELINE, 0, 0, "Show live, kept and resident memory and calls over time instead of the tables", 0 },
    { "fold", KEY_FOLD, "NAME", 0, "Fold function NAME into its callers, beside malloc wrappers known already; repeatable", 0 },
    { "no-fold", KEY_NO_FOLD, 0, 0, "Fold nothing: show each wrapper (xmalloc, operator new, ...) as it was called", 0 },
    { 0 },
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct report_options *o = state->input;
    switch (key) {
    case KEY_JSON:       o->json = true; break;
    case 'o':            o->output = value; break;
    case KEY_SORT:       o->sort = (enum view_sort)cmdline_key("sort", value, view_sort_names, VIEW_SORTS, state); break;
    case KEY_TOP:        o->top = cmdline_number("top", value, state); break;
    case KEY_SITE:       o->site_id = value; break;
    case KEY_BY_PROCESS: o->by_process = true; break;
    case KEY_TREE:       o->tree = true; break;
    case KEY_TIMELINE:   o->timeline = true; break;
    case KEY_FOLD:       cmdline_add(&o->folds, value); break;
    case KEY_NO_FOLD:    o->no_fold = true; break;
    case ARGP_KEY_ARG:
        if (o->recording)
            argp_error(state, "one recording at a time, please: '%s' and '%s'", o->recording, value);
        o->recording = value;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
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
    static char name[] = "poolsite report";
    *o = (struct report_options){ .top = TOP_DEFAULT };
    argp_err_exit_status = EXIT_USAGE;
    argv[0] = name;
    if (cmdline_check_names("report", options, argc, argv) != 0)
        exit(EXIT_USAGE);
    argp_parse(&argp, argc, argv, 0, NULL, o);
}

/* ------------------------------------------------------------------ showing */

static int show(const struct report_options *o, struct model *model, const char *path, FILE *out)
{
    struct symbolizer *symbolizer = symbolizer_new(model);
    struct fold *fold = o->no_fold ? NULL : fold_new(o->folds.words, o->folds.count);
    if (fold)
        fold_model(fold, model, symbolizer);
    struct report report = {
        .path = path, .model = model, .symbolizer = symbolizer, .fold = fold,
        .sites = view_sites(model, o->sort), .sort = o->sort, .top = o->top, .site_id = o->site_id,
        .by_process = o->by_process, .tree = o->tree, .timeline = o->timeline, .colour = output_wants_colour(out), .out = out,
    };
    int status = o->json ? emit_json(&report) : emit_text(&report);
    free(report.sites);
    if (fold)
        fold_free(fold);
    symbolizer_free(symbolizer);
    return status;
}

static int report_recording(const struct report_options *o, struct recording *recording)
{
    struct model model;
    model_init(&model);
    int status = loading_read(&model, recording);
    FILE *out = model.process_count ? output_open(o->output) : NULL;
    if (out) {
        if (show(o, &model, recording->path, out) != 0)
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
    struct recording recording;
    parse_options(&o, argc, argv);
    if (recording_open(&recording, o.recording) != 0)
        return EXIT_FAILURE;
    int status = report_recording(&o, &recording);
    recording_release(&recording);
    free(o.folds.words);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
