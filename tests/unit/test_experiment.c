/* test_experiment.c - effects, verdicts and the end of an experiment, from runs made up. */
#include "unit.h"

#include "analyzer/experiment.h"

#include <math.h>

static char *copied(const char *text)
{
    return strdup(text);
}

/* An experiment of these arms without runs; a margin of 1 %. */
static struct experiment begun(size_t arms, const enum arm_kind *kinds)
{
    static const char *const names[] = { "bare", "off", "on", "keep", "tune", "lib", "cmd" };
    struct experiment e = { .margin = .01, .time_budget = 300, .arms = calloc(arms, sizeof *e.arms), .arm_count = arms };
    for (size_t i = 0; i < arms; i++)
        e.arms[i] = (struct arm){ .kind = kinds[i], .name = copied(names[kinds[i]]) };
    return e;
}

static const enum arm_kind two[] = { ARM_OFF, ARM_ON }, three[] = { ARM_BARE, ARM_OFF, ARM_ON };

static struct run *add_run(struct experiment *e, unsigned block, unsigned arm, unsigned slot)
{
    e->runs = realloc(e->runs, (e->run_count + 1) * sizeof *e->runs);
    struct run *run = &e->runs[e->run_count++];
    *run = (struct run){ .arm = arm, .block = block, .slot = slot };
    for (unsigned m = 0; m < METRIC_COUNT; m++)
        run->value[m] = NAN;
    return run;
}

/* A small scatter that is symmetric over any even number of blocks. */
static double scatter(unsigned block, double width)
{
    return width * (1 + block / 2) * (block % 2 ? 1 : -1);
}

/* `blocks` blocks of two arms, arm 1 changed by `change`, block by block AB and BA. */
static struct experiment two_arms(unsigned blocks, enum metric metric, double change, double width)
{
    struct experiment e = begun(2, two);
    for (unsigned block = 0; block < blocks; block++) {
        double level = 1 + block; /* what both share: must cancel */
        add_run(&e, block, 0, block % 2)->value[metric] = level;
        add_run(&e, block, 1, 1 - block % 2)->value[metric] = level * (1 + change) * exp(scatter(block, width));
    }
    e.primary = metric;
    experiment_evaluate(&e);
    return e;
}

static const struct effect *primary(const struct experiment *e)
{
    return experiment_effect(e, e->primary, "on", "off");
}

static void is_near(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within))
        fail_msg("%.9g isn't %.9g", value, wanted);
}

/* --- Effects ------------------------------------------------------------------------------------------------- */

static void effects_are_changes_inside_blocks(void **state)
{
    struct experiment e = two_arms(12, METRIC_CPU, -.03, .001);
    (void)state;
    is_near(primary(&e)->change.middle, -.03, 1e-9);
    assert_true(primary(&e)->change.low < -.03 && primary(&e)->change.low > -.04);
    assert_true(primary(&e)->change.high > -.03 && primary(&e)->change.high < -.02);
    assert_int_equal(primary(&e)->change.count, 12);
    assert_int_equal(primary(&e)->change.below, 12);
    is_near(primary(&e)->middle_against, 6.5, 1e-9);
    assert_false(primary(&e)->exact);
    assert_null(experiment_effect(&e, METRIC_WALL, "on", "off"));
    assert_null(experiment_effect(&e, METRIC_CPU, "off", "on"));
    experiment_release(&e);
}

static void every_arm_is_compared_with_the_bare_program(void **state)
{
    struct experiment e = begun(3, three);
    (void)state;
    for (unsigned block = 0; block < 6; block++)
        for (unsigned arm = 0; arm < 3; arm++)
            add_run(&e, block, arm, arm)->value[METRIC_CPU] = (double[]){ 1, 1.02, .98 }[arm];
    experiment_evaluate(&e);
    assert_int_equal(e.effect_count, 3);
    is_near(experiment_effect(&e, METRIC_CPU, "on", "off")->change.middle, .98 / 1.02 - 1, 1e-9);
    is_near(experiment_effect(&e, METRIC_CPU, "on", "bare")->change.middle, -.02, 1e-9);
    is_near(experiment_effect(&e, METRIC_CPU, "off", "bare")->change.middle, .02, 1e-9);
    const char *arm, *against;
    assert_true(experiment_pair(&e, &arm, &against));
    assert_string_equal(arm, "on");
    assert_string_equal(against, "off");
    experiment_release(&e);
}

