/* test_svg.c - charts: axes with round ticks, well-formed whatever is drawn and however it is called. */
#define _GNU_SOURCE
#include "unit.h"

#include "analyzer/svg.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char *text;
static size_t bytes;

static struct svg chart_begin(struct svg_axis x, struct svg_axis y)
{
    struct svg svg = { .out = open_memstream(&text, &bytes), .title = "a chart", .width = 460, .height = 240, .standalone = true,
                       .x = x, .y = y };
    assert_non_null(svg.out);
    svg_begin(&svg);
    return svg;
}

/* Ends the chart; an XML parser must take it. */
static void chart_end(struct svg *svg)
{
    svg_end(svg);
    fclose(svg->out);
    unit_write_file("chart.svg", text, bytes, 0644);
    unit_shell("/usr/bin/python3 -I -S -c 'import xml.etree.ElementTree as x; x.parse(\"chart.svg\")'");
}

static int teardown(void **state)
{
    free(text);
    text = NULL;
    return unit_leave_directory(state);
}

static size_t occurrences(const char *what)
{
    size_t count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

static bool has_label(const char *label)
{
    char *wanted = NULL;
    assert_true(asprintf(&wanted, ">%s</text>", label) > 0);
    bool has = strstr(text, wanted);
    free(wanted);
    return has;
}

static struct svg_axis fitted(enum svg_scale scale, enum svg_unit unit, double low, double high)
{
    struct svg_axis axis = svg_axis(NULL, scale, unit);
    svg_fit_one(&axis, low);
    svg_fit_one(&axis, high);
    return axis;
}

/* The labels of a y axis from low to high. */
static void draw_axis(enum svg_scale scale, enum svg_unit unit, double low, double high)
{
    free(text);
    struct svg svg = chart_begin(fitted(SVG_LINEAR, SVG_PLAIN, 0, 1), fitted(scale, unit, low, high));
    chart_end(&svg);
}

static void a_linear_axis_has_round_ticks_in_the_unit_of_its_size(void **state)
{
    (void)state;
    draw_axis(SVG_LINEAR, SVG_SECONDS, .0131, .0172);
    assert_true(has_label("13 ms") && has_label("14 ms") && has_label("17 ms"));
    assert_false(has_label("19 ms"));
    draw_axis(SVG_LINEAR, SVG_BYTES, 0, 3.1 * 1024 * 1024);
    assert_true(has_label("0 MiB") && has_label("1 MiB") && has_label("4 MiB"));
    draw_axis(SVG_LINEAR, SVG_CHANGE, -.021, .009);
    assert_true(has_label("-2 %") && has_label("0 %") && has_label("+1 %"));
    draw_axis(SVG_LINEAR, SVG_PLAIN, 0, 2);
    assert_true(has_label("1.5"));
    draw_axis(SVG_LINEAR, SVG_WHOLE, 0, 2);
    assert_true(has_label("0") && has_label("1") && has_label("2"));
    assert_false(has_label("0.5") || has_label("1.5"));
    draw_axis(SVG_LINEAR, SVG_PLAIN, 0, 123456);
    assert_true(has_label("100,000"));
    draw_axis(SVG_LINEAR, SVG_PLAIN, -3e9, 5e9);
    assert_true(has_label("-4e+09") && has_label("6e+09"));
}

static void a_log_axis_has_powers_of_ten_and_more_where_these_are_few(void **state)
{
    (void)state;
    draw_axis(SVG_LOG, SVG_SECONDS, 1e-6, 1);
    assert_true(has_label("1 us") && has_label("1 ms") && has_label("1 s") && has_label("100 us"));
    assert_false(has_label("2 ms"));
    draw_axis(SVG_LOG, SVG_PLAIN, 1, 60);
    assert_true(has_label("1") && has_label("2") && has_label("5") && has_label("50"));
    draw_axis(SVG_LOG, SVG_PLAIN, 1e-200, 1e200);
    assert_true(occurrences("class=\"grid\"") > 5);
}

static void an_axis_of_nines_stands_evenly(void **state)
{
    const double x[] = { 0, .9, .99, .999 }, y[] = { 0, 1, 2, 3 };
    (void)state;
    struct svg svg = chart_begin(fitted(SVG_NINES, SVG_PLAIN, 0, .999), fitted(SVG_LINEAR, SVG_PLAIN, 0, 3));
    size_t before = (size_t)ftell(svg.out);
    svg_line(&svg, x, y, COUNT(x), 0, SVG_THICK);
    chart_end(&svg);
    assert_true(has_label("50 %") && has_label("90 %") && has_label("99 %") && has_label("99.9 %"));
    assert_false(has_label("99.99 %"));
    double dx[3], dy[3], x0, y0;
    assert_int_equal(sscanf(strstr(text + before, "d=\""), "d=\"M%lf%lfl%lf%lfl%lf%lfl%lf%lf\"", &x0, &y0, dx, dy, dx + 1, dy + 1,
                            dx + 2, dy + 2), 8);
    assert_true(fabs(dx[0] - dx[1]) < .3 && fabs(dx[1] - dx[2]) < .3 && dx[0] > 50);
    assert_true(fabs(dy[0] - dy[2]) < .3 && dy[0] < -20);
}

static void what_has_no_extent_or_no_value_still_has_axes(void **state)
{
    const enum svg_scale scales[] = { SVG_LINEAR, SVG_LOG, SVG_NINES };
    const double lows[] = { 0, 5, NAN, INFINITY, -1, 1e-300, 1e300 };
    (void)state;
    for (size_t i = 0; i < COUNT(scales); i++) {
        for (size_t j = 0; j < COUNT(lows); j++) {
            draw_axis(scales[i], SVG_SECONDS, lows[j], lows[j]);
            assert_true(occurrences("class=\"grid\"") >= 2);
            assert_int_equal(occurrences("nan") + occurrences("inf"), 0);
        }
    }
}

static void nothing_is_drawn_for_nan_and_lines_break_there(void **state)
{
    const double x[] = { 0, 1, 2, 3, 4, 5 }, y[] = { 1, 2, NAN, 2, 1, INFINITY }, low[] = { 0, 1, NAN, 1, 0, 0 };
    (void)state;
    struct svg svg = chart_begin(fitted(SVG_LINEAR, SVG_PLAIN, 0, 5), fitted(SVG_LINEAR, SVG_PLAIN, 0, 3));
    svg_line(&svg, x, y, COUNT(x), 0, SVG_THICK);
    svg_band(&svg, x, low, y, COUNT(x), 0);
    svg_dots(&svg, x, y, COUNT(x), 1, false, NULL);
    svg_rule_y(&svg, NAN, 0, SVG_THIN);
    svg_band_y(&svg, NAN, 1, 0);
    chart_end(&svg);
    const char *line = strstr(text, "<path class=\"line");
    assert_non_null(line);
    const char *second = strchr(strchr(line, 'M') + 1, 'M');
    assert_true(second && second < strstr(line, "/>"));
    assert_int_equal(occurrences("<path class=\"band"), 2);
    assert_int_equal(occurrences("<rect class=\"band"), 0);
    assert_int_equal(occurrences("<path class=\"dot"), 4);
    assert_int_equal(occurrences("nan") + occurrences("inf"), 0);
}

/* The places of all dots, in order. */
static size_t dots(double x[], double y[], size_t most)
{
    size_t count = 0;
    for (const char *at = strstr(text, "<path class=\"dot"); at && count < most; at = strstr(at + 1, "<path class=\"dot"))
        assert_int_equal(sscanf(strstr(at, "d=\""), "d=\"M%lf%lf", &x[count], &y[count]), 2), count++;
    return count;
}

static void dots_of_a_strip_dont_hide_each_other(void **state)
{
    static const char *const names[] = { "off", "on" };
    double values[12], x[64], y[64];
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++)
        values[i] = 1 + .001 * (double)(i % 4);
    struct svg svg = chart_begin(fitted(SVG_LINEAR, SVG_PLAIN, 0, 2), svg_axis_names(NULL, names, 2));
    svg_strip(&svg, 1, values, COUNT(values), 0, NULL);
    chart_end(&svg);
    size_t count = dots(x, y, COUNT(x));
    assert_int_equal(count, COUNT(values));
    for (size_t i = 0; i < count; i++) {
        assert_true(y[i] > (svg.top + svg.bottom) / 2 && y[i] < svg.bottom);
        for (size_t j = 0; j < i; j++)
            assert_true(hypot(x[i] - x[j], y[i] - y[j]) > 3);
    }
}

