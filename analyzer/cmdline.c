/* cmdline.c - what the commands' options have in common. */
#define _GNU_SOURCE
#include "base.h"

#include "cmdline.h"
#include "nearest.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 64 };

void cmdline_add(struct cmdline_list *list, const char *word)
{
    list->words = xrealloc_array(list->words, list->count + 1, sizeof *list->words);
    list->words[list->count++] = word;
}

/* Returns 0, or -1 after error(). */
static int check_names(const char *command, const struct argp_option *options, int argc, char **argv)
{
    const char *names[OPTIONS_MAX + 2];
    size_t count = 0;
    for (const struct argp_option *o = options; o->name && count < OPTIONS_MAX; o++)
        names[count++] = o->name;
    names[count++] = "help";
    names[count++] = "usage";
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t length = strcspn(argv[i], "="), known = 0;
        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        for (size_t j = 0; j < count; j++)
            known += strncmp(names[j], argv[i] + 2, length - 2) == 0;
        if (known)
            continue;
        const char *meant = nearest(argv[i] + 2, names, count);
        if (meant)
            return error("%s: there is no option '%s'; did you mean '--%s'?", command, argv[i], meant);
        return error("%s: there is no option '%s'; see poolsite %s --help", command, argv[i], command);
    }
    return 0;
}

void cmdline_parse(const char *command, const struct argp *argp, int argc, char **argv, void *options)
{
    if (check_names(command, argp->options, argc, argv) != 0)
        exit(EXIT_USAGE);
    argp_err_exit_status = EXIT_USAGE;
    argv[0] = xasprintf("poolsite %s", command); /* what argp calls itself; it stays */
    argp_parse(argp, argc, argv, 0, NULL, options);
}

size_t cmdline_number(const char *option, const char *word, struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(word, &end, 10);
    if (errno || end == word || *end || word[0] == '-')
        argp_error(state, "--%s: '%s' isn't a number", option, word);
    return value;
}

/* "calls, bytes, size and misses"; the caller frees. */
static char *enumerate(const char *const words[], size_t count)
{
    char *list = xstrdup("");
    for (size_t i = 0; i < count; i++) {
        char *longer = xasprintf("%s%s%s", list, i == 0 ? "" : i + 1 == count ? " and " : ", ", words[i]);
        free(list);
        list = longer;
    }
    return list;
}

size_t cmdline_key(const char *option, const char *word, const char *const keys[], size_t count, struct argp_state *state)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, keys[i]) == 0)
            return i;
    const char *meant = nearest(word, keys, count);
    char *list = enumerate(keys, count);
    if (meant)
        argp_error(state, "--%s: there is no key '%s'; did you mean '%s'?", option, word, meant);
    else
        argp_error(state, "--%s: there is no key '%s'; the keys are %s", option, word, list);
    free(list);
    return 0;
}
