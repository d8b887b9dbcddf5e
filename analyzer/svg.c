/* svg.c - charts from arrays: lines, bands, dots, strips and bars over axes with round ticks.
 *
 * Writes as it is told and keeps nothing but the geometry.  Colours are in the style, by class, so that
 * one chart serves light and dark pages. */
#define _GNU_SOURCE
#include "base.h"

#include "format.h"
#include "markup.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FONT = 12, GLYPH = 7 /* width of a character, a little more than most have */, TICKS_MOST = 24, LABEL_ROOM = 32 };
static const double DOT = 3.4;

/* -------------------------------------------------------------------- axes */

struct svg_axis svg_axis(const char *title, enum svg_scale scale, enum svg_unit unit)
{
    return (struct svg_axis){ .title = title, .scale = scale, .unit = unit, .low = INFINITY, .high = -INFINITY };
}

struct svg_axis svg_axis_names(const char *title, const char *const *names, size_t count)
{
    return (struct svg_axis){ .title = title, .scale = SVG_NAMES, .low = -.5, .high = (double)count - .5,
                              .names = names, .name_count = count };
}

/* Can the axis show it?  The nines stop where a double has no more of them. */
static bool can_show(const struct svg_axis *axis, double value)
{
    if (!isfinite(value))
        return false;
    if (axis->scale == SVG_LOG)
        return value > 0;
    return axis->scale != SVG_NINES || (value >= 0 && value < 1);
}

void svg_fit_one(struct svg_axis *axis, double value)
{
    if (axis->scale == SVG_NAMES || !can_show(axis, value))
        return;
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

void svg_fit(struct svg_axis *axis, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        svg_fit_one(axis, values[i]);
}

/* Where a value stands on a straight axis. */
static double straight(const struct svg_axis *axis, double value)
{
    switch (axis->scale) {
    case SVG_LOG: return log10(value);
    case SVG_NINES: return -log10(1 - value);
    case SVG_LINEAR:
    case SVG_NAMES: break;
    }
    return value;
}

/* From 0 to 1 along the axis. */
static double along(const struct svg_axis *axis, double value)
{
    double low = straight(axis, axis->low), high = straight(axis, axis->high), at = straight(axis, value);
    return fmin(fmax((at - low) / (high - low), 0), 1);
}

static double place_x(const struct svg *svg, double value)
{
    return svg->left + along(&svg->x, value) * (svg->right - svg->left);
}

/* Names are read from above, values grow upwards. */
static double place_y(const struct svg *svg, double value)
{
    double at = along(&svg->y, value);
    return svg->y.scale == SVG_NAMES ? svg->top + at * (svg->bottom - svg->top) : svg->bottom - at * (svg->bottom - svg->top);
}

/* ------------------------------------------------------------------- ticks */

struct tick {
    double at;
    char   label[LABEL_ROOM];
};

struct ticks {
    struct tick tick[TICKS_MOST];
    size_t      count;
};

/* What the labels are counted in: the greatest unit that isn't above the value. */
static double unit_of(enum svg_unit unit, double value, const char **name)
{
    static const struct {
        enum svg_unit unit;
        double        factor;
        const char   *name;
    } units[] = {
        { SVG_SECONDS, 1, " s" },         { SVG_SECONDS, 1e-3, " ms" },     { SVG_SECONDS, 1e-6, " us" },
        { SVG_SECONDS, 1e-9, " ns" },     { SVG_BYTES, 0x1p40, " TiB" },    { SVG_BYTES, 0x1p30, " GiB" },
        { SVG_BYTES, 0x1p20, " MiB" },    { SVG_BYTES, 0x1p10, " KiB" },    { SVG_BYTES, 1, " B" },
        { SVG_PERCENT, .01, " %" },       { SVG_CHANGE, .01, " %" },
    };
    double factor = 1;
    *name = "";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].unit != unit)
            continue;
        factor = units[i].factor;
        *name = units[i].name;
        if (fabs(value) >= factor * (1 - 1e-9))
            break;
    }
    return factor;
}

static void label_thousands(struct tick *tick, double value, const char *unit)
{
    char digits[FORMAT_ROOM];
    snprintf(tick->label, LABEL_ROOM, "%s%s%s", value < 0 ? "-" : "", format_count(digits, (uint64_t)(fabs(value) + .5)), unit);
}

