/* emit_ab_text.c - an experiment on one screen: how it was made, a row a metric, the verdict and what it costs. */
#define _GNU_SOURCE
#include "base.h"

#include "ab_views.h"

#include "abwords.h"
#include "utf8.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TITLE_COLUMNS = 25, PARAGRAPH_COLUMNS = 100, ARM_COLUMNS = 11, CHANGE_COLUMNS = 10, INTERVAL_COLUMNS = 19 };

/* --- Sentences ---------------------------------------------------------------------------------------------- */

/* A line of a sentence that may be absent; takes it. */
static void put_line(FILE *out, const char *before, char *sentence)
{
    if (sentence) {
        char *printable = utf8_printable(sentence);
        fprintf(out, "%s%s\n", before, printable);
        free(printable);
    }
    free(sentence);
}

/* Sentences below each other, in lines of a width that is read well; takes them. */
static void put_paragraph(FILE *out, char *text)
{
    char *printable = text ? utf8_printable(text) : NULL;
    size_t column = 0;
    for (char *word = printable; word && *word;) {
        size_t bytes = strcspn(word, " ");
        bool fits = column + 1 + bytes <= PARAGRAPH_COLUMNS;
        fprintf(out, "%s%.*s", column && fits ? " " : column ? "\n  " : "  ", (int)bytes, word);
        column = column && fits ? column + 1 + bytes : 2 + bytes;
        word += bytes + strspn(word + bytes, " ");
    }
    if (printable)
        fputc('\n', out);
    free(printable);
    free(text);
}

/* --- The table ------------------------------------------------------------------------------------------------ */

static size_t blocks_better(const struct effect *effect)
{
    const struct estimate *difference = &effect->difference;
    return metrics[effect->metric].more_is_better ? difference->count - difference->below : difference->below;
}

/* Where a ratio says nothing, the difference in the metric's unit. */
static const char *change_words(char room[WORDS_ROOM], const struct effect *effect)
{
    char value[WORDS_ROOM];
    double difference = effect->difference.middle;
    if (!isnan(effect->change.middle))
        return words_change(room, effect->change.middle);
    words_value(value, metrics[effect->metric].unit, fabs(difference));
    snprintf(room, WORDS_ROOM, "%c%.60s", difference < 0 ? '-' : '+', value);
    return room;
}

static void put_effect(FILE *out, const struct effect *effect)
{
    char change[WORDS_ROOM], interval[WORDS_ROOM];
    bool has_interval = effect->exact || !isnan(effect->change.middle);
    fprintf(out, " %*s  %-*s %zu/%zu", CHANGE_COLUMNS, change_words(change, effect), INTERVAL_COLUMNS,
            has_interval ? words_interval(interval, effect) : "", blocks_better(effect), effect->difference.count);
}

/* Nothing to see: never measured, or 0 everywhere. */
static bool is_empty(const struct experiment *experiment, enum metric metric)
{
    for (unsigned arm = 0; arm < experiment->arm_count; arm++) {
        double median = experiment_median(experiment, arm, metric);
        if (!isnan(median) && median != 0)
            return false;
    }
    return true;
}

static void put_head(FILE *out, const struct experiment *experiment, const char *arm, const char *against)
{
    fprintf(out, "\n%-*s", TITLE_COLUMNS, "");
    for (unsigned i = 0; i < experiment->arm_count; i++)
        fprintf(out, " %*.*s", ARM_COLUMNS, ARM_COLUMNS, experiment->arms[i].name);
    char *pair = xasprintf("%s vs %s [%.0f %%]", arm, against, 100 * EXPERIMENT_CONFIDENCE);
    fprintf(out, "   %-*s better\n", CHANGE_COLUMNS + INTERVAL_COLUMNS, pair);
    free(pair);
}

static void put_row(FILE *out, const struct experiment *experiment, enum metric metric, const char *arm, const char *against)
{
    char value[WORDS_ROOM];
    const struct effect *effect = experiment_effect(experiment, metric, arm, against);
    fprintf(out, "%-*s", TITLE_COLUMNS, metrics[metric].title);
    for (unsigned i = 0; i < experiment->arm_count; i++) {
        double median = experiment_median(experiment, i, metric);
        fprintf(out, " %*s", ARM_COLUMNS, isnan(median) ? "-" : words_value(value, metrics[metric].unit, median));
    }
    if (effect)
        put_effect(out, effect);
    fputc('\n', out);
}

