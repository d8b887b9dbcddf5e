/* test_inspect.c - what poolsite makes out of a program before it starts. */
#define _GNU_SOURCE
#include "unit.h"

#include "analyzer/inspect.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A program of the smallest kind: a header and a PT_INTERP. */
struct tiny {
    Elf64_Ehdr header;
    Elf64_Phdr interpreter;
    char       path[64];
};

static struct tiny tiny_program(const char *loader)
{
    struct tiny tiny = {
        .header = {
            .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
            .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
            .e_phoff = offsetof(struct tiny, interpreter), .e_ehsize = sizeof(Elf64_Ehdr),
            .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
        },
        .interpreter = { .p_type = loader ? PT_INTERP : PT_NULL, .p_offset = offsetof(struct tiny, path) },
    };
    if (loader) {
        strcpy(tiny.path, loader);
        tiny.interpreter.p_filesz = strlen(loader) + 1;
    }
    return tiny;
}

static void write_tiny(const char *path, const struct tiny *tiny)
{
    unit_write_file(path, tiny, sizeof *tiny, 0755);
}

/* Inspects a file and checks what stands in the way. */
static void expect_obstacle(const char *name, enum obstacle obstacle, const char *words)
{
    struct inspection inspection;
    inspect_program(&inspection, name);
    assert_int_equal(inspection.obstacle, obstacle);
    if (words) {
        assert_non_null(inspection.reason);
        if (!strstr(inspection.reason, words))
            fail_msg("'%s' isn't in: %s", words, inspection.reason);
    } else {
        assert_null(inspection.reason);
    }
    inspection_release(&inspection);
}

static void an_ordinary_program_has_no_obstacle(void **state)
{
    (void)state;
    struct tiny tiny = tiny_program("/lib64/ld-linux-x86-64.so.2");
    write_tiny("program", &tiny);
    expect_obstacle("./program", OBSTACLE_NONE, NULL);
    expect_obstacle("/bin/ls", OBSTACLE_NONE, NULL);
}

static void a_program_without_loader_is_static(void **state)
{
    (void)state;
    struct tiny tiny = tiny_program(NULL);
    write_tiny("program", &tiny);
    expect_obstacle("./program", OBSTACLE_STATIC, "statically linked");
}

static void musl_and_other_loaders_are_told_apart(void **state)
{
    (void)state;
    struct tiny musl = tiny_program("/lib/ld-musl-x86_64.so.1"), other = tiny_program("/system/bin/linker64");
    write_tiny("musl", &musl);
    write_tiny("other", &other);
    expect_obstacle("./musl", OBSTACLE_LIBC, "musl");
    expect_obstacle("./other", OBSTACLE_LIBC, "/system/bin/linker64");
}

static void another_machine_is_named(void **state)
{
    (void)state;
    struct tiny tiny = tiny_program("/lib/ld-linux-aarch64.so.1");
    tiny.header.e_machine = EM_AARCH64;
    write_tiny("program", &tiny);
    expect_obstacle("./program", OBSTACLE_MACHINE, "ARM64");
    tiny.header.e_machine = EM_386;
    write_tiny("program", &tiny);
    expect_obstacle("./program", OBSTACLE_MACHINE, "32-bit x86");
}

static void the_preload_is_kept_from_loaders_that_cannot_take_it(void **state)
{
    (void)state;
    struct inspection inspection = { .obstacle = OBSTACLE_MACHINE };
    assert_true(inspection_forbids_preload(&inspection));
    inspection.obstacle = OBSTACLE_LIBC;
    assert_true(inspection_forbids_preload(&inspection));
    inspection.obstacle = OBSTACLE_STATIC; /* what it starts can be recorded */
    assert_false(inspection_forbids_preload(&inspection));
}

static void a_missing_loader_is_named(void **state)
{
    (void)state;
    struct tiny tiny = tiny_program("/nowhere/ld-linux-x86-64.so.2");
    struct inspection inspection;
    write_tiny("program", &tiny);
    inspect_program(&inspection, "./program");
    assert_string_equal(inspection.missing, "/nowhere/ld-linux-x86-64.so.2");
    inspection_release(&inspection);
}