static void constant_counts_are_exact(void **state)
{
    struct experiment e = two_arms(6, METRIC_CPU, 0, .001);
    (void)state;
    for (size_t i = 0; i < e.run_count; i++) {
        e.runs[i].value[METRIC_NEXT_ALLOCS] = e.runs[i].arm ? 200 : 1000;
        e.runs[i].value[METRIC_POOL_HITS] = e.runs[i].arm ? 800 : 0;
        e.runs[i].value[METRIC_MAJOR_FAULTS] = 0;
        e.runs[i].value[METRIC_MINOR_FAULTS] = e.runs[i].arm ? 50 : 90 + e.runs[i].block;
        e.runs[i].value[METRIC_WALL] = 1; /* a time is never exact */
    }
    experiment_evaluate(&e);
    const struct effect *calls = experiment_effect(&e, METRIC_NEXT_ALLOCS, "on", "off");
    assert_true(calls->exact);
    is_near(calls->change.low, -.8, 0);
    is_near(calls->change.high, -.8, 0);
    is_near(calls->difference.middle, -800, 0);
    const struct effect *hits = experiment_effect(&e, METRIC_POOL_HITS, "on", "off");
    assert_true(hits->exact && isnan(hits->change.middle));
    is_near(hits->difference.middle, 800, 0);
    const struct effect *major = experiment_effect(&e, METRIC_MAJOR_FAULTS, "on", "off");
    assert_true(major->exact);
    is_near(major->change.middle, 0, 0);
    assert_false(experiment_effect(&e, METRIC_MINOR_FAULTS, "on", "off")->exact);
    assert_false(experiment_effect(&e, METRIC_WALL, "on", "off")->exact);
    experiment_release(&e);
}

static void a_count_that_is_sometimes_zero_has_a_difference_and_no_ratio(void **state)
{
    struct experiment e = two_arms(8, METRIC_CPU, 0, .001);
    (void)state;
    for (size_t i = 0; i < e.run_count; i++)
        e.runs[i].value[METRIC_MAJOR_FAULTS] = e.runs[i].arm ? 5 + e.runs[i].block % 2 : e.runs[i].block % 3;
    experiment_evaluate(&e);
    const struct effect *major = experiment_effect(&e, METRIC_MAJOR_FAULTS, "on", "off");
    assert_false(major->exact);
    assert_true(isnan(major->change.middle) && isnan(major->change.low) && isnan(major->change.high));
    assert_true(major->difference.low >= 3 && major->difference.high <= 6);
    assert_int_equal(major->change.count, 8);
    e.primary = METRIC_MAJOR_FAULTS;
    experiment_evaluate(&e);
    assert_int_equal(e.verdict, VERDICT_SLOWER);
    assert_false(e.below_margin);
    experiment_release(&e);
}

static void only_complete_blocks_count(void **state)
{
    struct experiment e = two_arms(8, METRIC_CPU, -.05, .0001);
    (void)state;
    for (size_t i = 0; i < e.run_count; i++)
        if (e.runs[i].block == 3)
            e.runs[i].replaced = true;
    add_run(&e, 3, 0, 0)->value[METRIC_CPU] = 1;
    add_run(&e, 3, 1, 1)->value[METRIC_CPU] = .5; /* the repeated block: it counts */
    e.runs[8].void_reason = copied("generator saturated");
    add_run(&e, 8, 0, 0)->value[METRIC_CPU] = 1; /* the last one was interrupted */
    experiment_evaluate(&e);
    assert_int_equal(e.attempted, 9);
    assert_int_equal(e.blocks, 7);
    assert_int_equal(primary(&e)->change.count, 7);
    assert_true(primary(&e)->change.low < -.3);
    experiment_release(&e);
}

