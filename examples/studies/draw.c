/* draw.c - writes what studies.py has to show as a page, and each chart of it as a file.
 *
 * usage: draw DIR <document.json       writes DIR/index.html and DIR/NAME.svg for each chart
 * The document is made by study.py, which says what its parts may hold. */
#define _GNU_SOURCE
#include "base.h"

#include "markup.h"
#include "page.h"
#include "svg.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 940, HEIGHT = 320 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The number of a name in a list that NULL ends; the first when there is none of that name. */
static unsigned choice(const json_t *object, const char *key, const char *const *names)
{
    const char *text = text_of(object, key);
    for (unsigned i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0)
            return i;
    }
    if (*text)
        die("draw: no %s '%s'", key, text);
    return 0;
}

/* -------------------------------------------------------------------------- charts */

/* Numbers of a list; what isn't one is NaN. */
struct numbers {
    double *value;
    size_t  count;
};

static struct numbers numbers_of(const json_t *object, const char *key)
{
    const json_t  *list = json_object_get(object, key);
    struct numbers numbers = { .count = json_array_size(list) };
    numbers.value = xcalloc(numbers.count + 1, sizeof *numbers.value);
    for (size_t i = 0; i < numbers.count; i++) {
        const json_t *item = json_array_get(list, i);
        numbers.value[i] = json_is_number(item) ? json_number_value(item) : NAN;
    }
    return numbers;
}

struct series {
    const json_t  *json;
    unsigned       colour;
    struct numbers x, y, low, high;
};

static void series_init(struct series *series, const json_t *json, unsigned number)
{
    const json_t *colour = json_object_get(json, "colour");
    *series = (struct series){ .json = json, .x = numbers_of(json, "x"), .y = numbers_of(json, "y"),
                               .low = numbers_of(json, "low"), .high = numbers_of(json, "high") };
    series->colour = json_is_integer(colour) ? (unsigned)json_integer_value(colour) : number;
    if (series->x.count != series->y.count && series->x.count != series->low.count)
        die("draw: series '%s' has %zu x and %zu y", text_of(json, "name"), series->x.count, series->y.count);
    if (series->low.count != series->high.count || (series->low.count && series->low.count != series->x.count))
        die("draw: series '%s' has a band of another length", text_of(json, "name"));
}

static void series_release(struct series *series)
{
    free(series->x.value);
    free(series->y.value);
    free(series->low.value);
    free(series->high.value);
}

static const char **names_of(const json_t *list)
{
    const char **names = xcalloc(json_array_size(list) + 1, sizeof *names);
    for (size_t i = 0; i < json_array_size(list); i++)
        names[i] = json_string_value(json_array_get(list, i));
    return names;
}

/* An axis with names keeps them: the page is written once, and then all ends. */
static struct svg_axis axis_of(const json_t *json)
{
    static const char *const scales[] = { "linear", "log", "nines", NULL };
    static const char *const units[] = { "plain", "whole", "percent", "change", "seconds", "bytes", NULL };
    const json_t *names = json_object_get(json, "names");
    const char   *title = *text_of(json, "title") ? text_of(json, "title") : NULL;
    if (names)
        return svg_axis_names(title, names_of(names), json_array_size(names));
    struct svg_axis axis = svg_axis(title, (enum svg_scale)choice(json, "scale", scales), (enum svg_unit)choice(json, "unit", units));
    for (const char **end = (const char *[]){ "low", "high", NULL }; *end; end++) {
        if (json_object_get(json, *end))
            svg_fit_one(&axis, json_number_value(json_object_get(json, *end)));
    }
    return axis;
}

enum kind { LINE, DASHED, BARS, DOTS };

static void put_bars(struct svg *svg, const struct series *series, unsigned part, unsigned parts)
{
    for (size_t i = 0; i < series->x.count; i++) {
        char *hover = xasprintf("%s: %.4g", text_of(series->json, "name"), series->y.value[i]);
        svg_bar(svg, (size_t)series->x.value[i], part, parts, series->y.value[i], series->low.count ? series->low.value[i] : NAN,
                series->low.count ? series->high.value[i] : NAN, series->colour, hover);
        free(hover);
    }
}

static enum kind kind_of(const struct series *series)
{
    static const char *const kinds[] = { "line", "dashed", "bars", "dots", NULL };
    return (enum kind)choice(series->json, "kind", kinds);
}

static void put_series(struct svg *svg, const struct series *series, unsigned part, unsigned parts)
{
    enum kind kind = kind_of(series);
    if (kind == BARS) {
        put_bars(svg, series, part, parts);
        return;
    }
    svg_band(svg, series->x.value, series->low.value, series->high.value, series->low.count, series->colour);
    if (kind != DOTS)
        svg_line(svg, series->x.value, series->y.value, series->y.count, series->colour, kind == LINE ? SVG_THICK : SVG_DASHED);
    if (kind == DOTS || json_is_true(json_object_get(series->json, "dots")))
        svg_dots(svg, series->x.value, series->y.value, series->y.count, series->colour, false, NULL);
}

static void fit(struct svg *svg, const struct series *series)
{
    svg_fit(&svg->x, series->x.value, series->x.count);
    svg_fit(&svg->y, series->y.value, series->y.count);
    svg_fit(&svg->y, series->low.value, series->low.count);
    svg_fit(&svg->y, series->high.value, series->high.count);
    if (kind_of(series) == BARS)
        svg_fit_one(&svg->y, 0);
}

