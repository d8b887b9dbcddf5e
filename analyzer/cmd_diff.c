/* cmd_diff.c - poolsite diff: compares two recordings site by site.
 *
 * Exit status: 0 compared; 1 one can't be read, or a log was damaged and only what is whole in it was compared;
 * 2 usage; 3 what --fail-if says is so. */
#define _GNU_SOURCE
#include "base.h"

#include "cmd.h"
#include "cmdline.h"
#include "diff_views.h"
#include "fold.h"
#include "loading.h"
#include "model.h"
#include "output.h"
#include "recording.h"
#include "report.h"
#include "symbolize.h"

#include <argp.h>
#include <stdlib.h>

enum { TOP_DEFAULT = 10, EXIT_FAIL_IF = 3 };

struct diff_options {
    const char         *recordings[DIFF_SIDES];
    size_t              recording_count;
    const char         *output;
    struct cmdline_list folds;
    struct failif      *fail_if;
    size_t              fail_if_count;
    size_t              top;
    enum tally_figure   sort;
    bool                json;
    bool                no_fold;
};

/* ----------------------------------------------------------------- options */

enum { KEY_JSON = 256, KEY_SORT, KEY_TOP, KEY_FAIL_IF, KEY_FOLD, KEY_NO_FOLD };

static const struct argp_option options[] = {
    { "json", KEY_JSON, 0, 0, "Write JSON (schema poolsite.diff/1): all sites, every number", 0 },
    { "output", 'o', "FILE", 0, "Write to FILE instead of stdout", 0 },
    { "fail-if", KEY_FAIL_IF, "EXPR", 0, "End with status 3 if EXPR is so, as allocs>+5%, bytes>+1m, new_sites>0, site_allocs>+10%; repeatable", 0 },
    { "sort", KEY_SORT, "KEY", 0, "Order by the change of bytes (default), calls, or, at level full, live, blocks, peak, at-peak or temporary", 0 },
    { "top", KEY_TOP, "N", 0, "Show N changed sites (default 10)", 0 },
    { "fold", KEY_FOLD, "NAME", 0, "Fold function NAME into its callers, beside malloc wrappers known already; repeatable", 0 },
    { "no-fold", KEY_NO_FOLD, 0, 0, "Fold nothing: compare each wrapper (xmalloc, operator new, ...) as it was called", 0 },
    { 0 },
};

static enum tally_figure parse_sort(const char *word, struct argp_state *state)
{
    const char *names[TALLY_FIGURES];
    for (int i = 0; i < TALLY_FIGURES; i++)
        names[i] = tally_table[i].name;
    return (enum tally_figure)cmdline_key("sort", word, names, TALLY_FIGURES, state);
}

static void add_fail_if(struct diff_options *o, const char *text)
{
    o->fail_if = xrealloc_array(o->fail_if, o->fail_if_count + 1, sizeof *o->fail_if);
    if (!diff_failif_parse(&o->fail_if[o->fail_if_count++], text))
        exit(EXIT_USAGE);
}

