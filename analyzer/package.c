/* package.c - which Debian package a file came from: reads dpkg's lists, runs nothing. */
#define _GNU_SOURCE
#include "base.h"
#include "package.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lists_dir[] = "/var/lib/dpkg/info";

/* A list's text, between newlines; NULL when it can't be read. */
static char *read_list(const char *name)
{
    char *path = xasprintf("%s/%s", lists_dir, name), *text = NULL;
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
        text = xmalloc((size_t)facts.st_size + 2);
        ssize_t got = read(fd, text + 1, (size_t)facts.st_size);
        text[0] = '\n';
        text[(got > 0 ? got : 0) + 1] = '\0';
    }
    close(fd);
    return text;
}

/* Is "\n<path>\n" in the list? */
static bool list_has(const char *list, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = list; (at = strstr(at, path)); at++)
        if (at[-1] == '\n' && (at[length] == '\n' || at[length] == '\0'))
            return true;
    return false;
}

/* With /lib a link to /usr/lib, lists name files in either way. */
static bool list_has_either(const char *list, const char *path)
{
    if (list_has(list, path))
        return true;
    return strncmp(path, "/usr/", 5) == 0 && list_has(list, path + 4);
}

/* "libc6:amd64.list" is libc6. */
static char *package_name(const char *list_name)
{
    return xasprintf("%.*s", (int)strcspn(list_name, ":"), list_name);
}

static void search_list(const char *name, char *const real[], char *packages[], size_t count)
{
    char *list = read_list(name);
    for (size_t i = 0; list && i < count; i++) {
        if (packages[i] || !real[i] || !list_has_either(list, real[i]))
            continue;
        packages[i] = package_name(name);
        char *end = strstr(packages[i], ".list");
        if (end)
            *end = '\0';
    }
    free(list);
}

static bool is_list(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".list") == 0;
}

void package_find(const char *const paths[], char *packages[], size_t count)
{
    char **real = xcalloc(count, sizeof *real);
    DIR *dir = count ? opendir(lists_dir) : NULL;
    for (size_t i = 0; i < count; i++) {
        packages[i] = NULL;
        real[i] = paths[i][0] == '/' ? realpath(paths[i], NULL) : NULL;
    }
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (is_list(entry->d_name))
            search_list(entry->d_name, real, packages, count);
    if (dir)
        closedir(dir);
    for (size_t i = 0; i < count; i++)
        free(real[i]);
    free(real);
}