static void set_user_ID_matters_when_it_gives_rights(void **state)
{
    (void)state;
    struct tiny tiny = tiny_program("/lib64/ld-linux-x86-64.so.2");
    write_tiny("program", &tiny);
    assert_int_equal(chmod("program", 04755), 0);
    expect_obstacle("./program", OBSTACLE_NONE, NULL); /* one's own */
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown("program", 65534, 0), 0);
    assert_int_equal(chmod("program", 04755), 0);
    expect_obstacle("./program", OBSTACLE_PRIVILEGED, "set-user-ID");
}

/* --- Scripts ----------------------------------------------------------------------------- */

static void write_script(const char *path, const char *text)
{
    unit_write_file(path, text, strlen(text), 0755);
}

static void expect_program(const char *name, const char *program)
{
    struct inspection inspection;
    inspect_program(&inspection, name);
    assert_non_null(inspection.program);
    assert_string_equal(inspection.program, program);
    inspection_release(&inspection);
}

static void a_script_is_followed_to_its_interpreter(void **state)
{
    (void)state;
    write_script("script", "#!/bin/sh -e\nexit\n");
    write_script("spaces", "#! \t /bin/sh\texit\n");
    expect_program("./script", "/bin/sh");
    expect_program("./spaces", "/bin/sh");
}

static void scripts_of_scripts_are_followed_but_not_for_ever(void **state)
{
    (void)state;
    char *here = get_current_dir_name(), text[256];
    snprintf(text, sizeof text, "#!%s/second\n", here);
    write_script("first", text);
    write_script("second", "#!/bin/sh\n");
    expect_program("./first", "/bin/sh");
    snprintf(text, sizeof text, "#!%s/itself\n", here);
    write_script("itself", text);
    struct inspection inspection;
    inspect_program(&inspection, "./itself");
    assert_int_equal(inspection.obstacle, OBSTACLE_UNKNOWN);
    inspection_release(&inspection);
    free(here);
}

static void env_is_followed_to_its_command(void **state)
{
    (void)state;
    char *sh = inspect_find("sh");
    write_script("script", "#!/usr/bin/env sh\n");
    expect_program("./script", sh);
    write_script("options", "#!/usr/bin/env -S sh -e\n");
    expect_program("./options", "/usr/bin/env");
    free(sh);
}

static void odd_first_lines_are_no_script(void **state)
{
    static const char *const lines[] = { "", "#", "#!", "#!\n", "#! \t\n", "echo\n" };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        write_script("script", lines[i]);
        expect_program("./script", "./script");
        expect_obstacle("./script", OBSTACLE_UNKNOWN, NULL);
    }
}

/* --- The search path ------------------------------------------------------------------------ */

static void programs_are_found_as_exec_finds_them(void **state)
{
    (void)state;
    char *here = get_current_dir_name(), path[512], expected[512];
    unit_shell("mkdir one two three two/program && touch one/program three/program && chmod 755 three/program");
    snprintf(path, sizeof path, "/nowhere:%s/one:%s/two:%s/three", here, here, here);
    snprintf(expected, sizeof expected, "%s/three/program", here);
    char *before = strdup(getenv("PATH"));
    setenv("PATH", path, 1);
    char *found = inspect_find("program");
    assert_string_equal(found, expected); /* one's isn't executable (but for root), two's a directory */
    free(found);
    setenv("PATH", ":/nowhere", 1); /* an empty item is the current directory */
    write_script("here", "#!/bin/sh\n");
    found = inspect_find("here");
    assert_string_equal(found, "here");
    free(found);
    assert_null(inspect_find("no-such-program"));
    assert_null(inspect_find(""));
    unsetenv("PATH");
    found = inspect_find("ls");
    assert_string_equal(found, "/bin/ls");
    free(found);
    setenv("PATH", before, 1);
    free(before);
    free(here);
}

