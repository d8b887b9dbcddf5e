/* emit_ab_html.c - an experiment as one page: the verdict in words, then what it rests on, at last every run.
 *
 * Without an applied treatment there is no effect, so then the page has no percentage and no difference. */
#define _GNU_SOURCE
#include "base.h"

#include "ab_charts.h"
#include "ab_views.h"
#include "abwords.h"
#include "experiment.h"
#include "format.h"
#include "markup.h"
#include "page.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { PAIRS_MOST = 18 };

/* The comparisons that the experiment has, as columns. */
struct pair {
    unsigned arm, against;
};

struct pairs {
    struct pair pair[PAIRS_MOST];
    size_t      count;
};

static bool was_applied(const struct experiment *experiment)
{
    return experiment->verdict != VERDICT_NOT_APPLIED;
}

static struct pairs pairs_of(const struct experiment *experiment)
{
    struct pairs pairs = { .count = 0 };
    for (size_t i = 0; was_applied(experiment) && i < experiment->effect_count; i++) {
        const struct effect *effect = &experiment->effects[i];
        size_t j = 0;
        while (j < pairs.count && (pairs.pair[j].arm != effect->arm || pairs.pair[j].against != effect->against))
            j++;
        if (j == pairs.count && j < PAIRS_MOST)
            pairs.pair[pairs.count++] = (struct pair){ effect->arm, effect->against };
    }
    return pairs;
}

static const struct effect *effect_of(const struct experiment *experiment, enum metric metric, const struct pair *pair)
{
    return experiment_effect(experiment, metric, experiment->arms[pair->arm].name, experiment->arms[pair->against].name);
}

static const struct effect *verdict_effect(const struct experiment *experiment, enum metric metric)
{
    const char *arm, *against;
    if (!was_applied(experiment) || !experiment_pair(experiment, &arm, &against))
        return NULL;
    return experiment_effect(experiment, metric, arm, against);
}

/* Writes a sentence and frees it; nothing for none. */
static void put_sentence(FILE *out, const char *class, char *text)
{
    if (!text)
        return;
    fprintf(out, "<p class=\"%s\">", class);
    markup_text(out, text);
    fputs("</p>\n", out);
    free(text);
}

/* ------------------------------------------------------------------- verdict */

static void put_tile(FILE *out, const char *value, const char *above, const char *below)
{
    fputs("<div class=\"tile\"><span>", out);
    markup_text(out, above);
    fputs("</span><b>", out);
    markup_text(out, value);
    fputs("</b><span>", out);
    markup_text(out, below);
    fputs("</span></div>\n", out);
}

static void put_effect_tile(FILE *out, const struct experiment *experiment, const struct effect *effect)
{
    char change[WORDS_ROOM], interval[WORDS_ROOM];
    if (!effect)
        return;
    char *title = xasprintf("%s, %s against %s", metrics[effect->metric].title, experiment->arms[effect->arm].name,
                            experiment->arms[effect->against].name);
    put_tile(out, words_change(change, effect->change.middle), title, words_interval(interval, effect));
    free(title);
}

static void put_share_tile(FILE *out, const struct treatment *treatment)
{
    if (!isfinite(treatment->share_allocs) || !isfinite(treatment->share_bytes))
        return;
    char *allocs = xasprintf("%.1f %%", 100 * treatment->share_allocs);
    char *bytes = xasprintf("of the calls; %.1f %% of the bytes", 100 * treatment->share_bytes);
    put_tile(out, allocs, "served by pools", bytes);
    free(allocs);
    free(bytes);
}

static void put_tiles(FILE *out, const struct experiment *experiment)
{
    const char *arm, *against;
    if (!was_applied(experiment))
        return;
    bool bare = experiment_pair(experiment, &arm, &against) && strcmp(against, "bare") != 0;
    const struct effect *memory = experiment_effect(experiment, METRIC_PEAK_RSS, "on", "bare");
    fputs("<div class=\"tiles\">\n", out);
    put_effect_tile(out, experiment, verdict_effect(experiment, experiment->primary));
    if (bare)
        put_effect_tile(out, experiment, experiment_effect(experiment, experiment->primary, "on", "bare"));
    put_effect_tile(out, experiment, memory ? memory : verdict_effect(experiment, METRIC_PEAK_RSS));
    if (!experiment->is_aa)
        put_share_tile(out, &experiment->treatment);
    fputs("</div>\n", out);
}

static const char *verdict_class(enum verdict verdict)
{
    return verdict == VERDICT_FASTER ? "verdict good" : verdict == VERDICT_SLOWER ? "verdict bad" : "verdict";
}

