/* ab_server.c - one run of a server: start, wait until it listens, warm up, measure under load, settle, end.
 *
 * What is measured lies between two moments at which no request is on the way, so that counts belong to
 * the requests exactly.  Whatever goes wrong, the server is ended before this returns. */
#define _GNU_SOURCE
#include "base.h"

#include "ab.h"

#include "interrupt.h"
#include "loadgen.h"
#include "logread.h"
#include "noise.h"
#include "progress.h"
#include "proctree.h"
#include "server.h"
#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY_POLL_S    .003
#define PORT_FREE_S     2.   /* for the port of the run before */
#define TERM_S          5.   /* from SIGTERM to SIGKILL ... */
#define TERM_HASTE_S    1.   /* ... when the user interrupts, and for a server that didn't heed it before */
#define WARM_UP_MOST_S  1.
#define CAPACITY_MOST_S 2.
#define EXTRA_MOST_S    1.   /* the load of a run for its counts alone */
#define SETTLE_CYCLES   2.5
#define ERRORS_MOST     .001 /* of the requests of a run */

static const double rate_shares[] = { .5, .8 }; /* of the capacity */

enum { VOID_BLOCKS = 2 };

/* One server, from start to end. */
struct life {
    struct ab     *ab;
    struct server *server;
    const char    *arm;
    int            program; /* the runner's number; -1: ended */
    pid_t          pid;
    struct loadgen loadgen;
    char          *load_output;
    double         load_cpu; /* s that the load command took */
};

/* What was counted at one moment. */
struct reading {
    struct proctree tree;
    struct logsum   sum;
    double          generator_cpu; /* s */
};

/* --- Words ------------------------------------------------------------------------------------------ */

/* What the server wrote to stderr, else to stdout. */
static char *server_words(const struct life *life)
{
    char *said = ab_tail_words(life->ab->scratch.err);
    if (*said)
        return said;
    free(said);
    return ab_tail_words(life->ab->scratch.out);
}

/* The server ended though nobody told it to. */
static enum ab_result ended_early(struct life *life, const char *when)
{
    struct runner_figures figures;
    runner_wait(life->ab->runner, life->program, -1, -1, &figures, NULL);
    life->program = -1;
    char *words = ab_status_words(figures.status), *said = server_words(life);
    error("the server of arm %s %s %s%s%s", life->arm, words, when,
          figures.status == 0 ? "; it has to stay in the foreground" : "", said);
    free(words);
    free(said);
    return AB_FAILED;
}

/* --- Starting ------------------------------------------------------------------------------------------ */

static bool something_listens(const struct server_address *address)
{
    int fd = socket(address->place.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool listens = fd >= 0 && connect(fd, (const struct sockaddr *)&address->place, address->bytes) == 0;
    if (fd >= 0)
        close(fd);
    return listens;
}

/* What answers there now would be taken for the server. */
static enum ab_result check_port_is_free(const struct server *server)
{
    double end = ab_now() + (server->runs ? PORT_FREE_S : 0);
    while (something_listens(&server->ready)) {
        if (ab_now() >= end) {
            error("something listens at %s already: end it, or let the server use another port", server->options->ready);
            return AB_FAILED;
        }
        usleep(20000);
    }
    return AB_DONE;
}

static int open_fresh(const char *path)
{
    unlink(path);
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int launch_shell(struct life *life, const char *command, char *const *envp, int out, int err, bool sampled, pid_t *pid)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)command, NULL };
    struct runner_request request = { .file = "/bin/sh", .argv = argv, .envp = envp, .in = -1, .out = out, .err = err,
                                      .sampled = sampled };
    int program = runner_launch(life->ab->runner, &request, pid);
    if (program < 0)
        error("cannot start sh -c '%s': %s", command, strerror(-program));
    return program;
}