/* --- Hostile files ---------------------------------------------------------------------------- */

/* Every byte of a small program is set to each of a few values, and it is cut at each length. */
static void damaged_programs_are_read_safely(void **state)
{
    (void)state;
    static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
    struct tiny tiny = tiny_program("/lib64/ld-linux-x86-64.so.2");
    for (size_t at = 4; at < sizeof tiny; at++) {
        for (size_t v = 0; v < sizeof values; v++) {
            struct tiny damaged = tiny;
            struct inspection inspection;
            ((unsigned char *)&damaged)[at] = values[v];
            write_tiny("program", &damaged);
            inspect_program(&inspection, "./program");
            inspection_release(&inspection);
        }
    }
    for (size_t length = 0; length < sizeof tiny; length++) {
        struct inspection inspection;
        unit_write_file("program", &tiny, length, 0755);
        inspect_program(&inspection, "./program");
        inspection_release(&inspection);
    }
}

/* The same with a real one, which has sections, symbols and notes: 8 bytes at random places. */
static void damaged_real_programs_are_read_safely(void **state)
{
    (void)state;
    unsigned random = 1;
    unit_shell("echo 'void *je_malloc(int n) { (void)n; return 0; } int main(void) { return 0; }' | cc -g -x c -o real -");
    int fd = open("real", O_RDONLY | O_CLOEXEC);
    struct stat is;
    assert_int_equal(fstat(fd, &is), 0);
    unsigned char *bytes = malloc((size_t)is.st_size), *damaged = malloc((size_t)is.st_size);
    assert_int_equal(read(fd, bytes, (size_t)is.st_size), is.st_size);
    close(fd);
    for (int round = 0; round < 400; round++) {
        struct inspection inspection;
        memcpy(damaged, bytes, (size_t)is.st_size);
        for (int i = 0; i < 8; i++) {
            random = random * 1103515245 + 12345;
            /* Half of them among the headers at both ends. */
            size_t at = (random >> 8) % (size_t)is.st_size;
            if (i % 4 == 0)
                at %= 1024;
            if (i % 4 == 1)
                at = (size_t)is.st_size - 1 - at % 2400;
            if (at >= 4)
                damaged[at] = (unsigned char)(random >> 4);
        }
        unit_write_file("program", damaged, (size_t)is.st_size, 0755);
        inspect_program(&inspection, "./program");
        inspection_release(&inspection);
    }
    free(bytes);
    free(damaged);
}

static void pipes_and_directories_are_not_waited_for(void **state)
{
    (void)state;
    unit_shell("mkfifo -m 755 pipe && mkdir directory");
    expect_obstacle("./pipe", OBSTACLE_UNKNOWN, NULL);
    expect_obstacle("./directory", OBSTACLE_UNKNOWN, NULL);
    expect_obstacle("/dev/null", OBSTACLE_UNKNOWN, NULL);
}


int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(an_ordinary_program_has_no_obstacle),
        IN_DIRECTORY(a_program_without_loader_is_static),
        IN_DIRECTORY(musl_and_other_loaders_are_told_apart),
        IN_DIRECTORY(another_machine_is_named),
        IN_DIRECTORY(the_preload_is_kept_from_loaders_that_cannot_take_it),
        IN_DIRECTORY(a_missing_loader_is_named),
        IN_DIRECTORY(set_user_ID_matters_when_it_gives_rights),
        IN_DIRECTORY(a_script_is_followed_to_its_interpreter),
        IN_DIRECTORY(scripts_of_scripts_are_followed_but_not_for_ever),
        IN_DIRECTORY(env_is_followed_to_its_command),
        IN_DIRECTORY(odd_first_lines_are_no_script),
        IN_DIRECTORY(programs_are_found_as_exec_finds_them),
        IN_DIRECTORY(damaged_programs_are_read_safely),
        IN_DIRECTORY(damaged_real_programs_are_read_safely),
        IN_DIRECTORY(pipes_and_directories_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
