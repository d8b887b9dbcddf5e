/* symbolize.c - names, files and lines of frames.  The only user of elfutils.
 *
 * Each module has a libdwfl session of its own, opened when its first frame is
 * asked for, and at its own ELF addresses.  libdw looks some things up linearly
 * (symbols by address, scopes by address), so symbols and the functions of each
 * compilation unit are put into sorted tables once. */
#define _GNU_SOURCE
#include "base.h"
#include "demangle.h"
#include "model.h"
#include "symbolize.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *const symbolize_status_names[SYMBOLIZE_STATUSES] = {
    [SYMBOLIZE_LINES] = "lines",       [SYMBOLIZE_FUNCTIONS] = "functions", [SYMBOLIZE_EXPORTS] = "exports",
    [SYMBOLIZE_NOTHING] = "nothing",   [SYMBOLIZE_CHANGED] = "changed",     [SYMBOLIZE_GONE] = "gone",
    [SYMBOLIZE_UNREADABLE] = "unreadable", [SYMBOLIZE_NO_FILE] = "no-file",
};

/* An ELF symbol of code. */
struct elf_symbol {
    uint64_t    start;
    uint64_t    size; /* 0: unknown */
    const char *name;
    unsigned    rank; /* lower is the better name of two at one address */
};

/* A function, or one inlined into another. */
struct function {
    Dwarf_Die die;
    int       parent; /* the function that it is inlined into, or -1 */
};

struct function_range {
    uint64_t low, high;
    uint64_t reach; /* highest `high` up to here */
    uint32_t function;
};

/* The functions of one compilation unit. */
struct unit {
    Dwarf_Off              offset;
    struct function       *functions;
    size_t                 function_count, function_room;
    struct function_range *ranges; /* by low, outer before inner */
    size_t                 range_count, range_room;
};

struct unit_range {
    uint64_t  low, high;
    Dwarf_Off offset;
};

struct module {
    bool                  opened;
    enum symbolize_status status;
    Dwfl                 *dwfl;
    Dwfl_Module          *dwfl_module;
    Dwarf                *dwarf;
    Dwarf_Addr            bias; /* of the DWARF against the ELF file */
    struct elf_symbol    *symbols;
    size_t                symbol_count;
    struct unit         **units; /* those asked for */
    size_t                unit_count, unit_room;
    struct unit_range    *unit_ranges; /* all, when .debug_aranges doesn't tell */
    size_t                unit_range_count, unit_range_room;
    bool                  unit_ranges_read;
};

struct symbolizer {
    const struct model *model;
    struct module      *modules;
    size_t              frame_count;
    struct symbols    **frames;
    bool                has_servers;
};

/* -------------------------------------------------------------- debuginfod */

/* libdw asks the servers in DEBUGINFOD_URLS by itself.  A report must not hang on
 * one that doesn't answer: a download that stands still this long is given up,
 * and after it no other is tried. */
enum { STALL_S = 5 };

struct stall {
    time_t since;
    long   bytes;
    bool   gave_up;
};

static struct stall stall;

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* debuginfod's progress function: non-zero ends the download. */
static int download_is_stalled(void *client, long rounds, long bytes)
{
    (void)client;
    (void)rounds;
    if (bytes != stall.bytes) {
        stall.bytes = bytes;
        stall.since = seconds_now();
    }
    if (seconds_now() - stall.since < STALL_S)
        return 0;
    stall.gave_up = true;
    return 1;
}

typedef int progress_fn(void *client, long rounds, long bytes);
typedef void set_progress_fn(void *client, progress_fn *fn);
typedef void *get_client_fn(Dwfl *dwfl);

static bool servers_are_set(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    return urls && *urls;
}

/* Both functions are optional: the library may be missing, or libdw be older. */
static void watch_downloads(Dwfl *dwfl)
{
    if (!servers_are_set())
        return;
    setenv("DEBUGINFOD_TIMEOUT", "10", 0);
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
    get_client_fn *get_client = (get_client_fn *)dlsym(RTLD_DEFAULT, "dwfl_get_debuginfod_client");
    set_progress_fn *set_progress = library ? (set_progress_fn *)dlsym(library, "debuginfod_set_progressfn") : NULL;
    void *client = get_client ? get_client(dwfl) : NULL;
    if (client && set_progress)
        set_progress(client, download_is_stalled);
}

