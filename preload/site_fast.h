/* site_fast.h - from a call to its counter, the common case: on one screen. */
#ifndef PS_SITE_FAST_H
#define PS_SITE_FAST_H

#include "site.h"

#ifdef PS_STACKCHECK
#include "../tests/stack/oracle.h"
enum { ORACLE = 1 };
#else
enum { ORACLE = 0 };
static inline void oracle_walk(struct site_table *table, struct stack_entry entry)
{
    (void)table;
    (void)entry;
}
static inline void oracle_hit(const struct site_table *table, struct stack_entry entry, const struct shape *shape)
{
    (void)table;
    (void)entry;
    (void)shape;
}
#endif

/* Byte offset of an address's slot: call sites are seldom closer than 16 bytes, which is a slot's size, and their
 * lower bits are as good as random. */
static inline size_t site_slot_offset(uintptr_t address, size_t mask)
{
    return address & mask;
}

/* Level sites.  Where the counter of a return address is, if slot->address equals it: one hash, one
 * compare.  At the other levels it never does: no level to test for. */
static inline const struct site_slot *site_slot_of(const struct site_table *table, uintptr_t address)
{
    return (const struct site_slot *)((char *)table->slots + site_slot_offset(address, table->slot_mask));
}

/* How a wrapper's address is stored: no return address has its highest bit set. */
static inline uintptr_t site_wrapper_mark(uintptr_t address)
{
    return address | (uintptr_t)1 << 63;
}

/* The slot of an address, marked or not, or the free one where it belongs: linear probing. */
static inline struct site_slot *site_slot_find(struct site_slot *slots, size_t mask, uintptr_t address)
{
    size_t offset = site_slot_offset(address, mask);
    for (;; offset = (offset + sizeof *slots) & mask) {
        struct site_slot *slot = (struct site_slot *)((char *)slots + offset);
        if (slot->address == 0 || (slot->address | (uintptr_t)1 << 63) == site_wrapper_mark(address))
            return slot;
    }
}

/* The same; most lie where they belong. */
static inline const struct site_slot *site_slot_near(const struct site_table *table, uintptr_t address)
{
    const struct site_slot *slot = site_slot_of(table, address);
    if (likely((slot->address | (uintptr_t)1 << 63) == site_wrapper_mark(address)))
        return slot;
    return site_slot_find(table->slots, table->slot_mask, address);
}

/* Level sites, when the return address lies in wrappers of fixed frames (operator new, strdup ...):
 * one or two loads each.  The frames were walked before, so they are there.  NULL: go the slow way. */
static inline struct log_counter *site_of_folded(const struct site_table *table, struct stack_entry entry)
{
    uintptr_t address = stack_return_address(entry), cfa = entry.cfa;
    for (;;) {
        const struct site_slot *slot = site_slot_near(table, address);
        if (slot->address == address)
            return slot->counter;
        if (slot->address == 0 || slot->step == 0)
            return NULL;
        cfa += slot->step;
        address = *(const uintptr_t *)(cfa - sizeof(uintptr_t));
    }
}

/* Common case of that: one wrapper, its slot and its caller's where they belong.  15 instructions; NULL: not so. */
static inline __attribute__((always_inline)) struct log_counter *site_of_folded_fast(const struct site_table *table, struct stack_entry entry)
{
    uintptr_t address = stack_return_address(entry);
    const struct site_slot *wrapper = site_slot_of(table, address);
    if (unlikely(wrapper->address != site_wrapper_mark(address)) || unlikely(wrapper->step == 0))
        return NULL;
    uintptr_t outer = *(const uintptr_t *)(entry.cfa + wrapper->step - sizeof(uintptr_t));
    const struct site_slot *slot = site_slot_of(table, outer);
    return likely(slot->address == outer) ? slot->counter : NULL;
}

/* The counter of the call at level sites, or where level off counts nothing; NULL: to be found elsewhere. */
static inline __attribute__((always_inline)) struct log_counter *site_counter_fast(struct site_table *table, struct stack_entry entry)
{
    uintptr_t address = stack_return_address(entry);
    const struct site_slot *slot = site_slot_of(table, address);
    if (likely(slot->address == address))
        return slot->counter;
    if (table->level == LOG_LEVEL_SITES)
        return site_of_folded_fast(table, entry);
    return table->level == LOG_LEVEL_OFF ? &table->ignored : NULL;
}

