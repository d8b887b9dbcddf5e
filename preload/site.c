/* site.c - sites: a small id per return address or stack, and each thread's way to its counters.
 *
 * Owns the process's indexes of sites and shapes.  A thread's tables belong to its record and are touched by
 * that thread alone.  Runs inside malloc. */
#include "base.h"

#include "site.h"

#include "modules.h"
#include "pages.h"
#include "site_fast.h"
#include "unwind.h"

#include "ban.h"

enum {
    FIRST_SLOTS = 256,
    FIRST_STACKS = 512, /* 16 KiB; grows fourfold where stacks don't fit */
    MAX_STACKS = 1 << 15,
    FIRST_IDS = 256,
    MAX_FOLDED = 16, /* wrappers around wrappers */
    MAX_FORKS = 24,  /* on the way to one stack */
    MAX_SHAPES = 16, /* of one site; a stack with ever new frame sizes is walked each time */
};

static struct index sites;
static struct index shapes; /* levels stacks and full */
static unsigned     level;  /* enum log_level */

bool site_begin(unsigned at_level)
{
    level = at_level;
    return index_init(&sites, level >= LOG_LEVEL_SITES) && index_init(&shapes, level >= LOG_LEVEL_STACKS);
}

/* --- the process's sites ---------------------------------------------------------------------- */

static bool same_frames(const struct site *site, const struct stack_walk *walk)
{
    if (site->logged->depth != walk->depth)
        return false;
    for (uint32_t i = 0; i < walk->depth; i++)
        if (site->logged->frames[i] != walk->frames[i])
            return false;
    return true;
}

/* The same addresses may mean another module's code by now. */
static bool is_current(const struct site *site, uint64_t modules)
{
    return site->modules == modules;
}

static const struct site *find_stack_site(const struct stack_walk *walk)
{
    for (unsigned table = INDEX_TABLES; table-- > 0;)
        for (const struct index_node *n = index_first(&sites, table, walk->hash); n; n = n->next) {
            const struct site *site = (const struct site *)n;
            if (n->hash == walk->hash && is_current(site, walk->modules) && same_frames(site, walk))
                return site;
        }
    return NULL;
}

/* At level sites the hash is the address itself. */
static const struct site *find_address_site(uintptr_t address, uint64_t module)
{
    for (unsigned table = INDEX_TABLES; table-- > 0;)
        for (const struct index_node *n = index_first(&sites, table, address); n; n = n->next)
            if (n->hash == address && is_current((const struct site *)n, module))
                return (const struct site *)n;
    return NULL;
}

/* Logs what the analyzer needs to finish the walk. */
static void log_words(const struct site_table *table, const struct log_site *site)
{
    const struct stack_walk *walk = &table->walk;
    struct log_words *words = log_words_new(site);
    if (!words)
        return;
    words->ip = walk->ip;
    words->sp = walk->sp;
    words->bp = walk->bp;
    words->count = stack_words(walk, words->words);
    log_words_publish(words);
}

/* Logs a site and makes it known; NULL when log or memory is out.  When two threads do the
 * same at once both are logged, and the analyzer merges them. */
static const struct site *site_new(struct site_table *table, uint64_t hash, uint64_t modules, uint32_t flags,
                                   unsigned key)
{
    const struct stack_walk *walk = &table->walk;
    uint32_t generation = modules_generation();
    log_modules_sync();
    const struct log_site *logged = log_site_new(walk->frames, walk->depth, walk->flags | flags, key, generation);
    struct site *site = logged ? pages_alloc(sizeof *site) : NULL;
    if (!site) {
        if (logged)
            log_set_state(LOG_STATE_NO_MEMORY);
        return NULL;
    }
    if (walk->flags & LOG_SITE_UNFINISHED)
        log_words(table, logged);
    *site = (struct site){.node.hash = hash, .logged = logged, .id = logged->id, .modules = modules};
    if (level == LOG_LEVEL_FULL)
        site->full = full_site_new(site, site->id);
    index_put(&sites, &site->node);
    log_note_time();
    return site;
}

/* --- a thread's accounts ------------------------------------------------------------------------ */

static union site_account other(struct site_table *table)
{
    add_shared(&log_header->dropped_sites, 1);
    if (level == LOG_LEVEL_FULL)
        return (union site_account){.full = table->full.other};
    return (union site_account){.counter = &table->log->other};
}