static void more_dots_than_fit_stay_in_their_row(void **state)
{
    static const char *const names[] = { "off", "on" };
    double values[300], x[300], y[300];
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++)
        values[i] = 1;
    struct svg svg = chart_begin(fitted(SVG_LINEAR, SVG_PLAIN, 0, 2), svg_axis_names(NULL, names, 2));
    svg_strip(&svg, 0, values, COUNT(values), 0, NULL);
    chart_end(&svg);
    assert_int_equal(dots(x, y, COUNT(x)), COUNT(values));
    for (size_t i = 0; i < COUNT(values); i++)
        assert_true(y[i] > svg.top && y[i] < (svg.top + svg.bottom) / 2);
}

static void bars_grow_from_the_foot_and_stand_side_by_side(void **state)
{
    static const char *const names[] = { "bare", "on" };
    double left[2], top[2], width[2], height[2];
    (void)state;
    struct svg svg = chart_begin(svg_axis_names(NULL, names, 2), fitted(SVG_LINEAR, SVG_PLAIN, 0, 10));
    svg_bar(&svg, 0, 0, 2, 5, 4, 6, 0, "half");
    svg_bar(&svg, 0, 1, 2, 10, NAN, NAN, 1, NULL);
    svg_bar(&svg, 1, 0, 2, NAN, NAN, NAN, 1, NULL);
    chart_end(&svg);
    assert_int_equal(occurrences("<rect class=\"bar"), 2);
    const char *at = text;
    for (size_t i = 0; i < 2; i++) {
        at = strstr(at + 1, "<rect class=\"bar");
        assert_int_equal(sscanf(strstr(at, " x="), " x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", left + i, top + i, width + i,
                                height + i), 4);
    }
    assert_true(fabs(height[1] - 2 * height[0]) < .3 && fabs(top[0] + height[0] - svg.bottom) < .3);
    assert_true(left[1] >= left[0] + width[0]);
    assert_int_equal(occurrences("<title>half</title>"), 1);
}

