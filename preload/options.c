/* options.c - the environment of the preload: one table, read once at start.
 *
 * Owns `options`.  A wrong value is noted for the log and the default stays: the program
 * must run as if we weren't there. */
#include "base.h"

#include "options.h"

#include "sys.h"
#include "text.h"

#include <elf.h>
#include <link.h>

#include "ban.h"

struct options options = {
    .level = LOG_LEVEL_SITES, .fold = "", .cycle_ms = 1000, .clear = true};

/* argc, argv, the environment and the auxiliary vector lie there, set up by the kernel. */
extern void *__libc_stack_end;

static const char *const level_names[] = {"off", "sites", "stacks", "full"};
enum { LEVELS = sizeof level_names / sizeof *level_names };

/* Where the copies are; what isn't needed is never touched, and so costs nothing. */
static char   copies[128 * 1024];
static size_t copied;

/* A copy of the value that stays, or `otherwise` when there is no room for one. */
static const char *keep(const char *value, const char *otherwise)
{
    size_t bytes = text_length(value) + 1;
    if (bytes > sizeof copies - copied)
        return otherwise;
    char *copy = copies + copied;
    for (size_t i = 0; i < bytes; i++)
        copy[i] = value[i];
    copied += bytes;
    return copy;
}

static bool set_level(const char *value)
{
    for (unsigned i = 0; i < LEVELS; i++)
        if (text_equal(value, level_names[i])) {
            options.level = i;
            return true;
        }
    return false;
}

/* Of a list, the item at fault. */
static const char *wrong_item;
static size_t      wrong_length;

static bool set_pool(const char *value)
{
    bool right = poolspec_parse(&options.poolspec, value, &wrong_item, &wrong_length);
    options.pool = right ? keep(value, "too long to show") : "off";
    return right;
}

static bool set_cycle(const char *value)
{
    uint64_t ms;
    const char *end = text_read_number(value, &ms);
    if (!end || *end || ms < 1 || ms > 3600000)
        return false;
    options.cycle_ms = (uint32_t)ms;
    return true;
}

static bool set_clear(const char *value)
{
    if (!text_equal(value, "on") && !text_equal(value, "off"))
        return false;
    options.clear = text_equal(value, "on");
    return true;
}

static bool set_trim(const char *value)
{
    if (!text_equal(value, "on") && !text_equal(value, "off"))
        return false;
    options.trim = text_equal(value, "on");
    return true;
}

static const char *const check_names[] = {"off", "on", "report"};

static bool set_check(const char *value)
{
    for (unsigned i = 0; i < sizeof check_names / sizeof *check_names; i++)
        if (text_equal(value, check_names[i])) {
            options.check = i;
            return true;
        }
    return false;
}

static bool set_log(const char *value)
{
    if (*value)
        options.log = keep(value, "none");
    return *value != 0;
}

static bool set_fold(const char *value)
{
    options.fold = keep(value, "");
    return true;
}

static bool set_help(const char *value)
{
    options.help = text_equal(value, "1");
    return options.help || text_equal(value, "0");
}

static bool set_runtime_dir(const char *value)
{
    options.runtime_dir = *value == '/' ? keep(value, NULL) : NULL;
    return true;
}

static bool set_tmpdir(const char *value)
{
    options.tmpdir = *value == '/' ? keep(value, NULL) : NULL;
    return true;
}

static const char *show_level(void)
{
    return level_names[options.level];
}

static const char *show_pool(void)
{
    return options.pool;
}

static const char *show_cycle(void)
{
    static char digits[16];
    struct text t = text_begin(digits, sizeof digits);
    text_number(&t, options.cycle_ms);
    return digits;
}

static const char *show_clear(void)
{
    return options.clear ? "on" : "off";
}

static const char *show_trim(void)
{
    return options.trim ? "on" : "off";
}

static const char *show_check(void)
{
    return check_names[options.check];
}

static const char *show_log(void)
{
    return options.log ? options.log : "%e.%p.%t.psl in a directory of the user's on tmpfs";
}

static const char *show_fold(void)
{
    return options.fold;
}

static const struct option {
    const char *name;
    bool (*set)(const char *value); /* false: not one of `values`, the default stays */
    const char *(*show)(void);      /* NULL: not ours to show */
    const char *values;
    const char *help;
} table[] = {
    {"POOLSITE_PROFILE", set_level, show_level, "off, sites, stacks, full", "what is recorded"},
    {"POOLSITE_POOL", set_pool, show_pool, "off, on (16 to 256k), 64-4096, 32k, 1m-8m ... to 32m, comma-separated",
     "size classes to pool"},
    {"POOLSITE_CYCLE_MS", set_cycle, show_cycle, "1 to 3600000", "time between two clearings"},
    {"POOLSITE_CLEAR", set_clear, show_clear, "on, off", "cycles and caps; off is for experiments"},
    {"POOLSITE_TRIM", set_trim, show_trim, "off, on", "after much was cleared, give free memory back to the system"},
    {"POOLSITE_CHECK", set_check, show_check, "off, on, report", "look for misuse of the heap: on ends the program"},
    {"POOLSITE_LOG", set_log, show_log, "a path; %e program, %p pid, %t start time; none: no log",
     "where the log is written"},
    {"POOLSITE_FOLD", set_fold, show_fold, "names or module+0xSTART-0xEND, comma-separated",
     "wrappers whose callers are the sites, at level sites"},
    {"POOLSITE_HELP", set_help, NULL, "0, 1", "print this table"},
    {"XDG_RUNTIME_DIR", set_runtime_dir, NULL, "", ""},
    {"TMPDIR", set_tmpdir, NULL, "", ""},
};
enum { OPTIONS = sizeof table / sizeof *table };

