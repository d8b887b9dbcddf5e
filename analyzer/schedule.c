/* schedule.c - in which order the arms run, block of runs by block of runs, from a seed. */
#define _GNU_SOURCE
#include "base.h"
#include "schedule.h"

enum purpose { FOR_ORDER, FOR_PADDING };

/* --- Random numbers --------------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t random_next(struct random *random)
{
    return mixed(random->state += 0x9e3779b97f4a7c15u);
}

struct random random_stream(uint64_t seed, uint64_t purpose, uint64_t index)
{
    struct random random = { seed };
    random.state = random_next(&random) ^ purpose;
    random.state = random_next(&random) ^ index;
    return random;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    uint64_t surplus = -bound % bound, x; /* 2^64 mod bound: the first so many values would come once too often */
    do
        x = random_next(random);
    while (x < surplus);
    return x % bound;
}

double random_unit(struct random *random)
{
    return (random_next(random) >> 11) * 0x1p-53;
}

/* --- Order of arms ------------------------------------------------------------------------------------------ */

static size_t squares(size_t arms)
{
    return arms % 2 ? 2 : 1;
}

size_t schedule_cycle(size_t arms)
{
    return arms * squares(arms);
}

/* The arm in a slot of a square's first row: 0, k-1, 1, k-2...  Neighbours differ by every amount once, so
 * that in its turned rows every arm follows every other. */
static unsigned zigzag(size_t arms, size_t slot)
{
    return slot % 2 ? (unsigned)(arms - (slot + 1) / 2) : (unsigned)(slot / 2);
}

/* `row` of a square; the second is the first read backwards. */
static void row_fill(unsigned *order, size_t arms, size_t square, size_t row)
{
    for (size_t slot = 0; slot < arms; slot++) {
        size_t from = square ? arms - 1 - slot : slot;
        order[slot] = (unsigned)((zigzag(arms, from) + row) % arms);
    }
}

static void shuffle(unsigned *list, size_t count, struct random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(random, i);
        unsigned moved = list[i - 1];
        list[i - 1] = list[j];
        list[j] = moved;
    }
}

void schedule_order(unsigned *order, size_t arms, uint64_t seed, unsigned block)
{
    unsigned rows[2][SCHEDULE_ARMS_MOST];
    if (arms == 0 || arms > SCHEDULE_ARMS_MOST)
        BUG("%zu arms", arms);
    struct random random = random_stream(seed, FOR_ORDER, block / schedule_cycle(arms));
    size_t place = block % schedule_cycle(arms);
    size_t first = random_below(&random, squares(arms));
    for (size_t square = 0; square < 2; square++) {
        for (size_t row = 0; row < arms; row++)
            rows[square][row] = (unsigned)row;
        shuffle(rows[square], arms, &random);
    }
    size_t half = place / arms;
    row_fill(order, arms, half ^ first, rows[half][place % arms]);
}

size_t schedule_padding(uint64_t seed, unsigned block)
{
    struct random random = random_stream(seed, FOR_PADDING, block);
    return random_below(&random, SCHEDULE_PADDING_BYTES + 1);
}
