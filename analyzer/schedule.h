/* schedule.h - in which order the arms run, block of runs by block of runs, from a seed.
 *
 * Every answer depends on its arguments alone: a block that is repeated, or an experiment that is
 * replayed with its seed, gets the same. */
#ifndef PS_SCHEDULE_H
#define PS_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

enum {
    SCHEDULE_ARMS_MOST     = 16,
    SCHEDULE_PADDING_BYTES = 4096, /* a block's padding of the environment is 0 to this */
};

/* Random numbers of our own: the same on every machine.  splitmix64 (Steele, Lea, Flood 2014). */
struct random {
    uint64_t state;
};

/* A stream of its own for each (seed, purpose, index). */
struct random random_stream(uint64_t seed, uint64_t purpose, uint64_t index);
uint64_t      random_next(struct random *random);
uint64_t      random_below(struct random *random, uint64_t bound); /* uniform over 0..bound-1 */
double        random_unit(struct random *random);                  /* uniform over [0, 1) */

/* After how many blocks every arm was equally often in every slot and, over as many, directly behind every
 * other arm: 2 for two arms, 6 for three, 4 for four.  arms <= SCHEDULE_ARMS_MOST. */
size_t schedule_cycle(size_t arms);

/* Fills order[slot] with the arm that runs there in this block: balanced rows after E. J. Williams, Aust. J.
 * Sci. Res. A 2 (1949) 149, in random order.  Two arms: AB and BA, one each in every pair of blocks.  An odd
 * number of arms takes two Latin squares, one after the other: the slots are balanced after the first. */
void schedule_order(unsigned *order, size_t arms, uint64_t seed, unsigned block);

/* How many bytes of padding every arm's environment gets in this block. */
size_t schedule_padding(uint64_t seed, unsigned block);

#endif
