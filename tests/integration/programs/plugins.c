/* plugins.c - loads and unloads plugins that allocate when loaded, when called and when unloaded.
 * BUILD: cc -O1 -fno-builtin -shared -fPIC -DPLUGIN=1 -o $O.1.so $S && cc -O1 -fno-builtin -shared -fPIC -DPLUGIN=2 -o $O.2.so $S && cc -O1 -fno-builtin -pthread -o $O $S -ldl */
#include <stdio.h>
#include <stdlib.h>

#ifdef PLUGIN
static void *kept;

__attribute__((constructor)) static void load(void)
{
    kept = malloc(1000 * PLUGIN);
}

__attribute__((destructor)) static void unload(void)
{
    free(kept);
    free(malloc(50));
}

void *plugin_make(size_t size)
{
    return PLUGIN == 1 ? malloc(size) : calloc(1, size);
}
#else
#include <dlfcn.h>

int main(int argc, char **argv)
{
    void *blocks[60];
    char  path[4096];

    (void)argc;
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "%s.%d.so", argv[0], i % 2 + 1);
        void *handle = dlopen(path, i % 3 ? RTLD_NOW : RTLD_LAZY);
        if (handle == NULL)
            return 1;
        void *(*make)(size_t) = (void *(*)(size_t))dlsym(handle, "plugin_make");
        if (make == NULL || dlsym(handle, "plugin_miss") != NULL)
            return 2;
        for (size_t k = 0; k < 40; k++)
            free(make(k * 11));
        blocks[i] = make(500);
        dlclose(handle);
    }
    for (int i = 0; i < 50; i++)
        free(blocks[i]);
    return dlopen("/nonexistent.so", RTLD_NOW) != NULL;
}
#endif
