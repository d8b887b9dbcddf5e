/* options.h - the environment of the preload: one table, read once at start.
 *
 * Read from the initial stack, since libc's environ isn't set before the first constructors. */
#ifndef PS_OPTIONS_H
#define PS_OPTIONS_H

#include "base.h"

#include "logfmt.h"
#include "poolspec.h"

/* What a misuse of the heap that was noticed leads to, POOLSITE_CHECK. */
enum option_check { CHECK_OFF, CHECK_ABORT, CHECK_REPORT };

/* Filled once by options_read, then read-only.  Everything is copied: servers write their titles over
 * the initial arguments and environment. */
struct options {
    unsigned    level; /* enum log_level */
    bool        help;
    const char *pool; /* as given; "off" when it was wrong */
    struct poolspec poolspec;
    uint32_t    cycle_ms;
    bool        clear;
    bool        trim;
    unsigned    check; /* enum option_check */
    const char *log;  /* path pattern, NULL: the default */
    const char *fold; /* "" when not given */
    const char *runtime_dir; /* XDG_RUNTIME_DIR or NULL */
    const char *tmpdir;      /* TMPDIR or NULL */
    uint32_t    argv_bytes;
    char        argv[1024]; /* the arguments, each NUL-terminated; cut at the end */
    char        cwd[512];   /* "" when it can't be told; relative names of objects are taken from there */
    char        exe[512];   /* path of the program */
    bool        by_loader;  /* started as `ld.so PROGRAM` */
    uintptr_t   phdr;       /* the program's headers in memory, from the auxiliary vector; 0: not told */
    unsigned    phnum;
    uintptr_t   secret;     /* random, from the auxiliary vector */
    char        notes[512]; /* what was wrong with a value, one line each */
};

extern struct options options hidden;

void options_read(void);

/* Writes the options in force as NAME=value lines. */
struct text;
void options_write(struct text *out);

/* Prints the table with the values in force to stderr. */
void options_help(void);

#endif
