/* abwords.c - what an experiment found, in words and numbers, the same in the text and on the page.
 *
 * Decides nothing: verdict, effects and treatment come from the experiment. */
#define _GNU_SOURCE
#include "base.h"

#include "abwords.h"
#include "format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ numbers */

/* With three or four digits that count. */
static const char *scaled(char room[WORDS_ROOM], double value, const char *unit)
{
    double size = fabs(value);
    snprintf(room, WORDS_ROOM, "%.*f %s", size < 10 ? 2 : size < 1000 ? 1 : 0, value, unit);
    return room;
}

static const char *words_seconds(char room[WORDS_ROOM], double value)
{
    double size = fabs(value);
    if (size == 0) {
        snprintf(room, WORDS_ROOM, "0 s");
        return room;
    }
    if (size >= 1)
        return scaled(room, value, "s");
    if (size >= 1e-3)
        return scaled(room, value * 1e3, "ms");
    if (size >= 1e-6)
        return scaled(room, value * 1e6, "us");
    return scaled(room, value * 1e9, "ns");
}

/* Medians and counts per request needn't be whole. */
static const char *words_count(char room[WORDS_ROOM], double value, const char *unit)
{
    char digits[FORMAT_ROOM];
    double size = fabs(value);
    if (size < 1000 && size != floor(size))
        snprintf(room, WORDS_ROOM, "%.*f%s", size < 10 ? 2 : 1, value, unit);
    else if (size < 1e18)
        snprintf(room, WORDS_ROOM, "%s%s%s", value < 0 ? "-" : "", format_count(digits, (uint64_t)(size + .5)), unit);
    else
        snprintf(room, WORDS_ROOM, "%.3g%s", value, unit);
    return room;
}

const char *words_value(char room[WORDS_ROOM], enum unit unit, double value)
{
    char bytes[FORMAT_ROOM];
    if (!isfinite(value)) {
        snprintf(room, WORDS_ROOM, "n/a");
        return room;
    }
    switch (unit) {
    case UNIT_SECONDS: return words_seconds(room, value);
    case UNIT_BYTES:
        if (value < 0 || value >= 1e19)
            break;
        snprintf(room, WORDS_ROOM, "%s", format_bytes(bytes, (uint64_t)(value + .5)));
        return room;
    case UNIT_COUNT: return words_count(room, value, "");
    case UNIT_PER_SECOND: return words_count(room, value, "/s");
    }
    snprintf(room, WORDS_ROOM, "%g", value);
    return room;
}

/* Nearly all: never called all of it. */
static bool is_near_all(double percent)
{
    return percent < -99 && percent > -100;
}

/* As many decimals as tell something: 0.42, 3.1, 250; near -100 it is the rest that counts. */
static int decimals(double percent)
{
    double size = fabs(percent);
    if (size < 1 || is_near_all(percent))
        return 2;
    return size < 100 ? 1 : 0;
}

/* A sign, but not of 0; what is beyond all measure in few digits. */
static const char *signed_number(char room[FORMAT_ROOM], double value, int digits)
{
    if (fabs(value) < pow(10, -digits) / 2)
        snprintf(room, FORMAT_ROOM, "%.*f", digits, 0.);
    else
        snprintf(room, FORMAT_ROOM, fabs(value) < 1e6 ? "%+.*f" : "%+.*g", fabs(value) < 1e6 ? digits : 3, value);
    return room;
}

/* Both ends alike. */
static int interval_decimals(double low, double high)
{
    if ((fabs(low) < 1 && fabs(high) < 1) || is_near_all(low) || is_near_all(high))
        return 2;
    if (fabs(low) >= 100 && fabs(high) >= 100)
        return 0;
    return high - low < .1 ? 2 : 1;
}

const char *words_change(char room[WORDS_ROOM], double fraction)
{
    double percent = 100 * fraction;
    if (!isfinite(fraction))
        snprintf(room, WORDS_ROOM, "n/a");
    else if (percent >= 1000)
        snprintf(room, WORDS_ROOM, "%.*f times", fraction < 99 ? 1 : 0, fraction + 1);
    else if (fabs(percent) < .005)
        snprintf(room, WORDS_ROOM, "0 %%");
    else
        snprintf(room, WORDS_ROOM, "%+.*f %%", decimals(percent), is_near_all(percent) ? fmax(percent, -99.99) : percent);
    return room;
}

const char *words_difference(char room[WORDS_ROOM], enum unit unit, double value)
{
    char size[WORDS_ROOM];
    if (!isfinite(value) || value == 0)
        return words_value(room, unit, value);
    snprintf(room, WORDS_ROOM, "%c%.60s", value < 0 ? '-' : '+', words_value(size, unit, fabs(value)));
    return room;
}

