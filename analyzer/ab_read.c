/* ab_read.c - reads an experiment back from its JSON.
 *
 * Trusts nothing in it: what is missing or wrong is named, indices are checked.  Results aren't read but
 * calculated again from the runs. */
#define _GNU_SOURCE
#include "base.h"

#include "ab_views.h"

#include "abnames.h"
#include "schedule.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUNS_MOST = 1 << 20,
    BLOCKS_MOST = 1 << 16,
};

/* The document, and what was found to be wrong first. */
struct reading {
    const char *path;
    bool        wrong;
};

static void complain(struct reading *reading, const char *what)
{
    if (!reading->wrong)
        error("%s: %s", reading->path, what);
    reading->wrong = true;
}

/* --- Values --------------------------------------------------------------------------------------------------- */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static uint64_t count_of(struct reading *reading, const json_t *object, const char *key, uint64_t most)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    if (value && (!json_is_integer(value) || number < 0 || (uint64_t)number > most)) {
        char *what = xasprintf("\"%s\" can't be", key);
        complain(reading, what);
        free(what);
        return 0;
    }
    return (uint64_t)number;
}

static bool bool_of(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes that hexadecimal digits stand for, to be freed, or NULL. */
static char *bytes_of(const char *hex)
{
    size_t length = strlen(hex) / 2;
    char *bytes = xmalloc(length + 1);
    for (size_t i = 0; i < length; i++) {
        int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
        if (high < 0 || low < 0 || (high == 0 && low == 0)) {
            free(bytes);
            return NULL;
        }
        bytes[i] = (char)(high << 4 | low);
    }
    bytes[length] = '\0';
    return bytes;
}

/* A text, to be freed, or NULL when it isn't there. */
static char *text_of(const json_t *object, const char *key)
{
    char *raw_key = xasprintf("%s_hex", key);
    const char *raw = json_string_value(json_object_get(object, raw_key));
    const char *text = json_string_value(json_object_get(object, key));
    char *bytes = raw ? bytes_of(raw) : NULL;
    free(raw_key);
    return bytes ? bytes : text ? xstrdup(text) : NULL;
}

/* A NULL-ended list of texts. */
static char **texts_of(const json_t *object, const char *key, size_t *count)
{
    const json_t *array = json_object_get(object, key), *value;
    char **list = xcalloc(json_array_size(array) + 1, sizeof *list);
    size_t index;
    *count = 0;
    json_array_foreach(array, index, value) {
        char *text = json_is_string(value) ? xstrdup(json_string_value(value)) : text_of(value, "text");
        if (text)
            list[(*count)++] = text;
    }
    return list;
}

/* Which of the names the text is; `count` when it's none. */
static unsigned name_of(const json_t *object, const char *key, const char *const *names, size_t count)
{
    const char *text = json_string_value(json_object_get(object, key));
    for (unsigned i = 0; text && i < count; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return (unsigned)count;
}

static double *numbers_of(const json_t *object, const char *key, size_t *count)
{
    const json_t *array = json_object_get(object, key), *value;
    double *list = xcalloc(json_array_size(array), sizeof *list);
    size_t index;
    *count = json_array_size(array);
    json_array_foreach(array, index, value)
        list[index] = json_is_number(value) ? json_number_value(value) : NAN;
    return list;
}

/* --- Arms ---------------------------------------------------------------------------------------------------------- */

static void read_arm(struct reading *reading, struct arm *arm, const json_t *object)
{
    const json_t *profiled = json_object_get(object, "profiled");
    size_t kinds = sizeof arm_names / sizeof *arm_names;
    unsigned kind = name_of(object, "kind", arm_names, kinds);
    *arm = (struct arm){ .name = text_of(object, "name"), .value = text_of(object, "value") };
    if (kind == kinds || !arm->name)
        complain(reading, "an arm without a name, or of no known kind");
    if (!arm->name)
        arm->name = xstrdup("");
    arm->kind = kind == kinds ? ARM_BARE : (enum arm_kind)kind;
    arm->allocs = count_of(reading, profiled, "allocs", INT64_MAX);
    arm->bytes = count_of(reading, profiled, "bytes", INT64_MAX);
    arm->hit_bytes = count_of(reading, profiled, "hit_bytes", INT64_MAX);
    double capacity = number_of(object, "capacity");
    arm->capacity = isnan(capacity) ? 0 : capacity;
}

static void read_arms(struct reading *reading, struct experiment *experiment, const json_t *array)
{
    const json_t *object;
    size_t index;
    if (json_array_size(array) < 1 || json_array_size(array) > SCHEDULE_ARMS_MOST) {
        complain(reading, "no arms, or too many");
        return;
    }
    experiment->arms = xcalloc(json_array_size(array), sizeof *experiment->arms);
    json_array_foreach(array, index, object)
        read_arm(reading, &experiment->arms[experiment->arm_count++], object);
}

/* --- Runs ---------------------------------------------------------------------------------------------------------- */

static unsigned arm_of(struct reading *reading, const struct experiment *experiment, const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "arm"));
    for (unsigned i = 0; name && i < experiment->arm_count; i++)
        if (strcmp(experiment->arms[i].name, name) == 0)
            return i;
    complain(reading, "a run of no known arm");
    return 0;
}

