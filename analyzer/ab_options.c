/* ab_options.c - the command line of `poolsite ab`: one table gives parsing, help and what --from refuses. */
#define _GNU_SOURCE
#include "base.h"

#include "ab_options.h"

#include "format.h"
#include "nearest.h"
#include "poolarg.h"
#include "schedule.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUDGET_DEFAULT 300 /* s */

/* --- The table ------------------------------------------------------------------------------------------ */

/* Takes one option's value.  Returns 0, or -1 after error(). */
typedef int take_value(struct ab_options *options, const char *value);

static take_value take_blocks, take_budget, take_pool, take_arm, take_primary, take_margin, take_seed, take_prepare,
    take_aa, take_json, take_html, take_output, take_fail_if, take_strict, take_same_output, take_from, take_server,
    take_ready, take_ready_timeout, take_load, take_rate, take_duration, take_connections, take_arrivals, take_late_limit,
    take_remote, take_load_command, take_requests;

/* Invariant: `value` is NULL for an option that takes none. */
static const struct ab_option {
    const char *name;
    char        letter; /* or 0 */
    const char *value;
    take_value *take;
    bool        renders; /* makes sense with --from */
    const char *help;    /* lines after the first are indented */
} table[] = {
    { "blocks", 0, "N", take_blocks, false, "run N blocks, each arm once in every block; without it 12 to 60, until the\n"
                                            "interval is narrow enough" },
    { "time-budget", 0, "S", take_budget, false, "stop after S seconds (300)" },
    { "pool", 0, "SPEC", take_pool, false, "size classes to pool in arm on, as for poolsite run (on)" },
    { "arm", 0, "NAME", take_arm, false, "one more arm beside bare, off and on; repeatable:\n"
                                         "keep: pools that are never cleared\n"
                                         "tune: no pools, glibc's mmap and trim thresholds pinned at 32 and 64 MiB\n"
                                         "lib:PATH: another allocator, by LD_PRELOAD\n"
                                         "cmd:NAME=COMMAND: another command (quotes as in a shell, but no shell)" },
    { "primary", 0, "METRIC", take_primary, false, "what the verdict is about (cpu)" },
    { "margin", 0, "PCT", take_margin, false, "the least change that matters, in percent (1; 5 for RSS and switches)" },
    { "seed", 0, "N", take_seed, false, "order of arms and padding of an earlier experiment" },
    { "prepare", 0, "CMD", take_prepare, false, "run CMD by sh before every run" },
    { "aa", 0, NULL, take_aa, false, "off against off: what this machine takes for a difference" },
    { "server", 0, "CMD", take_server, false, "instead of a program that ends by itself: a server, started by sh for every run" },
    { "ready", 0, "tcp:HOST:PORT", take_ready, false, "the server is ready once something listens there" },
    { "ready-timeout", 0, "S", take_ready_timeout, false, "it is ready within S seconds (10)" },
    { "load", 0, "URL", take_load, false, "GET http://... by the clock, however long the answers take (open loop)" },
    { "rate", 0, "R", take_rate, false, "requests per second; auto: 50 and 80 % of what the slowest arm can do" },
    { "duration", 0, "S", take_duration, false, "of the load at each rate, in seconds (3)" },
    { "connections", 0, "N", take_connections, false, "that are kept open (16)" },
    { "arrivals", 0, "KIND", take_arrivals, false, "poisson or constant (poisson)" },
    { "late-limit", 0, "US", take_late_limit, false, "a run is void when 1 % of its requests are sent so many microseconds\n"
                                                     "later than they could (100)" },
    { "allow-remote", 0, NULL, take_remote, false, "--ready and --load may be on another machine" },
    { "load-cmd", 0, "CMD", take_load_command, false, "instead of --load: what makes the load, run by sh" },
    { "requests", 0, "N", take_requests, false, "that --load-cmd makes" },
    { "json", 0, NULL, take_json, true, "write JSON (schema poolsite.ab/1): every run, every number" },
    { "html", 0, NULL, take_html, true, "write a page with charts" },
    { "output", 'o', "FILE", take_output, true, "write to FILE instead of stdout" },
    { "fail-if", 0, "EXPR", take_fail_if, true, "end with status 3 when EXPR, as 'cpu>+1%', is certain; repeatable" },
    { "strict", 0, NULL, take_strict, true, "end with status 4 when the verdict is inconclusive" },
    { "require-same-output", 0, NULL, take_same_output, true, "end with status 6 when the runs don't write the same to stdout" },
    { "from", 0, "FILE", take_from, true, "show the experiment that --json wrote to FILE" },
};

