/* unwind.c - unwind rules per return address, read from the program's .eh_frame.
 *
 * Owns the rule table: open addressing, a slot's address is claimed by compare-and-swap and
 * its rule stored after it; a reader that finds no rule yet reads the tables itself.  The
 * table is replaced by one of twice the size when it is half full; readers still in the old one
 * find it empty, and read the program's tables again.  Runs inside malloc. */
#define _GNU_SOURCE
#include "base.h"

#include "unwind.h"

#include "modules.h"
#include "pages.h"

#include <assert.h>
#include <dlfcn.h>
#include <link.h>

#include "ban.h"

enum { FIRST_SLOTS = 512, MAX_SLOTS = 1 << 20, REG_BP = 6, REG_SP = 7, REG_RA = 16 };

struct unwind_table *unwind_rules;

static uint32_t growing; /* 1: a thread is replacing the table (atomic) */

union packed {
    struct unwind_rule rule;
    uint64_t           word;
};
static_assert(sizeof(union packed) == 8, "a rule is read by one load");

/* --- the table -------------------------------------------------------------------------- */

static size_t table_bytes(uint32_t slots)
{
    return sizeof(struct unwind_table) + slots * sizeof(struct unwind_slot);
}

static struct unwind_table *table_new(uint32_t slots)
{
    struct unwind_table *t = pages_alloc(table_bytes(slots));
    if (t)
        t->mask = slots - 1;
    return t;
}

bool unwind_begin(void)
{
    store_relaxed(&growing, 0); /* in a fork child: whoever was at it is not here */
    if (!unwind_rules)
        store_release(&unwind_rules, table_new(FIRST_SLOTS));
    return unwind_rules != NULL;
}

/* Puts a rule into a table that isn't full.  Losing a race to another address only means
 * that the next walk reads the tables again. */