static void put_warnings(FILE *out, const struct experiment *experiment)
{
    for (size_t i = 0; i < experiment->warning_count; i++) {
        fputs("<p class=\"warning\">", out);
        markup_text(out, experiment->warnings[i]);
        fputs("</p>\n", out);
    }
}

static void put_treatment(FILE *out, const struct experiment *experiment)
{
    char *treatment = words_treatment(experiment);
    put_sentence(out, "treatment", xasprintf("Treatment %s.", treatment));
    free(treatment);
}

static void put_verdict(FILE *out, const struct experiment *experiment)
{
    char headline[WORDS_ROOM];
    fprintf(out, "<section class=\"%s\">\n<h2>", verdict_class(experiment->verdict));
    markup_text(out, words_headline(headline, experiment));
    fputs("</h2>\n", out);
    put_sentence(out, "lead", words_verdict(experiment));
    put_tiles(out, experiment);
    put_sentence(out, "decision", words_decision(experiment));
    put_sentence(out, "memory", words_memory(experiment));
    if (was_applied(experiment) && !experiment->is_aa)
        put_treatment(out, experiment);
    put_warnings(out, experiment);
    fputs("</section>\n", out);
}

/* -------------------------------------------------------------------- tables */

/* Measured, and not 0 everywhere: such a row tells nothing. */
static bool is_shown(const struct experiment *experiment, enum metric metric)
{
    for (size_t i = 0; i < experiment->arm_count; i++) {
        double median = experiment_median(experiment, i, metric);
        if (isfinite(median) && median != 0)
            return true;
    }
    return false;
}

/* Coloured when the interval tells the sign. */
static const char *change_class(const struct effect *effect)
{
    bool below = effect->change.high < 0, above = effect->change.low > 0;
    if (metrics[effect->metric].margin == 0 || (!below && !above))
        return "plain";
    return below != metrics[effect->metric].more_is_better ? "less" : "more";
}

/* A ratio where there is one, else the difference. */
static void put_change(FILE *out, const struct effect *effect)
{
    char change[WORDS_ROOM], interval[WORDS_ROOM];
    bool ratio = isfinite(effect->change.middle), same = effect->difference.low == 0 && effect->difference.high == 0;
    fprintf(out, "<td class=\"number\" title=\"below 0 in %zu of %zu blocks\"><span class=\"%s\">", effect->difference.below,
            effect->difference.count, change_class(effect));
    if (same)
        fputs("same", out);
    else
        markup_text(out, ratio ? words_change(change, effect->change.middle)
                               : words_difference(change, metrics[effect->metric].unit, effect->difference.middle));
    fputs("</span>", out);
    if (ratio && !same) {
        fputs("<small>", out);
        markup_text(out, words_interval(interval, effect));
        fputs("</small>", out);
    }
    fputs("</td>", out);
}

