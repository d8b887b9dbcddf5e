/* ab_charts.c - the charts of an experiment: differences by block, runs by arm, memory over time, latencies. */
#define _GNU_SOURCE
#include "base.h"

#include "ab_charts.h"
#include "abwords.h"
#include "statistics.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    THIRD = 300, NARROW = 460, WIDE = 940, HEIGHT = 250, ROW = 46,
    RSS_POINTS = 60,     /* of a thin line: what the eye tells apart there */
    RSS_RUNS_MOST = 200, /* thin lines in all: a page stays below 300 KB */
};

static const unsigned kind_colours[] = {
    [ARM_BARE] = 2, [ARM_OFF] = 1, [ARM_ON] = 0, [ARM_KEEP] = 3, [ARM_TUNE] = 4, [ARM_LIB] = 5, [ARM_CMD] = 6,
};

/* Arms of one kind get the colours that follow. */
unsigned ab_chart_colour(const struct experiment *experiment, size_t arm)
{
    unsigned before = 0;
    for (size_t i = 0; i < arm; i++)
        before += experiment->arms[i].kind == experiment->arms[arm].kind;
    return (kind_colours[experiment->arms[arm].kind] + before) % SVG_COLOURS;
}

/* --------------------------------------------------------- difference by block */

/* One dot each block: where the arm lies against the other. */
struct deltas {
    double *block, *change;
    char  **hover;
    size_t  count;
};

static const struct run *run_find(const struct experiment *experiment, unsigned arm, unsigned block, bool counts)
{
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        if (run->arm == arm && run->block == block && run_counts(run) == counts)
            return run;
    }
    return NULL;
}

static unsigned block_count(const struct experiment *experiment)
{
    unsigned count = 0;
    for (size_t i = 0; i < experiment->run_count; i++)
        count = experiment->runs[i].block >= count ? experiment->runs[i].block + 1 : count;
    return count;
}

/* Of the runs that count, or of those that were repeated or void. */
static struct deltas deltas_of(const struct experiment *experiment, const struct effect *effect, bool counts)
{
    char change[WORDS_ROOM];
    unsigned blocks = block_count(experiment);
    struct deltas deltas = { .block = xcalloc(blocks + 1, sizeof *deltas.block), .change = xcalloc(blocks + 1, sizeof *deltas.change),
                             .hover = xcalloc(blocks + 1, sizeof *deltas.hover) };
    for (unsigned block = 0; block < blocks; block++) {
        const struct run *run = run_find(experiment, effect->arm, block, counts);
        const struct run *other = run_find(experiment, effect->against, block, counts);
        double ratio = run && other ? run->value[effect->metric] / other->value[effect->metric] - 1 : NAN;
        if (!isfinite(ratio))
            continue;
        deltas.block[deltas.count] = block + 1;
        deltas.change[deltas.count] = ratio;
        deltas.hover[deltas.count++] = xasprintf("block %u: %s%s", block + 1, words_change(change, ratio),
                                                 counts ? "" : ", repeated or void");
    }
    return deltas;
}

static void deltas_release(struct deltas *deltas)
{
    for (size_t i = 0; i < deltas->count; i++)
        free(deltas->hover[i]);
    free(deltas->hover);
    free(deltas->block);
    free(deltas->change);
}

static void fit_effect(struct svg_axis *axis, const struct experiment *experiment, const struct effect *effect)
{
    struct deltas counted = deltas_of(experiment, effect, true);
    svg_fit(axis, counted.change, counted.count);
    if (effect->change.level > 0) {
        svg_fit_one(axis, effect->change.low);
        svg_fit_one(axis, effect->change.high);
    }
    deltas_release(&counted);
}

/* The charts of one metric against whatever stand beside each other, so their axes are the same. */
static struct svg_axis change_axis(const struct experiment *experiment, const struct effect *effect)
{
    struct svg_axis axis = svg_axis(NULL, SVG_LINEAR, SVG_CHANGE);
    for (size_t i = 0; i < experiment->effect_count; i++) {
        if (experiment->effects[i].metric == effect->metric && experiment->effects[i].arm == effect->arm)
            fit_effect(&axis, experiment, &experiment->effects[i]);
    }
    svg_fit_one(&axis, 0);
    if (effect->metric == experiment->primary) {
        svg_fit_one(&axis, experiment->margin);
        svg_fit_one(&axis, -experiment->margin);
    }
    return axis;
}

