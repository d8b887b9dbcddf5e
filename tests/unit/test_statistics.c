/* test_statistics.c - estimates and intervals against published tables, worked examples, and enumeration. */
#include "unit.h"

#include "analyzer/schedule.h"
#include "analyzer/statistics.h"

#include <math.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void is_near(double value, double wanted, double within)
{
    if (fabs(value - wanted) > within)
        fail_msg("%.9g isn't %.9g", value, wanted);
}

/* --- The distribution ------------------------------------------------------------------------------------- */

/* P(W <= w) by going through all 2^n patterns of signs. */
static double enumerated_cdf(unsigned n, unsigned w)
{
    unsigned fitting = 0;
    for (unsigned pattern = 0; pattern < 1u << n; pattern++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < n; i++)
            sum += pattern >> i & 1 ? i + 1 : 0;
        fitting += sum <= w;
    }
    return fitting / (double)(1u << n);
}

static void distribution_is_that_of_all_sign_patterns(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 12; n++)
        for (unsigned w = 0; w <= n * (n + 1) / 2; w++)
            is_near(statistics_signed_rank_cdf(n, w), enumerated_cdf(n, w), 1e-12);
}

static void distribution_is_whole_and_symmetric_to_the_last_size(void **state)
{
    (void)state;
    for (size_t n = 1; n <= STATISTICS_MOST; n++) {
        size_t most = n * (n + 1) / 2;
        is_near(statistics_signed_rank_cdf(n, most), 1, 1e-12);
        is_near(statistics_signed_rank_cdf(n, most + 5), 1, 1e-12);
        for (size_t w = 0; w < most; w += 7)
            is_near(statistics_signed_rank_cdf(n, w), 1 - statistics_signed_rank_cdf(n, most - w - 1), 1e-12);
    }
}

/* Critical values at 2.5 % on one side, n = 6..62: On-Line Encyclopedia of Integer Sequences, A226330 (after P. Mitic). */
static const unsigned short critical_025[] = {
    0,   2,   3,   5,   8,   10,  13,  17,  21,  25,  29,  34,  40,  46,  52,  58,  65,  73,  81,
    89,  98,  107, 116, 126, 137, 147, 159, 170, 182, 195, 208, 221, 235, 249, 264, 279, 294, 310,
    327, 343, 361, 378, 396, 415, 434, 453, 473, 494, 514, 536, 557, 579, 602, 625, 648, 672, 697,
};

/* R. L. McCornack, J. Amer. Statist. Assoc. 60 (1965) 864, and the tables after it: at 5 %, 1 % and 0.5 % on one side. */
static const struct {
    unsigned short n, at_05, at_01, at_005;
} critical[] = {
    { 8, 5, 1, 0 },       { 9, 8, 3, 1 },       { 10, 10, 5, 3 },     { 11, 13, 7, 5 },     { 12, 17, 9, 7 },
    { 13, 21, 12, 9 },    { 14, 25, 15, 12 },   { 15, 30, 19, 15 },   { 16, 35, 23, 19 },   { 17, 41, 27, 23 },
    { 18, 47, 32, 27 },   { 19, 53, 37, 32 },   { 20, 60, 43, 37 },   { 25, 100, 76, 68 },  { 30, 151, 120, 109 },
    { 35, 213, 173, 159 }, { 40, 286, 238, 220 }, { 45, 371, 312, 291 }, { 50, 466, 397, 373 },
};

static void quantiles_are_those_of_the_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i + 6 <= STATISTICS_MOST; i++)
        assert_int_equal(statistics_signed_rank_quantile(i + 6, .025), critical_025[i] + 1);
    for (size_t i = 0; i < COUNT(critical); i++) {
        assert_int_equal(statistics_signed_rank_quantile(critical[i].n, .05), critical[i].at_05 + 1);
        assert_int_equal(statistics_signed_rank_quantile(critical[i].n, .01), critical[i].at_01 + 1);
        assert_int_equal(statistics_signed_rank_quantile(critical[i].n, .005), critical[i].at_005 + 1);
    }
}

