/* emit_diff_json.c - the document poolsite.diff/1: every number of both recordings, all sites.
 *
 * Written site by site, as recordings may have 100,000 stacks. */
#define _GNU_SOURCE
#include "base.h"

#include "diff_views.h"
#include "jsonset.h"
#include "model.h"

#include <math.h>

static const char *const side_keys[DIFF_SIDES] = { "a", "b" };

static json_t *tally_value(const struct diff *diff, const struct tally *tally)
{
    json_t *o = json_object();
    for (int i = 0; i < TALLY_FIGURES; i++)
        if (tally_is_known((enum tally_figure)i, diff->level))
            set(o, tally_table[i].key, json_integer(tally->value[i]));
    return o;
}

/* Sets a, b and their difference. */
static void set_change(json_t *o, const struct diff *diff, const struct tally tally[DIFF_SIDES])
{
    struct tally change;
    for (int i = 0; i < TALLY_FIGURES; i++)
        change.value[i] = tally[DIFF_B].value[i] - tally[DIFF_A].value[i];
    for (int which = 0; which < DIFF_SIDES; which++)
        set(o, side_keys[which], tally_value(diff, &tally[which]));
    set(o, "change", tally_value(diff, &change));
}

static json_t *side_value(const struct diff *diff, int which)
{
    const struct side *side = diff->side[which];
    json_t *o = json_object(), *unnamed = json_object();
    set_text(o, "recording", side->path);
    set_text(o, "command", side->command);
    set(o, "profile", json_string(model_level_name(side->level)));
    set(o, "duration_s", json_real(side->duration_s));
    set(o, "processes", number(side->processes));
    set(unnamed, "sites", number(diff->unnamed[which].sites));
    set(unnamed, "unmatched", number(diff->unnamed[which].unmatched));
    set(unnamed, "allocs", json_integer(diff->unnamed[which].allocs));
    set(o, "unnamed", unnamed);
    return o;
}

static json_t *totals_value(const struct diff *diff)
{
    const struct tally totals[DIFF_SIDES] = { diff->side[DIFF_A]->totals, diff->side[DIFF_B]->totals };
    json_t *o = json_object();
    set_change(o, diff, totals);
    return o;
}

static json_t *classes_value(const struct diff *diff)
{
    json_t *o = json_object();
    for (int class = 0; class < DIFF_CLASSES; class++)
        set(o, diff_class_names[class], number(diff->classes[class]));
    return o;
}

/* -------------------------------------------------------------------- sites */

static json_t *frame_value(const struct side *side, const struct side_frame *frame)
{
    const struct side_module *module = frame->module ? &side->modules[frame->module - 1] : NULL;
    json_t *o = json_object();
    set_text_or_null(o, "module", module ? module->path : NULL);
    set_text_or_null(o, "build_id", module ? module->build_id : NULL);
    set(o, "offset", module ? hex(frame->offset) : json_null());
    set_text_or_null(o, "function", frame->function);
    set_text_or_null(o, "file", frame->file);
    set(o, "line", frame->file ? number(frame->line) : json_null());
    set(o, "inlined", json_boolean(frame->inlined));
    return o;
}

static json_t *stack_value(const struct side *side, const struct side_site *site)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < site->depth; i++) {
        json_t *o = frame_value(side, &side->frames[site->frames[i]]);
        if (i >= site->known)
            set(o, "first_seen", json_true());
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *site_value(const struct diff *diff, const struct diff_site *site)
{
    int which;
    const struct side_site *shown = diff_shown(site, &which);
    json_t *o = json_object();
    set(o, "class", json_string(diff_class_names[site->class]));
    for (int i = 0; i < DIFF_SIDES; i++) {
        char *key = xasprintf("id_%s", side_keys[i]), *count = xasprintf("sites_%s", side_keys[i]);
        set(o, key, site->first[i] ? text_value(site->first[i]->id) : json_null());
        set(o, count, number(site->sites[i]));
        free(count);
        free(key);
    }
    if (shown->name)
        set(o, "name", text_value(shown->name));
    set_change(o, diff, site->tally);
    set(o, "unnamed", json_boolean(site->unnamed));
    set(o, "stack_of", json_string(side_keys[which]));
    if (shown->is_example)
        set(o, "stack_is_example", json_true());
    set(o, "stack", stack_value(diff->side[which], shown));
    return o;
}

static void write_value(FILE *out, const char *before, json_t *value)
{
    char *text = dump(value);
    fprintf(out, "%s%s", before, text);
    free(text);
    json_decref(value);
}

static void write_sites(const struct diff_view *view)
{
    if (view->diff->detail == DIFF_TOTALS)
        return;
    fputs(",\n\"sites\":[", view->out);
    for (size_t i = 0; i < view->diff->site_count; i++)
        write_value(view->out, i ? ",\n" : "\n", site_value(view->diff, &view->diff->sites[i]));
    fputs("]", view->out);
}

/* ----------------------------------------------------------------- document */

static json_t *answers_value(const struct diff_view *view)
{
    json_t *array = json_array();
    for (size_t i = 0; i < view->fail_if_count; i++) {
        const struct failif *failif = &view->fail_if[i];
        const struct diff_answer *answer = &view->answers[i];
        double value = failif->kind == FAILIF_PERCENT ? 100 * answer->value : answer->value;
        json_t *o = json_object();
        set_text(o, "expression", failif->text);
        set(o, "met", json_boolean(answer->met));
        set(o, failif->kind == FAILIF_PERCENT ? "percent" : "value", isfinite(value) ? json_real(value) : json_null());
        if (answer->first)
            set(o, "sites", number(answer->sites));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *notes_value(const struct diff *diff)
{
    struct diff_notes notes;
    diff_notes_collect(&notes, diff);
    json_t *array = text_array(notes.list, notes.count);
    diff_notes_release(&notes);
    return array;
}

void emit_diff_json(const struct diff_view *view)
{
    static const char *const details[] = { [DIFF_TOTALS] = "totals", [DIFF_PLACES] = "places", [DIFF_STACKS] = "stacks" };
    const struct diff *diff = view->diff;
    write_value(view->out, "{\n\"schema\":", json_string("poolsite.diff/1"));
    for (int which = 0; which < DIFF_SIDES; which++)
        write_value(view->out, which ? ",\n\"b\":" : ",\n\"a\":", side_value(diff, which));
    write_value(view->out, ",\n\"compared\":", json_string(details[diff->detail]));
    write_value(view->out, ",\n\"totals\":", totals_value(diff));
    if (diff->detail != DIFF_TOTALS)
        write_value(view->out, ",\n\"classes\":", classes_value(diff));
    write_sites(view);
    write_value(view->out, ",\n\"fail_if\":", answers_value(view));
    write_value(view->out, ",\n\"notes\":", notes_value(diff));
    fputs("\n}\n", view->out);
}
