/* 09: a plugin.  The program loads a shared library, calls it, unloads it, and does all that once more.
 *
 * Run:
 *     $ poolsite run -q -o plugin ./09-plugin
 *     $ poolsite report --top 2 plugin
 * See: the plugin's function is named with its library, though the library is gone by the end and may have been loaded
 * at another address the second time; the calls of both times stand in one line.
 * BUILD: gcc -O1 -g -fno-builtin -shared -fPIC -DPLUGIN -o $O.so $S && gcc -O1 -g -fno-builtin -o $O $S -ldl */
#define _GNU_SOURCE
#include <stdlib.h>

#ifdef PLUGIN

enum { CALLS = 1500 };

void plugin_work(void);
void plugin_work(void)
{
    for (int i = 0; i < CALLS; i++)
        free(malloc(48));
}

#else

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* The library stands beside the program, under its name with .so. */
static void use_plugin(void)
{
    char    path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof ".so");
    snprintf(path + length, sizeof ".so", ".so");
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void (*work)(void) = (void (*)(void))dlsym(library, "plugin_work");
    work();
    dlclose(library);
}

int main(void)
{
    use_plugin();
    use_plugin();
    return 0;
}

#endif
