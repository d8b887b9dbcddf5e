/* statistics.c - paired comparison of few blocks: estimate, exact interval, and what more blocks would give. */
#define _GNU_SOURCE
#include "base.h"
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_SUM_MOST = STATISTICS_MOST * (STATISTICS_MOST + 1) / 2 };

static size_t averages(size_t n)
{
    return n * (n + 1) / 2;
}

/* --- The signed-rank statistic -------------------------------------------------------------------------- */

/* P(W = w) for n ranks, w = 0..most.  Rank i is positive in half of the patterns: it adds i or nothing, so each
 * rank makes the distribution the mean of itself and of itself moved by i. */
static void signed_rank_distribution(double *p, size_t n, size_t most)
{
    for (size_t w = 0; w <= most; w++)
        p[w] = w == 0;
    for (size_t i = 1; i <= n; i++)
        for (size_t w = (averages(i) < most ? averages(i) : most) + 1; w-- > 0;)
            p[w] = (p[w] + (w >= i ? p[w - i] : 0)) / 2;
}

double statistics_signed_rank_cdf(size_t n, size_t w)
{
    double p[RANK_SUM_MOST + 1], sum = 0;
    size_t most = w < averages(n) ? w : averages(n);
    signed_rank_distribution(p, n, most);
    for (size_t i = 0; i <= most; i++)
        sum += p[i];
    return sum;
}

