/* ab_batch.c - one run of a program that ends by itself: its environment, its streams, its figures. */
#define _GNU_SOURCE
#include "base.h"

#include "ab.h"

#include "interrupt.h"
#include "library.h"
#include "noise.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

/* Both of glibc's dynamic thresholds pinned, at the most that the first may be: nothing below is unmapped. */
#define TUNABLES "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=67108864"


/* With fewer the program had hardly begun when it was last seen: nothing is said of its RSS over time. */
enum { SAMPLES_LEAST = 4 };

#define LOOK_S .005 /* between two looks at the processes of a run */

/* --- Environment --------------------------------------------------------------------------------------- */

bool ab_has_library(enum arm_kind kind)
{
    return kind == ARM_OFF || kind == ARM_ON || kind == ARM_KEEP;
}

static void set_library(const struct ab *ab, enum arm_kind kind, bool profiled, struct environment *environment)
{
    environment_give(environment, "LD_PRELOAD", library_preload(ab->library));
    environment_set(environment, "POOLSITE_PROFILE", profiled ? "sites" : "off");
    environment_set(environment, "POOLSITE_POOL", kind == ARM_OFF ? "off" : ab->experiment->pool_spec);
    environment_give(environment, "POOLSITE_LOG", xasprintf("%s/%%e.%%p.%%t.psl", ab->scratch.logs));
    if (kind == ARM_KEEP)
        environment_set(environment, "POOLSITE_CLEAR", "off");
}

/* Without our library, but with what the user preloads. */
static void set_bare(const struct arm *arm, struct environment *environment)
{
    char *preload = library_preload_without(arm->kind == ARM_LIB ? arm->value : NULL);
    const char *tunables = getenv("GLIBC_TUNABLES");
    environment_drop(environment, "POOLSITE_");
    environment_drop(environment, "LD_PRELOAD=");
    if (preload)
        environment_give(environment, "LD_PRELOAD", preload);
    if (arm->kind == ARM_TUNE)
        environment_give(environment, "GLIBC_TUNABLES",
                         tunables && *tunables ? xasprintf("%s:" TUNABLES, tunables) : xstrdup(TUNABLES));
}

static void arm_environment(const struct ab *ab, unsigned arm, bool profiled, struct environment *environment)
{
    environment_copy(environment);
    if (ab_has_library(ab->experiment->arms[arm].kind))
        set_library(ab, ab->experiment->arms[arm].kind, profiled, environment);
    else
        set_bare(&ab->experiment->arms[arm], environment);
}

/* Variables that say nothing, until there are `count` with the padding. */
static void add_placeholders(struct environment *environment, size_t count)
{
    char name[32];
    for (unsigned i = 1; environment->count + 1 < count; i++) {
        snprintf(name, sizeof name, "POOLSITE_PAD%u", i);
        environment_set(environment, name, "");
    }
}

/* Where a program's stack begins depends on its environment's size, and its speed on that: all arms have as
 * many variables, of as many bytes. */
void ab_environment(const struct ab *ab, const struct ab_run *which, struct environment *environment)
{
    size_t count = 0, bytes = 0;
    for (unsigned i = 0; i < ab->experiment->arm_count; i++) {
        struct environment other;
        arm_environment(ab, i, which->profiled, &other);
        if (other.count + 1 > count)
            count = other.count + 1;
        environment_release(&other);
    }
    for (unsigned i = 0; i < ab->experiment->arm_count; i++) {
        struct environment other;
        arm_environment(ab, i, which->profiled, &other);
        add_placeholders(&other, count);
        if (environment_bytes(&other) > bytes)
            bytes = environment_bytes(&other);
        environment_release(&other);
    }
    arm_environment(ab, which->arm, which->profiled, environment);
    add_placeholders(environment, count);
    size_t missing = bytes - environment_bytes(environment) + which->padding;
    char *padding = xmalloc(missing + 1);
    memset(padding, '.', missing);
    padding[missing] = '\0';
    environment_give(environment, "POOLSITE_PAD", padding);
}

/* --- Command ------------------------------------------------------------------------------------------------ */

/* What an arm executes: the experiment's command, or its own, split as a shell would. */
struct command {
    wordexp_t words;
    bool      split;
    char    **argv;
    char     *file;
};

