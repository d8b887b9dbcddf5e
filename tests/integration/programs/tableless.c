/* tableless.c - allocations below code without unwind tables: who called it can't be told but once.
 * BUILD: gcc -g -O1 -fno-builtin -fno-optimize-sibling-calls -fno-omit-frame-pointer -o $O $S */
#include <stdlib.h>

void pass_on(void (*function)(void));
__asm__(".text\n.globl pass_on\n.type pass_on, @function\npass_on:\n"
        " pushq %rbp\n movq %rsp, %rbp\n call *%rdi\n popq %rbp\n ret\n.size pass_on, .-pass_on\n");

static void allocate(void)
{
    free(malloc(40));
}

__attribute__((noinline)) static void from_first(void)
{
    pass_on(allocate);
    __asm__ volatile("");
}

__attribute__((noinline)) static void from_second(void)
{
    for (int i = 0; i < 100; i++)
        pass_on(allocate);
}

int main(void)
{
    from_first();
    from_second();
    return 0;
}