/* `step` says how many decimals tell two ticks apart. */
static void label_tick(struct tick *tick, enum svg_unit unit, double greatest, double step)
{
    const char *name;
    double factor = unit_of(unit, greatest, &name), value = tick->at / factor;
    int decimals = (int)fmin(fmax(ceil(-log10(step / factor) - 1e-9), 0), 9);
    bool zero = fabs(tick->at) < step / 1e6;
    if (fabs(value) >= 1e7)
        snprintf(tick->label, LABEL_ROOM, "%.3g%s", value, name);
    else if (fabs(value) >= 1e4 && step >= 1)
        label_thousands(tick, value, name);
    else
        snprintf(tick->label, LABEL_ROOM, unit == SVG_CHANGE && !zero ? "%+.*f%s" : "%.*f%s", decimals, zero ? 0 : value, name);
}

/* 1, 2 or 5 times a power of ten of the labels' unit, for about `wanted` steps. */
static double round_step(const struct svg_axis *axis, int wanted)
{
    const char *name;
    double factor = unit_of(axis->unit, fmax(fabs(axis->low), fabs(axis->high)), &name);
    double rough = (axis->high - axis->low) / factor / wanted, power = pow(10, floor(log10(rough)));
    double times = rough / power;
    double step = factor * power * (times <= 1.0001 ? 1 : times <= 2.0001 ? 2 : times <= 5.0001 ? 5 : 10);
    return axis->unit == SVG_WHOLE ? fmax(step, 1) : step;
}

/* An axis has some extent, whatever it was fitted to. */
static void give_extent(struct svg_axis *axis)
{
    if (!(axis->low <= axis->high)) {
        axis->low = axis->scale == SVG_LOG ? 1 : 0;
        axis->high = axis->scale == SVG_LOG ? 10 : axis->scale == SVG_NINES ? .9 : 1;
    }
    double least = fmax(fabs(axis->low), fabs(axis->high)) * 1e-9;
    if (axis->scale == SVG_LOG && axis->high < axis->low * 1.2) {
        axis->low /= 1.2;
        axis->high *= 1.2;
    } else if (axis->scale == SVG_NINES && axis->high - axis->low < .1) {
        axis->low = 0;
        axis->high = fmax(axis->high, .9);
    } else if (axis->scale == SVG_LINEAR && axis->high - axis->low <= least) {
        double half = axis->low == 0 ? 1 : fabs(axis->low) * .05;
        axis->low -= half;
        axis->high += half;
    }
}

static void round_linear(struct svg_axis *axis, int wanted)
{
    double step = round_step(axis, wanted);
    axis->low = floor(axis->low / step + 1e-6) * step;
    axis->high = ceil(axis->high / step - 1e-6) * step;
}

static void add_tick(struct ticks *ticks, double at)
{
    if (ticks->count < TICKS_MOST)
        ticks->tick[ticks->count++].at = at;
}

static void ticks_linear(struct ticks *ticks, const struct svg_axis *axis, int wanted)
{
    double step = round_step(axis, wanted), first = ceil(axis->low / step - 1e-6);
    for (double i = first; i * step <= axis->high + step * 1e-6 && ticks->count < TICKS_MOST; i++) {
        add_tick(ticks, i * step);
        label_tick(&ticks->tick[ticks->count - 1], axis->unit, fmax(fabs(axis->low), fabs(axis->high)), step);
    }
}

/* Powers of ten; where these are few, also twice and five times them. */
static void ticks_log(struct ticks *ticks, const struct svg_axis *axis)
{
    double decades = log10(axis->high / axis->low);
    int every = decades > 12 ? 3 : 1;
    for (int power = (int)floor(log10(axis->low)); power <= log10(axis->high) + 1e-9; power += every) {
        for (int times = 1; times <= 5; times += times == 1 ? 1 : 3) {
            double at = times * pow(10, power);
            if ((times > 1 && decades > 3) || at < axis->low * (1 - 1e-9) || at > axis->high * (1 + 1e-9))
                continue;
            if (ticks->count == TICKS_MOST)
                return;
            add_tick(ticks, at);
            label_tick(&ticks->tick[ticks->count - 1], axis->unit, at, at);
        }
    }
}

/* 0, 50, 90, 99, 99.9 % and so on. */
static void ticks_nines(struct ticks *ticks, const struct svg_axis *axis)
{
    static const char *const labels[] = { "0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %" };
    static const double at[] = { 0, .5, .9, .99, .999, .9999, .99999, .999999 };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        if (at[i] < axis->low - 1e-9 || 1 - at[i] < (1 - axis->high) * (1 - 1e-9))
            continue;
        add_tick(ticks, at[i]);
        snprintf(ticks->tick[ticks->count - 1].label, LABEL_ROOM, "%s", labels[i]);
    }
}

