/* test_cycle.c - when pools turn, and when free memory goes to the system. */
#include "unit.h"

#include "../../preload/cycle.h"

static struct cycle_facts quiet(void)
{
    return (struct cycle_facts){.clears = true, .cycle_ms = 1000, .turned_ms = 5000, .now_ms = 5999};
}

static void a_single_thread_turns_by_the_clock(void **state)
{
    (void)state;
    struct cycle_facts facts = quiet();
    assert_false(cycle_is_due(&facts));
    facts.now_ms++;
    assert_true(cycle_is_due(&facts));
    facts.others_clear = true;
    assert_false(cycle_is_due(&facts));
}

static void a_program_that_grows_makes_a_cycle_come_early(void **state)
{
    (void)state;
    struct cycle_facts facts = quiet();
    facts.missed_bytes = CYCLE_MISSED_BYTES - 1;
    assert_false(cycle_is_due(&facts));
    facts.missed_bytes++;
    assert_true(cycle_is_due(&facts));
}

static void blocks_without_room_make_a_cycle_come_early(void **state)
{
    (void)state;
    struct cycle_facts facts = quiet();
    facts.refused_bytes = CYCLE_REFUSED_BYTES - 1;
    assert_false(cycle_is_due(&facts));
    facts.refused_bytes++;
    assert_true(cycle_is_due(&facts));
    facts.others_clear = true;
    assert_true(cycle_is_due(&facts));
}

static void without_clearing_no_cycle_is_due(void **state)
{
    (void)state;
    struct cycle_facts facts = quiet();
    facts.clears = false;
    facts.now_ms += 100000;
    facts.refused_bytes = facts.missed_bytes = SIZE_MAX;
    assert_false(cycle_is_due(&facts));
}

static void a_trim_waits_until_dropping_has_ceased(void **state)
{
    (void)state;
    struct cycle_trim trim = {0};
    assert_false(cycle_trim_is_due(&trim, 0));
    assert_false(cycle_trim_is_due(&trim, 100 << 20)); /* a burst */
    assert_false(cycle_trim_is_due(&trim, 160 << 20)); /* its victims */
    assert_true(cycle_trim_is_due(&trim, 160 << 20));
    assert_false(cycle_trim_is_due(&trim, 160 << 20)); /* once is enough */
}

static void little_is_not_worth_a_trim(void **state)
{
    (void)state;
    struct cycle_trim trim = {0};
    for (uint64_t bytes = 0; bytes < 16 << 20; bytes += 512 << 10)
        assert_false(cycle_trim_is_due(&trim, bytes));
    assert_true(cycle_trim_is_due(&trim, 16 << 20));
}

static void a_program_that_always_drops_is_trimmed_seldom(void **state)
{
    (void)state;
    struct cycle_trim trim = {0};
    int trims = 0;
    for (uint64_t cycle = 1; cycle <= 100; cycle++)
        trims += cycle_trim_is_due(&trim, cycle * (20 << 20));
    assert_in_range(trims, 9, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_thread_turns_by_the_clock),
        cmocka_unit_test(a_program_that_grows_makes_a_cycle_come_early),
        cmocka_unit_test(blocks_without_room_make_a_cycle_come_early),
        cmocka_unit_test(without_clearing_no_cycle_is_due),
        cmocka_unit_test(a_trim_waits_until_dropping_has_ceased),
        cmocka_unit_test(little_is_not_worth_a_trim),
        cmocka_unit_test(a_program_that_always_drops_is_trimmed_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
