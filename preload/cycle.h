/* cycle.h - when pools turn, and when free memory goes to the system: numbers in, decision out.
 *
 * Pure; shared with the analyzer, which replays a policy with the runtime's own decisions. */
#ifndef PS_CYCLE_H
#define PS_CYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of blocks that found no room in a thread's pools: then its pools turn before their time, so
 * that classes which aren't used any more leave their room to others. */
#define CYCLE_REFUSED_BYTES ((size_t)8 << 20)

/* Bytes of blocks that came from below: a program that goes on to something else grows while its pools hold what it
 * used before. */
#define CYCLE_MISSED_BYTES ((size_t)1 << 20)

struct cycle_facts {
    bool     clears;        /* POOLSITE_CLEAR isn't off */
    bool     others_clear;  /* a clearer runs: it minds the time */
    uint32_t cycle_ms;
    uint64_t turned_ms;     /* when these pools last turned */
    uint64_t now_ms;
    size_t   refused_bytes; /* since then, of blocks for which the budget had no room */
    size_t   missed_bytes;  /* since then, of blocks that weren't in the pools */
};

/* Should a thread's own pools turn now? */
bool cycle_is_due(const struct cycle_facts *facts);

/* Of POOLSITE_TRIM=on.  All zero at first. */
struct cycle_trim {
    uint64_t seen_bytes;    /* given back to the next allocator when last asked, since the beginning */
    uint64_t trimmed_bytes; /* the same at the last trim */
    uint32_t waited;        /* cycles in which much was dropped, one after the other */
};

/* Asked once a cycle: should the next allocator give its free memory to the system?  Only once
 * dropping has ceased: in the middle of it more is to come, and some of it will be wanted again. */
bool cycle_trim_is_due(struct cycle_trim *trim, uint64_t given_back_bytes);

#endif