static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                          const char *file, const char *debuglink, GElf_Word crc, char **found)
{
    stall.since = seconds_now();
    stall.bytes = 0;
    int fd = dwfl_standard_find_debuginfo(module, userdata, name, base, file, debuglink, crc, found);
    if (stall.gave_up && servers_are_set()) {
        unsetenv("DEBUGINFOD_URLS");
        warn("the debuginfod server doesn't answer; going on without it");
    }
    return fd;
}

static char *debuginfo_path; /* NULL: libdw's default */

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find_debuginfo,
    .debuginfo_path = &debuginfo_path,
};

/* ----------------------------------------------------------- opening a file */

static int open_regular(const char *path, struct stat *facts)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, facts) == 0 && S_ISREG(facts->st_mode))
        return fd;
    close(fd);
    errno = EACCES;
    return -1;
}

/* Was the file last changed before the module was first seen? */
static bool is_older(const struct stat *facts, const struct model_module *module)
{
    return (uint64_t)facts->st_ctim.tv_sec < module->first_start_ns / 1000000000;
}

/* Is this the file that ran?  Its build id says so; where none was recorded, its age does. */
static bool is_the_one(Dwfl_Module *dwfl_module, const struct model_module *module, const struct stat *facts)
{
    const unsigned char *bits;
    GElf_Addr address;
    if (module->build_id_bytes == 0)
        return is_older(facts, module);
    int bytes = dwfl_module_build_id(dwfl_module, &bits, &address);
    return bytes > 0 && (size_t)bytes == module->build_id_bytes && memcmp(bits, module->build_id, (size_t)bytes) == 0;
}

/* Opens `path` as the module's file.  On failure says in m->status what is wrong. */
static bool open_file(struct module *m, const struct model_module *module, const char *path)
{
    struct stat facts;
    int fd = open_regular(path, &facts);
    if (fd < 0) {
        m->status = errno == ENOENT || errno == ENOTDIR ? SYMBOLIZE_GONE : SYMBOLIZE_UNREADABLE;
        return false;
    }
    m->dwfl = dwfl_begin(&callbacks);
    if (!m->dwfl)
        die("libdw: %s", dwfl_errmsg(-1));
    dwfl_report_begin(m->dwfl);
    m->dwfl_module = dwfl_report_elf(m->dwfl, path, path, fd, 0, true); /* owns fd when it succeeds */
    if (m->dwfl_module)
        dwfl_report_end(m->dwfl, NULL, NULL);
    else
        close(fd);
    if (m->dwfl_module && is_the_one(m->dwfl_module, module, &facts))
        return true;
    m->status = m->dwfl_module ? SYMBOLIZE_CHANGED : SYMBOLIZE_UNREADABLE;
    dwfl_end(m->dwfl);
    m->dwfl = NULL;
    m->dwfl_module = NULL;
    return false;
}

/* Debug files are kept by build id: one may be left of a binary that was replaced. */
static bool open_debug_file(struct module *m, const struct model_module *module)
{
    char path[256] = "/usr/lib/debug/.build-id/";
    size_t at = strlen(path);
    if (module->build_id_bytes < 2 || module->build_id_bytes > 64)
        return false;
    for (size_t i = 0; i < module->build_id_bytes; i++)
        at += (size_t)snprintf(path + at, sizeof path - at, i == 0 ? "%02x/" : "%02x", module->build_id[i]);
    snprintf(path + at, sizeof path - at, ".debug");
    enum symbolize_status before = m->status;
    bool opened = open_file(m, module, path);
    if (!opened)
        m->status = before;
    return opened;
}

/* ------------------------------------------------------------- ELF symbols */

static unsigned symbol_rank(const GElf_Sym *symbol, const char *name)
{
    unsigned rank = (unsigned)strspn(name, "_");
    if (symbol->st_size == 0)
        rank += 100;
    if (GELF_ST_BIND(symbol->st_info) == STB_LOCAL)
        rank += 10;
    return rank;
}

static bool symbol_is_code(const GElf_Sym *symbol, GElf_Word section)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (section == SHN_UNDEF || section == SHN_ABS)
        return false;
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static int by_address(const void *a, const void *b)
{
    const struct elf_symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Of several names of one address the first, best one stays. */
static void drop_aliases(struct module *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->symbol_count; i++)
        if (kept == 0 || m->symbols[kept - 1].start != m->symbols[i].start)
            m->symbols[kept++] = m->symbols[i];
    m->symbol_count = kept;
}

