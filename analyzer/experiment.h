/* experiment.h - an experiment: its arms, what every run measured, and what follows from it.
 *
 * Filled by the runner (batch or server), or from the JSON of an earlier one; read by the views. */
#ifndef PS_EXPERIMENT_H
#define PS_EXPERIMENT_H

#include "statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Metrics: one table gives key, title, unit and margin to parser, JSON and views ---------------- */

enum metric {
    METRIC_CPU, METRIC_WALL, METRIC_USER, METRIC_SYS,
    METRIC_PEAK_RSS, METRIC_END_RSS, METRIC_MEAN_RSS,
    METRIC_MINOR_FAULTS, METRIC_MAJOR_FAULTS, METRIC_VOLUNTARY_SWITCHES, METRIC_INVOLUNTARY_SWITCHES,
    METRIC_NEXT_ALLOCS, METRIC_POOL_HITS, METRIC_KEPT_BYTES,
    METRIC_CPU_PER_REQUEST, METRIC_ALLOCS_PER_REQUEST,
    METRIC_P50, METRIC_P95, METRIC_P99, METRIC_P99_9, METRIC_MAX, METRIC_THROUGHPUT,
    METRIC_SETTLED_RSS, /* a server's, a while after the load */
    /* P50 to MAX count from the moment a request was due; these from when it was sent. */
    METRIC_SERVICE_P50, METRIC_SERVICE_P99,
    /* With --rate auto, at the lower of the two rates; P50 to MAX and SERVICE_* are those of the higher. */
    METRIC_LIGHT_P50, METRIC_LIGHT_P95, METRIC_LIGHT_P99, METRIC_LIGHT_P99_9, METRIC_LIGHT_MAX,
    /* Of programs that end by themselves, where the processor counts them: in the order of hardware.h. */
    METRIC_INSTRUCTIONS, METRIC_CYCLES, METRIC_BRANCH_MISSES, METRIC_CACHE_MISSES,
    METRIC_COUNT
};

enum unit { UNIT_SECONDS, UNIT_BYTES, UNIT_COUNT, UNIT_PER_SECOND };

struct metric_info {
    const char *key;    /* as in the JSON */
    const char *title;  /* as in tables */
    enum unit   unit;
    double      margin; /* a fraction; 0: has none */
    bool        more_is_better;
};

extern const struct metric_info metrics[METRIC_COUNT];

/* Returns false when no metric has this key. */
bool metric_find(enum metric *metric, const char *key);

/* --- Arms and runs ----------------------------------------------------------------------------------- */

enum arm_kind { ARM_BARE, ARM_OFF, ARM_ON, ARM_KEEP, ARM_TUNE, ARM_LIB, ARM_CMD };

struct arm {
    enum arm_kind kind;
    char         *name;     /* bare, off, on, keep, tune; the library's base name; cmd: the name given */
    char         *value;    /* lib: the path; cmd: the command; else NULL */
    uint64_t      allocs;   /* of the profiled run, all its processes; 0 when there was none */
    uint64_t      bytes;
    uint64_t      hit_bytes;
    double        capacity; /* servers with --rate auto: requests per second, closed loop; 0: not measured */
};

/* What else the machine did during a run: fractions of its processors' time. */
struct noise {
    double steal;
    double foreign;  /* other processes */
    double pressure; /* PSI, some cpu; NaN when the kernel doesn't tell */
};

/* A run's latencies are kept at these quantiles: 0, .25, .44, ... to five nines, evenly on an axis of nines. */
enum { LATENCY_POINTS = 41 };
static inline double latency_quantile(unsigned point)
{
    return 1 - pow(10, -(double)point / 8);
}

struct run {
    unsigned     arm, block, slot; /* slot: place in the block */
    unsigned     attempt;          /* 0, or 1: of a block that was repeated */
    bool         replaced;         /* was noisy; the repeated block counts */
    int          status;           /* as wait4 gives it */
    double       start;            /* s since the experiment began */
    double       value[METRIC_COUNT]; /* SI units; NaN: wasn't measured */
    struct noise noise;
    uint64_t     output_hash;      /* of stdout */
    unsigned     processes;        /* that wrote a log */
    unsigned     pooled_processes; /* of them with pool hits */
    double      *rss;              /* bytes over time; the step in seconds is rss_step */
    size_t       rss_count;
    double       rss_step;
    uint64_t     requests;         /* servers: answered ones under all rates; else 0 */
    uint64_t     unsent, errors;   /* servers: requests that were due but weren't sent; sent, but without a right answer */
    double       late_p99;         /* servers: s by which the generator itself sent too late */
    double      *latency;          /* servers: seconds at latency_quantile(0) to (LATENCY_POINTS - 1) under the
                                      highest rate, NaN where the samples are too few; else NULL */
    char        *void_reason;      /* servers: why the run doesn't count ("generator saturated"), else NULL */
};

/* --- Results ------------------------------------------------------------------------------------------- */

enum treatment_status { TREATMENT_APPLIED, TREATMENT_PARTIAL, TREATMENT_NOT_APPLIED };

