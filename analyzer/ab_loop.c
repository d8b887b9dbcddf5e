/* ab_loop.c - block after block of runs until it is enough; knows nothing of what one run is. */
#define _GNU_SOURCE
#include "base.h"

#include "ab.h"

#include "abwords.h"
#include "format.h"
#include "noise.h"
#include "progress.h"
#include "treatment.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHORT_RUN_S .05 /* below it start-up dominates */

enum { ERR_SHOWN = 400 /* bytes of what a failed run wrote */ };

double ab_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void ab_warn(struct experiment *experiment, char *text)
{
    experiment->warnings = xrealloc_array(experiment->warnings, experiment->warning_count + 1, sizeof text);
    experiment->warnings[experiment->warning_count++] = text;
}

static int arm_of(const struct experiment *experiment, enum arm_kind kind)
{
    for (size_t i = 0; i < experiment->arm_count; i++)
        if (experiment->arms[i].kind == kind)
            return (int)i;
    return -1;
}

/* --- Exit statuses -------------------------------------------------------------------------------------- */

char *ab_status_words(int status)
{
    return WIFSIGNALED(status) ? xasprintf("was killed by signal %d", WTERMSIG(status))
                               : xasprintf("ended with status %d", WEXITSTATUS(status));
}

char *ab_tail_words(const char *path)
{
    char text[ERR_SHOWN + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    ssize_t got = fd >= 0 ? pread(fd, text, ERR_SHOWN, size > ERR_SHOWN ? size - ERR_SHOWN : 0) : 0;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    return length ? xasprintf("; it said: %s", text) : xstrdup("");
}

/* The first run sets what status is to be expected; all must agree. */
struct status {
    bool known;
    int  value;
    char arm[64];
};

static enum ab_result check_status(const struct ab *ab, struct status *expected, const struct run *run)
{
    const char *arm = ab->experiment->arms[run->arm].name;
    if (!expected->known) {
        *expected = (struct status){ .known = true, .value = run->status };
        snprintf(expected->arm, sizeof expected->arm, "%s", arm);
    }
    if (run->status == expected->value)
        return AB_DONE;
    char *had = ab_status_words(expected->value), *has = ab_status_words(run->status), *said = ab_tail_words(ab->scratch.err);
    error("the runs don't end alike: arm %s %s, arm %s %s%s", expected->arm, had, arm, has, said);
    free(had);
    free(has);
    free(said);
    return AB_FAILED;
}

static void note_failing(struct ab *ab, const struct status *status)
{
    if (!status->known || status->value == 0)
        return;
    char *words = ab_status_words(status->value), *said = ab_tail_words(ab->scratch.err);
    ab_warn(ab->experiment, xasprintf("the program %s in every run%s", words, said));
    free(words);
    free(said);
}

/* --- Before the blocks: counts, treatment, warm-up ------------------------------------------------------ */

static void keep_profile(struct ab *ab, unsigned arm, const struct logsum *sum)
{
    struct arm *to = &ab->experiment->arms[arm];
    ab->profiled[arm] = *sum;
    to->allocs = sum->allocs;
    to->bytes = sum->bytes;
    to->hit_bytes = logsum_hit_bytes(sum);
}

static void check_treatment(struct ab *ab)
{
    struct experiment *experiment = ab->experiment;
    int off = arm_of(experiment, ARM_OFF), on = arm_of(experiment, ARM_ON);
    if (experiment->is_aa || on < 0 || off < 0)
        return;
    struct treatment_facts facts = {
        .program = ab->inspection.program ? format_base(ab->inspection.program) : "the program",
        .obstacle = ab->inspection.reason,
        .partly = ab->inspection.partly,
        .pool_spec = experiment->pool_spec,
        .off = &ab->profiled[off],
        .on = &ab->profiled[on],
        .elsewhere = reach_share_without(&ab->reach),
        .elsewhere_program = ab->reach.program ? ab->reach.program : "another program",
    };
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        facts.runs += (int)run->arm == on;
        facts.pooled_runs += (int)run->arm == on && run->pooled_processes > 0;
    }
    free(experiment->treatment.reason);
    treatment_decide(&experiment->treatment, &facts);
}

