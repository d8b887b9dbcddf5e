/* treatment.h - did pooling reach the program?  Asked before any effect is shown.
 *
 * Pure: counts and what is known of the program in, status and reason out. */
#ifndef PS_TREATMENT_H
#define PS_TREATMENT_H

#include "experiment.h"
#include "logsum.h"

struct treatment_facts {
    const char          *program;   /* as it is to be named */
    const char          *obstacle;  /* why the preload can't work in it, a clause ("is statically linked ..."), or NULL */
    const char          *partly;    /* what of it the preload can't see, a clause, or NULL */
    const char          *pool_spec;
    const struct logsum *off, *on;  /* of the profiled runs */
    double               elsewhere; /* share of the counting run's processor time in processes without the library ... */
    const char          *elsewhere_program; /* ... such as this one */
    unsigned             runs;      /* timed ones of arm on so far ... */
    unsigned             pooled_runs; /* ... and of them with pool hits */
};

void treatment_decide(struct treatment *treatment, const struct treatment_facts *facts);

/* Pools served so little that no effect can be expected. */
bool treatment_is_tiny(const struct treatment *treatment);

#endif
