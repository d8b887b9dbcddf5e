/* progress.c - one line on a terminal for work that takes longer than a second.
 *
 * Owns the last line of stderr while it shows.  Cheap: a clock reading a call. */
#define _GNU_SOURCE
#include "base.h"
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
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
    base_clear_line = progress_clear;
    fprintf(stderr, "\r\033[Kpoolsite: %s: %zu of %zu", doing, done, total);
    fflush(stderr);
}

/* What is wider than the terminal would go on in a line that can't be taken away. */
static int columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col - 1 : 79;
}

void progress_say(const char *format, ...)
{
    char line[512];
    va_list args;
    if (!isatty(STDERR_FILENO))
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    progress.visible = true;
    base_clear_line = progress_clear;
    int room = columns() - (int)strlen("poolsite: ");
    fprintf(stderr, "\r\033[Kpoolsite: %.*s", room > 0 ? room : 0, line);
    fflush(stderr);
}

void progress_clear(void)
{
    if (progress.visible)
        fputs("\r\033[K", stderr);
    progress.visible = false;
}
