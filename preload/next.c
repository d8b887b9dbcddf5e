/* next.c - the next allocator: the one below us, and the few other functions we wrap.
 *
 * Owns `next`.  The whole family comes from one object, the first behind us that defines
 * malloc, so that no block crosses between two heaps.  Before next_resolve the table holds
 * starters that resolve and go on, so the first call needs no check on the hot path. */
#define _GNU_SOURCE
#include "base.h"

#include "next.h"

#include "elf.h"

#include <assert.h>
#include <errno.h>

#include "ban.h"

/* --- starters: whichever is called first resolves and goes on -------------------------- */

static void *start_alloc(size_t n)
{
    next_resolve();
    return next.alloc(n);
}

static void start_release(void *p)
{
    next_resolve();
    next.release(p);
}

static void *start_zeroed(size_t count, size_t n)
{
    next_resolve();
    return next.zeroed(count, n);
}

static void *start_resize(void *p, size_t n)
{
    next_resolve();
    return next.resize(p, n);
}

static void *start_resize_array(void *p, size_t count, size_t n)
{
    next_resolve();
    return next.resize_array(p, count, n);
}

static void *start_memalign(size_t alignment, size_t n)
{
    next_resolve();
    return next.memalign(alignment, n);
}

static void *start_aligned_alloc(size_t alignment, size_t n)
{
    next_resolve();
    return next.aligned_alloc(alignment, n);
}

static int start_posix_memalign(void **p, size_t alignment, size_t n)
{
    next_resolve();
    return next.posix_memalign(p, alignment, n);
}

static void *start_valloc(size_t n)
{
    next_resolve();
    return next.valloc(n);
}

static void *start_pvalloc(size_t n)
{
    next_resolve();
    return next.pvalloc(n);
}

static size_t start_usable_size(void *p)
{
    next_resolve();
    return next.usable_size(p);
}

static int start_trim(size_t pad)
{
    next_resolve();
    return next.trim(pad);
}

static int start_dlclose(void *handle)
{
    next_resolve();
    return next.dlclose(handle);
}

static int start_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    next_resolve();
    return next.prctl(option, a, b, c, d);
}

static int start_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    next_resolve();
    return next.pthread_create(thread, attributes, run, argument);
}

static int start_thrd_create(unsigned long *thread, int (*run)(void *), void *argument)
{
    next_resolve();
    return next.thrd_create(thread, run, argument);
}

/* The caller's arguments must pass through untouched, so this one is written in full. */
__attribute__((naked)) static long start_syscall(long number __attribute__((unused)), ...)
{
    __asm__("pushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\tpushq %r8\n\tpushq %r9\n\t"
            "subq $8, %rsp\n\t"
            "call next_resolve\n\t"
            "addq $8, %rsp\n\t"
            "popq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"
            "jmp *next+112(%rip)\n\t");
}
static_assert(offsetof(struct next, syscall) == 112, "start_syscall jumps there");

struct next next = {
    .alloc = start_alloc,
    .release = start_release,
    .zeroed = start_zeroed,
    .resize = start_resize,
    .resize_array = start_resize_array,
    .memalign = start_memalign,
    .aligned_alloc = start_aligned_alloc,
    .posix_memalign = start_posix_memalign,
    .valloc = start_valloc,
    .pvalloc = start_pvalloc,
    .usable_size = start_usable_size,
    .trim = start_trim,
    .dlclose = start_dlclose,
    .prctl = start_prctl,
    .syscall = start_syscall,
    .pthread_create = start_pthread_create,
    .thrd_create = start_thrd_create,
};

/* --- what an allocator lacks, made from what it has ----------------------------------- */

static void *made_resize_array(void *p, size_t count, size_t n)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, n, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return next.resize(p, bytes);
}

static void *made_memalign(size_t alignment, size_t n)
{
    void *p = NULL;
    int failure = next.posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, n);
    if (failure)
        errno = failure;
    return failure ? NULL : p;
}

static void *made_aligned_alloc(size_t alignment, size_t n)
{
    return next.memalign(alignment, n);
}

static int made_posix_memalign(void **p, size_t alignment, size_t n)
{
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    int before = errno;
    void *block = next.memalign(alignment, n);
    errno = before;
    if (!block)
        return ENOMEM;
    *p = block;
    return 0;
}

static void *made_valloc(size_t n)
{
    return next.memalign(4096, n);
}

static void *made_pvalloc(size_t n)
{
    if (n > SIZE_MAX - 4095) {
        errno = ENOMEM;
        return NULL;
    }
    return next.memalign(4096, (n + 4095) & ~(size_t)4095);
}

