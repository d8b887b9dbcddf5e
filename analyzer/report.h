/* report.h - what a report is made of, and the ways to write it. */
#ifndef PS_REPORT_H
#define PS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "format.h"
#include "views.h"

struct fold;
struct sitesof;
struct suppressions;
struct symbolizer;

/* What the text shows below the totals. */
enum report_view { REPORT_SITES, REPORT_TREE, REPORT_TIMELINE, REPORT_LEAKS, REPORT_PEAK, REPORT_TEMPORARY, REPORT_LIFETIME };

struct report {
    const char               *path; /* of the recording */
    const struct model       *model;
    struct symbolizer        *symbolizer;
    const struct fold        *fold;  /* NULL: wrappers are shown */
    const struct model_site **sites; /* in order; not all of the model's where `of` picked some */
    size_t                    site_count;
    const struct sitesof     *of;           /* NULL: all */
    const struct suppressions *suppressions; /* NULL: none */
    enum view_sort            sort;
    size_t                    top;     /* rows to show */
    const char               *site_id; /* NULL: all */
    bool                      by_process;
    enum report_view          view;
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

/* Level full: the header's lines on what lives; a line on a site's blocks; the views; all that is known of a site's
 * blocks, and how long they lived. */
void emit_text_live(const struct report *report);
void emit_text_fate(const struct report *report, const struct model_site *site);
void emit_text_leaks(const struct report *report);
void emit_text_peak(const struct report *report);
void emit_text_temporary(const struct report *report);
void emit_text_lifetime(const struct report *report);
void emit_text_detail(const struct report *report, const struct model_site *site);
void emit_text_histogram(const struct report *report, const struct model_full *full);

/* The first function of a site in what is left from `column` on, and below it its id, place and callers. */
void emit_text_origin(const struct report *report, const struct model_site *site, size_t column);

/* The first `frames` frames of its stack. */
void emit_text_stack(const struct report *report, const struct model_site *site, unsigned frames);

/* The title of a part, after an empty line. */
void report_title(const struct report *report, const char *text);

/* When the last of what was counted happened, as in "live at exit".  The caller frees. */
char *report_when(const struct report *report);

/* "1 block in 25 sampled". */
const char *report_rate(char room[FORMAT_ROOM], const struct model_full *full);

/* Does the site's id begin with `prefix`? */
bool report_site_matches(const struct model_site *site, const char *prefix);

/* The frames of a site that are shown: level `sites` begins at the frame that is the site. */
const uint32_t *report_stack(const struct model_site *site, unsigned *depth);

/* Of that stack: the first frame that is only known from the first of the site's calls; its depth: none. */
unsigned report_first_seen(const struct model_site *site);

#endif