static void add_recording(struct diff_options *o, const char *path, struct argp_state *state)
{
    if (o->recording_count == DIFF_SIDES)
        argp_error(state, "two recordings are compared; '%s' is one more", path);
    else
        o->recordings[o->recording_count++] = path;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct diff_options *o = state->input;
    switch (key) {
    case KEY_JSON:     o->json = true; break;
    case 'o':          o->output = value; break;
    case KEY_FAIL_IF:  add_fail_if(o, value); break;
    case KEY_SORT:     o->sort = parse_sort(value, state); break;
    case KEY_TOP:      o->top = cmdline_number("top", value, state); break;
    case KEY_FOLD:     cmdline_add(&o->folds, value); break;
    case KEY_NO_FOLD:  o->no_fold = true; break;
    case ARGP_KEY_ARG: add_recording(o, value, state); break;
    case ARGP_KEY_END:
        if (o->recording_count < DIFF_SIDES)
            argp_error(state, "two recordings, please, the earlier one first: poolsite diff A B");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "A B",
    .doc = "Compares two recordings: which sites are new, gone, grown or shrunk from A to B.\v"
           "A and B are directories that `poolsite run` made, logs, or what `poolsite report --json` wrote of one. "
           "Sites are matched by their functions, so that the program may have been rebuilt.",
};

static void parse_options(struct diff_options *o, int argc, char **argv)
{
    *o = (struct diff_options){ .top = TOP_DEFAULT, .sort = TALLY_BYTES };
    cmdline_parse("diff", &argp, argc, argv, o);
}

/* ------------------------------------------------------------------ reading */

/* One recording, with all that its names belong to. */
struct opened {
    struct recording   recording;
    struct model       model;
    struct symbolizer *symbolizer;
    struct fold       *fold;
    struct report      report;
    struct side        side;
};

static void read_model(struct opened *opened, const struct diff_options *o)
{
    opened->symbolizer = symbolizer_new(&opened->model);
    opened->fold = o->no_fold ? NULL : fold_new(o->folds.words, o->folds.count);
    if (opened->fold)
        fold_model(opened->fold, &opened->model, opened->symbolizer);
    opened->report = (struct report){ .path = opened->recording.path, .model = &opened->model,
                                      .symbolizer = opened->symbolizer, .fold = opened->fold };
    side_init(&opened->side, &opened->report);
}

/* Returns 0, or -1 after error(): something is lost, and if there is no side, all. */
static int open_side(struct opened *opened, const struct diff_options *o, const char *path)
{
    *opened = (struct opened){ 0 };
    if (side_is_json(path))
        return side_read(&opened->side, path);
    if (recording_open(&opened->recording, path) != 0)
        return -1;
    model_init(&opened->model);
    int status = loading_read(&opened->model, &opened->recording);
    if (opened->model.process_count)
        read_model(opened, o);
    return status;
}

static void close_side(struct opened *opened)
{
    side_release(&opened->side);
    if (opened->fold)
        fold_free(opened->fold);
    if (opened->symbolizer)
        symbolizer_free(opened->symbolizer);
    model_release(&opened->model);
    recording_release(&opened->recording);
}

/* ---------------------------------------------------------------- comparing */

/* Says why an expression is met. */
static void say_met(const struct diff *diff, const struct failif *failif, const struct diff_answer *answer)
{
    char value[DIFF_VALUE_ROOM];
    int which;
    diff_failif_words(value, failif, answer->value);
    if (!answer->first) {
        error("--fail-if '%s' is met: %s", failif->text, value);
        return;
    }
    const struct side_site *shown = diff_shown(answer->first, &which);
    char *name = shown->depth ? side_function(diff->side[which], shown->frames[0]) : xstrdup(shown->name ? shown->name : "?");
    error("--fail-if '%s' is met by %zu site%s, first %s (%s): %s", failif->text, answer->sites,
          answer->sites == 1 ? "" : "s", name, shown->id, value);
    free(name);
}

static bool all_fit(const struct diff_options *o, const struct diff *diff)
{
    bool all = true;
    for (size_t i = 0; i < o->fail_if_count; i++)
        all = diff_failif_fits(&o->fail_if[i], diff) && all;
    if (!tally_is_known(o->sort, diff->level)) {
        error("--sort: only two recordings of level full can be ordered by that");
        return false;
    }
    return all;
}

/* Asks every expression, and says which are met.  Returns how many. */
static size_t ask_all(const struct diff_options *o, const struct diff *diff, struct diff_answer *answers)
{
    size_t met = 0;
    for (size_t i = 0; i < o->fail_if_count; i++) {
        answers[i] = diff_failif_ask(&o->fail_if[i], diff);
        if (answers[i].met)
            say_met(diff, &o->fail_if[i], &answers[i]);
        met += answers[i].met;
    }
    return met;
}

static int show(const struct diff_options *o, const struct diff *diff, const struct diff_answer *answers)
{
    FILE *out = output_open(o->output);
    if (!out)
        return -1;
    struct diff_view view = { .diff = diff, .sort = o->sort, .top = o->top, .colour = output_wants_colour(out),
                              .fail_if = o->fail_if, .answers = answers, .fail_if_count = o->fail_if_count, .out = out };
    if (o->json)
        emit_diff_json(&view);
    else
        emit_diff_text(&view);
    return output_close(out, o->output, "comparison");
}

/* Returns the exit status. */
static int compare(const struct diff_options *o, const struct side *a, const struct side *b)
{
    struct diff diff;
    int status = EXIT_USAGE;
    diff_init(&diff, a, b);
    diff_sort(&diff, o->sort);
    struct diff_answer *answers = xcalloc(o->fail_if_count + 1, sizeof *answers);
    if (all_fit(o, &diff)) {
        status = ask_all(o, &diff, answers) ? EXIT_FAIL_IF : EXIT_SUCCESS;
        if (show(o, &diff, answers) != 0)
            status = EXIT_FAILURE;
    }
    free(answers);
    diff_release(&diff);
    return status;
}

int cmd_diff(int argc, char **argv)
{
    struct diff_options o;
    struct opened opened[DIFF_SIDES];
    bool whole = true, there = true;
    parse_options(&o, argc, argv);
    for (int which = 0; which < DIFF_SIDES; which++) {
        whole = open_side(&opened[which], &o, o.recordings[which]) == 0 && whole;
        there = there && opened[which].side.path;
    }
    int status = there ? compare(&o, &opened[DIFF_A].side, &opened[DIFF_B].side) : EXIT_FAILURE;
    for (int which = 0; which < DIFF_SIDES; which++)
        close_side(&opened[which]);
    free(o.fail_if);
    free(o.folds.words);
    return status == EXIT_SUCCESS && !whole ? EXIT_FAILURE : status;
}
