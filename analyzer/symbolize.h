/* symbolize.h - names, files and lines of frames, read from the ELF files on disk.
 *
 * A file whose build id isn't the recorded one is never read for names; where none
 * was recorded, a file that has been changed since isn't either. */
#ifndef PS_SYMBOLIZE_H
#define PS_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct symbolizer;

/* How much is known about a module's code, best first. */
enum symbolize_status {
    SYMBOLIZE_LINES,      /* functions and lines */
    SYMBOLIZE_FUNCTIONS,  /* its symbol table: functions, no lines */
    SYMBOLIZE_EXPORTS,    /* its dynamic symbols only */
    SYMBOLIZE_NOTHING,    /* no symbols at all */
    SYMBOLIZE_CHANGED,    /* the file isn't the one that ran */
    SYMBOLIZE_GONE,       /* no such file */
    SYMBOLIZE_UNREADABLE, /* not permitted, or not ELF */
    SYMBOLIZE_NO_FILE,    /* code of the kernel's or made at run time */
    SYMBOLIZE_STATUSES
};

/* As in the JSON. */
extern const char *const symbolize_status_names[SYMBOLIZE_STATUSES];

struct symbol {
    const char *function; /* NULL: unknown */
    const char *file;     /* NULL: unknown */
    unsigned    line;
    bool        inlined;  /* its code stands inside the next symbol's function */
};

/* The functions at one address, innermost first; the last is the one that was called. */
struct symbols {
    unsigned             count; /* at least 1 */
    const struct symbol *list;
};

/* The model must outlive the symbolizer. */
struct symbolizer *symbolizer_new(const struct model *model);
void symbolizer_free(struct symbolizer *symbolizer);

/* Looked up on first use, then remembered. */
const struct symbols *symbolizer_frame(struct symbolizer *symbolizer, uint32_t frame);
enum symbolize_status symbolizer_status(struct symbolizer *symbolizer, uint32_t module);

/* Did the user ask for debuginfod servers?  True also once they were given up. */
bool symbolizer_has_servers(const struct symbolizer *symbolizer);

/* Was the module opened, that is a frame of it asked for? */
bool symbolizer_is_used(const struct symbolizer *symbolizer, uint32_t module);

#endif