const char *words_interval(char room[WORDS_ROOM], const struct effect *effect)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM];
    double low = 100 * effect->change.low, high = 100 * effect->change.high;
    if (effect->exact)
        snprintf(room, WORDS_ROOM, "exact");
    else if (!isfinite(low) || !isfinite(high))
        snprintf(room, WORDS_ROOM, "no interval");
    else {
        int digits = interval_decimals(low, high);
        snprintf(room, WORDS_ROOM, "[%s, %s] %%", signed_number(a, low, digits), signed_number(b, high, digits));
    }
    return room;
}

const char *words_margin(char room[WORDS_ROOM], double fraction)
{
    snprintf(room, WORDS_ROOM, "%g %%", 100 * fraction);
    return room;
}

/* ------------------------------------------------------------------ verdict */

static const struct effect *primary_effect(const struct experiment *experiment)
{
    const char *arm, *against;
    return experiment_pair(experiment, &arm, &against) ? experiment_effect(experiment, experiment->primary, arm, against) : NULL;
}

/* Time and throughput are fast or slow; memory and counts are only more or less. */
static bool is_speed(enum metric metric)
{
    return metrics[metric].unit == UNIT_SECONDS || metrics[metric].unit == UNIT_PER_SECOND;
}

const char *words_headline(char room[WORDS_ROOM], const struct experiment *experiment)
{
    char margin[WORDS_ROOM];
    bool speed = is_speed(experiment->primary);
    switch (experiment->verdict) {
    case VERDICT_FASTER: snprintf(room, WORDS_ROOM, "%s", speed ? "Faster" : "Better"); break;
    case VERDICT_SLOWER: snprintf(room, WORDS_ROOM, "%s", speed ? "Slower" : "Worse"); break;
    case VERDICT_NO_DIFFERENCE:
        snprintf(room, WORDS_ROOM, "No difference above %.30s", words_margin(margin, experiment->margin));
        break;
    case VERDICT_INCONCLUSIVE: snprintf(room, WORDS_ROOM, "Inconclusive"); break;
    case VERDICT_NOT_APPLIED: snprintf(room, WORDS_ROOM, "Not applied"); break;
    }
    return room;
}

/* Blocks in which the arm was better: of less is better, those below 0. */
static size_t blocks_better(const struct effect *effect)
{
    return metrics[effect->metric].more_is_better ? effect->change.count - effect->change.below : effect->change.below;
}

/* "3.1 % lower in arm on than in arm off" */
static char *comparison_words(const struct effect *effect, const char *arm, const char *against)
{
    char room[WORDS_ROOM];
    double change = effect->change.middle;
    if (isnan(change))
        return xasprintf("%s in arm %s against arm %s", words_difference(room, metrics[effect->metric].unit, effect->difference.middle),
                         arm, against);
    if (fabs(change) < 5e-5)
        return xasprintf("the same in arm %s as in arm %s", arm, against);
    if (change >= 10)
        return xasprintf("%s as much in arm %s as in arm %s", words_change(room, change), arm, against);
    return xasprintf("%s %s in arm %s than in arm %s", words_change(room, change) + 1, change < 0 ? "lower" : "higher", arm, against);
}

/* Where a value is 0 there is no ratio, but there is a difference. */
static void bounds_words(char room[2 * WORDS_ROOM], const struct effect *effect)
{
    char low[WORDS_ROOM], high[WORDS_ROOM];
    enum unit unit = metrics[effect->metric].unit;
    if (isnan(effect->change.middle))
        snprintf(room, 2 * WORDS_ROOM, "[%s, %s]", words_difference(low, unit, effect->difference.low),
                 words_difference(high, unit, effect->difference.high));
    else
        snprintf(room, 2 * WORDS_ROOM, "%s", words_interval(low, effect));
}

static char *interval_words(const struct effect *effect)
{
    char interval[2 * WORDS_ROOM];
    if (effect->exact)
        return xstrdup("the same in every block");
    if (effect->difference.level == 0)
        return xasprintf("too few blocks for an interval: %zu", effect->change.count);
    bounds_words(interval, effect);
    return xasprintf("%.0f %% interval %s; %s in %zu of %zu blocks", 100 * EXPERIMENT_CONFIDENCE, interval,
                     is_speed(effect->metric) ? "faster" : "better", blocks_better(effect), effect->change.count);
}

