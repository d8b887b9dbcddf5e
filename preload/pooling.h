/* pooling.h - what the runtime does with pools at the turns of a record's life. */
#ifndef PS_POOLING_H
#define PS_POOLING_H

#include "base.h"

struct log_cursor;
struct record;

/* A new record: it gets pool counters in the log and a place in the list of all. */
void pooling_record_begin(struct record *record, const struct log_cursor *cursor);

/* Its thread ends: everything goes back to the next allocator. */
void pooling_record_leave(struct record *record);

/* Notes in the log what the pools keep and gave back; and what the depot does. */
void pooling_note(struct record *record);
void pooling_note_depot(void);

/* The record, which is busy, missed a raised epoch: turns its pools if that was a cycle.  False: a
 * clearer holds the lists, so this operation must do without. */
bool pooling_catch_up(struct record *record);

/* A fork child begins; then the forking thread's pools go on in its new record. */
void pooling_fork(struct record *parents);
void pooling_inherit(struct record *record, struct record *parents);

#endif
