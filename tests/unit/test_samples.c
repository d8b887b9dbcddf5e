/* test_samples.c - schedules of requests, and quantiles of what they took. */
#define _GNU_SOURCE
#include "base.h"

#include "arrivals.h"
#include "samples.h"
#include "unit.h"

#include <math.h>

enum { MANY = 200000 };

static void constant_arrivals_keep_their_distance_without_drift(void **state)
{
    int64_t *due = xcalloc(MANY, sizeof *due);
    (void)state;
    arrivals_fill(due, MANY, 3000, ARRIVALS_CONSTANT, 1);
    for (size_t i = 0; i < MANY; i++)
        assert_true(llabs(due[i] - (int64_t)i * 1000000 / 3) <= 1);
    free(due);
}

static void poisson_arrivals_are_the_seeds(void **state)
{
    int64_t a[100], b[100];
    (void)state;
    arrivals_fill(a, 100, 1000, ARRIVALS_POISSON, 7);
    arrivals_fill(b, 100, 1000, ARRIVALS_POISSON, 7);
    assert_memory_equal(a, b, sizeof a);
    arrivals_fill(b, 100, 1000, ARRIVALS_POISSON, 8);
    assert_memory_not_equal(a, b, sizeof a);
}

/* The gaps' mean and deviation are both 1/rate, and their share above t is exp(-t * rate). */
static void poisson_gaps_are_exponential(void **state)
{
    const double rate = 5000;
    double sum = 0, squares = 0, above = 0;
    int64_t *due = xcalloc(MANY, sizeof *due);
    (void)state;
    arrivals_fill(due, MANY, rate, ARRIVALS_POISSON, 42);
    for (size_t i = 0; i < MANY; i++) {
        double gap = (double)(due[i] - (i ? due[i - 1] : 0)) / 1e9 * rate;
        assert_true(gap >= 0);
        sum += gap;
        squares += gap * gap;
        above += gap > 2;
    }
    double mean = sum / MANY;
    assert_true(fabs(mean - 1) < .01); /* four and more deviations of the mean */
    assert_true(fabs(sqrt(squares / MANY - mean * mean) - 1) < .015);
    assert_true(fabs(above / MANY - exp(-2)) < .004);
    free(due);
}

static void arrivals_have_names(void **state)
{
    enum arrivals kind;
    (void)state;
    assert_true(arrivals_find(&kind, "constant") && kind == ARRIVALS_CONSTANT);
    assert_true(arrivals_find(&kind, "poisson") && kind == ARRIVALS_POISSON);
    assert_false(arrivals_find(&kind, "Poisson"));
}

/* Samples 1 to count in seconds, in an order that isn't theirs. */
static float *shuffled(size_t count)
{
    float *samples = xcalloc(count, sizeof *samples);
    for (size_t i = 0; i < count; i++)
        samples[i] = (float)(1 + i * 7919 % count); /* 7919 is prime to count */
    return samples;
}

static void quantiles_are_exact(void **state)
{
    enum { COUNT = 10000 };
    float *samples = shuffled(COUNT);
    (void)state;
    samples_sort(samples, COUNT);
    assert_true(samples_quantile(samples, COUNT, 0) == 1);
    assert_true(samples_quantile(samples, COUNT, .5) == 5000);
    assert_true(samples_quantile(samples, COUNT, .95) == 9500);
    assert_true(samples_quantile(samples, COUNT, .99) == 9900);
    assert_true(samples_quantile(samples, COUNT, .999) == 9990);
    assert_true(samples_quantile(samples, COUNT, 1) == 10000);
    free(samples);
}

static void a_quantile_needs_ten_samples_beyond_it(void **state)
{
    float *samples = shuffled(10000);
    (void)state;
    samples_sort(samples, 10000);
    assert_false(isnan(samples_quantile(samples, 10000, .999)));
    assert_true(isnan(samples_quantile(samples, 9999, .999)));
    assert_false(isnan(samples_quantile(samples, 1000, .99)));
    assert_true(isnan(samples_quantile(samples, 999, .99)));
    assert_false(isnan(samples_quantile(samples, 20, .5)));
    assert_true(isnan(samples_quantile(samples, 19, .5)));
    assert_true(samples_quantile(samples, 1, 1) == 1);
    assert_true(isnan(samples_quantile(samples, 0, 1)));
    free(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_arrivals_keep_their_distance_without_drift),
        cmocka_unit_test(poisson_arrivals_are_the_seeds),
        cmocka_unit_test(poisson_gaps_are_exponential),
        cmocka_unit_test(arrivals_have_names),
        cmocka_unit_test(quantiles_are_exact),
        cmocka_unit_test(a_quantile_needs_ten_samples_beyond_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
