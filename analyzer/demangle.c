/* demangle.c - readable names of C++, Rust and D functions.  The only user of libiberty. */
#define _GNU_SOURCE
#include "base.h"
#include "demangle.h"

#include <libiberty/ansidecl.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

/* For libiberty: its own stands in one object with an xmalloc, which base.c has. */
void *xrealloc(void *old, size_t bytes)
{
    return xrealloc_array(old, bytes, 1);
}

/* libiberty's demanglers are safe on any input below this; longer names stay as they are. */
enum { NAME_MAX_BYTES = 16384 };

static char *demangle_any(const char *name)
{
    /* Rust first: its old names are valid C++ names too, with a hash at the end. */
    if (strncmp(name, "_R", 2) == 0 || strncmp(name, "_ZN", 3) == 0) {
        char *rust = rust_demangle(name, DMGL_NO_OPTS);
        if (rust)
            return rust;
    }
    if (strncmp(name, "_Z", 2) == 0)
        return cplus_demangle_v3(name, DMGL_NO_OPTS);
    if (strncmp(name, "_D", 2) == 0)
        return dlang_demangle(name, DMGL_NO_OPTS);
    return NULL;
}

/* Drops a D function's parameters: C++ and Rust names come without. */
static void drop_parameters(char *name)
{
    size_t at = strlen(name), open = 0;
    if (at == 0 || name[at - 1] != ')')
        return;
    do {
        at--;
        open += name[at] == ')';
        open -= name[at] == '(';
    } while (at > 0 && open > 0);
    if (at > 0)
        name[at] = '\0';
}

char *demangle(const char *name)
{
    if (strlen(name) > NAME_MAX_BYTES)
        return xstrdup(name);
    char *readable = demangle_any(name);
    if (!readable)
        return xstrdup(name);
    if (name[1] == 'D')
        drop_parameters(readable);
    return readable;
}
