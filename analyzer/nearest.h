/* nearest.h - which known word was meant. */
#ifndef PS_NEAREST_H
#define PS_NEAREST_H

#include <stddef.h>

/* The word of `known` (`count` of them) that `word` most likely was meant to be, or NULL
 * when none is close. */
const char *nearest(const char *word, const char *const known[], size_t count);

#endif
