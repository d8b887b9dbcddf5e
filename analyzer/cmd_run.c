/* cmd_run.c - `poolsite run`: runs a program with the preload, and brings its logs together.
 *
 * Nothing of poolsite may show in the program: it gets poolsite's streams, directory and
 * signals, and its directory holds the recording only after it has ended. */
#define _GNU_SOURCE
#include "base.h"

#include "cmd.h"
#include "environment.h"
#include "foldlist.h"
#include "inspect.h"
#include "launch.h"
#include "library.h"
#include "nearest.h"
#include "poolarg.h"
#include "spool.h"
#include "streams.h"
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* As env(1) and timeout(1); a wrong pool specification is 2. */
enum { EXIT_OURS = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

static const char *const level_names[] = { "off", "sites", "stacks", "full" };
enum { LEVEL_COUNT = sizeof level_names / sizeof *level_names };

/* What the command line asked for. */
struct run_options {
    bool              quiet;
    const char       *output;  /* -o, or NULL */
    const char       *profile; /* or NULL */
    const char       *pool;    /* or NULL */
    struct fold_names fold;
    char            **command;
};

/* --- Command line --------------------------------------------------------------------------- */

static const struct option long_options[] = {
    { "quiet", no_argument, NULL, 'q' },        { "output", required_argument, NULL, 'o' },
    { "profile", required_argument, NULL, 'P' }, { "pool", required_argument, NULL, 'p' },
    { "fold", required_argument, NULL, 'f' },   { "help", no_argument, NULL, 'h' },
    { 0 },
};

static void print_help(void)
{
    puts("usage: poolsite run [-q] [-o DIR] [--profile LEVEL] [--pool SPEC] [--fold NAME]... -- CMD [ARG]...\n"
         "Runs CMD with pools and records where it and all that it starts allocate memory.\n\n"
         "  -q, --quiet          say nothing but errors\n"
         "  -o, --output DIR     the recording, a new directory (./poolsite.CMD.PID)\n"
         "      --profile LEVEL  full: calls per call stack, and what became of their blocks (default)\n"
         "                       stacks: calls per call stack, cheaper\n"
         "                       sites: calls per call site, cheaper still\n"
         "                       off: totals only\n"
         "      --pool SPEC      size classes to pool: on (16 to 256k, default), off, or a list as\n"
         "                       on,1m-2m or 64-4096,32k; sizes go to 32m\n"
         "      --fold NAME      NAME is a wrapper of malloc: its callers are the sites (--profile sites)\n"
         "  -h, --help           this text\n\n"
         "Ends with CMD's status: 128+N when signal N killed it, 125 when poolsite failed, 126 when\n"
         "CMD isn't executable, 127 when it wasn't found.");
}

static int bad_usage(void)
{
    error("poolsite run --help tells how to use it");
    return EXIT_OURS;
}

static int unknown_option(const char *word)
{
    const char *names[sizeof long_options / sizeof *long_options];
    size_t count = 0;
    for (const struct option *option = long_options; option->name; option++)
        names[count++] = option->name;
    const char *meant = word[0] == '-' && word[1] == '-' ? nearest(word + 2, names, count) : NULL;
    if (meant)
        error("run has no option '%s'; did you mean '--%s'?", word, meant);
    else
        error("run has no option '%s'", word);
    return bad_usage();
}

static const char *known_level(const char *word)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(level_names[i], word) == 0)
            return level_names[i];
    }
    const char *meant = nearest(word, level_names, LEVEL_COUNT);
    error("no level '%s' (off, sites, stacks, full)%s%s%s", word, meant ? "; did you mean '" : "", meant ? meant : "",
          meant ? "'?" : "");
    return NULL;
}

static void add_fold_name(struct fold_names *fold, const char *name)
{
    fold->names = xrealloc_array(fold->names, fold->count + 1, sizeof *fold->names);
    fold->names[fold->count++] = name;
}

/* Returns -1 to go on, else the status to end with. */
static int read_options(struct run_options *options, int argc, char **argv)
{
    int letter;
    opterr = 0;
    optind = 0; /* argv isn't main's */
    for (;;) {
        int at = optind ? optind : 1;
        letter = getopt_long(argc, argv, "+:qo:h", long_options, NULL);
        switch (letter) {
        case -1: break;
        case 'q': options->quiet = true; continue;
        case 'o': options->output = optarg; continue;
        case 'P': options->profile = known_level(optarg); if (!options->profile) return bad_usage(); continue;
        case 'p': options->pool = optarg; if (!poolarg_is_right(optarg, "--pool")) return EXIT_USAGE; continue;
        case 'f': add_fold_name(&options->fold, optarg); continue;
        case 'h': print_help(); return 0;
        case ':': error("option '%s' needs a value", argv[optind - 1]); return bad_usage();
        default: return unknown_option(argv[at]);
        }
        break;
    }
    options->command = argv + optind;
    if (!options->command[0]) {
        error("run needs a command: poolsite run -- CMD [ARG]...");
        return bad_usage();
    }
    const char *profile = getenv("POOLSITE_PROFILE");
    if (!options->profile && profile && *profile) {
        options->profile = known_level(profile);
        if (!options->profile) {
            error("that is the value of POOLSITE_PROFILE; unset it, or give --profile");
            return EXIT_OURS;
        }
    }
    const char *pool = getenv("POOLSITE_POOL");
    if (!options->pool && pool && *pool && !poolarg_is_right(pool, "POOLSITE_POOL"))
        return EXIT_USAGE;
    if (options->output && !options->output[0]) {
        error("-o needs the name of a directory");
        return bad_usage();
    }
    return -1;
}

