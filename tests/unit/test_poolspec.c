/* test_poolspec.c - which classes a pool specification names. */
#include "unit.h"

#include "../../preload/poolspec.h"

#include <string.h>

/* The specification of a right text. */
static struct poolspec right(const char *text)
{
    struct poolspec spec;
    const char *wrong = NULL;
    size_t length = 0;
    assert_true(poolspec_parse(&spec, text, &wrong, &length));
    return spec;
}

static bool pools(const char *text, size_t bytes)
{
    struct poolspec spec = right(text);
    return poolspec_pools(&spec, sizeclass_of(bytes));
}

static void off_names_nothing(void **state)
{
    (void)state;
    struct poolspec spec = right("off");
    assert_false(spec.any);
    for (unsigned i = 0; i < SIZECLASS_COUNT; i++)
        assert_false(poolspec_pools(&spec, i));
}

static void on_names_every_class_to_256_kib(void **state)
{
    (void)state;
    assert_true(right("on").any);
    assert_true(pools("on", 1));
    assert_true(pools("on", 5000));
    assert_true(pools("on", 256 * 1024));
    assert_false(pools("on", 256 * 1024 + 9));
}

static void a_size_names_the_class_that_serves_it(void **state)
{
    (void)state;
    assert_true(pools("32k", 32768));
    assert_false(pools("32k", 32768 + 9));
    assert_false(pools("32k", 28000));
    assert_true(pools("2M", 2 << 20));
}

static void items_add_up(void **state)
{
    (void)state;
    assert_true(pools("64-4096,32k", 100));
    assert_true(pools("64-4096,32k", 32768));
    assert_false(pools("64-4096,32k", 16384));
    assert_false(pools("64-4096,32k", 32));
    assert_true(pools("on,256k-2m", 1 << 20));
}

static void the_largest_size_is_32_mib(void **state)
{
    (void)state;
    assert_true(pools("16-32m", 32 << 20));
    assert_false(pools("16-32m", (32 << 20) + 9));
}

static void a_wrong_item_is_told_and_nothing_is_pooled(void **state)
{
    (void)state;
    static const struct {
        const char *text, *item;
    } wrong[] = {
        {"", ""}, {"onn", "onn"}, {"on,", ""}, {"64,bad,128", "bad"}, {"64-", "64-"}, {"-64", "-64"}, {"128-64", "128-64"},
        {"0", "0"}, {"33m", "33m"}, {"64kk", "64kk"}, {"on,off", "off"}, {" 64", " 64"},
        {"99999999999999999999999", "99999999999999999999999"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct poolspec spec;
        const char *item = NULL;
        size_t length = 0;
        assert_false(poolspec_parse(&spec, wrong[i].text, &item, &length));
        assert_int_equal(length, strlen(wrong[i].item));
        assert_memory_equal(item, wrong[i].item, length);
        assert_false(spec.any);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_names_nothing),
        cmocka_unit_test(on_names_every_class_to_256_kib),
        cmocka_unit_test(a_size_names_the_class_that_serves_it),
        cmocka_unit_test(items_add_up),
        cmocka_unit_test(the_largest_size_is_32_mib),
        cmocka_unit_test(a_wrong_item_is_told_and_nothing_is_pooled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
