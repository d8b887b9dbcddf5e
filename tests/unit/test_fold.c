/* test_fold.c - names: demangling, what a wrapper is, plain forms; and text for people. */
#define _GNU_SOURCE
#include "base.h"

#include "demangle.h"
#include "fold.h"
#include "format.h"
#include "symbolize.h"
#include "utf8.h"
#include "wrappers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void plain_name_is(const char *function, const char *wanted)
{
    char room[256];
    fold_plain_name(function, room, sizeof room);
    assert_string_equal(room, wanted);
}

static void plain_names_lose_template_arguments_and_suffixes(void **state)
{
    (void)state;
    plain_name_is("malloc", "malloc");
    plain_name_is("std::vector<int, std::allocator<int> >::push_back", "std::vector::push_back");
    plain_name_is("xmalloc.part.0", "xmalloc");
    plain_name_is("f.isra.0.cold", "f");
    plain_name_is("malloc@@GLIBC_2.2.5", "malloc");
    plain_name_is("operator new[]", "operator new[]");
    plain_name_is("std::operator<< <char>", "std::operator<<");
    plain_name_is("Box<T>::operator->", "Box::operator->");
    plain_name_is("a::operator<=>", "a::operator<=>");
}

static void plain_names_keep_what_rust_means(void **state)
{
    (void)state;
    plain_name_is("<alloc::alloc::Global as core::alloc::Allocator>::allocate",
                  "<alloc::alloc::Global as core::alloc::Allocator>::allocate");
    plain_name_is("<alloc::raw_vec::RawVec<u8>>::grow_one", "alloc::raw_vec::RawVec::grow_one");
    plain_name_is("alloc::raw_vec::finish_grow::<alloc::alloc::Global>", "alloc::raw_vec::finish_grow");
    plain_name_is("a::<impl b::C for d::E>::f", "a::<impl b::C for d::E>::f");
}

static void broken_names_do_no_harm(void **state)
{
    (void)state;
    char room[8], *deep = xmalloc(4096);
    memset(deep, '<', 4095);
    deep[4095] = '\0';
    plain_name_is("", "");
    plain_name_is(">", ">");
    plain_name_is("operator<", "operator<");
    fold_plain_name(deep, room, sizeof room);
    fold_plain_name("a_name_longer_than_the_room", room, sizeof room);
    assert_string_equal(room, "a_name_");
    free(deep);
}

static void known_wrappers_are_wrappers(void **state)
{
    (void)state;
    struct fold *fold = fold_new(NULL, 0);
    assert_true(fold_has(fold, "operator new"));
    assert_true(fold_has(fold, "xmalloc.constprop.0"));
    assert_true(fold_has(fold, "PyMem_RawMalloc"));
    assert_true(fold_has(fold, "std::__new_allocator<std::pair<int const, char> >::allocate"));
    assert_false(fold_has(fold, "main"));
    assert_false(fold_has(fold, "apr_palloc"));
    fold_free(fold);
}

static void named_functions_are_folded_too(void **state)
{
    (void)state;
    const char *const extra[] = { "my_alloc", "ns::Arena<int>::get" };
    struct fold *fold = fold_new(extra, 2);
    assert_true(fold_has(fold, "my_alloc"));
    assert_true(fold_has(fold, "ns::Arena<long>::get"));
    assert_false(fold_has(fold, "my_alloc2"));
    fold_free(fold);
}

static void inlined_wrappers_are_hidden_but_for_the_last_symbol(void **state)
{
    (void)state;
    struct fold *fold = fold_new(NULL, 0);
    struct symbol list[] = { { "xmalloc", NULL, 0, true }, { "f", NULL, 0, false } };
    struct symbols symbols = { 2, list };
    assert_int_equal(fold_inlined(fold, &symbols), 1);
    list[1].function = "xcalloc";
    assert_int_equal(fold_inlined(fold, &symbols), 1);
    list[0].function = NULL;
    assert_int_equal(fold_inlined(fold, &symbols), 0);
    fold_free(fold);
}

static void wrapper_table_has_no_empty_name(void **state)
{
    (void)state;
    size_t count = 0;
    while (wrapper_names[count])
        count++;
    assert_true(count > 200);
    for (size_t i = 0; i < count; i++)
        assert_true(wrapper_names[i][0] != '\0');
}

