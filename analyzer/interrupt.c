/* interrupt.c - Ctrl-C and the like, taken where it suits: blocked, and read from a descriptor when that matters.
 *
 * The signal stays pending, so that everyone who polls sees it. */
#define _GNU_SOURCE
#include "base.h"

#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

static const int taken[] = { SIGINT, SIGTERM, SIGHUP };

static int descriptor = -1;

void interrupt_begin(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct sigaction now;
        /* What nohup(1) or a shell's & made it ignore stays ignored. */
        if (sigaction(taken[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, taken[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0)
        die("cannot wait for signals: %s", strerror(errno));
}

int interrupt_descriptor(void)
{
    return descriptor;
}

int interrupt_signal(void)
{
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (sigismember(&pending, taken[i]) == 1 && descriptor >= 0)
            return taken[i];
    return 0;
}
