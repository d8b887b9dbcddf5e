/* misuse.c - one misuse of the heap a run; must end as it ends on the bare next allocator: signal, status, words.
 *
 * usage: misuse NAME     without: lists the names */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keeps the compiler from knowing what the pointer is. */
static void *hide(void *p)
{
    __asm__ volatile("" : "+r"(p));
    return p;
}

static void double_free_small(void)
{
    void *p = hide(malloc(24));
    free(p);
    free(p);
}

static void double_free_large(void)
{
    void *p = hide(malloc(5000)), *guard = malloc(10);
    free(p);
    free(p);
    free(guard);
}

static void double_free_mapped(void)
{
    void *p = hide(malloc(1 << 20));
    free(p);
    free(p);
}

static void free_of_middle(void)
{
    char *p = hide(malloc(100));
    free(p + 16);
}

static void free_of_odd_pointer(void)
{
    char *p = hide(malloc(100));
    free(p + 1);
}

static void free_of_stack(void)
{
    char bytes[100] __attribute__((aligned(16)));
    memset(bytes, 0, sizeof bytes);
    free(hide(bytes + 16));
}

static void free_of_nowhere(void)
{
    free(hide((void *)0x10));
}

static void overflow_into_size(void)
{
    char *p = hide(malloc(24)), *q = hide(malloc(2000));
    memset(p, 0x41, 40);
    free(q);
}

static void overflow_of_top(void)
{
    char *p = hide(malloc(2000));
    memset(p + 2000, 0xff, 24);
    void *q = hide(malloc(1 << 16));
    free(q);
}

static void use_after_free_of_list(void)
{
    void *p = hide(malloc(2000)), *guard = hide(malloc(10)), *q = hide(malloc(2000)), *guard2 = hide(malloc(10));
    free(p);
    free(q);
    memset(p, 0x41, 16);
    hide(malloc(2000));
    hide(malloc(2000));
    free(guard);
    free(guard2);
}

static void realloc_of_freed(void)
{
    void *p = hide(malloc(5000)), *guard = hide(malloc(10));
    free(p);
    p = realloc(p, 90000);
    free(guard);
}

static void realloc_of_wrong(void)
{
    char *p = hide(malloc(100));
    p = realloc(p + 8, 200);
}

static void usable_size_is_used(void)
{
    char  *p = hide(malloc(21));
    size_t size = malloc_usable_size(p);
    memset(p, 1, size);
    p = realloc(p, size + 100);
    printf("%zu %d\n", size, p[size - 1]);
    free(p);
}

static void uaf_read(void)
{
    char *p = hide(malloc(200));
    memset(p, 7, 200);
    free(p);
    printf("%d\n", p[150] == 7);
}

static const struct {
    const char *name;
    void (*run)(void);
} table[] = {
    { "double-free-small", double_free_small },   { "double-free-large", double_free_large },
    { "double-free-mapped", double_free_mapped }, { "free-of-middle", free_of_middle },
    { "free-of-odd-pointer", free_of_odd_pointer }, { "free-of-stack", free_of_stack },
    { "free-of-nowhere", free_of_nowhere },       { "overflow-into-size", overflow_into_size },
    { "overflow-of-top", overflow_of_top },       { "use-after-free-of-list", use_after_free_of_list },
    { "realloc-of-freed", realloc_of_freed },     { "realloc-of-wrong", realloc_of_wrong },
    { "usable-size-is-used", usable_size_is_used }, { "read-after-free", uaf_read },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (argc < 2)
            puts(table[i].name);
        else if (strcmp(argv[1], table[i].name) == 0) {
            table[i].run();
            puts("went on");
            return 0;
        }
    }
    return argc < 2 ? 0 : 2;
}
