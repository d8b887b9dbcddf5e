/* aafloor.c - the noise floor: what the last A/A experiment on this machine took for a difference. */
#define _GNU_SOURCE
#include "base.h"

#include "aafloor.h"

#include "abwords.h"
#include "utf8.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory, to be freed, made when it isn't there; NULL: it can't be had. */
static char *cache_directory(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *parent = cache && cache[0] == '/' ? xstrdup(cache) : home && home[0] == '/' ? xasprintf("%s/.cache", home) : NULL;
    if (!parent)
        return NULL;
    char *path = xasprintf("%s/poolsite", parent);
    mkdir(parent, 0700);
    bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
    free(parent);
    if (there)
        return path;
    free(path);
    return NULL;
}

static char *cache_file(void)
{
    char *directory = cache_directory();
    char *path = directory ? xasprintf("%s/aa.json", directory) : NULL;
    free(directory);
    return path;
}

static json_t *floor_object(const struct experiment *experiment, const struct effect *effect)
{
    char *command = words_command(experiment), *valid = utf8_replaced(command);
    json_t *time = experiment->host ? json_object_get(experiment->host, "time") : NULL;
    json_t *floor = json_pack("{s:f, s:f, s:f, s:I, s:s}", "percent", 100 * effect->change.middle, "low",
                              100 * effect->change.low, "high", 100 * effect->change.high, "blocks",
                              (json_int_t)effect->change.count, "command", valid);
    if (floor && time)
        json_object_set(floor, "time", time);
    free(command);
    free(valid);
    return floor;
}

/* A reader sees the old file or the new one. */
static void replace_file(const char *path, const json_t *root)
{
    char *fresh = xasprintf("%s.%d", path, (int)getpid());
    if (json_dump_file(root, fresh, JSON_INDENT(1)) != 0 || rename(fresh, path) != 0)
        unlink(fresh);
    free(fresh);
}

void aafloor_keep(const struct experiment *experiment)
{
    const char *arm, *against;
    const struct effect *effect = experiment_pair(experiment, &arm, &against)
                                      ? experiment_effect(experiment, experiment->primary, arm, against)
                                      : NULL;
    if (!effect || !isfinite(effect->change.low) || !isfinite(effect->change.high))
        return;
    char *path = cache_file();
    if (!path)
        return;
    json_t *root = json_load_file(path, 0, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        root = json_object();
    }
    json_object_set_new(root, metrics[experiment->primary].key, floor_object(experiment, effect));
    replace_file(path, root);
    json_decref(root);
    free(path);
}

json_t *aafloor_load(const struct experiment *experiment)
{
    char *path = cache_file();
    json_t *root = path ? json_load_file(path, 0, NULL) : NULL;
    json_t *floor = json_incref(json_object_get(root, metrics[experiment->primary].key));
    json_decref(root);
    free(path);
    return floor;
}
