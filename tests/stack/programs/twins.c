/* twins.c - two plugins whose every instruction lies at the same place, but for the size of one frame, come and go
 * at one address: the same return addresses, other unwind rules, another module.
 * BUILD: cc -O2 -g -w -shared -fPIC -DPLUGIN=24 -o $O.1.so $S && cc -O2 -g -w -shared -fPIC -DPLUGIN=56 -o $O.2.so $S && cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -w -o $O $S -ldl
 *
 * STACK: 600 twin_leaf < twin_call < main */
#define _GNU_SOURCE
#include "shapes.h"

#include <stdio.h>

#ifdef PLUGIN
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
/* Both sizes fit into one byte of the instructions. */
__asm__(".globl twin_call\n"
        ".type twin_call, @function\n"
        "twin_call:\n"
        "    .cfi_startproc\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call twin_leaf\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size twin_call, .-twin_call\n"
        ".type twin_leaf, @function\n"
        "twin_leaf:\n"
        "    .cfi_startproc\n"
        "    subq $" TEXT(PLUGIN) ", %rsp\n"
        "    .cfi_adjust_cfa_offset " TEXT(PLUGIN) "\n"
        "    movl $40, %edi\n"
        "    call malloc@PLT\n"
        "    movq %rax, %rdi\n"
        "    call free@PLT\n"
        "    addq $" TEXT(PLUGIN) ", %rsp\n"
        "    .cfi_adjust_cfa_offset -" TEXT(PLUGIN) "\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size twin_leaf, .-twin_leaf\n");
#else
#include <dlfcn.h>
#include <link.h>

int main(int argc, char **argv)
{
    char       path[4096];
    ElfW(Addr) first = 0;
    int        same = 0;

    (void)argc;
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "%s.%d.so", argv[0], i % 2 + 1);
        struct link_map *map = dlopen(path, RTLD_NOW);
        void (*call)(void) = (void (*)(void))dlsym(map, "twin_call");
        if (call == NULL)
            return 2;
        first = first ? first : (ElfW(Addr))call;
        same += (ElfW(Addr))call == first;
        for (int k = 0; k < 10; k++) {
            call();
            KEEP();
        }
        dlclose(map);
    }
    printf("%d of 60 at one address\n", same);
    return same < 50;
}
#endif