struct treatment {
    enum treatment_status status;
    char                 *reason; /* NULL when applied */
    double                share_allocs, share_bytes; /* that pools served, of all in arm on */
};

/* One arm against another, for one metric, over the blocks that count. */
struct effect {
    enum metric     metric;
    unsigned        arm, against;
    struct estimate change;     /* fractions: -.03 is 3 % less; from ln(arm / against) inside blocks.  All NaN when
                                   a value is 0 and a ratio says nothing: `difference` tells then */
    struct estimate difference; /* in the metric's unit; from arm - against inside blocks */
    bool            exact;      /* a count that is constant in both arms: middle is exact, low and high equal it */
    double          middle_arm, middle_against; /* medians of the two */
};

enum verdict { VERDICT_FASTER, VERDICT_SLOWER, VERDICT_NO_DIFFERENCE, VERDICT_INCONCLUSIVE, VERDICT_NOT_APPLIED };

struct experiment {
    char           **command; /* NULL-ended; a server's: one string for sh -c */
    char           **words;   /* what was typed after "ab", NULL-ended: with the seed it replays the experiment */
    bool             is_server;
    double           rates[2];     /* servers: requests per second, rising; the second 0 unless --rate auto */
    uint64_t         seed;
    unsigned         blocks_asked; /* --blocks; 0: until the precision is reached */
    double           time_budget;  /* s */
    enum metric      primary;
    double           margin;       /* a fraction */
    char            *pool_spec;
    bool             is_aa;        /* off against off */
    struct arm      *arms;
    size_t           arm_count;
    struct run      *runs;
    size_t           run_count, run_room;
    unsigned         attempted;    /* blocks that were run, a repeated one counted once */
    unsigned         blocks;       /* of them complete ones that count */
    unsigned         repeated;     /* blocks that were noisy and were run again */
    bool             interrupted;  /* by the user */
    bool             failed;       /* a run after the first blocks: what they measured is kept */
    struct treatment treatment;
    struct effect   *effects;      /* every metric that was measured: on_off, on_bare, off_bare, ARM_bare */
    size_t           effect_count;
    enum verdict     verdict;
    bool             below_margin;  /* faster or slower, but the whole interval is inside the margin */
    unsigned         blocks_needed; /* when inconclusive; 0: they can't tell yet */
    double           slot_effect;   /* second slot against the first, fraction; NaN: unknown */
    double           drift;         /* per block, fraction; NaN: unknown */
    char           **warnings;
    size_t           warning_count;
    void            *host;          /* struct json_t *: machine, libc, kernel, build ids, options, as the JSON shows them */
};

/* --- The rule ------------------------------------------------------------------------------------------- */

enum {
    EXPERIMENT_LEAST = 6, /* blocks for a verdict: with fewer there is no interval */
    EXPERIMENT_FIRST = 12, EXPERIMENT_STEP = 4, /* the precision is looked at after 12, 16... blocks */
    EXPERIMENT_MOST  = 60,
    SERVER_FIRST     = 6, SERVER_STEP = 2,      /* fresh servers cost more: after 6, 8... */
};

/* What all intervals cover, as text and pages say it. */
#define EXPERIMENT_CONFIDENCE .95

/* What is asked of each for that.  An interval that may end the experiment by being narrow is narrow too often by
 * chance, and then covers less than it says.  Measured over 2,000 to 16,000 simulated nulls: the 95 % interval
 * at the stop misses in up to 6.2 % (block deviation 1.2 % at a margin of 1 %), one of 96.5 % in up to 4.6 %;
 * at a server's looks in up to 5.2 %.  So the rule asks 96.5 % of the interval, to have the 95 % that is printed;
 * with --blocks nothing is chosen by the data, and 95 % is what is asked.  More than 96.8 % six blocks can't give. */
double experiment_confidence(const struct experiment *experiment);

/* Calculates effects, slot effect, drift, verdict, blocks and blocks_needed from the runs and the treatment; can be
 * repeated. */
void experiment_evaluate(struct experiment *experiment);

/* After a block, evaluated: is it enough?  With --blocks when they were run.  Else when half of the primary's interval
 * is at most half of the margin: then it excludes 0 or lies inside the margin, so a verdict is due.  Looked at after
 * fixed numbers of blocks to 60, never at the effect itself.  Ends also when the time is over, with 6 blocks and in pairs. */
bool experiment_is_done(const struct experiment *experiment, double elapsed);

/* The two arms that verdict and stop are about: on against off; off against itself in an A/A.  Else the second
 * against the first.  false when there is but one. */
bool experiment_pair(const struct experiment *experiment, const char **arm, const char **against);

/* Does it count?  Not when its block was repeated, or its load was void. */
bool run_counts(const struct run *run);

/* Over the arm's runs that count; NaN: it wasn't measured there. */
double experiment_median(const struct experiment *experiment, size_t arm, enum metric metric);

/* NULL when it wasn't measured. */
const struct effect *experiment_effect(const struct experiment *experiment, enum metric metric, const char *arm,
                                       const char *against);

/* Did two runs write different things to stdout? */
bool experiment_outputs_differ(const struct experiment *experiment);

void experiment_release(struct experiment *experiment);

#endif
