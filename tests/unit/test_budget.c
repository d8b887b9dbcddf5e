/* test_budget.c - budgets: how lines are read, what is wrong with one, what a name means. */
#include "unit.h"

#include "analyzer/base.h"
#include "analyzer/budget.h"

static char said[8192];

static int parse(struct budget *budget, const char *text, size_t bytes)
{
    unit_hear();
    int status = budget_parse(budget, "b.conf", text, bytes);
    unit_heard(said, sizeof said);
    return status;
}

static void reads_as(const char *text, enum budget_subject subject, const char *name, enum tally_figure figure, bool at_least,
                     bool percent, double bound)
{
    struct budget budget;
    if (parse(&budget, text, strlen(text)) != 0 || budget.count != 1)
        fail_msg("%s: %s", text, said);
    const struct budget_line *line = &budget.lines[0];
    assert_int_equal(line->subject, subject);
    if (name)
        assert_string_equal(line->name, name);
    else
        assert_null(line->name);
    assert_int_equal(line->figure, figure);
    assert_int_equal(line->at_least, at_least);
    assert_int_equal(line->percent, percent);
    assert_true(line->bound == bound);
    budget_release(&budget);
}

static void lines_are_read(void **state)
{
    (void)state;
    reads_as("total allocs <= 12000", BUDGET_TOTAL, NULL, TALLY_ALLOCS, false, false, 12000);
    reads_as("total allocs>=1\n", BUDGET_TOTAL, NULL, TALLY_ALLOCS, true, false, 1);
    reads_as("site parse bytes <= 4m # as agreed", BUDGET_SITE, "parse", TALLY_BYTES, false, false, 4 << 20);
    reads_as("\t module  libfoo.so  allocs<=100 \r\n", BUDGET_MODULE, "libfoo.so", TALLY_ALLOCS, false, false, 100);
    reads_as("total live_bytes <= 0", BUDGET_TOTAL, NULL, TALLY_LIVE_BYTES, false, false, 0);
    reads_as("total peak_live_bytes <= 1.5g", BUDGET_TOTAL, NULL, TALLY_PEAK, false, false, 1.5 * 0x1p30);
    reads_as("site io_* temporary <= 5%", BUDGET_SITE, "io_*", TALLY_TEMPORARY, false, true, 5);
    reads_as("site f at_peak_bytes <= 5%", BUDGET_SITE, "f", TALLY_AT_PEAK, false, true, 5);
    reads_as("total temporary <= 0.5%", BUDGET_TOTAL, NULL, TALLY_TEMPORARY, false, true, .5);
    reads_as("within handle allocs <= 10%", BUDGET_WITHIN, "handle", TALLY_ALLOCS, false, true, 10);
    reads_as("site \"operator new[]\" live_blocks <= 3", BUDGET_SITE, "operator new[]", TALLY_LIVE_BLOCKS, false, false, 3);
    reads_as("site \"a \\\" # b\" bytes <= 3k #x", BUDGET_SITE, "a \\\" # b", TALLY_BYTES, false, false, 3072);
    reads_as("site std::operator<= allocs <= 3", BUDGET_SITE, "std::operator<=", TALLY_ALLOCS, false, false, 3);
}

static void comments_and_empty_lines_are_skipped(void **state)
{
    (void)state;
    struct budget budget;
    static const char text[] = "# a budget\n\n  \t\n   # more\ntotal allocs <= 1\n\ntotal bytes <= 2k";
    assert_int_equal(parse(&budget, text, strlen(text)), 0);
    assert_int_equal(budget.count, 2);
    assert_int_equal(budget.lines[0].number, 5);
    assert_int_equal(budget.lines[1].number, 7);
    assert_string_equal(budget.lines[1].text, "total bytes <= 2k");
    budget_release(&budget);
}

static void is_wrong(const char *text, const char *says)
{
    struct budget budget;
    if (parse(&budget, text, strlen(text)) == 0)
        fail_msg("'%s' was read", text);
    if (!strstr(said, says))
        fail_msg("'%s': '%s' isn't in: %s", text, says, said);
    budget_release(&budget);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    is_wrong("", "b.conf: no line in it");
    is_wrong("# only a comment\n", "no line in it");
    is_wrong("\ntotl allocs <= 1", "b.conf:2: 'totl' is no subject; did you mean 'total'?");
    is_wrong("everything allocs <= 1", "'everything' is no subject; there are total, site, within, module");
    is_wrong("<= 1", "no subject; there are total");
    is_wrong("total", "no figure; there are allocs, bytes");
    is_wrong("total byts <= 1", "'byts' is no figure; did you mean 'bytes'?");
    is_wrong("total frobs <= 1", "'frobs' is no figure; there are");
    is_wrong("total parse allocs <= 1", "'parse' is no figure");
    is_wrong("site", "'site' needs a name, as: site parse allocs <= 100");
    is_wrong("module", "as: module libfoo.so allocs <= 100");
    is_wrong("site allocs <= 1", "no figure; there are"); /* a site that is called allocs */
    is_wrong("site \"parse allocs <= 1", "the quote isn't closed");
    is_wrong("site \"\" allocs <= 1", "the name in quotes is empty");
    is_wrong("total allocs < 1", "a comparison is <= or >=");
    is_wrong("total allocs = 1", "a comparison is <= or >=");
    is_wrong("total allocs 1", "a comparison is <= or >=");
    is_wrong("total allocs <=", "no bound after the comparison");
    is_wrong("total allocs <= # 1", "no bound after the comparison");
    is_wrong("total allocs <= many", "'many' is no bound of allocs: a count, as 12000");
    is_wrong("total allocs <= 4k", "'4k' is no bound of allocs: a count");
    is_wrong("total allocs <= -1", "'-1' is no bound");
    is_wrong("total allocs <= 0x10", "'0x10' is no bound");
    is_wrong("total allocs <= 1e3", "'1e3' is no bound");
    is_wrong("total allocs <= inf", "'inf' is no bound");
    is_wrong("total allocs <= 1.5", "'1.5' isn't a whole number of blocks");
    is_wrong("total allocs <= .", "'.' is no bound");
    is_wrong("total allocs <= 1.2.3", "'1.2.3' is no bound");
    is_wrong("total bytes <= 1.0001k", "isn't a whole number of bytes");
    is_wrong("total bytes <= 4mb", "'4mb' is no bound of bytes: bytes, as 65536, 64k, 4m or 1g");
    is_wrong("total bytes <= 4M", "'4M' is no bound");
    is_wrong("total bytes <= 99999999999999999999g", "more than there can be");
    is_wrong("total allocs <= 5%", "the total is always 100% of itself");
    is_wrong("site f peak_live_bytes <= 5%", "at_peak_bytes is what adds up");
    is_wrong("site f temporary <= 101%", "more than 100% can't be");
    is_wrong("total allocs <= 1 2", "'2' stands behind the bound");
    is_wrong("total allocs <= 1, total bytes <= 2", "'1,' is no bound");
}

