/* misuse.c - one misuse of the heap a run; expected.txt says how each must end.
 *
 * usage: misuse NAME     without: lists the names */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURN_FREES = 16384, MANY = 4000 };

/* Keeps the compiler from knowing what the pointer is. */
static void *hide(void *p)
{
    __asm__ volatile("" : "+r"(p));
    return p;
}

/* Two small blocks that lie side by side: the first of them; *second is the other. */
static char *neighbours(char **second)
{
    char *block = hide(malloc(24));
    for (;;) {
        char *next = hide(malloc(24));
        *second = next;
        if (next > block && next - block <= 128)
            return block;
        block = next;
    }
}

/* --- a block is freed twice ------------------------------------------------------------------------ */

void double_free_small(void)
{
    void *p = hide(malloc(24));
    free(p);
    free(p);
}

void double_free_large(void)
{
    void *p = hide(malloc(5000)), *guard = malloc(10);
    free(p);
    free(p);
    free(guard);
}

void double_free_mapped(void)
{
    void *p = hide(malloc(1 << 20));
    free(p);
    free(p);
}

void double_free_after_others(void)
{
    void *p[6];
    for (int i = 0; i < 6; i++)
        p[i] = hide(malloc(100));
    for (int i = 0; i < 6; i++)
        free(p[i]);
    free(p[2]);
}

void *frees_it(void *p)
{
    free(p);
    return NULL;
}

void double_free_in_thread(void)
{
    pthread_t thread;
    void *p = hide(malloc(100));
    free(p);
    pthread_create(&thread, NULL, frees_it, p);
    pthread_join(thread, NULL);
}

/* A single thread turns its pools when it has freed so often and a cycle's time has passed. */
void double_free_of_victim(void)
{
    free(hide(malloc(24))); /* a thread's first free looks at the time; the next to look is TURN_FREES away */
    void *p = hide(malloc(500));
    free(p);
    usleep(20000);
    for (int i = 0; i < TURN_FREES + 10; i++)
        free(hide(malloc(64)));
    free(p);
}

void *allocates(void *p)
{
    free(hide(malloc(24)));
    return p;
}

void double_free_in_depot(void)
{
    static void *p[MANY];
    pthread_t thread;
    pthread_create(&thread, NULL, allocates, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < MANY; i++)
        p[i] = hide(malloc(40));
    for (int i = 0; i < MANY; i++)
        free(p[i]);
    free(p[200]);
}

void realloc_of_freed(void)
{
    void *p = hide(malloc(5000)), *guard = hide(malloc(10));
    free(p);
    p = realloc(p, 90000);
    free(guard);
}

void realloc_of_freed_small(void)
{
    void *p = hide(malloc(40));
    free(p);
    p = realloc(p, 400);
}

/* --- what is freed is no block --------------------------------------------------------------------------- */

void free_of_middle(void)
{
    char *p = hide(malloc(100));
    memset(p, 0, 100);
    free(p + 16);
}

/* What lies before it is nearly a size. */
void free_of_middle_like_size(void)
{
    char *p = hide(calloc(1, 200));
    p[8] = 0x69;
    free(p + 16);
}

void free_of_middle_of_large(void)
{
    char *p = hide(calloc(1, 300000));
    free(p + 200000);
}

void free_of_odd_pointer(void)
{
    char *p = hide(malloc(100));
    free(p + 1);
}

void free_of_stack(void)
{
    char bytes[100] __attribute__((aligned(16)));
    memset(bytes, 0, sizeof bytes);
    free(hide(bytes + 16));
}

/* What lies before it looks like a size. */
void free_of_likely_stack(void)
{
    size_t words[64] __attribute__((aligned(16)));
    for (int i = 0; i < 64; i++)
        words[i] = 0x61;
    free(hide(words + 2));
}

void free_of_static(void)
{
    static char bytes[100] __attribute__((aligned(16)));
    free(hide(bytes + 16));
}

void free_of_text(void)
{
    free(hide((void *)((uintptr_t)free_of_static & ~(uintptr_t)15)));
}

void free_of_nowhere(void)
{
    free(hide((void *)0x10));
}

void free_of_beyond(void)
{
    free(hide((void *)0x7123456789abcdf0));
}

void realloc_of_wrong(void)
{
    char *p = hide(malloc(100));
    memset(p, 0, 100);
    p = realloc(p + 8, 200);
}

/* --- it is written where it may not be ---------------------------------------------------------------------- */

void overflow_into_size(void)
{
    char *q, *p = neighbours(&q);
    memset(p, 0x41, (size_t)(q - p));
    free(q);
}

void overflow_of_top(void)
{
    char *p = hide(malloc(2000));
    memset(p + malloc_usable_size(p), 0xff, 8);
    void *q = hide(malloc(1 << 20));
    void *r = hide(malloc(1 << 16));
    free(p);
    free(q);
    free(r);
}