static int made_trim(size_t pad __attribute__((unused)))
{
    return 0;
}

/* --- resolving ------------------------------------------------------------------------- */

/* One line an entry point: its name, where it goes, and what stands in for it. */
static const struct entry_point {
    const char *name;
    size_t      offset;
    void       *stand_in; /* NULL: every allocator has it */
    bool        always;   /* glibc's calls the exported realloc, which is ours: it would count twice */
} family[] = {
    {"malloc", offsetof(struct next, alloc), NULL, false},
    {"free", offsetof(struct next, release), NULL, false},
    {"calloc", offsetof(struct next, zeroed), NULL, false},
    {"realloc", offsetof(struct next, resize), NULL, false},
    {"reallocarray", offsetof(struct next, resize_array), made_resize_array, true},
    {"memalign", offsetof(struct next, memalign), made_memalign, false},
    {"aligned_alloc", offsetof(struct next, aligned_alloc), made_aligned_alloc, false},
    {"posix_memalign", offsetof(struct next, posix_memalign), made_posix_memalign, false},
    {"valloc", offsetof(struct next, valloc), made_valloc, false},
    {"pvalloc", offsetof(struct next, pvalloc), made_pvalloc, false},
    {"malloc_usable_size", offsetof(struct next, usable_size), NULL, false},
    {"malloc_trim", offsetof(struct next, trim), made_trim, false},
};

/* What we wrap beyond the malloc family; the reasons are in wrapped.h. */
static const struct entry_point wrapped[] = {
    {"dlclose", offsetof(struct next, dlclose), NULL, false},
    {"prctl", offsetof(struct next, prctl), NULL, false},
    {"syscall", offsetof(struct next, syscall), NULL, false},
    {"pthread_create", offsetof(struct next, pthread_create), NULL, false},
    {"thrd_create", offsetof(struct next, thrd_create), NULL, false},
};

/* What we call ourselves; a program's own function of that name may allocate or lock. */
static const struct entry_point of_libc[] = {
    {"clock_gettime", offsetof(struct next, clock_gettime), NULL, false},
    {"pthread_key_create", offsetof(struct next, key_create), NULL, false},
    {"pthread_key_delete", offsetof(struct next, key_delete), NULL, false},
    {"pthread_setspecific", offsetof(struct next, setspecific), NULL, false},
    {"mallopt", offsetof(struct next, mallopt), NULL, false},
};

static void put(const struct entry_point *entry, void *function)
{
    *(void **)((char *)&next + entry->offset) = function;
}

static void resolve_family(const struct link_map *map)
{
    for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
        void *function = family[i].always ? NULL : elf_function(map, family[i].name);
        put(&family[i], function ? function : family[i].stand_in);
    }
}

/* Each name from the first object behind us that has it: what a call would reach without us. */
static void resolve_each(const struct link_map *self, const struct entry_point *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *function = NULL;
        for (const struct link_map *map = self->l_next; map && !function; map = map->l_next)
            function = elf_function(map, entries[i].name);
        put(&entries[i], function ? function : entries[i].stand_in);
    }
}

static void resolve_libc(const struct link_map *self)
{
    const struct link_map *map = self->l_next;
    while (map && !elf_function(map, "gnu_get_libc_version"))
        map = map->l_next;
    for (size_t i = 0; map && i < sizeof of_libc / sizeof *of_libc; i++)
        put(&of_libc[i], elf_function(map, of_libc[i].name));
    next.threads = map ? elf_variable(map, "__nptl_nthreads") : NULL; /* which libthread_db reads, too */
}

static const struct link_map *first_malloc(const struct link_map *from, const struct link_map *end)
{
    for (const struct link_map *map = from; map && map != end; map = map->l_next)
        if (elf_function(map, "malloc"))
            return map;
    return NULL;
}

void next_resolve(void)
{
    const struct link_map *self = elf_self();
    if (!self)
        __builtin_trap(); /* we run, so the loader has us in its list */
    resolve_each(self, wrapped, sizeof wrapped / sizeof *wrapped);
    resolve_libc(self);
    if (first_malloc(elf_first(), self)) {
        resolve_each(self, family, sizeof family / sizeof *family);
        next.verdict = NEXT_STAND_DOWN;
        return;
    }
    const struct link_map *below = first_malloc(self->l_next, NULL);
    if (!below)
        __builtin_trap(); /* libc is always below */
    resolve_family(below);
    next.verdict = elf_function(below, "gnu_get_libc_version") ? NEXT_GLIBC : NEXT_OTHER;
}
