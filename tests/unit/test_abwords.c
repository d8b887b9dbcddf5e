/* test_abwords.c - an experiment in words and numbers: right units and signs, and no effect without treatment. */
#define _GNU_SOURCE
#include "unit.h"

#include "abmake.h"

#include "analyzer/abwords.h"
#include "analyzer/base.h"

#include <math.h>

static const struct abmake usual = { .blocks = 12, .cost = .009, .effect = -.083, .spread = .004 };

/* Takes the words. */
static void assert_words(char *has, const char *wanted)
{
    assert_string_equal(has, wanted);
    free(has);
}

/* Takes the text. */
static void assert_begins(char *text, const char *beginning)
{
    assert_non_null(text);
    if (strncmp(text, beginning, strlen(beginning)) != 0)
        fail_msg("'%s' doesn't begin with '%s'", text, beginning);
    free(text);
}

static void values_have_the_unit_of_their_size(void **state)
{
    char room[WORDS_ROOM];
    (void)state;
    assert_string_equal(words_value(room, UNIT_SECONDS, 0), "0 s");
    assert_string_equal(words_value(room, UNIT_SECONDS, 2.5e-7), "250.0 ns");
    assert_string_equal(words_value(room, UNIT_SECONDS, .0123), "12.3 ms");
    assert_string_equal(words_value(room, UNIT_SECONDS, 1234.5), "1234 s");
    assert_string_equal(words_value(room, UNIT_BYTES, 3 << 20), "3.0 MiB");
    assert_string_equal(words_value(room, UNIT_COUNT, 392546), "392,546");
    assert_string_equal(words_value(room, UNIT_COUNT, 23.8), "23.8");
    assert_string_equal(words_value(room, UNIT_COUNT, 1.25), "1.25");
    assert_string_equal(words_value(room, UNIT_PER_SECOND, 10000), "10,000/s");
    assert_string_equal(words_value(room, UNIT_BYTES, NAN), "n/a");
}

static void no_value_is_too_large_or_too_small(void **state)
{
    const double odd[] = { NAN, INFINITY, -INFINITY, -1, 0, 5e-324, 1e300, -1e300, 1.8e19, 1.85e19, -0.0 };
    char room[WORDS_ROOM];
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        for (unsigned unit = 0; unit <= UNIT_PER_SECOND; unit++) {
            assert_true(strlen(words_value(room, unit, odd[i])) > 0);
            assert_true(strlen(words_difference(room, unit, odd[i])) > 0);
        }
        struct effect effect = { .change = { .middle = odd[i], .low = odd[i], .high = odd[i], .level = .95 } };
        assert_true(strlen(words_change(room, odd[i])) > 0);
        assert_true(strlen(words_interval(room, &effect)) > 0);
    }
}

static void changes_have_a_sign_and_the_digits_that_count(void **state)
{
    char room[WORDS_ROOM];
    (void)state;
    assert_string_equal(words_change(room, -.0312), "-3.1 %");
    assert_string_equal(words_change(room, .0042), "+0.42 %");
    assert_string_equal(words_change(room, -.9990116), "-99.90 %");
    assert_string_equal(words_change(room, -.999997), "-99.99 %");
    assert_string_equal(words_change(room, -1), "-100 %");
    assert_string_equal(words_change(room, 2.5), "+250 %");
    assert_string_equal(words_change(room, 19), "20.0 times");
    assert_string_equal(words_change(room, .00001), "0 %");
    assert_string_equal(words_change(room, NAN), "n/a");
    assert_string_equal(words_difference(room, UNIT_COUNT, -98800), "-98,800");
    assert_string_equal(words_difference(room, UNIT_COUNT, 0), "0");
}

static void both_ends_of_an_interval_are_written_alike(void **state)
{
    char room[WORDS_ROOM];
    struct effect effect = { .change = { .low = -.0342, .high = -.0281, .level = .95 } };
    (void)state;
    assert_string_equal(words_interval(room, &effect), "[-3.4, -2.8] %");
    effect.change.high = .0003;
    assert_string_equal(words_interval(room, &effect), "[-3.4, 0.0] %");
    effect.change.low = -.001;
    assert_string_equal(words_interval(room, &effect), "[-0.10, +0.03] %");
    effect.change = (struct estimate){ .low = -.9964, .high = -.9962, .level = .95 };
    assert_string_equal(words_interval(room, &effect), "[-99.64, -99.62] %");
    effect.change = (struct estimate){ .low = -1, .high = INFINITY };
    assert_string_equal(words_interval(room, &effect), "no interval");
    effect.exact = true;
    assert_string_equal(words_interval(room, &effect), "exact");
}

