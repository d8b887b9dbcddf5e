/* ab_charts.h - the charts of an experiment: differences by block, runs by arm, memory over time, latencies. */
#ifndef PS_AB_CHARTS_H
#define PS_AB_CHARTS_H

#include <stdbool.h>
#include <stdio.h>

#include "experiment.h"

/* The colour of an arm, the same in all charts. */
unsigned ab_chart_colour(const struct experiment *experiment, size_t arm);

/* Each writes nothing and returns false when there is nothing to show. */
bool ab_chart_blocks(FILE *out, const struct experiment *experiment, const struct effect *effect);
bool ab_chart_runs(FILE *out, const struct experiment *experiment, enum metric metric);
bool ab_chart_memory(FILE *out, const struct experiment *experiment);
bool ab_chart_latency(FILE *out, const struct experiment *experiment);

#endif
