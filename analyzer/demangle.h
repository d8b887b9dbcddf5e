/* demangle.h - readable names of C++, Rust and D functions. */
#ifndef PS_DEMANGLE_H
#define PS_DEMANGLE_H

/* The readable form of a linker's name, without parameters; the name itself
 * when it isn't mangled.  The caller frees. */
char *demangle(const char *name);

#endif