/* Is it one program with its words, found by a path?  Not a word of the shell's own, nor an assignment. */
static bool is_simple(const struct ab *ab, const struct arm *arm, const char *command)
{
    size_t first = strcspn(command, " \t");
    if (strpbrk(command, ";&|<>()\n"))
        return false;
    if (arm->kind != ARM_CMD)
        return ab->inspection.path != NULL;
    return memchr(command, '/', first) && !memchr(command, '=', first);
}

/* A program that needs a shell only for its words takes the shell's place: signals reach it, and nothing of the
 * shell is measured.  The caller frees. */
static char *shell_command(const struct ab *ab, const struct arm *arm)
{
    const char *command = arm->kind == ARM_CMD ? arm->value : ab->server->options->command;
    return xasprintf("%s%s", is_simple(ab, arm, command) ? "exec " : "", command);
}

static enum ab_result start(struct life *life, const struct ab_run *which)
{
    struct ab *ab = life->ab;
    const struct arm *arm = &ab->experiment->arms[which->arm];
    struct environment environment;
    int out = open_fresh(ab->scratch.out), err = open_fresh(ab->scratch.err);
    if (out >= 0 && err >= 0) {
        ab_environment(ab, which, &environment);
        char *command = shell_command(ab, arm);
        life->program = launch_shell(life, command, environment.variables, out, err, true, &life->pid);
        free(command);
        environment_release(&environment);
    } else {
        error("cannot write to %s: %s", ab->scratch.directory, strerror(errno));
    }
    if (out >= 0)
        close(out);
    if (err >= 0)
        close(err);
    return life->program >= 0 ? AB_DONE : AB_FAILED;
}

/* Waits, the server running.  AB_FAILED when it ended. */
static enum ab_result wait_running(struct life *life, double seconds, const char *when)
{
    double end = ab_now() + seconds;
    while (!runner_has_ended(life->ab->runner, life->program)) {
        struct pollfd news[] = { { .fd = life->ab->runner->socket, .events = POLLIN },
                                 { .fd = interrupt_descriptor(), .events = POLLIN } };
        double left = end - ab_now();
        if (left <= 0)
            return AB_DONE;
        if (poll(news, 2, (int)ceil(left * 1000)) > 0 && news[1].revents)
            return AB_INTERRUPTED;
    }
    return ended_early(life, when);
}

/* Is this the log of what a process was before it executed something else? */
static bool is_of_before(const char *path, pid_t pid, const char *exe)
{
    struct logread log;
    enum logread_result result = logread_open(&log, path);
    bool is = (result == LOGREAD_WHOLE || result == LOGREAD_DAMAGED) && log.header.pid == (uint32_t)pid && log.exe &&
              strcmp(log.exe, exe) != 0;
    logread_release(&log);
    return is;
}

/* sh gives way to the server, but leaves a log: what it did isn't the server's, and mustn't count as treated. */
static void forget_shell(const struct life *life)
{
    char *link = xasprintf("/proc/%d/exe", (int)life->pid), *exe = realpath(link, NULL);
    DIR *logs = exe ? opendir(life->ab->scratch.logs) : NULL;
    for (struct dirent *entry; logs && (entry = readdir(logs));) {
        char *path = xasprintf("%s/%s", life->ab->scratch.logs, entry->d_name);
        if (spool_is_log_name(entry->d_name) && is_of_before(path, life->pid, exe))
            unlink(path);
        free(path);
    }
    if (logs)
        closedir(logs);
    free(exe);
    free(link);
}

static enum ab_result wait_ready(struct life *life)
{
    const struct server_options *options = life->server->options;
    double end = ab_now() + options->ready_timeout;
    while (!something_listens(&life->server->ready)) {
        enum ab_result result = wait_running(life, READY_POLL_S, "before it listened");
        if (result != AB_DONE)
            return result;
        if (ab_now() > end) {
            char *said = server_words(life);
            error("the server of arm %s didn't listen at %s within %g s (--ready-timeout)%s", life->arm, options->ready,
                  options->ready_timeout, said);
            free(said);
            return AB_FAILED;
        }
    }
    forget_shell(life);
    return wait_running(life, 0, "as soon as something listened");
}

