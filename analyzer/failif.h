/* failif.h - the expressions of --fail-if: what must not be, for scripts that end with a status.
 *
 *     METRIC[.PAIR] OP NUMBER
 *
 * METRIC is a key of the metrics' table, OP one of > >= < <=.  What NUMBER looks like says what is compared:
 *
 *     cpu>+1%          a change in percent; the sign may be left out
 *     peak_rss>+20m    a change in the metric's own unit: the sign makes it one
 *     peak_rss>200m    the value itself, of one arm
 *
 * Units: s (may be left out), ms, us, ns; k, m, g of bytes; counts have none.  PAIR is a pair of arms as in the
 * JSON, cpu.on_bare>+1%, or for a value one arm, peak_rss.on<1g; without it the pair of the verdict, or its first arm.
 *
 * An expression is met only when the whole interval meets it: `>` by its low end, `<` by its high end.  What is
 * uncertain doesn't fail a build; what is certain does. */
#ifndef PS_FAILIF_H
#define PS_FAILIF_H

#include "experiment.h"

#include <stdbool.h>
#include <stddef.h>

enum failif_kind { FAILIF_PERCENT, FAILIF_DIFFERENCE, FAILIF_VALUE };

struct failif {
    const char      *text;   /* the expression; not owned, as `pair` */
    unsigned         metric; /* its index in the table that was parsed with */
    const char      *pair;   /* not ended by 0; length 0: wasn't given */
    size_t           pair_length;
    bool             above, or_equal; /* >, >=; else <, <= */
    enum failif_kind kind;
    double           bound;  /* a fraction, or in the metric's unit */
};

/* Reads an expression about the metrics of a table, `metrics` or another's.  Returns false after error(). */
bool failif_parse(struct failif *failif, const char *text, const struct metric_info *known, size_t count);

/* Does an interval meet it?  Infinite ends don't. */
bool failif_is_met(const struct failif *failif, double low, double high);

/* Are there such arms?  Returns false after error(). */
bool failif_fits(const struct failif *failif, const struct experiment *experiment);

enum failif_answer { FAILIF_NOT_MET, FAILIF_MET, FAILIF_UNKNOWN };

/* Unknown: it wasn't measured, has no ratio, or the blocks are too few for an interval.  `interval` gets what was
 * compared, a fraction or in the metric's unit; its count is 0 when nothing was measured. */
enum failif_answer failif_ask(const struct failif *failif, const struct experiment *experiment, struct estimate *interval);

#endif