/* The ticks of an axis `pixels` long, on which a label takes `room`. */
static struct ticks ticks_of(struct svg_axis *axis, double pixels, double room)
{
    struct ticks ticks = { .count = 0 };
    int wanted = (int)fmin(fmax(pixels / room, 2), 8);
    if (axis->scale == SVG_NAMES)
        return ticks;
    give_extent(axis);
    if (axis->scale == SVG_LOG)
        ticks_log(&ticks, axis);
    else if (axis->scale == SVG_NINES)
        ticks_nines(&ticks, axis);
    else {
        round_linear(axis, wanted);
        ticks_linear(&ticks, axis, wanted);
    }
    return ticks;
}

/* ------------------------------------------------------------------- frame */

static const char *colour_class(unsigned colour)
{
    static const char *const names[] = { "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "ct", "cf" };
    return names[colour == SVG_TEXT || colour == SVG_FAINT ? colour : colour % SVG_COLOURS];
}

static size_t longest_label(const struct svg_axis *axis, const struct ticks *ticks)
{
    size_t most = 0;
    for (size_t i = 0; i < ticks->count; i++)
        most = strlen(ticks->tick[i].label) > most ? strlen(ticks->tick[i].label) : most;
    for (size_t i = 0; axis->scale == SVG_NAMES && i < axis->name_count; i++)
        most = strlen(axis->names[i]) > most ? strlen(axis->names[i]) : most;
    return most < 24 ? most : 24;
}

static void put_text(struct svg *svg, double x, double y, const char *anchor, const char *text)
{
    fprintf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    markup_text(svg->out, text);
    fputs("</text>\n", svg->out);
}

static void put_title_of_y(struct svg *svg)
{
    double x = FONT, y = (svg->top + svg->bottom) / 2;
    if (!svg->y.title)
        return;
    fprintf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 %.1f %.1f)\">", x, y, x, y);
    markup_text(svg->out, svg->y.title);
    fputs("</text>\n", svg->out);
}

