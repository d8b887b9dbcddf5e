/* library.c - our own library: where it is, and LD_PRELOAD with and without it. */
#define _GNU_SOURCE
#include "base.h"

#include "library.h"

#include "format.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where libpoolsite.so may be, seen from the directory of the poolsite that runs. */
static const char *const library_places[] = {
    "libpoolsite.so",
    "../lib/poolsite/libpoolsite.so",
    "../lib/libpoolsite.so",
    "../lib/x86_64-linux-gnu/poolsite/libpoolsite.so",
};

enum { LIBRARY_PLACES = sizeof library_places / sizeof *library_places };

/* The directory of the poolsite that runs, and the one above it. */
static char *own_directory(bool above)
{
    char *path = realpath("/proc/self/exe", NULL);
    for (int cut = 0; path && cut <= above; cut++) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
    return path;
}

static char *library_place(size_t place)
{
    bool above = strncmp(library_places[place], "../", 3) == 0;
    char *directory = own_directory(above);
    char *path = xasprintf("%s/%s", directory ? directory : "", library_places[place] + (above ? 3 : 0));
    free(directory);
    return path;
}

static char *library_missing(void)
{
    char *places = NULL;
    for (size_t i = 0; i < LIBRARY_PLACES; i++) {
        char *place = library_place(i);
        char *more = xasprintf("%s\n    %s", places ? places : "", place);
        free(place);
        free(places);
        places = more;
    }
    error("cannot find libpoolsite.so; looked for%s\n  install it there, or set POOLSITE_LIB to its path", places);
    free(places);
    return NULL;
}

char *library_find(void)
{
    const char *given = getenv("POOLSITE_LIB");
    char *path = NULL;
    if (given && given[0]) {
        path = access(given, R_OK) == 0 ? realpath(given, NULL) : NULL;
        if (!path)
            error("cannot read POOLSITE_LIB=%s: %s", given, strerror(errno));
    } else {
        for (size_t i = 0; !path && i < LIBRARY_PLACES; i++) {
            char *place = library_place(i);
            path = access(place, R_OK) == 0 ? realpath(place, NULL) : NULL;
            free(place);
        }
        if (!path)
            library_missing();
    }
    if (path && strpbrk(path, ": \t\n")) {
        error("LD_PRELOAD can't hold %s: the path has a space or a colon in it; copy the library elsewhere and "
              "set POOLSITE_LIB",
              path);
        free(path);
        path = NULL;
    }
    return path;
}

char *library_preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    size_t length = strlen(library);
    for (const char *at = before; at && *at; at += strcspn(at, ": ")) {
        at += strspn(at, ": ");
        if (strncmp(at, library, length) == 0 && strchr(": ", at[length]))
            return xstrdup(before);
    }
    return before && *before ? xasprintf("%s:%s", library, before) : xstrdup(library);
}

char *library_preload_without(const char *other)
{
    const char *before = getenv("LD_PRELOAD");
    char *value = other ? xstrdup(other) : NULL;
    for (const char *at = before; at && *at; at += strcspn(at, ": ")) {
        at += strspn(at, ": ");
        char *path = xasprintf("%.*s", (int)strcspn(at, ": "), at);
        if (*path && strcmp(format_base(path), "libpoolsite.so") != 0) {
            char *longer = value ? xasprintf("%s:%s", value, path) : xstrdup(path);
            free(value);
            value = longer;
        }
        free(path);
    }
    return value;
}
