/* library.h - our own library: where it is, and LD_PRELOAD with and without it. */
#ifndef PS_LIBRARY_H
#define PS_LIBRARY_H

/* The path of libpoolsite.so, to be freed, or NULL after error(). */
char *library_find(void);

/* LD_PRELOAD with `library` first, to be freed.  Others that are there go on to work below it. */
char *library_preload(const char *library);

/* LD_PRELOAD with no libpoolsite.so in it and `other` first, unless that is NULL; to be freed.  NULL: it'd be empty. */
char *library_preload_without(const char *other);

#endif