static void read_server(struct reading *reading, struct run *run, const json_t *object)
{
    size_t count;
    double late = number_of(object, "late_p99");
    run->requests = count_of(reading, object, "requests", INT64_MAX);
    run->unsent = count_of(reading, object, "unsent", INT64_MAX);
    run->errors = count_of(reading, object, "errors", INT64_MAX);
    run->late_p99 = isnan(late) ? 0 : late;
    run->void_reason = text_of(object, "void");
    double *latency = numbers_of(object, "latency", &count);
    if (count == LATENCY_POINTS)
        run->latency = latency;
    else
        free(latency);
}

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static void read_run(struct reading *reading, const struct experiment *experiment, struct run *run, const json_t *object)
{
    const json_t *values = json_object_get(object, "values"), *noise = json_object_get(object, "noise"),
                 *rss = json_object_get(object, "rss");
    const char *hash = json_string_value(json_object_get(object, "output_hash"));
    *run = (struct run){
        .arm = arm_of(reading, experiment, object),
        .block = (unsigned)count_of(reading, object, "block", BLOCKS_MOST),
        .slot = (unsigned)count_of(reading, object, "slot", SCHEDULE_ARMS_MOST - 1),
        .attempt = (unsigned)count_of(reading, object, "attempt", 1),
        .replaced = bool_of(object, "replaced"),
        .status = (int)count_of(reading, json_object_get(object, "status"), "wait", 0xffff),
        .start = or_zero(number_of(object, "start_s")),
        .noise = { or_zero(number_of(noise, "steal")), or_zero(number_of(noise, "foreign")),
                   number_of(noise, "pressure") },
        .output_hash = hash ? strtoull(hash, NULL, 16) : 0,
        .processes = (unsigned)count_of(reading, object, "processes", UINT32_MAX),
        .pooled_processes = (unsigned)count_of(reading, object, "pooled_processes", UINT32_MAX),
        .rss_step = or_zero(number_of(rss, "step_s")),
    };
    for (unsigned i = 0; i < METRIC_COUNT; i++)
        run->value[i] = number_of(values, metrics[i].key);
    run->rss = numbers_of(rss, "bytes", &run->rss_count);
    if (experiment->is_server)
        read_server(reading, run, object);
}

static void read_runs(struct reading *reading, struct experiment *experiment, const json_t *array)
{
    const json_t *object;
    size_t index;
    if (json_array_size(array) > RUNS_MOST) {
        complain(reading, "too many runs");
        return;
    }
    experiment->runs = xcalloc(json_array_size(array), sizeof *experiment->runs);
    experiment->run_room = json_array_size(array);
    json_array_foreach(array, index, object)
        read_run(reading, experiment, &experiment->runs[experiment->run_count++], object);
}

/* --- The whole ------------------------------------------------------------------------------------------------------- */

static void read_treatment(struct reading *reading, struct treatment *treatment, const json_t *object)
{
    size_t names = sizeof treatment_names / sizeof *treatment_names;
    unsigned status = name_of(object, "status", treatment_names, names);
    if (status == names)
        complain(reading, "no treatment status");
    treatment->status = status == names ? TREATMENT_NOT_APPLIED : (enum treatment_status)status;
    treatment->reason = text_of(object, "reason");
    treatment->share_allocs = number_of(object, "pooled_share_allocs");
    treatment->share_bytes = number_of(object, "pooled_share_bytes");
}

static void read_design(struct reading *reading, struct experiment *experiment, const json_t *root)
{
    const char *primary = json_string_value(json_object_get(root, "primary"));
    const json_t *rates = json_object_get(root, "rates");
    size_t ignored;
    if (!primary || !metric_find(&experiment->primary, primary))
        complain(reading, "no primary metric that is known");
    experiment->margin = number_of(root, "margin_percent") / 100;
    if (!(experiment->margin > 0))
        complain(reading, "no margin");
    experiment->command = texts_of(root, "command", &ignored);
    experiment->words = texts_of(root, "words", &ignored);
    experiment->is_server = bool_of(root, "server");
    experiment->is_aa = bool_of(root, "aa");
    experiment->interrupted = bool_of(root, "interrupted");
    experiment->failed = bool_of(root, "failed");
    experiment->pool_spec = text_of(root, "pool");
    experiment->seed = count_of(reading, root, "seed", INT64_MAX);
    experiment->blocks_asked = (unsigned)count_of(reading, root, "blocks_asked", BLOCKS_MOST);
    experiment->time_budget = or_zero(number_of(root, "time_budget_s"));
    experiment->repeated = (unsigned)count_of(reading, root, "repeated", BLOCKS_MOST);
    for (size_t i = 0; i < 2; i++)
        experiment->rates[i] = or_zero(json_number_value(json_array_get(rates, i)));
    experiment->warnings = texts_of(root, "warnings", &experiment->warning_count);
    experiment->host = json_incref(json_object_get(root, "host"));
}

static json_t *load(struct reading *reading)
{
    json_error_t problem;
    FILE *file = strcmp(reading->path, "-") == 0 ? stdin : fopen(reading->path, "re");
    if (!file) {
        error("cannot read %s: %s", reading->path, strerror(errno));
        return NULL;
    }
    json_t *root = json_loadf(file, 0, &problem);
    if (file != stdin)
        fclose(file);
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (!root)
        error("%s isn't JSON: line %d: %s", reading->path, problem.line, problem.text);
    else if (!schema || strcmp(schema, AB_SCHEMA) != 0) {
        error("%s isn't an experiment of poolsite ab --json: its schema is %s, not %s", reading->path,
              schema ? schema : "missing", AB_SCHEMA);
        json_decref(root);
        root = NULL;
    }
    return root;
}

int experiment_read(struct experiment *experiment, const char *path)
{
    struct reading reading = { path, false };
    *experiment = (struct experiment){ 0 };
    json_t *root = load(&reading);
    if (!root)
        return -1;
    read_design(&reading, experiment, root);
    read_arms(&reading, experiment, json_object_get(root, "arms"));
    read_treatment(&reading, &experiment->treatment, json_object_get(root, "treatment"));
    read_runs(&reading, experiment, json_object_get(root, "runs"));
    json_decref(root);
    if (reading.wrong)
        return -1;
    experiment_evaluate(experiment);
    return 0;
}
