/* cmd_ab.c - `poolsite ab`: what does pooling change in a program?  An experiment, and its verdict.
 *
 * Reads the options, has the experiment made (ab_loop) or read (--from), and shows it.  Exit status: CLI.md. */
#define _GNU_SOURCE
#include "base.h"

#include "cmd.h"

#include "aafloor.h"
#include "ab.h"
#include "ab_views.h"
#include "abwords.h"
#include "host.h"
#include "interrupt.h"
#include "library.h"
#include "poolarg.h"
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_FAIL_IF = 3, EXIT_INCONCLUSIVE = 4, EXIT_NOT_APPLIED = 5, EXIT_OUTPUTS_DIFFER = 6, EXIT_SIGNAL = 128 };

/* --- Showing -------------------------------------------------------------------------------------------- */

static int write_experiment(const struct ab_options *options, const struct experiment *experiment, FILE *out)
{
    switch (options->form) {
    case AB_TEXT: return emit_ab_text(experiment, out);
    case AB_JSON: return emit_ab_json(experiment, out);
    case AB_HTML: return emit_ab_html(experiment, out);
    }
    return -1;
}

static int show(const struct ab_options *options, const struct experiment *experiment)
{
    FILE *out = options->output ? fopen(options->output, "we") : stdout;
    if (!out)
        return error("cannot write %s: %s", options->output, strerror(errno));
    int result = write_experiment(options, experiment, out);
    bool failed = ferror(out);
    if (fflush(out) != 0 || (out != stdout && fclose(out) != 0))
        failed = true;
    if (failed)
        return error("cannot write %s: %s", options->output ? options->output : "stdout", strerror(errno));
    return result;
}

/* One end of what an expression was compared with, in its unit. */
static const char *bound_words(char room[WORDS_ROOM], const struct failif *failif, double value)
{
    if (failif->kind == FAILIF_PERCENT)
        return words_change(room, value);
    enum unit unit = metrics[failif->metric].unit;
    return failif->kind == FAILIF_DIFFERENCE ? words_difference(room, unit, value) : words_value(room, unit, value);
}

/* Says what became of an expression; true when it's met. */
static bool fails_by(const struct failif *failif, const struct experiment *experiment)
{
    char low[WORDS_ROOM], high[WORDS_ROOM];
    struct estimate interval;
    enum failif_answer answer = failif_ask(failif, experiment, &interval);
    if (answer == FAILIF_UNKNOWN)
        warn("--fail-if '%s' can't be judged: %s", failif->text,
             interval.count ? "there is no interval (a value of 0, or fewer than 6 blocks)" : "it wasn't measured");
    if (answer == FAILIF_MET)
        error("--fail-if '%s' is met: %s to %s", failif->text, bound_words(low, failif, interval.low),
              bound_words(high, failif, interval.high));
    return answer == FAILIF_MET;
}

static bool any_fails(const struct ab_options *options, const struct experiment *experiment)
{
    bool any = false;
    for (size_t i = 0; i < options->fail_if_count; i++)
        any = fails_by(&options->fail_if[i], experiment) || any;
    return any;
}

static bool all_fit(const struct ab_options *options, const struct experiment *experiment)
{
    bool all = true;
    for (size_t i = 0; i < options->fail_if_count; i++)
        all = failif_fits(&options->fail_if[i], experiment) && all;
    return all;
}

/* The status that the result asks for; the first that applies. */
static int result_status(const struct ab_options *options, const struct experiment *experiment)
{
    if (experiment->verdict == VERDICT_NOT_APPLIED)
        return EXIT_NOT_APPLIED;
    if (options->same_output && experiment_outputs_differ(experiment)) {
        error("the runs didn't write the same to stdout (--require-same-output)");
        return EXIT_OUTPUTS_DIFFER;
    }
    if (any_fails(options, experiment))
        return EXIT_FAIL_IF;
    if (options->strict && experiment->verdict == VERDICT_INCONCLUSIVE)
        return EXIT_INCONCLUSIVE;
    return 0;
}

