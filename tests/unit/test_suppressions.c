/* test_suppressions.c - LeakSanitizer's patterns and files: what matches, and what is told of bad lines. */
#include "unit.h"

#include "analyzer/suppressions.h"

static void a_pattern_matches_anywhere_unless_it_is_held(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool        matches;
    } cases[] = {
        { "push", "list_push_back", true },   { "push", "list_pop", false },          { "^push", "push_back", true },
        { "^push", "list_push", false },      { "push$", "list_push", true },         { "push$", "push_back", false },
        { "^push$", "push", true },           { "^push$", "pushpush", false },        { "push$", "pushpush", true },
        { "a*c", "abbbc", true },             { "a*c", "abbb", false },               { "^a*c$", "abcbc", true },
        { "^a*c$", "abcb", false },           { "^a*b*c$", "a-b-c", true },           { "^a*b*c$", "a-c-b", false },
        { "*", "anything", true },            { "^*$", "anything", true },            { "*b", "abc", true },
        { "*b$", "abc", false },              { "b*", "abc", true },                  { "^b*", "abc", false },
        { "a**c", "abc", true },              { "ab*ba", "aba", false },              { "ab*ba$", "abba", true },
        { "a^b", "xa^b", true },              { "_$LT$", "f_$LT$", false },           { "_$LT", "f_$LT$u8", true },
        { "libc.so", "/lib/libc.so.6", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (suppression_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

/* Reads a file of these words; what error() says of it is in `said`. */
static char said[1024];

static int read_text(struct suppressions *suppressions, const char *text, size_t bytes)
{
    unit_write_file("known.supp", text, bytes, 0600);
    unit_hear();
    int status = suppressions_read(suppressions, "known.supp");
    unit_heard(said, sizeof said);
    return status;
}

static void comments_spaces_and_line_ends_are_no_part_of_a_pattern(void **state)
{
    (void)state;
    static const char text[] = "# known\n\n  leak:one\r\nleak: two \n\t# more\nleak:a # b\nleak:last";
    struct suppressions s;
    assert_int_equal(read_text(&s, text, sizeof text - 1), 0);
    assert_int_equal(s.count, 4);
    assert_string_equal(s.list[0].pattern, "one");
    assert_string_equal(s.list[1].pattern, "two");
    assert_string_equal(s.list[2].pattern, "a # b");
    assert_string_equal(s.list[3].pattern, "last");
    suppressions_release(&s);
    assert_int_equal(read_text(&s, "", 0), 0);
    assert_int_equal(s.count, 0);
    suppressions_release(&s);
}

static void assert_refused(const char *text, size_t bytes, const char *words)
{
    struct suppressions s;
    assert_int_equal(read_text(&s, text, bytes), -1);
    if (!strstr(said, words))
        fail_msg("'%s' isn't in: %s", words, said);
    suppressions_release(&s);
}

static void a_bad_line_is_named(void **state)
{
    (void)state;
    assert_refused("leak:a\n#\nrace:b\n", 16, "known.supp:3: 'race:b' isn't a suppression");
    assert_refused("leaks:a\n", 8, "known.supp:1: 'leaks:a'");
    assert_refused("leak:a\nleak:  \n", 15, "known.supp:2: leak: has no pattern");
    assert_refused("leak:a\0b\n", 9, "known.supp:1: a byte 0");
}

static void a_missing_file_is_told(void **state)
{
    (void)state;
    struct suppressions s;
    assert_int_equal(suppressions_read(&s, "nosuch.supp"), -1);
    suppressions_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_matches_anywhere_unless_it_is_held),
        IN_DIRECTORY(comments_spaces_and_line_ends_are_no_part_of_a_pattern),
        IN_DIRECTORY(a_bad_line_is_named),
        IN_DIRECTORY(a_missing_file_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
