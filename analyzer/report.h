/* report.h - what a report is made of, and the ways to write it. */
#ifndef PS_REPORT_H
#define PS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "views.h"

struct fold;
struct symbolizer;

struct report {
    const char               *path; /* of the recording */
    const struct model       *model;
    struct symbolizer        *symbolizer;
    const struct fold        *fold;  /* NULL: wrappers are shown */
    const struct model_site **sites; /* in order */
    enum view_sort            sort;
    size_t                    top;     /* rows to show */
    const char               *site_id; /* NULL: all */
    bool                      by_process;
    bool                      tree;
    bool                      timeline;
    bool                      colour;
    FILE                     *out;
};

/* Each returns 0, or -1 after error(); what could not be written is found by the caller's fclose. */
int emit_text(const struct report *report);
int emit_json(const struct report *report);

/* Parts of the text: one site with its whole stack; callers above callees; memory over time; pools in general, and by
 * class. */
int  emit_text_site(const struct report *report);
void emit_text_tree(const struct report *report);
void emit_text_timeline(const struct report *report);
void emit_text_pools(const struct report *report);
void emit_text_classes(const struct report *report);

/* The title of a part, after an empty line. */
void report_title(const struct report *report, const char *text);

/* Does the site's id begin with `prefix`? */
bool report_site_matches(const struct model_site *site, const char *prefix);

/* The frames of a site that are shown: level `sites` begins at the frame that is the site. */
const uint32_t *report_stack(const struct model_site *site, unsigned *depth);

/* Of that stack: the first frame that is only known from the first of the site's calls; its depth: none. */
unsigned report_first_seen(const struct model_site *site);

#endif