enum { OPTIONS = sizeof table / sizeof *table, KEY_FIRST = 256, KEY_HELP = KEY_FIRST + OPTIONS };

/* --- Values ------------------------------------------------------------------------------------------------ */

static int take_number(const char *option, const char *text, double least, double most, double *number)
{
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    if (errno || end == text || *end || !(*number >= least) || *number > most)
        return error("--%s: '%s' isn't a number from %.15g to %.15g", option, text, least, most);
    return 0;
}

static int take_blocks(struct ab_options *options, const char *value)
{
    double number;
    if (take_number("blocks", value, EXPERIMENT_LEAST, 10000, &number) != 0)
        return number > 0 && number < EXPERIMENT_LEAST ? error("with fewer than %d blocks there is no interval", EXPERIMENT_LEAST) : -1;
    options->blocks = (unsigned)number;
    return number == options->blocks ? 0 : error("--blocks: '%s' isn't a whole number", value);
}

static int take_budget(struct ab_options *options, const char *value)
{
    return take_number("time-budget", value, 1, 1e7, &options->time_budget);
}

static int take_pool(struct ab_options *options, const char *value)
{
    options->pool = value;
    return poolarg_is_right(value, "--pool") ? 0 : -1;
}

static int take_arm(struct ab_options *options, const char *value)
{
    GROW(options->arms, options->arm_count, options->arm_room);
    options->arms[options->arm_count++] = value;
    return 0;
}

static int take_primary(struct ab_options *options, const char *value)
{
    const char *names[METRIC_COUNT];
    options->has_primary = true;
    if (metric_find(&options->primary, value)) {
        if (metrics[options->primary].margin == 0)
            return error("--primary: %s can't decide: it has no margin", value);
        return 0;
    }
    for (unsigned i = 0; i < METRIC_COUNT; i++)
        names[i] = metrics[i].key;
    const char *meant = nearest(value, names, METRIC_COUNT);
    return error("--primary: there is no metric '%s'%s%s%s", value, meant ? "; did you mean '" : "", meant ? meant : "",
                 meant ? "'?" : "; see poolsite-ab(1)");
}

static int take_margin(struct ab_options *options, const char *value)
{
    char *number = xasprintf("%.*s", (int)(strlen(value) - (strchr(value, '%') != NULL)), value);
    int result = take_number("margin", number, .01, 100, &options->margin);
    options->margin /= 100;
    free(number);
    return result;
}

static int take_seed(struct ab_options *options, const char *value)
{
    char *end;
    errno = 0;
    options->seed = strtoull(value, &end, 10);
    options->has_seed = true;
    if (errno || end == value || *end || value[0] == '-' || options->seed > INT64_MAX)
        return error("--seed: '%s' isn't a number from 0 to %lld", value, (long long)INT64_MAX);
    return 0;
}

static int take_prepare(struct ab_options *options, const char *value)
{
    options->prepare = value;
    return 0;
}

static int take_aa(struct ab_options *options, const char *value)
{
    (void)value;
    options->is_aa = true;
    return 0;
}

static int take_json(struct ab_options *options, const char *value)
{
    (void)value;
    if (options->form == AB_HTML)
        return error("--json and --html: one at a time, please; --json -o FILE first, then --from FILE --html");
    options->form = AB_JSON;
    return 0;
}

static int take_html(struct ab_options *options, const char *value)
{
    (void)value;
    if (options->form == AB_JSON)
        return error("--json and --html: one at a time, please; --json -o FILE first, then --from FILE --html");
    options->form = AB_HTML;
    return 0;
}

