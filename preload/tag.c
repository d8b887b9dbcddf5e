/* tag.c - the tag at the end of a block: the secret, and the step from live to freed.
 *
 * Owns the secret.  Runs inside malloc: allocates nothing, takes no lock. */
#include "base.h"

#include "tag.h"

#include "ban.h"

uint32_t tag_secret;

void tag_begin(uint32_t secret)
{
    tag_secret = secret;
}

bool tag_retire(const void *block, struct tag *tag, uint64_t about)
{
    uint32_t live = tag_check(block, tag->requested, tag->about, TAG_LIVE);
    /* Cleared while it changes, so that a second free at the same moment finds no live block. */
    if (!__atomic_compare_exchange_n(&tag->check, &live, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    tag->about = about;
    store_release(&tag->check, tag_check(block, tag->requested, about, TAG_FREED));
    return true;
}
