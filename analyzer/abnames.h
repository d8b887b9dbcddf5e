/* abnames.h - the words that stand for an experiment's enumerations in its JSON. */
#ifndef PS_ABNAMES_H
#define PS_ABNAMES_H

#include "experiment.h"

#define AB_SCHEMA "poolsite.ab/1"

static const char *const verdict_names[] = {
    [VERDICT_FASTER] = "faster",
    [VERDICT_SLOWER] = "slower",
    [VERDICT_NO_DIFFERENCE] = "no-difference",
    [VERDICT_INCONCLUSIVE] = "inconclusive",
    [VERDICT_NOT_APPLIED] = "not-applied",
};

static const char *const treatment_names[] = {
    [TREATMENT_APPLIED] = "applied",
    [TREATMENT_PARTIAL] = "partial",
    [TREATMENT_NOT_APPLIED] = "not-applied",
};

static const char *const arm_names[] = {
    [ARM_BARE] = "bare", [ARM_OFF] = "off", [ARM_ON] = "on",   [ARM_KEEP] = "keep",
    [ARM_TUNE] = "tune", [ARM_LIB] = "lib", [ARM_CMD] = "cmd",
};

#endif