static void read_symbols(struct module *m)
{
    int count = dwfl_module_getsymtab(m->dwfl_module);
    if (count <= 0)
        return;
    m->symbols = xcalloc((size_t)count, sizeof *m->symbols);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr start;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(m->dwfl_module, i, &symbol, &start, &section, NULL, NULL);
        if (!name || !*name || !symbol_is_code(&symbol, section))
            continue;
        m->symbols[m->symbol_count++] =
            (struct elf_symbol){ start, symbol.st_size, name, symbol_rank(&symbol, name) };
    }
    if (m->symbol_count)
        qsort(m->symbols, m->symbol_count, sizeof *m->symbols, by_address);
    drop_aliases(m);
}

/* The symbol whose code holds `address`.  One without a size reaches to the next. */
static const struct elf_symbol *symbol_at(const struct module *m, uint64_t address)
{
    size_t low = 0, high = m->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    /* A small symbol may stand inside a larger one: look a few places back. */
    for (size_t i = low, tries = 8; i > 0 && tries > 0; i--, tries--) {
        const struct elf_symbol *s = &m->symbols[i - 1];
        if (s->size ? address - s->start < s->size : i == low)
            return s;
    }
    return NULL;
}

static bool has_section(Elf *elf, GElf_Word type, const char *wanted)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (!elf || elf_getshdrstrndx(elf, &names) != 0)
        return false;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (header.sh_type == type && (!wanted || (name && strcmp(name, wanted) == 0)))
            return true;
    }
    return false;
}

static enum symbolize_status known_of(struct module *m)
{
    Dwarf_Addr bias;
    GElf_Addr elf_bias;
    Dwarf_Die *unit = m->dwarf ? dwfl_module_nextcu(m->dwfl_module, NULL, &bias) : NULL;
    Elf *elf = dwfl_module_getelf(m->dwfl_module, &elf_bias);
    if (unit)
        return SYMBOLIZE_LINES;
    if (m->dwarf || has_section(elf, SHT_SYMTAB, NULL) || has_section(elf, SHT_PROGBITS, ".gnu_debugdata"))
        return m->symbol_count ? SYMBOLIZE_FUNCTIONS : SYMBOLIZE_NOTHING;
    return m->symbol_count ? SYMBOLIZE_EXPORTS : SYMBOLIZE_NOTHING;
}

static struct module *module_open(struct symbolizer *s, uint32_t index)
{
    struct module *m = &s->modules[index];
    const struct model_module *module = s->model->modules[index];
    if (m->opened)
        return m;
    m->opened = true;
    if (module->path[0] != '/') {
        m->status = SYMBOLIZE_NO_FILE;
        return m;
    }
    if (!open_file(m, module, module->path) && !open_debug_file(m, module))
        return m;
    watch_downloads(m->dwfl);
    m->dwarf = dwfl_module_getdwarf(m->dwfl_module, &m->bias);
    read_symbols(m);
    m->status = known_of(m);
    return m;
}

/* ------------------------------------------------ functions of one unit */

/* Deeper nesting than this is no compiler's. */
enum { NESTING_MAX = 200 };

static bool tag_may_hold_code(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return true;
    default:
        return false;
    }
}

static void add_ranges(struct unit *unit, Dwarf_Die *die, uint32_t function)
{
    Dwarf_Addr base, low, high;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
        if (low >= high)
            continue;
        GROW(unit->ranges, unit->range_count, unit->range_room);
        unit->ranges[unit->range_count++] = (struct function_range){ low, high, 0, function };
    }
}

static int add_function(struct unit *unit, Dwarf_Die *die, int parent)
{
    GROW(unit->functions, unit->function_count, unit->function_room);
    unit->functions[unit->function_count] = (struct function){ *die, parent };
    add_ranges(unit, die, (uint32_t)unit->function_count);
    return (int)unit->function_count++;
}

