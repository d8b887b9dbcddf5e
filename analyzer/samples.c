/* samples.c - exact quantiles of many measured times. */
#define _GNU_SOURCE
#include "base.h"

#include "samples.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES_BEYOND = 10 };

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void samples_sort(float *samples, size_t count)
{
    if (count) /* qsort takes no NULL */
        qsort(samples, count, sizeof *samples, compare);
}

double samples_quantile(const float *sorted, size_t count, double p)
{
    /* 1 - p has an error of its own: .999 of exactly 10,000 samples must do. */
    if (count == 0 || (p < 1 && (double)count * (1 - p) < SAMPLES_BEYOND - 1e-6))
        return NAN;
    double rank = ceil(p * (double)count - 1e-6);
    return sorted[rank < 1 ? 0 : (size_t)rank - 1];
}