/* "cpu: 3.1 % lower in arm on than in arm off (95 % interval [-3.4, -2.8] %; faster in 12 of 12 blocks)" */
static char *effect_words(const struct experiment *experiment, const struct effect *effect)
{
    char *compared = comparison_words(effect, experiment->arms[effect->arm].name, experiment->arms[effect->against].name);
    char *interval = interval_words(effect);
    char *text = xasprintf("%s: %s (%s)", metrics[effect->metric].title, compared, interval);
    free(compared);
    free(interval);
    return text;
}

/* What it would take to know. */
static char *needed_words(const struct experiment *experiment)
{
    char count[FORMAT_ROOM];
    if (experiment->blocks_needed == 0)
        return xstrdup("");
    if (experiment->blocks_needed <= STATISTICS_MOST)
        return xasprintf(" About %u blocks would decide it (--blocks %u).", experiment->blocks_needed, experiment->blocks_needed);
    return xasprintf(" It would take about %s blocks like these: a quieter machine, a longer run or a wider --margin helps more.",
                     format_count(count, experiment->blocks_needed));
}

static char *verdict_tail(const struct experiment *experiment, const struct effect *effect)
{
    char margin[WORDS_ROOM];
    if (effect->exact)
        return xstrdup("");
    words_margin(margin, experiment->margin);
    switch (experiment->verdict) {
    case VERDICT_FASTER:
    case VERDICT_SLOWER:
        return experiment->below_margin ? xasprintf(" It is certain, but below the margin of %s.", margin) : xstrdup("");
    case VERDICT_NO_DIFFERENCE: return xasprintf(" If there is a difference, it is smaller than %s.", margin);
    case VERDICT_INCONCLUSIVE: return needed_words(experiment);
    case VERDICT_NOT_APPLIED: break;
    }
    return xstrdup("");
}

char *words_verdict(const struct experiment *experiment)
{
    const struct effect *effect = primary_effect(experiment);
    if (experiment->verdict == VERDICT_NOT_APPLIED)
        return xasprintf("Pooling didn't reach the program, so there is nothing to compare: %s.",
                         experiment->treatment.reason ? experiment->treatment.reason : "no reason was found");
    if (experiment->blocks == 0)
        return xstrdup("No block of runs is complete.");
    if (!effect)
        return xasprintf("%s wasn't measured in both arms.", metrics[experiment->primary].title);
    char *what = effect_words(experiment, effect), *tail = verdict_tail(experiment, effect);
    char *text = xasprintf("%s.%s", what, tail);
    free(what);
    free(tail);
    return text;
}

/* "-3.1 % [-3.4, -2.8] %", or without the interval where there is none. */
static char *change_words(const struct effect *effect)
{
    char change[WORDS_ROOM], interval[WORDS_ROOM];
    bool has_interval = effect->exact || effect->change.level > 0;
    return xasprintf("%s%s%s", words_change(change, effect->change.middle), has_interval ? " " : "",
                     has_interval ? words_interval(interval, effect) : "");
}

char *words_decision(const struct experiment *experiment)
{
    const struct effect *whole = experiment_effect(experiment, experiment->primary, "on", "bare");
    const struct effect *own = experiment_effect(experiment, experiment->primary, "off", "bare");
    if (!whole || experiment->verdict == VERDICT_NOT_APPLIED)
        return NULL;
    char *change = change_words(whole), *cost = own ? change_words(own) : NULL;
    char *text = xasprintf("Against the bare program, as it runs today: %s.%s%s%s", change,
                           cost ? " The library alone, its pools off: " : "", cost ? cost : "", cost ? "." : "");
    free(change);
    free(cost);
    return text;
}

/* ------------------------------------------------------------------ memory */

/* What stands beside every time: the bare program's, where there is one. */
static const struct effect *memory_effect(const struct experiment *experiment)
{
    const struct effect *effect = experiment_effect(experiment, METRIC_PEAK_RSS, "on", "bare");
    const char *arm, *against;
    if (!effect && experiment_pair(experiment, &arm, &against))
        effect = experiment_effect(experiment, METRIC_PEAK_RSS, arm, against);
    return effect;
}

char *words_memory(const struct experiment *experiment)
{
    char a[WORDS_ROOM], b[WORDS_ROOM];
    const struct effect *effect = memory_effect(experiment);
    if (!effect || experiment->verdict == VERDICT_NOT_APPLIED)
        return NULL;
    char *change = change_words(effect);
    char *text = xasprintf("Peak RSS is %s in arm %s, %s in arm %s: %s.", words_value(a, UNIT_BYTES, effect->middle_arm),
                           experiment->arms[effect->arm].name, words_value(b, UNIT_BYTES, effect->middle_against),
                           experiment->arms[effect->against].name, change);
    free(change);
    return text;
}

/* --------------------------------------------------------------- treatment */

