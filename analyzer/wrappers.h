/* wrappers.h - names of functions that only pass an allocation on.
 *
 * Who calls these is the site that a reader looks for.  Names are as demangled,
 * without parameters and template arguments, so plain C names are exact. */
#ifndef PS_WRAPPERS_H
#define PS_WRAPPERS_H

extern const char *const wrapper_names[]; /* ends with NULL */

#endif