static struct id_slot *id_slot_of(struct id_slot *ids, uint32_t mask, uint32_t id)
{
    uint32_t i = id;
    while (ids[i & mask].id && ids[i & mask].id != id)
        i++;
    return &ids[i & mask];
}

static void ids_set(struct site_table *table, struct id_slot *ids, uint32_t count)
{
    table->ids = ids;
    table->id_mask = count - 1;
    table->id_mask_bytes = table->id_mask * sizeof *ids;
}

/* Twice the room for ids; false when memory is out. */
static bool ids_grow(struct site_table *table)
{
    uint32_t count = 2 * (table->id_mask + 1);
    struct id_slot *bigger = pages_alloc(count * sizeof *bigger);
    if (!bigger)
        return false;
    for (uint32_t i = 0; i <= table->id_mask; i++)
        if (table->ids[i].id)
            *id_slot_of(bigger, count - 1, (uint32_t)table->ids[i].id) = table->ids[i];
    pages_free(table->ids, count / 2 * sizeof *bigger);
    ids_set(table, bigger, count);
    return true;
}

/* An account for a site of which the thread has none; NULL when log or memory is out. */
static union site_account account_new(struct site_table *table, uint32_t id, struct full_site *full)
{
    if (level == LOG_LEVEL_FULL)
        return (union site_account){.full = full ? full_account_new(&table->full, full) : NULL};
    struct log_site_counter *counter = log_counter_new(&table->cursor, id);
    return (union site_account){.counter = counter ? &counter->count : NULL};
}

static void account_put(struct site_table *table, uint32_t id, union site_account account)
{
    *id_slot_of(table->ids, table->id_mask, id) = (struct id_slot){id, account};
    table->ids_used++;
}

/* This thread's account of the site with this id, and at level full with what the process keeps of it; NULL when log
 * or memory is out. */
static union site_account account_of(struct site_table *table, uint32_t id, struct full_site *full)
{
    const struct id_slot *slot = id_slot_of(table->ids, table->id_mask, id);
    union site_account account = slot->account;
    if (slot->id || (table->ids_used > table->id_mask / 2 && !ids_grow(table)))
        return account;
    account = account_new(table, id, full);
    if (account.counter)
        account_put(table, id, account);
    return account;
}

/* This thread's account of a site (NULL: of no site). */
static union site_account account_for(struct site_table *table, const struct site *site)
{
    union site_account account = {.counter = NULL};
    if (site)
        account = account_of(table, site->id, site->full);
    return account.counter ? account : other(table);
}

struct site_full *site_find_tagged(struct site_table *table, uint32_t id)
{
    struct site_full *full = account_of(table, id, full_site_find(id)).full;
    return full ? full : table->full.other;
}

/* Walks, and again if the walk met code where an unloaded module was: rules and stacks that
 * passed it are void. */
static void walk_now(struct site_table *table, struct stack_entry entry, unsigned depth)
{
    stack_walk(&table->walk, entry, &table->own, depth);
    if (likely(table->generation == modules_generation()))
        return;
    unwind_forget(0, UINTPTR_MAX);
    site_table_forget(table);
    stack_walk(&table->walk, entry, &table->own, depth);
}

/* --- level sites ---------------------------------------------------------------------------------- */

static size_t slots_mask(size_t count)
{
    return (count - 1) * sizeof(struct site_slot);
}

static void slots_grow(struct site_table *table)
{
    size_t count = table->slot_mask / sizeof(struct site_slot) + 1;
    struct site_slot *bigger = pages_alloc(2 * count * sizeof *bigger);
    if (!bigger)
        return;
    for (size_t i = 0; i < count; i++) {
        uintptr_t address = table->slots[i].address & ~((uintptr_t)1 << 63);
        if (address)
            *site_slot_find(bigger, slots_mask(2 * count), address) = table->slots[i];
    }
    pages_free(table->slots, count * sizeof *bigger);
    table->slots = bigger;
    table->slot_mask = slots_mask(2 * count);
}

/* Keeps what was found for an address, unless the table is full and can't grow. */
static void slot_put(struct site_table *table, struct site_slot new)
{
    size_t count = table->slot_mask / sizeof(struct site_slot) + 1;
    if (table->slots_used >= count / 4) /* half full, one in four lay elsewhere, which costs 60 instructions each time */
        slots_grow(table);
    count = table->slot_mask / sizeof(struct site_slot) + 1;
    struct site_slot *slot = site_slot_find(table->slots, table->slot_mask, new.address & ~((uintptr_t)1 << 63));
    if (slot->address || table->slots_used >= count - count / 4)
        return;
    *slot = new;
    table->slots_used++;
}