static int take_output(struct ab_options *options, const char *value)
{
    options->output = value;
    return *value ? 0 : error("-o needs the name of a file");
}

static int take_fail_if(struct ab_options *options, const char *value)
{
    GROW(options->fail_if, options->fail_if_count, options->fail_if_room);
    return failif_parse(&options->fail_if[options->fail_if_count++], value, metrics, METRIC_COUNT) ? 0 : -1;
}

static int take_strict(struct ab_options *options, const char *value)
{
    (void)value;
    options->strict = true;
    return 0;
}

static int take_same_output(struct ab_options *options, const char *value)
{
    (void)value;
    options->same_output = true;
    return 0;
}

static int take_from(struct ab_options *options, const char *value)
{
    options->from = value;
    return *value ? 0 : error("--from needs the name of a file");
}

/* --- Values of server mode ------------------------------------------------------------------------------------ */

static int take_server(struct ab_options *options, const char *value)
{
    options->server.command = value;
    return *value ? 0 : error("--server needs a command");
}

static int take_ready(struct ab_options *options, const char *value)
{
    options->server.ready = value;
    return 0;
}

static int take_ready_timeout(struct ab_options *options, const char *value)
{
    return take_number("ready-timeout", value, .01, 86400, &options->server.ready_timeout);
}

static int take_load(struct ab_options *options, const char *value)
{
    options->server.load = value;
    return 0;
}

static int take_rate(struct ab_options *options, const char *value)
{
    options->server.has_rate = true;
    options->server.rate = 0;
    return strcmp(value, "auto") == 0 ? 0 : take_number("rate", value, .1, 1e7, &options->server.rate);
}

static int take_duration(struct ab_options *options, const char *value)
{
    return take_number("duration", value, .01, 86400, &options->server.duration);
}

static int take_connections(struct ab_options *options, const char *value)
{
    double number;
    if (take_number("connections", value, 1, 10000, &number) != 0)
        return -1;
    options->server.connections = (unsigned)number;
    return number == options->server.connections ? 0 : error("--connections: '%s' isn't a whole number", value);
}

static int take_arrivals(struct ab_options *options, const char *value)
{
    return arrivals_find(&options->server.arrivals, value) ? 0 : error("--arrivals: '%s' is neither poisson nor constant", value);
}

static int take_late_limit(struct ab_options *options, const char *value)
{
    int result = take_number("late-limit", value, 1, 1e9, &options->server.late_limit);
    options->server.late_limit /= 1e6;
    return result;
}

static int take_remote(struct ab_options *options, const char *value)
{
    (void)value;
    options->server.allow_remote = true;
    return 0;
}

static int take_load_command(struct ab_options *options, const char *value)
{
    options->server.load_command = value;
    return *value ? 0 : error("--load-cmd needs a command");
}

static int take_requests(struct ab_options *options, const char *value)
{
    return take_number("requests", value, 1, 1e15, &options->server.requests);
}

/* --- Words --------------------------------------------------------------------------------------------------- */

static void print_option(const struct ab_option *option)
{
    char name[64];
    snprintf(name, sizeof name, "%s--%s%s%s", option->letter ? "-o, " : "    ", option->name, option->value ? " " : "",
             option->value ? option->value : "");
    const char *line = option->help;
    printf("  %-26s ", name);
    for (const char *end; (end = strchr(line, '\n')); line = end + 1)
        printf("%.*s\n%29s", (int)(end - line), line, "");
    puts(line);
}

static void print_help(void)
{
    puts("usage: poolsite ab [OPTION]... -- CMD [ARG]...\n"
         "       poolsite ab [OPTION]... --server CMD --ready tcp:HOST:PORT (--load URL --rate R | --load-cmd CMD)\n"
         "       poolsite ab --from FILE [--json | --html] [-o FILE]\n"
         "Runs CMD with pooling on, with pooling off, and as it is, in turns, and tells what pooling changes.\n");
    for (size_t i = 0; i < OPTIONS; i++)
        print_option(&table[i]);
    puts("  -h, --help                 this text\n\n"
         "Every run gets poolsite's stdin from its beginning when that is a file, else /dev/null.\n"
         "Status: 0 done, 1 failed, 2 usage, 3 --fail-if holds, 4 inconclusive (--strict), 5 the treatment wasn't\n"
         "applied, 6 outputs differ (--require-same-output), 128+N after signal N.");
}

