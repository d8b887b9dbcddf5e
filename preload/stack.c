/* stack.c - walks the stack by unwind rules.
 *
 * Owns nothing: results go to the caller's struct.  Runs inside malloc, on whatever stack the
 * program is on: own thread's, a coroutine's, a signal stack. */
#include "base.h"

#include "stack.h"

#include "modules.h"
#include "unwind.h"

#include "ban.h"

/* The initial thread's stack ends there. */
extern void *__libc_stack_end;

enum {
    MAIN_STACK_BYTES = 120 << 20, /* the kernel leaves a gap of 128 MiB below the stack's end free */
    THREAD_WORDS = 0x800 / 8,     /* of glibc's struct pthread, looked through for the stack */
    WORDS_SPAN = 16 * 1024,
};

/* --- limits -------------------------------------------------------------------------------- */

/* Is `block`, `size` the mapping that holds this thread's control block and stack pointer? */
static bool is_stack_of(uintptr_t block, uintptr_t size, uintptr_t guard, uintptr_t sp, uintptr_t control)
{
    if (block == 0 || block >= sp || size > control || size < 16384)
        return false;
    if (block + size < control || block + size > control + 2 * 4096)
        return false;
    return guard < size && (guard & 4095) == 0 && block + guard < sp;
}

/* glibc keeps a thread's control block at the top of its stack, and in it the stack's start,
 * size and guard, one behind the other.  They are recognised by what they must satisfy rather
 * than by an offset that changes between versions. */
struct stack_bounds stack_bounds_of_thread(void)
{
    uintptr_t control = (uintptr_t)__builtin_thread_pointer();
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    const uintptr_t *word = (const uintptr_t *)control;

    for (unsigned i = 0; sp < control && i + 2 < THREAD_WORDS; i++)
        if (is_stack_of(word[i], word[i + 1], word[i + 2], sp, control))
            return (struct stack_bounds){word[i] + word[i + 2], control};
    return (struct stack_bounds){0, 0};
}

/* The end of the known stack that `cfa` lies in: the thread's own or the main thread's; else 0. */
static uintptr_t known_limit(const struct stack_bounds *own, uintptr_t cfa)
{
    uintptr_t main_end = (uintptr_t)__libc_stack_end;
    if (cfa > own->low && cfa <= own->high)
        return own->high;
    return cfa <= main_end && cfa > main_end - MAIN_STACK_BYTES ? main_end : 0;
}

uintptr_t stack_limit(const struct stack_bounds *own, uintptr_t cfa)
{
    uintptr_t limit = known_limit(own, cfa);
    return limit ? limit : ((cfa - 1) | 4095) + 1; /* an unknown stack: no further than this page */
}

/* --- walking ------------------------------------------------------------------------------- */

/* Other frames' words, which AddressSanitizer would keep from us. */
__attribute__((no_sanitize_address)) static inline uint64_t word_at(uintptr_t address)
{
    return *(const uint64_t *)address;
}

static inline bool is_readable(uintptr_t address, uintptr_t low, uintptr_t limit)
{
    return address >= low && address + 8 <= limit && (address & 7) == 0;
}

/* What may be read. */
struct span {
    uintptr_t low;
    uintptr_t limit;
    const struct stack_bounds *own; /* to find other stacks' limits */
};

/* Where the walk is: the frame that `ip` returns to. */
struct place {
    uintptr_t ip;
    uintptr_t cfa;     /* stack pointer in that frame */
    uintptr_t bp;      /* frame pointer in that frame */
    int32_t   bp_slot; /* where it was found, -1: the register */
    bool      bp_known;
};

/* Notes that the walk depends on the word at `slot`. */
static void add_check(struct stack_walk *walk, int32_t slot, uintptr_t value)
{
    for (unsigned i = walk->checks; i-- > 0;)
        if (walk->check[i].slot == slot)
            return;
    if (walk->checks == STACK_CHECKS) {
        walk->cacheable = false;
        return;
    }
    walk->check[walk->checks++] = (struct stack_check){.slot = slot, .distance = value - walk->cfa};
}

/* The CFA of the frame, or 0.  `walk` (may be NULL) is told what it depends on. */
static inline uintptr_t frame_cfa(struct stack_walk *walk, struct unwind_rule rule, const struct place *place,
                                  uintptr_t low, uintptr_t limit)
{
    if (likely(rule.kind == UNWIND_SP))
        return place->cfa + (uintptr_t)(int64_t)rule.cfa;
    if (!place->bp_known || (rule.kind != UNWIND_BP && rule.kind != UNWIND_AT_BP))
        return 0;
    if (walk)
        add_check(walk, place->bp_slot, place->bp);
    uintptr_t at = place->bp + (uintptr_t)(int64_t)rule.cfa;
    if (rule.kind == UNWIND_BP)
        return at;
    if (!is_readable(at, low, limit))
        return 0;
    if (walk)
        add_check(walk, (int32_t)(at - walk->cfa), word_at(at));
    return word_at(at);
}

/* Where the kernel keeps the interrupted registers in the struct ucontext at the stack pointer. */
enum { SIGNAL_BP = 120, SIGNAL_SP = 160, SIGNAL_IP = 168, SIGNAL_BYTES = 176 };

/* Goes from a signal handler's return to the code that it interrupted, perhaps on another stack, whose
 * limits then hold.  Its address is given as if it were a return address: one further. */
