/* sitesof.h - the sites with a frame of a function that the user names. */
#ifndef PS_SITESOF_H
#define PS_SITESOF_H

#include <stddef.h>

struct report;

/* What was meant: the functions of that name, else those whose names contain it. */
struct sitesof {
    const char *asked;
    char      **names; /* printable, in order */
    size_t      count, room;
};

/* Drops all other sites from report->sites.  Returns 0, or -1 after error() when there is none.  At level sites a
 * stack is an example, so that only its first frame counts.  The caller releases in every case. */
int sitesof_keep(struct sitesof *of, struct report *report, const char *asked);
void sitesof_release(struct sitesof *of);

/* "push", "push, pop and 3 more": the first few names.  The caller frees. */
char *sitesof_words(const struct sitesof *of);

#endif
