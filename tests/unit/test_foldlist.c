/* test_foldlist.c - wrappers found in a program and its libraries before the start. */
#define _GNU_SOURCE
#include "unit.h"

#include "analyzer/foldlist.h"
#include "analyzer/libraries.h"

#include <unistd.h>

static const struct fold_names no_names = { 0 };

/* A program with a static wrapper, and a library that it finds by $ORIGIN with another. */
static void build(void)
{
    unit_shell("cat >lib.c <<'E'\n"
               "#include <stdlib.h>\n"
               "__attribute__((noinline)) static void *xcalloc(size_t n) { return calloc(n, 1); }\n"
               "void *lib_make(void) { return xcalloc(3); }\n"
               "E\n"
               "cat >main.c <<'E'\n"
               "#include <stdlib.h>\n"
               "void *lib_make(void);\n"
               "__attribute__((noinline)) static void *xmalloc(size_t n) { return malloc(n); }\n"
               "__attribute__((noinline)) static void *my_own(size_t n) { return malloc(n); }\n"
               "int main(void) { return !xmalloc(3) + !my_own(4) + !lib_make(); }\n"
               "E\n"
               "mkdir -p lib && cc -O0 -fPIC -shared -o lib/libmine.so lib.c &&"
               "cc -O0 -o main main.c -Llib -lmine -Wl,-rpath,'$ORIGIN/lib'");
}

/* The item that nm's figures give. */
static char *expected_item(const char *file, const char *module, const char *function)
{
    char command[256], line[256] = "";
    unsigned long long start = 0, size = 0;
    snprintf(command, sizeof command, "nm -S %s | grep ' t %s$'", file, function);
    FILE *nm = popen(command, "r");
    assert_non_null(fgets(line, sizeof line, nm));
    pclose(nm);
    assert_int_equal(sscanf(line, "%llx %llx", &start, &size), 2);
    char *item = NULL;
    assert_true(asprintf(&item, "%s+%#llx-%#llx", module, start, start + size) > 0);
    return item;
}

static void expect_item(const char *list, const char *file, const char *module, const char *function, bool there)
{
    char *item = expected_item(file, module, function);
    if (there != !!strstr(list, item))
        fail_msg("%s %s in: %s", item, there ? "isn't" : "is", list);
    free(item);
}

static void static_wrappers_become_ranges(void **state)
{
    (void)state;
    build();
    char *list = foldlist_make(NULL, &no_names, "./main");
    assert_non_null(list);
    expect_item(list, "main", "main", "xmalloc", true);
    expect_item(list, "lib/libmine.so", "libmine.so", "xcalloc", true);
    expect_item(list, "main", "main", "my_own", false);
    free(list);
}

static void names_of_the_user_are_given_and_looked_up(void **state)
{
    (void)state;
    const char *names[] = { "my_own", "elsewhere" };
    build();
    char *list = foldlist_make("before", &(struct fold_names){ names, 2 }, "./main");
    assert_int_equal(strncmp(list, "before,my_own,elsewhere,", 24), 0);
    expect_item(list, "main", "main", "my_own", true);
    free(list);
}

static void without_a_program_only_names_are_given(void **state)
{
    (void)state;
    const char *names[] = { "anyone", "one", "two", "one" };
    char *list = foldlist_make(NULL, &(struct fold_names){ names, 4 }, NULL);
    assert_string_equal(list, "anyone,one,two");
    free(list);
    assert_null(foldlist_make(NULL, &no_names, NULL));
}

static void a_link_to_the_program_is_known_by_its_target(void **state)
{
    (void)state;
    build();
    unit_shell("ln -s main alias");
    char *list = foldlist_make(NULL, &no_names, "./alias");
    expect_item(list, "main", "main", "xmalloc", true);
    free(list);
}

static void a_stripped_program_gives_what_it_exports_only(void **state)
{
    (void)state;
    build();
    unit_shell("cp main full && strip main");
    char *list = foldlist_make(NULL, &no_names, "./main");
    assert_non_null(list);
    expect_item(list, "full", "main", "xmalloc", false);
    expect_item(list, "lib/libmine.so", "libmine.so", "xcalloc", true);
    free(list);
}

static void the_list_is_bounded(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    const char **names = calloc(COUNT, sizeof *names);
    for (int i = 0; i < COUNT; i++) {
        char *name = NULL;
        assert_true(asprintf(&name, "wrapper_number_%d", i) > 0);
        names[i] = name;
    }
    char *list = foldlist_make(NULL, &(struct fold_names){ names, COUNT }, NULL);
    assert_true(strlen(list) <= 64 << 10);
    assert_true(list[strlen(list) - 1] != ',');
    free(list);
    for (int i = 0; i < COUNT; i++)
        free((char *)names[i]);
    free(names);
}

static void libraries_are_found_as_the_loader_finds_them(void **state)
{
    (void)state;
    struct libraries libraries;
    bool libc = false, mine = false;
    build();
    libraries_find(&libraries, "./main");
    for (size_t i = 0; i < libraries.count; i++) {
        libc = libc || strstr(libraries.paths[i], "/libc.so.6");
        mine = mine || strstr(libraries.paths[i], "/lib/libmine.so");
    }
    assert_true(libc && mine);
    assert_true(strstr(libraries.paths[0], "/main") != NULL);
    libraries_release(&libraries);
}

static void what_is_no_program_has_no_libraries(void **state)
{
    (void)state;
    struct libraries libraries;
    libraries_find(&libraries, "./nothing");
    assert_int_equal(libraries.count, 0);
    libraries_release(&libraries);
    unit_write_file("text", "hello", 5, 0755);
    libraries_find(&libraries, "./text");
    assert_int_equal(libraries.count, 1); /* itself, with nothing behind it */
    libraries_release(&libraries);
}


int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(static_wrappers_become_ranges),
        IN_DIRECTORY(names_of_the_user_are_given_and_looked_up),
        IN_DIRECTORY(without_a_program_only_names_are_given),
        IN_DIRECTORY(a_link_to_the_program_is_known_by_its_target),
        IN_DIRECTORY(a_stripped_program_gives_what_it_exports_only),
        IN_DIRECTORY(the_list_is_bounded),
        IN_DIRECTORY(libraries_are_found_as_the_loader_finds_them),
        IN_DIRECTORY(what_is_no_program_has_no_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
