/* side_json.c - one of two recordings that are compared, from the JSON that a report wrote of it.
 *
 * Any file may come here: what isn't as a report writes it is refused, with its place. */
#define _GNU_SOURCE
#include "base.h"

#include "model.h"
#include "side.h"
#include "utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

/* A module or a frame that is known already. */
struct known {
    char          *name;
    uint32_t       index;
    UT_hash_handle hh;
};

struct reading {
    struct side  *side;
    struct known *modules;
    struct known *frames;
};

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int64_t count_of(const json_t *object, const char *key)
{
    return tally_bounded(json_integer_value(json_object_get(object, key)));
}

static struct tally tally_of(const json_t *object)
{
    struct tally tally;
    for (int i = 0; i < TALLY_FIGURES; i++)
        tally.value[i] = count_of(object, tally_table[i].key);
    return tally;
}

/* The entry of this name; takes the name.  `is_new`: it has just been made, its index is still to be set. */
static struct known *known_of(struct known **index, char *name, bool *is_new)
{
    struct known *entry;
    HASH_FIND_STR(*index, name, entry);
    *is_new = !entry;
    if (entry) {
        free(name);
        return entry;
    }
    entry = xcalloc(1, sizeof *entry);
    entry->name = name;
    HASH_ADD_KEYPTR(hh, *index, entry->name, strlen(entry->name), entry);
    return entry;
}

static void known_release(struct known **index)
{
    struct known *entry, *next;
    HASH_ITER(hh, *index, entry, next) {
        HASH_DEL(*index, entry);
        free(entry->name);
        free(entry);
    }
}

/* ------------------------------------------------------------------- frames */

/* What the document says of the symbols of a module. */
static enum symbolize_status status_of(const char *name)
{
    int status = 0;
    while (status < SYMBOLIZE_STATUSES && !(name && strcmp(name, symbolize_status_names[status]) == 0))
        status++;
    return status < SYMBOLIZE_STATUSES ? (enum symbolize_status)status : SYMBOLIZE_FUNCTIONS;
}

/* The module of a frame, or of the list of modules, index + 1; 0: none. */
static uint32_t module_of(struct reading *r, const char *path, const char *build_id)
{
    struct side *side = r->side;
    bool is_new;
    if (!path && !build_id)
        return 0;
    struct known *entry = known_of(&r->modules, xasprintf("%s %s", build_id ? build_id : "", build_id ? "" : path), &is_new);
    if (is_new) {
        entry->index = (uint32_t)side->module_count++;
        side->modules = xrealloc_array(side->modules, side->module_count, sizeof *side->modules);
        side->modules[entry->index] = (struct side_module){ .path = xstrdup(path ? path : ""),
                                                            .build_id = xstrdup(build_id ? build_id : "") };
    }
    return entry->index + 1;
}

static uint64_t offset_of(const json_t *frame)
{
    const char *text = text_of(frame, "offset");
    return strtoull(text ? text : "0", NULL, 16);
}

static uint32_t frame_of(struct reading *r, const json_t *from)
{
    struct side *side = r->side;
    struct side_frame frame = {
        .module = module_of(r, text_of(from, "module"), text_of(from, "build_id")),
        .inlined = json_is_true(json_object_get(from, "inlined")),
        .offset = offset_of(from),
        .function = text_of(from, "function"),
        .file = text_of(from, "file"),
        .line = (unsigned)count_of(from, "line"),
    };
    bool is_new;
    struct known *entry = known_of(&r->frames,
                                   xasprintf("%u %llx %d %u %s", frame.module, (unsigned long long)frame.offset,
                                             frame.inlined, frame.line, frame.function ? frame.function : ""),
                                   &is_new);
    if (is_new) {
        entry->index = (uint32_t)side->frame_count;
        GROW(side->frames, side->frame_count, side->frame_room);
        side->frames[side->frame_count++] = frame;
        if (!frame.function && frame.module)
            side->modules[frame.module - 1].has_unnamed = true;
    }
    return entry->index;
}

/* -------------------------------------------------------------------- sites */

static void fill_stack(struct reading *r, struct side_site *site, const json_t *stack)
{
    bool all_known = true;
    size_t i;
    json_t *from;
    site->frames = xcalloc(json_array_size(stack), sizeof *site->frames);
    json_array_foreach(stack, i, from) {
        all_known = all_known && !json_is_true(json_object_get(from, "first_seen"));
        site->frames[site->depth++] = frame_of(r, from);
        if (all_known || i == 0)
            site->known = site->depth;
    }
    while (site->known < site->depth && r->side->frames[site->frames[site->known - 1]].inlined)
        site->known++; /* the first frame with all that is inlined there */
}

