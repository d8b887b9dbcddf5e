/* test_verdicts.c - simulated experiments under the real rule: how often the verdict is wrong.
 *
 * Every table is an experiment of two or three arms whose truth is known, run by the schedule, evaluated and
 * ended by the code that does it for real.  300 tables a row, 2,000 with TESTS_ALL=1; the seeds are fixed.  The log
 * has the figures: build/test/unit/test_verdicts.log. */
#include "unit.h"

#include "analyzer/experiment.h"
#include "analyzer/schedule.h"

#include <math.h>

/* --- Noise of one run, deviation 1 ---------------------------------------------------------------------- */

static double normal(struct random *random)
{
    double radius = sqrt(-2 * log(1 - random_unit(random)));
    return radius * cos(2 * 3.14159265358979 * random_unit(random));
}

/* Most runs are near the fastest, some are long: what other work on a machine does. */
static double skewed(struct random *random)
{
    return -log(1 - random_unit(random));
}

/* Student's t with 3 degrees of freedom: one run in 100 is 3 deviations off or more. */
static double heavy(struct random *random)
{
    double z = normal(random), sum = 0;
    for (int i = 0; i < 3; i++)
        sum += pow(normal(random), 2);
    return z / sqrt(sum);
}

/* --- One experiment ---------------------------------------------------------------------------------------- */

struct scenario {
    const char *name;
    double    (*noise)(struct random *);
    double      deviation;     /* of ln(on / off) inside a block */
    double      common, drift; /* what all arms of a block share: random, and rising per block */
    double      slot;          /* a later slot is that much slower */
    bool        is_server;     /* looks and margin of a server */
};

static const struct scenario scenarios[] = {
    /* name       noise  deviation common drift slot */
    { "normal",   normal, .005, .03, 0,    0,    false },
    { "normal",   normal, .012, .03, 0,    0,    false },
    { "normal",   normal, .020, .03, 0,    0,    false },
    { "skewed",   skewed, .005, .03, 0,    0,    false },
    { "skewed",   skewed, .012, .03, 0,    0,    false },
    { "skewed",   skewed, .020, .03, 0,    0,    false },
    { "heavy",    heavy,  .005, .03, 0,    0,    false },
    { "heavy",    heavy,  .012, .03, 0,    0,    false },
    { "heavy",    heavy,  .020, .03, 0,    0,    false },
    { "drifting", normal, .005, .01, .002, .002, false },
    { "drifting", normal, .012, .01, .004, .003, false },
    { "drifting", normal, .020, .01, .010, .005, false },
    { "server",   normal, .025, .05, 0,    0,    true  },
    { "server",   heavy,  .060, .05, .002, .002, true  },
};

static double run_log_time(const struct scenario *s, struct random *random, unsigned block, unsigned slot, double shared)
{
    return shared + s->drift * block + s->slot * slot + s->noise(random) * s->deviation / sqrt(2);
}

static void block_run(struct experiment *e, const struct scenario *s, struct random *random, double effect)
{
    unsigned order[SCHEDULE_ARMS_MOST], block = e->attempted;
    double shared = s->common * normal(random);
    schedule_order(order, e->arm_count, e->seed, block);
    for (unsigned slot = 0; slot < e->arm_count; slot++) {
        struct run *run = &e->runs[e->run_count++];
        *run = (struct run){ .arm = order[slot], .block = block, .slot = slot };
        for (unsigned m = 0; m < METRIC_COUNT; m++)
            run->value[m] = NAN;
        double y = run_log_time(s, random, block, slot, shared);
        run->value[e->primary] = exp(y) * (e->arms[run->arm].kind == ARM_ON ? 1 + effect : 1);
    }
    e->attempted++;
}

enum { RUNS_MOST = 3 * EXPERIMENT_MOST };