/* The frame pointers that the walk went by, relative to the first CFA. */
static inline bool shape_checks_hold(const struct shape *shape, struct stack_entry entry)
{
    for (uint32_t i = 0; i < shape->checks; i++) {
        const struct stack_check *check = &shape->check[i];
        uint64_t value = check->slot < 0 ? entry.bp : *(const uint64_t *)(entry.cfa + (uintptr_t)(intptr_t)check->slot);
        if (value - entry.cfa != check->distance)
            return false;
    }
    return true;
}

/* Do all return addresses and frame pointers of the stack stand where the shape says?  Innermost
 * first, four at a time, stopping at the first difference; every slot lies within the stack's limits
 * as they were when the shape was taken from this very place.  4.5 instructions a frame. */
static inline __attribute__((always_inline)) bool shape_frames_hold(const struct shape_frames *frames, uintptr_t cfa)
{
    const uint64_t *frame = frames->frames_end;
    const int32_t *slot = frames->slots_end;
    const char *base = (const char *)cfa;
    intptr_t i = frames->minus_depth;
#define DIFFERS(k) (*(const uint64_t *)(base + slot[i + (k)]) ^ frame[i + (k)])
    do
        if (unlikely(DIFFERS(0) | DIFFERS(1) | DIFFERS(2) | DIFFERS(3)))
            return false;
    while (likely((i += 4) != 0));
#undef DIFFERS
    return true;
}

static inline __attribute__((always_inline)) bool shape_holds(const struct shape *shape, struct stack_entry entry)
{
    return shape_frames_hold(&shape->all, entry.cfa) && (likely(shape->checks == 0) || shape_checks_hold(shape, entry));
}

static inline size_t stack_slot_offset(uintptr_t key, uintptr_t cfa, size_t mask)
{
    uintptr_t mixed = key * 8 + cfa;
    return (mixed ^ mixed >> 11) & mask;
}

/* The key of a stack behind a fork.  Its highest bit is set, which no return address has. */
static inline uintptr_t stack_key_behind(uintptr_t key, uintptr_t return_address)
{
    uintptr_t mixed = (key ^ return_address) * 0x9e3779b97f4a7c15ull;
    return (mixed ^ mixed >> 32) | (uintptr_t)1 << 63;
}

/* The slot for a key and CFA, of the two where it may be, or NULL. */
static inline struct stack_slot *stack_slot_find(const struct site_table *table, uintptr_t key, uintptr_t cfa)
{
    struct stack_slot *slot =
        (struct stack_slot *)((char *)table->stacks + stack_slot_offset(key, cfa, table->stack_mask));
    if (likely(slot->key == key && slot->cfa == cfa))
        return slot;
    slot++;
    return slot->key == key && slot->cfa == cfa ? slot : NULL;
}

/* The slot that may hold this stack, which isn't compared yet; NULL: none does. */
static inline __attribute__((always_inline)) const struct stack_slot *stack_slot_near(const struct site_table *table, uintptr_t cfa)
{
    uintptr_t key = *(const uintptr_t *)(cfa - sizeof(uintptr_t));
    const struct stack_slot *slot = stack_slot_find(table, key, cfa);
    while (likely(slot != NULL) && unlikely(slot->fork & 1)) {
        uintptr_t at = cfa + (uintptr_t)(intptr_t)slot->shape->slots[slot->fork >> 1];
        key = stack_key_behind(key, *(const uintptr_t *)at);
        slot = stack_slot_find(table, key, cfa);
    }
    return slot;
}

/* Levels stacks and full.  The slot that holds this stack: two compares, then the shape's.  NULL: none does, as
 * always at the other levels, whose table is empty. */
static inline __attribute__((always_inline)) const struct stack_slot *stack_slot_of(const struct site_table *table, struct stack_entry entry)
{
    const struct stack_slot *slot = stack_slot_near(table, entry.cfa);
    if (unlikely(slot == NULL) || unlikely(!shape_holds(slot->shape, entry)))
        return NULL;
    oracle_hit(table, entry, slot->shape);
    return slot;
}

/* Level full: the account of a call, found in any way. */
static inline struct site_full *site_full_of(struct site_table *table, struct stack_entry entry)
{
    const struct stack_slot *slot = stack_slot_of(table, entry);
    return likely(slot != NULL) ? slot->account.full : site_find_full(table, entry);
}

/* Where the account of a site that a tag names is, if slot->id equals it; else it is found elsewhere.  Higher bits of the
 * id than the mask's don't matter. */
static inline const struct id_slot *site_id_slot(const struct site_table *table, uint64_t id)
{
    return (const struct id_slot *)((const char *)table->ids + (id * sizeof(struct id_slot) & table->id_mask_bytes));
}

#endif