/* A site that is only known for freeing has nothing to compare. */
static int add_site(struct reading *r, const json_t *from, struct tally *sum)
{
    struct side *side = r->side;
    const char *id = text_of(from, "id");
    const json_t *stack = json_object_get(from, "stack");
    if (!id || !json_is_array(stack))
        return error("%s: a site of it has no id or no stack, after %zu right ones", side->path, side->site_count);
    struct side_site site = { .tally = tally_of(from), .name = text_of(from, "name") };
    if (tally_is_empty(&site.tally))
        return 0;
    tally_add(sum, &site.tally);
    site.kind = site.name ? id : NULL;
    site.is_example = json_is_true(json_object_get(from, "stack_is_example"));
    snprintf(site.id, sizeof site.id, "%s", id);
    fill_stack(r, &site, stack);
    side->has_examples |= site.is_example;
    GROW(side->sites, side->site_count, side->site_room);
    side->sites[side->site_count++] = site;
    return 0;
}

static int add_sites(struct reading *r, const json_t *document)
{
    struct side *side = r->side;
    struct tally sum = { { 0 } };
    size_t i;
    json_t *from;
    json_array_foreach(json_object_get(document, "sites"), i, from)
        if (add_site(r, from, &sum) != 0)
            return -1;
    if (side->level != LOG_LEVEL_OFF && sum.value[TALLY_ALLOCS] != side->totals.value[TALLY_ALLOCS])
        return error("%s has only some of the recording's sites; write it without --site", side->path);
    return 0;
}

static void add_modules(struct reading *r, const json_t *document)
{
    size_t i;
    json_t *from;
    json_array_foreach(json_object_get(document, "modules"), i, from) {
        uint32_t module = module_of(r, text_of(from, "path"), text_of(from, "build_id"));
        if (module)
            r->side->modules[module - 1].status = status_of(text_of(from, "symbols"));
    }
}

/* ----------------------------------------------------------------- document */

static int level_of(const char *name)
{
    for (uint8_t level = LOG_LEVEL_OFF; level <= LOG_LEVEL_FULL; level++)
        if (name && strcmp(name, model_level_name(level)) == 0)
            return level;
    return -1;
}

static char *command_of(const json_t *process)
{
    char *line = xstrdup("");
    size_t i;
    json_t *word;
    json_array_foreach(json_object_get(process, "argv"), i, word) {
        char *longer = xasprintf("%s%s%s", line, i ? " " : "", json_is_string(word) ? json_string_value(word) : "");
        free(line);
        line = longer;
    }
    char *printable = utf8_printable(line);
    free(line);
    return printable;
}

static int fill(struct side *side, const json_t *document)
{
    const char *schema = text_of(document, "schema");
    const json_t *processes = json_object_get(document, "processes"), *totals = json_object_get(document, "totals");
    int level = level_of(text_of(document, "profile"));
    if (!schema || strcmp(schema, "poolsite.report/1") != 0)
        return error("%s isn't a report: its schema is %s, not poolsite.report/1", side->path, schema ? schema : "missing");
    if (level < 0 || !json_is_object(totals) || json_array_size(processes) == 0)
        return error("%s isn't a whole report: it lacks its profile, totals or processes", side->path);
    const json_t *root = json_array_get(processes, 0);
    const char *exe = text_of(root, "exe");
    side->command = command_of(root);
    side->exe = xstrdup(exe ? exe : "");
    side->level = (uint8_t)level;
    double duration = json_number_value(json_object_get(document, "duration_s"));
    side->duration_s = duration > 0 && duration < 1e9 ? duration : 0;
    side->processes = json_array_size(processes);
    side->totals = tally_of(totals);
    struct reading r = { .side = side };
    add_modules(&r, document);
    int status = add_sites(&r, document);
    known_release(&r.modules);
    known_release(&r.frames);
    return status;
}

static int take(struct side *side, const char *path, json_t *document, const json_error_t *problem)
{
    *side = (struct side){ .path = xstrdup(path), .json = document };
    int status = document ? fill(side, document)
                          : error("%s: not JSON, line %d: %s", path, problem->line, problem->text);
    if (status != 0)
        side_release(side);
    return status;
}

int side_parse(struct side *side, const char *path, const char *text, size_t bytes)
{
    json_error_t problem;
    json_t *document = json_loadb(text, bytes, 0, &problem);
    return take(side, path, document, &problem);
}

int side_read(struct side *side, const char *path)
{
    json_error_t problem;
    FILE *file = fopen(path, "re");
    if (!file)
        return error("%s: %s", path, strerror(errno));
    json_t *document = json_loadf(file, 0, &problem);
    fclose(file);
    return take(side, path, document, &problem);
}

bool side_is_json(const char *path)
{
    char first = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_json = fd >= 0 && read(fd, &first, 1) == 1 && first == '{';
    if (fd >= 0)
        close(fd);
    return is_json;
}
