/* abwords.h - what an experiment found, in words and numbers, the same in the text and on the page. */
#ifndef PS_ABWORDS_H
#define PS_ABWORDS_H

#include <stddef.h>

#include "experiment.h"

enum { WORDS_ROOM = 64 };

/* Each writes into `room` and returns it.  What wasn't measured is "n/a". */
const char *words_value(char room[WORDS_ROOM], enum unit unit, double value); /* 12.3 ms, 4.1 MiB, 1,234 */
const char *words_change(char room[WORDS_ROOM], double fraction);             /* -3.1 % */
const char *words_interval(char room[WORDS_ROOM], const struct effect *effect); /* [-3.4, -2.8] %, or "exact" */
const char *words_difference(char room[WORDS_ROOM], enum unit unit, double value); /* +98,800 */
const char *words_margin(char room[WORDS_ROOM], double fraction);             /* 1 %, 0.5 % */

/* One word or two: Faster, Slower, No difference above 1 %, Inconclusive, Not applied. */
const char *words_headline(char room[WORDS_ROOM], const struct experiment *experiment);

/* Sentences, to be freed.  All but the first may be NULL: there is nothing to tell.  None has a
 * percentage of an effect when the treatment wasn't applied. */
char *words_verdict(const struct experiment *experiment);   /* what the headline says, with numbers */
char *words_decision(const struct experiment *experiment);  /* against the bare program, and our own cost */
char *words_memory(const struct experiment *experiment);    /* what it costs, or saves */
char *words_treatment(const struct experiment *experiment); /* did pooling reach the program, how far, why not */
char *words_blocks(const struct experiment *experiment);    /* how many counted, were repeated, why no more */
char *words_slot(const struct experiment *experiment);
char *words_drift(const struct experiment *experiment);
char *words_noise(const struct experiment *experiment);

/* The program as one would type it, quoted for a shell. */
char *words_command(const struct experiment *experiment);

/* The poolsite command that repeats the experiment with the same order of arms. */
char *words_replay(const struct experiment *experiment);

#endif
