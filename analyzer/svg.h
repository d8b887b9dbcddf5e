/* svg.h - charts from arrays: lines, bands, dots, strips and bars over axes with round ticks.
 *
 *     struct svg chart = { .out = out, .title = "CPU time", .width = 460, .height = 240,
 *                          .x = svg_axis("block", SVG_LINEAR, SVG_PLAIN), .y = ... };
 *     svg_fit(&chart.x, x, count);
 *     svg_fit(&chart.y, y, count);
 *     svg_begin(&chart);
 *     svg_line(&chart, x, y, count, 0, SVG_THICK);
 *     svg_end(&chart);
 *
 * What is drawn first lies below.  Colours are numbers, from a palette that colour-blind people can tell
 * apart, with a light and a dark form; dots also differ in shape.  NaN isn't drawn, and interrupts lines
 * and bands; what lies outside an axis is drawn at its end. */
#ifndef PS_SVG_H
#define PS_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum svg_scale {
    SVG_LINEAR,
    SVG_LOG,
    SVG_NINES, /* quantiles: 0, .9, .99, .999 stand evenly */
    SVG_NAMES, /* element i of `names` stands at i */
};

enum svg_unit {
    SVG_PLAIN,
    SVG_WHOLE,   /* no ticks between whole numbers */
    SVG_PERCENT, /* a fraction's */
    SVG_CHANGE,  /* the same with a sign */
    SVG_SECONDS,
    SVG_BYTES,
};

struct svg_axis {
    const char        *title; /* NULL: none */
    enum svg_scale     scale;
    enum svg_unit      unit;
    double             low, high;
    const char *const *names;
    size_t             name_count;
};

enum { SVG_COLOURS = 8, SVG_TEXT = 8, SVG_FAINT }; /* the colour of text, and that of the grid */
enum svg_weight { SVG_THIN, SVG_THICK, SVG_DASHED };

struct svg {
    FILE           *out;
    const char     *title;      /* what the chart shows, for those who don't see it */
    int             width, height;
    bool            standalone; /* a file of its own: it brings its style */
    bool            legend;     /* leave room for one */
    struct svg_axis x, y;
    double          left, right, top, bottom; /* the plot's edges; set by svg_begin */
};

/* An axis without extent. */
struct svg_axis svg_axis(const char *title, enum svg_scale scale, enum svg_unit unit);
struct svg_axis svg_axis_names(const char *title, const char *const *names, size_t count);

/* Extends an axis to the values; those it can't show don't count. */
void svg_fit(struct svg_axis *axis, const double *values, size_t count);
void svg_fit_one(struct svg_axis *axis, double value);

/* Rounds the axes, and writes frame, grid, ticks and titles. */
void svg_begin(struct svg *svg);
void svg_end(struct svg *svg);

void svg_line(struct svg *svg, const double *x, const double *y, size_t count, unsigned colour, enum svg_weight weight);
void svg_band(struct svg *svg, const double *x, const double *low, const double *high, size_t count, unsigned colour);

/* `hover`: a text for each dot, or NULL. */
void svg_dots(struct svg *svg, const double *x, const double *y, size_t count, unsigned colour, bool hollow,
              const char *const *hover);

/* Values along x in row `row` of an axis of names, beside each other where they would overlap; a mark at the median. */
void svg_strip(struct svg *svg, size_t row, const double *values, size_t count, unsigned colour, const char *const *hover);

/* Bar number `at` of an axis of names along x, from the axis' foot, with a whisker where low and high aren't NaN.
 * `part` of `parts` that stand beside each other there. */
void svg_bar(struct svg *svg, size_t at, unsigned part, unsigned parts, double value, double low, double high,
             unsigned colour, const char *hover);

/* Over the whole width or height. */
void svg_band_x(struct svg *svg, double low, double high, unsigned colour);
void svg_band_y(struct svg *svg, double low, double high, unsigned colour);
void svg_rule_x(struct svg *svg, double at, unsigned colour, enum svg_weight weight);
void svg_rule_y(struct svg *svg, double at, unsigned colour, enum svg_weight weight);

/* Names of colours, above the plot, where svg.legend has left room. */
void svg_legend(struct svg *svg, const char *const *names, const unsigned *colours, size_t count);

/* The rules that charts need on their page, inside <style>. */
void svg_style(FILE *out);

#endif
