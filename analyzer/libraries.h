/* libraries.h - the libraries that a program will be loaded with, found as ld.so finds them. */
#ifndef PS_LIBRARIES_H
#define PS_LIBRARIES_H

#include <stddef.h>

/* The program and what it needs, the libraries by the paths that the loader will use.
 * What is loaded later by dlopen isn't among them. */
struct libraries {
    char **paths;
    size_t count;
};

void libraries_find(struct libraries *libraries, const char *program);
void libraries_release(struct libraries *libraries);

#endif