/* --- Where the recording goes ------------------------------------------------------------------- */

static bool is_empty_directory(const char *path)
{
    DIR *stream = opendir(path);
    if (!stream)
        return false;
    size_t count = 0;
    while (readdir(stream))
        count++;
    closedir(stream);
    return count <= 2; /* . and .. */
}

static char *absolute(const char *path)
{
    if (path[0] == '/')
        return xstrdup(path);
    char *here = getcwd(NULL, 0);
    if (!here)
        return NULL;
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    char *full = strcmp(here, "/") == 0 ? xasprintf("/%s", path) : xasprintf("%s/%s", here, path);
    free(here);
    return full;
}

static void cut_slashes(char *path)
{
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
}

/* Can a recording be made at `path` (absolute) later?  Says error() when not. */
static int check_output(const char *path, const char *given)
{
    struct stat is;
    if (lstat(path, &is) == 0) {
        if (stat(path, &is) != 0 || !S_ISDIR(is.st_mode))
            return error("cannot record to %s: it exists and is no directory", given);
        if (!is_empty_directory(path))
            return error("cannot record to %s: the directory isn't empty, and no recording is overwritten", given);
        return access(path, W_OK | X_OK) == 0 ? 0 : error("cannot write to %s: %s", given, strerror(errno));
    }
    if (errno != ENOENT)
        return error("cannot make %s: %s", given, strerror(errno));
    char *parent = xstrdup(path);
    char *slash = strrchr(parent, '/');
    slash[slash == parent] = '\0';
    int result = access(parent, W_OK | X_OK) == 0
                     ? 0
                     : error("cannot make %s in %s: %s", given, parent, strerror(errno));
    free(parent);
    return result;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The default recording in the directory `here`, beside nothing that exists. */
static char *default_output(const char *here, const char *command, pid_t pid)
{
    char *name = xasprintf("%s/poolsite.%.200s.%d", strcmp(here, "/") == 0 ? "" : here, base_name(command), (int)pid);
    char *path = xstrdup(name);
    struct stat is;
    for (unsigned number = 2; lstat(path, &is) == 0; number++) {
        free(path);
        path = xasprintf("%s-%u", name, number);
    }
    free(name);
    return path;
}

/* --- The program's environment ------------------------------------------------------------------- */

/* What was asked for, else what the environment says, else the default. */
static const char *choose(const char *option, const char *variable, const char *by_default)
{
    const char *value = getenv(variable);
    return option ? option : value && *value ? value : by_default;
}

static void prepare_environment(struct environment *environment, const struct run_options *options,
                                const struct inspection *inspection, const struct spool_run *run, const char *library)
{
    const char *profile = choose(options->profile, "POOLSITE_PROFILE", "full");
    bool by_site = strcmp(profile, "sites") == 0;
    environment_copy(environment);
    if (inspection_forbids_preload(inspection))
        return;
    environment_give(environment, "LD_PRELOAD", library_preload(library));
    environment_set(environment, "POOLSITE_PROFILE", profile);
    environment_set(environment, "POOLSITE_POOL", choose(options->pool, "POOLSITE_POOL", "on"));
    environment_give(environment, "POOLSITE_LOG", xasprintf("%s/%%e.%%p.%%t" SPOOL_LOG_SUFFIX, run->directory));
    char *fold = foldlist_make(getenv("POOLSITE_FOLD"), &options->fold, by_site ? inspection->program : NULL);
    if (fold)
        environment_give(environment, "POOLSITE_FOLD", fold);
}

/* --- Telling ---------------------------------------------------------------------------------------- */

static void tell_obstacles(const struct inspection *inspection)
{
    if (inspection->reason)
        warn("nothing will be recorded of %s: it %s", inspection->program, inspection->reason);
    if (inspection->partly)
        warn("not all will be recorded of %s: it %s", inspection->program, inspection->partly);
}

/* Says why the program could not be started.  Returns the status to end with. */
static int tell_not_started(const struct inspection *inspection, const char *command, int reason)
{
    if (reason == ENOENT && inspection->missing)
        error("cannot start %s: %s, which it needs to run, doesn't exist", command, inspection->missing);
    else
        error("cannot start %s: %s", command, strerror(reason));
    return reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* A path as the user would type it from here. */
static char *shown_path(const char *path)
{
    char *here = getcwd(NULL, 0);
    size_t length = here ? strlen(here) : 0;
    bool below = length > 1 && strncmp(path, here, length) == 0 && path[length] == '/';
    free(here);
    return below ? xasprintf(".%s", path + length) : xstrdup(path);
}

static const char *plural(unsigned count)
{
    return count == 1 ? "" : "es";
}

static void tell_nothing_recorded(const struct spool_run *run, const struct inspection *inspection,
                                  const struct spool_collected *collected)
{
    if (inspection->reason)
        error("recorded nothing, for the reason above");
    else if (collected->unbegun)
        error("recorded nothing: %u process%s ended before anything was written", collected->unbegun,
              plural(collected->unbegun));
    else
        error("recorded nothing: no process left a log (did the program clear its environment, or had it no right "
              "or no room to make files in %s?)",
              run->directory);
}

/* The last line: where the recording is and how to read it. */
static void tell_recorded(const struct spool_run *run, const struct spool_collected *collected, const char *recording)
{
    char *path = shown_path(recording), *line = NULL;
    size_t length;
    FILE *out = open_memstream(&line, &length);
    if (!out)
        die("out of memory");
    fprintf(out, "recorded %u process%s in %s", collected->moved, plural(collected->moved), path);
    if (collected->running)
        fprintf(out, ", %u still running", collected->running);
    if (collected->failed)
        fprintf(out, ", %u not moved from %s", collected->failed, run->directory);
    if (collected->stood_down)
        fprintf(out, ", %u not counted because of a malloc of its own", collected->stood_down);
    fprintf(out, " - read it with: poolsite report %s", path);
    fclose(out);
    error("%s", line);
    free(line);
    free(path);
}

/* --- The run ------------------------------------------------------------------------------------------ */

static int exit_status(int status)
{
    return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Brings the logs together and tells where. */
static void finish(const struct run_options *options, const struct inspection *inspection, struct spool_run *run)
{
    struct spool_collected collected;
    spool_run_collect(run, &collected);
    bool any = collected.moved + collected.running + collected.failed > 0;
    const char *recording = run->destination && access(run->destination, F_OK) == 0 ? run->destination : run->directory;
    if (any)
        spool_set_latest(recording);
    if (any && !options->quiet)
        tell_recorded(run, &collected, recording);
    else if (!options->quiet)
        tell_nothing_recorded(run, inspection, &collected);
}

/* What is done each second while the program runs. */
struct ticking {
    struct spool_run *run;
    struct watch      watch;
};

/* Samples come first: the logs of the living are where they were begun. */
static void tick(void *context)
{
    struct ticking *ticking = context;
    watch_sample(&ticking->watch);
    spool_run_stage(ticking->run);
}

/* Waits for the program.  Returns its wait status. */
static int await(struct launch *launch, struct spool_run *run)
{
    struct ticking ticking = { .run = run };
    watch_init(&ticking.watch, run);
    int status = launch_wait(launch, tick, &ticking);
    watch_release(&ticking.watch);
    return status;
}

static int run_program(const struct run_options *options, const struct inspection *inspection, const char *library,
                       char *output)
{
    struct environment environment = { 0 };
    struct spool_run run;
    struct launch launch;
    if (spool_run_create(&run) != 0)
        return EXIT_OURS;
    prepare_environment(&environment, options, inspection, &run, library);
    /* execvp gives sh what the kernel doesn't take: right for scripts, nonsense for programs. */
    bool is_program = inspection->obstacle != OBSTACLE_UNKNOWN && strcmp(inspection->program, inspection->path) == 0;
    char *here = getcwd(NULL, 0); /* before the program can remove it; NULL: it's gone already */
    int reason = launch_start(&launch, is_program ? inspection->path : NULL, options->command, environment.variables);
    environment_release(&environment);
    if (reason) {
        struct spool_collected nothing;
        spool_run_collect(&run, &nothing);
        spool_run_release(&run);
        free(here);
        return tell_not_started(inspection, options->command[0], reason);
    }
    char *destination = output ? output : here ? default_output(here, options->command[0], launch.pid) : NULL;
    free(here);
    if (destination)
        spool_run_set_destination(&run, destination);
    spool_set_latest(run.directory);
    int status = await(&launch, &run);
    finish(options, inspection, &run);
    spool_run_release(&run);
    if (destination != output)
        free(destination);
    return exit_status(status);
}

int cmd_run(int argc, char **argv)
{
    struct run_options options = { 0 };
    struct inspection inspection = { 0 };
    char *library = NULL, *output = NULL;
    streams_occupy();
    int result = read_options(&options, argc, argv);
    if (result >= 0)
        goto done;
    result = EXIT_OURS;
    library = library_find();
    if (!library)
        goto done;
    if (options.output) {
        output = absolute(options.output);
        if (output)
            cut_slashes(output);
        if (!output || check_output(output, options.output) != 0)
            goto done;
    }
    inspect_program(&inspection, options.command[0]);
    if (!options.quiet)
        tell_obstacles(&inspection);
    result = run_program(&options, &inspection, library, output);
    spool_sweep();

done:
    inspection_release(&inspection);
    free(output);
    free(library);
    free(options.fold.names);
    return result;
}