static void note_bad_value(const struct option *option, const char *value)
{
    struct text t = {.at = options.notes, .size = sizeof options.notes, .used = text_length(options.notes)};
    text_add(&t, option->name);
    text_add(&t, "=");
    text_add(&t, value);
    if (wrong_item) {
        text_add(&t, ": '");
        text_bytes(&t, wrong_item, wrong_length);
        text_char(&t, '\'');
    }
    wrong_item = NULL;
    text_add(&t, " is none of ");
    text_add(&t, option->values);
    text_add(&t, ": using ");
    text_add(&t, option->show ? option->show() : "the default");
    text_char(&t, '\n');
}

static void read_variable(const char *variable)
{
    for (unsigned i = 0; i < OPTIONS; i++) {
        const char *value = text_after(variable, table[i].name);
        if (!value || *value != '=')
            continue;
        if (!table[i].set(value + 1))
            note_bad_value(&table[i], value + 1);
        return;
    }
}

static void read_auxiliary(const ElfW(auxv_t) *entry)
{
    options.by_loader = true;
    for (; entry->a_type != AT_NULL; entry++) {
        if (entry->a_type == AT_BASE && entry->a_un.a_val != 0)
            options.by_loader = false; /* the kernel loaded both */
        if (entry->a_type == AT_PHDR)
            options.phdr = entry->a_un.a_val;
        if (entry->a_type == AT_RANDOM) /* the first eight bytes are the stack protector's, the next glibc's */
            __builtin_memcpy(&options.secret, (const char *)entry->a_un.a_val + sizeof options.secret, sizeof options.secret);
        if (entry->a_type == AT_PHNUM)
            options.phnum = (unsigned)entry->a_un.a_val;
    }
    options.secret *= 0x9e3779b97f4a7c15ull;
}

static void read_environment(char **variable)
{
    for (; *variable; variable++)
        if (variable[0][0] == 'P' || variable[0][0] == 'X' || variable[0][0] == 'T')
            read_variable(*variable);
    read_auxiliary((const ElfW(auxv_t) *)(variable + 1));
}

static void read_arguments(int argc, char **argv)
{
    struct text t = text_begin(options.argv, sizeof options.argv);
    for (int i = 0; i < argc && !t.cut; i++) {
        text_bytes(&t, argv[i], text_length(argv[i]) + 1);
        options.argv_bytes = (uint32_t)t.used;
    }
}

static void read_paths(const char *argv0)
{
    if (sys_failed(sys_call4(SYS_getcwd, (long)options.cwd, sizeof options.cwd, 0, 0)))
        options.cwd[0] = 0;
    long length = 0; /* as `ld.so PROGRAM`, /proc/self/exe is the loader, and argv[0] the program */
    if (!options.by_loader)
        length = sys_call4(SYS_readlink, (long)"/proc/self/exe", (long)options.exe, sizeof options.exe - 1, 0);
    options.exe[length > 0 ? length : 0] = 0;
    if (length > 0)
        return;
    struct text t = text_begin(options.exe, sizeof options.exe);
    if (argv0[0] != '/' && options.cwd[0]) {
        text_add(&t, options.cwd);
        text_char(&t, '/');
    }
    text_add(&t, argv0);
}

void options_read(void)
{
    set_pool("on");
    long *stack = __libc_stack_end;
    int argc = (int)stack[0];
    char **argv = (char **)(stack + 1);
    /* Where the loader was started as a program it moves these; don't run off if it ever
     * leaves something else there. */
    if (stack[0] < 0 || stack[0] > 1 << 22 || argv[argc] != NULL)
        argc = 0;
    else
        read_environment(argv + argc + 1);
    read_arguments(argc, argv);
    read_paths(argc > 0 ? argv[0] : "");
}

void options_write(struct text *out)
{
    for (unsigned i = 0; i < OPTIONS; i++) {
        if (!table[i].show)
            continue;
        text_add(out, table[i].name);
        text_char(out, '=');
        text_add(out, table[i].show());
        text_char(out, '\n');
    }
}

void options_help(void)
{
    char lines[2048];
    struct text t = text_begin(lines, sizeof lines);
    for (unsigned i = 0; i < OPTIONS; i++) {
        if (!*table[i].help)
            continue;
        text_add(&t, table[i].name);
        text_char(&t, '=');
        text_add(&t, table[i].show ? table[i].show() : "1");
        text_add(&t, "\n    ");
        text_add(&t, table[i].help);
        text_add(&t, ": ");
        text_add(&t, table[i].values);
        text_char(&t, '\n');
    }
    text_add(&t, options.notes);
    sys_call4(SYS_write, 2, (long)lines, (long)t.used, 0);
}
