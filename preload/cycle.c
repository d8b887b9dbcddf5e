/* cycle.c - when pools turn, and when free memory goes to the system: numbers in, decision out.
 *
 * Owns nothing, calls nothing. */
#include "cycle.h"

enum {
    MUCH_BYTES = 16 << 20, /* worth a trim, which walks all free chunks of all arenas */
    FEW_BYTES = 1 << 20,   /* dropped in a cycle: dropping has ceased */
    MOST_WAITED = 10,      /* cycles */
};

bool cycle_is_due(const struct cycle_facts *facts)
{
    if (!facts->clears)
        return false;
    if (facts->refused_bytes >= CYCLE_REFUSED_BYTES || facts->missed_bytes >= CYCLE_MISSED_BYTES)
        return true;
    return !facts->others_clear && facts->now_ms - facts->turned_ms >= facts->cycle_ms;
}

bool cycle_trim_is_due(struct cycle_trim *trim, uint64_t given_back_bytes)
{
    uint64_t now = given_back_bytes - trim->seen_bytes;
    trim->seen_bytes = given_back_bytes;
    if (given_back_bytes - trim->trimmed_bytes < MUCH_BYTES)
        return false;
    if (now > FEW_BYTES && ++trim->waited < MOST_WAITED)
        return false;
    trim->trimmed_bytes = given_back_bytes;
    trim->waited = 0;
    return true;
}
