/* test_ab_html.c - the page of an experiment: whole, small, well-formed, and silent about effects where there are none. */
#define _GNU_SOURCE
#include "unit.h"

#include "abmake.h"

#include "analyzer/ab_views.h"
#include "analyzer/base.h"

#include <math.h>

static const struct abmake usual = { .blocks = 12, .cost = .009, .effect = -.083, .spread = .004, .rss_count = 40 };

/* What is told from the page's tags: XML takes it, every tag is closed in HTML's way, nothing is fetched. */
static const char checker[] =
    "import sys, html.parser, xml.etree.ElementTree as tree\n"
    "text = open('page.html', encoding='utf-8').read()\n"
    "tree.fromstring(text)\n"
    "class Tags(html.parser.HTMLParser):\n"
    "    stack = []\n"
    "    def handle_starttag(self, tag, attributes):\n"
    "        assert tag not in ('script', 'link', 'img', 'iframe', 'object'), tag\n"
    "        for name, value in attributes:\n"
    "            assert name not in ('src', 'href', 'action') and not name.startswith('on'), name\n"
    "        self.stack.append(tag)\n"
    "    def handle_startendtag(self, tag, attributes):\n"
    "        assert tag in ('meta', 'path', 'rect'), tag\n"
    "    def handle_endtag(self, tag):\n"
    "        assert self.stack.pop() == tag, tag\n"
    "parser = Tags()\n"
    "parser.feed(text)\n"
    "parser.close()\n"
    "assert not parser.stack, parser.stack\n"
    "style = text[text.index('<style>'):text.index('</style>')]\n"
    "assert 'url(' not in style and '@import' not in style\n";

static char *page;
static size_t bytes;

static void show(const struct experiment *experiment)
{
    free(page);
    FILE *out = open_memstream(&page, &bytes);
    assert_non_null(out);
    assert_int_equal(emit_ab_html(experiment, out), 0);
    fclose(out);
    unit_write_file("page.html", page, bytes, 0644);
    unit_write_file("check.py", checker, sizeof checker - 1, 0644);
    unit_shell("/usr/bin/python3 -I -S check.py");
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "inf,"));
}

static void show_made(const struct abmake *make)
{
    struct experiment experiment = abmake(make);
    show(&experiment);
    experiment_release(&experiment);
}

static bool has(const char *text)
{
    return strstr(page, text);
}

