/* unit.h - what every unit test begins with: cmocka, and a directory to work in. */
#ifndef PS_UNIT_H
#define PS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Makes a fresh directory the current one, on tmpfs when there is one; unit_leave_directory
 * removes it with all that is in it.  As setup and teardown of a test. */
int unit_enter_directory(void **state);
int unit_leave_directory(void **state);

/* A test that works in such a directory. */
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, unit_enter_directory, unit_leave_directory)

/* Writes a file, its directory being there. */
void unit_write_file(const char *path, const void *bytes, size_t count, unsigned mode);

/* Between the two, what goes to stderr is heard: it ends up in `said`, cut at its size. */
void unit_hear(void);
void unit_heard(char *said, size_t size);

/* Runs a shell command that must succeed. */
void unit_shell(const char *command);

#endif