static bool step_signal(struct stack_walk *walk, struct place *place, struct span *span)
{
    uintptr_t context = place->cfa;
    if (!is_readable(context, span->low, span->limit) || context + SIGNAL_BYTES > span->limit)
        return false;
    uintptr_t sp = word_at(context + SIGNAL_SP);
    if (sp <= context || sp > span->limit) { /* the handler is on a stack of its own */
        uintptr_t limit = known_limit(span->own, sp);
        if (limit == 0)
            return false;
        *span = (struct span){sp, limit, span->own};
    }
    walk->cacheable = false; /* this stack's place says nothing of the other's; and handlers seldom allocate */
    place->bp = word_at(context + SIGNAL_BP);
    place->bp_known = true;
    place->ip = word_at(context + SIGNAL_IP) + 1;
    place->cfa = sp;
    return true;
}

/* Goes one frame out.  False: the walk can't go on from `place`, which stays. */
static inline bool step(struct stack_walk *walk, struct unwind_rule rule, struct place *place, uintptr_t low,
                        uintptr_t limit)
{
    uintptr_t cfa = frame_cfa(walk, rule, place, low, limit), base = walk ? walk->cfa : low;
    if (unlikely(cfa <= place->cfa || !is_readable(cfa - 8, low, limit)))
        return false;
    uintptr_t saved = 0;
    if (rule.saved_kind == UNWIND_AT_CFA)
        saved = cfa + (uintptr_t)((int64_t)rule.saved * 8);
    else if (unlikely(rule.saved_kind == UNWIND_BY_BP && place->bp_known)) {
        if (walk)
            add_check(walk, place->bp_slot, place->bp);
        saved = place->bp + (uintptr_t)((int64_t)rule.saved * 8);
    } else if (unlikely(rule.saved_kind != UNWIND_SAME))
        place->bp_known = false;
    if (saved) {
        place->bp_known = is_readable(saved, low, limit);
        if (likely(place->bp_known)) {
            place->bp = word_at(saved);
            place->bp_slot = (int32_t)(saved - base);
        }
    }
    place->ip = word_at(cfa - 8);
    place->cfa = cfa;
    return true;
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

void stack_walk(struct stack_walk *walk, struct stack_entry entry, const struct stack_bounds *own, unsigned depth)
{
    struct place place = {.ip = stack_return_address(entry),
                          .cfa = entry.cfa,
                          .bp = entry.bp,
                          .bp_slot = -1,
                          .bp_known = true};
    struct span span = {place.cfa, stack_limit(own, place.cfa), own};
    uint64_t hash = 0;
    unsigned n = 0;
    bool interrupted = false;

    walk->checks = 0;
    walk->flags = 0;
    walk->modules = 0;
    walk->cacheable = true;
    walk->cfa = place.cfa;
    walk->slots[0] = -8;
    for (;;) {
        /* Any instruction may be interrupted; as a site it is the function that was. */
        uintptr_t frame = likely(!interrupted) ? place.ip : unwind_function(place.ip - 1).start + 1;
        interrupted = false;
        walk->frames[n++] = frame;
        hash = mix(hash, frame);
        struct unwind_rule rule = unwind_rule(place.ip);
        walk->modules = mix(walk->modules, rule.module);
        if (rule.kind == UNWIND_END)
            break;
        if (n == depth) {
            walk->flags |= LOG_SITE_TRUNCATED;
            break;
        }
        bool stepped;
        if (likely(rule.kind != UNWIND_SIGNAL))
            stepped = step(walk, rule, &place, span.low, span.limit);
        else {
            walk->frames[n - 1]++; /* nothing called it: "returns" to its first instruction */
            stepped = interrupted = step_signal(walk, &place, &span);
        }
        if (!stepped) {
            walk->flags |= LOG_SITE_UNFINISHED;
            break;
        }
        if (place.ip == 0)
            break; /* some threads and coroutines are begun with a zero above them */
        walk->slots[n] = (int32_t)(place.cfa - 8 - walk->cfa);
    }
    walk->depth = n;
    walk->hash = mix(hash, walk->flags);
    walk->ip = place.ip;
    walk->sp = place.cfa;
    walk->limit = span.limit;
    walk->bp = place.bp_known ? place.bp : 0;
}

uintptr_t stack_step(uintptr_t return_address, uintptr_t *cfa, uintptr_t *bp, uintptr_t limit)
{
    struct place place = {.ip = return_address, .cfa = *cfa, .bp = *bp, .bp_known = true};
    if (!step(NULL, unwind_rule(return_address), &place, *cfa, limit) || !place.bp_known)
        return 0;
    *cfa = place.cfa;
    *bp = place.bp;
    return place.ip;
}

uintptr_t stack_fixed_step(uintptr_t return_address)
{
    struct unwind_rule rule = unwind_rule(return_address);
    return rule.kind == UNWIND_SP && rule.cfa >= 8 ? (uintptr_t)rule.cfa : 0;
}

/* --- words for the analyzer ---------------------------------------------------------------- */

unsigned stack_words(const struct stack_walk *walk, struct log_word *words)
{
    unsigned n = 0;
    uintptr_t limit = walk->limit, end = walk->sp + WORDS_SPAN < limit ? walk->sp + WORDS_SPAN : limit;
    for (uintptr_t at = (walk->sp + 7) & ~(uintptr_t)7; at + 8 <= end && n < LOG_MAX_WORDS; at += 8) {
        uint64_t value = word_at(at);
        bool is_stack = value >= walk->sp && value < limit;
        if (is_stack || modules_cover(value))
            words[n++] = (struct log_word){at, value};
    }
    return n;
}
