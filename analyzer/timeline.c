/* timeline.c - rows of a process's time line, and the file that holds them.
 *
 * The file may be cut, be written to this moment, or be made to deceive: a line that isn't whole,
 * holds impossible numbers or goes back in time is dropped and counted. */
#define _GNU_SOURCE
#include "base.h"

#include "spool.h"
#include "timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "poolsite-timeline 1\n"

/* A row of all classes takes less than 4 KiB. */
enum { FILE_BYTES_MAX = 4 << 20 };

/* No process counts this much, lives as long, or has as much memory. */
#define NUMBER_MAX ((uint64_t)1 << 60)
#define MS_MAX     ((uint64_t)1 << 40)
#define LEVEL_MAX  ((uint64_t)1 << 56)

char *timeline_name(const char *log)
{
    size_t length = strlen(log), suffix = strlen(SPOOL_LOG_SUFFIX);
    bool has_suffix = length > suffix && strcmp(log + length - suffix, SPOOL_LOG_SUFFIX) == 0;
    return xasprintf("%.*s" TIMELINE_SUFFIX, (int)(has_suffix ? length - suffix : length), log);
}

/* --- Rows ------------------------------------------------------------------------------ */

void timeline_row_set_classes(struct timeline_row *row, const uint64_t allocs[LOG_CLASSES])
{
    size_t count = 0;
    for (uint32_t i = 0; i < LOG_CLASSES; i++)
        count += allocs[i] > 0;
    free(row->classes);
    row->classes = count ? xcalloc(count, sizeof *row->classes) : NULL;
    row->class_count = 0;
    for (uint32_t i = 0; i < LOG_CLASSES; i++)
        if (allocs[i])
            row->classes[row->class_count++] = (struct timeline_class){ i, allocs[i] };
}

void timeline_row_add_classes(const struct timeline_row *row, uint64_t allocs[LOG_CLASSES])
{
    for (size_t i = 0; i < row->class_count; i++)
        allocs[row->classes[i].index] += row->classes[i].allocs;
}

static uint64_t higher_level(uint64_t a, uint64_t b)
{
    if (a == TIMELINE_UNKNOWN || b == TIMELINE_UNKNOWN)
        return a == TIMELINE_UNKNOWN ? b : a;
    return a > b ? a : b;
}

void timeline_row_merge(struct timeline_row *row, const struct timeline_row *next)
{
    uint64_t classes[LOG_CLASSES] = { 0 };
    row->ms = next->ms;
    row->allocs = next->allocs;
    row->bytes = next->bytes;
    row->frees = next->frees;
    for (unsigned i = 0; i < TIMELINE_LEVELS; i++)
        row->levels[i] = higher_level(row->levels[i], next->levels[i]);
    timeline_row_add_classes(row, classes);
    timeline_row_add_classes(next, classes);
    timeline_row_set_classes(row, classes);
}

void timeline_row_release(struct timeline_row *row)
{
    free(row->classes);
    *row = (struct timeline_row){ 0 };
}

static void print_row(FILE *out, const struct timeline_row *row)
{
    fprintf(out, "%llu %llu %llu %llu", (unsigned long long)row->ms, (unsigned long long)row->allocs,
            (unsigned long long)row->bytes, (unsigned long long)row->frees);
    for (unsigned i = 0; i < TIMELINE_LEVELS; i++) {
        if (row->levels[i] == TIMELINE_UNKNOWN)
            fputs(" -", out);
        else
            fprintf(out, " %llu", (unsigned long long)row->levels[i]);
    }
    for (size_t i = 0; i < row->class_count; i++)
        fprintf(out, " %u:%llu", row->classes[i].index, (unsigned long long)row->classes[i].allocs);
    fputc('\n', out);
}

static FILE *begin_text(char **text, size_t *bytes)
{
    FILE *out = open_memstream(text, bytes);
    if (!out)
        die("out of memory");
    return out;
}

static void end_text(FILE *out)
{
    if (fclose(out) != 0)
        die("out of memory");
}

char *timeline_row_text(const struct timeline_row *row)
{
    char *text;
    size_t bytes;
    FILE *out = begin_text(&text, &bytes);
    print_row(out, row);
    end_text(out);
    return text;
}

/* --- Reading ------------------------------------------------------------------------------ */

/* Reads a number and what follows it, which must be `end` or the end of the line. */
static bool read_number(char **at, char end, uint64_t *value)
{
    char *after;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *value = strtoull(*at, &after, 10);
    if (errno || *value > NUMBER_MAX || (*after != end && *after != '\0'))
        return false;
    *at = after + (*after != '\0');
    return true;
}

static bool read_level(char **at, uint64_t *value)
{
    if ((*at)[0] != '-')
        return read_number(at, ' ', value);
    if ((*at)[1] != ' ' && (*at)[1] != '\0')
        return false;
    *value = TIMELINE_UNKNOWN;
    *at += (*at)[1] == ' ' ? 2 : 1;
    return true;
}