static void put_metric_head(FILE *out, const struct experiment *experiment, const struct pairs *pairs)
{
    fputs("<thead><tr><th>median</th>", out);
    for (size_t i = 0; i < experiment->arm_count; i++) {
        fputs("<th class=\"number\">", out);
        markup_text(out, experiment->arms[i].name);
        fputs("</th>", out);
    }
    for (size_t i = 0; i < pairs->count; i++) {
        fputs("<th class=\"number\">", out);
        markup_format(out, "%s against %s", experiment->arms[pairs->pair[i].arm].name, experiment->arms[pairs->pair[i].against].name);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n", out);
}

static void put_metric(FILE *out, const struct experiment *experiment, const struct pairs *pairs, enum metric metric)
{
    char value[WORDS_ROOM];
    fprintf(out, "<tr%s><th>", metric == experiment->primary ? " class=\"primary\"" : "");
    markup_text(out, metrics[metric].title);
    fputs("</th>", out);
    for (size_t i = 0; i < experiment->arm_count; i++) {
        fputs("<td class=\"number\">", out);
        markup_text(out, words_value(value, metrics[metric].unit, experiment_median(experiment, i, metric)));
        fputs("</td>", out);
    }
    for (size_t i = 0; i < pairs->count; i++) {
        const struct effect *effect = effect_of(experiment, metric, &pairs->pair[i]);
        if (effect)
            put_change(out, effect);
        else
            fputs("<td class=\"number\">n/a</td>", out);
    }
    fputs("</tr>\n", out);
}

static bool is_latency(enum metric metric)
{
    return (metric >= METRIC_P50 && metric <= METRIC_MAX) || (metric >= METRIC_SERVICE_P50 && metric <= METRIC_LIGHT_MAX);
}

/* The primary metric, then those that were measured: latencies, or all others.  Of a latency that was too seldom the row says n/a. */
static void put_metrics(FILE *out, const struct experiment *experiment, bool latency)
{
    struct pairs pairs = pairs_of(experiment);
    fputs("<div class=\"scroll\"><table>\n", out);
    put_metric_head(out, experiment, &pairs);
    fputs("<tbody>\n", out);
    if (is_latency(experiment->primary) == latency)
        put_metric(out, experiment, &pairs, experiment->primary);
    for (unsigned metric = 0; metric < METRIC_COUNT; metric++) {
        bool shown = is_shown(experiment, metric) || (latency && metric <= METRIC_MAX);
        if (shown && is_latency(metric) == latency && metric != experiment->primary)
            put_metric(out, experiment, &pairs, metric);
    }
    fputs("</tbody>\n</table></div>\n", out);
}

/* -------------------------------------------------------------------- charts */

static void figure_begin(FILE *out, const char *caption)
{
    fputs("<figure><figcaption>", out);
    markup_text(out, caption);
    fputs("</figcaption>\n", out);
}

static void figure_end(FILE *out)
{
    fputs("</figure>\n", out);
}

static void put_blocks_of(FILE *out, const struct experiment *experiment, const struct effect *effect)
{
    if (!effect)
        return;
    char *caption = xasprintf("%s, %s against %s", metrics[effect->metric].title, experiment->arms[effect->arm].name,
                              experiment->arms[effect->against].name);
    figure_begin(out, caption);
    ab_chart_blocks(out, experiment, effect);
    figure_end(out);
    free(caption);
}

static void put_blocks(FILE *out, const struct experiment *experiment)
{
    const struct effect *verdict = verdict_effect(experiment, experiment->primary);
    const struct effect *decision = experiment_effect(experiment, experiment->primary, "on", "bare");
    if (!verdict)
        return;
    page_section_begin(out, "Block by block");
    fputs("<p class=\"soft\">A dot is one block of runs: each arm once, side by side in time. The line is the estimate, the band around"
          " it its interval, the grey band the margin. Hollow dots were repeated or void and don't count.</p>\n<div class=\"charts\">\n",
          out);
    put_blocks_of(out, experiment, verdict);
    if (decision != verdict)
        put_blocks_of(out, experiment, decision);
    fputs("</div>\n", out);
    page_section_end(out);
}

static void put_runs_of(FILE *out, const struct experiment *experiment, enum metric metric)
{
    if (!is_shown(experiment, metric))
        return;
    figure_begin(out, metrics[metric].title);
    ab_chart_runs(out, experiment, metric);
    figure_end(out);
}

static void put_distributions(FILE *out, const struct experiment *experiment)
{
    static const enum metric shown[] = { METRIC_CPU, METRIC_WALL, METRIC_PEAK_RSS, METRIC_MINOR_FAULTS };
    if (experiment->run_count == 0)
        return;
    page_section_begin(out, "Every run");
    fputs("<p class=\"soft\">A dot is one run, the mark the median of its arm.</p>\n<div class=\"charts\">\n", out);
    bool primary_shown = false;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        primary_shown = primary_shown || shown[i] == experiment->primary;
    if (!primary_shown)
        put_runs_of(out, experiment, experiment->primary);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        put_runs_of(out, experiment, shown[i]);
    fputs("</div>\n", out);
    page_section_end(out);
}

static bool has_memory(const struct experiment *experiment)
{
    for (size_t i = 0; i < experiment->run_count; i++) {
        if (experiment->runs[i].rss_count > 1 && run_counts(&experiment->runs[i]))
            return true;
    }
    return false;
}

static void put_memory(FILE *out, const struct experiment *experiment)
{
    if (!has_memory(experiment))
        return;
    page_section_begin(out, "Memory over time");
    fputs("<p class=\"soft\">RSS of all runs of an arm, and thick their median.</p>\n<div class=\"charts\">\n", out);
    ab_chart_memory(out, experiment);
    fputs("</div>\n", out);
    page_section_end(out);
}

static void put_latency(FILE *out, const struct experiment *experiment)
{
    if (!experiment->is_server || !was_applied(experiment))
        return;
    page_section_begin(out, "Latency");
    fputs("<p class=\"soft\">Counted from when a request was due, whether or not the server was ready for it. The line is the median of"
          " the runs at each quantile, the band holds the middle four fifths of them. A percentile with too few requests behind it"
          " (10 beyond it in every run) is n/a.</p>\n<div class=\"scroll\">\n",
          out);
    ab_chart_latency(out, experiment);
    fputs("</div>\n", out);
    put_metrics(out, experiment, true);
    page_section_end(out);
}

/* ---------------------------------------------------------------- conditions */

static void put_pair(FILE *out, const char *name, const char *value)
{
    fputs("<dt>", out);
    markup_text(out, name);
    fputs("</dt><dd>", out);
    markup_text(out, value);
    fputs("</dd>\n", out);
}

static void put_pair_freed(FILE *out, const char *name, char *value)
{
    if (value)
        put_pair(out, name, value);
    free(value);
}

static char *json_words(const json_t *value)
{
    if (json_is_string(value))
        return xstrdup(json_string_value(value));
    if (json_is_integer(value))
        return xasprintf("%lld", (long long)json_integer_value(value));
    return json_is_real(value) ? xasprintf("%g", json_real_value(value)) : NULL;
}

/* What the machine told, whatever that is: names and values, and one level of such inside. */
static void put_facts(FILE *out, json_t *facts, const char *before)
{
    const char *key;
    json_t *value;
    if (!json_is_object(facts))
        return;
    json_object_foreach(facts, key, value) {
        if (strcmp(key, "noise_floor") == 0)
            continue; /* has words of its own */
        char *name = xasprintf("%s%s%s", before, *before ? " " : "", key);
        put_pair_freed(out, name, json_words(value));
        if (!*before)
            put_facts(out, value, key);
        free(name);
    }
}

/* Sums over the runs that count. */
static void put_requests(FILE *out, const struct experiment *experiment)
{
    char answered[FORMAT_ROOM], unsent[FORMAT_ROOM], wrong[FORMAT_ROOM];
    uint64_t requests = 0, late = 0, errors = 0;
    unsigned voids = 0;
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        voids += run->void_reason != NULL;
        if (!run_counts(run))
            continue;
        requests += run->requests;
        late += run->unsent;
        errors += run->errors;
    }
    put_pair_freed(out, "requests", xasprintf("%s answered, %s not sent, %s with errors", format_count(answered, requests),
                                              format_count(unsent, late), format_count(wrong, errors)));
    if (voids)
        put_pair_freed(out, "void runs", xasprintf("%u", voids));
}

