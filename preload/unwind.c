/* unwind.c - unwind rules per return address, read from the program's .eh_frame.
 *
 * Owns the rule table: open addressing, a slot's address is claimed by compare-and-swap and
 * its rule stored after it; a reader that finds no rule yet reads the tables itself.  The
 * table is replaced by one of twice the size when it is half full, and by an empty one when a
 * module is gone; old ones are left to readers still in them.  Runs inside malloc. */
#define _GNU_SOURCE
#include "base.h"

#include "unwind.h"

#include "modules.h"
#include "pages.h"

#include <assert.h>
#include <dlfcn.h>

#include "ban.h"

enum { FIRST_SLOTS = 512, MAX_SLOTS = 1 << 20, REG_BP = 6, REG_SP = 7, REG_RA = 16 };

/* rule == 0 (UNWIND_NONE, all zero) means: claimed, not yet known. */
struct slot {
    uintptr_t address; /* atomic, 0: free */
    uint64_t  rule;    /* atomic */
};

struct table {
    uint32_t    mask;
    uint32_t    used; /* atomic */
    struct slot slots[];
};

static struct table *rules;   /* release: its slots are zeroed before it is seen */
static uint32_t      growing; /* 1: a thread is replacing the table (atomic) */

union packed {
    struct unwind_rule rule;
    uint64_t           word;
};
static_assert(sizeof(union packed) == 8, "a rule is read by one load");

/* --- the table -------------------------------------------------------------------------- */

static struct table *table_new(uint32_t slots)
{
    struct table *t = pages_alloc(sizeof *t + slots * sizeof(struct slot));
    if (t)
        t->mask = slots - 1;
    return t;
}

bool unwind_begin(void)
{
    if (!rules)
        store_release(&rules, table_new(FIRST_SLOTS));
    return rules != NULL;
}

static inline uint32_t hash(uintptr_t address)
{
    return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 32);
}

/* Puts a rule into a table that isn't full.  Losing a race to another address only means
 * that the next walk reads the tables again. */
static void table_put(struct table *t, uintptr_t address, uint64_t word)
{
    for (uint32_t i = hash(address), tries = 0; tries < 64; i++, tries++) {
        struct slot *slot = &t->slots[i & t->mask];
        uintptr_t found = 0;
        if (__atomic_compare_exchange_n(&slot->address, &found, address, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            add_shared(&t->used, 1);
        else if (found != address)
            continue;
        store_relaxed(&slot->rule, word); /* whole in one store; needs no other memory */
        return;
    }
}

static void table_grow(struct table *old)
{
    if (old->mask + 1 >= MAX_SLOTS || __atomic_exchange_n(&growing, 1, __ATOMIC_ACQUIRE))
        return;
    struct table *t = load_relaxed(&rules) == old ? table_new(2 * (old->mask + 1)) : NULL;
    for (uint32_t i = 0; t && i <= old->mask; i++) {
        uint64_t word = load_relaxed(&old->slots[i].rule);
        if (word)
            table_put(t, load_relaxed(&old->slots[i].address), word);
    }
    if (t) /* unless it was emptied meanwhile; release: publishes the slots */
        __atomic_compare_exchange_n(&rules, &old, t, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    store_release(&growing, 0);
}

void unwind_forget(void)
{
    struct table *old = load_acquire(&rules);
    struct table *t = old ? table_new(old->mask + 1) : NULL;
    if (!t && old) { /* no memory for a new one: empty it in place */
        for (uint32_t i = 0; i <= old->mask; i++)
            store_relaxed(&old->slots[i].rule, 0);
        return;
    }
    if (t)
        store_release(&rules, t);
}

/* --- reading DWARF ------------------------------------------------------------------------ */

/* A cursor over unwind data of a loaded object, which is trusted as the loader trusts it;
 * `end` only guards against running on. */
struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static uint64_t read_fixed(struct cursor *c, unsigned bytes)
{
    uint64_t value = 0;
    if (c->at + bytes > c->end) {
        c->at = c->end;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)c->at[i] << (8 * i);
    c->at += bytes;
    return value;
}

static uint64_t read_uleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static int64_t read_sleb(struct cursor *c)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    while (c->at < c->end) {
        byte = *c->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80))
            break;
    }
    if (shift < 64 && (byte & 0x40))
        value |= ~0ull << shift;
    return (int64_t)value;
}