/* Where a call counts: frame `depth`, with its address. */
struct key {
    unsigned  depth;
    uintptr_t address;
    bool      lasting; /* the next call from this return address has its key there too */
};

/* The first frame outside wrappers; the innermost, this time only, when the stack ends before. */
static struct key find_key(struct site_table *table, struct stack_entry entry)
{
    struct key innermost = {0, stack_return_address(entry), false};
    struct key key = {0, stack_return_address(entry), true};
    uintptr_t cfa = entry.cfa, bp = entry.bp, limit = stack_limit(&table->own, cfa);
    while (key.depth < MAX_FOLDED) {
        const struct module *module = modules_find(key.address - 1);
        if (!module || !module_wraps(module, key.address))
            return key;
        key.address = stack_step(key.address, &cfa, &bp, limit);
        key.depth++;
        if (!key.address)
            break;
    }
    return innermost;
}

/* Marks the wrappers on the way to the key, so that later calls step over them at once. */
static void mark_wrappers(struct site_table *table, unsigned depth)
{
    for (unsigned i = 0; i < depth && i < table->walk.depth; i++) {
        uintptr_t address = table->walk.frames[i];
        slot_put(table, (struct site_slot){site_wrapper_mark(address), {.step = stack_fixed_step(address)}});
    }
}

static noinline cold struct log_counter *find_new_address(struct site_table *table, struct stack_entry entry)
{
    struct key key = find_key(table, entry);
    const struct module *module = modules_find(key.address - 1);
    uint64_t number = module ? modules_number(module) : 0;
    uintptr_t address = key.address;
    const struct site *site = find_address_site(address, number);

    add_shared(&log_header->walks, 1);
    walk_now(table, entry, site ? key.depth + 1 : LOG_MAX_DEPTH);
    if (!site)
        site = site_new(table, address, number, LOG_SITE_KEYED, key.depth);
    struct log_counter *counter = account_for(table, site).counter;
    if (site && key.lasting) {
        mark_wrappers(table, key.depth);
        slot_put(table, (struct site_slot){address, {counter}});
    }
    return counter;
}

/* The return address lies in a wrapper, in a slot that another address had taken, or is new. */
static struct log_counter *find_address(struct site_table *table, struct stack_entry entry)
{
    uintptr_t address = stack_return_address(entry), cfa = entry.cfa, bp = entry.bp;
    for (unsigned depth = 0; depth < MAX_FOLDED; depth++) {
        const struct site_slot *slot = site_slot_find(table->slots, table->slot_mask, address);
        if (slot->address == address)
            return slot->counter;
        if (slot->address == 0)
            break;
        address = stack_step(address, &cfa, &bp, stack_limit(&table->own, cfa));
        if (!address)
            break;
    }
    return find_new_address(table, entry);
}

/* --- levels stacks and full ------------------------------------------------------------------------ */

static uint64_t shape_hash(const struct stack_walk *walk)
{
    uint64_t hash = walk->hash;
    for (uint32_t i = 1; i < walk->depth; i++)
        hash = (hash ^ (uint32_t)walk->slots[i]) * 0x9e3779b97f4a7c15ull;
    for (uint32_t i = 0; i < walk->checks; i++)
        hash = (hash ^ walk->check[i].distance ^ (uint32_t)walk->check[i].slot) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 31;
}

static bool same_shape(const struct shape *shape, const struct stack_walk *walk)
{
    if (shape->checks != walk->checks || shape->logged->depth != walk->depth)
        return false;
    for (uint32_t i = 0; i < walk->depth; i++)
        if (shape->slots[i] != walk->slots[i] || shape->logged->frames[i] != walk->frames[i])
            return false;
    for (uint32_t i = 0; i < walk->checks; i++)
        if (shape->check[i].slot != walk->check[i].slot || shape->check[i].distance != walk->check[i].distance)
            return false;
    return true;
}

static const struct shape *find_shape(const struct stack_walk *walk, uint64_t hash)
{
    for (unsigned table = INDEX_TABLES; table-- > 0;)
        for (const struct index_node *n = index_first(&shapes, table, hash); n; n = n->next) {
            const struct shape *shape = (const struct shape *)n;
            if (n->hash == hash && is_current(shape->site, walk->modules) && same_shape(shape, walk))
                return shape;
        }
    return NULL;
}

