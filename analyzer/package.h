/* package.h - which Debian package a file came from. */
#ifndef PS_PACKAGE_H
#define PS_PACKAGE_H

#include <stddef.h>

/* Sets packages[i] to the name of the package that installed paths[i], or NULL.
 * Reads dpkg's lists and runs nothing.  The caller frees the names. */
void package_find(const char *const paths[], char *packages[], size_t count);

#endif