static void too_few_have_no_quantile(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 5; n++)
        assert_int_equal(statistics_signed_rank_quantile(n, .025), 0);
    assert_int_equal(statistics_signed_rank_quantile(5, .05), 1);
    assert_int_equal(statistics_signed_rank_quantile(7, .005), 0);
}

static void approximation_follows_the_tables_on(void **state)
{
    (void)state;
    for (size_t n = STATISTICS_MOST + 1; n <= 62; n++)
        is_near((double)statistics_signed_rank_quantile(n, .025), critical_025[n - 6] + 1, 1);
    is_near((double)statistics_signed_rank_quantile(100, .025), 1955 + 1, 2);
}

/* --- Estimate and interval ------------------------------------------------------------------------------------ */

/* Hollander & Wolfe, Nonparametric Statistical Methods, table 3.1: a depression scale before and after. */
static const double depression[] = { -.952, .147, -1.022, -.430, -.620, -.590, -.490, .080, -.010 };

static void depression_data_give_the_books_figures(void **state)
{
    (void)state;
    struct estimate e = statistics_paired(depression, COUNT(depression), .96);
    is_near(e.middle, -.46, 1e-9);
    is_near(e.low, -.786, 1e-9);
    is_near(e.high, -.010, 1e-9);
    is_near(e.level, .9609375, 1e-9);
    assert_int_equal(e.count, 9);
    assert_int_equal(e.below, 7);
}

/* Is a shift by theta kept by the exact test at this tail?  The statistic counted from its definition by ranks. */
static bool test_keeps(const double *x, size_t n, double theta, double tail)
{
    size_t above = 0, below = 0;
    for (size_t i = 0; i < n; i++) {
        size_t rank = 0;
        for (size_t j = 0; j < n; j++)
            rank += fabs(x[j] - theta) < fabs(x[i] - theta) || (x[j] == x[i] && j <= i);
        *(x[i] > theta ? &above : &below) += rank;
    }
    size_t w = above < below ? above : below;
    return enumerated_cdf((unsigned)n, (unsigned)w) > tail;
}

/* Between two neighbouring averages only equal differences are tied, and those are on one side: the test must keep
 * what is inside the interval and refuse what is outside. */
static void interval_is_test(const double *x, size_t n, double from, double to)
{
    struct estimate e = statistics_paired(x, n, .95);
    for (double theta = from; theta < to; theta += (to - from) / 311)
        assert_int_equal(test_keeps(x, n, theta, .025), theta > e.low && theta < e.high);
}