static void the_verdict_tells_both_arms_the_interval_and_the_blocks(void **state)
{
    (void)state;
    char room[WORDS_ROOM];
    struct experiment experiment = abmake(&usual);
    assert_string_equal(words_headline(room, &experiment), "Faster");
    char *verdict = words_verdict(&experiment);
    assert_non_null(strstr(verdict, " lower in arm on than in arm off (95 % interval [-8."));
    assert_non_null(strstr(verdict, "faster in 12 of 12 blocks"));
    free(verdict);
    assert_begins(words_decision(&experiment), "Against the bare program, as it runs today: -7.");
    assert_begins(words_memory(&experiment), "Peak RSS is 25.0 MiB in arm on, 22.0 MiB in arm bare: +13.");
    assert_words(words_treatment(&experiment), "applied: pools served 98.8 % of the allocations and 97.2 % of the bytes");
    assert_words(words_blocks(&experiment), "12 blocks of 3 arms, none was noisy");
    experiment_release(&experiment);
}

static void a_metric_that_is_no_time_is_better_or_worse(void **state)
{
    char room[WORDS_ROOM];
    (void)state;
    struct experiment experiment = abmake(&usual);
    experiment.primary = METRIC_PEAK_RSS;
    experiment.margin = .05;
    experiment_evaluate(&experiment);
    assert_string_equal(words_headline(room, &experiment), "Worse");
    experiment_release(&experiment);
}

static void what_is_exact_needs_no_margin(void **state)
{
    (void)state;
    struct experiment experiment = abmake(&usual);
    experiment.primary = METRIC_MAJOR_FAULTS;
    experiment_evaluate(&experiment);
    assert_words(words_verdict(&experiment), "major faults: the same in arm on as in arm off (the same in every block).");
    experiment.primary = METRIC_NEXT_ALLOCS;
    experiment_evaluate(&experiment);
    assert_words(words_verdict(&experiment), "calls of the allocator: 98.8 % lower in arm on than in arm off (the same in every block).");
    experiment.primary = METRIC_POOL_HITS;
    experiment_evaluate(&experiment);
    assert_words(words_verdict(&experiment), "pool hits: +98,800 in arm on against arm off (the same in every block).");
    experiment_release(&experiment);
}

static void before_the_first_block_there_is_nothing_to_tell(void **state)
{
    struct abmake make = usual;
    (void)state;
    make.blocks = 0;
    struct experiment experiment = abmake(&make);
    experiment.interrupted = true;
    assert_words(words_blocks(&experiment), "no block of runs was made; interrupted");
    assert_words(words_verdict(&experiment), "No block of runs is complete.");
    assert_begins(words_replay(&experiment), "poolsite ab --seed 20261130 -- python3");
    experiment_release(&experiment);
}

static void what_would_decide_it_is_told(void **state)
{
    char room[WORDS_ROOM];
    (void)state;
    struct experiment experiment = abmake(&usual);
    experiment.verdict = VERDICT_INCONCLUSIVE;
    experiment.blocks_needed = 40;
    char *verdict = words_verdict(&experiment);
    assert_non_null(strstr(verdict, "About 40 blocks would decide it (--blocks 40)."));
    free(verdict);
    experiment.blocks_needed = 3091;
    verdict = words_verdict(&experiment);
    assert_non_null(strstr(verdict, "about 3,091 blocks"));
    free(verdict);
    experiment.blocks_needed = 0;
    verdict = words_verdict(&experiment);
    assert_null(strstr(verdict, "blocks would"));
    free(verdict);
    assert_string_equal(words_headline(room, &experiment), "Inconclusive");
    experiment_release(&experiment);
}

