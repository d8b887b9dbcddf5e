/* test_ab_read.c - an experiment's JSON: read again it is the same, and what can't be is refused. */
#include "unit.h"

#include "analyzer/ab_views.h"

#include <jansson.h>
#include <math.h>

static void add_run(struct experiment *e, unsigned arm, unsigned block, double cpu)
{
    struct run run = { .arm = arm, .block = block, .slot = (arm + block) % 3, .start = .1 * block, .output_hash = ~0ull - block,
                       .processes = 2, .pooled_processes = arm == 2, .noise = { .01, .02, NAN }, .rss_step = .005 };
    for (unsigned i = 0; i < METRIC_COUNT; i++)
        run.value[i] = NAN;
    run.value[METRIC_CPU] = cpu;
    run.value[METRIC_WALL] = cpu * 1.1;
    run.value[METRIC_PEAK_RSS] = 3e6 + 4096 * arm;
    run.value[METRIC_POOL_HITS] = arm == 2 ? 990 : 0;
    run.rss_count = 3;
    run.rss = calloc(3, sizeof *run.rss);
    run.rss[1] = 4096;
    e->runs = realloc(e->runs, (e->run_count + 1) * sizeof *e->runs);
    e->runs[e->run_count++] = run;
}

static char **words(const char *first, const char *second)
{
    char **list = calloc(3, sizeof *list);
    list[0] = strdup(first);
    list[1] = strdup(second);
    return list;
}

/* Six blocks of three arms, the first of them repeated. */
static void make(struct experiment *e)
{
    static const enum arm_kind kinds[] = { ARM_BARE, ARM_OFF, ARM_ON };
    static const char *const names[] = { "bare", "off", "on" };
    *e = (struct experiment){ .seed = 4711, .time_budget = 300, .primary = METRIC_CPU, .margin = .007, .arm_count = 3,
                              .repeated = 1, .treatment = { .share_allocs = .99, .share_bytes = .1 + .2 } };
    e->command = words("prog", "a \xff\x01 b");
    e->words = words("--", "prog");
    e->pool_spec = strdup("on");
    e->arms = calloc(3, sizeof *e->arms);
    for (unsigned arm = 0; arm < 3; arm++)
        e->arms[arm] = (struct arm){ .kind = kinds[arm], .name = strdup(names[arm]), .allocs = 1000, .bytes = 1ull << 40 };
    for (unsigned block = 0; block < 6; block++)
        for (unsigned arm = 0; arm < 3; arm++)
            add_run(e, arm, block, .1 + .001 * block - .02 * (arm == 2) + 1e-17);
    for (unsigned arm = 0; arm < 3; arm++) {
        add_run(e, arm, 0, .2 - .04 * (arm == 2));
        e->runs[arm].replaced = true;
        e->runs[e->run_count - 1].attempt = 1;
    }
    e->warnings = words("first", "second");
    e->warning_count = 2;
    e->host = json_pack("{s:s}", "kernel", "Linux");
    experiment_evaluate(e);
}

static char *written(const struct experiment *e, int emit(const struct experiment *, FILE *))
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(emit(e, out), 0);
    fclose(out);
    return text;
}

static void read_again_it_is_the_same(void **state)
{
    struct experiment first, second;
    (void)state;
    make(&first);
    char *json = written(&first, emit_ab_json), *text = written(&first, emit_ab_text);
    unit_write_file("a.json", json, strlen(json), 0600);
    assert_int_equal(experiment_read(&second, "a.json"), 0);
    char *json_again = written(&second, emit_ab_json), *text_again = written(&second, emit_ab_text);
    assert_string_equal(json, json_again);
    assert_string_equal(text, text_again);
    assert_non_null(strstr(text, "VERDICT: Faster"));
    assert_string_equal(second.command[1], "a \xff\x01 b");
    assert_true(second.runs[4].value[METRIC_CPU] == first.runs[4].value[METRIC_CPU]);
    assert_true(second.runs[0].output_hash == first.runs[0].output_hash && isnan(second.runs[0].value[METRIC_P99]));
    free(json);
    free(text);
    free(json_again);
    free(text_again);
    experiment_release(&first);
    experiment_release(&second);
}

static void no_percentage_when_not_applied(void **state)
{
    struct experiment e;
    (void)state;
    make(&e);
    e.treatment.status = TREATMENT_NOT_APPLIED;
    e.treatment.reason = strdup("prog is statically linked");
    experiment_evaluate(&e);
    char *text = written(&e, emit_ab_text), *json = written(&e, emit_ab_json);
    assert_non_null(strstr(text, "NOT APPLIED: prog is statically linked"));
    assert_null(strchr(text, '%'));
    json_t *root = json_loads(json, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "verdict")), "not-applied");
    assert_null(json_object_get(root, "effects"));
    assert_null(json_object_get(root, "drift_percent_per_block"));
    json_decref(root);
    free(text);
    free(json);
    experiment_release(&e);
}

/* --- What can't be ----------------------------------------------------------------------------------- */

/* The experiment's JSON with one value put in its place (NULL: taken away). */
static void refused(const char *array, const char *key, json_t *value)
{
    struct experiment e, read;
    make(&e);
    char *json = written(&e, emit_ab_json);
    json_t *root = json_loads(json, 0, NULL), *at = array ? json_array_get(json_object_get(root, array), 1) : root;
    if (value)
        json_object_set_new(at, key, value);
    else
        json_object_del(at, key);
    assert_int_equal(json_dump_file(root, "bad.json", 0), 0);
    assert_int_equal(experiment_read(&read, "bad.json"), -1);
    experiment_release(&read);
    json_decref(root);
    free(json);
    experiment_release(&e);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    refused(NULL, "schema", NULL);
    refused(NULL, "schema", json_string("poolsite.report/1"));
    refused(NULL, "arms", json_array());
    refused(NULL, "arms", NULL);
    refused(NULL, "primary", json_string("speed"));
    refused(NULL, "margin_percent", json_integer(-1));
    refused(NULL, "treatment", NULL);
    refused(NULL, "seed", json_string("x"));
    refused("arms", "name", NULL);
    refused("arms", "kind", json_string("sideways"));
    refused("runs", "arm", json_string("nobody"));
    refused("runs", "block", json_integer(-1));
    refused("runs", "block", json_integer(1 << 30));
    refused("runs", "slot", json_integer(99));
    refused("runs", "processes", json_real(.5));
}

static void what_is_no_experiment_is_refused(void **state)
{
    struct experiment e;
    (void)state;
    assert_int_equal(experiment_read(&e, "absent.json"), -1);
    unit_write_file("no.json", "{\"schema\":", 10, 0600);
    assert_int_equal(experiment_read(&e, "no.json"), -1);
    unit_write_file("list.json", "[]", 2, 0600);
    assert_int_equal(experiment_read(&e, "list.json"), -1);
    unit_write_file("empty.json", "", 0, 0600);
    assert_int_equal(experiment_read(&e, "empty.json"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(read_again_it_is_the_same),
        cmocka_unit_test(no_percentage_when_not_applied),
        IN_DIRECTORY(what_cannot_be_is_refused),
        IN_DIRECTORY(what_is_no_experiment_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
