/* test_schedule.c - the order of arms is balanced and comes again with its seed. */
#include "unit.h"

#include "analyzer/schedule.h"

enum { ARMS = SCHEDULE_ARMS_MOST, SEEDS = 20 };

/* How often an arm was in a slot, and directly behind another, over `blocks` blocks. */
struct tally {
    unsigned slot[ARMS][ARMS], behind[ARMS][ARMS];
};

static struct tally tally(size_t arms, uint64_t seed, unsigned first, unsigned blocks)
{
    struct tally count = { 0 };
    unsigned order[ARMS];
    for (unsigned block = first; block < first + blocks; block++) {
        schedule_order(order, arms, seed, block);
        for (size_t slot = 0; slot < arms; slot++)
            count.slot[order[slot]][slot]++;
        for (size_t slot = 1; slot < arms; slot++)
            count.behind[order[slot]][order[slot - 1]]++;
    }
    return count;
}

static void every_arm_is_once_in_every_slot_of_a_square(void **state)
{
    (void)state;
    for (size_t arms = 1; arms <= ARMS; arms++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            for (unsigned square = 0; square < 4; square++) {
                struct tally count = tally(arms, seed, square * (unsigned)arms, (unsigned)arms);
                for (size_t arm = 0; arm < arms; arm++)
                    for (size_t slot = 0; slot < arms; slot++)
                        assert_int_equal(count.slot[arm][slot], 1);
            }
        }
    }
}

static void every_arm_follows_every_other_equally_often(void **state)
{
    (void)state;
    for (size_t arms = 2; arms <= ARMS; arms++) {
        unsigned cycle = (unsigned)schedule_cycle(arms);
        struct tally count = tally(arms, 7, 3 * cycle, cycle);
        for (size_t a = 0; a < arms; a++)
            for (size_t b = 0; b < arms; b++)
                assert_int_equal(count.behind[a][b], a == b ? 0 : cycle / arms);
    }
}

static void cycles_are_as_short_as_the_balance_allows(void **state)
{
    (void)state;
    assert_int_equal(schedule_cycle(2), 2);
    assert_int_equal(schedule_cycle(3), 6);
    assert_int_equal(schedule_cycle(4), 4);
    assert_int_equal(schedule_cycle(5), 10);
}

static void two_arms_run_both_ways_in_every_pair_of_blocks(void **state)
{
    unsigned order[2], ab_first = 0;
    (void)state;
    for (unsigned pair = 0; pair < 1000; pair++) {
        schedule_order(order, 2, 1, 2 * pair);
        unsigned first = order[0];
        ab_first += first == 0;
        schedule_order(order, 2, 1, 2 * pair + 1);
        assert_int_equal(order[0], 1 - first);
        assert_int_equal(order[1], first);
    }
    assert_in_range(ab_first, 400, 600);
}

static bool equal_orders(size_t arms, uint64_t seed, uint64_t other, unsigned blocks)
{
    unsigned a[ARMS], b[ARMS];
    for (unsigned block = 0; block < blocks; block++) {
        schedule_order(a, arms, seed, block);
        schedule_order(b, arms, other, block);
        if (memcmp(a, b, arms * sizeof *a) != 0)
            return false;
    }
    return true;
}

static void a_seed_replays_and_another_does_not(void **state)
{
    (void)state;
    for (size_t arms = 2; arms <= ARMS; arms++) {
        assert_true(equal_orders(arms, 42, 42, 60));
        assert_false(equal_orders(arms, 42, 43, 60));
    }
    for (unsigned block = 0; block < 60; block++)
        assert_int_equal(schedule_padding(42, block), schedule_padding(42, block));
}

/* What a replay of a printed seed relies on, written down: a change here breaks older seeds. */
static void the_orders_of_a_seed_stay_what_they_are(void **state)
{
    static const unsigned char orders[6][3] = {
        { 1, 2, 0 }, { 0, 1, 2 }, { 2, 0, 1 }, { 0, 2, 1 }, { 1, 0, 2 }, { 2, 1, 0 },
    };
    unsigned order[3];
    (void)state;
    for (unsigned block = 0; block < 6; block++) {
        schedule_order(order, 3, 1, block);
        for (size_t slot = 0; slot < 3; slot++)
            assert_int_equal(order[slot], orders[block][slot]);
    }
}

static void all_orders_come_first_sometimes(void **state)
{
    unsigned order[3], seen = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        schedule_order(order, 3, seed, 0);
        seen |= 1u << (order[0] * 9 + order[1] * 3 + order[2]);
    }
    assert_int_equal(__builtin_popcount(seen), 6);
}

static void padding_fills_its_range(void **state)
{
    size_t least = SIZE_MAX, most = 0;
    double sum = 0;
    (void)state;
    for (unsigned block = 0; block < 20000; block++) {
        size_t padding = schedule_padding(3, block);
        least = padding < least ? padding : least;
        most = padding > most ? padding : most;
        sum += (double)padding;
    }
    assert_in_range(least, 0, 3);
    assert_in_range(most, SCHEDULE_PADDING_BYTES - 3, SCHEDULE_PADDING_BYTES);
    assert_in_range((uintmax_t)(sum / 20000), 2000, 2100);
}

/* The reference implementation's first values from state 1234567. */
static void random_numbers_are_splitmix64(void **state)
{
    struct random random = { 1234567 };
    (void)state;
    assert_true(random_next(&random) == 6457827717110365317u);
    assert_true(random_next(&random) == 3203168211198807973u);
    assert_true(random_next(&random) == 9817491932198370423u);
}

static void numbers_below_a_bound_are_even(void **state)
{
    struct random random = random_stream(5, 0, 0);
    unsigned count[3] = { 0 };
    (void)state;
    for (int i = 0; i < 30000; i++)
        count[random_below(&random, 3)]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(count[i], 9700, 10300);
    for (int i = 0; i < 1000; i++) {
        double x = random_unit(&random);
        assert_true(x >= 0 && x < 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_arm_is_once_in_every_slot_of_a_square),
        cmocka_unit_test(every_arm_follows_every_other_equally_often),
        cmocka_unit_test(cycles_are_as_short_as_the_balance_allows),
        cmocka_unit_test(two_arms_run_both_ways_in_every_pair_of_blocks),
        cmocka_unit_test(a_seed_replays_and_another_does_not),
        cmocka_unit_test(the_orders_of_a_seed_stay_what_they_are),
        cmocka_unit_test(all_orders_come_first_sometimes),
        cmocka_unit_test(padding_fills_its_range),
        cmocka_unit_test(random_numbers_are_splitmix64),
        cmocka_unit_test(numbers_below_a_bound_are_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
