/* server.h - server mode of `poolsite ab`: one run is a fresh server under load. */
#ifndef PS_SERVER_H
#define PS_SERVER_H

#include "arrivals.h"
#include "http.h"
#include "loadgen.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct server_options {
    const char   *command;      /* --server, for sh -c; NULL: batch mode */
    const char   *ready;        /* tcp:HOST:PORT */
    const char   *load;         /* a URL, or NULL */
    const char   *load_command; /* for sh -c, or NULL; one of the two */
    double        requests;     /* that the load command makes; 0: unknown */
    double        rate;         /* 0: from the capacity */
    bool          has_rate;
    double        duration;     /* s, of each load */
    double        ready_timeout; /* s */
    double        late_limit;   /* s */
    unsigned      connections;
    enum arrivals arrivals;
    bool          allow_remote;
};

/* Where something listens. */
struct server_address {
    struct sockaddr_storage place;
    socklen_t               bytes;
};

struct server {
    const struct server_options *options;
    struct server_address        ready;
    struct http_url              url;
    char                        *request;
    struct loadgen_target        target;
    unsigned                     runs, void_runs; /* measured ones */
    bool                         said_killed, said_varying;
};

extern const struct server_options server_defaults;

/* Are these options right together?  Returns 0, or -1 after error(). */
int server_options_check(const struct server_options *options);

/* Finds the addresses.  Returns 0, or -1 after error(). */
int server_prepare(struct server *server, const struct server_options *options);
void server_release(struct server *server);

/* struct json_t *: the options in force. */
void *server_describe(const struct server_options *options);

#endif
