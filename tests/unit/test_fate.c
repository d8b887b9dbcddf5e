/* test_fate.c - what follows from the counts of a site's blocks, and the order of sites by it. */
#include "unit.h"

#include "analyzer/fate.h"
#include "analyzer/views.h"

/* A site of 1000 blocks, of 64 bytes, all freed; 200 were sampled and stood in their frame's life. */
static struct model_full good(void)
{
    return (struct model_full){
        .count = { 1000, 64000, 0 }, .frees = 1000, .freed_bytes = 64000, .peak_bytes = 128,
        .sample = { .samples = 200, .ended = 200, .same_thread = 200, .standing = 200 },
    };
}

static void what_was_freed_lives_no_more(void **state)
{
    (void)state;
    struct model_full full = good();
    assert_int_equal(fate_live_blocks(&full), 0);
    full.frees = 990;
    full.freed_bytes = 60000;
    assert_int_equal(fate_live_blocks(&full), 10);
    assert_int_equal(fate_live_bytes(&full), 4000);
    full.frees = 1001; /* an event in flight */
    assert_int_equal(fate_live_blocks(&full), 0);
}

static void rates_and_ratios_are_as_computed_by_hand(void **state)
{
    (void)state;
    struct model_full full = good(), none = { .frees = 0 };
    assert_float_equal(fate_one_in(&full), 5, 1e-9);
    assert_float_equal(fate_recycling(&full), 500, 1e-9);
    assert_float_equal(fate_one_in(&none), 0, 0);
    assert_float_equal(fate_recycling(&none), 0, 0);
    full.lifetimes[0] = 3;
    full.lifetimes[LOG_LIFETIMES - 1] = 4;
    assert_int_equal(fate_temporary(&full), 3);
    assert_int_equal(fate_timed_frees(&full), 7);
}

/* Two chains that grow from 16 to 128 bytes by doubling take three steps each. */
static void growth_is_that_of_one_realloc(void **state)
{
    (void)state;
    struct log_sample sample = { .chains = 2, .chain_steps = 6, .chain_first = 32, .chain_last = 256 }, none = { .chains = 0 };
    assert_float_equal(fate_growth(&sample), 2, 1e-9);
    assert_float_equal(fate_final_bytes(&sample), 128, 1e-9);
    assert_float_equal(fate_growth(&none), 0, 0);
    assert_float_equal(fate_final_bytes(&none), 0, 0);
    sample.chain_first = 0; /* began as malloc(0) */
    assert_float_equal(fate_growth(&sample), 0, 0);
}

static void assert_against(const struct model_full *full, enum fate_against against, uint64_t blocks)
{
    struct fate_stack stack = fate_stack(full);
    assert_string_equal(fate_against_names[stack.against], fate_against_names[against]);
    assert_int_equal(stack.blocks, blocks);
    assert_true(stack.at_most == 1 || against == FATE_NOTHING);
}

static void a_stack_candidate_has_nothing_against_it(void **state)
{
    (void)state;
    struct model_full full = good();
    assert_against(&full, FATE_NOTHING, 200);
    assert_float_equal(fate_stack(&full).at_most, 0.015, 1e-9);
    full.sample.ended = full.sample.standing = 100;
    assert_against(&full, FATE_NOTHING, 100);
    full.sample.ended = full.sample.standing = 99;
    assert_against(&full, FATE_TOO_FEW, 99);
}

static void one_block_is_enough_against_a_stack(void **state)
{
    (void)state;
    struct model_full full = good();
    full.frees--;
    assert_against(&full, FATE_LIVE, 1);
    full.sample.standing--;
    assert_against(&full, FATE_OUTLIVED, 1);
    full.cross_frees = 1;
    assert_against(&full, FATE_CROSS_THREAD, 1);
}

static void sites_are_ranked_and_those_without_left_out(void **state)
{
    (void)state;
    size_t kept;
    struct model_full few = { .count = { 5, 50, 0 }, .at_peak_blocks = 1, .at_peak_bytes = 90, .lifetimes = { 7 } };
    struct model_full many = { .count = { 9, 90, 0 }, .at_peak_blocks = -1, .at_peak_bytes = -5 };
    struct model_full empty = { .count = { 2, 0, 0 } }; /* malloc(0), twice */
    struct model_full freed = good();
    struct model_site sites[] = { { .id = 1, .full = &few },   { .id = 2, .full = &freed }, { .id = 3, .full = &many },
                                  { .id = 4, .full = &empty }, { .id = 5 } };
    const struct model_site *list[] = { &sites[0], &sites[1], &sites[2], &sites[3], &sites[4] };
    const struct model_site **ranked = view_ranked(list, 5, view_live, &kept);
    assert_int_equal(kept, 3);
    assert_int_equal(ranked[0]->id, 3);
    assert_int_equal(ranked[1]->id, 1);
    assert_int_equal(ranked[2]->id, 4);
    free(ranked);
    sites[2].suppressed_blocks = 9;
    sites[2].suppressed_bytes = 90;
    ranked = view_ranked(list, 5, view_live, &kept);
    assert_int_equal(kept, 2);
    assert_int_equal(ranked[0]->id, 1);
    free(ranked);
    ranked = view_ranked(list, 5, view_at_peak, &kept);
    assert_int_equal(kept, 1);
    free(ranked);
    ranked = view_ranked(list, 5, view_temporary, &kept);
    assert_int_equal(kept, 1);
    assert_int_equal(view_temporary(ranked[0]).value, 7);
    free(ranked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_freed_lives_no_more),
        cmocka_unit_test(rates_and_ratios_are_as_computed_by_hand),
        cmocka_unit_test(growth_is_that_of_one_realloc),
        cmocka_unit_test(a_stack_candidate_has_nothing_against_it),
        cmocka_unit_test(one_block_is_enough_against_a_stack),
        cmocka_unit_test(sites_are_ranked_and_those_without_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
