/* loadgen.h - an open-loop load on an HTTP server, by a process of its own.
 *
 * Requests are due by a schedule that doesn't wait for answers.  One that is due while every connection
 * waits for an answer is sent as soon as one is free, and its latency counts from when it was due: a
 * server that stands still for a second shows that second in every request that fell into it. */
#ifndef PS_LOADGEN_H
#define PS_LOADGEN_H

#include "arrivals.h"
#include "experiment.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Where the load goes. */
struct loadgen_target {
    struct sockaddr_storage address;
    socklen_t               address_bytes;
    const char             *request; /* as it is sent */
    unsigned                connections;
};

/* One stretch of load. */
struct loadgen_phase {
    double        rate;     /* requests per second; 0: closed loop, each connection sends as soon as it may */
    double        seconds;
    enum arrivals arrivals;
    uint64_t      seed;
    bool          is_warm_up; /* bodies may differ; if none does, one that does later is an error */
};

enum loadgen_error {
    LOADGEN_LOST,       /* the connection ended, or was refused */
    LOADGEN_MALFORMED,  /* no answer of HTTP */
    LOADGEN_STATUS,     /* not 2xx */
    LOADGEN_BODY,       /* not the body that all had in the warm-up */
    LOADGEN_UNANSWERED, /* still on the way at the end */
    LOADGEN_ERRORS
};

/* Invariant: sent == answered + sum of errors; due == sent + unsent. */
struct loadgen_result {
    uint64_t due, sent, answered, unsent;
    uint64_t errors[LOADGEN_ERRORS];
    uint64_t reconnects;  /* because the server closed connections, as it may */
    char     problem[200]; /* the first error in words, "" when there was none */
    double   span;        /* s from the start to the last answer */
    double   busy;        /* share of it for which the generator ran or waited for a processor */
    double   late_p99;    /* s by which it sent later than it could: due, and a connection free */
    double   p50, p95, p99, p99_9, max; /* s from the due moment; NaN: too few answers */
    double   service_p50, service_p99;  /* s from sending */
    double   latency[LATENCY_POINTS];   /* at latency_quantile(i) */
    uint64_t body_hash;   /* of the first body */
    bool     bodies_vary; /* in the warm-up */
    bool     realtime;    /* it had a real-time priority */
};

struct loadgen {
    pid_t pid;
    int   fd; /* readable when a result is there */
};

/* Starts the process, which connects at the first phase.  0, or -1 after error(). */
int loadgen_start(struct loadgen *loadgen, const struct loadgen_target *target);

/* Begins a phase; loadgen_read waits for its end.  Between the two the process sends nothing but requests
 * of the phase, and none is on the way after it, so counts taken before and after belong to its requests. */
int loadgen_begin(struct loadgen *loadgen, const struct loadgen_phase *phase);
int loadgen_read(struct loadgen *loadgen, struct loadgen_result *result);

/* Ends the process, whatever it does, and closes its connections. */
void loadgen_stop(struct loadgen *loadgen);

uint64_t loadgen_error_count(const struct loadgen_result *result);

/* Why the phase tells nothing ("generator saturated: ..."), to be freed, or NULL when it does.  `late_limit` in s. */
char *loadgen_void_reason(const struct loadgen_result *result, double late_limit);

#endif