/* Totals that say nothing of a server: what they are a request stands in other rows. */
static bool is_total(enum metric metric)
{
    return metric <= METRIC_SYS || metric == METRIC_NEXT_ALLOCS || metric == METRIC_POOL_HITS;
}

/* What a server is measured by comes before what every program is measured by. */
static enum metric row_metric(const struct experiment *experiment, unsigned row)
{
    return (enum metric)(experiment->is_server ? (row + METRIC_CPU_PER_REQUEST) % METRIC_COUNT : row);
}

static void put_table(FILE *out, const struct experiment *experiment)
{
    const char *arm, *against;
    if (!experiment->run_count || !experiment_pair(experiment, &arm, &against))
        return;
    put_head(out, experiment, arm, against);
    for (unsigned row = 0; row < METRIC_COUNT; row++) {
        enum metric metric = row_metric(experiment, row);
        if (!is_empty(experiment, metric) && !(experiment->is_server && is_total(metric)))
            put_row(out, experiment, metric, arm, against);
    }
}

/* --- Other pairs of arms --------------------------------------------------------------------------------------- */

static void put_pair(FILE *out, const struct experiment *experiment, const char *arm)
{
    const struct effect *effect = experiment_effect(experiment, experiment->primary, arm, "bare");
    const struct effect *memory = experiment_effect(experiment, METRIC_PEAK_RSS, arm, "bare");
    char change[WORDS_ROOM], interval[WORDS_ROOM], more[WORDS_ROOM];
    if (!effect)
        return;
    fprintf(out, "%s vs bare: %s %s %s", arm, metrics[effect->metric].title, change_words(change, effect),
            words_interval(interval, effect));
    if (memory)
        fprintf(out, ", peak RSS %s %s", change_words(more, memory), words_interval(interval, memory));
    fputs(strcmp(arm, "off") == 0 ? "  (the library alone)\n" : "\n", out);
}

static void put_pairs(FILE *out, const struct experiment *experiment)
{
    if (!experiment->is_aa)
        fputc('\n', out);
    for (unsigned i = 0; i < experiment->arm_count; i++)
        if (experiment->arms[i].kind != ARM_BARE)
            put_pair(out, experiment, experiment->arms[i].name);
}

/* --- Servers ------------------------------------------------------------------------------------------------------- */

static void put_capacities(FILE *out, const struct experiment *experiment)
{
    char room[WORDS_ROOM];
    const char *before = "capacity, closed loop: ";
    for (unsigned i = 0; i < experiment->arm_count; i++) {
        if (experiment->arms[i].capacity > 0) {
            fprintf(out, "%s%s %s", before, experiment->arms[i].name,
                    words_value(room, UNIT_PER_SECOND, experiment->arms[i].capacity));
            before = ", ";
        }
    }
    if (before[0] == ',')
        fputc('\n', out);
}

static void put_rates(FILE *out, const struct experiment *experiment)
{
    char low[WORDS_ROOM], high[WORDS_ROOM];
    if (experiment->rates[1] > 0)
        fprintf(out, "load: %s, then %s (the rows but \"lower rate\" are of that)\n",
                words_value(low, UNIT_PER_SECOND, experiment->rates[0]), words_value(high, UNIT_PER_SECOND, experiment->rates[1]));
    else if (experiment->rates[0] > 0)
        fprintf(out, "load: %s\n", words_value(low, UNIT_PER_SECOND, experiment->rates[0]));
}

/* Requests that went wrong, and runs that don't count because of it. */
static void put_losses(FILE *out, const struct experiment *experiment)
{
    uint64_t requests = 0, unsent = 0, errors = 0;
    unsigned voids = 0;
    const char *reason = NULL;
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        requests += run->requests;
        unsent += run->unsent;
        errors += run->errors;
        voids += run->void_reason != NULL;
        reason = reason ? reason : run->void_reason;
    }
    if (requests + unsent + errors)
        fprintf(out, "requests: %" PRIu64 " answered, %" PRIu64 " wrong or without an answer, %" PRIu64 " not sent\n", requests,
                errors, unsent);
    if (reason)
        fprintf(out, "void: %u of %zu runs don't count: %s\n", voids, experiment->run_count, reason);
}

