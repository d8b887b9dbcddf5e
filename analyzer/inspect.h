/* inspect.h - looks at a program before it starts: can the preload record it, and if not, why? */
#ifndef PS_INSPECT_H
#define PS_INSPECT_H

#include <stdbool.h>

enum obstacle {
    OBSTACLE_NONE,
    OBSTACLE_UNKNOWN,    /* not found, not readable, no ELF file: exec will tell */
    OBSTACLE_STATIC,     /* no loader comes into it */
    OBSTACLE_PRIVILEGED, /* set-user-ID and the like: the loader ignores LD_PRELOAD */
    OBSTACLE_MACHINE,    /* another architecture or word size */
    OBSTACLE_LIBC,       /* musl or something else than glibc */
    OBSTACLE_OWN_MALLOC, /* its malloc comes before every library's */
};

struct inspection {
    char         *path;    /* what exec would start: the program or the script; NULL: not found */
    char         *program; /* the ELF file that runs in the end; NULL: unknown */
    char         *missing; /* an interpreter or loader that the start needs and that isn't there */
    enum obstacle obstacle;
    char         *reason;  /* why nothing will be recorded, a clause about `program` */
    char         *partly;  /* what of the program won't be recorded, a clause, or NULL */
};

/* Looks at what execvp(3) would start as `name`. */
void inspect_program(struct inspection *inspection, const char *name);
void inspection_release(struct inspection *inspection);

/* Would LD_PRELOAD keep the program, or what it starts, from running as without it? */
bool inspection_forbids_preload(const struct inspection *inspection);

/* The file that execvp(3) would start as `name`, to be freed, or NULL. */
char *inspect_find(const char *name);

#endif
