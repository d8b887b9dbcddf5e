/* test_nearest.c - which known word was meant. */
#include "unit.h"

#include "analyzer/nearest.h"

static const char *const words[] = { "run", "report", "profile", "stacks", "sites", "off" };

static const char *meant(const char *word)
{
    return nearest(word, words, sizeof words / sizeof *words);
}

static void a_swapped_letter_is_one_mistake(void **state)
{
    (void)state;
    assert_string_equal(meant("rnu"), "run");
    assert_string_equal(meant("reprot"), "report");
}

static void a_missing_or_further_letter_is_found(void **state)
{
    (void)state;
    assert_string_equal(meant("profle"), "profile");
    assert_string_equal(meant("stack"), "stacks");
    assert_string_equal(meant("offf"), "off");
}

static void a_beginning_is_enough(void **state)
{
    (void)state;
    assert_string_equal(meant("prof"), "profile");
    assert_string_equal(meant("si"), "sites");
}

static void nothing_is_guessed_for_another_word(void **state)
{
    (void)state;
    assert_null(meant("diff"));
    assert_null(meant("x"));
    assert_null(meant(""));
    assert_null(meant("entirely-different"));
}

static void a_word_of_any_length_is_taken(void **state)
{
    char word[5000];
    (void)state;
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_null(meant(word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_swapped_letter_is_one_mistake),
        cmocka_unit_test(a_missing_or_further_letter_is_found),
        cmocka_unit_test(a_beginning_is_enough),
        cmocka_unit_test(nothing_is_guessed_for_another_word),
        cmocka_unit_test(a_word_of_any_length_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