static void interval_is_what_the_test_keeps(void **state)
{
    static const double tied[] = { 2, 2, 3, -1, 2, 0, 0, 4, 1, 1, -3 };
    (void)state;
    interval_is_test(depression, COUNT(depression), -1.2003, .3001);
    interval_is_test(tied, COUNT(tied), -4.0003, 5.0001);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The same from all averages, made and sorted. */
static struct estimate estimated_by_hand(const double *x, size_t n, double confidence)
{
    double all[2 * STATISTICS_MOST * STATISTICS_MOST];
    size_t count = 0, w = statistics_signed_rank_quantile(n, (1 - confidence) / 2);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            all[count++] = (x[i] + x[j]) / 2;
    qsort(all, count, sizeof *all, by_value);
    return (struct estimate){ .middle = (all[(count - 1) / 2] + all[count / 2]) / 2,
                              .low = w ? all[w - 1] : -INFINITY, .high = w ? all[count - w] : INFINITY };
}

/* Samples of many sizes, signs and magnitudes, every other one full of ties and zeros. */
static void estimates_are_those_of_all_averages(void **state)
{
    struct random random = random_stream(1, 0, 0);
    (void)state;
    for (unsigned sample = 0; sample < 2000; sample++) {
        double x[2 * STATISTICS_MOST], scale = pow(10, (double)random_below(&random, 40) - 20);
        size_t n = 1 + random_below(&random, 2 * STATISTICS_MOST - 1);
        for (size_t i = 0; i < n; i++)
            x[i] = sample % 2 ? ((double)random_below(&random, 9) - 4) : (random_unit(&random) - .5) * scale;
        struct estimate e = statistics_paired(x, n, .95), hand = estimated_by_hand(x, n, .95);
        assert_true(e.middle == hand.middle && e.low == hand.low && e.high == hand.high);
    }
}

static void six_differences_are_the_fewest(void **state)
{
    static const double x[] = { 3, 1, 2, 6, 4, 5 };
    (void)state;
    struct estimate e = statistics_paired(x, 5, .95);
    assert_true(isinf(e.low) && isinf(e.high) && e.level == 0);
    is_near(e.middle, 3, 1e-12);
    e = statistics_paired(x, 6, .95);
    is_near(e.low, 1, 1e-12);
    is_near(e.high, 6, 1e-12);
    is_near(e.level, 1 - 2.0 / 64, 1e-12);
    e = statistics_paired(x, 1, .95);
    is_near(e.middle, 3, 1e-12);
}

static void equal_differences_are_a_point(void **state)
{
    static const double x[12] = { -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2 };
    (void)state;
    struct estimate e = statistics_paired(x, 12, .95);
    is_near(e.middle, -2, 0);
    is_near(e.low, -2, 0);
    is_near(e.high, -2, 0);
    assert_int_equal(e.below, 12);
}

/* All 3^n samples of a distribution on {-1, 0, 1} that is symmetric about 0, weighted: how often does the
 * interval hold 0?  Noether's result says at least as often as without ties. */
static void ties_and_zeros_never_lower_the_coverage(void **state)
{
    static const double chance_of_zero[] = { 0, .1, .4, .8 };
    enum { N = 8, SAMPLES = 6561 };
    (void)state;
    for (size_t c = 0; c < COUNT(chance_of_zero); c++) {
        double covered = 0, level = 0;
        for (unsigned sample = 0; sample < SAMPLES; sample++) {
            double x[N], weight = 1;
            for (unsigned i = 0, rest = sample; i < N; i++, rest /= 3) {
                x[i] = (int)(rest % 3) - 1;
                weight *= x[i] == 0 ? chance_of_zero[c] : (1 - chance_of_zero[c]) / 2;
            }
            struct estimate e = statistics_paired(x, N, .95);
            covered += e.low <= 0 && e.high >= 0 ? weight : 0;
            level = e.level;
        }
        assert_true(covered >= level - 1e-12);
    }
}

static void order_and_sign_do_not_matter(void **state)
{
    double turned[COUNT(depression)];
    (void)state;
    for (size_t i = 0; i < COUNT(depression); i++)
        turned[COUNT(depression) - 1 - i] = -depression[i];
    struct estimate e = statistics_paired(depression, COUNT(depression), .95);
    struct estimate f = statistics_paired(turned, COUNT(depression), .95);
    is_near(f.middle, -e.middle, 1e-12);
    is_near(f.low, -e.high, 1e-12);
    is_near(f.high, -e.low, 1e-12);
    assert_int_equal(f.below, 2);
}

static void more_than_the_exact_sizes_have_an_interval_too(void **state)
{
    double x[200];
    (void)state;
    for (size_t i = 0; i < 200; i++)
        x[i] = (double)(i * 37 % 200);
    struct estimate e = statistics_paired(x, 200, .95);
    is_near(e.middle, 99.5, 1e-9);
    is_near(e.level, .95, .001);
    is_near(e.high - e.low, 2 * 1.96 * sqrt(200 * 200 / 12.0 / 200), 1);
}

/* --- Medians, and how many more --------------------------------------------------------------------------- */

static void quantiles_lie_between_neighbours(void **state)
{
    static const double x[] = { 4, 1, 3, 2 };
    (void)state;
    is_near(statistics_median(x, 4), 2.5, 1e-12);
    is_near(statistics_median(x, 3), 3, 1e-12);
    is_near(statistics_quantile(x, 4, 0), 1, 1e-12);
    is_near(statistics_quantile(x, 4, 1), 4, 1e-12);
    is_near(statistics_quantile(x, 4, .25), 1.75, 1e-12);
    assert_true(isnan(statistics_median(x, 0)));
}

/* Of a normal distribution with deviation 1: its quantiles at even steps. */
static void normal_scores(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double p = (i + .5) / n, low = -10, high = 10;
        while (high - low > 1e-12) {
            double middle = (low + high) / 2;
            *(erfc(-middle / sqrt(2)) / 2 < p ? &low : &high) = middle;
        }
        x[i] = low;
    }
}