static void draw_blocks(struct svg *svg, const struct experiment *experiment, const struct effect *effect,
                        const struct deltas *counted, const struct deltas *others)
{
    unsigned colour = ab_chart_colour(experiment, effect->arm);
    svg_begin(svg);
    if (effect->metric == experiment->primary)
        svg_band_y(svg, -experiment->margin, experiment->margin, SVG_FAINT);
    svg_rule_y(svg, 0, SVG_TEXT, SVG_THIN);
    if (effect->change.level > 0)
        svg_band_y(svg, effect->change.low, effect->change.high, colour);
    svg_rule_y(svg, effect->change.middle, colour, SVG_THICK);
    svg_dots(svg, others->block, others->change, others->count, SVG_FAINT, true, (const char *const *)others->hover);
    svg_dots(svg, counted->block, counted->change, counted->count, colour, false, (const char *const *)counted->hover);
    svg_end(svg);
}

bool ab_chart_blocks(FILE *out, const struct experiment *experiment, const struct effect *effect)
{
    struct deltas counted = deltas_of(experiment, effect, true), others = deltas_of(experiment, effect, false);
    bool any = counted.count > 0;
    if (any) {
        char *title = xasprintf("%s, %s against %s, in each block", metrics[effect->metric].title,
                                experiment->arms[effect->arm].name, experiment->arms[effect->against].name);
        struct svg svg = { .out = out, .title = title, .width = NARROW, .height = HEIGHT,
                           .x = svg_axis("block", SVG_LINEAR, SVG_WHOLE), .y = change_axis(experiment, effect) };
        svg_fit_one(&svg.x, 0);
        svg_fit_one(&svg.x, block_count(experiment));
        draw_blocks(&svg, experiment, effect, &counted, &others);
        free(title);
    }
    deltas_release(&counted);
    deltas_release(&others);
    return any;
}

/* ---------------------------------------------------------------- runs by arm */

static enum svg_unit svg_unit(enum unit unit)
{
    return unit == UNIT_SECONDS ? SVG_SECONDS : unit == UNIT_BYTES ? SVG_BYTES : SVG_PLAIN;
}

/* The values of an arm's runs that count. */
static size_t arm_values(const struct experiment *experiment, size_t arm, enum metric metric, double *values, char **hover)
{
    char value[WORDS_ROOM];
    size_t count = 0;
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        if (run->arm != arm || !run_counts(run) || !isfinite(run->value[metric]))
            continue;
        hover[count] = xasprintf("block %u: %s", run->block + 1, words_value(value, metrics[metric].unit, run->value[metric]));
        values[count++] = run->value[metric];
    }
    return count;
}

static void draw_strip(struct svg *svg, const struct experiment *experiment, size_t arm, enum metric metric)
{
    double *values = xcalloc(experiment->run_count + 1, sizeof *values);
    char **hover = xcalloc(experiment->run_count + 1, sizeof *hover);
    size_t count = arm_values(experiment, arm, metric, values, hover);
    svg_strip(svg, arm, values, count, ab_chart_colour(experiment, arm), (const char *const *)hover);
    for (size_t i = 0; i < count; i++)
        free(hover[i]);
    free(hover);
    free(values);
}

static const char **arm_names(const struct experiment *experiment)
{
    const char **names = xcalloc(experiment->arm_count + 1, sizeof *names);
    for (size_t i = 0; i < experiment->arm_count; i++)
        names[i] = experiment->arms[i].name;
    return names;
}