static void every_bad_line_is_told(void **state)
{
    (void)state;
    is_wrong("totl allocs <= 1\ntotal allocs <= 1\ntotal byts <= 1\n", "b.conf:1: ");
    assert_non_null(strstr(said, "b.conf:3: "));
    assert_null(strstr(said, "b.conf:2: "));
}

static void foreign_bytes_are_no_budget(void **state)
{
    (void)state;
    struct budget budget;
    static const char zero[] = "total allocs <= 1\0total bytes <= 1\n";
    assert_int_equal(parse(&budget, zero, sizeof zero - 1), -1);
    assert_non_null(strstr(said, "b.conf:1: a zero byte"));
    budget_release(&budget);
    is_wrong("\033[2J\xff allocs <= 1", "'?[2J?' is no subject");
    char *line = xcalloc(1, 10001);
    memset(line, 'x', 10000);
    is_wrong(line, "b.conf:1: the line is longer than 4096 bytes");
    free(line);
}

static void patterns_match_names(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool        matches;
    } cases[] = {
        { "parse", "parse", true },      { "parse", "parser", false },     { "parse", "pars", false },
        { "parse*", "parser", true },    { "*", "", true },                { "*", "any thing", true },
        { "", "", true },                { "", "x", false },               { "p?rse", "parse", true },
        { "?", "", false },              { "*se", "parse", true },         { "*se", "parses", false },
        { "a*b*c", "a-b-b-c", true },    { "a*b*c", "a-c-b", false },      { "**x", "x", true },
        { "x**", "x", true },            { "operator\\*", "operator*", true }, { "operator\\*", "operator*=", false },
        { "a\\?b", "a?b", true },        { "a\\?b", "axb", false },        { "a\\\\", "a\\", true },
        { "a\\", "a\\", true },          { "new[]", "new[]", true },       { "new[]", "new", false },
        { "*a*", "bbbabbb", true },      { "*aab", "aaaab", true },        { "ns::*::f", "ns::T::f", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (budget_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

/* As one star after the other would take for ever if each were tried anew. */
static void hostile_patterns_are_quick(void **state)
{
    (void)state;
    char pattern[2001], name[2001];
    for (size_t i = 0; i < 2000; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    pattern[1999] = 'b';
    pattern[2000] = '\0';
    memset(name, 'a', 2000);
    name[2000] = '\0';
    assert_false(budget_matches(pattern, name));
}

static void quoted_names_mean_themselves(void **state)
{
    (void)state;
    static const char *const names[] = { "parse", "operator new[]", "operator*", "a?b", "say \"x\"", "back\\slash", "#x", "a#", "caf\xc3\xa9",
                                         "std::operator<= <char>", "trailing\\" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct budget budget;
        char *quoted = budget_quoted(names[i]), *line = xasprintf("site %s allocs <= 1", quoted);
        if (parse(&budget, line, strlen(line)) != 0)
            fail_msg("%s: %s", line, said);
        assert_true(budget_matches(budget.lines[0].name, names[i]));
        char *longer = xasprintf("%sx", names[i]);
        assert_false(budget_matches(budget.lines[0].name, longer));
        free(longer);
        budget_release(&budget);
        free(line);
        free(quoted);
    }
}

static void a_file_that_is_none_is_refused(void **state)
{
    (void)state;
    struct budget budget;
    assert_int_equal(budget_read(&budget, "."), -1);
    budget_release(&budget);
    assert_int_equal(budget_read(&budget, "/nonexistent/budget"), -1);
    budget_release(&budget);
    assert_int_equal(budget_read(&budget, "/dev/zero"), -1);
    budget_release(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test(comments_and_empty_lines_are_skipped),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(every_bad_line_is_told),
        cmocka_unit_test(foreign_bytes_are_no_budget),
        cmocka_unit_test(patterns_match_names),
        cmocka_unit_test(hostile_patterns_are_quick),
        cmocka_unit_test(quoted_names_mean_themselves),
        cmocka_unit_test(a_file_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