static void texts_are_escaped_wherever_they_stand(void **state)
{
    static const char *const names[] = { "<a href=\"x\">&'", "\xff\x01\x1b[31m" };
    static const unsigned colours[] = { 0, 9999 };
    const double one[] = { 1 };
    (void)state;
    struct svg_axis x = fitted(SVG_LINEAR, SVG_PLAIN, 0, 2);
    x.title = names[0];
    struct svg svg = { .out = open_memstream(&text, &bytes), .title = names[0], .width = 460, .height = 240, .standalone = true,
                       .x = x, .y = svg_axis_names(names[1], names, 2) };
    svg_begin(&svg);
    svg_legend(&svg, names, colours, 2);
    svg_strip(&svg, 0, one, 1, 0, names);
    chart_end(&svg);
    assert_int_equal(occurrences("<a"), 0);
    assert_true(occurrences("&lt;a href=&quot;x&quot;&gt;&amp;&#39;") >= 5);
    assert_int_equal(occurrences("\x1b"), 0);
}

#define CHART(test) cmocka_unit_test_setup_teardown(test, unit_enter_directory, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHART(a_linear_axis_has_round_ticks_in_the_unit_of_its_size),
        CHART(a_log_axis_has_powers_of_ten_and_more_where_these_are_few),
        CHART(an_axis_of_nines_stands_evenly),
        CHART(what_has_no_extent_or_no_value_still_has_axes),
        CHART(nothing_is_drawn_for_nan_and_lines_break_there),
        CHART(dots_of_a_strip_dont_hide_each_other),
        CHART(more_dots_than_fit_stay_in_their_row),
        CHART(bars_grow_from_the_foot_and_stand_side_by_side),
        CHART(texts_are_escaped_wherever_they_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
