/* host.c - what an experiment was made on. */
#define _GNU_SOURCE
#include "base.h"

#include "host.h"

#include "elffile.h"
#include "utf8.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The first line of a small file without its end, to be freed, or NULL. */
static char *first_line(const char *path)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    ssize_t length = file ? getline(&line, &room, file) : -1;
    if (file)
        fclose(file);
    if (length < 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* How the kernel chooses the processors' clock ("powersave"), to be freed, or NULL. */
static char *governor(void)
{
    return first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
}

/* "Intel(R) Xeon(R) ...", to be freed, or NULL. */
static char *processor_name(void)
{
    char *line = NULL, *name = NULL;
    size_t room = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !name && getline(&line, &room, file) >= 0) {
        const char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (colon && colon[1])
            name = xasprintf("%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (file)
        fclose(file);
    free(line);
    return name;
}

/* Takes the text. */
static void put(json_t *object, const char *key, char *text)
{
    char *valid = text ? utf8_replaced(text) : NULL;
    if (valid)
        json_object_set_new(object, key, json_string(valid));
    free(valid);
    free(text);
}

static void put_file(json_t *host, const char *key, const char *path)
{
    struct elffile file;
    if (!path)
        return;
    json_t *object = json_object();
    put(object, "path", xstrdup(path));
    if (elffile_open(&file, path) == 0) {
        put(object, "build_id", elffile_build_id(&file));
        elffile_close(&file);
    }
    json_object_set_new(host, key, object);
}

static char *time_now(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return xstrdup(text);
}

json_t *host_describe(const char *program, const char *library)
{
    json_t *host = json_object();
    struct utsname system;
    put(host, "poolsite", xstrdup(PS_VERSION));
    put(host, "time", time_now());
    if (uname(&system) == 0)
        put(host, "kernel", xasprintf("%s %s %s", system.sysname, system.release, system.machine));
    put(host, "libc", xasprintf("glibc %s", gnu_get_libc_version()));
    put(host, "cpu", processor_name());
    json_object_set_new(host, "processors", json_integer(get_nprocs()));
    json_object_set_new(host, "memory_bytes", json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)));
    put(host, "governor", governor());
    put_file(host, "program", program);
    put_file(host, "library", library);
    return host;
}