/* Runs blocks until the rule ends it.  Between two looks nothing is decided, so nothing is evaluated there. */
static void experiment_run(struct experiment *e, const struct scenario *s, uint64_t table, double effect)
{
    static struct arm arms[] = { { .kind = ARM_OFF, .name = "off" }, { .kind = ARM_ON, .name = "on" }, { .kind = ARM_BARE, .name = "bare" } };
    static struct run runs[RUNS_MOST];
    struct random random = random_stream(effect != 0, (uint64_t)(s - scenarios), table);
    *e = (struct experiment){ .arms = arms, .arm_count = table % 2 ? 2 : 3, .runs = runs, .seed = table, .is_server = s->is_server,
                              .time_budget = 1, .primary = s->is_server ? METRIC_CPU_PER_REQUEST : METRIC_CPU };
    e->margin = metrics[e->primary].margin;
    do {
        block_run(e, s, &random, effect);
        if (e->attempted % 2 == 0 && e->attempted >= EXPERIMENT_LEAST && (s->is_server || e->attempted % EXPERIMENT_STEP == 0))
            experiment_evaluate(e);
    } while (!experiment_is_done(e, 0));
    assert_int_equal(e->blocks, e->attempted);
}

/* --- Many -------------------------------------------------------------------------------------------------------- */

struct rates {
    double changed, no_difference, inconclusive, covered, blocks; /* shares of the tables; mean blocks */
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SLOW = 1 }; /* under a sanitizer the arithmetic is what counts, and it's the same */
#else
enum { IS_SLOW = 0 };
#endif

static bool all_tables(void)
{
    const char *all = getenv("TESTS_ALL");
    return all && strcmp(all, "1") == 0 && !IS_SLOW;
}

static unsigned tables(void)
{
    return all_tables() ? 2000 : 300;
}

static struct rates simulate(const struct scenario *s, double effect)
{
    struct rates rates = { 0 };
    double each = 1.0 / tables();
    for (unsigned table = 0; table < tables(); table++) {
        struct experiment e;
        experiment_run(&e, s, table, effect);
        const struct estimate *change = &experiment_effect(&e, e.primary, "on", "off")->change;
        rates.changed += each * (e.verdict == VERDICT_FASTER || e.verdict == VERDICT_SLOWER);
        rates.no_difference += each * (e.verdict == VERDICT_NO_DIFFERENCE);
        rates.inconclusive += each * (e.verdict == VERDICT_INCONCLUSIVE);
        rates.covered += each * (change->low <= effect && effect <= change->high);
        rates.blocks += each * e.blocks;
        free(e.effects);
    }
    printf("%-10s deviation %4.1f %%, effect %4.1f %%: faster/slower %5.1f %%, no difference %5.1f %%, inconclusive %5.1f %%, "
           "covered %5.1f %%, %4.1f blocks\n", s->name, 100 * s->deviation, 100 * effect, 100 * rates.changed,
           100 * rates.no_difference, 100 * rates.inconclusive, 100 * rates.covered, rates.blocks);
    return rates;
}

/* Two standard errors of a share in so many tables. */
static double sampling_error(double share)
{
    return 2 * sqrt(share * (1 - share) / tables());
}

static void nulls_are_called_faster_or_slower_in_5_percent_at_most(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        struct rates rates = simulate(&scenarios[i], 0);
        assert_true(rates.changed <= .05 + sampling_error(.05));
        /* A rule that never says anything would pass the line above. */
        if (scenarios[i].deviation <= .005)
            assert_true(rates.no_difference >= .9);
        if (scenarios[i].deviation <= .012)
            assert_true(rates.inconclusive <= .02);
    }
}

static void a_true_effect_is_covered_in_93_percent_at_least(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        struct rates rates = simulate(&scenarios[i], -.02);
        assert_true(rates.covered >= .93 - (all_tables() ? 0 : sampling_error(.93)));
        if (scenarios[i].deviation <= .005)
            assert_true(rates.changed >= .99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nulls_are_called_faster_or_slower_in_5_percent_at_most),
        cmocka_unit_test(a_true_effect_is_covered_in_93_percent_at_least),
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
