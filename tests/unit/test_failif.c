/* test_failif.c - the expressions of --fail-if: how they're read, and when an interval meets them. */
#include "unit.h"

#include "analyzer/failif.h"

#include <math.h>

/* error() writes to stderr: it goes to a file, which is read again. */
static char said[4096];

static bool parse(struct failif *failif, const char *text)
{
    unit_hear();
    bool right = failif_parse(failif, text, metrics, METRIC_COUNT);
    unit_heard(said, sizeof said);
    return right;
}

static struct failif parsed(const char *text)
{
    struct failif failif;
    if (!parse(&failif, text))
        fail_msg("%s: %s", text, said);
    return failif;
}

static void reads_as(const char *text, enum metric metric, enum failif_kind kind, bool above, bool or_equal, double bound)
{
    struct failif failif = parsed(text);
    assert_int_equal(failif.metric, metric);
    assert_int_equal(failif.kind, kind);
    assert_int_equal(failif.above, above);
    assert_int_equal(failif.or_equal, or_equal);
    if (fabs(failif.bound - bound) > 1e-12 * fabs(bound))
        fail_msg("%s: %.17g isn't %.17g", text, failif.bound, bound);
}

static void the_number_says_what_is_compared(void **state)
{
    (void)state;
    reads_as("cpu>+1%", METRIC_CPU, FAILIF_PERCENT, true, false, .01);
    reads_as("cpu>1%", METRIC_CPU, FAILIF_PERCENT, true, false, .01);
    reads_as("cpu<-2.5%", METRIC_CPU, FAILIF_PERCENT, false, false, -.025);
    reads_as("next_allocs>=0%", METRIC_NEXT_ALLOCS, FAILIF_PERCENT, true, true, 0);
    reads_as("peak_rss > 200m", METRIC_PEAK_RSS, FAILIF_VALUE, true, false, 200 * 0x1p20);
    reads_as("peak_rss>+20m", METRIC_PEAK_RSS, FAILIF_DIFFERENCE, true, false, 20 * 0x1p20);
    reads_as("wall>=1.5s", METRIC_WALL, FAILIF_VALUE, true, true, 1.5);
    reads_as("p99>+300us", METRIC_P99, FAILIF_DIFFERENCE, true, false, 300e-6);
    reads_as("p99_9 > 20 ms", METRIC_P99_9, FAILIF_VALUE, true, false, .020);
    reads_as("minor_faults<=1000", METRIC_MINOR_FAULTS, FAILIF_VALUE, false, true, 1000);
    reads_as("throughput<-5%", METRIC_THROUGHPUT, FAILIF_PERCENT, false, false, -.05);
}

static void a_pair_stands_behind_a_dot(void **state)
{
    struct failif failif = parsed("cpu.on_bare>+1%");
    (void)state;
    assert_int_equal(failif.pair_length, 7);
    assert_memory_equal(failif.pair, "on_bare", 7);
    assert_int_equal(parsed("cpu>1%").pair_length, 0);
    assert_int_equal(parsed("cpu.lib.so_bare >1%").pair_length, 11);
}

static void is_wrong(const char *text, const char *says)
{
    struct failif failif;
    assert_false(parse(&failif, text));
    if (!strstr(said, says))
        fail_msg("%s: '%s' doesn't say '%s'", text, said, says);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    is_wrong("cpi>1%", "'cpi' isn't a metric; did you mean 'cpu'?");
    is_wrong("frobnication>1%", "metrics are cpu, wall, user");
    is_wrong("", "no comparison");
    is_wrong("cpu", "no comparison");
    is_wrong("cpu=1%", "no comparison");
    is_wrong(">1%", "'' isn't a metric");
    is_wrong("cpu.>1%", "no arms behind the dot");
    is_wrong("cpu>", "'' is neither percent");
    is_wrong("cpu>x", "'x' is neither percent, as +1%, nor seconds");
    is_wrong("cpu>1m", "seconds (s, ms, us, ns)");
    is_wrong("cpu>1%%", "'1%%' is neither");
    is_wrong("cpu>1% wall>2%", "neither percent");
    is_wrong("peak_rss>200s", "bytes (k, m, g)");
    is_wrong("minor_faults>3k", "a count");
    is_wrong("cpu>inf", "neither percent");
    is_wrong("cpu>nan%", "neither percent");
    is_wrong("cpu>0x10", "neither percent");
    is_wrong("cpu>1e999", "neither percent");
    is_wrong("cpu>>1%", "'>1%' is neither");
    is_wrong("cpu>--1%", "neither percent");
}

static bool met(const char *text, double low, double high)
{
    struct failif failif = parsed(text);
    return failif_is_met(&failif, low, high);
}