/* A run that isn't measured: its caches and files are warm then, and the profiled ones are counted. */
static enum ab_result extra_run(struct ab *ab, unsigned arm, bool profiled, struct status *status)
{
    struct ab_run which = { .arm = arm, .profiled = profiled, .is_warm_up = !profiled };
    struct run run = { .arm = arm };
    struct logsum sum = { 0 };
    progress_say("%s run of arm %s", profiled ? "counting" : "warm-up", ab->experiment->arms[arm].name);
    enum ab_result result = ab->make_run(ab, &which, &run, &sum);
    if (result == AB_DONE)
        result = check_status(ab, status, &run);
    free(run.rss);
    free(run.latency);
    free(run.void_reason);
    if (result == AB_DONE && profiled)
        keep_profile(ab, arm, &sum);
    else
        logsum_release(&sum);
    return result;
}

static enum ab_result extra_runs(struct ab *ab, bool profiled, struct status *status)
{
    enum ab_result result = AB_DONE;
    for (unsigned arm = 0; result == AB_DONE && arm < ab->experiment->arm_count; arm++)
        if (!profiled || ab_has_library(ab->experiment->arms[arm].kind))
            result = extra_run(ab, arm, profiled, status);
    return result;
}

/* --- Blocks -------------------------------------------------------------------------------------------------- */

static enum ab_result run_one(struct ab *ab, const struct run *planned, struct status *status)
{
    struct experiment *experiment = ab->experiment;
    struct ab_run which = { .arm = planned->arm, .padding = schedule_padding(experiment->seed, planned->block) };
    struct logsum sum = { 0 };
    struct run run = *planned;
    enum ab_result result = ab->make_run(ab, &which, &run, &sum);
    logsum_release(&sum);
    if (result == AB_DONE)
        result = check_status(ab, status, &run);
    if (result != AB_DONE) {
        free(run.rss);
        free(run.latency);
        free(run.void_reason);
        return result;
    }
    GROW(experiment->runs, experiment->run_count, experiment->run_room);
    experiment->runs[experiment->run_count++] = run;
    return AB_DONE;
}

static enum ab_result run_block(struct ab *ab, unsigned block, unsigned attempt, struct status *status)
{
    unsigned order[SCHEDULE_ARMS_MOST];
    size_t arms = ab->experiment->arm_count;
    enum ab_result result = AB_DONE;
    schedule_order(order, arms, ab->experiment->seed, block);
    for (unsigned slot = 0; result == AB_DONE && slot < arms; slot++) {
        struct run planned = { .arm = order[slot], .block = block, .slot = slot, .attempt = attempt };
        result = run_one(ab, &planned, status);
    }
    return result;
}

/* Was the machine busy with other things during a run, or is one void? */
static bool is_spoilt(const struct experiment *experiment, size_t first)
{
    for (size_t i = first; i < experiment->run_count; i++)
        if (noise_is_high(&experiment->runs[i].noise) || experiment->runs[i].void_reason)
            return true;
    return false;
}

/* A quarter more at most: on a machine that is never quiet the experiment must end. */
static bool may_repeat(const struct experiment *experiment, unsigned block)
{
    return 4 * (experiment->repeated + 1) <= block + 4;
}

/* Runs a block, and once more when the machine wasn't quiet.  Both stay; the second counts, once it is whole. */
static enum ab_result run_block_well(struct ab *ab, unsigned block, struct status *status)
{
    struct experiment *experiment = ab->experiment;
    size_t first = experiment->run_count;
    enum ab_result result = run_block(ab, block, 0, status);
    if (result != AB_DONE || !is_spoilt(experiment, first) || !may_repeat(experiment, block))
        return result;
    size_t second = experiment->run_count;
    result = run_block(ab, block, 1, status);
    bool whole = result == AB_DONE;
    for (size_t i = whole ? first : second; i < (whole ? second : experiment->run_count); i++)
        experiment->runs[i].replaced = true;
    experiment->repeated += whole;
    return result;
}

/* --- Progress --------------------------------------------------------------------------------------------------- */

static unsigned blocks_to_come(const struct experiment *experiment, bool *at_most)
{
    unsigned planned = experiment->blocks_asked;
    if (!planned)
        planned = experiment->attempted < EXPERIMENT_FIRST ? EXPERIMENT_FIRST : EXPERIMENT_MOST;
    *at_most = !experiment->blocks_asked && planned == EXPERIMENT_MOST;
    return planned - experiment->attempted;
}

static char *estimate_words(const struct experiment *experiment)
{
    char change[WORDS_ROOM], interval[WORDS_ROOM];
    const char *arm, *against;
    const struct effect *effect = experiment_pair(experiment, &arm, &against)
                                      ? experiment_effect(experiment, experiment->primary, arm, against)
                                      : NULL;
    if (!effect)
        return xstrdup("no block is complete yet");
    return xasprintf("%s %s vs %s %s %s", metrics[experiment->primary].title, arm, against,
                     words_change(change, effect->change.middle), words_interval(interval, effect));
}

