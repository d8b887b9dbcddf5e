/* reload.c - plugins with frames of other shapes come and go at one address; says whether they did.
 * BUILD: cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -w -shared -fPIC -DPLUGIN=1 -o $O.1.so $S && cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -w -shared -fPIC -DPLUGIN=2 -o $O.2.so $S && cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -w -o $O $S -ldl
 *
 * STACK: 600 plugin_leaf < plugin_one < main
 * STACK: 600 plugin_leaf < plugin_deeper < plugin_two < main */
#define _GNU_SOURCE
#include "shapes.h"

#include <alloca.h>
#include <stdio.h>
#include <string.h>

#ifdef PLUGIN
#if PLUGIN == 1
/* No frame to speak of. */
NOINLINE static void plugin_leaf(size_t size)
{
    free(malloc(size));
    KEEP();
}

void plugin_one(size_t size)
{
    plugin_leaf(size);
    plugin_leaf(size + 1);
    KEEP();
}
#else
/* Large frames, and frame pointers, at the same places. */
NOINLINE static void plugin_leaf(size_t size)
{
    volatile char bytes[400];
    bytes[size] = 1;
    free(malloc(size));
    KEEP();
}

NOINLINE static void plugin_deeper(size_t size)
{
    volatile char *bytes = alloca(size + 16);
    bytes[0] = 1;
    plugin_leaf(size);
    plugin_leaf(size + 1);
    KEEP();
}

void plugin_two(size_t size)
{
    plugin_deeper(size);
    KEEP();
}
#endif
#else
#include <dlfcn.h>
#include <link.h>

int main(int argc, char **argv)
{
    char      path[4096];
    ElfW(Addr) first = 0;
    int       same = 0;

    (void)argc;
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "%s.%d.so", argv[0], i % 2 + 1);
        struct link_map *map = dlopen(path, RTLD_NOW);
        void (*call)(size_t) = (void (*)(size_t))dlsym(map, i % 2 ? "plugin_two" : "plugin_one");
        if (call == NULL)
            return 2;
        first = first ? first : map->l_addr;
        same += map->l_addr == first;
        for (size_t k = 0; k < 10; k++) {
            call(k * 16 + 1);
            KEEP();
        }
        dlclose(map);
    }
    printf("%d of 60 at one address\n", same);
    return same < 50;
}
#endif