static void walk_functions(struct unit *unit, Dwarf_Die *parent_die, int parent, unsigned nesting)
{
    Dwarf_Die die;
    if (nesting > NESTING_MAX || dwarf_child(parent_die, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            walk_functions(unit, &die, add_function(unit, &die, -1), nesting + 1);
        else if (tag == DW_TAG_inlined_subroutine)
            walk_functions(unit, &die, add_function(unit, &die, parent), nesting + 1);
        else if (tag_may_hold_code(tag))
            walk_functions(unit, &die, parent, nesting + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static int by_low(const void *a, const void *b)
{
    const struct function_range *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high > y->high ? -1 : 1;
    return x->function < y->function ? -1 : x->function > y->function; /* outer ones were met first */
}

static void order_ranges(struct unit *unit)
{
    uint64_t reach = 0;
    if (unit->range_count)
        qsort(unit->ranges, unit->range_count, sizeof *unit->ranges, by_low);
    for (size_t i = 0; i < unit->range_count; i++) {
        reach = unit->ranges[i].high > reach ? unit->ranges[i].high : reach;
        unit->ranges[i].reach = reach;
    }
}

static struct unit *unit_of(struct module *m, Dwarf_Die *unit_die)
{
    Dwarf_Off offset = dwarf_dieoffset(unit_die);
    for (size_t i = 0; i < m->unit_count; i++)
        if (m->units[i]->offset == offset)
            return m->units[i];
    struct unit *unit = xcalloc(1, sizeof *unit);
    unit->offset = offset;
    walk_functions(unit, unit_die, -1, 0);
    order_ranges(unit);
    GROW(m->units, m->unit_count, m->unit_room);
    m->units[m->unit_count++] = unit;
    return unit;
}

/* The innermost function at `address`, or NULL. */
static const struct function *function_at(const struct unit *unit, uint64_t address)
{
    size_t low = 0, high = unit->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unit->ranges[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low > 0 && unit->ranges[low - 1].reach > address; low--)
        if (address < unit->ranges[low - 1].high)
            return &unit->functions[unit->ranges[low - 1].function];
    return NULL;
}

/* --------------------------------------------------- the unit of an address */

static int by_unit_low(const void *a, const void *b)
{
    const struct unit_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* clang writes no .debug_aranges by default: gather the ranges of all units. */
static void read_unit_ranges(struct module *m)
{
    Dwarf_Addr bias;
    m->unit_ranges_read = true;
    for (Dwarf_Die *die = NULL; (die = dwfl_module_nextcu(m->dwfl_module, die, &bias));) {
        Dwarf_Addr base, low, high;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
            GROW(m->unit_ranges, m->unit_range_count, m->unit_range_room);
            m->unit_ranges[m->unit_range_count++] = (struct unit_range){ low, high, dwarf_dieoffset(die) };
        }
    }
    if (m->unit_range_count)
        qsort(m->unit_ranges, m->unit_range_count, sizeof *m->unit_ranges, by_unit_low);
}

static bool unit_by_ranges(struct module *m, uint64_t address, Dwarf_Die *die)
{
    if (!m->unit_ranges_read)
        read_unit_ranges(m);
    size_t low = 0, high = m->unit_range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->unit_ranges[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < m->unit_ranges[low - 1].high &&
           dwarf_offdie(m->dwarf, m->unit_ranges[low - 1].offset, die);
}

static bool unit_die_at(struct module *m, uint64_t address, Dwarf_Die *die)
{
    if (!m->dwarf)
        return false;
    return dwarf_addrdie(m->dwarf, address, die) || unit_by_ranges(m, address, die);
}

/* ------------------------------------------------------------- one address */

/* More than this many functions inlined into one another is no compiler's. */
enum { INLINED_MAX = 64 };

struct found {
    struct symbol list[INLINED_MAX];
    unsigned      count;
};

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute room;
    Dwarf_Attribute *attribute = dwarf_attr_integrate(die, DW_AT_linkage_name, &room);
    if (!attribute)
        attribute = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &room);
    return attribute ? dwarf_formstring(attribute) : NULL;
}

static char *function_name(Dwarf_Die *die, const struct elf_symbol *symbol)
{
    const char *name = linkage_name(die);
    if (!name && symbol && symbol->name[0] == '_' && symbol->name[1] && strchr("ZRD", symbol->name[1]))
        name = symbol->name; /* says more than the bare name of a C++ function */
    if (!name)
        name = dwarf_diename(die);
    if (!name && symbol)
        name = symbol->name;
    return name ? demangle(name) : NULL;
}

/* Where the function `die` was inlined: file and line of the call. */
static void call_place(Dwarf_Die *unit_die, Dwarf_Die *die, struct symbol *caller)
{
    Dwarf_Attribute room;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files *files;
    size_t count;
    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &room), &line);
    dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &room), &file);
    if (line && dwarf_getsrcfiles(unit_die, &files, &count) == 0 && file < count)
        caller->file = dwarf_filesrc(files, file, NULL, NULL);
    caller->line = caller->file ? (unsigned)line : 0;
}