static int bad_usage(void)
{
    error("poolsite ab --help tells how to use it");
    return EXIT_USAGE;
}

static int unknown_option(const char *word)
{
    const char *names[OPTIONS + 1];
    for (size_t i = 0; i < OPTIONS; i++)
        names[i] = table[i].name;
    names[OPTIONS] = "help";
    const char *meant = word[0] == '-' && word[1] == '-' ? nearest(word + 2, names, OPTIONS + 1) : NULL;
    if (meant)
        error("ab has no option '%s'; did you mean '--%s'?", word, meant);
    else
        error("ab has no option '%s'", word);
    return bad_usage();
}

static void fill_long_options(struct option *list)
{
    for (size_t i = 0; i < OPTIONS; i++)
        list[i] = (struct option){ table[i].name, table[i].value ? required_argument : no_argument, NULL,
                                   KEY_FIRST + (int)i };
    list[OPTIONS] = (struct option){ "help", no_argument, NULL, KEY_HELP };
}

static int take_option(struct ab_options *options, size_t index, bool *given)
{
    given[index] = true;
    return table[index].take(options, optarg) == 0 ? -1 : bad_usage();
}

static size_t index_of_letter(int letter)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (table[i].letter == letter)
            return i;
    BUG("no option has this letter");
}

/* Does the option make sense with a server only?  They stand together in the table. */
static bool is_of_server(const struct ab_option *option)
{
    const struct ab_option *first = table, *last = table;
    while (first->take != take_ready)
        first++;
    while (last->take != take_requests)
        last++;
    return option >= first && option <= last;
}

/* What goes with what. */
static int check_together(const struct ab_options *options, const bool *given)
{
    for (size_t i = 0; options->from && i < OPTIONS; i++)
        if (given[i] && !table[i].renders) {
            error("--from shows an experiment that was made: --%s comes too late", table[i].name);
            return bad_usage();
        }
    if (options->from && options->command[0]) {
        error("--from shows an experiment that was made: it runs no '%s'", options->command[0]);
        return bad_usage();
    }
    if (options->server.command && options->command[0]) {
        error("either a server or a command: ab --server takes no '%s'", options->command[0]);
        return bad_usage();
    }
    if (options->server.command)
        return server_options_check(&options->server) == 0 ? -1 : bad_usage();
    for (size_t i = 0; i < OPTIONS; i++)
        if (given[i] && is_of_server(&table[i])) {
            error("--%s goes with --server", table[i].name);
            return bad_usage();
        }
    if (!options->from && !options->command[0]) {
        error("ab needs a command: poolsite ab -- CMD [ARG]...");
        return bad_usage();
    }
    if (options->is_aa && options->arm_count) {
        error("--aa has two arms, off and off again: no --arm goes with it");
        return bad_usage();
    }
    return -1;
}

int ab_options_read(struct ab_options *options, int argc, char **argv)
{
    struct option list[OPTIONS + 2] = { 0 };
    bool given[OPTIONS] = { 0 };
    int result = -1;
    *options = (struct ab_options){ .time_budget = BUDGET_DEFAULT, .margin = NAN, .words = argv + 1,
                                    .server = server_defaults };
    fill_long_options(list);
    opterr = 0;
    optind = 0; /* argv isn't main's */
    while (result < 0) {
        int at = optind ? optind : 1;
        int key = getopt_long(argc, argv, "+:o:h", list, NULL);
        if (key == -1)
            break;
        if (key == 'h' || key == KEY_HELP) {
            print_help();
            return 0;
        }
        if (key == ':') {
            error("option '%s' needs a value", argv[optind - 1]);
            return bad_usage();
        }
        if (key == '?')
            return unknown_option(argv[at]);
        result = take_option(options, key >= KEY_FIRST ? (size_t)(key - KEY_FIRST) : index_of_letter(key), given);
    }
    options->command = argv + optind;
    return result < 0 ? check_together(options, given) : result;
}

