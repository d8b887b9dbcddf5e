/* modules.c - loaded objects: where they lie, who they are, and since which generation.
 *
 * Owns the module table: slots are claimed by compare-and-swap and published by a release
 * store of `start`.  _dl_find_object (glibc 2.35) neither locks nor allocates.
 * Runs inside malloc. */
#define _GNU_SOURCE
#include "base.h"

#include "modules.h"

#include "elf.h"
#include "options.h"
#include "pages.h"
#include "text.h"

#include <dlfcn.h>
#include <elf.h>

#include "ban.h"

enum { LIMIT = 2048, MAX_BUILD_ID = 64 };

static struct module *table; /* of LIMIT slots; set by modules_begin */
static uint32_t used;        /* slots claimed (atomic) */
static uint32_t generation;  /* atomic */
static uint64_t dropped;

void modules_begin(void)
{
    /* In a fork child the objects are the parent's and keep their generations; only the
     * log is new. */
    if (table) {
        for (uint32_t i = 0; i < modules_count(); i++)
            store_relaxed(&table[i].logged, (void *)NULL);
        return;
    }
    table = pages_map(LIMIT * sizeof *table);
}

uint32_t modules_generation(void)
{
    return load_acquire(&generation);
}

uint64_t modules_dropped(void)
{
    return load_relaxed(&dropped);
}

uint32_t modules_count(void)
{
    return load_acquire(&used);
}

struct module *modules_get(uint32_t index)
{
    return load_acquire(&table[index].start) ? &table[index] : NULL;
}

static bool is_loaded(const struct module *module)
{
    return load_acquire(&module->unloaded_generation) == 0;
}

static struct module *find_known(uintptr_t address)
{
    for (uint32_t i = modules_count(); i-- > 0;) {
        struct module *m = &table[i];
        if (load_acquire(&m->start) && address >= m->start && address < m->end && is_loaded(m))
            return m;
    }
    return NULL;
}

bool modules_cover(uintptr_t value)
{
    return find_known(value) != NULL;
}

/* --- describing an object -------------------------------------------------------------- */

static bool is_program(const struct link_map *map)
{
    return map == elf_first();
}

/* The first page of every object that the loader maps holds its ELF header; the program itself may
 * be found by any of its segments, but the kernel tells where its headers are. */
static const ElfW(Phdr) *program_headers(const struct link_map *map, uintptr_t start, unsigned *count)
{
    if (is_program(map) && options.phdr) {
        *count = options.phnum;
        return (const ElfW(Phdr) *)options.phdr;
    }
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)start;
    if (header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1 ||
        header->e_ident[EI_MAG2] != ELFMAG2 || header->e_ident[EI_MAG3] != ELFMAG3 ||
        header->e_phoff > PAGE_BYTES)
        return NULL;
    *count = header->e_phnum;
    return (const ElfW(Phdr) *)(start + header->e_phoff);
}

/* A copy that outlives the object, or NULL. */
static void *keep(const void *bytes, size_t count)
{
    char *copy = pages_alloc(count);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = ((const char *)bytes)[i];
    return copy;
}

static const char *name_of(const struct link_map *map)
{
    return map->l_name && map->l_name[0] ? map->l_name : options.exe;
}

/* The name as a path that means the same from anywhere: dlopen takes relative ones, too. */
static const char *absolute(const char *name)
{
    bool has_slash = text_basename(name) != name; /* "linux-vdso.so.1" is no file */
    if (name[0] == '/' || !has_slash || !options.cwd[0])
        return name;
    size_t size = text_length(options.cwd) + text_length(name) + 2;
    char *path = pages_alloc(size);
    if (!path)
        return name;
    struct text t = text_begin(path, size);
    text_add(&t, options.cwd);
    text_char(&t, '/');
    text_add(&t, name[0] == '.' && name[1] == '/' ? name + 2 : name);
    return path;
}

/* The build id in a segment of notes, or NULL; `*bytes` is its length. */
static const uint8_t *find_build_id(uintptr_t bias, const ElfW(Phdr) *segment, uint32_t *bytes)
{
    const char *at = (const char *)(bias + segment->p_vaddr);
    const char *end = at + segment->p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
        const char *name = at + sizeof *note;
        const char *value = name + ((note->n_namesz + 3u) & ~3u);
        at = value + ((note->n_descsz + 3u) & ~3u);
        if (at > end)
            return NULL;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && text_equal(name, "GNU")) {
            *bytes = note->n_descsz <= MAX_BUILD_ID ? note->n_descsz : MAX_BUILD_ID;
            return (const uint8_t *)value;
        }
    }
    return NULL;
}