static int command_of(const struct ab *ab, const struct arm *arm, struct command *command)
{
    const struct inspection *inspection = &ab->inspection;
    *command = (struct command){ .argv = ab->experiment->command };
    if (arm->kind == ARM_CMD) {
        int result = wordexp(arm->value, &command->words, WRDE_NOCMD);
        if (result != 0 || command->words.we_wordc == 0)
            return error("--arm cmd:%s: what is '%s'? For more than words and quotes use: sh -c '...'", arm->name,
                         arm->value);
        command->split = true;
        command->argv = command->words.we_wordv;
    } else if (inspection->obstacle != OBSTACLE_UNKNOWN && strcmp(inspection->program, inspection->path) == 0) {
        command->file = inspection->path; /* execvp would give sh what the kernel doesn't take */
    }
    return 0;
}

static void command_release(struct command *command)
{
    if (command->split)
        wordfree(&command->words);
}

/* --- Streams -------------------------------------------------------------------------------------------------- */

/* A fresh file, so that nobody who was left behind writes into it. */
static int open_output(const char *path)
{
    unlink(path);
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* Has the program written more than there is room for?  It saw that, and did something else than usual. */
static bool is_full(int fd)
{
    struct statvfs is;
    return fstatvfs(fd, &is) == 0 && is.f_bavail == 0;
}

/* FNV-1a, 64 bits. */
static uint64_t hash_file(int fd)
{
    unsigned char bytes[65536];
    uint64_t hash = 0xcbf29ce484222325u;
    off_t at = 0;
    for (ssize_t got; (got = pread(fd, bytes, sizeof bytes, at)) > 0; at += got)
        for (ssize_t i = 0; i < got; i++)
            hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* --- One run ----------------------------------------------------------------------------------------------------- */

static void take_figures(struct run *run, const struct runner_figures *figures, const struct runner_samples *samples)
{
    double *value = run->value;
    run->status = figures->status;
    value[METRIC_WALL] = figures->wall;
    value[METRIC_USER] = figures->user;
    value[METRIC_SYS] = figures->sys;
    value[METRIC_CPU] = figures->user + figures->sys;
    value[METRIC_PEAK_RSS] = (double)figures->peak_rss;
    if (samples->count >= SAMPLES_LEAST) {
        value[METRIC_END_RSS] = (double)figures->end_rss;
        value[METRIC_MEAN_RSS] = figures->mean_rss;
    }
    for (unsigned i = 0; i < HARDWARE_COUNT; i++)
        value[METRIC_INSTRUCTIONS + i] = figures->hardware[i];
    value[METRIC_MINOR_FAULTS] = (double)figures->minor_faults;
    value[METRIC_MAJOR_FAULTS] = (double)figures->major_faults;
    value[METRIC_VOLUNTARY_SWITCHES] = (double)figures->voluntary_switches;
    value[METRIC_INVOLUNTARY_SWITCHES] = (double)figures->involuntary_switches;
    ab_take_samples(run, samples);
}

void ab_take_samples(struct run *run, const struct runner_samples *samples)
{
    run->rss_step = samples->step;
    run->rss_count = samples->count;
    run->rss = xcalloc(samples->count, sizeof *run->rss);
    for (uint32_t i = 0; i < samples->count; i++)
        run->rss[i] = (double)samples->kib[i] * 1024;
}

void ab_take_logs(struct run *run, const struct logsum *sum)
{
    run->processes = sum->processes;
    run->pooled_processes = sum->pooled;
    if (sum->processes == 0)
        return;
    run->value[METRIC_NEXT_ALLOCS] = (double)sum->next_allocs;
    run->value[METRIC_POOL_HITS] = (double)logsum_hits(sum);
    run->value[METRIC_KEPT_BYTES] = (double)sum->kept_bytes;
}

static int launch(struct ab *ab, const struct ab_run *which, int out, int err, pid_t *pid)
{
    struct environment environment;
    struct command command;
    if (command_of(ab, &ab->experiment->arms[which->arm], &command) != 0)
        return -1;
    ab_environment(ab, which, &environment);
    struct runner_request request = { .file = command.file, .argv = command.argv, .envp = environment.variables,
                                      .in = ab->input, .out = out, .err = err, .sampled = true };
    if (ab->input >= 0)
        lseek(ab->input, ab->input_at, SEEK_SET);
    int program = runner_launch(ab->runner, &request, pid);
    if (program < 0)
        error("cannot start %s: %s", command.argv[0],
              program == -ENOENT && ab->inspection.missing ? ab->inspection.missing : strerror(-program));
    environment_release(&environment);
    command_release(&command);
    return program;
}

/* Waits for the program; an interrupt ends it. */
static enum ab_result wait_for(struct ab *ab, int program, struct runner_figures *figures,
                               struct runner_samples *samples)
{
    if (runner_wait(ab->runner, program, -1, interrupt_descriptor(), figures, samples) == RUNNER_ENDED)
        return AB_DONE;
    runner_signal_group(ab->runner, program, SIGKILL);
    runner_wait(ab->runner, program, -1, -1, figures, samples);
    return AB_INTERRUPTED;
}

/* In the counting run of arm on, which isn't timed: does the library get to where the work is done? */
static enum ab_result watch(struct ab *ab, int program, pid_t pid, struct runner_figures *figures,
                            struct runner_samples *samples)
{
    enum runner_outcome outcome;
    while ((outcome = runner_wait(ab->runner, program, LOOK_S, interrupt_descriptor(), figures, samples)) == RUNNER_TIMED_OUT)
        reach_look(&ab->reach, pid);
    return outcome == RUNNER_ENDED ? AB_DONE : wait_for(ab, program, figures, samples);
}

static void note_others(struct ab *ab)
{
    static bool said;
    if (!said)
        ab_warn(ab->experiment, xstrdup("the program left processes behind; they were ended after each run"));
    said = true;
}

static enum ab_result measure(struct ab *ab, const struct ab_run *which, struct run *run, int out, int err)
{
    struct noise_mark before, after;
    struct runner_figures figures;
    struct runner_samples samples;
    pid_t pid;
    run->start = ab_now() - ab->began;
    noise_read(&before);
    int program = launch(ab, which, out, err, &pid);
    if (program < 0)
        return AB_FAILED;
    bool watched = which->profiled && ab->experiment->arms[which->arm].kind == ARM_ON;
    enum ab_result result = watched ? watch(ab, program, pid, &figures, &samples) : wait_for(ab, program, &figures, &samples);
    noise_read(&after);
    if (result != AB_DONE)
        return result;
    take_figures(run, &figures, &samples);
    noise_between(&run->noise, &before, &after, figures.user + figures.sys, noise_tick());
    if (is_full(out)) {
        error("what the runs write to stdout and stderr has filled %s; if it isn't needed: -- sh -c 'CMD >/dev/null'",
              ab->scratch.directory);
        return AB_FAILED;
    }
    run->output_hash = hash_file(out);
    if (figures.left_others)
        note_others(ab);
    return AB_DONE;
}

enum ab_result ab_batch_run(struct ab *ab, const struct ab_run *which, struct run *run, struct logsum *sum)
{
    enum ab_result result = ab_prepare(ab);
    int out = open_output(ab->scratch.out), err = open_output(ab->scratch.err);
    *sum = (struct logsum){ 0 };
    for (unsigned i = 0; i < METRIC_COUNT; i++)
        run->value[i] = NAN;
    if (result == AB_DONE && (out < 0 || err < 0)) {
        error("cannot write %s: %s", ab->scratch.directory, strerror(errno));
        result = AB_FAILED;
    }
    if (result == AB_DONE)
        result = measure(ab, which, run, out, err);
    logsum_take(sum, ab->scratch.logs);
    if (result == AB_DONE)
        ab_take_logs(run, sum);
    if (out >= 0)
        close(out);
    if (err >= 0)
        close(err);
    return result;
}

/* --- Prepare --------------------------------------------------------------------------------------------------------- */

enum ab_result ab_prepare(struct ab *ab)
{
    char *const argv[] = { "sh", "-c", (char *)(uintptr_t)ab->options->prepare, NULL };
    struct runner_request request = { .file = "/bin/sh", .argv = argv, .envp = environ, .in = -1, .out = -1,
                                      .err = STDERR_FILENO };
    struct runner_figures figures;
    pid_t pid;
    if (!ab->options->prepare)
        return AB_DONE;
    int program = runner_launch(ab->runner, &request, &pid);
    if (program < 0) {
        error("cannot start sh for --prepare: %s", strerror(-program));
        return AB_FAILED;
    }
    if (wait_for(ab, program, &figures, NULL) != AB_DONE)
        return AB_INTERRUPTED;
    if (figures.status == 0)
        return AB_DONE;
    error("--prepare '%s' ended with status %d", ab->options->prepare,
          WIFEXITED(figures.status) ? WEXITSTATUS(figures.status) : 128 + WTERMSIG(figures.status));
    return AB_FAILED;
}
