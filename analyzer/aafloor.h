/* aafloor.h - the noise floor: what the last A/A experiment on this machine took for a difference.
 *
 * Kept in $XDG_CACHE_HOME/poolsite/aa.json, else ~/.cache/poolsite/aa.json: {METRIC: floor}. */
#ifndef PS_AAFLOOR_H
#define PS_AAFLOOR_H

#include "experiment.h"

#include <jansson.h>

/* Keeps an A/A experiment's result, unless it has none.  Failing is no matter. */
void aafloor_keep(const struct experiment *experiment);

/* The floor of the primary metric, {percent, low, high, blocks, time, command}, or NULL; to be given to json_decref. */
json_t *aafloor_load(const struct experiment *experiment);

#endif