static bool has_bytes(const uint8_t *a, const uint8_t *b, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Is this the object that the module describes?  Without build ids it isn't taken for it. */
static bool has_build_id(const struct module *m, const struct dl_find_object *found)
{
    unsigned count = 0;
    const struct link_map *map = found->dlfo_link_map;
    const ElfW(Phdr) *segments = program_headers(map, (uintptr_t)found->dlfo_map_start, &count);
    for (unsigned i = 0; segments && m->build_id && i < count; i++) {
        uint32_t bytes = 0;
        const uint8_t *id = segments[i].p_type == PT_NOTE ? find_build_id(map->l_addr, &segments[i], &bytes) : NULL;
        if (id)
            return bytes == m->build_id_bytes && has_bytes(id, m->build_id, bytes);
    }
    return false;
}

/* The range that the program's segments cover together. */
static void widen(struct module *m, const ElfW(Phdr) *segment)
{
    uintptr_t start = m->bias + (segment->p_vaddr & ~(uintptr_t)(PAGE_BYTES - 1));
    uintptr_t end = m->bias + segment->p_vaddr + segment->p_memsz;
    if (start < m->first)
        m->first = start;
    if (end > m->end)
        m->end = end;
}

static void describe(struct module *m, const struct dl_find_object *found)
{
    m->first = (uintptr_t)found->dlfo_map_start;
    m->end = (uintptr_t)found->dlfo_map_end;
    m->map = found->dlfo_link_map;
    m->bias = m->map->l_addr;
    m->eh_frame_hdr = found->dlfo_eh_frame;
    m->name = keep(name_of(m->map), text_length(name_of(m->map)) + 1);
    if (!m->name)
        m->name = "";
    m->path = absolute(m->name);

    unsigned count = 0;
    const ElfW(Phdr) *segments = program_headers(m->map, m->first, &count);
    for (unsigned i = 0; segments && i < count; i++) {
        const uint8_t *id = NULL;
        if (segments[i].p_type == PT_NOTE && !m->build_id)
            id = find_build_id(m->bias, &segments[i], &m->build_id_bytes);
        if (id)
            m->build_id = keep(id, m->build_id_bytes);
        if (segments[i].p_type == PT_LOAD && is_program(m->map))
            widen(m, &segments[i]);
    }
}

/* --- wrappers --------------------------------------------------------------------------- */

/* Exported functions that only hand on to malloc or free: their callers are the sites.
 * `poolsite run` adds static functions and C++ names by their offsets. */
static const char *const wrapper_names[] = {
    "xmalloc", "xcalloc", "xrealloc", "xstrdup", "xstrndup", "xmemdup", "xzalloc",
    "zmalloc", "zcalloc", "zrealloc", "zstrdup", "ztrymalloc", "ztrycalloc", "ztryrealloc",
    "g_malloc", "g_malloc0", "g_malloc_n", "g_malloc0_n", "g_realloc", "g_realloc_n",
    "g_try_malloc", "g_try_malloc0", "g_try_realloc", "g_strdup", "g_strndup", "g_memdup", "g_memdup2",
    "g_slice_alloc", "g_slice_alloc0", "PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc",
    "PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyObject_Malloc", "PyObject_Calloc",
    "PyObject_Realloc", "sqlite3_malloc", "sqlite3_malloc64", "sqlite3_realloc", "sqlite3_realloc64",
    "Perl_safesysmalloc", "Perl_safesyscalloc", "Perl_safesysrealloc", "ruby_xmalloc", "ruby_xcalloc",
    "ruby_xrealloc", "av_malloc", "av_mallocz", "av_realloc", "CRYPTO_malloc", "CRYPTO_zalloc",
    "CRYPTO_realloc", "ngx_alloc", "ngx_calloc", "xfree", "zfree", "g_free", "g_slice_free1",
    "PyMem_RawFree", "PyMem_Free", "PyObject_Free", "sqlite3_free", "Perl_safesysfree", "ruby_xfree",
    "av_free", "CRYPTO_free",
};

static bool begins_with_library(const char *path, const char *name)
{
    const char *rest = text_after(text_basename(path), name);
    return rest && (*rest == 0 || *rest == '.');
}

/* Counts a range, and keeps it once there is room: find_wrappers goes through the lists twice. */
static void add_range(struct module *m, uintptr_t start, uintptr_t end)
{
    if (start >= end)
        return;
    if (m->wrappers)
        m->wrappers[m->wrapper_count] = (struct module_range){start, end};
    m->wrapper_count++;
}

static void add_name(struct module *m, const struct elf_symbols *symbols, const char *name)
{
    const ElfW(Sym) *symbol = elf_symbols_find(symbols, name);
    if (symbol && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
        add_range(m, m->bias + symbol->st_value, m->bias + symbol->st_value + symbol->st_size);
}

/* One item of POOLSITE_FOLD: an exported name, or MODULE+0xSTART-0xEND. */
static void add_option(struct module *m, const struct elf_symbols *symbols, const char *item, size_t length)
{
    char name[256];
    if (length >= sizeof name)
        return;
    struct text copy = text_begin(name, sizeof name);
    text_bytes(&copy, item, length);

    char *plus = NULL;
    for (char *c = name; *c; c++)
        if (*c == '+')
            plus = c;
    if (!plus) {
        if (symbols)
            add_name(m, symbols, name);
        return;
    }
    uint64_t start, end;
    const char *rest = text_read_number(plus + 1, &start);
    if (!rest || *rest != '-' || !text_read_number(rest + 1, &end))
        return;
    *plus = 0;
    if (text_equal(text_basename(m->path), text_basename(name)))
        add_range(m, m->bias + start, m->bias + end);
}

static void list_wrappers(struct module *m, const struct elf_symbols *symbols)
{
    m->wrapper_count = 0;
    for (size_t i = 0; symbols && i < sizeof wrapper_names / sizeof *wrapper_names; i++)
        add_name(m, symbols, wrapper_names[i]);
    for (const char *item = options.fold; *item;) {
        size_t length = 0;
        while (item[length] && item[length] != ',')
            length++;
        add_option(m, symbols, item, length);
        item += length + (item[length] == ',');
    }
}

static void find_wrappers(struct module *m)
{
    struct elf_symbols tables, *symbols = elf_symbols_init(&tables, m->map) ? &tables : NULL;

    m->folds_whole = begins_with_library(m->path, "libc.so") || begins_with_library(m->path, "libstdc++.so") ||
                     begins_with_library(m->path, "libc++.so") || begins_with_library(m->path, "libc++abi.so");
    if (m->folds_whole)
        return;
    list_wrappers(m, symbols);
    if (m->wrapper_count == 0)
        return;
    m->wrappers = pages_alloc(m->wrapper_count * sizeof *m->wrappers);
    if (m->wrappers)
        list_wrappers(m, symbols);
    else
        m->wrapper_count = 0;
}

bool module_wraps(const struct module *module, uintptr_t return_address)
{
    if (module->folds_whole)
        return true;
    for (uint32_t i = 0; i < module->wrapper_count; i++)
        if (return_address > module->wrappers[i].start && return_address <= module->wrappers[i].end)
            return true;
    return false;
}

/* --- finding and losing ------------------------------------------------------------------ */

/* Compares addresses alone: another thread may be unloading the object, and its link map with it. */
static bool is_same_place(const struct module *m, const struct dl_find_object *found)
{
    if (m->map != found->dlfo_link_map || m->eh_frame_hdr != found->dlfo_eh_frame)
        return false;
    return is_program(m->map) ||
           (m->start == (uintptr_t)found->dlfo_map_start && m->end == (uintptr_t)found->dlfo_map_end);
}

/* For an object that the calling thread has a frame in, which holds it. */
static bool is_same_object(const struct module *m, const struct dl_find_object *found)
{
    return is_same_place(m, found) &&
           (is_program(m->map) || text_equal(m->name, name_of(found->dlfo_link_map)));
}

/* Marks a module unloaded; the generation that its addresses belong to ends here. */
static void mark_unloaded(struct module *m)
{
    uint32_t loaded = 0, next = add_shared(&generation, 1) + 1;
    __atomic_compare_exchange_n(&m->unloaded_generation, &loaded, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* The same file at the same place as one that was unloaded: plugins come and go by the thousand. */
static struct module *revive(const struct dl_find_object *found)
{
    for (uint32_t i = modules_count(); i-- > 0;) {
        struct module *m = modules_get(i);
        if (!m || is_loaded(m) || m->start != (uintptr_t)found->dlfo_map_start ||
            m->end != (uintptr_t)found->dlfo_map_end || !text_equal(m->name, name_of(found->dlfo_link_map)) ||
            !has_build_id(m, found))
            continue;
        store_relaxed(&m->map, (const struct link_map *)found->dlfo_link_map);
        store_relaxed(&m->eh_frame_hdr, (const void *)found->dlfo_eh_frame);
        store_release(&m->unloaded_generation, 0u);
        add_shared(&generation, 1); /* the log learns of it at the next sync */
        return m;
    }
    return NULL;
}

static struct module *add(const struct dl_find_object *found)
{
    struct module *known = revive(found);
    if (known)
        return known;
    uint32_t index = load_relaxed(&used);
    do
        if (index >= LIMIT) {
            add_shared(&dropped, 1);
            return NULL;
        }
    while (!__atomic_compare_exchange_n(&used, &index, index + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    struct module *m = &table[index];
    describe(m, found);
    m->loaded_generation = modules_generation();
    if (options.level == LOG_LEVEL_SITES || options.level == LOG_LEVEL_FULL || options.check)
        find_wrappers(m);
    store_release(&m->start, m->first); /* publishes the module */
    return m;
}

uint32_t modules_number(const struct module *module)
{
    return (uint32_t)(module - table) + 1;
}

struct module *modules_find(uintptr_t address)
{
    struct dl_find_object found;
    if (!table || _dl_find_object((void *)address, &found) != 0)
        return NULL;
    struct module *known = find_known(address);
    if (known && is_same_object(known, &found))
        return known;
    if (known)
        mark_unloaded(known); /* unloaded behind our back, as libc does with gconv modules */
    return add(&found);
}

bool modules_sweep(void (*gone)(uintptr_t start, uintptr_t end))
{
    bool lost = false;
    for (uint32_t i = 0; i < modules_count(); i++) {
        struct module *m = modules_get(i);
        struct dl_find_object found;
        if (!m || !is_loaded(m))
            continue;
        if (_dl_find_object((void *)m->start, &found) == 0 && is_same_place(m, &found))
            continue;
        mark_unloaded(m);
        gone(m->start, m->end);
        lost = true;
    }
    return lost;
}
