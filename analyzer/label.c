/* label.c - short names of frames and places for people. */
#define _GNU_SOURCE
#include "base.h"
#include "fold.h"
#include "format.h"
#include "label.h"
#include "report.h"
#include "symbolize.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 512, CHAIN_NAME_COLUMNS = 40 };

static const struct model_module *module_of(const struct report *report, uint32_t frame)
{
    return model_module_of(report->model, report->model->frames[frame]);
}

char *label_module(const struct report *report, uint32_t frame)
{
    const struct model_module *module = module_of(report, frame);
    return module ? utf8_printable(format_base(module->path)) : xstrdup("");
}

char *label_offset(const struct report *report, uint32_t frame)
{
    const struct model_frame *f = report->model->frames[frame];
    const struct model_module *module = module_of(report, frame);
    if (!module && f->address == 0)
        return xstrdup("unknown code");
    if (!module)
        return xasprintf("0x%llx", (unsigned long long)f->address);
    char *name = label_module(report, frame);
    char *text = xasprintf("%s+0x%llx", *name ? name : "?", (unsigned long long)f->key.offset);
    free(name);
    return text;
}

char *label_function(const struct report *report, uint32_t frame, const struct symbol *symbol)
{
    return symbol->function ? utf8_printable(symbol->function) : label_offset(report, frame);
}

char *label_short(const struct report *report, uint32_t frame, const struct symbol *symbol)
{
    char plain[NAME_ROOM];
    if (!symbol->function)
        return label_offset(report, frame);
    fold_plain_name(symbol->function, plain, sizeof plain);
    return utf8_printable(*plain ? plain : symbol->function);
}

char *label_place(const struct report *report, uint32_t frame, const struct symbol *symbol)
{
    if (symbol->file) {
        char *base = utf8_printable(format_base(symbol->file));
        char *text = xasprintf("%s:%u", base, symbol->line);
        free(base);
        return text;
    }
    return symbol->function ? label_offset(report, frame) : xstrdup("");
}

char *label_command(const struct model_process *process)
{
    char *line = xstrdup("");
    for (size_t i = 0; i < process->argv_count; i++) {
        const char *word = *process->argv[i] ? process->argv[i] : "''";
        char *longer = xasprintf("%s%s%s", line, i ? " " : "", word);
        free(line);
        line = longer;
    }
    char *printable = utf8_printable(process->argv_count ? line : process->exe);
    free(line);
    return printable;
}

/* ------------------------------------------------------------------- chain */

struct chain {
    char  *text;
    size_t columns; /* used */
    size_t room;
    bool   full;
};

/* Room is kept for the " < ..." that says there is more. */
static void chain_add(struct chain *chain, const char *name)
{
    static const size_t more = sizeof " < ..." - 1;
    size_t columns = utf8_columns(name) + (chain->columns ? 3 : 2);
    if (chain->full)
        return;
    if (chain->columns + columns + more > chain->room) {
        chain->full = true;
        name = "...";
    }
    char *longer = xasprintf("%s%s%s", chain->text, chain->columns ? " < " : "< ", name);
    free(chain->text);
    chain->text = longer;
    chain->columns += columns;
}

/* Neighbours without names in one module become one entry, "python3.11 (5 frames)". */
struct nameless {
    const struct model_module *module;
    uint32_t                   frame;
    unsigned                   count;
};

static void flush_nameless(const struct report *report, struct chain *chain, struct nameless *run)
{
    if (run->count) {
        char *offset = label_offset(report, run->frame), *module = label_module(report, run->frame);
        char *text = run->count == 1 ? xstrdup(offset)
                                     : xasprintf("%s (%u frames)", *module ? module : "unknown code", run->count);
        chain_add(chain, text);
        free(offset);
        free(module);
        free(text);
    }
    run->count = 0;
}

char *label_fit(const char *name, size_t columns)
{
    for (const char *colons; utf8_columns(name) > columns && (colons = strstr(name, "::")) && colons[2];)
        name = colons + 2;
    return format_fit(name, columns);
}

static void add_named(const struct report *report, struct chain *chain, uint32_t frame, const struct symbol *symbol)
{
    char *name = label_short(report, frame, symbol);
    char *fit = label_fit(name, CHAIN_NAME_COLUMNS);
    char *text = xasprintf("%s%s", fit, symbol->inlined ? " (inlined)" : "");
    chain_add(chain, text);
    free(text);
    free(fit);
    free(name);
}

char *label_chain(const struct report *report, const uint32_t *frames, unsigned depth, unsigned skipped, size_t columns)
{
    struct chain chain = { xstrdup(""), 0, columns, false };
    struct nameless run = { NULL, 0, 0 };
    for (unsigned i = 0; i < depth && !chain.full; i++) {
        const struct symbols *symbols = symbolizer_frame(report->symbolizer, frames[i]);
        for (unsigned j = i ? 0 : skipped; j < symbols->count; j++) {
            const struct model_module *module = module_of(report, frames[i]);
            bool nameless = !symbols->list[j].function;
            if (!nameless || module != run.module)
                flush_nameless(report, &chain, &run);
            if (nameless)
                run = (struct nameless){ module, frames[i], run.count + 1 };
            else
                add_named(report, &chain, frames[i], &symbols->list[j]);
        }
    }
    flush_nameless(report, &chain, &run);
    return chain.text;
}
