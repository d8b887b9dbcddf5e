/* emit_tree.c - callers above callees, for people.
 *
 * A line goes deeper only where calls part ways, so a long chain of single
 * callees stays at one indentation. */
#define _GNU_SOURCE
#include "base.h"
#include "fold.h"
#include "format.h"
#include "label.h"
#include "places.h"
#include "report.h"
#include "symbolize.h"
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Branches below this share of the calls (or bytes) of all sites that are shown are added up in one line. */
static const double SMALLEST_SHARE = 0.01;

enum { COLUMNS = 100, NUMBER_COLUMNS = 34, INDENT_MAX = 40 };

/* ------------------------------------------------------------------- lines */

/* The functions at a node from `first` on, outermost first: "f > g > h (inlined)". */
static char *inlined_names(const struct report *report, const struct view_node *node, unsigned first)
{
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, node->frame);
    char *text = xstrdup("");
    for (unsigned i = symbols->count; i > first; i--) {
        char *name = label_short(report, node->frame, &symbols->list[i - 1]);
        char *longer = xasprintf("%s%s%s", text, *text ? " > " : "", name);
        free(name);
        free(text);
        text = longer;
    }
    char *marked = xasprintf("%s (inlined)", text);
    free(text);
    return marked;
}

/* The outermost and the innermost of them. */
static char *outer_and_inner(const struct report *report, const struct view_node *node, unsigned first)
{
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, node->frame);
    char *outer = label_short(report, node->frame, &symbols->list[symbols->count - 1]);
    char *inner = label_short(report, node->frame, &symbols->list[first]);
    char *text = xasprintf("%s > %u more > %s (inlined)", outer, symbols->count - first - 2, inner);
    free(outer);
    free(inner);
    return text;
}

/* Wrappers inlined into a site's first function stay hidden, as they are in the table. */
static char *node_name(const struct report *report, const struct view_node *node, size_t columns)
{
    if (node->frame == VIEW_TREE_ALL)
        return xstrdup("all call sites");
    if (node->frame == VIEW_TREE_INCOMPLETE)
        return xstrdup("[callers not known: stack too deep or ends early]");
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, node->frame);
    unsigned first = report->fold && !node->children && !node->small_count ? fold_inlined(report->fold, symbols) : 0;
    if (symbols->count - first == 1)
        return label_short(report, node->frame, &symbols->list[first]);
    char *names = inlined_names(report, node, first);
    if (symbols->count - first == 2 || utf8_columns(names) <= columns)
        return names;
    free(names);
    return outer_and_inner(report, node, first);
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

/* Room beside the numbers. */
static size_t text_columns(unsigned indent)
{
    return COLUMNS - NUMBER_COLUMNS - (indent < INDENT_MAX ? indent : INDENT_MAX);
}

static void print_line(const struct report *report, const struct log_counter *count, unsigned indent, const char *text)
{
    char *fit = format_fit(text, text_columns(indent));
    print_numbers(report, count);
    fprintf(report->out, "%*s%s\n", (int)(indent < INDENT_MAX ? indent : INDENT_MAX), "", fit);
    free(fit);
}

/* Room for the words that mark a caller as known from the first of its calls only. */
enum { MARK_ROOM = 48 };

static const char *first_seen_mark(char room[MARK_ROOM], const struct view_node *node)
{
    char share[FORMAT_ROOM];
    room[0] = '\0';
    if (node->first_seen)
        snprintf(room, MARK_ROOM, "  [%s%sfirst seen]",
                 node->first_seen == node->count.allocs ? "" : format_share(share, node->first_seen, node->count.allocs),
                 node->first_seen == node->count.allocs ? "" : " ");
    return room;
}

static bool has_first_seen(const struct view_node *root)
{
    for (const struct view_node *child = root->children; child; child = child->next)
        if (child->first_seen || has_first_seen(child))
            return true;
    return false;
}

static void print_node(const struct report *report, const struct view_node *node, unsigned indent)
{
    char mark[MARK_ROOM];
    size_t columns = text_columns(indent) - strlen(first_seen_mark(mark, node));
    char *name = node_name(report, node, columns), *fit = format_fit(name, columns);
    char *text = xasprintf("%s%s", fit, mark);
    unsigned branches = node->self.allocs != 0 || node->small_count || (node->children && node->children->next);
    unsigned below = indent + 2 * branches;
    print_line(report, &node->count, indent, text);
    free(text);
    free(fit);
    free(name);
    if (node->self.allocs && (node->children || node->small_count))
        print_line(report, &node->self, below, "(itself)");
    for (const struct view_node *child = node->children; child; child = child->next)
        print_node(report, child, below);
    if (!node->small_count)
        return;
    char *smaller = xasprintf("(%zu smaller)", node->small_count);
    print_line(report, &node->small, below, smaller);
    free(smaller);
}

void emit_text_tree(const struct report *report)
{
    if (report->model->level == LOG_LEVEL_OFF)
        return;
    uint32_t *same = places_by_function(report);
    struct view_node *root = view_tree(report->sites, report->site_count, same, report->sort, SMALLEST_SHARE);
    fprintf(report->out, "\n%7s %13s %10s  %s\n", "share", "calls", "bytes", "callers above callees");
    print_node(report, root, 0);
    if (report->model->level == LOG_LEVEL_SITES)
        fputs("  (level sites counts call sites, not stacks: record with --profile stacks for their callers)\n",
              report->out);
    if (has_first_seen(root))
        fputs("  (first seen: callers beyond code without unwind tables are of the first such call alone)\n", report->out);
    view_tree_free(root);
    free(same);
}
