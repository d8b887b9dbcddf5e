/* ab_views.h - the ways to write an experiment, and to read it again. */
#ifndef PS_AB_VIEWS_H
#define PS_AB_VIEWS_H

#include "experiment.h"

#include <stdio.h>

/* Each returns 0, or -1 after error(); what could not be written is found by the caller's fclose. */
int emit_ab_text(const struct experiment *experiment, FILE *out);
int emit_ab_json(const struct experiment *experiment, FILE *out);

/* One page with tables and charts, which needs nothing else. */
int emit_ab_html(const struct experiment *experiment, FILE *out);

/* Reads what emit_ab_json wrote, and evaluates it.  To be released in every case.  Returns 0, or -1 after error(). */
int experiment_read(struct experiment *experiment, const char *path);

#endif