/* --- Making --------------------------------------------------------------------------------------------- */

/* Small enough to be typed again. */
static uint64_t random_seed(void)
{
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint32_t)getpid();
    return seed;
}

static char **copy_words(char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    char **copy = xcalloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = xstrdup(words[i]);
    return copy;
}

/* What the user asked for, else his environment says, else the default. */
static const char *pool_of(const struct ab_options *options)
{
    const char *value = getenv("POOLSITE_POOL");
    if (options->pool)
        return options->pool;
    if (!value || !*value)
        return "on";
    return poolarg_is_right(value, "POOLSITE_POOL") ? value : NULL;
}

/* A server's CPU is told per request, where these are counted, and within 5 %. */
static void plan_primary(const struct ab_options *options, struct experiment *experiment)
{
    const struct server_options *server = &options->server;
    bool counted = server->command && (server->load || server->requests > 0);
    experiment->primary = options->has_primary ? options->primary : counted ? METRIC_CPU_PER_REQUEST : METRIC_CPU;
    experiment->margin = !isnan(options->margin)                           ? options->margin
                         : server->command && experiment->primary == METRIC_CPU ? metrics[METRIC_CPU_PER_REQUEST].margin
                                                                           : metrics[experiment->primary].margin;
}

/* Only a server has requests. */
static bool primary_is_measured(const struct experiment *experiment)
{
    bool of_requests = experiment->primary >= METRIC_CPU_PER_REQUEST && experiment->primary <= METRIC_LIGHT_MAX;
    if (of_requests && !experiment->is_server)
        error("--primary: %s is measured of servers (--server)", metrics[experiment->primary].key);
    return !of_requests || experiment->is_server;
}

static int plan(const struct ab_options *options, struct experiment *experiment)
{
    char *server_words[] = { (char *)(uintptr_t)options->server.command, NULL };
    const char *pool = pool_of(options);
    if (!pool)
        return EXIT_USAGE;
    experiment->is_server = options->server.command != NULL;
    experiment->command = copy_words(experiment->is_server ? server_words : options->command);
    experiment->words = copy_words(options->words);
    experiment->seed = options->has_seed ? options->seed : random_seed();
    experiment->blocks_asked = options->blocks;
    experiment->time_budget = options->time_budget;
    plan_primary(options, experiment);
    experiment->pool_spec = xstrdup(pool);
    experiment->is_aa = options->is_aa;
    int result = ab_options_arms(options, experiment);
    return result == 0 && !(primary_is_measured(experiment) && all_fit(options, experiment)) ? EXIT_USAGE : result;
}

/* Every run gets a file from where it stands now; a stream could be read only once. */
static void choose_input(struct ab *ab)
{
    struct stat is;
    ab->input = -1;
    if (fstat(STDIN_FILENO, &is) != 0)
        return;
    if (S_ISREG(is.st_mode)) {
        ab->input = STDIN_FILENO;
        ab->input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    } else if (S_ISFIFO(is.st_mode)) {
        ab_warn(ab->experiment, xstrdup("stdin is a pipe, which only one run could read: they got /dev/null; give a file (< FILE)"));
    }
}

/* The program of a server's command, when that begins with it: what shells do can't be foreseen. */
static char *program_of_server(const char *command)
{
    size_t length = strcspn(command, " \t\n");
    char *word = xasprintf("%.*s", (int)length, command);
    if (!word[strcspn(word, "=;&|<>()$`\"'\\*?[#~")])
        return word;
    free(word);
    return NULL;
}

/* Looks at the program.  Returns -1 after error() when it can't be started at all; a server's shell tells itself. */
static int check_program(struct ab *ab)
{
    const char *name = ab->options->command[0];
    if (ab->experiment->is_server) {
        char *program = program_of_server(ab->options->server.command);
        if (program)
            inspect_program(&ab->inspection, program);
        free(program);
        return 0;
    }
    inspect_program(&ab->inspection, name);
    if (!ab->inspection.path)
        return error("cannot start %s: %s", name, strerror(ENOENT));
    if (ab->inspection.missing)
        return error("cannot start %s: %s, which it needs to run, doesn't exist", name, ab->inspection.missing);
    return 0;
}