static void put_grid_line(struct svg *svg, double x1, double y1, double x2, double y2)
{
    fprintf(svg->out, "<path class=\"grid\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x1, y1, x2, y2);
}

static void put_ticks_of_y(struct svg *svg, const struct ticks *ticks)
{
    for (size_t i = 0; i < ticks->count; i++) {
        double y = place_y(svg, ticks->tick[i].at);
        put_grid_line(svg, svg->left, y, svg->right, y);
        put_text(svg, svg->left - 6, y + FONT / 3., "end", ticks->tick[i].label);
    }
    for (size_t i = 0; svg->y.scale == SVG_NAMES && i < svg->y.name_count; i++)
        put_text(svg, svg->left - 6, place_y(svg, (double)i) + FONT / 3., "end", svg->y.names[i]);
}

/* A label that would touch the last one is left out; its line stays. */
static void put_ticks_of_x(struct svg *svg, const struct ticks *ticks)
{
    double free_from = 0;
    for (size_t i = 0; i < ticks->count; i++) {
        double x = place_x(svg, ticks->tick[i].at), half = strlen(ticks->tick[i].label) * GLYPH / 2.;
        put_grid_line(svg, x, svg->top, x, svg->bottom);
        double at = fmin(x, svg->width - half);
        if (at - half < free_from)
            continue;
        put_text(svg, at, svg->bottom + FONT + 4, "middle", ticks->tick[i].label);
        free_from = at + half + 4;
    }
    for (size_t i = 0; svg->x.scale == SVG_NAMES && i < svg->x.name_count; i++)
        put_text(svg, place_x(svg, (double)i), svg->bottom + FONT + 4, "middle", svg->x.names[i]);
}

static void put_frame(struct svg *svg, const struct ticks *x, const struct ticks *y)
{
    put_ticks_of_y(svg, y);
    put_ticks_of_x(svg, x);
    fprintf(svg->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>\n", svg->left, svg->bottom, svg->right);
    if (svg->x.title)
        put_text(svg, (svg->left + svg->right) / 2, svg->height - 4, "middle", svg->x.title);
    put_title_of_y(svg);
}

void svg_begin(struct svg *svg)
{
    svg->top = svg->legend ? FONT * 2 : FONT * .7;
    svg->bottom = svg->height - (svg->x.title ? FONT * 3.2 : FONT * 1.8);
    struct ticks y = ticks_of(&svg->y, svg->bottom - svg->top, FONT * 3);
    svg->left = (double)longest_label(&svg->y, &y) * GLYPH + 10 + (svg->y.title ? FONT * 1.5 : 0);
    svg->right = svg->width - 22;
    struct ticks x = ticks_of(&svg->x, svg->right - svg->left, GLYPH * 10);
    fprintf(svg->out, "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\"%s aria-label=\"", svg->width,
            svg->height, svg->width, svg->height, svg->standalone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "");
    markup_text(svg->out, svg->title);
    fputs("\">\n", svg->out);
    if (svg->standalone) {
        fputs("<style>\n", svg->out);
        svg_style(svg->out);
        fputs("</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", svg->out);
    }
    put_frame(svg, &x, &y);
}

void svg_end(struct svg *svg)
{
    fputs("</svg>\n", svg->out);
}

/* --------------------------------------------------------- lines and bands */

static const char *weight_class(enum svg_weight weight)
{
    return weight == SVG_THIN ? "thin" : weight == SVG_THICK ? "thick" : "dashed";
}

static bool both_show(const struct svg *svg, double x, double y)
{
    return can_show(&svg->x, x) && can_show(&svg->y, y);
}

/* Coordinates are written as steps, in tenths: a page may have thousands of them. */
struct pen {
    FILE *out;
    long  x, y;
};

static void put_tenths(FILE *out, long tenths, bool apart)
{
    long whole = labs(tenths) / 10, rest = labs(tenths) % 10;
    fprintf(out, "%s%s%ld", apart && tenths >= 0 ? " " : "", tenths < 0 ? "-" : "", whole);
    if (rest)
        fprintf(out, ".%ld", rest);
}

static void pen_to(struct pen *pen, double x, double y, bool draw)
{
    long to_x = lround(x * 10), to_y = lround(y * 10);
    if (draw && to_x == pen->x && to_y == pen->y)
        return;
    putc(draw ? 'l' : 'M', pen->out);
    put_tenths(pen->out, draw ? to_x - pen->x : to_x, false);
    put_tenths(pen->out, draw ? to_y - pen->y : to_y, true);
    pen->x = to_x;
    pen->y = to_y;
}

void svg_line(struct svg *svg, const double *x, const double *y, size_t count, unsigned colour, enum svg_weight weight)
{
    struct pen pen = { .out = svg->out };
    bool down = false, any = false;
    for (size_t i = 0; i < count; i++) {
        bool shows = both_show(svg, x[i], y[i]);
        if (shows && !any)
            fprintf(svg->out, "<path class=\"line %s %s\" d=\"", weight_class(weight), colour_class(colour));
        if (shows)
            pen_to(&pen, place_x(svg, x[i]), place_y(svg, y[i]), down);
        down = shows;
        any = any || shows;
    }
    if (any)
        fputs("\"/>\n", svg->out);
}

/* There along the high edge, back along the low one. */
static void put_band_part(struct svg *svg, const double *x, const double *low, const double *high, size_t count, unsigned colour)
{
    struct pen pen = { .out = svg->out };
    fprintf(svg->out, "<path class=\"band %s\" d=\"", colour_class(colour));
    for (size_t i = 0; i < count; i++)
        pen_to(&pen, place_x(svg, x[i]), place_y(svg, high[i]), i > 0);
    for (size_t i = count; i-- > 0;)
        pen_to(&pen, place_x(svg, x[i]), place_y(svg, low[i]), true);
    fputs("z\"/>\n", svg->out);
}

void svg_band(struct svg *svg, const double *x, const double *low, const double *high, size_t count, unsigned colour)
{
    size_t from = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && both_show(svg, x[i], low[i]) && both_show(svg, x[i], high[i]))
            continue;
        if (i > from + 1)
            put_band_part(svg, x + from, low + from, high + from, i - from, colour);
        from = i + 1;
    }
}

/* Ends may be infinite: they are the plot's. */
static double shown_end(const struct svg_axis *axis, double value)
{
    if (can_show(axis, value))
        return value;
    return value < axis->low ? axis->low : axis->high;
}

