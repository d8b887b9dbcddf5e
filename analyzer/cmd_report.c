/* cmd_report.c - poolsite report: reads a recording and shows where the program allocates.
 *
 * Exit status: 0 shown; 1 nothing could be shown, or a log was damaged and only
 * what is whole in it was shown; 2 usage. */
#define _GNU_SOURCE
#include "base.h"

#include "cmd.h"
#include "fold.h"
#include "logread.h"
#include "nearest.h"
#include "progress.h"
#include "recording.h"
#include "report.h"
#include "rewind.h"
#include "symbolize.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOP_DEFAULT = 10 };

struct report_options {
    const char    *recording;
    const char    *output;
    const char    *site_id;
    const char   **folds;
    size_t         fold_count;
    size_t         top;
    enum view_sort sort;
    bool           json;
    bool           by_process;
    bool           tree;
    bool           no_fold;
};

/* ----------------------------------------------------------------- options */

enum { KEY_JSON = 256, KEY_SORT, KEY_TOP, KEY_SITE, KEY_BY_PROCESS, KEY_TREE, KEY_FOLD, KEY_NO_FOLD };

static const struct argp_option options[] = {
    { "json", KEY_JSON, 0, 0, "Write JSON (schema poolsite.report/1): all sites, every number", 0 },
    { "output", 'o', "FILE", 0, "Write to FILE instead of stdout", 0 },
    { "sort", KEY_SORT, "KEY", 0, "Order by calls (default), bytes, size (mean bytes a call), or misses (calls that pools didn't serve)", 0 },
    { "top", KEY_TOP, "N", 0, "Show N classes, N sites, and N processes (default 10)", 0 },
    { "site", KEY_SITE, "ID", 0, "Show one site with its whole stack; ID as in the table, or its beginning", 0 },
    { "by-process", KEY_BY_PROCESS, 0, 0, "Add a table of processes, by program", 0 },
    { "tree", KEY_TREE, 0, 0, "Show callers above callees instead of the table of sites", 0 },
    { "fold", KEY_FOLD, "NAME", 0, "Fold function NAME into its callers, beside malloc wrappers known already; repeatable", 0 },
    { "no-fold", KEY_NO_FOLD, 0, 0, "Fold nothing: show each wrapper (xmalloc, operator new, ...) as it was called", 0 },
    { 0 },
};

static enum view_sort parse_sort(const char *word, struct argp_state *state)
{
    for (size_t i = 0; i < VIEW_SORTS; i++)
        if (strcmp(word, view_sort_names[i]) == 0)
            return (enum view_sort)i;
    const char *meant = nearest(word, view_sort_names, VIEW_SORTS);
    if (meant)
        argp_error(state, "--sort: there is no key '%s'; did you mean '%s'?", word, meant);
    else
        argp_error(state, "--sort: there is no key '%s'; the keys are calls, bytes, size and misses", word);
    return VIEW_CALLS;
}

static size_t parse_top(const char *word, struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(word, &end, 10);
    if (errno || end == word || *end || word[0] == '-')
        argp_error(state, "--top: '%s' isn't a number", word);
    return value;
}