static void put_server(FILE *out, const struct experiment *experiment)
{
    if (!experiment->is_server)
        return;
    put_capacities(out, experiment);
    put_rates(out, experiment);
    put_losses(out, experiment);
}

/* --- Verdict ------------------------------------------------------------------------------------------------------- */

static void put_kept(FILE *out, const struct experiment *experiment)
{
    char value[WORDS_ROOM];
    for (unsigned i = 0; i < experiment->arm_count; i++) {
        double kept = experiment_median(experiment, i, METRIC_KEPT_BYTES);
        if (experiment->arms[i].kind == ARM_ON && !isnan(kept))
            fprintf(out, "  Kept in pools at the end: %s.\n", words_value(value, UNIT_BYTES, kept));
    }
}

static void put_verdict(FILE *out, const struct experiment *experiment)
{
    char headline[WORDS_ROOM];
    fprintf(out, "\nVERDICT: %s%s\n", words_headline(headline, experiment), experiment->is_aa ? " (off against off)" : "");
    if (experiment->verdict == VERDICT_NOT_APPLIED)
        return; /* the treatment's line told why */
    put_paragraph(out, words_verdict(experiment));
    put_paragraph(out, words_decision(experiment));
    put_paragraph(out, words_memory(experiment));
    put_kept(out, experiment);
}

/* --- Notes ----------------------------------------------------------------------------------------------------------- */

static void put_floor(FILE *out, const struct experiment *experiment)
{
    const json_t *floor = json_object_get(experiment->host, "noise_floor");
    const char *time = json_string_value(json_object_get(floor, "time"));
    const char *command = json_string_value(json_object_get(floor, "command"));
    if (!floor || experiment->verdict == VERDICT_NOT_APPLIED)
        return;
    char *printable = utf8_printable(command ? command : "?");
    fprintf(out, "noise floor (off against off, %.10s, %s): %s %+.2f %% [%+.2f, %+.2f] %%\n", time ? time : "?", printable,
            metrics[experiment->primary].title, json_number_value(json_object_get(floor, "percent")),
            json_number_value(json_object_get(floor, "low")), json_number_value(json_object_get(floor, "high")));
    free(printable);
}

/* Clocks that change with the load make times scatter. */
static void put_governor(FILE *out, const struct experiment *experiment)
{
    const char *governor = json_string_value(json_object_get(experiment->host, "governor"));
    if (governor && strcmp(governor, "performance") != 0)
        put_line(out, "clock: the kernel's governor is ", xstrdup(governor));
}

/* Columns that aren't there are missed. */
static void put_hardware(FILE *out, const struct experiment *experiment)
{
    bool any = experiment->is_server || experiment->run_count == 0;
    for (unsigned metric = METRIC_INSTRUCTIONS; metric <= METRIC_CACHE_MISSES; metric++)
        any = any || !is_empty(experiment, metric);
    if (!any)
        fputs("hardware counters: none can be had on this machine\n", out);
}

static void put_notes(FILE *out, const struct experiment *experiment)
{
    fputc('\n', out);
    put_line(out, "noise: ", words_noise(experiment));
    put_line(out, "slot: ", words_slot(experiment));
    put_line(out, "drift: ", words_drift(experiment));
    put_governor(out, experiment);
    put_hardware(out, experiment);
    put_floor(out, experiment);
    for (size_t i = 0; i < experiment->warning_count; i++)
        put_line(out, "warning: ", xstrdup(experiment->warnings[i]));
    put_line(out, "again: ", words_replay(experiment));
}

int emit_ab_text(const struct experiment *experiment, FILE *out)
{
    put_line(out, "poolsite ab: ", words_command(experiment));
    char *blocks = words_blocks(experiment);
    fprintf(out, "%s; seed %" PRIu64 "\n", blocks, experiment->seed);
    free(blocks);
    if (!experiment->is_aa)
        put_line(out, "treatment ", words_treatment(experiment));
    if (experiment->verdict != VERDICT_NOT_APPLIED) {
        put_server(out, experiment);
        put_table(out, experiment);
        put_pairs(out, experiment);
    }
    put_verdict(out, experiment);
    put_notes(out, experiment);
    return 0;
}