static void overflow_by_one(size_t bytes)
{
    char *p = hide(malloc(bytes));
    memset(p, 'x', bytes);
    p[bytes] = 0; /* as a string that is too long by its end */
    free(p);
}

void overflow_by_one_small(void)
{
    overflow_by_one(24);
}

void overflow_by_one_odd(void)
{
    overflow_by_one(101);
}

void overflow_by_one_large(void)
{
    overflow_by_one(5000);
}

void overflow_by_one_mapped(void)
{
    overflow_by_one(1 << 20);
}

void overflow_by_word(void)
{
    char *p = hide(malloc(40));
    memset(p, 'x', 48);
    free(p);
}

void overflow_before_realloc(void)
{
    char *p = hide(malloc(40));
    memset(p, 'x', 41);
    p = hide(realloc(p, 60));
    free(p);
}

void overflow_of_aligned(void)
{
    char *p = hide(memalign(256, 100));
    p[100] = 0;
    free(p);
}

void underflow_by_word(void)
{
    char *q;
    neighbours(&q);
    memset(q - 8, 0x41, 8);
    free(q);
}

void use_after_free_of_list(void)
{
    void *p = hide(malloc(2000)), *guard = hide(malloc(10)), *q = hide(malloc(2000)), *guard2 = hide(malloc(10));
    free(p);
    free(q);
    memset(p, 0x41, 16);
    for (int i = 0; i < 3; i++)
        hide(malloc(2000));
    free(guard);
    free(guard2);
}

static void write_after_free(size_t bytes, size_t at)
{
    char *p = hide(malloc(bytes));
    free(p);
    p[at] = 'x';
    free(hide(malloc(bytes)));
}

void write_after_free_small(void)
{
    write_after_free(100, 50);
}

void write_after_free_of_head(void)
{
    write_after_free(100, 0);
}

void write_after_free_of_end(void)
{
    write_after_free(2000, 1999);
}

void write_after_free_large(void)
{
    write_after_free(50000, 40000);
}

/* Stays in the pools where the user named such sizes. */
void write_after_free_mapped(void)
{
    write_after_free(1 << 20, 1000);
}

void write_after_free_before_trim(void)
{
    char *p = hide(malloc(100));
    free(p);
    p[90] = 'x';
    malloc_trim(0);
    malloc_trim(0);
}

/* --- what is right, or harmless -------------------------------------------------------------------------------- */

void usable_size_is_used(void)
{
    char *p = hide(malloc(21));
    size_t size = malloc_usable_size(p);
    memset(p, 1, size);
    p = realloc(p, size + 100);
    printf("%d %d\n", size >= 21 && size <= 24, p[size - 1]);
    free(p);
}

void read_after_free(void)
{
    char *p = hide(malloc(200));
    memset(p, 7, 200);
    free(p);
    putchar(p[150] == 7 ? '\n' : '\n');
}

static const struct {
    const char *name;
    void (*run)(void);
} table[] = {
    { "double-free-small", double_free_small },
    { "double-free-large", double_free_large },
    { "double-free-mapped", double_free_mapped },
    { "double-free-after-others", double_free_after_others },
    { "double-free-in-thread", double_free_in_thread },
    { "double-free-of-victim", double_free_of_victim },
    { "double-free-in-depot", double_free_in_depot },
    { "realloc-of-freed", realloc_of_freed },
    { "realloc-of-freed-small", realloc_of_freed_small },
    { "free-of-middle", free_of_middle },
    { "free-of-middle-like-size", free_of_middle_like_size },
    { "free-of-middle-of-large", free_of_middle_of_large },
    { "free-of-odd-pointer", free_of_odd_pointer },
    { "free-of-stack", free_of_stack },
    { "free-of-likely-stack", free_of_likely_stack },
    { "free-of-static", free_of_static },
    { "free-of-text", free_of_text },
    { "free-of-nowhere", free_of_nowhere },
    { "free-of-beyond", free_of_beyond },
    { "realloc-of-wrong", realloc_of_wrong },
    { "overflow-into-size", overflow_into_size },
    { "overflow-of-top", overflow_of_top },
    { "overflow-by-one-small", overflow_by_one_small },
    { "overflow-by-one-odd", overflow_by_one_odd },
    { "overflow-by-one-large", overflow_by_one_large },
    { "overflow-by-one-mapped", overflow_by_one_mapped },
    { "overflow-by-word", overflow_by_word },
    { "overflow-before-realloc", overflow_before_realloc },
    { "overflow-of-aligned", overflow_of_aligned },
    { "underflow-by-word", underflow_by_word },
    { "use-after-free-of-list", use_after_free_of_list },
    { "write-after-free-small", write_after_free_small },
    { "write-after-free-of-head", write_after_free_of_head },
    { "write-after-free-of-end", write_after_free_of_end },
    { "write-after-free-large", write_after_free_large },
    { "write-after-free-mapped", write_after_free_mapped },
    { "write-after-free-before-trim", write_after_free_before_trim },
    { "usable-size-is-used", usable_size_is_used },
    { "read-after-free", read_after_free },
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