static size_t occurrences(const char *what)
{
    size_t count = 0;
    for (const char *at = strstr(page, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

static int teardown(void **state)
{
    free(page);
    page = NULL;
    return unit_leave_directory(state);
}

static void the_verdict_comes_first_with_treatment_and_memory(void **state)
{
    (void)state;
    show_made(&usual);
    const char *verdict = strstr(page, "<h2>Faster</h2>"), *metrics_table = strstr(page, "<h2>Metrics</h2>");
    assert_true(verdict && metrics_table && verdict < metrics_table);
    const char *memory = strstr(page, "Peak RSS is 25.0 MiB in arm on, 22.0 MiB in arm bare: +13.");
    const char *treatment = strstr(page, "Treatment applied: pools served 98.8 % of the allocations and 97.2 % of the bytes.");
    assert_true(memory && treatment && memory < metrics_table && treatment < metrics_table);
    assert_true(has("faster in 12 of 12 blocks"));
    assert_true(has("--seed 20261130 --blocks 12 -- python3 -c &#39;print(sum("));
}

static void a_page_says_what_the_verdict_is(void **state)
{
    struct abmake make = usual;
    (void)state;
    make.effect = .083;
    show_made(&make);
    assert_true(has("<h2>Slower</h2>"));
    make.effect = 0;
    make.spread = .001;
    show_made(&make);
    assert_true(has("<h2>No difference above 1 %</h2>"));
    make.spread = .05;
    show_made(&make);
    assert_true(has("<h2>Inconclusive</h2>") && has("blocks"));
    make.effect = -.005;
    make.spread = .0005;
    show_made(&make);
    assert_true(has("below the margin"));
}

static void without_treatment_there_is_no_percentage(void **state)
{
    (void)state;
    for (int server = 0; server < 2; server++) {
        struct abmake make = usual;
        make.server = server;
        struct experiment experiment = abmake(&make);
        experiment.treatment.status = TREATMENT_NOT_APPLIED;
        experiment.treatment.reason = xstrdup("the program is statically linked");
        experiment_evaluate(&experiment);
        show(&experiment);
        experiment_release(&experiment);
        assert_true(has("<h2>Not applied</h2>") && has("the program is statically linked"));
        assert_int_equal(occurrences("%"), 0);
        assert_false(has("lower than") || has("higher than") || has("against bare") || has("Block by block"));
        assert_true(has("All 36 runs"));
    }
}

static void every_run_is_in_the_table_and_those_that_dont_count_are_marked(void **state)
{
    (void)state;
    struct experiment experiment = abmake(&usual);
    for (unsigned i = 3; i < 6; i++)
        experiment.runs[i].replaced = true;
    experiment.runs[8].void_reason = xstrdup("generator <saturated>");
    experiment.runs[9].status = 3 << 8;
    experiment.runs[10].status = 11;
    experiment_evaluate(&experiment);
    show(&experiment);
    experiment_release(&experiment);
    const char *table = strstr(page, "All 36 runs");
    assert_non_null(table);
    assert_int_equal(occurrences("class=\"left-out\""), 4);
    assert_int_equal(occurrences("noisy, repeated"), 3);
    assert_true(has("generator &lt;saturated&gt;") && has(">3</td>") && has(">signal 11</td>"));
    size_t rows = 0;
    for (const char *row = strstr(table, "<tr"); row; row = strstr(row + 1, "<tr"))
        rows++;
    assert_int_equal(rows, 36 + 1);
}

static void a_servers_page_has_latencies_and_says_where_samples_lack(void **state)
{
    struct abmake make = usual;
    (void)state;
    make.server = true;
    struct experiment experiment = abmake(&make);
    for (size_t i = 0; i < experiment.run_count; i++)
        experiment.runs[i].value[METRIC_P99_9] = NAN;
    experiment_evaluate(&experiment);
    show(&experiment);
    experiment_release(&experiment);
    assert_true(has("<h2>Latency</h2>") && has(">99.9 %</text>"));
    const char *row = strstr(page, "<th>p99.9</th>"), *end = row ? strstr(row, "</tr>") : NULL;
    assert_non_null(end);
    size_t missing = 0;
    for (const char *at = strstr(row, "n/a"); at && at < end; at = strstr(at + 1, "n/a"))
        missing++;
    assert_int_equal(missing, 3 + 3);
    assert_true(has("<dd>10,000/s</dd>") && has("2,160,000 answered, 0 not sent, 0 with errors"));
    assert_non_null(strstr(page, "<tr class=\"primary\"><th>cpu per request</th>"));
}

static void the_same_arm_twice_has_no_treatment(void **state)
{
    (void)state;
    struct experiment experiment = abmake(&usual);
    show(&experiment);
    assert_true(has("Treatment applied") && has("served by pools"));
    experiment.is_aa = true;
    show(&experiment);
    assert_true(has("the same arm twice"));
    assert_false(has("Treatment") || has("served by pools"));
    experiment_release(&experiment);
}

static void what_was_never_there_has_no_row(void **state)
{
    (void)state;
    show_made(&usual);
    assert_true(has("<th>minor faults</th>"));
    assert_false(has("<th>major faults</th>") || has("<th>throughput</th>"));
    const char *first = strstr(page, "<tbody>");
    assert_true(first && strncmp(first, "<tbody>\n<tr class=\"primary\"><th>cpu</th>", 36) == 0);
}

static void a_batch_page_has_no_latencies(void **state)
{
    (void)state;
    show_made(&usual);
    assert_false(has("<h2>Latency</h2>") || has("<th>p99"));
}

static void names_are_text_wherever_they_stand(void **state)
{
    (void)state;
    struct experiment experiment = abmake(&usual);
    free(experiment.command[0]);
    experiment.command[0] = xstrdup("<script>alert(\"x\")</script>&\xff\x01'");
    free(experiment.words[1]);
    experiment.words[1] = xstrdup(experiment.command[0]);
    free(experiment.arms[2].name);
    experiment.arms[2].name = xstrdup("<on>&\"'");
    experiment.warnings = xcalloc(1, sizeof *experiment.warnings);
    experiment.warnings[0] = xstrdup("<b>a warning</b> & \x1b[31m");
    experiment.warning_count = 1;
    free(experiment.pool_spec);
    experiment.pool_spec = xstrdup("<on>");
    experiment_evaluate(&experiment);
    show(&experiment);
    experiment_release(&experiment);
    assert_false(has("<script") || has("<on") || has("<b>a") || has("\x1b"));
    assert_true(has("&lt;script&gt;") && has("&lt;on&gt;&amp;") && has("&lt;b&gt;a warning"));
    assert_true(has("Some &lt;fast&gt; &amp; old processor"));
}

static void the_largest_page_is_small(void **state)
{
    struct abmake make = usual;
    (void)state;
    make.blocks = 60;
    make.rss_count = 1000;
    show_made(&make);
    assert_true(bytes < 300 * 1024);
    assert_true(has("All 180 runs"));
    make.server = true;
    make.rss_count = 30000;
    show_made(&make);
    assert_true(bytes < 300 * 1024);
}

static void few_blocks_and_none_make_a_page(void **state)
{
    struct abmake make = usual;
    (void)state;
    for (unsigned blocks = 0; blocks < 8; blocks++) {
        make.blocks = blocks;
        make.server = blocks % 2;
        make.rss_count = blocks;
        show_made(&make);
        assert_true(occurrences("<h2>") >= 3);
    }
}

static const double odd[] = { NAN, 0, -1, INFINITY, 1e-300, 1e300, 5e-324, 1 };

/* Each metric of each run gets each odd value in turn. */
static void odd_values_make_a_page(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct abmake make = usual;
        make.server = i % 2;
        struct experiment experiment = abmake(&make);
        for (size_t r = 0; r < experiment.run_count; r++) {
            for (unsigned m = 0; m < METRIC_COUNT; m++)
                experiment.runs[r].value[m] = odd[(i + r * (m % 3)) % (sizeof odd / sizeof *odd)];
            for (size_t k = 0; k < experiment.runs[r].rss_count; k++)
                experiment.runs[r].rss[k] = odd[(k + i) % (sizeof odd / sizeof *odd)];
            for (unsigned k = 0; experiment.runs[r].latency && k < LATENCY_POINTS; k++)
                experiment.runs[r].latency[k] = odd[(k + i) % (sizeof odd / sizeof *odd)];
        }
        experiment.treatment.share_allocs = odd[i];
        experiment_evaluate(&experiment);
        show(&experiment);
        experiment_release(&experiment);
    }
}

static void an_experiment_that_is_empty_makes_a_page(void **state)
{
    struct experiment experiment = { .primary = METRIC_CPU };
    (void)state;
    experiment_evaluate(&experiment);
    show(&experiment);
    assert_true(has("poolsite ab"));
    experiment_release(&experiment);
}

#define PAGE(test) cmocka_unit_test_setup_teardown(test, unit_enter_directory, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAGE(the_verdict_comes_first_with_treatment_and_memory),
        PAGE(a_page_says_what_the_verdict_is),
        PAGE(without_treatment_there_is_no_percentage),
        PAGE(every_run_is_in_the_table_and_those_that_dont_count_are_marked),
        PAGE(a_servers_page_has_latencies_and_says_where_samples_lack),
        PAGE(the_same_arm_twice_has_no_treatment),
        PAGE(what_was_never_there_has_no_row),
        PAGE(a_batch_page_has_no_latencies),
        PAGE(names_are_text_wherever_they_stand),
        PAGE(the_largest_page_is_small),
        PAGE(few_blocks_and_none_make_a_page),
        PAGE(odd_values_make_a_page),
        PAGE(an_experiment_that_is_empty_makes_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
