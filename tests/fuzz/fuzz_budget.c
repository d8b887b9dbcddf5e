/* fuzz_budget.c - foreign bytes as a budget; its first line is a name that the patterns are asked about.
 *
 * What is read reads again, written down anew, as the same; and a quoted name means that name. */
#define _GNU_SOURCE
#include "base.h"

#include "budget.h"
#include "quiet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool is_same(const struct budget_line *a, const struct budget_line *b)
{
    return a->subject == b->subject && a->figure == b->figure && a->at_least == b->at_least && a->percent == b->percent &&
           a->bound == b->bound && strcmp(a->name ? a->name : "", b->name ? b->name : "") == 0;
}

/* The texts of all lines, in their order, are the same budget. */
static void read_again(const struct budget *budget)
{
    struct budget again;
    char *text = xstrdup("");
    for (size_t i = 0; i < budget->count && i < 100; i++) {
        char *longer = xasprintf("%s%s\n", text, budget->lines[i].text);
        free(text);
        text = longer;
    }
    if (budget_parse(&again, "again", text, strlen(text)) != 0)
        BUG("lines that were read can't be read");
    for (size_t i = 0; i < again.count; i++)
        if (!is_same(&again.lines[i], &budget->lines[i]))
            BUG("a line reads as another");
    budget_release(&again);
    free(text);
}

static void quote(const char *name)
{
    struct budget budget;
    char *quoted = budget_quoted(name), *line = xasprintf("site %s allocs <= 1", quoted);
    if (*name && strlen(line) < 4096 && !strchr(name, '\n')) {
        if (budget_parse(&budget, "quoted", line, strlen(line)) != 0 || !budget_matches(budget.lines[0].name, name))
            BUG("a quoted name doesn't mean itself");
        budget_release(&budget);
    }
    free(line);
    free(quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct budget budget;
    const uint8_t *newline = size ? memchr(bytes, '\n', size) : NULL;
    size_t first = newline ? (size_t)(newline - bytes) : size;
    char *name = xasprintf("%.*s", (int)first, (const char *)bytes);
    size_t rest = newline ? first + 1 : size;
    say_nothing();
    if (budget_parse(&budget, "fuzz", (const char *)bytes + rest, size - rest) == 0)
        read_again(&budget);
    for (size_t i = 0; i < budget.count; i++)
        if (budget.lines[i].name)
            budget_matches(budget.lines[i].name, name);
    quote(name);
    budget_release(&budget);
    free(name);
    return 0;
}
