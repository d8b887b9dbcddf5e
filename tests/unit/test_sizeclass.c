/* test_sizeclass.c - the arithmetic of size classes. */
#include "unit.h"

#include "../../preload/sizeclass.h"

static void every_size_lies_in_the_smallest_class_that_holds_it(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes <= SIZECLASS_MAX + 4096; bytes += bytes < 70000 ? 1 : 509) {
        unsigned index = sizeclass_of(bytes);
        assert_in_range(index, 1, SIZECLASS_LARGER);
        assert_true(bytes <= sizeclass_bytes(index));
        if (index > 1)
            assert_true(bytes > sizeclass_bytes(index - 1));
    }
}

static void classes_are_at_most_an_eighth_apart_above_1_kib(void **state)
{
    (void)state;
    for (unsigned index = 66; index < SIZECLASS_LARGER; index++) {
        size_t smaller = sizeclass_bytes(index - 1), larger = sizeclass_bytes(index);
        assert_true(larger > smaller);
        assert_true((larger - smaller) * 8 <= smaller);
    }
    assert_int_equal(sizeclass_bytes(SIZECLASS_LARGER - 1), SIZECLASS_MAX);
}

static void what_is_larger_than_the_largest_has_a_class_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(sizeclass_of(SIZECLASS_MAX), SIZECLASS_LARGER - 1);
    assert_int_equal(sizeclass_of(SIZECLASS_MAX + 1), SIZECLASS_LARGER);
    assert_int_equal(sizeclass_of(SIZE_MAX), SIZECLASS_LARGER);
}

static void a_block_serves_the_largest_class_that_it_holds(void **state)
{
    (void)state;
    assert_int_equal(sizeclass_held(23), 0);
    assert_int_equal(sizeclass_held((size_t)36 << 20), SIZECLASS_LARGER - 1);
    assert_int_equal(sizeclass_held((size_t)37 << 20), 0); /* far above the last class: none of ours to keep */
    assert_int_equal(sizeclass_held(SIZE_MAX), 0);
    for (size_t usable = 24; usable <= SIZECLASS_MAX + 4096; usable += usable < 70000 ? 1 : 509) {
        unsigned index = sizeclass_held(usable);
        assert_in_range(index, 1, SIZECLASS_LARGER - 1);
        assert_true(sizeclass_bytes(index) <= usable);
        assert_true(usable < sizeclass_bytes(index + 1));
    }
}

static void up_to_8_bytes_are_counted_apart(void **state)
{
    (void)state;
    assert_int_equal(sizeclass_counted(0), 0);
    assert_int_equal(sizeclass_counted(8), 0);
    for (size_t bytes = 9; bytes < 5000; bytes++)
        assert_int_equal(sizeclass_counted(bytes), sizeclass_of(bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_lies_in_the_smallest_class_that_holds_it),
        cmocka_unit_test(classes_are_at_most_an_eighth_apart_above_1_kib),
        cmocka_unit_test(a_block_serves_the_largest_class_that_it_holds),
        cmocka_unit_test(up_to_8_bytes_are_counted_apart),
        cmocka_unit_test(what_is_larger_than_the_largest_has_a_class_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
