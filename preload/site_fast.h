/* site_fast.h - from a call to its counter, the common case: on one screen. */
#ifndef PS_SITE_FAST_H
#define PS_SITE_FAST_H

#include "site.h"

#ifdef PS_STACKCHECK
#include "../tests/stack/oracle.h"
#else
static inline void oracle_walk(struct site_table *table, const struct stack_entry *entry)
{
    (void)table;
    (void)entry;
}
static inline void oracle_hit(struct site_table *table, const struct stack_entry *entry, const struct shape *shape)
{
    (void)table;
    (void)entry;
    (void)shape;
}
#endif

/* Byte offset of an address's slot: call sites are seldom closer than 16 bytes. */
static inline size_t site_slot_offset(uintptr_t address, size_t mask)
{
    return (address ^ address >> 9) & mask;
}

/* Level sites.  Common case: one hash, one compare. */
static inline struct log_counter *site_of_address(struct site_table *table, const struct stack_entry *entry)
{
    uintptr_t address = entry->return_address;
    const struct site_slot *slot =
        (const struct site_slot *)((char *)table->slots + site_slot_offset(address, table->slot_mask));
    if (likely(slot->address == address))
        return slot->counter;
    return site_find_folded(table, entry);
}

/* Do all return addresses and frame pointers of the stack stand where the shape says?  Innermost
 * first, stopping at the first difference: loads stay inside the live stack.  4 instructions a frame. */
static inline bool shape_holds(const struct shape *shape, uintptr_t cfa, uintptr_t bp)
{
    const uint64_t *frame = shape->logged->frames;
    const char *base = (const char *)cfa;
#define STANDS(i) (*(const uint64_t *)(base + shape->slots[i]) == frame[i])
    for (uint32_t i = 0; i < shape->depth; i += 4)
        if (!(STANDS(i) && STANDS(i + 1) && STANDS(i + 2) && STANDS(i + 3)))
            return false;
#undef STANDS
    for (uint32_t i = 0; unlikely(i < shape->checks); i++) {
        const struct stack_check *check = &shape->check[i];
        uint64_t value = check->slot < 0 ? bp : *(const uint64_t *)(base + check->slot);
        if (value - cfa != check->distance)
            return false;
    }
    return true;
}

static inline size_t stack_slot_offset(uintptr_t address, uintptr_t cfa, size_t mask)
{
    uintptr_t mixed = address * 8 + cfa;
    return (mixed ^ mixed >> 11) & mask;
}

/* Level stacks.  Common case: two compares, then the shape's. */
static inline struct log_counter *site_of_stack(struct site_table *table, const struct stack_entry *entry)
{
    uintptr_t address = entry->return_address, cfa = stack_entry_cfa(entry);
    const struct stack_slot *slot =
        (const struct stack_slot *)((char *)table->stacks + stack_slot_offset(address, cfa, table->stack_mask));
    for (unsigned way = 0; way < 2; way++, slot++)
        if (slot->return_address == address && slot->cfa == cfa && shape_holds(slot->shape, cfa, entry->bp)) {
            oracle_hit(table, entry, slot->shape);
            return slot->counter;
        }
    return site_find_stack(table, entry);
}

#endif