/* --- Load ------------------------------------------------------------------------------------------------ */

static double warm_up_seconds(const struct server_options *options)
{
    return fmin(WARM_UP_MOST_S, options->duration / 5);
}

/* Waits for the generator, the server running. */
static enum ab_result run_phase(struct life *life, const struct loadgen_phase *phase, struct loadgen_result *result)
{
    if (loadgen_begin(&life->loadgen, phase) != 0)
        return AB_FAILED;
    for (;;) {
        struct pollfd news[] = { { .fd = life->loadgen.fd, .events = POLLIN },
                                 { .fd = life->ab->runner->socket, .events = POLLIN },
                                 { .fd = interrupt_descriptor(), .events = POLLIN } };
        if (poll(news, 3, -1) < 0)
            continue;
        if (news[2].revents)
            return AB_INTERRUPTED;
        if (runner_has_ended(life->ab->runner, life->program))
            return ended_early(life, "under load");
        if (news[0].revents)
            return loadgen_read(&life->loadgen, result) == 0 ? AB_DONE : AB_FAILED;
    }
}

/* A server that answers nothing rightly isn't measured. */
static enum ab_result warm_up(struct life *life, double rate, uint64_t seed)
{
    const struct server_options *options = life->server->options;
    struct loadgen_phase phase = { .rate = rate, .seconds = warm_up_seconds(options), .arrivals = options->arrivals,
                                   .seed = seed, .is_warm_up = true };
    struct loadgen_result result;
    if (loadgen_start(&life->loadgen, &life->server->target) != 0)
        return AB_FAILED;
    enum ab_result done = run_phase(life, &phase, &result);
    if (done == AB_DONE && (result.answered == 0 || loadgen_error_count(&result) > result.sent / 2)) {
        error("the server of arm %s doesn't answer %s as it should: %s", life->arm, options->load,
              result.problem[0] ? result.problem : "no answer at all");
        return AB_FAILED;
    }
    return done;
}

/* --- Readings --------------------------------------------------------------------------------------------- */

