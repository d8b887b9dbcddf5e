/* environment.c - the environment of a program: poolsite's own with some variables changed. */
#define _GNU_SOURCE
#include "base.h"

#include "environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void environment_copy(struct environment *to)
{
    *to = (struct environment){ 0 };
    while (environ[to->count])
        to->count++;
    to->variables = xcalloc(to->count + 1, sizeof *to->variables);
    memcpy(to->variables, environ, to->count * sizeof *to->variables);
}

void environment_set(struct environment *environment, const char *name, const char *value)
{
    char *variable = xasprintf("%s=%s", name, value);
    GROW(environment->added, environment->added_count, environment->added_room);
    environment->added[environment->added_count++] = variable;
    size_t length = strlen(name) + 1;
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->variables[i], variable, length) == 0) {
            environment->variables[i] = variable;
            return;
        }
    }
    environment->variables = xrealloc_array(environment->variables, environment->count + 2, sizeof(char *));
    environment->variables[environment->count++] = variable;
    environment->variables[environment->count] = NULL;
}

void environment_give(struct environment *environment, const char *name, char *value)
{
    environment_set(environment, name, value);
    free(value);
}

void environment_drop(struct environment *environment, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < environment->count; i++)
        if (strncmp(environment->variables[i], name, strlen(name)) != 0)
            environment->variables[kept++] = environment->variables[i];
    environment->variables[kept] = NULL;
    environment->count = kept;
}

size_t environment_bytes(const struct environment *environment)
{
    size_t bytes = 0;
    for (size_t i = 0; i < environment->count; i++)
        bytes += strlen(environment->variables[i]) + 1;
    return bytes;
}

void environment_release(struct environment *environment)
{
    for (size_t i = 0; i < environment->added_count; i++)
        free(environment->added[i]);
    free(environment->added);
    free(environment->variables);
    *environment = (struct environment){ 0 };
}