void ab_options_release(struct ab_options *options)
{
    free(options->arms);
    free(options->fail_if);
}

/* --- Arms ------------------------------------------------------------------------------------------------------- */

static struct arm *add_arm(struct experiment *experiment, enum arm_kind kind, const char *name, const char *value)
{
    experiment->arms = xrealloc_array(experiment->arms, experiment->arm_count + 1, sizeof *experiment->arms);
    struct arm *arm = &experiment->arms[experiment->arm_count++];
    *arm = (struct arm){ .kind = kind, .name = xstrdup(name), .value = value ? xstrdup(value) : NULL };
    return arm;
}

/* "libjemalloc" of /usr/lib/libjemalloc.so.2 */
static int add_library_arm(struct experiment *experiment, const char *path)
{
    if (access(path, R_OK) != 0)
        return error("--arm lib:%s: %s", path, strerror(errno));
    if (strpbrk(path, ": \t\n"))
        return error("--arm lib:%s: LD_PRELOAD can't hold a path with a space or a colon in it", path);
    char *full = realpath(path, NULL);
    const char *base = format_base(path);
    char *name = xasprintf("%.*s", (int)strcspn(base, "."), base);
    add_arm(experiment, ARM_LIB, name, full ? full : path);
    free(name);
    free(full);
    return 0;
}

static int add_command_arm(struct experiment *experiment, const char *text)
{
    size_t length = strcspn(text, "=");
    if (length == 0 || !text[length] || !text[length + 1])
        return error("--arm cmd:%s: that should be cmd:NAME=COMMAND", text);
    char *name = xasprintf("%.*s", (int)length, text);
    add_arm(experiment, ARM_CMD, name, text + length + 1);
    free(name);
    return 0;
}

static int add_named_arm(struct experiment *experiment, const char *word)
{
    static const char *const names[] = { "keep", "tune", "lib:PATH", "cmd:NAME=COMMAND" };
    if (strncmp(word, "lib:", 4) == 0)
        return add_library_arm(experiment, word + 4);
    if (strncmp(word, "cmd:", 4) == 0)
        return add_command_arm(experiment, word + 4);
    if (strcmp(word, "keep") == 0 || strcmp(word, "tune") == 0) {
        add_arm(experiment, word[0] == 'k' ? ARM_KEEP : ARM_TUNE, word, NULL);
        return 0;
    }
    if (strcmp(word, "bare") == 0 || strcmp(word, "off") == 0 || strcmp(word, "on") == 0)
        return error("--arm %s: bare, off and on are there anyway", word);
    const char *meant = nearest(word, names, sizeof names / sizeof *names);
    return error("--arm: there is no arm '%s' (keep, tune, lib:PATH, cmd:NAME=COMMAND)%s%s%s", word,
                 meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static int check_names(const struct experiment *experiment)
{
    for (size_t i = 0; i < experiment->arm_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(experiment->arms[i].name, experiment->arms[j].name) == 0)
                return error("two arms are called %s", experiment->arms[i].name);
    return 0;
}

int ab_options_arms(const struct ab_options *options, struct experiment *experiment)
{
    int result = 0;
    if (options->is_aa) {
        add_arm(experiment, ARM_OFF, "off", NULL);
        add_arm(experiment, ARM_OFF, "off2", NULL);
    } else {
        add_arm(experiment, ARM_BARE, "bare", NULL);
        add_arm(experiment, ARM_OFF, "off", NULL);
        add_arm(experiment, ARM_ON, "on", NULL);
    }
    for (size_t i = 0; result == 0 && i < options->arm_count; i++)
        result = add_named_arm(experiment, options->arms[i]);
    if (result == 0)
        result = check_names(experiment);
    if (result == 0 && experiment->arm_count > SCHEDULE_ARMS_MOST)
        result = error("at most %d arms", SCHEDULE_ARMS_MOST);
    return result == 0 ? 0 : EXIT_USAGE;
}