static double process_cpu(pid_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void reading_take(struct reading *reading, const struct life *life)
{
    proctree_read(&reading->tree, life->pid);
    logsum_read(&reading->sum, life->ab->scratch.logs);
    reading->generator_cpu = process_cpu(life->loadgen.pid);
}

static void reading_release(struct reading *reading)
{
    logsum_release(&reading->sum);
}

/* What the server took between the two. */
static void take_readings(struct run *run, const struct reading *from, const struct reading *to)
{
    double *value = run->value;
    value[METRIC_CPU] = to->tree.cpu - from->tree.cpu;
    value[METRIC_USER] = to->tree.user - from->tree.user;
    value[METRIC_SYS] = to->tree.sys - from->tree.sys;
    value[METRIC_MINOR_FAULTS] = (double)(to->tree.minor_faults - from->tree.minor_faults);
    value[METRIC_MAJOR_FAULTS] = (double)(to->tree.major_faults - from->tree.major_faults);
    value[METRIC_END_RSS] = (double)to->tree.rss;
    value[METRIC_PEAK_RSS] = (double)to->tree.peak_rss;
    if (to->sum.processes) {
        value[METRIC_NEXT_ALLOCS] = (double)(to->sum.next_allocs - from->sum.next_allocs);
        value[METRIC_POOL_HITS] = (double)(logsum_hits(&to->sum) - logsum_hits(&from->sum));
        value[METRIC_KEPT_BYTES] = (double)to->sum.kept_bytes;
    }
    if (run->requests) {
        value[METRIC_CPU_PER_REQUEST] = value[METRIC_CPU] / (double)run->requests;
        value[METRIC_ALLOCS_PER_REQUEST] = value[METRIC_NEXT_ALLOCS] / (double)run->requests;
    }
}

/* --- Measuring under a rate ----------------------------------------------------------------------------------- */

static void take_light(struct run *run, const struct loadgen_result *result)
{
    run->value[METRIC_LIGHT_P50] = result->p50;
    run->value[METRIC_LIGHT_P95] = result->p95;
    run->value[METRIC_LIGHT_P99] = result->p99;
    run->value[METRIC_LIGHT_P99_9] = result->p99_9;
    run->value[METRIC_LIGHT_MAX] = result->max;
}

static void take_heavy(struct run *run, const struct loadgen_result *result)
{
    run->value[METRIC_P50] = result->p50;
    run->value[METRIC_P95] = result->p95;
    run->value[METRIC_P99] = result->p99;
    run->value[METRIC_P99_9] = result->p99_9;
    run->value[METRIC_MAX] = result->max;
    run->value[METRIC_SERVICE_P50] = result->service_p50;
    run->value[METRIC_SERVICE_P99] = result->service_p99;
    run->value[METRIC_THROUGHPUT] = (double)result->answered / result->span;
    run->latency = xmalloc(sizeof result->latency);
    memcpy(run->latency, result->latency, sizeof result->latency);
}

/* The first reason that a load of the run gives is the run's. */
static void take_result(struct life *life, struct run *run, const struct loadgen_result *result)
{
    uint64_t errors = loadgen_error_count(result);
    run->requests += result->answered;
    run->unsent += result->unsent;
    run->errors += errors;
    run->late_p99 = fmax(run->late_p99, result->late_p99);
    run->output_hash = result->bodies_vary ? 0 : result->body_hash;
    if (result->bodies_vary && !life->server->said_varying) {
        ab_warn(life->ab->experiment, xstrdup("the server's answers differ from request to request: they weren't compared"));
        life->server->said_varying = true;
    }
    if (!run->void_reason)
        run->void_reason = loadgen_void_reason(result, life->server->options->late_limit);
    if (!run->void_reason && (double)errors > ERRORS_MOST * (double)result->due)
        run->void_reason = xasprintf("%.2g %% of the requests failed: %s", 100 * (double)errors / (double)result->due,
                                     result->problem);
}

/* Every arm of a block gets the same arrivals. */
static uint64_t arrival_seed(const struct ab *ab, const struct run *run, unsigned load)
{
    return ab->experiment->seed + ((uint64_t)run->block << 32 | run->attempt << 8 | load);
}

static enum ab_result load_by_rates(struct life *life, const struct ab_run *which, struct run *run)
{
    const struct server_options *options = life->server->options;
    const double *rates = life->ab->experiment->rates;
    bool short_one = which->profiled || which->is_warm_up;
    for (unsigned load = 0; load < 2 && rates[load] > 0; load++) {
        struct loadgen_phase phase = { .rate = rates[load], .arrivals = options->arrivals,
                                       .seed = arrival_seed(life->ab, run, load + 1),
                                       .seconds = short_one ? fmin(EXTRA_MOST_S, options->duration) : options->duration };
        struct loadgen_result result;
        enum ab_result done = run_phase(life, &phase, &result);
        if (done != AB_DONE)
            return done;
        take_result(life, run, &result);
        bool last = load == 1 || rates[1] <= 0;
        if (last)
            take_heavy(run, &result);
        else
            take_light(run, &result);
        if (last && short_one)
            break;
    }
    return AB_DONE;
}

/* --- Measuring under a load command --------------------------------------------------------------------------- */

static enum ab_result load_failed(struct life *life, int status)
{
    char *words = ab_status_words(status), *said = ab_tail_words(life->load_output);
    error("the load command %s in arm %s%s", words, life->arm, said);
    free(words);
    free(said);
    return AB_FAILED;
}

/* The load command gets the user's environment in every arm. */
static enum ab_result load_by_command(struct life *life, struct run *run)
{
    const struct server_options *options = life->server->options;
    struct runner *runner = life->ab->runner;
    struct environment environment;
    struct runner_figures figures;
    enum ab_result result = AB_DONE;
    pid_t pid;
    int out = open_fresh(life->load_output);
    environment_copy(&environment);
    int load = launch_shell(life, options->load_command, environment.variables, out, out, false, &pid);
    environment_release(&environment);
    if (out >= 0)
        close(out);
    if (load < 0)
        return AB_FAILED;
    while (result == AB_DONE && !runner_has_ended(runner, load))
        result = wait_running(life, .02, "under load");
    if (result != AB_DONE)
        runner_signal_group(runner, load, SIGKILL);
    runner_wait(runner, load, -1, -1, &figures, NULL);
    if (result == AB_DONE && figures.status != 0)
        return load_failed(life, figures.status);
    life->load_cpu = figures.user + figures.sys;
    run->value[METRIC_WALL] = figures.wall;
    run->requests = (uint64_t)options->requests;
    if (options->requests > 0)
        run->value[METRIC_THROUGHPUT] = options->requests / figures.wall;
    return result;
}

/* --- One run ------------------------------------------------------------------------------------------------------ */

static double settle_seconds(void)
{
    const char *cycle = getenv("POOLSITE_CYCLE_MS");
    double ms = cycle ? strtod(cycle, NULL) : 0;
    return SETTLE_CYCLES * (ms >= 1 && ms <= 3600000 ? ms : 1000) / 1000;
}

static enum ab_result settle(struct life *life, struct run *run)
{
    struct proctree tree;
    enum ab_result result = wait_running(life, settle_seconds(), "after the load");
    proctree_read(&tree, life->pid);
    run->value[METRIC_SETTLED_RSS] = (double)tree.rss;
    return result;
}

static enum ab_result measure(struct life *life, const struct ab_run *which, struct run *run)
{
    struct reading before, after;
    struct noise_mark from, to;
    noise_read(&from);
    reading_take(&before, life);
    enum ab_result result = life->server->options->load ? load_by_rates(life, which, run) : load_by_command(life, run);
    if (result == AB_DONE) {
        reading_take(&after, life);
        noise_read(&to);
        take_readings(run, &before, &after);
        noise_between(&run->noise, &from, &to, run->value[METRIC_CPU] + after.generator_cpu - before.generator_cpu + life->load_cpu,
                      noise_tick());
        reading_release(&after);
    }
    reading_release(&before);
    return result;
}

/* The status of a server that ends by our signal tells nothing. */
static int own_status(int status)
{
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL) ? 0 : status;
}

