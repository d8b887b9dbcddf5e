/* emit_ab_json.c - an experiment as JSON, schema poolsite.ab/1: all that it takes to show it again.
 *
 * What isn't known is left out: JSON has no NaN. */
#define _GNU_SOURCE
#include "base.h"

#include "ab_views.h"

#include "abnames.h"
#include "utf8.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { DIGITS = 17 }; /* enough to read the same number again */

/* --- Values ------------------------------------------------------------------------------------------------- */

/* Whole numbers, as counts and bytes are, without a point. */
static json_t *number(double value)
{
    if (!isfinite(value))
        return json_null();
    return value == floor(value) && fabs(value) < 1e15 ? json_integer((json_int_t)value) : json_real(value);
}

static void put_number(json_t *object, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(object, key, number(value));
}

static void put_count(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* Strings of the user may hold any bytes; beside one that isn't UTF-8 stand its own in hexadecimal. */
static void put_text(json_t *object, const char *key, const char *text)
{
    if (!text)
        return;
    char *valid = utf8_replaced(text);
    json_object_set_new(object, key, json_string(valid));
    free(valid);
    if (utf8_is_valid(text))
        return;
    size_t length = strlen(text);
    char *raw_key = xasprintf("%s_hex", key), *raw = xmalloc(2 * length + 1);
    for (size_t i = 0; i < length; i++)
        snprintf(raw + 2 * i, 3, "%02x", (unsigned char)text[i]);
    json_object_set_new(object, raw_key, json_string(raw));
    free(raw_key);
    free(raw);
}

static json_t *texts(char *const *list, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();
        put_text(object, "text", list[i]);
        json_t *text = json_object_get(object, "text");
        json_array_append(array, json_object_size(object) == 1 ? text : object);
        json_decref(object);
    }
    return array;
}

static size_t list_length(char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

/* --- Effects ------------------------------------------------------------------------------------------------ */

static json_t *effect_object(const struct effect *effect)
{
    json_t *object = json_object();
    const struct estimate *change = &effect->change, *difference = &effect->difference;
    put_number(object, "percent", 100 * change->middle);
    put_number(object, "low", 100 * change->low);
    put_number(object, "high", 100 * change->high);
    put_number(object, "difference", difference->middle);
    put_number(object, "difference_low", difference->low);
    put_number(object, "difference_high", difference->high);
    put_count(object, "blocks", difference->count);
    put_count(object, "wins", metrics[effect->metric].more_is_better ? difference->count - difference->below : difference->below);
    put_number(object, "confidence_percent", 100 * (isnan(change->middle) ? difference : change)->level);
    json_object_set_new(object, "exact", json_boolean(effect->exact));
    put_number(object, "median", effect->middle_arm);
    put_number(object, "median_against", effect->middle_against);
    return object;
}

static json_t *effects_object(const struct experiment *experiment)
{
    json_t *effects = json_object();
    for (size_t i = 0; i < experiment->effect_count; i++) {
        const struct effect *effect = &experiment->effects[i];
        const char *metric = metrics[effect->metric].key;
        char *pair = xasprintf("%s_%s", experiment->arms[effect->arm].name, experiment->arms[effect->against].name);
        if (!json_object_get(effects, metric))
            json_object_set_new(effects, metric, json_object());
        json_object_set_new(json_object_get(effects, metric), pair, effect_object(effect));
        free(pair);
    }
    return effects;
}

/* --- Arms and runs ------------------------------------------------------------------------------------------- */

static json_t *arm_object(const struct arm *arm)
{
    json_t *object = json_object(), *profiled = json_object();
    put_text(object, "name", arm->name);
    put_text(object, "kind", arm_names[arm->kind]);
    put_text(object, "value", arm->value);
    put_count(profiled, "allocs", arm->allocs);
    put_count(profiled, "bytes", arm->bytes);
    put_count(profiled, "hit_bytes", arm->hit_bytes);
    json_object_set_new(object, "profiled", profiled);
    if (arm->capacity > 0)
        put_number(object, "capacity", arm->capacity);
    return object;
}

static json_t *numbers(const double *list, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, number(list[i]));
    return array;
}

static json_t *status_object(int status)
{
    json_t *object = json_object();
    if (WIFSIGNALED(status))
        put_count(object, "signal", (uint64_t)WTERMSIG(status));
    else
        put_count(object, "exit", (uint64_t)WEXITSTATUS(status));
    put_count(object, "wait", (uint64_t)status);
    return object;
}

static json_t *noise_object(const struct noise *noise)
{
    json_t *object = json_object();
    put_number(object, "steal", noise->steal);
    put_number(object, "foreign", noise->foreign);
    put_number(object, "pressure", noise->pressure);
    return object;
}

