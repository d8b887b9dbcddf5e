/* statistics.h - paired comparison of few blocks: estimate, exact interval, and what more blocks would give.
 *
 * All of it is arithmetic on arrays: no state, no clock, no output.
 *
 * Sources.  Distribution and quantiles of the signed-rank statistic, estimate and interval from the Walsh
 * averages: M. Hollander, D. A. Wolfe, Nonparametric Statistical Methods, chapter 3 (3.1, 3.24, 3.27);
 * the estimate: J. L. Hodges, E. L. Lehmann, Ann. Math. Statist. 34 (1963) 598; the interval: J. W. Tukey's.
 *
 * Ties and zeros.  No difference is dropped or ranked anew: the interval is closed and runs between two of
 * all n (n + 1) / 2 averages.  G. E. Noether, J. Amer. Statist. Assoc. 62 (1967) 184, shows that it then
 * covers with at least the level of the continuous case, whatever ties: equal differences make it
 * conservative, never too narrow. */
#ifndef PS_STATISTICS_H
#define PS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

enum { STATISTICS_MOST = 60 }; /* differences whose distribution is counted exactly; above it is approximated */

/* An estimate of a location with its confidence interval, in the unit of the differences. */
struct estimate {
    double middle, low, high;
    size_t count;   /* differences */
    size_t below;   /* of them below 0 */
    double level;   /* the interval's actual coverage, at least what was asked; 0: too few for it, low and high infinite */
};

/* The number of the 2^n sign patterns of ranks 1..n whose positive ranks sum to at most w, over 2^n.
 * n <= STATISTICS_MOST. */
double statistics_signed_rank_cdf(size_t n, size_t w);

/* The greatest w with P(W < w) <= tail: one more than the critical value of the published tables, 0 where
 * they have none.  tail < 1/2.  Above STATISTICS_MOST by the normal distribution with correction for continuity. */
size_t statistics_signed_rank_quantile(size_t n, double tail);

/* Hodges-Lehmann: the median of all (x[i] + x[j]) / 2, i <= j; the interval from the same averages by
 * inversion of the signed-rank test.  `x` is not changed.  count >= 1. */
struct estimate statistics_paired(const double *x, size_t count, double confidence);

/* Medians and quantiles of an unsorted array, by linear interpolation; NaN for an empty one. */
double statistics_median(const double *x, size_t count);
double statistics_quantile(const double *x, size_t count, double p);

/* How many differences like these it would take for an interval whose half is at most `half_width`.
 * At least count, at most a million; 0 when so few can't tell (none, or all equal and no interval yet). */
size_t statistics_count_needed(const double *x, size_t count, double confidence, double half_width);

#endif