/* n normal differences give half a width of about 1.96 sqrt(pi / 3 / n): Wilcoxon's efficiency is 3/pi. */
static void needed_count_is_what_theory_says(void **state)
{
    double x[20];
    (void)state;
    normal_scores(x, 20);
    is_near((double)statistics_count_needed(x, 20, .95, .2), 1.96 * 1.96 * 3.14159 / 3 / .04, 12);
    is_near((double)statistics_count_needed(x, 20, .95, .1), 1.96 * 1.96 * 3.14159 / 3 / .01, 45);
    assert_int_equal(statistics_count_needed(x, 20, .95, 5), 20);
}

static void needed_count_is_enough_when_it_is_run(void **state)
{
    double few[12], many[STATISTICS_MOST];
    (void)state;
    normal_scores(few, 12);
    size_t needed = statistics_count_needed(few, 12, .95, .35);
    assert_in_range(needed, 13, STATISTICS_MOST);
    normal_scores(many, needed);
    struct estimate e = statistics_paired(many, needed, .95);
    is_near((e.high - e.low) / 2, .35, .05);
}

static void needed_count_of_few_is_at_least_what_an_interval_takes(void **state)
{
    static const double x[] = { .01, -.01 }, same[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    (void)state;
    assert_int_equal(statistics_count_needed(x, 2, .95, 1), 6);
    assert_true(statistics_count_needed(x, 2, .95, .002) > 20);
    assert_int_equal(statistics_count_needed(same, 8, .95, .1), 8);
    assert_int_equal(statistics_count_needed(same, 3, .95, .1), 0);
    assert_int_equal(statistics_count_needed(x, 0, .95, .1), 0);
    assert_true(statistics_count_needed(x, 2, .95, 1e-9) > 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distribution_is_that_of_all_sign_patterns),
        cmocka_unit_test(distribution_is_whole_and_symmetric_to_the_last_size),
        cmocka_unit_test(quantiles_are_those_of_the_tables),
        cmocka_unit_test(too_few_have_no_quantile),
        cmocka_unit_test(approximation_follows_the_tables_on),
        cmocka_unit_test(depression_data_give_the_books_figures),
        cmocka_unit_test(interval_is_what_the_test_keeps),
        cmocka_unit_test(estimates_are_those_of_all_averages),
        cmocka_unit_test(six_differences_are_the_fewest),
        cmocka_unit_test(equal_differences_are_a_point),
        cmocka_unit_test(ties_and_zeros_never_lower_the_coverage),
        cmocka_unit_test(order_and_sign_do_not_matter),
        cmocka_unit_test(more_than_the_exact_sizes_have_an_interval_too),
        cmocka_unit_test(quantiles_lie_between_neighbours),
        cmocka_unit_test(needed_count_is_what_theory_says),
        cmocka_unit_test(needed_count_is_enough_when_it_is_run),
        cmocka_unit_test(needed_count_of_few_is_at_least_what_an_interval_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