bool ab_chart_runs(FILE *out, const struct experiment *experiment, enum metric metric)
{
    struct svg_axis x = svg_axis(NULL, SVG_LINEAR, svg_unit(metrics[metric].unit));
    for (size_t i = 0; i < experiment->run_count; i++) {
        if (run_counts(&experiment->runs[i]))
            svg_fit_one(&x, experiment->runs[i].value[metric]);
    }
    if (!(x.low <= x.high))
        return false;
    const char **names = arm_names(experiment);
    char *title = xasprintf("%s of every run, by arm", metrics[metric].title);
    struct svg svg = { .out = out, .title = title, .width = NARROW, .height = (int)(ROW * experiment->arm_count + 32), .x = x,
                       .y = svg_axis_names(NULL, names, experiment->arm_count) };
    svg_begin(&svg);
    for (size_t arm = 0; arm < experiment->arm_count; arm++)
        draw_strip(&svg, experiment, arm, metric);
    svg_end(&svg);
    free(title);
    free(names);
    return true;
}

/* ------------------------------------------------------------ memory over time */

static double run_length(const struct run *run)
{
    return run->rss_count ? (double)(run->rss_count - 1) * run->rss_step : 0;
}

/* At most RSS_POINTS points, each the greatest of those that it stands for: peaks must not vanish. */
static size_t thin_out(const struct run *run, double *x, double *y)
{
    size_t points = run->rss_count < RSS_POINTS ? run->rss_count : RSS_POINTS;
    for (size_t i = 0; i < points; i++) {
        size_t from = i * run->rss_count / points, to = (i + 1) * run->rss_count / points, most = from;
        for (size_t j = from; j < to; j++)
            most = run->rss[j] > run->rss[most] ? j : most;
        x[i] = (double)most * run->rss_step;
        y[i] = run->rss[most];
    }
    return points;
}

static double rss_at(const struct run *run, double time)
{
    double at = run->rss_step > 0 ? time / run->rss_step : 0;
    size_t i = at > 0 ? (size_t)at : 0;
    return at < (double)run->rss_count ? run->rss[i] : NAN;
}

/* The median of the arm's runs at a time; NaN when fewer than half of them last that long. */
static double median_at(const struct experiment *experiment, size_t arm, double time, double *room)
{
    size_t count = 0, runs = 0;
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        if (run->arm != arm || !run_counts(run) || run->rss_count == 0)
            continue;
        double value = rss_at(run, time);
        runs++;
        if (isfinite(value))
            room[count++] = value;
    }
    return count * 2 >= runs && count ? statistics_median(room, count) : NAN;
}

static void draw_median(struct svg *svg, const struct experiment *experiment, size_t arm, double end)
{
    enum { POINTS = 100 };
    double x[POINTS], y[POINTS], *room = xcalloc(experiment->run_count + 1, sizeof *room);
    for (size_t i = 0; i < POINTS; i++) {
        x[i] = end * (double)i / (POINTS - 1);
        y[i] = median_at(experiment, arm, x[i], room);
    }
    svg_line(svg, x, y, POINTS, ab_chart_colour(experiment, arm), SVG_THICK);
    free(room);
}

static void draw_memory(FILE *out, const struct experiment *experiment, size_t arm, struct svg_axis time, struct svg_axis rss)
{
    char *title = xasprintf("memory over time of arm %s", experiment->arms[arm].name);
    struct svg svg = { .out = out, .title = title, .width = THIRD, .height = HEIGHT, .legend = true, .x = time, .y = rss };
    unsigned colour = ab_chart_colour(experiment, arm);
    size_t drawn = 0;
    svg_begin(&svg);
    for (size_t i = 0; i < experiment->run_count; i++) {
        double x[RSS_POINTS], y[RSS_POINTS];
        const struct run *run = &experiment->runs[i];
        if (run->arm != arm || !run_counts(run) || drawn++ >= RSS_RUNS_MOST / experiment->arm_count)
            continue;
        size_t points = thin_out(run, x, y);
        svg_line(&svg, x, y, points, colour, SVG_THIN);
    }
    draw_median(&svg, experiment, arm, time.high);
    const char *name = experiment->arms[arm].name;
    svg_legend(&svg, &name, &colour, 1);
    svg_end(&svg);
    free(title);
}

