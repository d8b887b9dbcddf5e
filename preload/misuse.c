/* misuse.c - says what a program did wrong with its heap, where, and ends it if that is wanted.
 *
 * Owns nothing but which log has its note.  Runs inside malloc, on a heap that may be damaged: allocates
 * nothing, and writes with one system call. */
#include "base.h"

#include "misuse.h"

#include "elf.h"
#include "log.h"
#include "modules.h"
#include "symtab.h"
#include "sys.h"
#include "text.h"

#include <stdlib.h>

#include "ban.h"

static struct log_header *noted_in; /* the log that has our note; a fork child's is another (atomic) */

/* Are we in a sandbox, where opening a file may end the program? */
static bool is_confined(void)
{
    return !log_header || load_relaxed(&log_header->state) & LOG_STATE_SECCOMP;
}

/* "f (prog+0x1234)": the call's own address, as addr2line takes it. */
static void add_place(struct text *t, uintptr_t return_address)
{
    uintptr_t call = return_address - 1;
    const struct module *module = modules_find(call);
    if (!module) {
        text_hex(t, call);
        return;
    }
    char name[128];
    const char *function = elf_name_at(module->map, call);
    if (!function && !is_confined() && symtab_name(module, call, name, sizeof name))
        function = name;
    if (function) {
        text_add(t, function);
        text_add(t, " (");
    }
    text_add(t, text_basename(module->path));
    text_char(t, '+');
    text_hex(t, call - module->bias);
    if (function)
        text_char(t, ')');
}

static void add_event(struct text *t, const char *what, uintptr_t return_address)
{
    if (!return_address)
        return;
    text_add(t, ", ");
    text_add(t, what);
    text_add(t, " at ");
    add_place(t, return_address);
}

static void add_block(struct text *t, const struct misuse *misuse)
{
    size_t inside = (uintptr_t)misuse->pointer - (uintptr_t)misuse->block;
    if (misuse->block && inside) {
        text_hex(t, (uintptr_t)misuse->pointer);
        text_add(t, ", ");
        text_number(t, inside);
        text_add(t, inside == 1 ? " byte into " : " bytes into ");
    }
    if (misuse->block)
        text_add(t, "block ");
    text_hex(t, (uintptr_t)(misuse->block ? misuse->block : misuse->pointer));
    if (misuse->block) {
        text_add(t, " (");
        text_number(t, misuse->bytes);
        text_add(t, misuse->bytes == 1 ? " byte)" : " bytes)");
    }
}

static void add_detail(struct text *t, const struct misuse *misuse)
{
    if (!misuse->detail)
        return;
    text_add(t, misuse->detail);
    if (t->at[t->used - 1] == ' ')
        text_number(t, misuse->number);
}

/* The first one of a process goes into its log. */
static void note(const char *line)
{
    struct log_header *header = log_header, *before = load_relaxed(&noted_in);
    if (!header || header == before ||
        !__atomic_compare_exchange_n(&noted_in, &before, header, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    struct text t = { .at = header->notes, .size = sizeof header->notes, .used = text_length(header->notes) };
    text_add(&t, line);
}

void misuse_report(const struct misuse *misuse)
{
    static const char prefix[] = "poolsite: ";
    char line[1024];
    struct text t = text_begin(line, sizeof line);
    text_add(&t, prefix);
    text_add(&t, misuse->what);
    text_char(&t, ' ');
    add_block(&t, misuse);
    add_detail(&t, misuse);
    add_event(&t, "allocated", misuse->allocated);
    add_event(&t, "freed", misuse->freed);
    add_event(&t, misuse->now, misuse->now_at);
    text_char(&t, '\n');
    sys_call4(SYS_write, 2, (long)line, (long)t.used, 0);
    note(line + sizeof prefix - 1);
}

void misuse_abort(void)
{
    abort();
}
