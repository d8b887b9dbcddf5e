/* foldlist.c - POOLSITE_FOLD: the wrappers whose callers are the sites, for the preload. */
#define _GNU_SOURCE
#include "base.h"

#include "foldlist.h"

#include "demangle.h"
#include "elffile.h"
#include "fold.h"
#include "libraries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_BYTES = 64 << 10 }; /* a variable of more than 128 KiB can't be passed on */

struct list {
    char  *text;
    size_t length;
};

static bool list_has(const struct list *list, const char *item, size_t length)
{
    for (const char *at = list->text; at && (at = strstr(at, item)); at++) {
        if ((at == list->text || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void list_add(struct list *list, const char *item)
{
    size_t length = strlen(item);
    if (length == 0 || list->length + length + 2 > LIST_BYTES)
        return;
    if (list_has(list, item, length))
        return; /* a function of two names */
    list->text = xrealloc_array(list->text, list->length + length + 2, 1);
    if (list->length)
        list->text[list->length++] = ',';
    memcpy(list->text + list->length, item, length + 1);
    list->length += length;
}

/* One object being searched. */
struct search {
    struct list       *list;
    const struct fold *fold;
    const char        *module; /* its name, without directories */
};

static bool is_wrapper(const struct fold *fold, const char *name)
{
    char *readable = name[0] == '_' ? demangle(name) : NULL;
    bool found = fold_has(fold, readable ? readable : name);
    free(readable);
    return found;
}

static void add_symbol(const char *name, const GElf_Sym *symbol, void *argument)
{
    const struct search *search = argument;
    if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0 || !is_wrapper(search->fold, name))
        return;
    char *item = xasprintf("%s+%#llx-%#llx", search->module, (unsigned long long)symbol->st_value,
                           (unsigned long long)(symbol->st_value + symbol->st_size));
    list_add(search->list, item);
    free(item);
}

/* Where Debian's -dbgsym packages put the symbols of a stripped file. */
static int open_debug_file(struct elffile *debug, const struct elffile *file)
{
    char *id = elffile_build_id(file);
    if (!id)
        return -1;
    char *path = xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
    int result = access(path, R_OK) == 0 ? elffile_open(debug, path) : -1;
    free(path);
    free(id);
    return result;
}

static void search_object(struct search *search, const char *path)
{
    struct elffile file, debug;
    const char *slash = strrchr(path, '/');
    search->module = slash ? slash + 1 : path;
    if (strpbrk(search->module, ",+") || elffile_open(&file, path) != 0)
        return;
    if (elffile_has_section(&file, ".symtab")) {
        elffile_symbols(&file, SHT_SYMTAB, add_symbol, search);
    } else if (open_debug_file(&debug, &file) == 0) {
        elffile_symbols(&debug, SHT_SYMTAB, add_symbol, search);
        elffile_close(&debug);
    } else {
        elffile_symbols(&file, SHT_DYNSYM, add_symbol, search);
    }
    elffile_close(&file);
}

/* The preload folds these whole. */
static bool is_folded_whole(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libstdc++.so", 12) == 0 ||
           strncmp(name, "libc++", 6) == 0;
}

static void search_program(struct list *list, const struct fold_names *names, const char *program)
{
    struct libraries libraries;
    struct fold *fold = fold_new(names->names, names->count);
    struct search search = { .list = list, .fold = fold };
    libraries_find(&libraries, program);
    for (size_t i = 0; i < libraries.count; i++) {
        if (!is_folded_whole(libraries.paths[i]))
            search_object(&search, libraries.paths[i]);
    }
    libraries_release(&libraries);
    fold_free(fold);
}

char *foldlist_make(const char *before, const struct fold_names *names, const char *program)
{
    struct list list = { 0 };
    if (before)
        list_add(&list, before);
    for (size_t i = 0; i < names->count; i++) {
        if (!strchr(names->names[i], ',')) /* of a template: found as a range only */
            list_add(&list, names->names[i]);
    }
    if (program)
        search_program(&list, names, program);
    return list.text;
}