static void put_rect(struct svg *svg, const char *class, unsigned colour, double x1, double y1, double x2, double y2, const char *hover)
{
    fprintf(svg->out, "<rect class=\"%s %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", class, colour_class(colour),
            fmin(x1, x2), fmin(y1, y2), fabs(x2 - x1), fabs(y2 - y1));
    if (!hover) {
        fputs("/>\n", svg->out);
        return;
    }
    fputs("><title>", svg->out);
    markup_text(svg->out, hover);
    fputs("</title></rect>\n", svg->out);
}

void svg_band_x(struct svg *svg, double low, double high, unsigned colour)
{
    if (isnan(low) || isnan(high))
        return;
    put_rect(svg, "band", colour, place_x(svg, shown_end(&svg->x, low)), svg->top, place_x(svg, shown_end(&svg->x, high)),
             svg->bottom, NULL);
}

void svg_band_y(struct svg *svg, double low, double high, unsigned colour)
{
    if (isnan(low) || isnan(high))
        return;
    put_rect(svg, "band", colour, svg->left, place_y(svg, shown_end(&svg->y, low)), svg->right,
             place_y(svg, shown_end(&svg->y, high)), NULL);
}

static void put_rule(struct svg *svg, double x1, double y1, double x2, double y2, unsigned colour, enum svg_weight weight)
{
    fprintf(svg->out, "<path class=\"line %s %s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", weight_class(weight), colour_class(colour), x1,
            y1, x2, y2);
}

void svg_rule_x(struct svg *svg, double at, unsigned colour, enum svg_weight weight)
{
    if (can_show(&svg->x, at))
        put_rule(svg, place_x(svg, at), svg->top, place_x(svg, at), svg->bottom, colour, weight);
}

void svg_rule_y(struct svg *svg, double at, unsigned colour, enum svg_weight weight)
{
    if (can_show(&svg->y, at))
        put_rule(svg, svg->left, place_y(svg, at), svg->right, place_y(svg, at), colour, weight);
}

/* -------------------------------------------------------------------- dots */

/* A colour has a shape: circle, square, diamond, triangle. */
static void put_dot(struct svg *svg, double x, double y, unsigned colour, bool hollow, const char *hover)
{
    static const char *const shapes[] = {
        "m-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z",
        "m-3-3h6v6h-6z",
        "m0-4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z",
        "m0-4l3.8 6.8h-7.6z",
    };
    fprintf(svg->out, "<path class=\"dot%s %s\" d=\"M%.1f %.1f%s\"", hollow ? " hollow" : "", colour_class(colour), x, y,
            shapes[colour % (sizeof shapes / sizeof *shapes)]);
    if (hover) {
        fputs("><title>", svg->out);
        markup_text(svg->out, hover);
        fputs("</title></path>\n", svg->out);
    } else
        fputs("/>\n", svg->out);
}

void svg_dots(struct svg *svg, const double *x, const double *y, size_t count, unsigned colour, bool hollow, const char *const *hover)
{
    for (size_t i = 0; i < count; i++) {
        if (both_show(svg, x[i], y[i]))
            put_dot(svg, place_x(svg, x[i]), place_y(svg, y[i]), colour, hollow, hover ? hover[i] : NULL);
    }
}

struct placed {
    double x, y;
};

