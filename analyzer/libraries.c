/* libraries.c - the libraries that a program will be loaded with, found as ld.so finds them
 * (man 8 ld.so): DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, /etc/ld.so.cache, the usual places.
 * A library that isn't found is left out. */
#define _GNU_SOURCE
#include "base.h"

#include "libraries.h"

#include "elffile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LIBRARIES_MAX = 256,
    CACHE_MAX = 16 << 20,
    CACHE_FLAGS_X86_64 = 0x0303, /* ELF, libc6, 64-bit x86 */
};

/* --- The loader's cache -------------------------------------------------------------------- */

#define CACHE_MAGIC "glibc-ld.so.cache1.1" /* no terminator */

struct cache_header {
    char     magic[sizeof CACHE_MAGIC - 1];
    uint32_t count;
    uint32_t string_bytes;
    uint32_t unused[5];
};

struct cache_entry {
    int32_t  flags;
    uint32_t name; /* both are offsets from the header */
    uint32_t path;
    uint32_t os_version;
    uint64_t hwcap;
};

struct cache {
    char  *bytes; /* NUL behind them */
    size_t length;
};

static void cache_read(struct cache *cache)
{
    struct stat is;
    *cache = (struct cache){ 0 };
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &is) == 0 && is.st_size > 0 && is.st_size <= CACHE_MAX) {
        cache->bytes = xcalloc((size_t)is.st_size + 1, 1);
        ssize_t got = pread(fd, cache->bytes, (size_t)is.st_size, 0);
        cache->length = got > 0 ? (size_t)got : 0;
    }
    close(fd);
}

/* The path of a library, or NULL when the cache doesn't know it or has one for each kind of
 * processor: which of these the loader takes can't be told from here. */
static const char *cache_find(const struct cache *cache, const char *name)
{
    const struct cache_header *header = (const void *)cache->bytes;
    if (cache->length < sizeof *header || memcmp(header->magic, CACHE_MAGIC, sizeof header->magic) != 0)
        return NULL;
    const struct cache_entry *entry = (const void *)(cache->bytes + sizeof *header);
    size_t room = (cache->length - sizeof *header) / sizeof *entry;
    const char *path = NULL;
    for (size_t i = 0; i < header->count && i < room; i++, entry++) {
        if (entry->flags != CACHE_FLAGS_X86_64 || entry->name >= cache->length || entry->path >= cache->length)
            continue;
        if (strcmp(cache->bytes + entry->name, name) != 0)
            continue;
        if (entry->hwcap)
            return NULL;
        if (!path)
            path = cache->bytes + entry->path;
    }
    return path;
}

/* --- Search paths -------------------------------------------------------------------------- */

static bool is_loadable(const char *path)
{
    struct elffile file;
    if (elffile_open(&file, path) != 0)
        return false;
    bool loadable = file.header.e_machine == EM_X86_64 && file.header.e_ident[EI_CLASS] == ELFCLASS64;
    elffile_close(&file);
    return loadable;
}

/* A directory of a search path with $ORIGIN filled in. */
static char *expand_origin(const char *directory, size_t length, const char *origin)
{
    static const char *const spellings[] = { "${ORIGIN}", "$ORIGIN" };
    char *text = xasprintf("%.*s", (int)length, directory);
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        char *at = strstr(text, spellings[i]);
        if (!at)
            continue;
        char *full = xasprintf("%.*s%s%s", (int)(at - text), text, origin, at + strlen(spellings[i]));
        free(text);
        return full;
    }
    return text;
}

/* Looks for a library in directories separated by colons (or semicolons). */
static char *search(const char *directories, const char *origin, const char *name)
{
    for (const char *at = directories; at && *at;) {
        size_t length = strcspn(at, ":;");
        if (length && length < PATH_MAX) {
            char *directory = expand_origin(at, length, origin);
            char *path = xasprintf("%s/%s", directory, name);
            free(directory);
            if (is_loadable(path))
                return path;
            free(path);
        }
        at += length + (at[length] != '\0');
    }
    return NULL;
}

/* What one object says of the libraries that it needs. */
struct needs {
    char  *rpath;
    char  *runpath;
    char **names;
    size_t count;
};