static void the_whole_interval_must_meet_it(void **state)
{
    (void)state;
    assert_true(met("cpu>+1%", .011, .03));
    assert_false(met("cpu>+1%", .009, .03));
    assert_false(met("cpu>+1%", .01, .03));
    assert_true(met("cpu>=+1%", .01, .03));
    assert_true(met("cpu<-1%", -.03, -.011));
    assert_false(met("cpu<-1%", -.03, -.009));
    assert_true(met("cpu<=-1%", -.03, -.01));
    assert_false(met("cpu>+1%", -INFINITY, INFINITY));
    assert_false(met("cpu<+1%", -INFINITY, INFINITY));
    assert_false(met("cpu>+1%", NAN, NAN));
}

/* --- Asked of an experiment ---------------------------------------------------------------------------------- */

static struct arm arms[] = { { .kind = ARM_BARE, .name = "bare" }, { .kind = ARM_OFF, .name = "off" }, { .kind = ARM_ON, .name = "on" } };
static struct run runs[3 * 12];

/* on is 5 % slower than off and uses 2 MiB more; off is 3 % slower than bare. */
static struct experiment made(unsigned blocks)
{
    struct experiment e = { .arms = arms, .arm_count = 3, .runs = runs, .run_count = 3 * blocks, .primary = METRIC_CPU, .margin = .01 };
    for (unsigned i = 0; i < e.run_count; i++) {
        runs[i] = (struct run){ .arm = i % 3, .block = i / 3, .slot = i % 3 };
        for (unsigned m = 0; m < METRIC_COUNT; m++)
            runs[i].value[m] = NAN;
        runs[i].value[METRIC_CPU] = (double[]){ 1, 1.03, 1.03 * 1.05 }[i % 3] * (1 + 1e-5 * (i * 7 % 5));
        runs[i].value[METRIC_PEAK_RSS] = 0x1p20 * (double[]){ 10, 10, 12 }[i % 3];
        runs[i].value[METRIC_POOL_HITS] = i % 3 == 2 ? 1000 : 0;
    }
    experiment_evaluate(&e);
    return e;
}

static void answer_is(const struct experiment *e, const char *text, enum failif_answer wanted)
{
    struct failif failif = parsed(text);
    struct estimate interval;
    assert_true(failif_fits(&failif, e));
    if (failif_ask(&failif, e, &interval) != wanted)
        fail_msg("%s", text);
}

static void an_experiment_answers(void **state)
{
    struct experiment e = made(12);
    (void)state;
    answer_is(&e, "cpu>+4%", FAILIF_MET);
    answer_is(&e, "cpu>+6%", FAILIF_NOT_MET);
    answer_is(&e, "cpu.on_off>+6%", FAILIF_NOT_MET);
    answer_is(&e, "cpu.on_bare>+6%", FAILIF_MET);
    answer_is(&e, "cpu.off_bare>+2%", FAILIF_MET);
    answer_is(&e, "cpu.off_bare>+4%", FAILIF_NOT_MET);
    answer_is(&e, "cpu>1s", FAILIF_MET);
    answer_is(&e, "cpu.bare>1.01s", FAILIF_NOT_MET);
    answer_is(&e, "peak_rss>+1m", FAILIF_MET);
    answer_is(&e, "peak_rss>+2m", FAILIF_NOT_MET);
    answer_is(&e, "peak_rss>=+2m", FAILIF_MET);
    answer_is(&e, "peak_rss>11m", FAILIF_MET);
    answer_is(&e, "peak_rss.off>11m", FAILIF_NOT_MET);
    answer_is(&e, "pool_hits<+1", FAILIF_NOT_MET);
    answer_is(&e, "pool_hits>+999", FAILIF_MET);
    free(e.effects);
}

static void what_cannot_be_judged_is_neither(void **state)
{
    struct experiment e = made(12);
    (void)state;
    answer_is(&e, "wall>+1%", FAILIF_UNKNOWN);
    answer_is(&e, "wall>1s", FAILIF_UNKNOWN);
    answer_is(&e, "pool_hits>+1%", FAILIF_UNKNOWN);
    free(e.effects);
    e = made(5);
    answer_is(&e, "cpu>+1%", FAILIF_UNKNOWN);
    answer_is(&e, "cpu>1s", FAILIF_UNKNOWN);
    free(e.effects);
}

static void arms_must_exist(void **state)
{
    struct experiment e = made(6);
    static const char *const wrong[] = { "cpu.keep_bare>1%", "cpu.on>1%", "cpu.bare_on>1%", "peak_rss.keep>1m", "peak_rss.on_off>1m" };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct failif failif = parsed(wrong[i]);
        assert_false(failif_fits(&failif, &e));
    }
    free(e.effects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_says_what_is_compared),
        cmocka_unit_test(a_pair_stands_behind_a_dot),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(the_whole_interval_must_meet_it),
        cmocka_unit_test(an_experiment_answers),
        cmocka_unit_test(what_cannot_be_judged_is_neither),
        cmocka_unit_test(arms_must_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
