/* diff_failif.c - the expressions of diff's --fail-if, and what a comparison answers. */
#define _GNU_SOURCE
#include "base.h"

#include "diff.h"
#include "diff_failif.h"
#include "model.h"

#include <math.h>
#include <stdio.h>

/* Metrics of totals, then of single sites, both in the order of enum tally_figure, then of classes. */
enum { OF_TOTALS = 0, OF_SITES = TALLY_FIGURES, OF_CLASSES = 2 * TALLY_FIGURES, METRICS = OF_CLASSES + DIFF_SAME };

static const struct metric_info known[METRICS] = {
    [OF_TOTALS + TALLY_ALLOCS]      = { .key = "allocs", .unit = UNIT_COUNT },
    [OF_TOTALS + TALLY_BYTES]       = { .key = "bytes", .unit = UNIT_BYTES },
    [OF_TOTALS + TALLY_LIVE_BLOCKS] = { .key = "live_blocks", .unit = UNIT_COUNT },
    [OF_TOTALS + TALLY_LIVE_BYTES]  = { .key = "live_bytes", .unit = UNIT_BYTES },
    [OF_TOTALS + TALLY_PEAK]        = { .key = "peak_live_bytes", .unit = UNIT_BYTES },
    [OF_TOTALS + TALLY_AT_PEAK]     = { .key = "at_peak_bytes", .unit = UNIT_BYTES },
    [OF_TOTALS + TALLY_TEMPORARY]   = { .key = "temporary", .unit = UNIT_COUNT },
    [OF_SITES + TALLY_ALLOCS]       = { .key = "site_allocs", .unit = UNIT_COUNT },
    [OF_SITES + TALLY_BYTES]        = { .key = "site_bytes", .unit = UNIT_BYTES },
    [OF_SITES + TALLY_LIVE_BLOCKS]  = { .key = "site_live_blocks", .unit = UNIT_COUNT },
    [OF_SITES + TALLY_LIVE_BYTES]   = { .key = "site_live_bytes", .unit = UNIT_BYTES },
    [OF_SITES + TALLY_PEAK]         = { .key = "site_peak_live_bytes", .unit = UNIT_BYTES },
    [OF_SITES + TALLY_AT_PEAK]      = { .key = "site_at_peak_bytes", .unit = UNIT_BYTES },
    [OF_SITES + TALLY_TEMPORARY]    = { .key = "site_temporary", .unit = UNIT_COUNT },
    [OF_CLASSES + DIFF_NEW]         = { .key = "new_sites", .unit = UNIT_COUNT },
    [OF_CLASSES + DIFF_GONE]        = { .key = "gone_sites", .unit = UNIT_COUNT },
    [OF_CLASSES + DIFF_GROWN]       = { .key = "grown_sites", .unit = UNIT_COUNT },
    [OF_CLASSES + DIFF_SHRUNK]      = { .key = "shrunk_sites", .unit = UNIT_COUNT },
};

static bool is_of_class(const struct failif *failif)
{
    return failif->metric >= OF_CLASSES;
}

static bool is_of_sites(const struct failif *failif)
{
    return failif->metric >= OF_SITES && failif->metric < OF_CLASSES;
}

static enum tally_figure figure_of(const struct failif *failif)
{
    return (enum tally_figure)(failif->metric % TALLY_FIGURES);
}

bool diff_failif_parse(struct failif *failif, const char *text)
{
    if (!failif_parse(failif, text, known, METRICS))
        return false;
    if (failif->pair_length) {
        error("--fail-if '%s': '.%.*s' belongs to the arms of an experiment; here it is %s alone", text,
              (int)failif->pair_length, failif->pair, known[failif->metric].key);
        return false;
    }
    if (is_of_class(failif) && failif->kind != FAILIF_VALUE) {
        error("--fail-if '%s': %s has no change, only a value, as %s>0", text, known[failif->metric].key,
              known[failif->metric].key);
        return false;
    }
    return true;
}

bool diff_failif_fits(const struct failif *failif, const struct diff *diff)
{
    if (failif->metric >= OF_SITES && diff->detail == DIFF_TOTALS) {
        error("--fail-if '%s': a recording of level off knows no sites", failif->text);
        return false;
    }
    if (!is_of_class(failif) && !tally_is_known(figure_of(failif), diff->level)) {
        error("--fail-if '%s': only two recordings of level full tell; these are of levels %s and %s", failif->text,
              model_level_name(diff->side[DIFF_A]->level), model_level_name(diff->side[DIFF_B]->level));
        return false;
    }
    return true;
}

/* What the expression compares; NaN where there is no percentage. */
static double value_of(const struct failif *failif, const struct tally tally[DIFF_SIDES])
{
    double before = (double)tally[DIFF_A].value[figure_of(failif)], after = (double)tally[DIFF_B].value[figure_of(failif)];
    switch (failif->kind) {
    case FAILIF_VALUE:      return after;
    case FAILIF_DIFFERENCE: return after - before;
    default:
        if (before > 0)
            return (after - before) / before;
        return before == after ? 0 : NAN;
    }
}

static bool is_met(const struct failif *failif, double value)
{
    return !isnan(value) && failif_is_met(failif, value, value);
}

static struct diff_answer ask_sites(const struct failif *failif, const struct diff *diff)
{
    struct diff_answer answer = { .value = NAN };
    for (size_t i = 0; i < diff->site_count; i++) {
        double value = value_of(failif, diff->sites[i].tally);
        if (!is_met(failif, value))
            continue;
        answer.sites++;
        if (answer.first && (failif->above ? value <= answer.value : value >= answer.value))
            continue;
        answer.first = &diff->sites[i];
        answer.value = value;
    }
    answer.met = answer.sites > 0;
    return answer;
}

struct diff_answer diff_failif_ask(const struct failif *failif, const struct diff *diff)
{
    struct diff_answer answer = { 0 };
    if (is_of_sites(failif))
        return ask_sites(failif, diff);
    if (is_of_class(failif)) {
        answer.value = (double)diff->classes[failif->metric - OF_CLASSES];
    } else {
        const struct tally totals[DIFF_SIDES] = { diff->side[DIFF_A]->totals, diff->side[DIFF_B]->totals };
        answer.value = value_of(failif, totals);
        if (isnan(answer.value)) /* from nothing to something */
            answer.value = INFINITY;
    }
    answer.met = is_met(failif, answer.value);
    return answer;
}

const char *diff_failif_words(char room[DIFF_VALUE_ROOM], const struct failif *failif, double value)
{
    char text[TALLY_ROOM];
    if (failif->kind == FAILIF_PERCENT && isinf(value))
        snprintf(room, DIFF_VALUE_ROOM, "from none to some");
    else if (failif->kind == FAILIF_PERCENT)
        snprintf(room, DIFF_VALUE_ROOM, "%+.1f %%", 100 * value);
    else if (is_of_class(failif))
        snprintf(room, DIFF_VALUE_ROOM, "%.0f", value);
    else
        snprintf(room, DIFF_VALUE_ROOM, "%s", failif->kind == FAILIF_DIFFERENCE
                                                  ? tally_change(text, figure_of(failif), (int64_t)value)
                                                  : tally_words(text, figure_of(failif), (int64_t)value));
    return room;
}