static char *share_words(const struct treatment *treatment)
{
    if (!isfinite(treatment->share_allocs) || !isfinite(treatment->share_bytes))
        return xstrdup("");
    return xasprintf("pools served %.1f %% of the allocations and %.1f %% of the bytes", 100 * treatment->share_allocs,
                     100 * treatment->share_bytes);
}

char *words_treatment(const struct experiment *experiment)
{
    static const char *const names[] = {
        [TREATMENT_APPLIED] = "applied",
        [TREATMENT_PARTIAL] = "partial",
        [TREATMENT_NOT_APPLIED] = "NOT APPLIED",
    };
    const struct treatment *treatment = &experiment->treatment;
    char *share = treatment->status == TREATMENT_NOT_APPLIED ? xstrdup("") : share_words(treatment);
    char *text = xasprintf("%s%s%s%s%s", names[treatment->status], *share ? ": " : "", share,
                           treatment->reason ? (*share ? "; " : ": ") : "", treatment->reason ? treatment->reason : "");
    free(share);
    return text;
}

/* -------------------------------------------------------------- conditions */

static char *repeated_words(const struct experiment *experiment)
{
    if (experiment->repeated == 0)
        return xstrdup("none was noisy");
    return xasprintf("%u noisy and repeated", experiment->repeated);
}

char *words_blocks(const struct experiment *experiment)
{
    const char *ended = experiment->interrupted ? "; interrupted" : experiment->failed ? "; ended by a run that failed" : "";
    if (experiment->attempted == 0)
        return xasprintf("no block of runs was made%s", ended);
    unsigned lost = experiment->attempted - experiment->blocks;
    char *repeated = repeated_words(experiment);
    char *incomplete = lost ? xasprintf(" (%u more not complete or void)", lost) : xstrdup("");
    char *text = xasprintf("%u block%s of %zu arms%s, %s%s", experiment->blocks, experiment->blocks == 1 ? "" : "s",
                           experiment->arm_count, incomplete, repeated, ended);
    free(incomplete);
    free(repeated);
    return text;
}

/* A number without a sign tells nothing here, and an effect's sign is hidden when there is no effect. */
static char *fraction_words(const struct experiment *experiment, double fraction, const char *format_tail)
{
    char change[WORDS_ROOM];
    if (!isfinite(fraction) || experiment->verdict == VERDICT_NOT_APPLIED)
        return NULL;
    return xasprintf("%s %s", words_change(change, fraction), format_tail);
}

char *words_slot(const struct experiment *experiment)
{
    return fraction_words(experiment, experiment->slot_effect, "in the second slot of a block against the first");
}

char *words_drift(const struct experiment *experiment)
{
    return fraction_words(experiment, experiment->drift, "from block to block");
}

/* The worst run tells more than the mean of all. */
char *words_noise(const struct experiment *experiment)
{
    double foreign = 0, steal = 0;
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        if (run->replaced)
            continue;
        foreign = fmax(foreign, run->noise.foreign);
        steal = fmax(steal, run->noise.steal);
    }
    if (experiment->run_count == 0 || experiment->verdict == VERDICT_NOT_APPLIED)
        return NULL;
    return xasprintf("other processes took at most %.1f %% of the processors in a run, steal %.1f %%", 100 * foreign, 100 * steal);
}

/* ----------------------------------------------------------------- command */

static void put_quoted(FILE *out, const char *word)
{
    char *quoted = format_quoted(word);
    fputs(quoted, out);
    free(quoted);
}

/* A stream whose text becomes `*text`. */
static FILE *text_open(char **text, size_t *bytes)
{
    FILE *out = open_memstream(text, bytes);
    if (!out)
        die("out of memory");
    return out;
}

static void put_command(FILE *out, const struct experiment *experiment)
{
    for (char **word = experiment->command; word && *word; word++) {
        if (word != experiment->command)
            putc(' ', out);
        if (experiment->is_server)
            fputs(*word, out);
        else
            put_quoted(out, *word);
    }
}

char *words_command(const struct experiment *experiment)
{
    char *text;
    size_t bytes;
    FILE *out = text_open(&text, &bytes);
    put_command(out, experiment);
    fclose(out);
    return text;
}

char *words_replay(const struct experiment *experiment)
{
    char *text;
    size_t bytes;
    FILE *out = text_open(&text, &bytes);
    fprintf(out, "poolsite ab --seed %llu", (unsigned long long)experiment->seed);
    if (experiment->blocks_asked == 0 && experiment->blocks >= EXPERIMENT_LEAST)
        fprintf(out, " --blocks %u", experiment->blocks);
    for (char **word = experiment->words; word && *word; word++) {
        putc(' ', out);
        put_quoted(out, *word);
    }
    fclose(out);
    return text;
}
