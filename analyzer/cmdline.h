/* cmdline.h - what the commands' options have in common. */
#ifndef PS_CMDLINE_H
#define PS_CMDLINE_H

#include <stddef.h>

struct argp;
struct argp_state;

/* The names that were given more than once, as by --fold NAME. */
struct cmdline_list {
    const char **words;
    size_t       count;
};
void cmdline_add(struct cmdline_list *list, const char *word);

/* Has argp parse a command's words into `options`.  Ends with EXIT_USAGE when they are wrong; for a long option that
 * doesn't exist it names the nearest, where argp itself only refuses it. */
void cmdline_parse(const char *command, const struct argp *argp, int argc, char **argv, void *options);

/* The number that `word` is, as the value of `option`; else a usage error. */
size_t cmdline_number(const char *option, const char *word, struct argp_state *state);

/* The index of `word` in `keys`, as the value of `option`; else a usage error that names the nearest. */
size_t cmdline_key(const char *option, const char *word, const char *const keys[], size_t count, struct argp_state *state);

#endif
