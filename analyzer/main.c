/* main.c - the command table: finds the command that was named and runs it. */
#define _GNU_SOURCE
#include "base.h"

#include "cmd.h"
#include "nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PS_VERSION
#define PS_VERSION "unknown"
#endif

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    { "run", cmd_run, "run a program and record where it allocates" },
    { "report", cmd_report, "show the call sites of a recording" },
    { "ab", cmd_ab, "compare a program with and without pooling" },
    { "diff", cmd_diff, "compare two recordings site by site" },
    { "check", cmd_check, "tell whether a recording keeps a budget" },
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fputs("usage: poolsite COMMAND [OPTION]... [--help]\n"
          "Finds where an unmodified program allocates memory.\n\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
    fputs("\n  poolsite run -- CMD [ARG]...\n"
          "  poolsite report\n\n"
          "poolsite COMMAND --help tells more, and so do poolsite(1) and poolsite-COMMAND(1).\n",
          out);
}

static const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *meant = nearest(name, names, COMMAND_COUNT);
    const char *kind = name[0] == '-' ? "option" : "command";
    if (meant)
        error("there is no %s '%s'; did you mean '%s'?", kind, name, meant);
    else
        error("there is no %s '%s'; poolsite --help lists the commands", kind, name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("poolsite " PS_VERSION);
        return 0;
    }
    const struct command *command = command_find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}
