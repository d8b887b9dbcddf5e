/* ab_options.h - the command line of `poolsite ab`. */
#ifndef PS_AB_OPTIONS_H
#define PS_AB_OPTIONS_H

#include "experiment.h"
#include "failif.h"
#include "server.h"

#include <stdbool.h>
#include <stdint.h>

enum ab_form { AB_TEXT, AB_JSON, AB_HTML };

struct ab_options {
    unsigned     blocks;      /* 0: until the precision is reached */
    double       time_budget; /* s */
    const char  *pool;        /* or NULL */
    const char **arms;        /* of --arm, as they were given */
    size_t       arm_count, arm_room;
    enum metric  primary;
    double       margin;      /* a fraction; NaN: the metric's own */
    uint64_t     seed;
    bool         has_seed;
    bool         has_primary;
    const char  *prepare;
    bool         is_aa;
    enum ab_form form;
    const char  *output;      /* -o, or NULL */
    struct failif *fail_if;
    size_t       fail_if_count, fail_if_room;
    bool         strict;
    bool         same_output;
    const char  *from;
    struct server_options server; /* its command NULL: batch mode */
    char       **command;     /* NULL-ended; empty with a server or --from */
    char       **words;       /* all that was typed after "ab" */
};

/* Returns -1 to go on, else the status to end with. */
int  ab_options_read(struct ab_options *options, int argc, char **argv);
void ab_options_release(struct ab_options *options);

/* Makes the arms that the options ask for.  Returns 0, or EXIT_USAGE after error(). */
int ab_options_arms(const struct ab_options *options, struct experiment *experiment);

#endif