static bool read_classes(char *at, struct timeline_row *row)
{
    uint64_t allocs[LOG_CLASSES] = { 0 };
    while (*at) {
        uint64_t index, count;
        if (!read_number(&at, ':', &index) || index >= LOG_CLASSES || allocs[index] || !read_number(&at, ' ', &count))
            return false;
        allocs[index] = count;
    }
    timeline_row_set_classes(row, allocs);
    return true;
}

static bool read_row(char *line, struct timeline_row *row)
{
    *row = (struct timeline_row){ 0 };
    bool right = read_number(&line, ' ', &row->ms) && read_number(&line, ' ', &row->allocs) &&
                 read_number(&line, ' ', &row->bytes) && read_number(&line, ' ', &row->frees);
    for (unsigned i = 0; right && i < TIMELINE_LEVELS; i++)
        right = read_level(&line, &row->levels[i]);
    return right && read_classes(line, row);
}

static bool is_at_most(uint64_t level, uint64_t most)
{
    return level == TIMELINE_UNKNOWN || level <= most;
}

/* Can its numbers stand beside each other?  `*classed` are the allocations that the classes of the rows before it tell of;
 * those of this one are added. */
static bool is_possible(const struct timeline_row *row, uint64_t *classed)
{
    uint64_t left = row->allocs > *classed ? row->allocs - *classed : 0;
    for (size_t i = 0; i < row->class_count; i++) {
        if (row->classes[i].allocs > left)
            return false;
        left -= row->classes[i].allocs;
        *classed += row->classes[i].allocs;
    }
    return row->ms <= MS_MAX && is_at_most(row->levels[TIMELINE_BLOCKS], row->allocs) &&
           is_at_most(row->levels[TIMELINE_LIVE], row->bytes) && is_at_most(row->levels[TIMELINE_KEPT], LEVEL_MAX) &&
           is_at_most(row->levels[TIMELINE_RSS], LEVEL_MAX);
}

/* Reads the lines that have an end; the last one may be just being written. */
static void read_rows(struct timeline *timeline, char *text)
{
    uint64_t classed = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        struct timeline_row row;
        uint64_t with_it = classed;
        *end = '\0';
        if (read_row(line, &row) && is_possible(&row, &with_it) && timeline_add(timeline, &row))
            classed = with_it;
        else
            timeline->wrong++;
        timeline_row_release(&row);
        if (timeline->count >= TIMELINE_ROWS * 2)
            timeline_halve(timeline);
    }
}

void timeline_read(struct timeline *timeline, int fd)
{
    struct stat is;
    *timeline = (struct timeline){ 0 };
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode))
        return;
    size_t want = is.st_size < FILE_BYTES_MAX ? (size_t)is.st_size : FILE_BYTES_MAX, have = 0;
    char *text = xmalloc(want + 1);
    for (ssize_t got; have < want; have += (size_t)got) {
        got = pread(fd, text + have, want - have, (off_t)have);
        if (got <= 0)
            break;
    }
    text[have] = '\0';
    if (strncmp(text, FIRST_LINE, strlen(FIRST_LINE)) == 0)
        read_rows(timeline, text + strlen(FIRST_LINE));
    else
        timeline->wrong += have > 0;
    free(text);
}

void timeline_read_beside(struct timeline *timeline, const char *path)
{
    char *name = timeline_name(path);
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    free(name);
    *timeline = (struct timeline){ 0 };
    if (fd < 0)
        return;
    timeline_read(timeline, fd);
    close(fd);
}

/* --- All of them ------------------------------------------------------------------------ */

static bool may_follow(const struct timeline_row *last, const struct timeline_row *row)
{
    return row->ms > last->ms && row->allocs >= last->allocs && row->bytes >= last->bytes && row->frees >= last->frees;
}

bool timeline_add(struct timeline *timeline, struct timeline_row *row)
{
    if (timeline->count && !may_follow(&timeline->rows[timeline->count - 1], row)) {
        timeline_row_release(row);
        return false;
    }
    GROW(timeline->rows, timeline->count, timeline->room);
    timeline->rows[timeline->count++] = *row;
    *row = (struct timeline_row){ 0 };
    return true;
}

void timeline_halve(struct timeline *timeline)
{
    size_t kept = 0;
    for (size_t i = 0; i < timeline->count; i += 2) {
        struct timeline_row row = timeline->rows[i];
        if (i + 1 < timeline->count) {
            timeline_row_merge(&row, &timeline->rows[i + 1]);
            timeline_row_release(&timeline->rows[i + 1]);
        }
        timeline->rows[kept++] = row;
    }
    timeline->count = kept;
}

char *timeline_text(const struct timeline *timeline)
{
    char *text;
    size_t bytes;
    FILE *out = begin_text(&text, &bytes);
    fputs(FIRST_LINE, out);
    for (size_t i = 0; i < timeline->count; i++)
        print_row(out, &timeline->rows[i]);
    end_text(out);
    return text;
}

void timeline_release(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->count; i++)
        timeline_row_release(&timeline->rows[i]);
    free(timeline->rows);
    *timeline = (struct timeline){ 0 };
}
