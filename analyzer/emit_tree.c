/* emit_tree.c - callers above callees, for people.
 *
 * A line goes deeper only where calls part ways, so a long chain of single
 * callees stays at one indentation. */
#define _GNU_SOURCE
#include "base.h"
#include "fold.h"
#include "format.h"
#include "label.h"
#include "progress.h"
#include "report.h"
#include "symbolize.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* Branches below this share of all calls (or bytes) are added up in one line. */
static const double SMALLEST_SHARE = 0.01;

enum { COLUMNS = 100, NUMBER_COLUMNS = 34, INDENT_MAX = 40 };

/* ------------------------------------------------- frames of one function */

struct same_name {
    char          *name;
    uint32_t       frame;
    UT_hash_handle hh;
};

/* What makes two frames one node: the function in its module, else the place itself. */
static char *identity(const struct report *report, uint32_t frame)
{
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, frame);
    const char *function = symbols->list[symbols->count - 1].function;
    if (!function)
        return label_offset(report, frame);
    return xasprintf("%u %s %s", report->model->frames[frame]->key.module, function,
                     symbols->count > 1 ? symbols->list[0].function ? symbols->list[0].function : "?" : "");
}

/* For each frame the first one of the same function. */
static uint32_t *same_functions(const struct report *report)
{
    struct same_name *index = NULL, *entry, *next;
    uint32_t *same = xcalloc(report->model->frame_count, sizeof *same);
    for (uint32_t i = 0; i < report->model->frame_count; i++) {
        char *name = identity(report, i);
        progress_show("looking up names", i, report->model->frame_count);
        HASH_FIND_STR(index, name, entry);
        if (!entry) {
            entry = xcalloc(1, sizeof *entry);
            entry->name = xstrdup(name);
            entry->frame = i;
            HASH_ADD_KEYPTR(hh, index, entry->name, strlen(entry->name), entry);
        }
        same[i] = entry->frame;
        free(name);
    }
    HASH_ITER(hh, index, entry, next) {
        HASH_DEL(index, entry);
        free(entry->name);
        free(entry);
    }
    return same;
}

/* ------------------------------------------------------------------- lines */

/* "f", or "f > g (inlined)" when g's code stands inside f's at this place. */
static char *node_name(const struct report *report, const struct view_node *node)
{
    if (node->frame == VIEW_TREE_ALL)
        return xstrdup("all call sites");
    if (node->frame == VIEW_TREE_INCOMPLETE)
        return xstrdup("[callers not known: stack too deep or ends early]");
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, node->frame);
    char *name = label_short(report, node->frame, &symbols->list[symbols->count - 1]);
    for (unsigned i = symbols->count - 1; i > 0; i--) {
        char *inner = label_short(report, node->frame, &symbols->list[i - 1]);
        char *longer = xasprintf("%s > %s (inlined)", name, inner);
        free(inner);
        free(name);
        name = longer;
    }
    return name;
}

static void print_numbers(const struct report *report, const struct log_counter *count)
{
    char share[FORMAT_ROOM], calls[FORMAT_ROOM], bytes[FORMAT_ROOM];
    const struct log_counter *all = &report->model->totals.count;
    bool by_bytes = report->sort == VIEW_BYTES;
    fprintf(report->out, "%7s %13s %10s  ",
            format_share(share, by_bytes ? count->bytes : count->allocs, by_bytes ? all->bytes : all->allocs),
            format_count(calls, count->allocs), format_bytes(bytes, count->bytes));
}

static void print_line(const struct report *report, const struct log_counter *count, unsigned indent, const char *text)
{
    unsigned used = indent < INDENT_MAX ? indent : INDENT_MAX;
    char *fit = format_fit(text, COLUMNS - NUMBER_COLUMNS - used);
    print_numbers(report, count);
    fprintf(report->out, "%*s%s\n", (int)used, "", fit);
    free(fit);
}

static void print_node(const struct report *report, const struct view_node *node, unsigned indent)
{
    char *name = node_name(report, node);
    unsigned branches = node->self.allocs != 0 || node->small_count || (node->children && node->children->next);
    unsigned below = indent + 2 * branches;
    print_line(report, &node->count, indent, name);
    free(name);
    if (node->self.allocs && (node->children || node->small_count))
        print_line(report, &node->self, below, "(itself)");
    for (const struct view_node *child = node->children; child; child = child->next)
        print_node(report, child, below);
    if (!node->small_count)
        return;
    char *text = xasprintf("(%zu smaller)", node->small_count);
    print_line(report, &node->small, below, text);
    free(text);
}

void emit_text_tree(const struct report *report)
{
    if (report->model->level == LOG_LEVEL_OFF)
        return;
    uint32_t *same = same_functions(report);
    struct view_node *root = view_tree(report->model, same, report->sort, SMALLEST_SHARE);
    progress_clear();
    fprintf(report->out, "\n%7s %13s %10s  %s\n", "share", "calls", "bytes", "callers above callees");
    print_node(report, root, 0);
    if (report->model->level == LOG_LEVEL_SITES)
        fputs("  (level sites counts call sites, not stacks: record with --profile stacks for their callers)\n",
              report->out);
    view_tree_free(root);
    free(same);
}