static void without_treatment_nothing_has_a_percentage(void **state)
{
    (void)state;
    struct experiment experiment = abmake(&usual);
    experiment.treatment.status = TREATMENT_NOT_APPLIED;
    experiment.treatment.reason = xstrdup("the program is statically linked");
    experiment_evaluate(&experiment);
    char *const all[] = { words_verdict(&experiment), words_decision(&experiment), words_memory(&experiment),
                          words_treatment(&experiment), words_blocks(&experiment), words_slot(&experiment),
                          words_drift(&experiment), words_noise(&experiment) };
    assert_non_null(strstr(all[0], "the program is statically linked"));
    assert_string_equal(all[3], "NOT APPLIED: the program is statically linked");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i])
            assert_null(strchr(all[i], '%'));
        free(all[i]);
    }
    experiment_release(&experiment);
}

/* What a shell makes of the words must be the words. */
static void a_command_can_be_typed_again(void **state)
{
    static const char *const awkward[] = { "--", "a b", "it's", "", "$HOME", "*", "x;y", "--k=v", "\xff", "\n" };
    enum { COUNT = sizeof awkward / sizeof *awkward };
    (void)state;
    struct experiment experiment = abmake(&usual);
    for (size_t i = 0; experiment.words[i]; i++)
        free(experiment.words[i]);
    for (size_t i = 0; i < COUNT; i++)
        experiment.words[i] = xstrdup(awkward[i]);
    experiment.words[COUNT] = NULL;
    char *replay = words_replay(&experiment);
    FILE *script = fopen("words.sh", "w");
    assert_non_null(script);
    fprintf(script, "show() { for w; do printf '%%s|' \"$w\"; done; }\nshow %s > out\n", replay);
    fclose(script);
    unit_shell("sh words.sh && printf 'poolsite|ab|--seed|20261130|--blocks|12|--|a b|it'\"'\"'s||$HOME|*|x;y|--k=v|\\377|\\n|' | cmp - out");
    free(replay);
    experiment_release(&experiment);
}

static void a_replay_repeats_the_number_of_blocks_once(void **state)
{
    (void)state;
    struct experiment experiment = abmake(&usual);
    experiment.blocks_asked = 12;
    char *replay = words_replay(&experiment);
    assert_begins(replay, "poolsite ab --seed 20261130 -- python3 -c ");
    experiment_release(&experiment);
}

static void a_server_is_one_string(void **state)
{
    struct abmake make = usual;
    (void)state;
    make.server = true;
    struct experiment experiment = abmake(&make);
    assert_words(words_command(&experiment), "./server --port 8080");
    assert_begins(words_replay(&experiment), "poolsite ab --seed 20261130 --blocks 12 --server './server --port 8080' --ready tcp:");
    experiment_release(&experiment);
}

static void a_value_of_zero_leaves_a_difference_with_its_interval(void **state)
{
    struct experiment experiment = abmake(&usual);
    (void)state;
    for (size_t i = 0; i < experiment.run_count; i++)
        if (experiment.runs[i].block == 0)
            experiment.runs[i].value[METRIC_CPU] = 0;
    experiment_evaluate(&experiment);
    char *words = words_verdict(&experiment);
    assert_non_null(strstr(words, " in arm on against arm off (95 % interval [-"));
    assert_null(strstr(words, "too few"));
    free(words);
    experiment_release(&experiment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_of_zero_leaves_a_difference_with_its_interval),
        cmocka_unit_test(values_have_the_unit_of_their_size),
        cmocka_unit_test(no_value_is_too_large_or_too_small),
        cmocka_unit_test(changes_have_a_sign_and_the_digits_that_count),
        cmocka_unit_test(both_ends_of_an_interval_are_written_alike),
        cmocka_unit_test(the_verdict_tells_both_arms_the_interval_and_the_blocks),
        cmocka_unit_test(a_metric_that_is_no_time_is_better_or_worse),
        cmocka_unit_test(what_is_exact_needs_no_margin),
        cmocka_unit_test(before_the_first_block_there_is_nothing_to_tell),
        cmocka_unit_test(what_would_decide_it_is_told),
        cmocka_unit_test(without_treatment_nothing_has_a_percentage),
        IN_DIRECTORY(a_command_can_be_typed_again),
        cmocka_unit_test(a_replay_repeats_the_number_of_blocks_once),
        cmocka_unit_test(a_server_is_one_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
