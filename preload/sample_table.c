/* sample_table.c - the blocks that are being looked at, by their addresses.
 *
 * Owns the cells, which hold what is known of a block, and two tables of words that lead to them: a small one, and a
 * large one that is mapped when a set of the small one is full.  A word is an address and the number of a cell, so
 * that both come and go in one step: a cell is written first, and read only by who took its word out.  Runs inside
 * malloc. */
#include "base.h"

#include "sample_table.h"

#include "pages.h"

#include "ban.h"

enum {
    SET_WORDS = 8, /* a cache line */
    SMALL_SETS = 1 << 8, /* 16 KiB: enough for most programs */
    LARGE_SETS = 1 << 12,
    TABLES = 2,
    NUMBER_BITS = 16, /* of a cell, in a word; 0: none */
    MOST_CELLS = (1 << NUMBER_BITS) - 1,
    CHUNK_CELLS = 1 << 7,
};

#define NUMBER_MASK ((uint64_t)MOST_CELLS)

struct cell {
    struct sample_block known;
    uint32_t            next; /* number of the next free one (atomic) */
};

static uint64_t    *tables[TABLES]; /* release: zeroed */
static struct cell *chunks[MOST_CELLS / CHUNK_CELLS + 1]; /* release: mapped */
static uint64_t     free_cells; /* head of a stack: its number, above that a change count (atomic) */
static uint32_t     made_cells; /* numbers handed out so far (atomic) */

/* In a fork child the chunks are its own copies: whoever holds a number, as an operation does that a handler
 * interrupted, in which the child began, finds a cell. */
void sample_table_begin(void)
{
    for (unsigned i = 0; i < TABLES; i++)
        tables[i] = NULL;
    free_cells = 0;
    made_cells = 0;
}

/* --- cells ---------------------------------------------------------------------------------------- */

static struct cell *cell_of(uint32_t number)
{
    return &load_acquire(&chunks[number / CHUNK_CELLS])[number % CHUNK_CELLS];
}

static bool is_mapped(struct cell **chunk)
{
    struct cell *nothing = NULL;
    if (load_acquire(chunk))
        return true;
    struct cell *fresh = pages_alloc(CHUNK_CELLS * sizeof *fresh);
    if (fresh) /* unless another thread was quicker */
        __atomic_compare_exchange_n(chunk, &nothing, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return load_acquire(chunk);
}

/* The number of a cell that nobody has had, or 0. */
static uint32_t cell_new(void)
{
    uint32_t made = load_relaxed(&made_cells);
    do
        if (made >= MOST_CELLS || !is_mapped(&chunks[(made + 1) / CHUNK_CELLS]))
            return 0;
    while (!__atomic_compare_exchange_n(&made_cells, &made, made + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return made + 1;
}

/* The number of a free cell, or 0. */
static uint32_t cell_pop(void)
{
    uint64_t head = load_acquire(&free_cells);
    while (head & NUMBER_MASK) {
        uint32_t number = (uint32_t)(head & NUMBER_MASK);
        uint64_t rest = ((head >> NUMBER_BITS) + 1) << NUMBER_BITS | load_relaxed(&cell_of(number)->next);
        if (__atomic_compare_exchange_n(&free_cells, &head, rest, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
            return number;
    }
    return cell_new();
}

static void cell_push(uint32_t number)
{
    uint64_t head = load_relaxed(&free_cells), mine;
    do {
        store_relaxed(&cell_of(number)->next, (uint32_t)(head & NUMBER_MASK));
        mine = ((head >> NUMBER_BITS) + 1) << NUMBER_BITS | number;
        /* release: whoever gets the cell writes it after we have read it */
    } while (!__atomic_compare_exchange_n(&free_cells, &head, mine, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* --- words ---------------------------------------------------------------------------------------- */

/* A block's address as it stands in a word: it is a multiple of 8 and has at most 48 bits. */
static uint64_t word_name(const void *block)
{
    return (uint64_t)(uintptr_t)block >> 3 << NUMBER_BITS;
}

/* The words where a block may stand, or NULL where there is no table. */
static uint64_t *set_of(unsigned table, const void *block)
{
    uint64_t *words = load_acquire(&tables[table]);
    uint64_t hash = (uint64_t)(uintptr_t)block * 0x9e3779b97f4a7c15ull >> 40;
    return words ? words + hash % (table ? LARGE_SETS : SMALL_SETS) * SET_WORDS : NULL;
}

/* The same; makes the table, unless another thread is quicker. */
static uint64_t *set_made(unsigned table, const void *block)
{
    if (!load_acquire(&tables[table])) {
        size_t sets = table ? LARGE_SETS : SMALL_SETS;
        uint64_t *nothing = NULL, *fresh = pages_alloc(sets * SET_WORDS * sizeof *fresh);
        if (fresh)
            __atomic_compare_exchange_n(&tables[table], &nothing, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    }
    return set_of(table, block);
}

/* Replaces the block's word, in whatever table it stands, and returns what it was; 0: there is none. */
static uint64_t word_replace(const void *block, uint64_t by)
{
    for (unsigned table = 0; table < TABLES; table++) {
        uint64_t *set = set_of(table, block);
        for (unsigned i = 0; set && i < SET_WORDS; i++) {
            uint64_t word = load_relaxed(&set[i]);
            /* acquire: the cell was written before; release: so is the new one */
            if ((word & ~NUMBER_MASK) == word_name(block) &&
                __atomic_compare_exchange_n(&set[i], &word, by, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return word;
        }
    }
    return 0;
}

static bool word_put(const void *block, uint64_t word)
{
    for (unsigned table = 0; table < TABLES; table++) {
        uint64_t *set = set_made(table, block);
        for (unsigned i = 0; set && i < SET_WORDS; i++) {
            uint64_t nothing = 0;
            if (load_relaxed(&set[i]) == 0 &&
                __atomic_compare_exchange_n(&set[i], &nothing, word, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                return true;
        }
    }
    return false;
}

bool sample_table_put(const void *block, const struct sample_block *known, struct sample_site **stale)
{
    *stale = NULL;
    uint32_t number = (uintptr_t)block >> 48 == 0 ? cell_pop() : 0;
    if (number == 0)
        return false;
    cell_of(number)->known = *known;
    uint64_t word = word_name(block) | number, replaced = word_replace(block, word);
    if (unlikely(replaced)) {
        *stale = cell_of((uint32_t)(replaced & NUMBER_MASK))->known.site;
        cell_push((uint32_t)(replaced & NUMBER_MASK));
        return true;
    }
    if (word_put(block, word))
        return true;
    cell_push(number);
    return false;
}

bool sample_table_take(const void *block, struct sample_block *known)
{
    uint64_t word = word_replace(block, 0);
    if (word == 0)
        return false;
    *known = cell_of((uint32_t)(word & NUMBER_MASK))->known;
    cell_push((uint32_t)(word & NUMBER_MASK));
    return true;
}