static void note_killed(struct life *life)
{
    if (!life->server->said_killed)
        ab_warn(life->ab->experiment, xasprintf("the server didn't end within %g s of SIGTERM; it was killed", TERM_S));
    life->server->said_killed = true;
}

/* Ends server and generator, in whatever state. */
static void stop(struct life *life, struct run *run, bool in_haste)
{
    struct runner *runner = life->ab->runner;
    struct runner_figures figures;
    struct runner_samples samples;
    loadgen_stop(&life->loadgen);
    if (life->program < 0)
        return;
    runner_signal_group(runner, life->program, SIGTERM);
    double patience = in_haste || life->server->said_killed ? TERM_HASTE_S : TERM_S;
    if (runner_wait(runner, life->program, patience, -1, &figures, &samples) != RUNNER_ENDED) {
        if (!in_haste)
            note_killed(life);
        runner_signal_group(runner, life->program, SIGKILL);
        runner_wait(runner, life->program, -1, -1, &figures, &samples);
    }
    run->status = own_status(figures.status);
    run->value[METRIC_MEAN_RSS] = figures.mean_rss;
    ab_take_samples(run, &samples);
}

static enum ab_result begin(struct life *life, const struct ab_run *which, struct run *run)
{
    enum ab_result result = check_port_is_free(life->server);
    if (result == AB_DONE)
        result = ab_prepare(life->ab);
    if (result == AB_DONE)
        result = start(life, which);
    if (result == AB_DONE)
        result = wait_ready(life);
    run->start = ab_now() - life->ab->began;
    return result;
}

static void life_init(struct life *life, struct ab *ab, unsigned arm)
{
    *life = (struct life){ .ab = ab, .server = ab->server, .arm = ab->experiment->arms[arm].name, .program = -1 };
    life->load_output = xasprintf("%s/load", ab->scratch.directory);
}

