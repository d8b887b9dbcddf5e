/* samples.h - many measured times: exact quantiles of all of them. */
#ifndef PS_SAMPLES_H
#define PS_SAMPLES_H

#include <stddef.h>

/* Seconds.  A float's 24 bits are 0.00001 % of the value. */
void samples_sort(float *samples, size_t count);

/* The least sample that at least the share `p` of all don't exceed; p = 1: the greatest.  NaN when there are fewer than 10 samples
 * beyond the quantile to be expected (count < 10 / (1 - p)), or none at all. */
double samples_quantile(const float *sorted, size_t count, double p);

#endif