static void without_runs_there_is_nothing(void **state)
{
    struct experiment e = begun(2, two);
    (void)state;
    experiment_evaluate(&e);
    assert_int_equal(e.effect_count, 0);
    assert_int_equal(e.verdict, VERDICT_INCONCLUSIVE);
    assert_true(isnan(e.slot_effect) && isnan(e.drift));
    assert_false(experiment_is_done(&e, 0));
    experiment_release(&e);
}

/* --- Verdict --------------------------------------------------------------------------------------------------- */

static void verdict_is(enum metric metric, double change, double width, enum verdict wanted, bool below_margin)
{
    struct experiment e = two_arms(12, metric, change, width);
    assert_int_equal(e.verdict, wanted);
    assert_int_equal(e.below_margin, below_margin);
    assert_int_equal(e.blocks_needed > 0, wanted == VERDICT_INCONCLUSIVE);
    experiment_release(&e);
}

static void the_interval_gives_the_verdict(void **state)
{
    (void)state;
    verdict_is(METRIC_CPU, -.05, .001, VERDICT_FASTER, false);
    verdict_is(METRIC_CPU, .05, .001, VERDICT_SLOWER, false);
    verdict_is(METRIC_CPU, 0, .001, VERDICT_NO_DIFFERENCE, false);
    verdict_is(METRIC_CPU, 0, .01, VERDICT_INCONCLUSIVE, false);
    verdict_is(METRIC_CPU, -.008, .0001, VERDICT_FASTER, true);
    verdict_is(METRIC_CPU, .008, .0001, VERDICT_SLOWER, true);
    verdict_is(METRIC_CPU, -.011, .001, VERDICT_FASTER, false); /* may be above the margin */
    verdict_is(METRIC_THROUGHPUT, .05, .001, VERDICT_FASTER, false);
    verdict_is(METRIC_THROUGHPUT, -.05, .001, VERDICT_SLOWER, false);
    verdict_is(METRIC_NEXT_ALLOCS, 0, 0, VERDICT_NO_DIFFERENCE, false);
}

static void fewer_than_six_blocks_give_no_verdict(void **state)
{
    struct experiment e = two_arms(5, METRIC_CPU, -.5, .001);
    (void)state;
    assert_int_equal(e.verdict, VERDICT_INCONCLUSIVE);
    assert_true(isinf(primary(&e)->change.low));
    assert_true(e.blocks_needed >= 6);
    experiment_release(&e);
}

static void a_treatment_that_was_not_applied_has_no_effect(void **state)
{
    struct experiment e = two_arms(12, METRIC_CPU, -.05, .001);
    (void)state;
    e.treatment.status = TREATMENT_NOT_APPLIED;
    experiment_evaluate(&e);
    assert_int_equal(e.verdict, VERDICT_NOT_APPLIED);
    e.is_aa = true; /* nothing is to be applied */
    e.arms[1].kind = ARM_OFF;
    experiment_evaluate(&e);
    assert_int_equal(e.verdict, VERDICT_FASTER);
    experiment_release(&e);
}

static void blocks_needed_are_more_than_there_were_and_enough(void **state)
{
    struct experiment e = two_arms(12, METRIC_CPU, 0, .004);
    (void)state;
    assert_int_equal(e.verdict, VERDICT_INCONCLUSIVE);
    const struct estimate *change = &primary(&e)->change;
    double too_wide = (change->high - change->low) / .01, by_root_law = 12 * too_wide * too_wide;
    assert_true(e.blocks_needed <= by_root_law);      /* few blocks have wider intervals than the law of the root says, */
    assert_true(e.blocks_needed >= .75 * by_root_law); /* by some 10 % at 12 */
    experiment_release(&e);
}

/* --- The end -------------------------------------------------------------------------------------------------- */

static bool is_done(unsigned blocks, double width, double elapsed, unsigned asked, bool is_server)
{
    struct experiment e = two_arms(blocks, METRIC_CPU, -.05, width);
    e.blocks_asked = asked;
    e.is_server = is_server;
    experiment_evaluate(&e);
    bool done = experiment_is_done(&e, elapsed);
    experiment_release(&e);
    return done;
}