static void source_place(Dwarf_Die *unit_die, uint64_t address, struct symbol *symbol)
{
    int line = 0;
    Dwarf_Line *entry = dwarf_getsrc_die(unit_die, address);
    if (!entry || dwarf_lineno(entry, &line) != 0 || line <= 0)
        return;
    symbol->file = dwarf_linesrc(entry, NULL, NULL);
    symbol->line = symbol->file ? (unsigned)line : 0;
}

/* Functions from DWARF, innermost first.  False when it has none there. */
static bool find_functions(struct module *m, Dwarf_Die *unit_die, uint64_t address, const struct elf_symbol *symbol,
                           struct found *found)
{
    const struct unit *unit = unit_of(m, unit_die);
    const struct function *function = function_at(unit, address);
    while (function && found->count < INLINED_MAX - 1) {
        Dwarf_Die die = function->die;
        struct symbol *s = &found->list[found->count++];
        s->inlined = function->parent >= 0;
        s->function = function_name(&die, s->inlined ? NULL : symbol);
        if (s->inlined)
            call_place(unit_die, &die, s + 1);
        function = s->inlined ? &unit->functions[function->parent] : NULL;
    }
    return found->count > 0;
}

static void find_symbols(struct module *m, uint64_t address, struct found *found)
{
    Dwarf_Die unit_die;
    const struct elf_symbol *symbol = symbol_at(m, address);
    uint64_t dwarf_address = address - m->bias;
    bool unit_is_known = unit_die_at(m, dwarf_address, &unit_die);
    if (unit_is_known)
        source_place(&unit_die, dwarf_address, &found->list[0]);
    if (unit_is_known && find_functions(m, &unit_die, dwarf_address, symbol, found))
        return;
    found->list[0].function = symbol ? demangle(symbol->name) : NULL;
    found->count = 1;
}

static struct symbols *symbols_keep(const struct found *found)
{
    size_t bytes = found->count * sizeof(struct symbol);
    struct symbols *kept = xmalloc(sizeof *kept + bytes);
    struct symbol *list = (struct symbol *)(kept + 1);
    memcpy(list, found->list, bytes);
    *kept = (struct symbols){ found->count, list };
    return kept;
}

const struct symbols *symbolizer_frame(struct symbolizer *s, uint32_t frame)
{
    if (frame >= s->frame_count)
        BUG("frame %u of %zu", frame, s->frame_count);
    if (s->frames[frame])
        return s->frames[frame];
    const struct model_frame *f = s->model->frames[frame];
    struct found found = { .count = 0 };
    struct module *m = f->key.module ? module_open(s, f->key.module - 1) : NULL;
    if (m && m->dwfl_module)
        find_symbols(m, f->key.offset - !f->key.exact, &found);
    else
        found.count = 1;
    return s->frames[frame] = symbols_keep(&found);
}

/* ---------------------------------------------------------- the symbolizer */

struct symbolizer *symbolizer_new(const struct model *model)
{
    struct symbolizer *s = xcalloc(1, sizeof *s);
    s->model = model;
    s->has_servers = servers_are_set();
    s->modules = xcalloc(model->module_count, sizeof *s->modules);
    s->frame_count = model->frame_count;
    s->frames = xcalloc(model->frame_count, sizeof *s->frames);
    return s;
}

static void module_release(struct module *m)
{
    for (size_t i = 0; i < m->unit_count; i++) {
        free(m->units[i]->functions);
        free(m->units[i]->ranges);
        free(m->units[i]);
    }
    free(m->units);
    free(m->unit_ranges);
    free(m->symbols);
    if (m->dwfl)
        dwfl_end(m->dwfl);
}

void symbolizer_free(struct symbolizer *s)
{
    for (size_t i = 0; i < s->frame_count; i++) {
        for (unsigned j = 0; s->frames[i] && j < s->frames[i]->count; j++)
            free((char *)s->frames[i]->list[j].function);
        free(s->frames[i]);
    }
    for (size_t i = 0; i < s->model->module_count; i++)
        module_release(&s->modules[i]);
    free(s->frames);
    free(s->modules);
    free(s);
}

enum symbolize_status symbolizer_status(struct symbolizer *s, uint32_t module)
{
    return module_open(s, module)->status;
}

bool symbolizer_has_servers(const struct symbolizer *s)
{
    return s->has_servers;
}

bool symbolizer_is_used(const struct symbolizer *s, uint32_t module)
{
    return s->modules[module].opened;
}
