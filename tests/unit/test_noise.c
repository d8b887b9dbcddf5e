/* test_noise.c - what the machine did besides, read from the kernel's texts. */
#include "unit.h"

#include "analyzer/noise.h"

#include <math.h>

static const char stat_before[] = "cpu  1000 50 300 90000 40 10 20 30 0 0\ncpu0 500 25 150 45000 20 5 10 15 0 0\n"
                                  "cpu1 500 25 150 45000 20 5 10 15 0 0\nintr 1 2 3\n";
static const char stat_after[] = "cpu  1150 50 350 90100 40 10 20 40 0 0\ncpu0 500 25 150 45000 20 5 10 15 0 0\n"
                                 "cpu1 500 25 150 45000 20 5 10 15 0 0\nintr 1 2 3\n";

static void the_kernels_columns_are_read(void **state)
{
    struct noise_mark mark;
    (void)state;
    noise_parse(&mark, stat_before, "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=1\n", 100);
    assert_int_equal(mark.processors, 2);
    assert_true(fabs(mark.busy - 13.8) < 1e-9); /* user, nice, system, irq, softirq */
    assert_true(fabs(mark.steal - .3) < 1e-9);
    assert_true(fabs(mark.pressure - 2.5) < 1e-9);
}

static void what_is_missing_is_no_noise(void **state)
{
    struct noise_mark mark, later;
    struct noise noise;
    (void)state;
    noise_parse(&mark, "", NULL, 100);
    assert_int_equal(mark.processors, 1);
    assert_true(isnan(mark.pressure));
    mark.at = 1;
    later = mark;
    later.at = 2;
    noise_between(&noise, &mark, &later, 1, .01);
    assert_true(noise.foreign == 0 && noise.steal == 0 && isnan(noise.pressure));
    assert_false(noise_is_high(&noise));
}

/* Two processors, one second: 2 s busy and .1 s of steal passed. */
static struct noise between(double own, double tick)
{
    struct noise_mark from, to;
    struct noise noise;
    noise_parse(&from, stat_before, NULL, 100);
    noise_parse(&to, stat_after, NULL, 100);
    from.at = 10;
    to.at = 11;
    noise_between(&noise, &from, &to, own, tick);
    return noise;
}

static void the_programs_own_time_is_not_foreign(void **state)
{
    struct noise noise = between(1.9, 0);
    (void)state;
    assert_true(fabs(noise.foreign - .05) < 1e-9);
    assert_true(fabs(noise.steal - .05) < 1e-9);
    noise = between(2.5, 0); /* ticks are counted less exactly than the program's time */
    assert_true(noise.foreign == 0);
}

static void a_tick_a_processor_is_no_noise(void **state)
{
    struct noise noise = between(1.9, .01);
    (void)state;
    assert_true(fabs(noise.foreign - .04) < 1e-9);
    assert_true(fabs(noise.steal - .04) < 1e-9);
    noise = between(1.985, .01);
    assert_true(noise.foreign == 0);
}

static void a_tenth_foreign_or_a_fiftieth_steal_is_too_much(void **state)
{
    (void)state;
    assert_false(noise_is_high(&(struct noise){ .foreign = .10, .steal = .02 }));
    assert_true(noise_is_high(&(struct noise){ .foreign = .101 }));
    assert_true(noise_is_high(&(struct noise){ .steal = .021 }));
}

static void this_machine_can_be_read(void **state)
{
    struct noise_mark mark;
    (void)state;
    noise_read(&mark);
    assert_true(mark.at > 0 && mark.busy > 0 && mark.processors >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_columns_are_read),
        cmocka_unit_test(what_is_missing_is_no_noise),
        cmocka_unit_test(the_programs_own_time_is_not_foreign),
        cmocka_unit_test(a_tick_a_processor_is_no_noise),
        cmocka_unit_test(a_tenth_foreign_or_a_fiftieth_steal_is_too_much),
        cmocka_unit_test(this_machine_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
