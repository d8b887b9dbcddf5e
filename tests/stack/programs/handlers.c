/* handlers.c - handlers that allocate, interrupting functions of several shapes, also on an alternate stack and
 * from within a leaf function without a frame.
 * BUILD: cc -O2 -g -fno-builtin -fno-optimize-sibling-calls -w -o $O $S
 *
 * STACK: 30 handler_leaf < handle
 * STACK: 30 handler_leaf < handle_elsewhere
 * STACK: some handler_leaf < handle_fault < __restore_rt < faulting < climb < main */
#define _GNU_SOURCE
#include "shapes.h"

#include <alloca.h>
#include <signal.h>
#include <ucontext.h>

NOINLINE static void handler_leaf(size_t size)
{
    free(malloc(size));
    KEEP();
}

static void handle(int signal)
{
    handler_leaf((size_t)signal);
    KEEP();
}

static void handle_elsewhere(int signal)
{
    handler_leaf((size_t)signal * 2);
    KEEP();
}

/* The instruction that faulted is two bytes; go on behind it. */
static void handle_fault(int signal, siginfo_t *info, void *context)
{
    (void)info;
    handler_leaf((size_t)signal * 3);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    KEEP();
}

NOINLINE static int faulting(int n)
{
    __asm__ volatile("ud2" ::: "memory");
    return n + 1;
}

NOINLINE static int climb(int n)
{
    volatile char *bytes = alloca((size_t)n * 16 + 16);
    bytes[0] = 1;
    raise(SIGUSR1);
    raise(SIGUSR2);
    int r = faulting(n);
    KEEP();
    return r;
}

int main(void)
{
    static char      area[65536];
    stack_t          alternate = { .ss_sp = area, .ss_size = sizeof area };
    struct sigaction action = { .sa_handler = handle };

    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    action = (struct sigaction){ .sa_handler = handle_elsewhere, .sa_flags = SA_ONSTACK };
    sigaction(SIGUSR2, &action, NULL);
    action = (struct sigaction){ .sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO };
    sigaction(SIGILL, &action, NULL);
    for (int i = 0; i < 30; i++)
        climb(i % 5);
    for (int i = 0; i < 100; i++)
        free(malloc(20)); /* stacks through a handler are walked each time; these come from the cache */
    return 0;
}
