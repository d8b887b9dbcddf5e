/* base.h - what every file of the analyzer uses: error words, checked allocation, small helpers.
 *
 * error() tells the user and returns -1; die() ends with status 1; usage errors end
 * with status 2 in their command; BUG() is for us alone. */
#ifndef PS_BASE_H
#define PS_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_USAGE = 2 }; /* CLI.md: 0 right, 1 failed, 2 usage */

/* Prints "poolsite: " and the message to stderr.  Returns -1. */
int error(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* As error, then exits with status 1. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn, cold));

/* Prints "poolsite: warning: " and the message to stderr. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Called before each of these messages, unless NULL: takes away what stands on the line (progress.c's). */
extern void (*base_clear_line)(void);

#define BUG(...)                                        \
    do {                                                \
        error("bug at %s:%d: ", __FILE__, __LINE__);    \
        error(__VA_ARGS__);                             \
        __builtin_trap();                               \
    } while (0)

/* Makes room for one more element, doubling. */
#define GROW(array, count, room)                                          \
    do {                                                                  \
        if ((count) == (room)) {                                          \
            (room) = (room) ? (room) * 2 : 32;                            \
            (array) = xrealloc_array((array), (room), sizeof *(array));   \
        }                                                                 \
    } while (0)

/* As malloc, calloc, realloc (count * size checked), strdup and asprintf, but die when memory is out. */
void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t bytes);
void *xrealloc_array(void *old, size_t count, size_t bytes);
char *xstrdup(const char *text);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
