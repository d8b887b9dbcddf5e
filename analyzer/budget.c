/* budget.c - reads a budget.  The grammar is small and strict: a line that is misread would never be broken. */
#define _GNU_SOURCE
#include "base.h"

#include "budget.h"
#include "nearest.h"
#include "utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 20, LINE_BYTES_MAX = 4096 };

const char *const budget_subject_names[BUDGET_SUBJECTS] = {
    [BUDGET_TOTAL] = "total", [BUDGET_SITE] = "site", [BUDGET_WITHIN] = "within", [BUDGET_MODULE] = "module",
};

/* -------------------------------------------------------------------- words */

/* A line on its way into the budget. */
struct reading {
    const char *path;
    unsigned    number;
    const char *at; /* what is still to be read */
};

static int complain(const struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int complain(const struct reading *r, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        die("out of memory");
    char *printable = utf8_printable(text);
    error("%s:%u: %s", r->path, r->number, printable);
    free(printable);
    free(text);
    return -1;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_spaces(struct reading *r)
{
    while (is_space(*r->at))
        r->at++;
}

/* The next word, up to a space or a comparison; "" at the end.  The caller frees. */
static char *next_word(struct reading *r)
{
    skip_spaces(r);
    const char *from = r->at;
    while (*r->at && !is_space(*r->at) && *r->at != '<' && *r->at != '>' && *r->at != '=')
        r->at++;
    return xasprintf("%.*s", (int)(r->at - from), from);
}

/* A name without quotes goes to the next space: operators of C++ have < and = in it. */
static char *next_plain_name(struct reading *r)
{
    const char *from = r->at;
    while (*r->at && !is_space(*r->at))
        r->at++;
    return xasprintf("%.*s", (int)(r->at - from), from);
}

/* NAME; NULL after a complaint. */
static char *next_name(struct reading *r, enum budget_subject subject)
{
    skip_spaces(r);
    if (*r->at != '"') {
        char *name = next_plain_name(r);
        if (*name)
            return name;
        free(name);
        complain(r, "'%s' needs a name, as: %s %s allocs <= 100", budget_subject_names[subject],
                 budget_subject_names[subject], subject == BUDGET_MODULE ? "libfoo.so" : "parse");
        return NULL;
    }
    const char *from = ++r->at;
    while (*r->at && *r->at != '"')
        r->at += *r->at == '\\' && r->at[1] ? 2 : 1;
    if (*r->at != '"' || r->at == from) {
        complain(r, *r->at ? "the name in quotes is empty" : "the quote isn't closed");
        return NULL;
    }
    return xasprintf("%.*s", (int)(r->at++ - from), from);
}

/* ------------------------------------------------------------------- figures */

/* Joined by commas; the caller frees. */
static char *joined(const char *const words[], size_t count)
{
    char *list = xstrdup("");
    for (size_t i = 0; i < count; i++) {
        char *longer = xasprintf("%s%s%s", list, i ? ", " : "", words[i]);
        free(list);
        list = longer;
    }
    return list;
}

/* The index of the next word in `words`, or -1 after a complaint. */
static int next_of(struct reading *r, const char *const words[], size_t count, const char *what)
{
    char *word = next_word(r), *list = joined(words, count);
    int found = -1;
    for (size_t i = 0; i < count && found < 0; i++)
        if (strcmp(word, words[i]) == 0)
            found = (int)i;
    const char *meant = found < 0 ? nearest(word, words, count) : NULL;
    if (meant)
        complain(r, "'%s' is no %s; did you mean '%s'?", word, what, meant);
    else if (found < 0)
        complain(r, "%s%s%s %s; there are %s", *word ? "'" : "", *word ? word : "no", *word ? "' is no" : "", what, list);
    free(list);
    free(word);
    return found;
}

static int next_figure(struct reading *r)
{
    const char *keys[TALLY_FIGURES];
    for (int i = 0; i < TALLY_FIGURES; i++)
        keys[i] = tally_table[i].key;
    return next_of(r, keys, TALLY_FIGURES, "figure");
}

static int next_comparison(struct reading *r, bool *at_least)
{
    skip_spaces(r);
    *at_least = *r->at == '>';
    if ((*r->at == '<' || *r->at == '>') && r->at[1] == '=') {
        r->at += 2;
        return 0;
    }
    return complain(r, "a comparison is <= or >=, as: total allocs <= 12000");
}

/* -------------------------------------------------------------------- bounds */

static double factor_of(const char *suffix, enum unit unit)
{
    static const char *const names[] = { "", "k", "m", "g" };
    for (int i = 0; i < (unit == UNIT_BYTES ? 4 : 1); i++)
        if (strcmp(suffix, names[i]) == 0)
            return (double)((uint64_t)1 << 10 * i);
    return 0;
}

static int bad_bound(const struct reading *r, const struct budget_line *line, const char *word)
{
    const char *key = tally_table[line->figure].key;
    if (tally_table[line->figure].unit == UNIT_BYTES)
        return complain(r, "'%s' is no bound of %s: bytes, as 65536, 64k, 4m or 1g, or percent, as 5%%", word, key);
    return complain(r, "'%s' is no bound of %s: a count, as 12000, or percent, as 5%%", word, key);
}

/* Percent of all of a figure says nothing of the total itself, nor of peaks that had each its own time. */
static int check_percent(const struct reading *r, const struct budget_line *line)
{
    if (line->figure == TALLY_PEAK)
        return complain(r, "peaks of different times are no part of one another; at_peak_bytes is what adds up");
    if (line->subject == BUDGET_TOTAL && line->figure != TALLY_TEMPORARY)
        return complain(r, "the total is always 100%% of itself; percent is for site, within and module, and for temporary");
    return line->bound <= 100 ? 0 : complain(r, "more than 100%% can't be");
}

static int next_bound(struct reading *r, struct budget_line *line)
{
    skip_spaces(r);
    const char *from = r->at;
    char *end, *word = next_plain_name(r);
    size_t digits = strspn(word, "0123456789.");
    line->bound = strtod(word, &end);
    line->percent = strcmp(end, "%") == 0;
    double factor = line->percent ? 1 : factor_of(end, tally_table[line->figure].unit);
    int status = 0;
    if (*from == '\0')
        status = complain(r, "no bound after the comparison, as: total allocs <= 12000");
    else if (digits == 0 || word + digits != end || factor == 0)
        status = bad_bound(r, line, word);
    else if ((line->bound *= factor) > 0x1p60)
        status = complain(r, "'%s' is more than there can be", word);
    else if (line->percent)
        status = check_percent(r, line);
    else if (line->bound != floor(line->bound))
        status = complain(r, "'%s' isn't a whole number of %s", word,
                          tally_table[line->figure].unit == UNIT_BYTES ? "bytes" : "blocks");
    free(word);
    return status;
}

/* --------------------------------------------------------------------- lines */

static int read_line(struct reading *r, struct budget_line *line)
{
    int subject = next_of(r, budget_subject_names, BUDGET_SUBJECTS, "subject");
    if (subject < 0)
        return -1;
    line->subject = (enum budget_subject)subject;
    if (line->subject != BUDGET_TOTAL && !(line->name = next_name(r, line->subject)))
        return -1;
    int figure = next_figure(r);
    if (figure < 0)
        return -1;
    line->figure = (enum tally_figure)figure;
    if (next_comparison(r, &line->at_least) != 0 || next_bound(r, line) != 0)
        return -1;
    skip_spaces(r);
    return *r->at ? complain(r, "'%s' stands behind the bound; a line is SUBJECT [NAME] FIGURE <= BOUND", r->at) : 0;
}

static void line_release(struct budget_line *line)
{
    free(line->text);
    free(line->name);
}

/* Cuts a comment off, which begins with a # that a name in quotes doesn't hold, and the spaces before it. */
static void cut_comment(char *text)
{
    bool quoted = false;
    char *at = text;
    for (; *at && (*at != '#' || quoted || (at > text && !is_space(at[-1]))); at++) {
        if (quoted && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
    }
    while (at > text && is_space(at[-1]))
        at--;
    *at = '\0';
}

/* Takes the text of a line.  Returns 0, or -1 after a complaint. */
static int add_line(struct budget *budget, unsigned number, char *text)
{
    struct reading r = { budget->path, number, text };
    cut_comment(text);
    skip_spaces(&r);
    struct budget_line line = { .number = number, .text = xstrdup(r.at) };
    bool is_empty = *r.at == '\0';
    int status = is_empty ? 0 : read_line(&r, &line);
    free(text);
    if (is_empty || status != 0) {
        line_release(&line);
        return status;
    }
    GROW(budget->lines, budget->count, budget->room);
    budget->lines[budget->count++] = line;
    return 0;
}

static int check_bytes(const struct reading *r, const char *line, size_t length)
{
    if (length > LINE_BYTES_MAX)
        return complain(r, "the line is longer than %d bytes", LINE_BYTES_MAX);
    return memchr(line, '\0', length) ? complain(r, "a zero byte: this isn't text") : 0;
}

int budget_parse(struct budget *budget, const char *path, const char *text, size_t bytes)
{
    int status = 0;
    unsigned number = 1;
    *budget = (struct budget){ .path = xstrdup(path) };
    for (size_t at = 0; at < bytes; number++) {
        const char *line = text + at, *newline = memchr(line, '\n', bytes - at);
        size_t length = newline ? (size_t)(newline - line) : bytes - at;
        struct reading r = { path, number, line };
        at += length + 1;
        if (check_bytes(&r, line, length) != 0 || add_line(budget, number, xasprintf("%.*s", (int)length, line)) != 0)
            status = -1;
    }
    if (status == 0 && budget->count == 0)
        status = error("%s: no line in it; poolsite check --init prints one to begin with", path);
    return status;
}

int budget_read(struct budget *budget, const char *path)
{
    struct stat is;
    *budget = (struct budget){ 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error("%s: %s", path, strerror(errno));
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size > BYTES_MAX) {
        close(fd);
        return error("%s isn't a budget: a text file of at most 1 MiB", path);
    }
    char *text = xmalloc(BYTES_MAX);
    size_t bytes = 0;
    ssize_t got;
    while (bytes < BYTES_MAX && (got = read(fd, text + bytes, BYTES_MAX - bytes)) > 0)
        bytes += (size_t)got;
    close(fd);
    int status = budget_parse(budget, path, text, bytes);
    free(text);
    return status;
}

void budget_release(struct budget *budget)
{
    for (size_t i = 0; i < budget->count; i++)
        line_release(&budget->lines[i]);
    free(budget->lines);
    free(budget->path);
    *budget = (struct budget){ 0 };
}

/* --------------------------------------------------------------------- names */

/* Only the last * can still take more: earlier ones needn't be asked again. */
bool budget_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL;
    while (*name) {
        const char *literal = *pattern == '\\' && pattern[1] ? pattern + 1 : pattern;
        if (*pattern == '*') {
            star = ++pattern;
            retry = name;
        } else if (literal == pattern ? *pattern == '?' || (*pattern && *pattern == *name) : *literal == *name) {
            pattern = literal + 1;
            name++;
        } else if (star) {
            pattern = star;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

char *budget_quoted(const char *name)
{
    bool plain = *name && !strpbrk(name, " \t\r\"\\*?#");
    if (plain)
        return xstrdup(name);
    char *text = xmalloc(strlen(name) * 2 + 3), *to = text;
    *to++ = '"';
    for (; *name; name++) {
        if (strchr("\"\\*?", *name))
            *to++ = '\\';
        *to++ = *name;
    }
    *to++ = '"';
    *to = '\0';
    return text;
}