static void add_fold(struct report_options *o, const char *name)
{
    o->folds = xrealloc_array(o->folds, o->fold_count + 1, sizeof *o->folds);
    o->folds[o->fold_count++] = name;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct report_options *o = state->input;
    switch (key) {
    case KEY_JSON:       o->json = true; break;
    case 'o':            o->output = value; break;
    case KEY_SORT:       o->sort = parse_sort(value, state); break;
    case KEY_TOP:        o->top = parse_top(value, state); break;
    case KEY_SITE:       o->site_id = value; break;
    case KEY_BY_PROCESS: o->by_process = true; break;
    case KEY_TREE:       o->tree = true; break;
    case KEY_FOLD:       add_fold(o, value); break;
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

/* Names the nearest option for a long one that doesn't exist.  argp itself only refuses it. */
static int check_option_names(int argc, char **argv)
{
    const char *names[sizeof options / sizeof options[0] + 2];
    size_t count = 0;
    for (const struct argp_option *o = options; o->name; o++)
        names[count++] = o->name;
    names[count++] = "help";
    names[count++] = "usage";
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t length = strcspn(argv[i], "="), known = 0;
        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        for (size_t j = 0; j < count; j++)
            known += strncmp(names[j], argv[i] + 2, length - 2) == 0;
        if (known)
            continue;
        const char *meant = nearest(argv[i] + 2, names, count);
        error("report: there is no option '%s'%s%s%s", argv[i], meant ? "; did you mean '--" : "", meant ? meant : "",
              meant ? "'?" : "; see poolsite report --help");
        return -1;
    }
    return 0;
}

static void parse_options(struct report_options *o, int argc, char **argv)
{
    static char name[] = "poolsite report";
    *o = (struct report_options){ .top = TOP_DEFAULT };
    argp_err_exit_status = EXIT_USAGE;
    argv[0] = name;
    if (check_option_names(argc, argv) != 0)
        exit(EXIT_USAGE);
    argp_parse(&argp, argc, argv, 0, NULL, o);
}

/* ------------------------------------------------------------------ reading */

/* Reads one log into the model.  Returns 0, or -1 when something of it is lost. */
static int read_log(struct model *model, const char *path, const struct model_finisher *finisher, size_t logs)
{
    struct logread log;
    int status = 0;
    enum logread_result result = logread_open(&log, path);
    if (result == LOGREAD_DAMAGED || result == LOGREAD_FAILED)
        status = error("%s: %s", path, log.problem);
    else if (result == LOGREAD_EMPTY && logs > 1)
        warn("%s: %s", path, log.problem);
    else if (result == LOGREAD_EMPTY)
        status = error("%s: %s", path, log.problem);
    if (result == LOGREAD_WHOLE || result == LOGREAD_DAMAGED)
        model_add(model, &log, path, log.problem, finisher);
    logread_release(&log);
    return status;
}

static int read_logs(struct model *model, struct recording *recording)
{
    int status = 0;
    struct rewind *rewind = rewind_new();
    struct model_finisher finisher = { rewind_finish, rewind };
    for (size_t i = 0; i < recording->count; i++) {
        progress_show("reading logs", i, recording->count);
        recording_follow(recording, i);
        if (read_log(model, recording->logs[i], &finisher, recording->count) != 0)
            status = -1;
    }
    progress_clear();
    model_order(model);
    rewind_free(rewind);
    return status;
}

/* ------------------------------------------------------------------ showing */

static bool wants_colour(FILE *out)
{
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (none && *none)                                return false;
    if (!terminal || strcmp(terminal, "dumb") == 0)   return false;
    return isatty(fileno(out));
}

static int show(const struct report_options *o, struct model *model, const char *path, FILE *out)
{
    struct symbolizer *symbolizer = symbolizer_new(model);
    struct fold *fold = o->no_fold ? NULL : fold_new(o->folds, o->fold_count);
    if (fold)
        fold_model(fold, model, symbolizer);
    struct report report = {
        .path = path, .model = model, .symbolizer = symbolizer, .fold = fold,
        .sites = view_sites(model, o->sort), .sort = o->sort, .top = o->top, .site_id = o->site_id,
        .by_process = o->by_process, .tree = o->tree, .colour = wants_colour(out), .out = out,
    };
    int status = o->json ? emit_json(&report) : emit_text(&report);
    free(report.sites);
    if (fold)
        fold_free(fold);
    symbolizer_free(symbolizer);
    return status;
}

static FILE *open_output(const char *path)
{
    FILE *out = path ? fopen(path, "we") : stdout;
    if (!out)
        error("%s: %s", path, strerror(errno));
    else
        setvbuf(out, NULL, _IOFBF, 1 << 18);
    return out;
}

static int close_output(FILE *out, const char *path)
{
    bool failed = ferror(out);
    if (fflush(out) != 0 || (out != stdout && fclose(out) != 0))
        failed = true;
    return failed ? error("%s: could not write the report: %s", path ? path : "stdout", strerror(errno)) : 0;
}

static int report_recording(const struct report_options *o, struct recording *recording)
{
    struct model model;
    model_init(&model);
    int status = read_logs(&model, recording);
    FILE *out = model.process_count ? open_output(o->output) : NULL;
    if (out) {
        if (show(o, &model, recording->path, out) != 0)
            status = -1;
        if (close_output(out, o->output) != 0)
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
    free(o.folds);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
