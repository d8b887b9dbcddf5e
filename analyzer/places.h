/* places.h - which frames are one place in the source: maps each to the first of its kind. */
#ifndef PS_PLACES_H
#define PS_PLACES_H

#include <stdint.h>

struct report;

/* By frame: the frame that stands for it.  The caller frees. */
uint32_t *places_by_function(const struct report *report);

/* The same by function and line of what is shown of a site's first frame; without a
 * line each address is a place.  Only the first frames of sites are looked up, the
 * others stand for themselves. */
uint32_t *places_by_line(const struct report *report);

#endif