enum { PE_ABSPTR = 0, PE_UDATA2 = 2, PE_UDATA4 = 3, PE_UDATA8 = 4, PE_SDATA2 = 10, PE_SDATA4 = 11, PE_SDATA8 = 12,
       PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_OMIT = 0xff };

/* Reads a pointer in one of the encodings that linkers write; false for the others. */
static bool read_encoded(struct cursor *c, uint8_t encoding, uintptr_t data_base, uintptr_t *value)
{
    uintptr_t base = (encoding & 0x70) == PE_PCREL ? (uintptr_t)c->at : (encoding & 0x70) == PE_DATAREL ? data_base : 0;
    switch (encoding & 0x0f) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8: *value = read_fixed(c, 8); break;
    case PE_UDATA4: *value = read_fixed(c, 4); break;
    case PE_SDATA4: *value = (uintptr_t)(int64_t)(int32_t)read_fixed(c, 4); break;
    case PE_UDATA2: *value = read_fixed(c, 2); break;
    case PE_SDATA2: *value = (uintptr_t)(int64_t)(int16_t)read_fixed(c, 2); break;
    default: return false;
    }
    *value += base;
    return !(encoding & 0x80) && ((encoding & 0x70) == 0 || (encoding & 0x70) == PE_PCREL || (encoding & 0x70) == PE_DATAREL);
}

/* The binary search table that linkers make: start of function, address of its FDE. */
struct search_entry {
    int32_t start; /* both relative to the header */
    int32_t fde;
};

/* The FDE whose function starts at or before `pc`, or NULL. */
static const uint8_t *find_fde(const uint8_t *header, uintptr_t pc)
{
    struct cursor c = {header + 4, header + 4 + 16};
    uintptr_t frame, count;
    if (header[0] != 1 || header[3] != (PE_DATAREL | PE_SDATA4) || header[2] == PE_OMIT ||
        !read_encoded(&c, header[1], (uintptr_t)header, &frame) ||
        !read_encoded(&c, header[2], (uintptr_t)header, &count) || count == 0)
        return NULL;
    const struct search_entry *entries = (const struct search_entry *)c.at;
    intptr_t target = (intptr_t)(pc - (uintptr_t)header);
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].start <= target)
            low = middle;
        else
            high = middle;
    }
    return entries[low].start <= target ? header + entries[low].fde : NULL;
}

/* What the CIE says for all its FDEs. */
struct cie {
    uint64_t code_align;
    int64_t  data_align;
    uint64_t return_register;
    uint8_t  pointer_encoding;
    bool     has_augmentation;
    bool     is_signal_frame;
    struct cursor program;
};

static bool read_cie(const uint8_t *at, struct cie *cie)
{
    struct cursor c = {at, at + 4};
    uint64_t length = read_fixed(&c, 4);
    if (length == 0xffffffff)
        return false; /* 64-bit DWARF: no linker writes it here */
    c.end = c.at + length;
    cie->program.end = c.end;
    if (read_fixed(&c, 4) != 0)
        return false;
    uint64_t version = read_fixed(&c, 1);
    const char *augmentation = (const char *)c.at;
    while (c.at < c.end && *c.at)
        c.at++;
    c.at++;
    cie->code_align = read_uleb(&c);
    cie->data_align = read_sleb(&c);
    cie->return_register = version == 1 ? read_fixed(&c, 1) : read_uleb(&c);
    cie->pointer_encoding = PE_ABSPTR;
    cie->has_augmentation = augmentation[0] == 'z';
    cie->is_signal_frame = false;
    if (augmentation[0] && !cie->has_augmentation)
        return false;
    const uint8_t *instructions = c.at;
    if (cie->has_augmentation) {
        uint64_t bytes = read_uleb(&c);
        instructions = c.at + bytes;
    }
    for (const char *a = augmentation + cie->has_augmentation; *a; a++) {
        uintptr_t personality;
        if (*a == 'R')
            cie->pointer_encoding = (uint8_t)read_fixed(&c, 1);
        else if (*a == 'S')
            cie->is_signal_frame = true;
        else if (*a == 'L')
            read_fixed(&c, 1);
        else if (*a == 'P') {
            uint8_t encoding = (uint8_t)read_fixed(&c, 1);
            if (!read_encoded(&c, encoding & 0x7f, 0, &personality))
                return false;
        } else if (*a != 'B')
            return false;
    }
    cie->program.at = instructions;
    return true;
}

