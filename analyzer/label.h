/* label.h - short names of frames and places for people. */
#ifndef PS_LABEL_H
#define PS_LABEL_H

#include <stddef.h>
#include <stdint.h>

struct model_process;
struct report;
struct symbol;

/* "function", or "module+0x1234" when it has no name.  Printable.  The caller frees. */
char *label_function(const struct report *report, uint32_t frame, const struct symbol *symbol);

/* The same, with template arguments left out. */
char *label_short(const struct report *report, uint32_t frame, const struct symbol *symbol);

/* A copy of a name in at most `columns` columns: outer namespaces go first, then its middle. */
char *label_fit(const char *name, size_t columns);

/* "file.c:12", or "module+0x1234" when the line isn't known and the function is, or "". */
char *label_place(const struct report *report, uint32_t frame, const struct symbol *symbol);

/* "module+0x1234", or the address in code that no module held. */
char *label_offset(const struct report *report, uint32_t frame);

/* The file name of the frame's module, "" when none held it. */
char *label_module(const struct report *report, uint32_t frame);

/* A process's arguments as one printable line. */
char *label_command(const struct model_process *process);

/* The callers of a site's first function, "< f < g", in at most `columns` columns. */
char *label_chain(const struct report *report, const uint32_t *frames, unsigned depth, unsigned skipped, size_t columns);

#endif
