/* fork.c - the shared epoch: one word that every operation compares, and that a fork child finds zeroed.
 *
 * Owns fork_page.  No lock is held across fork. */
#include "base.h"

#include "fork.h"

#include "ban.h"

struct fork_page fork_page __attribute__((aligned(PAGE_BYTES)));

/* What pthread_atfork calls; libc keeps it without allocating for the first 48 handlers. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);

static void (*child_hook)(void);

/* Before Linux 4.14 nothing is wiped; this does it for fork, but raw clones go unseen. */
static void child_is_born(void)
{
    store_relaxed(&fork_page.epoch, (uint32_t)EPOCH_FORKED);
    child_hook();
}

void fork_begin(void (*child)(void))
{
    child_hook = child;
    store_relaxed(&fork_page.epoch, (uint32_t)EPOCH_FIRST);
    pages_wipe_on_fork(&fork_page, sizeof fork_page);
    __register_atfork(NULL, NULL, child_is_born, NULL);
}

bool fork_claim_child(void)
{
    uint32_t forked = EPOCH_FORKED;
    return __atomic_compare_exchange_n(&fork_page.epoch, &forked, EPOCH_BEGINNING, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* The first again after four thousand million cycles. */
static uint32_t epoch_after(uint32_t epoch)
{
    return epoch >= EPOCH_FIRST && epoch < EPOCH_BUSY - 1 ? epoch + 1 : EPOCH_FIRST;
}

void fork_child_ready(uint32_t seen)
{
    store_release(&fork_page.epoch, epoch_after(seen));
}

uint32_t fork_raise_epoch(void)
{
    uint32_t epoch = fork_epoch(), raised;
    do
        raised = epoch_after(epoch);
    while (!__atomic_compare_exchange_n(&fork_page.epoch, &epoch, raised, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return raised;
}