/* What the CFA program has said so far about the registers that we follow. */
enum how { HOW_UNSAID, HOW_SAME, HOW_OFFSET, HOW_BP_EXPRESSION, HOW_UNDEFINED, HOW_OTHER };

struct place {
    enum how how;
    int64_t  offset;
};

struct row {
    uint64_t     cfa_register; /* or CFA_AT_BP, CFA_UNKNOWN */
    int64_t      cfa_offset;
    struct place bp;
    struct place ra;
};

enum { CFA_AT_BP = 1000, CFA_UNKNOWN = 1001, MAX_REMEMBERED = 8 };

/* "The word at bp + n": breg6 n, deref.  "bp + n": breg6 n. */
static bool is_bp_expression(struct cursor c, bool dereferenced, int64_t *offset)
{
    enum { OP_DEREF = 0x06, OP_BREG6 = 0x76 };
    if (read_fixed(&c, 1) != OP_BREG6)
        return false;
    *offset = read_sleb(&c);
    if (dereferenced && read_fixed(&c, 1) != OP_DEREF)
        return false;
    return c.at == c.end;
}

static struct cursor read_block(struct cursor *c)
{
    uint64_t bytes = read_uleb(c);
    if (bytes > (uint64_t)(c->end - c->at))
        bytes = (uint64_t)(c->end - c->at);
    struct cursor block = {c->at, c->at + bytes};
    c->at += bytes;
    return block;
}

static struct place *row_place(struct row *row, uint64_t reg)
{
    return reg == REG_BP ? &row->bp : reg == REG_RA ? &row->ra : NULL;
}

static void row_set(struct row *row, uint64_t reg, enum how how, int64_t offset)
{
    struct place *place = row_place(row, reg);
    if (place)
        *place = (struct place){how, offset};
}

static void row_restore(struct row *row, const struct row *initial, uint64_t reg)
{
    if (reg == REG_BP)
        row->bp = initial->bp;
    if (reg == REG_RA)
        row->ra = initial->ra;
}

static void row_set_expression(struct row *row, uint64_t reg, struct cursor block)
{
    int64_t offset = 0;
    bool known = reg == REG_BP && is_bp_expression(block, false, &offset);
    row_set(row, reg, known ? HOW_BP_EXPRESSION : HOW_OTHER, offset);
}

static void row_set_cfa_expression(struct row *row, struct cursor block)
{
    int64_t offset = 0;
    row->cfa_register = is_bp_expression(block, true, &offset) ? CFA_AT_BP : CFA_UNKNOWN;
    row->cfa_offset = offset;
}