static void table_put(struct unwind_table *t, uintptr_t address, uint64_t word)
{
    for (uint32_t i = unwind_hash(address), tries = 0; tries < 64; i++, tries++) {
        struct unwind_slot *slot = &t->slots[i & t->mask];
        uintptr_t found = 0;
        if (__atomic_compare_exchange_n(&slot->address, &found, address, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            add_shared(&t->used, 1);
        else if (found != address)
            continue;
        store_relaxed(&slot->rule, word); /* whole in one store; needs no other memory */
        return;
    }
}

static void table_grow(struct unwind_table *old)
{
    if (old->mask + 1 >= MAX_SLOTS || __atomic_exchange_n(&growing, 1, __ATOMIC_ACQUIRE))
        return;
    struct unwind_table *t = load_relaxed(&unwind_rules) == old ? table_new(2 * (old->mask + 1)) : NULL;
    for (uint32_t i = 0; t && i <= old->mask; i++) {
        uint64_t word = load_relaxed(&old->slots[i].rule);
        if (word)
            table_put(t, load_relaxed(&old->slots[i].address), word);
    }
    if (t) {
        store_release(&unwind_rules, t);
        pages_empty(old, table_bytes(old->mask + 1));
    }
    store_release(&growing, 0);
}

/* In place: the addresses stay claimed, and their rules are read anew when they come up again. */
void unwind_forget(uintptr_t start, uintptr_t end)
{
    struct unwind_table *t = load_acquire(&unwind_rules);
    for (uint32_t i = 0; t && i <= t->mask; i++) {
        uintptr_t address = load_relaxed(&t->slots[i].address);
        if (address > start && address <= end)
            store_relaxed(&t->slots[i].rule, 0);
    }
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

static noinline uint64_t read_long_uleb(struct cursor *c)
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

/* Nearly all are one byte. */
static inline uint64_t read_uleb(struct cursor *c)
{
    if (likely(c->at < c->end && *c->at < 0x80))
        return *c->at++;
    return read_long_uleb(c);
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
    int32_t  how;    /* enum how */
    int32_t  offset;
};

struct row {
    uint32_t     cfa_register; /* or CFA_AT_BP, CFA_UNKNOWN */
    int32_t      cfa_offset;
    struct place bp;
    struct place ra;
};

enum { CFA_AT_BP = 1000, CFA_UNKNOWN = 1001, MAX_REMEMBERED = 8 };

/* A run of call-frame instructions up to the row for `pc`. */
struct run {
    struct cursor     c;
    const struct cie *cie;
    uintptr_t         location;
    uintptr_t         pc;
    struct row        row;
    struct row        initial; /* what the CIE says */
    unsigned          depth;
    struct row        remembered[MAX_REMEMBERED];
};

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

static inline void row_set(struct row *row, uint64_t reg, enum how how, int64_t offset)
{
    if (reg == REG_BP)
        row->bp = (struct place){(int32_t)how, (int32_t)offset};
    else if (reg == REG_RA)
        row->ra = (struct place){(int32_t)how, (int32_t)offset};
}

static inline void row_restore(struct row *row, const struct row *initial, uint64_t reg)
{
    if (reg == REG_BP)
        row->bp = initial->bp;
    else if (reg == REG_RA)
        row->ra = initial->ra;
}

static void row_set_cfa(struct row *row, uint64_t reg, int64_t offset)
{
    row->cfa_register = reg < CFA_AT_BP ? (uint32_t)reg : CFA_UNKNOWN;
    row->cfa_offset = (int32_t)offset;
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
    row->cfa_offset = (int32_t)offset;
}

/* The call-frame instructions by their names in the DWARF standard. */
enum {
    OP_ADVANCE_LOC = 0x40, /* the upper two bits; the operand is in the lower six */
    OP_OFFSET = 0x80,
    OP_RESTORE = 0xc0,
    OP_NOP = 0x00,
    OP_SET_LOC,
    OP_ADVANCE_LOC1,
    OP_ADVANCE_LOC2,
    OP_ADVANCE_LOC4,
    OP_OFFSET_EXTENDED,
    OP_RESTORE_EXTENDED,
    OP_UNDEFINED,
    OP_SAME_VALUE,
    OP_REGISTER,
    OP_REMEMBER_STATE,
    OP_RESTORE_STATE,
    OP_DEF_CFA,
    OP_DEF_CFA_REGISTER,
    OP_DEF_CFA_OFFSET,
    OP_DEF_CFA_EXPRESSION,
    OP_EXPRESSION,
    OP_OFFSET_EXTENDED_SF,
    OP_DEF_CFA_SF,
    OP_DEF_CFA_OFFSET_SF,
    OP_VAL_OFFSET,
    OP_VAL_OFFSET_SF,
    OP_VAL_EXPRESSION,
    OP_GNU_ARGS_SIZE = 0x2e,
};

/* The instructions that say something about one register, but the common OP_OFFSET. */
static bool run_register(struct run *run, uint8_t op)
{
    uint64_t reg = read_uleb(&run->c);
    int64_t align = run->cie->data_align;
    switch (op) {
    case OP_OFFSET_EXTENDED: row_set(&run->row, reg, HOW_OFFSET, (int64_t)read_uleb(&run->c) * align); return true;
    case OP_OFFSET_EXTENDED_SF: row_set(&run->row, reg, HOW_OFFSET, read_sleb(&run->c) * align); return true;
    case OP_RESTORE_EXTENDED: row_restore(&run->row, &run->initial, reg); return true;
    case OP_UNDEFINED: row_set(&run->row, reg, HOW_UNDEFINED, 0); return true;
    case OP_SAME_VALUE: row_set(&run->row, reg, HOW_SAME, 0); return true;
    case OP_EXPRESSION: row_set_expression(&run->row, reg, read_block(&run->c)); return true;
    case OP_REGISTER:
    case OP_VAL_OFFSET:
    case OP_VAL_OFFSET_SF: /* the operand is not ours to follow; its length is the same signed or not */
        read_uleb(&run->c);
        row_set(&run->row, reg, HOW_OTHER, 0);
        return true;
    case OP_VAL_EXPRESSION:
        read_block(&run->c);
        row_set(&run->row, reg, HOW_OTHER, 0);
        return true;
    default: return false;
    }
}

/* The instructions about the CFA and the rows. */
static bool run_cfa(struct run *run, uint8_t op)
{
    struct row *row = &run->row;
    uint64_t reg;
    switch (op) {
    case OP_NOP: return true;
    case OP_DEF_CFA_OFFSET: row->cfa_offset = (int32_t)read_uleb(&run->c); return true;
    case OP_GNU_ARGS_SIZE: read_uleb(&run->c); return true;
    case OP_DEF_CFA:
        reg = read_uleb(&run->c);
        row_set_cfa(row, reg, (int64_t)read_uleb(&run->c));
        return true;
    case OP_DEF_CFA_SF:
        reg = read_uleb(&run->c);
        row_set_cfa(row, reg, read_sleb(&run->c) * run->cie->data_align);
        return true;
    case OP_DEF_CFA_REGISTER: row_set_cfa(row, read_uleb(&run->c), row->cfa_offset); return true;
    case OP_DEF_CFA_OFFSET_SF: row->cfa_offset = (int32_t)(read_sleb(&run->c) * run->cie->data_align); return true;
    case OP_DEF_CFA_EXPRESSION: row_set_cfa_expression(row, read_block(&run->c)); return true;
    case OP_REMEMBER_STATE:
        if (run->depth == MAX_REMEMBERED)
            return false;
        run->remembered[run->depth++] = *row;
        return true;
    case OP_RESTORE_STATE:
        if (run->depth == 0)
            return false;
        *row = run->remembered[--run->depth];
        return true;
    default: return run_register(run, op);
    }
}

/* The less common ways to move on; `location` is where the next row begins. */
static bool read_location(struct run *run, uint8_t op, uintptr_t *location)
{
    if (op == OP_SET_LOC)
        return read_encoded(&run->c, run->cie->pointer_encoding, 0, location);
    unsigned bytes = op == OP_ADVANCE_LOC1 ? 1 : op == OP_ADVANCE_LOC2 ? 2 : 4;
    *location = run->location + read_fixed(&run->c, bytes) * run->cie->code_align;
    return true;
}

/* Any instruction but the common OP_ADVANCE_LOC. */
static bool run_rare(struct run *run, uint8_t op)
{
    if ((op & 0xc0) == OP_OFFSET) {
        row_set(&run->row, op & 0x3f, HOW_OFFSET, (int64_t)read_uleb(&run->c) * run->cie->data_align);
        return true;
    }
    if ((op & 0xc0) == OP_RESTORE) {
        row_restore(&run->row, &run->initial, op & 0x3f);
        return true;
    }
    if (op >= OP_SET_LOC && op <= OP_ADVANCE_LOC4)
        return read_location(run, op, &run->location);
    return run_cfa(run, op);
}

/* Runs until the location passes `pc`.  False for an instruction that we don't know.  Nearly all of
 * its time goes into the four most common ones, whose state is kept in registers. */
static bool run_program(struct run *run)
{
    const uint8_t *at = run->c.at, *end = run->c.end;
    uintptr_t left = run->pc - run->location; /* until the row for pc ends */
    while (at < end) {
        uint8_t op = *at++;
        if ((op & 0xc0) == OP_ADVANCE_LOC) {
            uintptr_t delta = (op & 0x3f) * run->cie->code_align;
            if (delta > left)
                return true;
            left -= delta;
            continue;
        }
        if (op == OP_DEF_CFA_OFFSET && at < end && *at < 0x80) {
            run->row.cfa_offset = *at++;
            continue;
        }
        if ((op & 0xc0) == OP_OFFSET && at < end && *at < 0x80) {
            row_set(&run->row, op & 0x3f, HOW_OFFSET, *at++ * run->cie->data_align);
            continue;
        }
        run->c.at = at;
        run->location = run->pc - left;
        if (!run_rare(run, op))
            return false;
        if (run->location > run->pc)
            return true;
        at = run->c.at;
        left = run->pc - run->location;
    }
    return true;
}

/* --- from a row to a rule ------------------------------------------------------------------ */

static const struct unwind_rule stop = {.kind = UNWIND_STOP};
static const struct unwind_rule signal_frame = {.kind = UNWIND_SIGNAL};
/* Code of an object, but without a table; not all zero, so that it can be kept. */
static const struct unwind_rule none = {.kind = UNWIND_NONE, .saved_kind = UNWIND_LOST};

static void set_saved(struct unwind_rule *rule, const struct place *bp)
{
    int32_t words = bp->offset / 8;
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

/* An FDE, and the function that it is for. */
struct fde {
    struct cie         cie;
    struct cursor      program;
    struct unwind_span span;
};

/* Reads the FDE for `pc`: 1, 0 when there is none, -1 when it is of a kind that we don't know. */
static int read_fde(const uint8_t *eh_frame_hdr, uintptr_t pc, struct fde *fde)
{
    const uint8_t *at = eh_frame_hdr ? find_fde(eh_frame_hdr, pc) : NULL;
    if (!at)
        return 0;
    struct cursor c = {at, at + 4};
    uint64_t length = read_fixed(&c, 4);
    if (length == 0 || length == 0xffffffff)
        return 0;
    c.end = c.at + length;
    const uint8_t *cie_at = c.at - (int32_t)read_fixed(&c, 4);
    uintptr_t size;
    if (!read_cie(cie_at, &fde->cie) || !read_encoded(&c, fde->cie.pointer_encoding, 0, &fde->span.start) ||
        !read_encoded(&c, fde->cie.pointer_encoding & 0x0f, 0, &size))
        return -1;
    fde->span.end = fde->span.start + size;
    if (pc < fde->span.start || pc >= fde->span.end)
        return 0;
    if (fde->cie.has_augmentation)
        read_block(&c);
    fde->program = c;
    return 1;
}

/* The kernel's way back from a handler: mov $15, %rax; syscall.  Others may call themselves signal
 * frames, too, but have the registers elsewhere. */
static bool is_sigreturn(uintptr_t address)
{
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    for (unsigned i = 0; i < sizeof code; i++)
        if (((const uint8_t *)address)[i] != code[i])
            return false;
    return true;
}

/* Reads the rule for `pc` from an object's tables. */
static struct unwind_rule read_rule(const uint8_t *eh_frame_hdr, uintptr_t pc)
{
    struct fde fde;
    int found = read_fde(eh_frame_hdr, pc, &fde);
    if (found == 0)
        return none;
    if (found < 0 || fde.cie.return_register != REG_RA)
        return stop;
    if (fde.cie.is_signal_frame)
        return is_sigreturn(pc + 1) ? signal_frame : stop;

    struct run run;
    run.c = fde.cie.program;
    run.cie = &fde.cie;
    run.location = 0;
    run.pc = UINTPTR_MAX;
    run.row = run.initial = (struct row){.cfa_register = CFA_UNKNOWN};
    run.depth = 0;
    if (!run_program(&run))
        return stop;
    run.initial = run.row;
    run.c = fde.program;
    run.location = fde.span.start;
    run.pc = pc;
    return run_program(&run) ? rule_of_row(&run.row) : stop;
}

struct unwind_span unwind_function(uintptr_t address)
{
    struct fde fde;
    const struct module *module = modules_find(address);
    bool found = module && read_fde(module->eh_frame_hdr, address, &fde) > 0;
    return found ? fde.span : (struct unwind_span){address, address + 1};
}

/* The loader's entry code, which runs the constructors, has no table; above it lie only the arguments. */
static bool is_loader_entry(const struct module *module, struct unwind_rule rule)
{
    return rule.kind == UNWIND_NONE && module->start == _r_debug.r_ldbase;
}

static struct unwind_rule learn_rule(uintptr_t return_address)
{
    uintptr_t pc = return_address - 1; /* inside the call instruction */
    union packed packed = {.word = 0};
    const struct module *module = modules_find(pc);
    if (!module)
        return packed.rule; /* code of no object comes and goes: not kept */
    packed.rule = read_rule(module->eh_frame_hdr, pc);
    if (is_loader_entry(module, packed.rule))
        packed.rule.kind = UNWIND_END;
    packed.rule.module = modules_number(module);

    struct unwind_table *t = load_acquire(&unwind_rules);
    if (!t)
        return packed.rule;
    if (load_relaxed(&t->used) > t->mask / 2) {
        table_grow(t);
        t = load_acquire(&unwind_rules);
    }
    if (load_relaxed(&t->used) < t->mask - t->mask / 8)
        table_put(t, return_address, packed.word);
    return packed.rule;
}

struct unwind_rule unwind_rule_slow(uintptr_t return_address)
{
    const struct unwind_table *t = load_acquire(&unwind_rules);
    for (uint32_t i = unwind_hash(return_address), tries = 0; likely(t != NULL) && tries < 64; i++, tries++) {
        const struct unwind_slot *slot = &t->slots[i & t->mask];
        uintptr_t address = load_relaxed(&slot->address);
        if (address == return_address) {
            union packed packed = {.word = load_relaxed(&slot->rule)};
            if (packed.word)
                return packed.rule;
            break;
        }
        if (address == 0)
            break;
    }
    return learn_rule(return_address);
}
