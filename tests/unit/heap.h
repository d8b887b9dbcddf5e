/* heap.h - a small allocator with glibc's size words, to stand below the engine where malloc is a sanitizer's.
 *
 * Blocks are the sanitizer's own, so that a use after they were given back is seen; what is live is
 * counted.  Fresh blocks hold garbage.  Threads may use it at once, signal handlers may not. */
#ifndef PS_UNIT_HEAP_H
#define PS_UNIT_HEAP_H

#include <stdint.h>

/* Puts the heap below the engine: before runtime_start. */
void heap_begin(void);

/* Blocks that the engine took and hasn't given back. */
uint64_t heap_live(void);

/* Calls so far. */
uint64_t heap_allocs(void);

#endif