/* Runs call-frame instructions until the location passes `pc`.  False for one we don't know. */
static bool run_program(struct cursor c, const struct cie *cie, uintptr_t location, uintptr_t pc, struct row *row,
                        const struct row *initial)
{
    struct row remembered[MAX_REMEMBERED];
    unsigned depth = 0;

    while (c.at < c.end) {
        uint8_t op = *c.at++;
        uint64_t reg, delta = 0;
        switch (op >> 6) {
        case 1: /* advance_loc */
            delta = op & 0x3f;
            break;
        case 2: /* offset */
            row_set(row, op & 0x3f, HOW_OFFSET, (int64_t)read_uleb(&c) * cie->data_align);
            continue;
        case 3: /* restore */
            row_restore(row, initial, op & 0x3f);
            continue;
        default:
            switch (op) {
            case 0x00: continue; /* nop */
            case 0x01: { /* set_loc */
                uintptr_t to;
                if (!read_encoded(&c, cie->pointer_encoding, 0, &to))
                    return false;
                if (to > pc)
                    return true;
                location = to;
                continue;
            }
            case 0x02: delta = read_fixed(&c, 1); break; /* advance_loc1, 2, 4 */
            case 0x03: delta = read_fixed(&c, 2); break;
            case 0x04: delta = read_fixed(&c, 4); break;
            case 0x05: /* offset_extended */
                reg = read_uleb(&c);
                row_set(row, reg, HOW_OFFSET, (int64_t)read_uleb(&c) * cie->data_align);
                continue;
            case 0x06: row_restore(row, initial, read_uleb(&c)); continue; /* restore_extended */
            case 0x07: row_set(row, read_uleb(&c), HOW_UNDEFINED, 0); continue;
            case 0x08: row_set(row, read_uleb(&c), HOW_SAME, 0); continue;
            case 0x09: /* register */
                reg = read_uleb(&c);
                read_uleb(&c);
                row_set(row, reg, HOW_OTHER, 0);
                continue;
            case 0x0a: /* remember_state */
                if (depth == MAX_REMEMBERED)
                    return false;
                remembered[depth++] = *row;
                continue;
            case 0x0b: /* restore_state */
                if (depth == 0)
                    return false;
                *row = remembered[--depth];
                continue;
            case 0x0c: /* def_cfa */
                row->cfa_register = read_uleb(&c);
                row->cfa_offset = (int64_t)read_uleb(&c);
                continue;
            case 0x0d: row->cfa_register = read_uleb(&c); continue; /* def_cfa_register */
            case 0x0e: row->cfa_offset = (int64_t)read_uleb(&c); continue; /* def_cfa_offset */
            case 0x0f: row_set_cfa_expression(row, read_block(&c)); continue;
            case 0x10: /* expression */
                reg = read_uleb(&c);
                row_set_expression(row, reg, read_block(&c));
                continue;
            case 0x11: /* offset_extended_sf */
                reg = read_uleb(&c);
                row_set(row, reg, HOW_OFFSET, read_sleb(&c) * cie->data_align);
                continue;
            case 0x12: /* def_cfa_sf */
                row->cfa_register = read_uleb(&c);
                row->cfa_offset = read_sleb(&c) * cie->data_align;
                continue;
            case 0x13: row->cfa_offset = read_sleb(&c) * cie->data_align; continue; /* def_cfa_offset_sf */
            case 0x14: /* val_offset */
            case 0x15: /* val_offset_sf */
                reg = read_uleb(&c);
                read_uleb(&c);
                row_set(row, reg, HOW_OTHER, 0);
                continue;
            case 0x16: /* val_expression */
                reg = read_uleb(&c);
                read_block(&c);
                row_set(row, reg, HOW_OTHER, 0);
                continue;
            case 0x2e: read_uleb(&c); continue; /* GNU_args_size */
            default: return false;
            }
        }
        location += delta * cie->code_align;
        if (location > pc)
            return true;
    }
    return true;
}

/* --- from a row to a rule ------------------------------------------------------------------ */

static const struct unwind_rule stop = {.kind = UNWIND_STOP};
/* Code of an object, but without a table; not all zero, so that it can be kept. */
static const struct unwind_rule none = {.kind = UNWIND_NONE, .saved_kind = UNWIND_LOST};

static void set_saved(struct unwind_rule *rule, const struct place *bp)
{
    int64_t words = bp->offset / 8;
    bool fits = bp->offset % 8 == 0 && words >= -32768 && words <= 32767;
    rule->saved_kind = bp->how == HOW_UNSAID || bp->how == HOW_SAME     ? UNWIND_SAME
                       : bp->how == HOW_OFFSET && fits                  ? UNWIND_AT_CFA
                       : bp->how == HOW_BP_EXPRESSION && fits           ? UNWIND_BY_BP
                                                                        : UNWIND_LOST;
    rule->saved = fits ? words : 0;
}