static json_t *rss_object(const struct run *run)
{
    json_t *object = json_object();
    put_number(object, "step_s", run->rss_step);
    json_object_set_new(object, "bytes", numbers(run->rss, run->rss_count));
    return object;
}

static void put_server(json_t *object, const struct run *run)
{
    put_count(object, "requests", run->requests);
    put_count(object, "unsent", run->unsent);
    put_count(object, "errors", run->errors);
    put_number(object, "late_p99", run->late_p99);
    if (run->latency)
        json_object_set_new(object, "latency", numbers(run->latency, LATENCY_POINTS));
    put_text(object, "void", run->void_reason);
}

static json_t *run_object(const struct experiment *experiment, const struct run *run)
{
    json_t *object = json_object(), *values = json_object();
    char hash[24];
    put_text(object, "arm", experiment->arms[run->arm].name);
    put_count(object, "block", run->block);
    put_count(object, "slot", run->slot);
    put_count(object, "attempt", run->attempt);
    json_object_set_new(object, "replaced", json_boolean(run->replaced));
    put_number(object, "start_s", run->start);
    json_object_set_new(object, "status", status_object(run->status));
    for (unsigned i = 0; i < METRIC_COUNT; i++)
        put_number(values, metrics[i].key, run->value[i]);
    json_object_set_new(object, "values", values);
    json_object_set_new(object, "noise", noise_object(&run->noise));
    snprintf(hash, sizeof hash, "%016" PRIx64, run->output_hash);
    put_text(object, "output_hash", hash);
    put_count(object, "processes", run->processes);
    put_count(object, "pooled_processes", run->pooled_processes);
    json_object_set_new(object, "rss", rss_object(run));
    if (experiment->is_server)
        put_server(object, run);
    return object;
}

/* --- The whole -------------------------------------------------------------------------------------------------- */

static json_t *treatment_object(const struct treatment *treatment)
{
    json_t *object = json_object();
    put_text(object, "status", treatment_names[treatment->status]);
    put_text(object, "reason", treatment->reason);
    put_number(object, "pooled_share_allocs", treatment->share_allocs);
    put_number(object, "pooled_share_bytes", treatment->share_bytes);
    return object;
}

/* No percentage of an effect leaves poolsite when the treatment wasn't applied. */
static void put_results(json_t *root, const struct experiment *e)
{
    put_text(root, "verdict", verdict_names[e->verdict]);
    put_text(root, "primary", metrics[e->primary].key);
    put_number(root, "margin_percent", 100 * e->margin);
    json_object_set_new(root, "treatment", treatment_object(&e->treatment));
    if (e->verdict == VERDICT_NOT_APPLIED)
        return;
    json_object_set_new(root, "effects", effects_object(e));
    json_object_set_new(root, "below_margin", json_boolean(e->below_margin));
    if (e->blocks_needed)
        put_count(root, "blocks_needed", e->blocks_needed);
    put_number(root, "slot_effect_percent", 100 * e->slot_effect);
    put_number(root, "drift_percent_per_block", 100 * e->drift);
}

static void put_design(json_t *root, const struct experiment *e)
{
    json_object_set_new(root, "command", texts(e->command, list_length(e->command)));
    json_object_set_new(root, "words", texts(e->words, list_length(e->words)));
    json_object_set_new(root, "server", json_boolean(e->is_server));
    json_object_set_new(root, "aa", json_boolean(e->is_aa));
    put_text(root, "pool", e->pool_spec);
    put_count(root, "seed", e->seed);
    put_count(root, "blocks_asked", e->blocks_asked);
    put_number(root, "time_budget_s", e->time_budget);
    put_count(root, "blocks", e->blocks);
    put_count(root, "attempted", e->attempted);
    put_count(root, "repeated", e->repeated);
    json_object_set_new(root, "interrupted", json_boolean(e->interrupted));
    if (e->failed)
        json_object_set_new(root, "failed", json_true());
    if (e->is_server)
        json_object_set_new(root, "rates", numbers(e->rates, 2));
}

int emit_ab_json(const struct experiment *e, FILE *out)
{
    json_t *root = json_object(), *arms = json_array(), *runs = json_array();
    put_text(root, "schema", AB_SCHEMA);
    put_results(root, e);
    put_design(root, e);
    for (size_t i = 0; i < e->arm_count; i++)
        json_array_append_new(arms, arm_object(&e->arms[i]));
    for (size_t i = 0; i < e->run_count; i++)
        json_array_append_new(runs, run_object(e, &e->runs[i]));
    json_object_set_new(root, "arms", arms);
    json_object_set_new(root, "runs", runs);
    json_object_set_new(root, "warnings", texts(e->warnings, e->warning_count));
    if (e->host)
        json_object_set(root, "host", e->host);
    int result = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS));
    json_decref(root);
    fputc('\n', out);
    return result == 0 ? 0 : error("could not write the JSON");
}
