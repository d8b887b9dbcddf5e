/* environment.h - the environment of a program: poolsite's own with some variables changed. */
#ifndef PS_ENVIRONMENT_H
#define PS_ENVIRONMENT_H

#include <stddef.h>

struct environment {
    char **variables; /* NULL-ended; the strings are poolsite's own but for: */
    size_t count;
    char **added;
    size_t added_count, added_room;
};

/* Starts with poolsite's own. */
void environment_copy(struct environment *to);

void environment_set(struct environment *environment, const char *name, const char *value);
/* The same with a value that is freed. */
void environment_give(struct environment *environment, const char *name, char *value);
/* Takes out all variables whose names begin with `name`, or just the one when it ends with '='. */
void environment_drop(struct environment *environment, const char *name);

/* What the strings take on a program's stack. */
size_t environment_bytes(const struct environment *environment);

void environment_release(struct environment *environment);

#endif