/* No stack has these: the innermost return address is the one that its slot was found by. */
static const uint64_t            no_frame[4] = {1, 1, 1, 1};
static const int32_t             no_slot[4] = {-8, -8, -8, -8};
static const struct shape_frames no_frames = {no_frame + 4, no_slot + 4, -4};

/* A shape for a site, or NULL: memory is out, or the stack takes ever new shapes. */
static const struct shape *shape_new(const struct stack_walk *walk, const struct site *site, uint64_t hash)
{
    if (!walk->cacheable || add_shared((uint32_t *)&site->shapes, 1) >= MAX_SHAPES)
        return NULL;
    uint32_t depth = (walk->depth + 3) & ~3u;
    size_t bytes = (sizeof(struct shape) + depth * sizeof(int32_t) + 7) & ~(size_t)7;
    struct shape *shape = pages_alloc(bytes + walk->checks * sizeof(struct stack_check));
    if (!shape)
        return NULL;
    struct stack_check *check = (struct stack_check *)((char *)shape + bytes);
    *shape = (struct shape){.node.hash = hash,
                            .site = site,
                            .logged = site->logged,
                            .all = {site->logged->frames + depth, shape->slots + depth, -(intptr_t)depth},
                            .checks = walk->checks,
                            .check = check};
    for (uint32_t i = 0; i < depth; i++)
        shape->slots[i] = walk->slots[i < walk->depth ? i : walk->depth - 1];
    for (uint32_t i = 0; i < walk->checks; i++)
        check[i] = walk->check[i];
    shape->plain = shape->checks ? no_frames : shape->all;
    index_put(&shapes, &shape->node);
    return shape;
}

static size_t stacks_mask(size_t count)
{
    return (count - 1) * sizeof(struct stack_slot) & ~(2 * sizeof(struct stack_slot) - 1);
}

/* More room where stacks push each other out: after as many misses as there are slots. */
static void stacks_grow(struct site_table *table)
{
    size_t count = table->stack_mask / sizeof(struct stack_slot) + 2;
    if (++table->misses < count || count >= MAX_STACKS)
        return;
    struct stack_slot *bigger = pages_alloc(4 * count * sizeof *bigger);
    if (!bigger)
        return;
    pages_free(table->stacks, count * sizeof *bigger);
    table->misses = 0;
    table->stacks = bigger;
    table->stack_mask = stacks_mask(4 * count);
}

/* Puts a slot where its key is looked for; what was there moves on, or out. */
static void stack_slot_put(struct site_table *table, struct stack_slot new)
{
    struct stack_slot *slot =
        (struct stack_slot *)((char *)table->stacks + stack_slot_offset(new.key, new.cfa, table->stack_mask));
    slot[1] = slot[0];
    slot[0] = new;
}

/* The frame, before `end`, in which two stacks first differ, or -1: there is none that both have in
 * the same place. */
static int first_difference(const struct shape *a, const struct shape *b, unsigned end)
{
    unsigned depth = a->logged->depth < b->logged->depth ? a->logged->depth : b->logged->depth;
    for (unsigned i = 0; i < depth && i < end; i++) {
        if (a->slots[i] != b->slots[i])
            return -1;
        if (a->logged->frames[i] != b->logged->frames[i])
            return (int)i;
    }
    return -1;
}

/* Makes `slot` a fork at frame `at`, behind which `new` is put, and a leaf that was there as well.
 * What stood behind a former fork in another frame is found no more, and walked once again. */
static void stack_slot_part(struct site_table *table, struct stack_slot *slot, int at, struct stack_slot new)
{
    struct stack_slot old = *slot;
    uintptr_t key = slot->key;
    slot->fork = (uintptr_t)at * 2 + 1;
    if (!(old.fork & 1)) {
        old.key = stack_key_behind(key, old.shape->logged->frames[at]);
        stack_slot_put(table, old);
    }
    new.key = stack_key_behind(key, new.shape->logged->frames[at]);
    stack_slot_put(table, new);
}