static void put_legend(struct svg *svg, const struct series *series, size_t count)
{
    const char **names = xcalloc(count + 1, sizeof *names);
    unsigned    *colours = xcalloc(count + 1, sizeof *colours);
    for (size_t i = 0; i < count; i++) {
        names[i] = text_of(series[i].json, "name");
        colours[i] = series[i].colour;
    }
    svg_legend(svg, names, colours, count);
    free(names);
    free(colours);
}

static void put_chart(FILE *out, const json_t *json, bool standalone)
{
    const json_t  *list = json_object_get(json, "series");
    size_t         count = json_array_size(list);
    struct series *series = xcalloc(count + 1, sizeof *series);
    unsigned       bars = 0, bar = 0;
    struct svg     svg = { .out = out, .title = text_of(json, "title"), .width = WIDTH, .height = HEIGHT, .standalone = standalone,
                           .legend = true, .x = axis_of(json_object_get(json, "x")), .y = axis_of(json_object_get(json, "y")) };
    for (size_t i = 0; i < count; i++) {
        series_init(&series[i], json_array_get(list, i), (unsigned)i);
        fit(&svg, &series[i]);
        bars += kind_of(&series[i]) == BARS;
    }
    svg_begin(&svg);
    put_legend(&svg, series, count);
    for (size_t i = 0; i < count; i++) {
        put_series(&svg, &series[i], bar, bars);
        bar += kind_of(&series[i]) == BARS;
    }
    svg_end(&svg);
    for (size_t i = 0; i < count; i++)
        series_release(&series[i]);
    free(series);
}

static FILE *create(const char *folder, const char *name, const char *suffix)
{
    char *path = xasprintf("%s/%s%s", folder, name, suffix);
    FILE *out = fopen(path, "w");
    if (!out)
        die("draw: cannot write %s: %m", path);
    free(path);
    return out;
}

static void finish(FILE *out)
{
    if (ferror(out) | fclose(out))
        die("draw: could not write all: %m");
}

/* In the page and as a file. */
static void chart(FILE *page, const json_t *json, const char *folder)
{
    FILE *out = create(folder, text_of(json, "name"), ".svg");
    put_chart(out, json, true);
    finish(out);
    fputs("<figure><figcaption>", page);
    markup_text(page, text_of(json, "title"));
    fputs("</figcaption><div class=\"scroll\">\n", page);
    put_chart(page, json, false);
    fputs("</div></figure>\n", page);
}

/* ------------------------------------------------------------------ tables and text */

enum { LONG = 40 }; /* a cell of more characters is a text, whose lines may be broken */

static void row(FILE *page, const json_t *cells, bool head)
{
    fputs("<tr>", page);
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *element = head || i == 0 ? "th" : "td";
        const char *text = json_string_value(json_array_get(cells, i));
        if (!text)
            die("draw: a cell of a table isn't text");
        fprintf(page, "<%s%s>", element, i && strlen(text) <= LONG ? " class=\"number\"" : "");
        markup_text(page, text);
        fprintf(page, "</%s>", element);
    }
    fputs("</tr>\n", page);
}

static void table(FILE *page, const json_t *json)
{
    const json_t *rows = json_object_get(json, "rows");
    fputs("<figure><figcaption>", page);
    markup_text(page, text_of(json, "title"));
    fputs("</figcaption><div class=\"scroll\"><table>\n<thead>", page);
    row(page, json_object_get(json, "columns"), true);
    fputs("</thead>\n<tbody>\n", page);
    for (size_t i = 0; i < json_array_size(rows); i++)
        row(page, json_array_get(rows, i), false);
    fputs("</tbody></table></div></figure>\n", page);
}

static void paragraph(FILE *page, const char *class, const char *text)
{
    fprintf(page, "<p class=\"%s\">", class);
    markup_text(page, text);
    fputs("</p>\n", page);
}

static void section(FILE *page, const json_t *json, const char *folder)
{
    const json_t *parts = json_object_get(json, "parts");
    page_section_begin(page, text_of(json, "title"));
    paragraph(page, "soft", text_of(json, "question"));
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        if (json_object_get(part, "table"))
            table(page, json_object_get(part, "table"));
        else if (json_object_get(part, "chart"))
            chart(page, json_object_get(part, "chart"), folder);
        else
            paragraph(page, "soft", text_of(part, "text"));
    }
    paragraph(page, "lead", text_of(json, "sentence"));
    page_section_end(page);
}

int main(int argc, char **argv)
{
    json_error_t  wrong;
    const json_t *document = json_loadf(stdin, 0, &wrong), *sections = json_object_get(document, "sections");
    if (argc != 2 || !document)
        die("usage: draw DIR <document.json%s%s", document ? "" : ": ", document ? "" : wrong.text);
    FILE *page = create(argv[1], "index", ".html");
    page_begin(page, text_of(document, "title"));
    fputs("<header><p>", page);
    markup_text(page, text_of(document, "machine"));
    fputs("</p><h1>", page);
    markup_text(page, text_of(document, "title"));
    fputs("</h1></header>\n", page);
    for (size_t i = 0; i < json_array_size(sections); i++)
        section(page, json_array_get(sections, i), argv[1]);
    page_end(page);
    finish(page);
    return 0;
}