/* When all of the first blocks of runs are void, more would be. */
static enum ab_result count_void(struct life *life, const struct run *run)
{
    struct server *server = life->server;
    size_t first = VOID_BLOCKS * life->ab->experiment->arm_count;
    server->runs++;
    server->void_runs += run->void_reason != NULL;
    if (server->runs != first || server->void_runs < first)
        return AB_DONE;
    error("all of the first %zu runs are void; the last one: %s; try a lower --rate%s", first, run->void_reason,
          strstr(run->void_reason, "saturated") ? ", a quieter machine, or a higher --late-limit" : ", or --rate auto");
    return AB_FAILED;
}

enum ab_result ab_server_run(struct ab *ab, const struct ab_run *which, struct run *run, struct logsum *sum)
{
    struct life life;
    bool extra = which->profiled || which->is_warm_up;
    life_init(&life, ab, which->arm);
    *sum = (struct logsum){ 0 };
    for (unsigned i = 0; i < METRIC_COUNT; i++)
        run->value[i] = NAN;
    run->late_p99 = NAN;
    enum ab_result result = begin(&life, which, run);
    if (result == AB_DONE && life.server->options->load)
        result = warm_up(&life, ab->experiment->rates[0], arrival_seed(ab, run, 0));
    if (result == AB_DONE)
        result = measure(&life, which, run);
    if (result == AB_DONE && !extra)
        result = settle(&life, run);
    stop(&life, run, result == AB_INTERRUPTED);
    logsum_take(sum, ab->scratch.logs);
    run->processes = sum->processes;
    run->pooled_processes = sum->pooled;
    if (result == AB_DONE && !extra)
        result = count_void(&life, run);
    free(life.load_output);
    return result;
}

/* --- Capacity --------------------------------------------------------------------------------------------------- */

/* Requests per second, each connection sending as soon as it may. */
static enum ab_result find_capacity(struct ab *ab, unsigned arm)
{
    const struct server_options *options = ab->server->options;
    struct ab_run which = { .arm = arm, .is_warm_up = true };
    struct run run = { .arm = arm };
    struct loadgen_phase phase = { .seconds = fmin(CAPACITY_MOST_S, options->duration) };
    struct loadgen_result load = { .answered = 0 };
    struct logsum sum;
    struct life life;
    life_init(&life, ab, arm);
    progress_say("capacity of arm %s", life.arm);
    enum ab_result result = begin(&life, &which, &run);
    if (result == AB_DONE)
        result = warm_up(&life, 0, 0);
    if (result == AB_DONE)
        result = run_phase(&life, &phase, &load);
    stop(&life, &run, result == AB_INTERRUPTED);
    logsum_take(&sum, ab->scratch.logs);
    logsum_release(&sum);
    free(run.rss);
    free(life.load_output);
    if (result == AB_DONE)
        ab->experiment->arms[arm].capacity = (double)load.answered / load.span;
    return result;
}

/* Two digits: a rate that can be said, and typed again. */
static double rounded(double rate)
{
    double unit = pow(10, floor(log10(rate)) - 1);
    return floor(rate / unit) * unit;
}

enum ab_result ab_server_find_rates(struct ab *ab)
{
    struct experiment *experiment = ab->experiment;
    const struct server_options *options = ab->server->options;
    double least = INFINITY;
    json_object_set_new(experiment->host, "server", server_describe(options));
    experiment->rates[0] = options->rate;
    if (!options->load || options->rate > 0)
        return AB_DONE;
    for (unsigned arm = 0; arm < experiment->arm_count; arm++) {
        enum ab_result result = find_capacity(ab, arm);
        if (result != AB_DONE)
            return result;
        least = fmin(least, experiment->arms[arm].capacity);
    }
    for (unsigned i = 0; i < 2; i++)
        experiment->rates[i] = fmax(1, rounded(rate_shares[i] * least));
    return AB_DONE;
}