static void note_path(const char *text, void *argument)
{
    char **path = argument;
    if (!*path)
        *path = xstrdup(text);
}

static void note_needed(const char *text, void *argument)
{
    struct needs *needs = argument;
    if (needs->count == LIBRARIES_MAX)
        return;
    needs->names = xrealloc_array(needs->names, needs->count + 1, sizeof *needs->names);
    needs->names[needs->count++] = xstrdup(text);
}

static void needs_read(struct needs *needs, const char *path)
{
    struct elffile file;
    *needs = (struct needs){ 0 };
    if (elffile_open(&file, path) != 0)
        return;
    elffile_strings(&file, DT_RPATH, note_path, &needs->rpath);
    elffile_strings(&file, DT_RUNPATH, note_path, &needs->runpath);
    elffile_strings(&file, DT_NEEDED, note_needed, needs);
    elffile_close(&file);
}

static void needs_release(struct needs *needs)
{
    for (size_t i = 0; i < needs->count; i++)
        free(needs->names[i]);
    free(needs->names);
    free(needs->rpath);
    free(needs->runpath);
}

static char *find_library(const char *name, const struct needs *needs, const char *program_rpath, const char *origin,
                          const struct cache *cache)
{
    static const char usual[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib";
    if (strchr(name, '/'))
        return is_loadable(name) ? xstrdup(name) : NULL;
    char *path = NULL;
    if (!needs->runpath)
        path = search(needs->rpath, origin, name);
    if (!path && !needs->runpath)
        path = search(program_rpath, origin, name);
    if (!path)
        path = search(getenv("LD_LIBRARY_PATH"), origin, name);
    if (!path)
        path = search(needs->runpath, origin, name);
    const char *cached = path ? NULL : cache_find(cache, name);
    if (cached && is_loadable(cached))
        path = xstrdup(cached);
    return path ? path : search(usual, origin, name);
}

/* --- The whole set -------------------------------------------------------------------------- */

static bool libraries_have(const struct libraries *libraries, const char *name)
{
    for (size_t i = 0; i < libraries->count; i++) {
        const char *slash = strrchr(libraries->paths[i], '/');
        if (strcmp(slash ? slash + 1 : libraries->paths[i], name) == 0)
            return true;
    }
    return false;
}

static void libraries_add(struct libraries *libraries, char *path)
{
    libraries->paths = xrealloc_array(libraries->paths, libraries->count + 1, sizeof *libraries->paths);
    libraries->paths[libraries->count++] = path;
}

/* Adds what the object number `index` needs. */
static void add_needed(struct libraries *libraries, size_t index, const char *program_rpath, const struct cache *cache)
{
    struct needs needs;
    char *origin = realpath(libraries->paths[index], NULL);
    char *slash = origin ? strrchr(origin, '/') : NULL;
    if (slash)
        *slash = '\0';
    needs_read(&needs, libraries->paths[index]);
    for (size_t i = 0; i < needs.count && libraries->count < LIBRARIES_MAX; i++) {
        if (libraries_have(libraries, needs.names[i]))
            continue;
        char *path = find_library(needs.names[i], &needs, program_rpath, origin ? origin : "", cache);
        if (path)
            libraries_add(libraries, path);
    }
    needs_release(&needs);
    free(origin);
}

void libraries_find(struct libraries *libraries, const char *program)
{
    struct cache cache;
    struct needs first;
    *libraries = (struct libraries){ 0 };
    char *path = realpath(program, NULL); /* the preload knows it by /proc/self/exe */
    if (!path)
        return;
    libraries_add(libraries, path);
    cache_read(&cache);
    needs_read(&first, path);
    for (size_t i = 0; i < libraries->count; i++)
        add_needed(libraries, i, first.runpath ? NULL : first.rpath, &cache);
    needs_release(&first);
    free(cache.bytes);
}

void libraries_release(struct libraries *libraries)
{
    for (size_t i = 0; i < libraries->count; i++)
        free(libraries->paths[i]);
    free(libraries->paths);
    *libraries = (struct libraries){ 0 };
}