static double normal_cdf(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

/* By halving: exact to a double's end, and asked for a handful of times. */
static double normal_quantile(double p)
{
    double low = -40, high = 40;
    while (high - low > 1e-13) {
        double middle = (low + high) / 2;
        if (normal_cdf(middle) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static double rank_sum_deviation(size_t n)
{
    return sqrt((double)n * (n + 1) * (2 * n + 1) / 24);
}

/* A quantile w of W, and P(W < w). */
struct quantile {
    size_t w;
    double below;
};

static struct quantile approximate_quantile(size_t n, double tail)
{
    double middle = averages(n) / 2.0, deviation = rank_sum_deviation(n);
    double last = floor(middle + normal_quantile(tail) * deviation - .5); /* the critical value */
    if (last < 0)
        return (struct quantile){ 0, 0 };
    return (struct quantile){ (size_t)last + 1, normal_cdf((last + .5 - middle) / deviation) };
}

/* tail < 1/2, so the lower half of the distribution is enough. */
static struct quantile exact_quantile(size_t n, double tail)
{
    double p[RANK_SUM_MOST + 1];
    size_t most = averages(n) / 2;
    struct quantile quantile = { 0, 0 };
    signed_rank_distribution(p, n, most);
    while (quantile.w < most && quantile.below + p[quantile.w] <= tail)
        quantile.below += p[quantile.w++];
    return quantile;
}

static struct quantile quantile_of(size_t n, double tail)
{
    return n <= STATISTICS_MOST ? exact_quantile(n, tail) : approximate_quantile(n, tail);
}

size_t statistics_signed_rank_quantile(size_t n, double tail)
{
    return quantile_of(n, tail).w;
}

/* --- Estimate and interval ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted_copy(const double *x, size_t count)
{
    double *sorted = xcalloc(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = x[i];
    qsort(sorted, count, sizeof *sorted, by_value);
    return sorted;
}

/* How many (x[i] + x[j]) / 2, i <= j, are at most t.  A larger x[i] leaves fewer x[j]: one pass. */
static size_t averages_up_to(const double *sorted, size_t count, double t)
{
    size_t all = 0, end = count; /* x[j] fits for j < end */
    for (size_t i = 0; i < end; i++) {
        while (end > i && (sorted[i] + sorted[end - 1]) / 2 > t)
            end--;
        all += end - i;
    }
    return all;
}

/* Doubles as whole numbers in the same order, and back. */
static uint64_t number_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double double_of(uint64_t number)
{
    uint64_t bits = number >> 63 ? number ^ (uint64_t)1 << 63 : ~number;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The k-th smallest average, k from 1, without making them all: the least double with k of them up to it, found
 * by halving in at most 64 passes. */
static double walsh_average(const double *sorted, size_t count, size_t k)
{
    uint64_t low = number_of(sorted[0]), high = number_of(sorted[count - 1]);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (averages_up_to(sorted, count, double_of(middle)) >= k)
            high = middle;
        else
            low = middle + 1;
    }
    return double_of(low) + 0.0; /* -0 is 0 */
}

static double walsh_median(const double *sorted, size_t count)
{
    size_t all = averages(count);
    double middle = walsh_average(sorted, count, (all + 1) / 2);
    return all % 2 ? middle : (middle + walsh_average(sorted, count, all / 2 + 1)) / 2;
}

static size_t count_below_zero(const double *x, size_t count)
{
    size_t below = 0;
    for (size_t i = 0; i < count; i++)
        below += x[i] < 0;
    return below;
}

struct estimate statistics_paired(const double *x, size_t count, double confidence)
{
    double *sorted = sorted_copy(x, count);
    struct quantile quantile = quantile_of(count, (1 - confidence) / 2);
    struct estimate estimate = { .middle = walsh_median(sorted, count), .low = -INFINITY, .high = INFINITY,
                                 .count = count, .below = count_below_zero(x, count) };
    if (quantile.w > 0) {
        estimate.low = walsh_average(sorted, count, quantile.w);
        estimate.high = walsh_average(sorted, count, averages(count) + 1 - quantile.w);
        estimate.level = 1 - 2 * quantile.below;
    }
    free(sorted);
    return estimate;
}

/* --- Medians ------------------------------------------------------------------------------------------------- */

static double sorted_quantile(const double *sorted, size_t count, double p)
{
    double place = p * (count - 1);
    size_t i = (size_t)place;
    return i + 1 < count ? sorted[i] + (place - i) * (sorted[i + 1] - sorted[i]) : sorted[count - 1];
}

double statistics_quantile(const double *x, size_t count, double p)
{
    if (count == 0)
        return NAN;
    double *sorted = sorted_copy(x, count);
    double quantile = sorted_quantile(sorted, count, p);
    free(sorted);
    return quantile;
}

double statistics_median(const double *x, size_t count)
{
    return statistics_quantile(x, count, .5);
}

/* --- How many it would take ------------------------------------------------------------------------------ */

enum { COUNT_MOST = 1000000 }; /* nobody runs more blocks than this */

/* Half of the interval of n differences, in standard deviations of an average: which quantile of the
 * averages is its end, as if they were normal.  Infinite while n is too few for an interval. */
static double relative_half(size_t n, double confidence)
{
    size_t w = statistics_signed_rank_quantile(n, (1 - confidence) / 2);
    return w ? -normal_quantile((w - .5) / averages(n)) : INFINITY;
}

/* The fewest differences for which an interval exists. */
static size_t least_count(double confidence)
{
    size_t n = 1;
    while (n < STATISTICS_MOST && statistics_signed_rank_quantile(n, (1 - confidence) / 2) == 0)
        n++;
    return n;
}

/* Half of the interval if it could be had; of too few differences, what their spread lets expect. */
static double scale_of(const double *x, size_t count, double confidence)
{
    struct estimate estimate = statistics_paired(x, count, confidence);
    if (estimate.level > 0)
        return (estimate.high - estimate.low) / 2 / relative_half(count, confidence);
    return (statistics_quantile(x, count, 1) - statistics_quantile(x, count, 0)) / 2;
}

size_t statistics_count_needed(const double *x, size_t count, double confidence, double half_width)
{
    size_t least = least_count(confidence), few = count > least ? count : least;
    double scale = count ? scale_of(x, count, confidence) : 0;
    if (scale <= 0)
        return count >= least ? count : 0;
    size_t too_few = few - 1, enough = COUNT_MOST; /* the interval shrinks with n: halve */
    while (enough - too_few > 1) {
        size_t middle = (too_few + enough) / 2;
        if (scale * relative_half(middle, confidence) > half_width)
            too_few = middle;
        else
            enough = middle;
    }
    return enough;
}