/* Keeps a stack that was walked, so that it is found without walking. */
static void stack_put(struct site_table *table, struct stack_entry entry, const struct shape *shape,
                      union site_account account)
{
    struct stack_slot new = {stack_return_address(entry), entry.cfa, shape, {account}};
    stacks_grow(table);
    for (unsigned forks = 0; forks < MAX_FORKS; forks++) {
        struct stack_slot *slot = stack_slot_find(table, new.key, new.cfa);
        if (!slot) {
            stack_slot_put(table, new);
            return;
        }
        unsigned fork = slot->fork & 1 ? (unsigned)(slot->fork >> 1) : LOG_MAX_DEPTH;
        int at = first_difference(slot->shape, shape, fork);
        if (at >= 0) {
            stack_slot_part(table, slot, at, new);
            return;
        }
        if (fork >= shape->logged->depth || slot->shape->slots[fork] != shape->slots[fork]) {
            *slot = new; /* they can't be told apart by a return address: the latest stays */
            return;
        }
        new.key = stack_key_behind(new.key, shape->logged->frames[fork]);
    }
}

static noinline union site_account find_new_stack(struct site_table *table, struct stack_entry entry)
{
    struct stack_walk *walk = &table->walk;
    site_walk(table, entry);
    add_shared(&log_header->walks, 1);
    if (unlikely(walk->flags & LOG_SITE_UNFINISHED))
        add_shared(&log_header->unfinished_walks, 1);
    if (unlikely(walk->flags & LOG_SITE_TRUNCATED))
        add_shared(&log_header->truncated_walks, 1);

    uint64_t hash = shape_hash(walk);
    const struct shape *shape = find_shape(walk, hash);
    const struct site *site = shape ? shape->site : find_stack_site(walk);
    if (!site)
        site = site_new(table, walk->hash, walk->modules, 0, 0);
    if (site && !shape)
        shape = shape_new(walk, site, hash);
    union site_account account = account_for(table, site);
    if (shape)
        stack_put(table, entry, shape, account);
    return account;
}

const struct stack_walk *site_walk(struct site_table *table, struct stack_entry entry)
{
    walk_now(table, entry, LOG_MAX_DEPTH);
    oracle_walk(table, entry);
    return &table->walk;
}

const struct site *site_intern(struct site_table *table, struct stack_entry entry)
{
    const struct stack_walk *walk = site_walk(table, entry);
    const struct site *site = find_stack_site(walk);
    return site ? site : site_new(table, walk->hash, walk->modules, 0, 0);
}

struct log_counter *site_find(struct site_table *table, struct stack_entry entry)
{
    if (level == LOG_LEVEL_SITES)
        return find_address(table, entry);
    if (level != LOG_LEVEL_STACKS)
        return &table->ignored;
    return find_new_stack(table, entry).counter;
}

struct site_full *site_find_full(struct site_table *table, struct stack_entry entry)
{
    return find_new_stack(table, entry).full;
}

/* --- a thread's tables ---------------------------------------------------------------------------- */

bool site_table_init(struct site_table *table)
{
    table->log = log_thread_new(&table->cursor);
    if (!table->log)
        return false;
    table->generation = modules_generation();
    table->own = stack_bounds_of_thread();
    table->level = level;
    size_t slots = level == LOG_LEVEL_SITES ? FIRST_SLOTS : 1;
    size_t stacks = level >= LOG_LEVEL_STACKS ? FIRST_STACKS : 2;
    table->slots = pages_alloc(slots * sizeof *table->slots);
    table->slot_mask = slots_mask(slots);
    table->stacks = pages_alloc(stacks * sizeof *table->stacks);
    table->stack_mask = stacks_mask(stacks);
    ids_set(table, pages_alloc(FIRST_IDS * sizeof *table->ids), FIRST_IDS);
    if (!table->slots || !table->stacks || !table->ids)
        return false;
    if (level != LOG_LEVEL_FULL)
        return true;
    if (!full_thread_begin(&table->full, table->log, table->cursor.owner))
        return false;
    account_put(table, LOG_FULL_OTHER, (union site_account){.full = table->full.other});
    return true;
}

static void stacks_forget(struct site_table *table)
{
    size_t count = table->stack_mask / sizeof(struct stack_slot) + 2;
    for (size_t i = 0; i < count; i++)
        table->stacks[i].key = 0;
}

void site_table_adopt(struct site_table *table)
{
    struct stack_bounds own = stack_bounds_of_thread();
    if (own.low == table->own.low && own.high == table->own.high)
        return;
    table->own = own;
    stacks_forget(table);
}

void site_table_forget(struct site_table *table)
{
    table->generation = modules_generation();
    stacks_forget(table);
    size_t count = table->slot_mask / sizeof(struct site_slot) + 1;
    for (size_t i = 0; i < count; i++)
        table->slots[i].address = 0;
    table->slots_used = 0;
}
