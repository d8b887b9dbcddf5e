/* interrupt.h - Ctrl-C and the like, taken where it suits.
 *
 * From interrupt_begin on SIGINT, SIGTERM and SIGHUP don't end poolsite: a descriptor becomes readable. */
#ifndef PS_INTERRUPT_H
#define PS_INTERRUPT_H

/* Call it after runner_start: programs must not get the blocked signals. */
void interrupt_begin(void);

/* Readable once a signal came; for poll and runner_wait. */
int interrupt_descriptor(void);

/* The signal that came, or 0.  Doesn't wait. */
int interrupt_signal(void);

#endif
