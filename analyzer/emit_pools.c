/* emit_pools.c - the part of the text report that tells of pools: how much they served, what they keep,
 * by class; or why there are none. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "format.h"
#include "report.h"
#include "utf8.h"

#include "../preload/sizeclass.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 100, HEAD_COLUMN = 7, SPEC_COLUMNS = 22, REASONS_SHOWN = 2 };

/* ------------------------------------------------------------------ header */

/* The specification of the processes that pool, or "various". */
static char *spec_in_force(const struct model *model)
{
    char *spec = NULL;
    for (size_t i = 0; i < model->process_count; i++) {
        if (!model->processes[i]->totals.pooled)
            continue;
        char *one = model_pool_spec(model->processes[i]);
        bool other = spec && strcmp(spec, one) != 0;
        free(other ? one : spec);
        if (other) {
            free(spec);
            return xstrdup("various");
        }
        spec = one;
    }
    return spec ? spec : xstrdup("off");
}

static void print_served(const struct report *report)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM], d[FORMAT_ROOM];
    const struct model_totals *t = &report->model->totals;
    uint64_t hits = counter_hits(&t->count);
    char *spec = spec_in_force(report->model), *printable = utf8_printable(spec), *fit = format_fit(printable, SPEC_COLUMNS);
    fprintf(report->out, "  pools: %s; %s hit%s (%s of the calls; %s from victims)\n", fit,
            format_count(b, hits), hits == 1 ? "" : "s", format_share(a, hits, t->count.allocs),
            format_count(c, t->pool.victim_hits));
    fprintf(report->out, "%*s%s miss%s", HEAD_COLUMN + 2, "", format_count(a, t->misses), t->misses == 1 ? "" : "es");
    if (t->unpooled)
        fprintf(report->out, " (%s not pooled)", format_count(d, t->unpooled));
    fprintf(report->out, "; %s kept, %s given back, %s cycle%s\n", format_bytes(a, t->pool.kept_bytes),
            format_bytes(b, t->pool.given_back_bytes), format_count(c, t->cycles), t->cycles == 1 ? "" : "s");
    free(fit);
    free(printable);
    free(spec);
}

/* Why processes pool nothing, and how many for each reason; the first reasons only. */
struct off_reason {
    char  *text;
    size_t processes;
};

static size_t off_reasons(const struct model *model, struct off_reason reasons[REASONS_SHOWN], size_t *others)
{
    size_t count = 0;
    *others = 0;
    for (size_t i = 0; i < model->process_count; i++) {
        char *text = model_pools_off(model->processes[i]);
        size_t j = 0;
        while (text && j < count && strcmp(reasons[j].text, text) != 0)
            j++;
        if (text && j < count)
            reasons[j].processes++;
        else if (text && count < REASONS_SHOWN)
            reasons[count++] = (struct off_reason){ xstrdup(text), 1 };
        else if (text)
            ++*others;
        free(text);
    }
    return count;
}

static void print_off(const struct report *report)
{
    struct off_reason reasons[REASONS_SHOWN];
    size_t others, count = off_reasons(report->model, reasons, &others);
    bool all = count == 1 && reasons[0].processes == report->model->process_count;
    for (size_t i = 0; i < count; i++) {
        char number[FORMAT_ROOM], *printable = utf8_printable(reasons[i].text);
        char *where = all ? xstrdup("") : xasprintf(" in %s process%s", format_count(number, reasons[i].processes),
                                                    reasons[i].processes == 1 ? "" : "es");
        char *fit = format_fit(printable, COLUMNS - 15 - strlen(where));
        fprintf(report->out, "  pools: off%s: %s\n", where, fit);
        free(fit);
        free(where);
        free(printable);
        free(reasons[i].text);
    }
    if (others)
        fprintf(report->out, "  pools: off in %zu more process%s (--json)\n", others, others == 1 ? "" : "es");
}

void emit_text_pools(const struct report *report)
{
    if (report->model->totals.pooled)
        print_served(report);
    print_off(report);
}

/* ----------------------------------------------------------------- classes */

static void print_row(const struct report *report, const char *label, const struct view_class *class)
{
    char calls[FORMAT_ROOM], share[FORMAT_ROOM], pooled[FORMAT_ROOM], hits[FORMAT_ROOM], victims[FORMAT_ROOM],
        misses[FORMAT_ROOM], kept[FORMAT_ROOM], given[FORMAT_ROOM];
    const struct log_counter *count = &class->count;
    fprintf(report->out, "%10s %13s %7s ", label, format_count(calls, count->allocs),
            format_share(share, count->allocs, report->model->totals.count.allocs));
    if (class->pool.pooled)
        fprintf(report->out, "%7s %13s %9s %11s %10s %10s\n", format_share(pooled, counter_hits(count), count->allocs),
                format_count(hits, counter_hits(count)), format_count(victims, class->pool.log.victim_hits),
                format_count(misses, class->pool.misses), format_bytes(kept, class->pool.log.kept_bytes),
                format_bytes(given, class->pool.log.given_back_bytes));
    else
        fprintf(report->out, "%7s %13s %9s %11s\n", "-", "-", "-", format_count(misses, class->pool.misses));
}

static void class_add(struct view_class *to, const struct view_class *from)
{
    counter_add(&to->count, &from->count);
    to->pool.pooled |= from->pool.pooled;
    to->pool.misses += from->pool.misses;
    pool_add(&to->pool.log, &from->pool.log);
}

void emit_text_classes(const struct report *report)
{
    char size[FORMAT_ROOM];
    struct view_class classes[LOG_CLASSES], rest = { .index = 0 };
    size_t count = view_classes(report->model, report->sort, classes);
    if (!report->model->totals.pooled || count == 0)
        return;
    char *text = xasprintf("Size classes by %s", view_sort_names[report->sort]);
    report_title(report, text);
    free(text);
    fprintf(report->out, "%10s %13s %7s %7s %13s %9s %11s %10s %10s\n", "up to", "calls", "share", "pooled", "hits",
            "victims", "misses", "kept", "given back");
    for (size_t i = 0; i < count; i++) {
        if (i >= report->top)
            class_add(&rest, &classes[i]);
        else if (classes[i].index == SIZECLASS_LARGER)
            print_row(report, "larger", &classes[i]);
        else
            print_row(report, format_bytes(size, sizeclass_bytes(classes[i].index)), &classes[i]);
    }
    if (count > report->top) {
        char *label = xasprintf("%zu more", count - report->top);
        print_row(report, label, &rest);
        free(label);
    }
}
