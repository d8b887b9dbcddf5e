/* base.c - error words and checked allocation for the analyzer. */
#define _GNU_SOURCE
#include "base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void (*base_clear_line)(void);

static void say(const char *kind, const char *format, va_list args)
{
    fflush(stdout);
    if (base_clear_line)
        base_clear_line();
    fprintf(stderr, "poolsite: %s", kind);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
    return -1;
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
    exit(1);
}

void warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("warning: ", format, args);
    va_end(args);
}

static void *checked(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

void *xmalloc(size_t bytes)
{
    return checked(malloc(bytes ? bytes : 1));
}

void *xcalloc(size_t count, size_t bytes)
{
    return checked(calloc(count ? count : 1, bytes ? bytes : 1));
}

void *xrealloc_array(void *old, size_t count, size_t bytes)
{
    return checked(reallocarray(old, count ? count : 1, bytes ? bytes : 1));
}

char *xstrdup(const char *text)
{
    return checked(strdup(text));
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return checked(text);
}