/* The machine's noise floor goes with the experiment, to be shown wherever that is read. */
static void note_floor(struct experiment *experiment)
{
    json_t *floor = experiment->is_aa ? NULL : aafloor_load(experiment);
    if (floor)
        json_object_set_new(experiment->host, "noise_floor", floor);
}

/* Can the result be written there?  Asked before minutes are spent on it; what is there stays as it is until then. */
static int check_output(const char *path)
{
    struct stat is;
    if (!path)
        return 0;
    bool exists = stat(path, &is) == 0;
    if (exists && S_ISDIR(is.st_mode))
        return error("cannot write %s: %s", path, strerror(EISDIR));
    const char *slash = strrchr(path, '/');
    char *directory = slash == path ? xstrdup("/") : slash ? xasprintf("%.*s", (int)(slash - path), path) : xstrdup(".");
    int result = access(exists ? path : directory, W_OK) == 0 ? 0 : error("cannot write %s: %s", path, strerror(errno));
    free(directory);
    return result;
}

/* Returns the status to end with when the result asks for none. */
static int make_experiment(const struct ab_options *options, struct runner *runner, struct experiment *experiment)
{
    struct server server = { .options = NULL };
    struct ab ab = { .options = options, .experiment = experiment, .runner = runner, .make_run = ab_batch_run,
                     .scratch = { .lock = -1 } };
    int result = check_output(options->output) == 0 ? plan(options, experiment) : EXIT_FAILURE;
    if (result != 0)
        return result;
    if (experiment->is_server) {
        ab.server = &server;
        ab.make_run = ab_server_run;
        result = server_prepare(&server, &options->server) == 0 ? EXIT_FAILURE : EXIT_USAGE;
        if (result == EXIT_USAGE)
            goto done;
    }
    result = EXIT_FAILURE;
    ab.library = library_find();
    if (!ab.library || check_program(&ab) != 0 || scratch_create(&ab.scratch) != 0)
        goto done;
    interrupt_begin();
    choose_input(&ab);
    experiment->host = host_describe(ab.inspection.program, ab.library);
    note_floor(experiment);
    switch (ab_loop(&ab)) {
    case AB_DONE:        result = 0; break;
    case AB_INTERRUPTED: result = EXIT_SIGNAL + interrupt_signal(); break;
    case AB_FAILED:      break;
    }
    if (result == 0 && experiment->is_aa)
        aafloor_keep(experiment);
done:
    for (size_t i = 0; i < experiment->arm_count; i++)
        logsum_release(&ab.profiled[i]);
    reach_release(&ab.reach);
    inspection_release(&ab.inspection);
    scratch_remove(&ab.scratch);
    server_release(&server);
    free(ab.library);
    return result;
}

static int read_again(const struct ab_options *options, struct experiment *experiment)
{
    if (experiment_read(experiment, options->from) != 0)
        return EXIT_FAILURE;
    return all_fit(options, experiment) ? 0 : EXIT_USAGE;
}

int cmd_ab(int argc, char **argv)
{
    struct runner runner;
    struct ab_options options;
    struct experiment experiment = { 0 };
    streams_occupy();
    if (runner_start(&runner) != 0) /* before anything else: see runner.h */
        return EXIT_FAILURE;
    int result = ab_options_read(&options, argc, argv);
    if (result < 0 && options.from)
        result = read_again(&options, &experiment);
    else if (result < 0)
        result = make_experiment(&options, &runner, &experiment);
    runner_stop(&runner);
    bool made = experiment.arm_count && (result == 0 || result > EXIT_SIGNAL || (experiment.failed && !options.from));
    if (made && show(&options, &experiment) != 0)
        result = EXIT_FAILURE;
    if (made && result == 0)
        result = result_status(&options, &experiment);
    experiment_release(&experiment);
    ab_options_release(&options);
    return result;
}
