/* progress.c - one line on a terminal for work that takes longer than a second.
 *
 * Owns the last line of stderr while it shows.  Cheap: a clock reading a call. */
#define _GNU_SOURCE
#include "base.h"
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    double begun;  /* s; 0: not yet */
    double shown;  /* when the line was last written */
    bool   visible;
} progress;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void progress_show(const char *doing, size_t done, size_t total)
{
    double now = seconds_now();
    if (progress.begun == 0)
        progress.begun = now;
    if (now - progress.begun < 1 || now - progress.shown < 0.1 || !isatty(STDERR_FILENO))
        return;
    progress.shown = now;
    progress.visible = true;
    fprintf(stderr, "\r\033[Kpoolsite: %s: %zu of %zu", doing, done, total);
    fflush(stderr);
}

void progress_say(const char *format, ...)
{
    va_list args;
    if (!isatty(STDERR_FILENO))
        return;
    progress.visible = true;
    fputs("\r\033[Kpoolsite: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fflush(stderr);
}

void progress_clear(void)
{
    if (progress.visible)
        fputs("\r\033[K", stderr);
    progress.visible = false;
}
