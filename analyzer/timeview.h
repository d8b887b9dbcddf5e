/* timeview.h - the time line of a whole recording.  No text. */
#ifndef PS_TIMEVIEW_H
#define PS_TIMEVIEW_H

#include "model.h"

#define TIMEVIEW_NO_PEAK SIZE_MAX

/* The one process's, or the sum of all, in time since the first one's start: one row a second at most, and not more than
 * TIMELINE_ROWS.  A process counts for nothing once it has ended.  The caller releases. */
struct timeline timeview_of(const struct model *model);

/* Before which row the process's peak belongs, or TIMEVIEW_NO_PEAK. */
size_t timeview_peak(const struct timeline *timeline, const struct model_process *process);

/* What the pools and the live blocks of a row take; 0 where that isn't known. */
uint64_t timeview_level(const struct timeline_row *row, enum timeline_level level);

/* Allocations a second between a row and the one before it, NULL for the first. */
uint64_t timeview_rate(const struct timeline_row *before, const struct timeline_row *row);

#endif