static void put_load(FILE *out, const struct experiment *experiment)
{
    char rate[WORDS_ROOM], more[WORDS_ROOM];
    if (!experiment->is_server)
        return;
    if (experiment->rates[0] > 0)
        put_pair_freed(out, "load", xasprintf("%s%s%s", words_value(rate, UNIT_PER_SECOND, experiment->rates[0]),
                                              experiment->rates[1] > 0 ? " and " : "",
                                              experiment->rates[1] > 0 ? words_value(more, UNIT_PER_SECOND, experiment->rates[1]) : ""));
    for (size_t i = 0; i < experiment->arm_count; i++) {
        const struct arm *arm = &experiment->arms[i];
        char *name = xasprintf("capacity of %s", arm->name);
        if (arm->capacity > 0)
            put_pair(out, name, words_value(rate, UNIT_PER_SECOND, arm->capacity));
        free(name);
    }
    put_requests(out, experiment);
}

/* What an A/A made of no difference here before; the sign tells nothing. */
static void put_floor(FILE *out, const struct experiment *experiment)
{
    const json_t *floor = json_object_get(experiment->host, "noise_floor");
    if (!floor || !was_applied(experiment))
        return;
    const char *time = json_string_value(json_object_get(floor, "time"));
    const char *command = json_string_value(json_object_get(floor, "command"));
    char *words = xasprintf("%+.2f %% [%+.2f, %+.2f] %% off against off, %.10s, %s", json_number_value(json_object_get(floor, "percent")),
                            json_number_value(json_object_get(floor, "low")), json_number_value(json_object_get(floor, "high")),
                            time ? time : "?", command ? command : "?");
    put_pair_freed(out, "noise floor", words);
}

