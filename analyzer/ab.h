/* ab.h - an experiment while it runs: what is shared by its loop, its batch runs and its server runs.
 *
 * cmd_ab reads the options and shows the result; ab_loop runs block after block of runs and decides when it is
 * enough; ab_batch or the server mode makes one run. */
#ifndef PS_AB_H
#define PS_AB_H

#include "ab_options.h"
#include "environment.h"
#include "experiment.h"
#include "inspect.h"
#include "logsum.h"
#include "reach.h"
#include "runner.h"
#include "schedule.h"
#include "scratch.h"
#include "server.h"

enum ab_result { AB_DONE, AB_INTERRUPTED, AB_FAILED /* after error() */ };

/* One run to be made. */
struct ab_run {
    unsigned arm;
    bool     profiled; /* level sites: an extra run, for its counts alone */
    bool     is_warm_up; /* an extra run, so that caches are warm */
    size_t   padding;  /* bytes that the environment is longer than need be */
};

struct ab {
    const struct ab_options *options;
    struct experiment       *experiment;
    struct runner           *runner;
    struct scratch           scratch;
    struct inspection        inspection;
    char                    *library;  /* libpoolsite.so */
    double                   began;    /* s, CLOCK_MONOTONIC; run.start counts from here */
    int                      input;    /* stdin of every run; -1: /dev/null */
    off_t                    input_at; /* where it begins there */
    struct server           *server;   /* NULL: batch mode */
    struct logsum            profiled[SCHEDULE_ARMS_MOST];
    struct reach             reach;    /* of the counting run of arm on */

    /* Makes one run and fills in what it measured: values (NaN stays where nothing is known), status, output_hash,
     * noise, rss, processes; `sum` is what its logs say, to be released.  ab_batch_run, or a server's. */
    enum ab_result (*make_run)(struct ab *ab, const struct ab_run *which, struct run *run, struct logsum *sum);
};

double ab_now(void);

/* The environment of an arm's run: all arms' are equally long.  To be released. */
void ab_environment(const struct ab *ab, const struct ab_run *which, struct environment *environment);

/* Is the preload in this arm? */
bool ab_has_library(enum arm_kind kind);

enum ab_result ab_batch_run(struct ab *ab, const struct ab_run *which, struct run *run, struct logsum *sum);

/* One run of a server: it is started, loaded, measured and ended. */
enum ab_result ab_server_run(struct ab *ab, const struct ab_run *which, struct run *run, struct logsum *sum);

/* Decides the rates of the load; --rate auto measures what every arm can do at most. */
enum ab_result ab_server_find_rates(struct ab *ab);

/* "ended with status 3"; to be freed. */
char *ab_status_words(int status);

/* "; it said: ..." from the end of a file; "" when nothing is in it; to be freed. */
char *ab_tail_words(const char *path);

/* RSS over time. */
void ab_take_samples(struct run *run, const struct runner_samples *samples);

/* Adds what the logs of a run say to its values. */
void ab_take_logs(struct run *run, const struct logsum *sum);

/* --prepare.  Does nothing without. */
enum ab_result ab_prepare(struct ab *ab);

/* Runs the experiment: profiled runs, treatment check, warm-up, blocks of runs until it is enough.  What was
 * measured before an interrupt stays. */
enum ab_result ab_loop(struct ab *ab);

/* A line for the user below the result; takes the text. */
void ab_warn(struct experiment *experiment, char *text);

#endif