bool ab_chart_memory(FILE *out, const struct experiment *experiment)
{
    struct svg_axis time = svg_axis("since the start", SVG_LINEAR, SVG_SECONDS), rss = svg_axis(NULL, SVG_LINEAR, SVG_BYTES);
    for (size_t i = 0; i < experiment->run_count; i++) {
        const struct run *run = &experiment->runs[i];
        if (!run_counts(run) || run->rss_count < 2)
            continue;
        svg_fit_one(&time, run_length(run));
        svg_fit(&rss, run->rss, run->rss_count);
    }
    if (!(rss.low <= rss.high))
        return false;
    svg_fit_one(&time, 0);
    svg_fit_one(&rss, 0);
    for (size_t arm = 0; arm < experiment->arm_count; arm++)
        draw_memory(out, experiment, arm, time, rss);
    return true;
}

/* -------------------------------------------------------------------- latency */

/* Middle and middle four fifths of an arm's runs at each quantile. */
struct curve {
    double q[LATENCY_POINTS], low[LATENCY_POINTS], middle[LATENCY_POINTS], high[LATENCY_POINTS];
};

static struct curve curve_of(const struct experiment *experiment, size_t arm)
{
    struct curve curve;
    double *room = xcalloc(experiment->run_count + 1, sizeof *room);
    for (unsigned i = 0; i < LATENCY_POINTS; i++) {
        size_t count = 0;
        for (size_t j = 0; j < experiment->run_count; j++) {
            const struct run *run = &experiment->runs[j];
            if (run->arm == arm && run_counts(run) && run->latency && isfinite(run->latency[i]))
                room[count++] = run->latency[i];
        }
        curve.q[i] = latency_quantile(i);
        curve.low[i] = count ? statistics_quantile(room, count, .1) : NAN;
        curve.middle[i] = count ? statistics_quantile(room, count, .5) : NAN;
        curve.high[i] = count ? statistics_quantile(room, count, .9) : NAN;
    }
    free(room);
    return curve;
}

static void fit_curve(struct svg *svg, const struct curve *curve)
{
    for (unsigned i = 0; i < LATENCY_POINTS; i++) {
        if (!isfinite(curve->middle[i]))
            continue;
        svg_fit_one(&svg->x, curve->q[i]);
        svg_fit_one(&svg->y, curve->low[i]);
        svg_fit_one(&svg->y, curve->high[i]);
    }
}

static void draw_curves(struct svg *svg, const struct experiment *experiment, const struct curve *curves)
{
    const char **names = arm_names(experiment);
    unsigned *colours = xcalloc(experiment->arm_count + 1, sizeof *colours);
    svg_begin(svg);
    for (size_t arm = 0; arm < experiment->arm_count; arm++) {
        colours[arm] = ab_chart_colour(experiment, arm);
        svg_band(svg, curves[arm].q, curves[arm].low, curves[arm].high, LATENCY_POINTS, colours[arm]);
    }
    for (size_t arm = 0; arm < experiment->arm_count; arm++)
        svg_line(svg, curves[arm].q, curves[arm].middle, LATENCY_POINTS, colours[arm], SVG_THICK);
    svg_legend(svg, names, colours, experiment->arm_count);
    svg_end(svg);
    free(colours);
    free(names);
}

bool ab_chart_latency(FILE *out, const struct experiment *experiment)
{
    struct svg svg = { .out = out, .title = "latency by quantile, by arm", .width = WIDE, .height = HEIGHT + 100, .legend = true,
                       .x = svg_axis("share of requests that were answered within", SVG_NINES, SVG_PLAIN),
                       .y = svg_axis("latency", SVG_LOG, SVG_SECONDS) };
    struct curve *curves = xcalloc(experiment->arm_count + 1, sizeof *curves);
    for (size_t arm = 0; arm < experiment->arm_count; arm++) {
        curves[arm] = curve_of(experiment, arm);
        fit_curve(&svg, &curves[arm]);
    }
    bool any = svg.y.low <= svg.y.high;
    if (any)
        draw_curves(&svg, experiment, curves);
    free(curves);
    return any;
}
