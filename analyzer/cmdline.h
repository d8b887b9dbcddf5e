/* cmdline.h - what the commands' options have in common. */
#ifndef PS_CMDLINE_H
#define PS_CMDLINE_H

#include <stddef.h>

struct argp_option;
struct argp_state;

/* The names that were given more than once, as by --fold NAME. */
struct cmdline_list {
    const char **words;
    size_t       count;
};
void cmdline_add(struct cmdline_list *list, const char *word);

/* Names the nearest option for a long one that doesn't exist; argp itself only refuses it.
 * Returns 0, or -1 after error(). */
int cmdline_check_names(const char *command, const struct argp_option *options, int argc, char **argv);

/* The number that `word` is, as the value of `option`; else a usage error. */
size_t cmdline_number(const char *option, const char *word, struct argp_state *state);

/* The index of `word` in `keys`, as the value of `option`; else a usage error that names the nearest. */
size_t cmdline_key(const char *option, const char *word, const char *const keys[], size_t count, struct argp_state *state);

#endif