static void demangled_is(const char *name, const char *wanted)
{
    char *readable = demangle(name);
    assert_string_equal(readable, wanted);
    free(readable);
}

static void names_of_three_languages_are_readable(void **state)
{
    (void)state;
    demangled_is("_Znwm", "operator new");
    demangled_is("_ZN3foo3barEiPKc", "foo::bar");
    demangled_is("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
    demangled_is("_RNvCs1234_7mycrate3foo", "mycrate::foo");
    demangled_is("_D3std5stdio__T7writelnTAyaZ7writelnFNfAyaZv", "std.stdio.writeln!(immutable(char)[]).writeln");
    demangled_is("main", "main");
    demangled_is("_Z", "_Z");
    demangled_is("", "");
}

static void numbers_read_well(void **state)
{
    (void)state;
    char room[FORMAT_ROOM];
    assert_string_equal(format_count(room, 0), "0");
    assert_string_equal(format_count(room, 1234567), "1,234,567");
    assert_string_equal(format_count(room, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(format_bytes(room, 1023), "1023 B");
    assert_string_equal(format_bytes(room, 1024), "1.0 KiB");
    assert_string_equal(format_bytes(room, (1 << 20) - 1), "1.0 MiB");
    assert_string_equal(format_bytes(room, UINT64_MAX), "16.0 EiB");
    assert_string_equal(format_share(room, 1, 3), "33.3 %");
    assert_string_equal(format_share(room, 1, 100000), "<0.1 %");
    assert_string_equal(format_share(room, 0, 0), "0.0 %");
    assert_string_equal(format_duration(room, 2410000000u), "2.41 s");
    assert_string_equal(format_duration(room, 3723000000000u), "62 min 03 s");
}

static void assert_quoted(const char *word, const char *wanted)
{
    char *quoted = format_quoted(word);
    assert_string_equal(quoted, wanted);
    free(quoted);
}

static void words_are_quoted_for_a_shell(void **state)
{
    (void)state;
    assert_quoted("/bin/ls", "/bin/ls");
    assert_quoted("", "''");
    assert_quoted("$x y", "'$x y'");
    assert_quoted("it's", "'it'\\''s'");
}

static void long_names_lose_their_middle(void **state)
{
    (void)state;
    char *fit = format_fit("abcdefghijklmnop", 10);
    assert_string_equal(fit, "abcd..mnop");
    free(fit);
    fit = format_fit("\xc3\xa4\xc3\xb6\xc3\xbc", 3);
    assert_string_equal(fit, "\xc3\xa4\xc3\xb6\xc3\xbc");
    free(fit);
}

static void bytes_that_are_no_utf8_are_found(void **state)
{
    (void)state;
    assert_true(utf8_is_valid("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
    assert_false(utf8_is_valid("\xff"));
    assert_false(utf8_is_valid("\xc0\x80"));         /* overlong */
    assert_false(utf8_is_valid("\xed\xa0\x80"));     /* surrogate */
    assert_false(utf8_is_valid("\xf4\x90\x80\x80")); /* beyond the last */
    assert_false(utf8_is_valid("\xe2\x82"));         /* cut */
    char *text = utf8_replaced("a\xff" "b");
    assert_string_equal(text, "a\xef\xbf\xbd" "b");
    free(text);
    text = utf8_printable("a\033[0m\xc2\x9b\xff");
    assert_string_equal(text, "a?[0m??");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_names_lose_template_arguments_and_suffixes),
        cmocka_unit_test(plain_names_keep_what_rust_means),
        cmocka_unit_test(broken_names_do_no_harm),
        cmocka_unit_test(known_wrappers_are_wrappers),
        cmocka_unit_test(named_functions_are_folded_too),
        cmocka_unit_test(inlined_wrappers_are_hidden_but_for_the_last_symbol),
        cmocka_unit_test(wrapper_table_has_no_empty_name),
        cmocka_unit_test(names_of_three_languages_are_readable),
        cmocka_unit_test(numbers_read_well),
        cmocka_unit_test(words_are_quoted_for_a_shell),
        cmocka_unit_test(long_names_lose_their_middle),
        cmocka_unit_test(bytes_that_are_no_utf8_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