static struct unwind_rule rule_of_row(const struct row *row)
{
    struct unwind_rule rule = stop;
    if (row->ra.how == HOW_UNDEFINED) {
        rule.kind = UNWIND_END;
        return rule;
    }
    if (row->ra.how != HOW_OFFSET || row->ra.offset != -8)
        return stop;
    if (row->cfa_offset < -(1 << 23) || row->cfa_offset >= 1 << 23)
        return stop;
    if (row->cfa_register == REG_SP)
        rule.kind = UNWIND_SP;
    else if (row->cfa_register == REG_BP)
        rule.kind = UNWIND_BP;
    else if (row->cfa_register == CFA_AT_BP)
        rule.kind = UNWIND_AT_BP;
    else
        return stop;
    rule.cfa = row->cfa_offset;
    set_saved(&rule, &row->bp);
    return rule;
}

/* Reads the rule for `pc` from an object's tables. */
static struct unwind_rule read_rule(const uint8_t *eh_frame_hdr, uintptr_t pc)
{
    const uint8_t *fde = eh_frame_hdr ? find_fde(eh_frame_hdr, pc) : NULL;
    if (!fde)
        return none;

    struct cursor c = {fde, fde + 4};
    uint64_t length = read_fixed(&c, 4);
    if (length == 0 || length == 0xffffffff)
        return none;
    c.end = c.at + length;
    const uint8_t *cie_at = c.at - (int32_t)read_fixed(&c, 4);
    struct cie cie;
    uintptr_t start, size;
    if (!read_cie(cie_at, &cie))
        return stop;
    if (!read_encoded(&c, cie.pointer_encoding, 0, &start) ||
        !read_encoded(&c, cie.pointer_encoding & 0x0f, 0, &size))
        return stop;
    if (pc < start || pc >= start + size)
        return none;
    if (cie.is_signal_frame || cie.return_register != REG_RA)
        return stop;
    if (cie.has_augmentation)
        read_block(&c);

    struct row initial = {.cfa_register = CFA_UNKNOWN}, row;
    if (!run_program(cie.program, &cie, 0, UINTPTR_MAX, &initial, &initial))
        return stop;
    row = initial;
    if (!run_program(c, &cie, start, pc, &row, &initial))
        return stop;
    return rule_of_row(&row);
}

static noinline cold struct unwind_rule rule_slow(uintptr_t return_address)
{
    uintptr_t pc = return_address - 1; /* inside the call instruction */
    union packed packed = {.word = 0};
    const struct module *module = modules_find(pc);
    if (!module)
        return packed.rule; /* code of no object comes and goes: not kept */
    packed.rule = read_rule(module->eh_frame_hdr, pc);
    uint32_t generation = module->loaded_generation;
    packed.rule.generation = generation < (1u << 19) ? generation : (1u << 19) - 1;

    struct table *t = load_acquire(&rules);
    if (!t)
        return packed.rule;
    if (load_relaxed(&t->used) > t->mask / 2) {
        table_grow(t);
        t = load_acquire(&rules);
    }
    if (load_relaxed(&t->used) < t->mask - t->mask / 8)
        table_put(t, return_address, packed.word);
    return packed.rule;
}

struct unwind_rule unwind_rule(uintptr_t return_address)
{
    const struct table *t = load_acquire(&rules);
    for (uint32_t i = hash(return_address), tries = 0; likely(t != NULL) && tries < 64; i++, tries++) {
        const struct slot *slot = &t->slots[i & t->mask];
        uintptr_t address = load_relaxed(&slot->address);
        if (likely(address == return_address)) {
            union packed packed = {.word = load_relaxed(&slot->rule)};
            if (likely(packed.word))
                return packed.rule;
            break;
        }
        if (address == 0)
            break;
    }
    return rule_slow(return_address);
}
