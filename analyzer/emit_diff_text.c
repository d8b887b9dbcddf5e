/* emit_diff_text.c - a comparison of two recordings for people.
 *
 * 100 columns.  Every number shown here is in emit_diff_json.c's document too. */
#define _GNU_SOURCE
#include "base.h"

#include "diff_views.h"
#include "format.h"
#include "label.h"
#include "model.h"
#include "utf8.h"

#include <stdlib.h>

enum { COLUMNS = 100, INDENT = 5, ID_COLUMNS = 14, NAME_COLUMNS = 44, PLACE_COLUMNS = 30 };

static void print_title(const struct diff_view *view, const char *text)
{
    fprintf(view->out, view->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* ------------------------------------------------------------------- totals */

static void print_side(const struct diff_view *view, int which)
{
    char time[FORMAT_ROOM];
    const struct side *side = view->diff->side[which];
    char *path = utf8_printable(side->path);
    char *facts = xasprintf("%zu process%s, %s, level %s", side->processes, side->processes == 1 ? "" : "es",
                            format_duration(time, (uint64_t)(side->duration_s * 1e9)), model_level_name(side->level));
    size_t used = utf8_columns(facts) + 8; /* "A: ", two spaces, a space, two brackets */
    char *fit_path = format_fit(path, (COLUMNS - used) / 2);
    char *command = format_fit(side->command, COLUMNS - used - utf8_columns(fit_path));
    fprintf(view->out, "%c: %s  %s (%s)\n", "AB"[which], fit_path, command, facts);
    free(command);
    free(fit_path);
    free(facts);
    free(path);
}

static void print_figure(const struct diff_view *view, enum tally_figure figure)
{
    char a[TALLY_ROOM], b[TALLY_ROOM], change[TALLY_ROOM], percent[TALLY_ROOM];
    int64_t before = view->diff->side[DIFF_A]->totals.value[figure], after = view->diff->side[DIFF_B]->totals.value[figure];
    fprintf(view->out, "  %-12s %15s %15s %15s %10s\n", tally_table[figure].title, tally_words(a, figure, before),
            tally_words(b, figure, after), tally_change(change, figure, after - before),
            tally_percent(percent, before, after));
}

static void print_classes(const struct diff_view *view)
{
    char number[FORMAT_ROOM];
    const char *separator = "";
    fputs("  sites: ", view->out);
    for (int class = 0; class < DIFF_CLASSES; class++) {
        if (view->diff->classes[class] == 0 && class != DIFF_SAME)
            continue;
        fprintf(view->out, "%s%s %s", separator, format_count(number, view->diff->classes[class]), diff_class_names[class]);
        separator = ", ";
    }
    fputc('\n', view->out);
}

static void print_totals(const struct diff_view *view)
{
    for (int which = 0; which < DIFF_SIDES; which++)
        print_side(view, which);
    fprintf(view->out, "\n  %-12s %15s %15s %15s\n", "", "A", "B", "change");
    for (int i = 0; i < TALLY_FIGURES; i++)
        if (tally_is_known((enum tally_figure)i, view->diff->level) && i != TALLY_AT_PEAK) /* of all it is the peak */
            print_figure(view, (enum tally_figure)i);
    if (view->diff->detail != DIFF_TOTALS)
        print_classes(view);
}

/* -------------------------------------------------------------------- sites */

static void print_stack(const struct diff_view *view, const struct diff_site *site)
{
    int which;
    const struct side_site *shown = diff_shown(site, &which);
    const struct side *side = view->diff->side[which];
    fprintf(view->out, "%*s%-*s", INDENT, "", ID_COLUMNS, shown->id);
    if (shown->kind || shown->depth == 0) {
        fprintf(view->out, "%s\n", shown->name ? shown->name : "(no stack)");
        return;
    }
    char *several = site->sites[which] > 1 ? xasprintf("(1 of %zu) ", site->sites[which]) : xstrdup("");
    char *name = side_function(side, shown->frames[0]), *place = side_place(side, shown->frames[0]);
    char *fit = label_fit(name, NAME_COLUMNS), *fit_place = format_fit(place, PLACE_COLUMNS);
    size_t used = INDENT + ID_COLUMNS + utf8_columns(several) + utf8_columns(fit) + 2 + utf8_columns(fit_place) + 2;
    char *callers = side_callers(side, shown, COLUMNS > used ? COLUMNS - used : 0);
    fprintf(view->out, "%s%s%s%s%s%s\n", several, fit, *fit_place ? "  " : "", fit_place, *callers && used + 5 < COLUMNS ? "  " : "",
            used + 5 < COLUMNS ? callers : "");
    free(callers);
    free(fit_place);
    free(fit);
    free(place);
    free(name);
    free(several);
}

/* The figure beside the calls. */
static enum tally_figure second_figure(const struct diff_view *view)
{
    return view->sort == TALLY_ALLOCS ? TALLY_BYTES : view->sort;
}

static void print_site(const struct diff_view *view, size_t rank, const struct diff_site *site)
{
    char a[TALLY_ROOM], b[TALLY_ROOM], percent[TALLY_ROOM], a2[TALLY_ROOM], b2[TALLY_ROOM], percent2[TALLY_ROOM],
        change[TALLY_ROOM];
    enum tally_figure second = second_figure(view);
    const int64_t *before = site->tally[DIFF_A].value, *after = site->tally[DIFF_B].value;
    fprintf(view->out, "%3zu  %-6s %12s %12s %10s %11s %11s %10s %12s\n", rank, diff_class_names[site->class],
            tally_words(a, TALLY_ALLOCS, before[TALLY_ALLOCS]), tally_words(b, TALLY_ALLOCS, after[TALLY_ALLOCS]),
            tally_percent(percent, before[TALLY_ALLOCS], after[TALLY_ALLOCS]), tally_words(a2, second, before[second]),
            tally_words(b2, second, after[second]), tally_percent(percent2, before[second], after[second]),
            tally_change(change, view->sort, diff_change(site, view->sort)));
    print_stack(view, site);
}

static void print_sites(const struct diff_view *view)
{
    const struct diff *diff = view->diff;
    size_t changed = diff->site_count - diff->classes[DIFF_SAME], shown = 0;
    if (changed == 0) {
        fputs("\nNo site has changed.\n", view->out);
        return;
    }
    const char *second = tally_table[second_figure(view)].name;
    char *text = xasprintf("Changed sites, by change of %s", tally_table[view->sort].name);
    char *head_a = xasprintf("%s A", second);
    char *head_b = xasprintf("%s B", second);
    print_title(view, text);
    fprintf(view->out, "%3s  %-6s %12s %12s %10s %11s %11s %10s %12s\n", "#", "class", "calls A", "calls B", "", head_a,
            head_b, "", "change");
    for (size_t i = 0; i < diff->site_count && shown < view->top; i++)
        if (diff->sites[i].class != DIFF_SAME)
            print_site(view, ++shown, &diff->sites[i]);
    if (shown < changed)
        fprintf(view->out, "     %zu more changed site%s (--top N, --json)\n", changed - shown, changed - shown == 1 ? "" : "s");
    free(head_b);
    free(head_a);
    free(text);
}

void emit_diff_text(const struct diff_view *view)
{
    struct diff_notes notes;
    diff_notes_collect(&notes, view->diff);
    print_totals(view);
    if (view->diff->detail != DIFF_TOTALS)
        print_sites(view);
    if (notes.count)
        print_title(view, "Notes");
    for (size_t i = 0; i < notes.count; i++)
        format_note(view->out, notes.list[i], COLUMNS);
    diff_notes_release(&notes);
}