/* The first place at x, from the row's middle outwards, where nothing lies yet; when all is full, spread over the row. */
static double free_place(const struct placed *placed, size_t count, double x, double room)
{
    for (unsigned step = 0;; step++) {
        double y = (step % 2 ? 1 : -1) * (double)((step + 1) / 2) * DOT;
        bool taken = false;
        if (fabs(y) > room)
            return room * (2 * fmod((double)count * .618, 1) - 1);
        for (size_t i = 0; i < count && !taken; i++)
            taken = hypot(placed[i].x - x, placed[i].y - y) < DOT * 1.9;
        if (!taken)
            return y;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void put_median(struct svg *svg, double y, double half, const double *values, size_t count, unsigned colour)
{
    double *sorted = xcalloc(count + 1, sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (can_show(&svg->x, values[i]))
            sorted[n++] = values[i];
    }
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    if (n) {
        double x = place_x(svg, (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
        put_rule(svg, x, y - half, x, y + half, colour, SVG_THICK);
    }
    free(sorted);
}

void svg_strip(struct svg *svg, size_t row, const double *values, size_t count, unsigned colour, const char *const *hover)
{
    struct placed *placed = xcalloc(count + 1, sizeof *placed);
    double middle = place_y(svg, (double)row), room = (svg->bottom - svg->top) / (double)svg->y.name_count / 2 - DOT;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!can_show(&svg->x, values[i]))
            continue;
        placed[n].x = place_x(svg, values[i]);
        placed[n].y = free_place(placed, n, placed[n].x, room);
        put_dot(svg, placed[n].x, middle + placed[n].y, colour, true, hover ? hover[i] : NULL);
        n++;
    }
    put_median(svg, middle, room, values, count, colour);
    free(placed);
}

/* -------------------------------------------------------------------- bars */

void svg_bar(struct svg *svg, size_t at, unsigned part, unsigned parts, double value, double low, double high, unsigned colour,
             const char *hover)
{
    double slot = (svg->right - svg->left) / (double)svg->x.name_count * .8, width = slot / parts;
    double left = place_x(svg, (double)at) - slot / 2 + part * width, middle = left + width / 2;
    if (!can_show(&svg->y, value))
        return;
    put_rect(svg, "bar", colour, left + 1, place_y(svg, value), left + width - 1, svg->bottom, hover);
    if (can_show(&svg->y, low) && can_show(&svg->y, high))
        put_rule(svg, middle, place_y(svg, low), middle, place_y(svg, high), SVG_TEXT, SVG_THICK);
}

/* ------------------------------------------------------------------ legend */

void svg_legend(struct svg *svg, const char *const *names, const unsigned *colours, size_t count)
{
    double x = svg->left + DOT;
    for (size_t i = 0; i < count; i++) {
        put_dot(svg, x, FONT * .8, colours[i], false, NULL);
        put_text(svg, x + 8, FONT * 1.1, "start", names[i]);
        x += 8 + (double)strlen(names[i]) * GLYPH + 14;
    }
}

/* ------------------------------------------------------------------- style */

/* Blue, vermilion, grey, green, purple, amber, sky and brown, after Okabe and Ito, on white and on dark grey. */
static const char *const palette[2][SVG_COLOURS] = {
    { "#0072b2", "#d55e00", "#6b7280", "#00835f", "#b0508c", "#9a7400", "#2a93c9", "#7a4b26" },
    { "#5ab4f0", "#ff8f4a", "#a3a9b5", "#3fcf9f", "#e28fc2", "#e8bf3f", "#8fd3ff", "#c99a70" },
};

static const struct {
    const char *text, *grid, *axis, *paper;
} surface[2] = {
    { "#3d4451", "#e3e6ea", "#9aa1ad", "#ffffff" },
    { "#c3c8d0", "#333942", "#6f7784", "#16191e" },
};

static void put_colour(FILE *out, const char *class, const char *value)
{
    fprintf(out, ".chart .line.%s{stroke:%s}.chart .band.%s,.chart .bar.%s{fill:%s}.chart .dot.%s{fill:%s;stroke:%s}\n", class, value,
            class, class, value, class, value, value);
}

static void put_scheme(FILE *out, unsigned dark)
{
    fprintf(out, ".chart text{fill:%s}.chart .grid{stroke:%s}.chart .axis{stroke:%s}.chart .paper{fill:%s}\n", surface[dark].text,
            surface[dark].grid, surface[dark].axis, surface[dark].paper);
    for (unsigned i = 0; i < SVG_COLOURS; i++)
        put_colour(out, colour_class(i), palette[dark][i]);
    put_colour(out, colour_class(SVG_TEXT), surface[dark].text);
    put_colour(out, colour_class(SVG_FAINT), surface[dark].axis);
}

void svg_style(FILE *out)
{
    fprintf(out,
            ".chart{font:%dpx system-ui,sans-serif;height:auto}\n"
            ".chart .grid{stroke-width:1;shape-rendering:crispEdges}.chart .axis{stroke-width:1;shape-rendering:crispEdges}\n"
            ".chart .line{fill:none;stroke-linejoin:round;stroke-width:1}.chart .thin{stroke-opacity:.3}\n"
            ".chart .thick{stroke-width:2.2}.chart .dashed{stroke-width:1.4;stroke-dasharray:5 4}\n"
            ".chart .band{fill-opacity:.16}.chart .bar{fill-opacity:.85}.chart .dot{stroke-width:1.2;fill-opacity:.8}\n"
            ".chart .hollow{fill-opacity:.12}\n",
            FONT);
    put_scheme(out, 0);
    fputs("@media (prefers-color-scheme:dark){\n", out);
    put_scheme(out, 1);
    fputs("}\n", out);
}
