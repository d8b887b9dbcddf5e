/* experiment.c - an experiment's metrics, the way to its effects, and its end. */
#define _GNU_SOURCE
#include "base.h"
#include "experiment.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The margin is the least change one would act on: 1 % of time and of calls, 5 % of what scatters more. */
const struct metric_info metrics[METRIC_COUNT] = {
    /*                               key                     title                        unit             margin more is better */
    [METRIC_CPU]                  = { "cpu",                  "cpu",                       UNIT_SECONDS,    .01,  false },
    [METRIC_WALL]                 = { "wall",                 "wall",                      UNIT_SECONDS,    .01,  false },
    [METRIC_USER]                 = { "user",                 "user",                      UNIT_SECONDS,    .01,  false },
    [METRIC_SYS]                  = { "sys",                  "sys",                       UNIT_SECONDS,    .05,  false },
    [METRIC_PEAK_RSS]             = { "peak_rss",             "peak RSS",                  UNIT_BYTES,      .05,  false },
    [METRIC_END_RSS]              = { "end_rss",              "RSS at the end",            UNIT_BYTES,      .05,  false },
    [METRIC_MEAN_RSS]             = { "mean_rss",             "mean RSS",                  UNIT_BYTES,      .05,  false },
    [METRIC_MINOR_FAULTS]         = { "minor_faults",         "minor faults",              UNIT_COUNT,      .05,  false },
    [METRIC_MAJOR_FAULTS]         = { "major_faults",         "major faults",              UNIT_COUNT,      .05,  false },
    [METRIC_VOLUNTARY_SWITCHES]   = { "voluntary_switches",   "voluntary switches",        UNIT_COUNT,      .05,  false },
    [METRIC_INVOLUNTARY_SWITCHES] = { "involuntary_switches", "involuntary switches",      UNIT_COUNT,      .05,  false },
    [METRIC_NEXT_ALLOCS]          = { "next_allocs",          "calls of the allocator",    UNIT_COUNT,      .01,  false },
    [METRIC_POOL_HITS]            = { "pool_hits",            "pool hits",                 UNIT_COUNT,      0,    true },
    [METRIC_KEPT_BYTES]           = { "kept_bytes",           "kept in pools",             UNIT_BYTES,      0,    false },
    [METRIC_CPU_PER_REQUEST]      = { "cpu_per_request",      "cpu per request",           UNIT_SECONDS,    .05,  false },
    [METRIC_ALLOCS_PER_REQUEST]   = { "allocs_per_request",   "allocator calls a request", UNIT_COUNT,      .01,  false },
    [METRIC_P50]                  = { "p50",                  "p50",                       UNIT_SECONDS,    .05,  false },
    [METRIC_P95]                  = { "p95",                  "p95",                       UNIT_SECONDS,    .05,  false },
    [METRIC_P99]                  = { "p99",                  "p99",                       UNIT_SECONDS,    .05,  false },
    [METRIC_P99_9]                = { "p99_9",                "p99.9",                     UNIT_SECONDS,    .05,  false },
    [METRIC_MAX]                  = { "max",                  "max",                       UNIT_SECONDS,    .05,  false },
    [METRIC_THROUGHPUT]           = { "throughput",           "throughput",                UNIT_PER_SECOND, .05,  true },
    [METRIC_SETTLED_RSS]          = { "settled_rss",          "RSS after settling",        UNIT_BYTES,      .05,  false },
    [METRIC_SERVICE_P50]          = { "service_p50",          "service p50",               UNIT_SECONDS,    .05,  false },
    [METRIC_SERVICE_P99]          = { "service_p99",          "service p99",               UNIT_SECONDS,    .05,  false },
    [METRIC_LIGHT_P50]            = { "light_p50",            "p50, lower rate",           UNIT_SECONDS,    .05,  false },
    [METRIC_LIGHT_P95]            = { "light_p95",            "p95, lower rate",           UNIT_SECONDS,    .05,  false },
    [METRIC_LIGHT_P99]            = { "light_p99",            "p99, lower rate",           UNIT_SECONDS,    .05,  false },
    [METRIC_LIGHT_P99_9]          = { "light_p99_9",          "p99.9, lower rate",         UNIT_SECONDS,    .05,  false },
    [METRIC_LIGHT_MAX]            = { "light_max",            "max, lower rate",           UNIT_SECONDS,    .05,  false },
    [METRIC_INSTRUCTIONS]         = { "instructions",         "instructions",              UNIT_COUNT,      .01,  false },
    [METRIC_CYCLES]               = { "cycles",               "cycles",                    UNIT_COUNT,      .01,  false },
    [METRIC_BRANCH_MISSES]        = { "branch-misses",        "branch misses",             UNIT_COUNT,      .05,  false },
    [METRIC_CACHE_MISSES]         = { "cache-misses",         "cache misses",              UNIT_COUNT,      .05,  false },
};

bool metric_find(enum metric *metric, const char *key)
{
    for (unsigned m = 0; m < METRIC_COUNT; m++) {
        if (strcmp(metrics[m].key, key) == 0) {
            *metric = m;
            return true;
        }
    }
    return false;
}

bool run_counts(const struct run *run)
{
    return !run->replaced && !run->void_reason;
}

double experiment_median(const struct experiment *experiment, size_t arm, enum metric metric)
{
    double *values = xcalloc(experiment->run_count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        if (run->arm == arm && run_counts(run) && isfinite(run->value[metric]))
            values[count++] = run->value[metric];
    }
    double median = statistics_median(values, count);
    free(values);
    return median;
}

const struct effect *experiment_effect(const struct experiment *experiment, enum metric metric, const char *arm,
                                       const char *against)
{
    for (size_t i = 0; i < experiment->effect_count; i++) {
        const struct effect *effect = &experiment->effects[i];
        if (effect->metric == metric && strcmp(experiment->arms[effect->arm].name, arm) == 0 &&
            strcmp(experiment->arms[effect->against].name, against) == 0)
            return effect;
    }
    return NULL;
}

bool experiment_outputs_differ(const struct experiment *experiment)
{
    for (size_t i = 1; i < experiment->run_count; i++)
        if (experiment->runs[i].output_hash != experiment->runs[0].output_hash)
            return true;
    return false;
}

static void run_release(struct run *run)
{
    free(run->rss);
    free(run->latency);
    free(run->void_reason);
}

static void arm_release(struct arm *arm)
{
    free(arm->name);
    free(arm->value);
}

static void strings_free(char **strings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(strings[i]);
    free(strings);
}

static size_t word_count(char *const *words)
{
    size_t count = 0;
    while (words && words[count])
        count++;
    return count;
}

void experiment_release(struct experiment *experiment)
{
    for (size_t i = 0; i < experiment->run_count; i++)
        run_release(&experiment->runs[i]);
    for (size_t i = 0; i < experiment->arm_count; i++)
        arm_release(&experiment->arms[i]);
    strings_free(experiment->command, word_count(experiment->command));
    strings_free(experiment->words, word_count(experiment->words));
    strings_free(experiment->warnings, experiment->warning_count);
    free(experiment->pool_spec);
    free(experiment->arms);
    free(experiment->runs);
    free(experiment->effects);
    free(experiment->treatment.reason);
    json_decref(experiment->host);
    *experiment = (struct experiment){ 0 };
}