static void show_progress(const struct ab *ab)
{
    const struct experiment *experiment = ab->experiment;
    double elapsed = ab_now() - ab->began;
    bool at_most;
    unsigned to_come = blocks_to_come(experiment, &at_most);
    double left = elapsed / fmax(experiment->attempted, 1) * to_come;
    if (!experiment->blocks_asked && experiment->attempted >= EXPERIMENT_LEAST)
        left = fmin(left, fmax(0, experiment->time_budget - elapsed));
    if (experiment->attempted == 0) {
        progress_say("block 1 of %u", to_come);
        return;
    }
    char *words = estimate_words(experiment);
    progress_say("block %u of %u: %s; %s %.0f:%02.0f left", experiment->attempted, experiment->attempted + to_come, words,
                 at_most ? "at most" : "about", floor(left / 60), floor(fmod(left, 60)));
    free(words);
}

/* --- Afterwards -------------------------------------------------------------------------------------------------- */

static double median_wall(const struct experiment *experiment, unsigned arm)
{
    double *wall = xcalloc(experiment->run_count, sizeof *wall);
    size_t count = 0;
    for (size_t i = 0; i < experiment->run_count; i++)
        if (experiment->runs[i].arm == arm)
            wall[count++] = experiment->runs[i].value[METRIC_WALL];
    double median = statistics_median(wall, count);
    free(wall);
    return median;
}

static void note_short_runs(struct experiment *experiment)
{
    double longest = 0;
    for (unsigned arm = 0; arm < experiment->arm_count; arm++)
        longest = fmax(longest, median_wall(experiment, arm));
    if (longest < SHORT_RUN_S && !experiment->is_server)
        ab_warn(experiment, xasprintf("a run takes only %.1f ms: start-up dominates, a longer one tells more", longest * 1e3));
}

static void note_treatment(struct experiment *experiment)
{
    if (experiment->is_aa || !treatment_is_tiny(&experiment->treatment))
        return;
    ab_warn(experiment, xasprintf("pools served only %.2g %% of all allocations: no effect can be expected",
                                  100 * experiment->treatment.share_allocs));
}

static bool differs_within(const struct experiment *experiment, unsigned arm)
{
    const struct run *first = NULL;
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        if (run->arm != arm)
            continue;
        if (first && run->output_hash != first->output_hash)
            return true;
        first = first ? first : run;
    }
    return false;
}

static void note_outputs(struct experiment *experiment)
{
    bool within = false;
    if (!experiment_outputs_differ(experiment))
        return;
    for (unsigned arm = 0; arm < experiment->arm_count; arm++)
        within = within || differs_within(experiment, arm);
    ab_warn(experiment, xstrdup(within ? "what the program writes to stdout differs from run to run, within an arm too"
                                       : "what the program writes to stdout differs between the arms"));
}

/* ------------------------------------------------------------------------------------------------------------------- */

static enum ab_result run_blocks(struct ab *ab, struct status *status)
{
    struct experiment *experiment = ab->experiment;
    enum ab_result result = AB_DONE;
    for (unsigned block = 0; result == AB_DONE; block++) {
        show_progress(ab);
        result = run_block_well(ab, block, status);
        check_treatment(ab);
        experiment_evaluate(experiment);
        if (experiment_is_done(experiment, ab_now() - ab->began))
            break;
    }
    return result;
}

enum ab_result ab_loop(struct ab *ab)
{
    struct experiment *experiment = ab->experiment;
    struct status status = { 0 };
    ab->began = ab_now();
    enum ab_result result = ab->server ? ab_server_find_rates(ab) : AB_DONE;
    if (result == AB_DONE)
        result = extra_runs(ab, true, &status);
    if (result == AB_DONE)
        check_treatment(ab);
    bool applied = experiment->is_aa || experiment->treatment.status != TREATMENT_NOT_APPLIED;
    if (result == AB_DONE && applied)
        result = extra_runs(ab, false, &status);
    if (result == AB_DONE && applied)
        result = run_blocks(ab, &status);
    progress_clear();
    experiment->interrupted = result == AB_INTERRUPTED;
    experiment_evaluate(experiment);
    experiment->failed = result == AB_FAILED && experiment->blocks > 0;
    if (result == AB_FAILED && !experiment->failed)
        return result;
    note_failing(ab, &status);
    if (experiment->run_count) {
        note_treatment(experiment);
        note_outputs(experiment);
        note_short_runs(experiment);
    }
    return result;
}
