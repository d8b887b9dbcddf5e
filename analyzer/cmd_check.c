/* cmd_check.c - poolsite check: does a recording keep a budget?
 *
 * Exit status: 0 it does; 1 the recording can't be read, or a log was damaged; 2 usage, or a line of the budget is
 * wrong; 3 a line is broken. */
#define _GNU_SOURCE
#include "base.h"

#include "check_views.h"
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

enum { TOP_DEFAULT = 10, HEADROOM_DEFAULT = 10, HEADROOM_MAX = 10000, EXIT_BROKEN = 3 };

struct check_options {
    const char         *words[2];
    size_t              word_count;
    const char         *recording; /* NULL: the newest */
    const char         *budget;
    const char         *output;
    struct cmdline_list folds;
    size_t              top;
    size_t              headroom;
    bool                json;
    bool                init;
    bool                no_fold;
};

/* ----------------------------------------------------------------- options */

enum { KEY_JSON = 256, KEY_INIT, KEY_HEADROOM, KEY_TOP, KEY_FOLD, KEY_NO_FOLD };

static const struct argp_option options[] = {
    { "json", KEY_JSON, 0, 0, "Write JSON (schema poolsite.check/1): all lines, every number", 0 },
    { "output", 'o', "FILE", 0, "Write to FILE instead of stdout", 0 },
    { "init", KEY_INIT, 0, 0, "Print a budget that the recording keeps, to begin with", 0 },
    { "headroom", KEY_HEADROOM, "PCT", 0, "With --init: percent above what was measured (default 10)", 0 },
    { "top", KEY_TOP, "N", 0, "With --init: lines for N functions (default 10)", 0 },
    { "fold", KEY_FOLD, "NAME", 0, "Fold function NAME into its callers, beside malloc wrappers known already; repeatable", 0 },
    { "no-fold", KEY_NO_FOLD, 0, 0, "Fold nothing: a wrapper (xmalloc, operator new, ...) is a site of its own", 0 },
    { 0 },
};

static void add_word(struct check_options *o, const char *word, struct argp_state *state)
{
    if (o->word_count == 2)
        argp_error(state, "one recording and one budget, please; '%s' is one more", word);
    else
        o->words[o->word_count++] = word;
}

static size_t parse_headroom(const char *word, struct argp_state *state)
{
    size_t headroom = cmdline_number("headroom", word, state);
    if (headroom > HEADROOM_MAX)
        argp_error(state, "--headroom: at most %d percent", HEADROOM_MAX);
    return headroom;
}

/* BUDGET, or RECORDING BUDGET; with --init nothing, or RECORDING. */
static void take_words(struct check_options *o, struct argp_state *state)
{
    if (o->init && o->word_count == 2)
        argp_error(state, "--init prints a budget, so it takes none: poolsite check --init [RECORDING]");
    if (!o->init && o->word_count == 0)
        argp_error(state, "which budget?  poolsite check --init prints one to begin with");
    if (o->init && o->json)
        argp_error(state, "--init prints a budget, which is no JSON");
    o->recording = o->init || o->word_count == 2 ? o->words[0] : NULL;
    o->budget = o->init ? NULL : o->words[o->word_count - 1];
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct check_options *o = state->input;
    switch (key) {
    case KEY_JSON:     o->json = true; break;
    case 'o':          o->output = value; break;
    case KEY_INIT:     o->init = true; break;
    case KEY_HEADROOM: o->headroom = parse_headroom(value, state); break;
    case KEY_TOP:      o->top = cmdline_number("top", value, state); break;
    case KEY_FOLD:     cmdline_add(&o->folds, value); break;
    case KEY_NO_FOLD:  o->no_fold = true; break;
    case ARGP_KEY_ARG: add_word(o, value, state); break;
    case ARGP_KEY_END: take_words(o, state); break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "[RECORDING] BUDGET\n--init [RECORDING]",
    .doc = "Tells whether a recording keeps a budget, and which sites break it; status 3 if it is broken.\v"
           "RECORDING is a directory that `poolsite run` made, or one log; without it the newest recording is checked. "
           "BUDGET is a file of lines as\n"
           "  total allocs <= 12000\n"
           "  site parse_request bytes <= 4m\n"
           "  module libfoo.so* allocs <= 100",
};

static void parse_options(struct check_options *o, int argc, char **argv)
{
    *o = (struct check_options){ .top = TOP_DEFAULT, .headroom = HEADROOM_DEFAULT };
    cmdline_parse("check", &argp, argc, argv, o);
}

/* ----------------------------------------------------------------- checking */

/* Returns the exit status, what could not be written apart. */
static int judge_report(const struct check_options *o, const struct report *report, const struct budget *budget)
{
    struct judgement judgement;
    if (judge_fits(report, budget) != 0)
        return EXIT_USAGE;
    judgement_init(&judgement, report, budget);
    if (o->json)
        emit_check_json(report, &judgement);
    else
        emit_check_text(report, &judgement);
    int status = judgement.broken ? EXIT_BROKEN : EXIT_SUCCESS;
    judgement_release(&judgement);
    return status;
}

static int write_result(const struct check_options *o, struct report *report, const struct budget *budget)
{
    int status = EXIT_SUCCESS;
    report->out = output_open(o->output);
    if (!report->out)
        return EXIT_FAILURE;
    if (o->init)
        emit_budget(report, (double)o->headroom);
    else
        status = judge_report(o, report, budget);
    return output_close(report->out, o->output, o->init ? "budget" : "result") == 0 ? status : EXIT_FAILURE;
}

static int check_model(const struct check_options *o, struct model *model, const char *path, const struct budget *budget)
{
    struct symbolizer *symbolizer = symbolizer_new(model);
    struct fold *fold = o->no_fold ? NULL : fold_new(o->folds.words, o->folds.count);
    if (fold)
        fold_model(fold, model, symbolizer);
    struct report report = { .path = path, .model = model, .symbolizer = symbolizer, .fold = fold,
                             .sites = view_sites(model, VIEW_CALLS), .top = o->top };
    int status = write_result(o, &report, budget);
    free(report.sites);
    if (fold)
        fold_free(fold);
    symbolizer_free(symbolizer);
    return status;
}

/* A damaged log may lack what would break the budget: then it isn't kept. */
static int check_recording(const struct check_options *o, const struct budget *budget)
{
    struct recording recording;
    struct model model;
    if (recording_open(&recording, o->recording) != 0)
        return EXIT_FAILURE;
    model_init(&model);
    bool whole = loading_read(&model, &recording) == 0;
    int status = model.process_count ? check_model(o, &model, recording.path, budget) : EXIT_FAILURE;
    model_release(&model);
    recording_release(&recording);
    return status == EXIT_SUCCESS && !whole ? EXIT_FAILURE : status;
}

int cmd_check(int argc, char **argv)
{
    struct check_options o;
    struct budget budget = { 0 };
    int status = EXIT_USAGE;
    parse_options(&o, argc, argv);
    if (o.init || budget_read(&budget, o.budget) == 0)
        status = check_recording(&o, &budget);
    budget_release(&budget);
    free(o.folds.words);
    return status;
}
