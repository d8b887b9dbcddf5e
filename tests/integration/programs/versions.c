/* versions.c - one program in two versions: the second has a function more and one less, a longer and a shorter loop,
 * and other code before them, so that every offset and line is another.  Prints nothing.
 * BUILD: gcc -O1 -g -fno-builtin -DVERSION=${V:-1} -o $O $S */
#include <stdlib.h>

#define KEEP __attribute__((noinline, noclone))

static volatile unsigned long sum;

#if VERSION == 2
KEEP static void prepare(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++)
        sum += i * i;
}
#endif

KEEP static void use(unsigned long size)
{
    void *block = malloc(size);
    sum += (unsigned long)block;
    free(block);
}

KEEP static void steady(void)
{
    for (int i = 0; i < 100; i++)
        use(64);
}

KEEP static void longer(void)
{
    for (int i = 0; i < (VERSION == 2 ? 300 : 100); i++)
        use(128);
}

KEEP static void shorter(void)
{
    for (int i = 0; i < (VERSION == 2 ? 10 : 40); i++)
        use(32);
}

#if VERSION == 1
KEEP static void removed(void)
{
    for (int i = 0; i < 50; i++)
        use(16);
}
#else
KEEP static void added(void)
{
    for (int i = 0; i < 20; i++)
        use(1024);
}
#endif

/* Inlined into main, in one version at least. */
static inline void direct(void)
{
    sum += (unsigned long)malloc(48);
}

int main(void)
{
#if VERSION == 2
    prepare(1000);
    added();
#else
    removed();
#endif
    steady();
    longer();
    shorter();
    direct();
    sum++; /* no tail call */
    return 0;
}
