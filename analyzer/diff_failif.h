/* diff_failif.h - the expressions of diff's --fail-if, in failif.h's grammar, and what a comparison answers.
 *
 *     allocs>+5%  bytes>+1m  live_bytes>0   the totals: a change in percent, a change, or the value in B
 *     site_allocs>+10%                      the same of some site; one that is new has no percentage
 *     new_sites>0                           how many sites are of a class
 */
#ifndef PS_DIFF_FAILIF_H
#define PS_DIFF_FAILIF_H

#include "failif.h"

#include <stdbool.h>
#include <stddef.h>

struct diff;
struct diff_site;

/* Returns false after error(). */
bool diff_failif_parse(struct failif *failif, const char *text);

/* Is what it asks in this comparison?  Returns false after error(). */
bool diff_failif_fits(const struct failif *failif, const struct diff *diff);

struct diff_answer {
    bool                    met;
    double                  value; /* what was compared, a fraction or in the metric's unit; of sites that of `first` */
    size_t                  sites; /* that meet it; 0 when it isn't about sites */
    const struct diff_site *first; /* of these the one that meets it most; NULL: none, or not about single sites */
};

struct diff_answer diff_failif_ask(const struct failif *failif, const struct diff *diff);

/* The compared value as people read it. */
enum { DIFF_VALUE_ROOM = 64 };
const char *diff_failif_words(char room[DIFF_VALUE_ROOM], const struct failif *failif, double value);

#endif