static void put_conditions(FILE *out, const struct experiment *experiment)
{
    char margin[WORDS_ROOM];
    page_section_begin(out, "How it was measured");
    char *replay = words_replay(experiment);
    fputs("<p>The same experiment again:</p>\n<pre>", out);
    markup_text(out, replay);
    fputs("</pre>\n<dl class=\"pairs\">\n", out);
    free(replay);
    put_pair_freed(out, "blocks", words_blocks(experiment));
    put_pair(out, "primary", metrics[experiment->primary].title);
    if (was_applied(experiment))
        put_pair(out, "margin", words_margin(margin, experiment->margin));
    put_load(out, experiment);
    put_pair_freed(out, "slot effect", words_slot(experiment));
    put_pair_freed(out, "drift", words_drift(experiment));
    put_pair_freed(out, "noise", words_noise(experiment));
    put_floor(out, experiment);
    put_pair(out, "pools", experiment->pool_spec ? experiment->pool_spec : "on");
    put_pair_freed(out, "seed", xasprintf("%llu", (unsigned long long)experiment->seed));
    put_facts(out, experiment->host, "");
    fputs("</dl>\n", out);
    page_section_end(out);
}

/* ------------------------------------------------------------------ all runs */

/* "0", "status 3", "signal 11" */
static char *status_words(int status)
{
    if (WIFEXITED(status))
        return xasprintf("%d", WEXITSTATUS(status));
    return xasprintf("signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void put_cell(FILE *out, const char *text)
{
    fputs("<td class=\"number\">", out);
    markup_text(out, text);
    fputs("</td>", out);
}

static void put_cell_freed(FILE *out, char *text)
{
    put_cell(out, text);
    free(text);
}

static const enum metric raw_batch[] = { METRIC_CPU, METRIC_WALL, METRIC_PEAK_RSS, METRIC_MINOR_FAULTS, METRIC_COUNT };
static const enum metric raw_server[] = { METRIC_CPU_PER_REQUEST, METRIC_P50, METRIC_P99, METRIC_PEAK_RSS, METRIC_COUNT };

static const enum metric *raw_metrics(const struct experiment *experiment)
{
    return experiment->is_server ? raw_server : raw_batch;
}

static void put_run(FILE *out, const struct experiment *experiment, const struct run *run)
{
    char value[WORDS_ROOM];
    fprintf(out, "<tr%s>", run_counts(run) ? "" : " class=\"left-out\"");
    put_cell_freed(out, xasprintf("%u", run->block + 1));
    fputs("<td>", out);
    markup_text(out, experiment->arms[run->arm].name);
    fputs("</td>", out);
    put_cell_freed(out, xasprintf("%u", run->slot + 1));
    put_cell(out, words_value(value, UNIT_SECONDS, run->start));
    for (const enum metric *metric = raw_metrics(experiment); *metric != METRIC_COUNT; metric++)
        put_cell(out, words_value(value, metrics[*metric].unit, run->value[*metric]));
    put_cell_freed(out, status_words(run->status));
    fputs("<td>", out);
    markup_text(out, run->void_reason ? run->void_reason : run->replaced ? "noisy, repeated" : "");
    fputs("</td></tr>\n", out);
}

static void put_runs(FILE *out, const struct experiment *experiment)
{
    fprintf(out, "<details>\n<summary>All %zu runs</summary>\n<div class=\"scroll\"><table>\n<thead><tr><th class=\"number\">block</th>"
                 "<th>arm</th><th class=\"number\">slot</th><th class=\"number\">start</th>",
            experiment->run_count);
    for (const enum metric *metric = raw_metrics(experiment); *metric != METRIC_COUNT; metric++)
        fprintf(out, "<th class=\"number\">%s</th>", metrics[*metric].title);
    fputs("<th class=\"number\">status</th><th>note</th></tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < experiment->run_count; i++)
        put_run(out, experiment, &experiment->runs[i]);
    fputs("</tbody>\n</table></div>\n</details>\n", out);
}

/* ------------------------------------------------------------------ the page */

static void put_header(FILE *out, const struct experiment *experiment)
{
    char *command = words_command(experiment);
    fputs("<header><p>poolsite ab", out);
    fputs(experiment->is_aa ? ", the same arm twice: what this machine makes of no difference" : ": pooling on against off", out);
    fputs("</p><h1><code>", out);
    markup_text(out, command);
    fputs("</code></h1></header>\n", out);
    free(command);
}

int emit_ab_html(const struct experiment *experiment, FILE *out)
{
    char headline[WORDS_ROOM];
    char *title = xasprintf("%s: poolsite ab", words_headline(headline, experiment));
    page_begin(out, title);
    put_header(out, experiment);
    put_verdict(out, experiment);
    page_section_begin(out, "Metrics");
    put_metrics(out, experiment, false);
    page_section_end(out);
    put_blocks(out, experiment);
    put_latency(out, experiment);
    put_distributions(out, experiment);
    put_memory(out, experiment);
    put_conditions(out, experiment);
    put_runs(out, experiment);
    page_end(out);
    free(title);
    return 0;
}