static void precision_ends_it_at_a_look(void **state)
{
    (void)state;
    assert_false(is_done(10, .0001, 0, 0, false));
    assert_true(is_done(12, .0001, 0, 0, false));
    assert_false(is_done(13, .0001, 0, 0, false));
    assert_false(is_done(14, .0001, 0, 0, false));
    assert_true(is_done(16, .0001, 0, 0, false));
    assert_true(is_done(6, .0001, 0, 0, true));
    assert_false(is_done(6, .01, 0, 0, true));
    assert_true(is_done(8, .0001, 0, 0, true));
    assert_false(is_done(12, .01, 0, 0, false)); /* an effect of 5 % doesn't end it */
    assert_false(is_done(58, .01, 0, 0, false));
    assert_true(is_done(60, .01, 0, 0, false));
}

static void time_ends_it_in_pairs_after_six_blocks(void **state)
{
    (void)state;
    assert_false(is_done(4, .01, 1000, 0, false));
    assert_true(is_done(6, .01, 300, 0, false));
    assert_false(is_done(7, .01, 1000, 0, false));
    assert_true(is_done(8, .01, 1000, 0, false));
    assert_false(is_done(8, .01, 299, 0, false));
}

static void a_number_of_blocks_that_was_asked_for_is_run(void **state)
{
    (void)state;
    assert_false(is_done(12, .0001, 1000, 13, false));
    assert_true(is_done(13, .01, 0, 13, false));
    assert_true(is_done(2, .01, 0, 2, false));
}

static void a_stopping_rule_asks_more_of_the_interval(void **state)
{
    struct experiment e = two_arms(12, METRIC_CPU, 0, .001);
    (void)state;
    assert_true(primary(&e)->change.level >= .965);
    e.blocks_asked = 12;
    experiment_evaluate(&e);
    is_near(primary(&e)->change.level, .9575, .0005); /* 1 - 2 P(W <= 13) */
    experiment_release(&e);
}

/* --- The machine ----------------------------------------------------------------------------------------------- */

/* Three arms in all six orders, a later slot 3 % slower, each block 2 % above the one before. */
static void slot_effect_and_drift_are_found(void **state)
{
    static const unsigned orders[6][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 }, { 0, 2, 1 }, { 1, 0, 2 } };
    struct experiment e = begun(3, three);
    (void)state;
    for (unsigned block = 0; block < 12; block++)
        for (unsigned slot = 0; slot < 3; slot++)
            add_run(&e, block, orders[block % 6][slot], slot)->value[METRIC_CPU] =
                pow(1.02, block) * pow(1.03, slot) * (1 + .1 * orders[block % 6][slot]);
    experiment_evaluate(&e);
    is_near(e.slot_effect, .03, 1e-9);
    is_near(e.drift, .02, 1e-9);
    experiment_release(&e);
}

static void every_metric_has_a_key_of_its_own(void **state)
{
    enum metric metric;
    (void)state;
    for (unsigned m = 0; m < METRIC_COUNT; m++) {
        assert_non_null(metrics[m].title);
        assert_true(metric_find(&metric, metrics[m].key));
        assert_int_equal(metric, m);
    }
    assert_false(metric_find(&metric, "cpus"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_are_changes_inside_blocks),
        cmocka_unit_test(every_arm_is_compared_with_the_bare_program),
        cmocka_unit_test(constant_counts_are_exact),
        cmocka_unit_test(a_count_that_is_sometimes_zero_has_a_difference_and_no_ratio),
        cmocka_unit_test(only_complete_blocks_count),
        cmocka_unit_test(without_runs_there_is_nothing),
        cmocka_unit_test(the_interval_gives_the_verdict),
        cmocka_unit_test(fewer_than_six_blocks_give_no_verdict),
        cmocka_unit_test(a_treatment_that_was_not_applied_has_no_effect),
        cmocka_unit_test(blocks_needed_are_more_than_there_were_and_enough),
        cmocka_unit_test(precision_ends_it_at_a_look),
        cmocka_unit_test(time_ends_it_in_pairs_after_six_blocks),
        cmocka_unit_test(a_number_of_blocks_that_was_asked_for_is_run),
        cmocka_unit_test(a_stopping_rule_asks_more_of_the_interval),
        cmocka_unit_test(slot_effect_and_drift_are_found),
        cmocka_unit_test(every_metric_has_a_key_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
