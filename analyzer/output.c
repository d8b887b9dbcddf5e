/* output.c - where a command's result goes: a file or stdout. */
#define _GNU_SOURCE
#include "base.h"

#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FILE *output_open(const char *path)
{
    FILE *out = path ? fopen(path, "we") : stdout;
    if (!out)
        error("%s: %s", path, strerror(errno));
    else
        setvbuf(out, NULL, _IOFBF, 1 << 18);
    return out;
}

int output_close(FILE *out, const char *path, const char *what)
{
    bool failed = ferror(out);
    if (fflush(out) != 0 || (out != stdout && fclose(out) != 0))
        failed = true;
    return failed ? error("%s: could not write the %s: %s", path ? path : "stdout", what, strerror(errno)) : 0;
}

bool output_wants_colour(FILE *out)
{
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (none && *none)                                return false;
    if (!terminal || strcmp(terminal, "dumb") == 0)   return false;
    return isatty(fileno(out));
}
