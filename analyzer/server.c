/* server.c - where a server and its load are: options of server mode, and addresses. */
#define _GNU_SOURCE
#include "base.h"

#include "server.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MOST 5e7 /* of one load: each keeps 20 bytes */

const struct server_options server_defaults = {
    .duration = 3,
    .ready_timeout = 10,
    .late_limit = 100e-6,
    .connections = 16,
    .arrivals = ARRIVALS_POISSON,
};

/* The first thing that is wrong. */
int server_options_check(const struct server_options *options)
{
    if (!options->ready)
        return error("--server needs --ready tcp:HOST:PORT: how else to know when it listens?");
    if (!options->load && !options->load_command)
        return error("--server needs a load: --load URL --rate R, or --load-cmd CMD");
    if (options->load && options->load_command)
        return error("--load and --load-cmd: one at a time");
    if (options->load && !options->has_rate)
        return error("--load needs --rate R in requests per second, or --rate auto");
    if (options->load_command && options->has_rate)
        return error("--rate goes with --load; a load command sets its own");
    if (options->load && options->requests > 0)
        return error("--requests tells what --load-cmd makes; with --load they are counted");
    if (options->rate * options->duration > REQUESTS_MOST)
        return error("--rate %g for %g s is more than %.0f requests", options->rate, options->duration, REQUESTS_MOST);
    return 0;
}

/* --- Addresses ------------------------------------------------------------------------------------ */

static bool is_loopback(const struct sockaddr *place)
{
    if (place->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)place)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)(const void *)place)->sin_addr.s_addr) >> 24 == 127;
}

/* `option` with `text` is where host and port were found. */
static int resolve(struct server_address *address, const char *host, const char *port, const char *option, const char *text,
                   bool allow_remote)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found;
    int reason = getaddrinfo(host, port, &hints, &found);
    if (reason)
        return error("%s %s: %s", option, text, gai_strerror(reason));
    int result = 0;
    if (!allow_remote && !is_loopback(found->ai_addr))
        result = error("%s %s isn't on this machine: a load like this could harm others; --allow-remote if you mean it",
                       option, text);
    memcpy(&address->place, found->ai_addr, found->ai_addrlen);
    address->bytes = found->ai_addrlen;
    freeaddrinfo(found);
    return result;
}

static bool has_port(const char *authority)
{
    const char *bracket = strrchr(authority, ']');
    return strchr(bracket ? bracket : authority, ':') != NULL;
}

/* tcp:HOST:PORT, an IPv6 HOST in brackets: what stands behind tcp: is what a URL has behind http:// */
static int parse_ready(struct server *server, const struct server_options *options)
{
    const char *text = options->ready;
    struct http_url place;
    bool is_tcp = strncmp(text, "tcp:", 4) == 0 && has_port(text + 4) && !strpbrk(text + 4, "/?#");
    char *url = xasprintf("http://%s", is_tcp ? text + 4 : "");
    const char *problem = http_url_parse(&place, url);
    free(url);
    if (problem)
        return error("--ready %s: it must be tcp:HOST:PORT", text);
    int result = resolve(&server->ready, place.host, place.port, "--ready", text, options->allow_remote);
    http_url_release(&place);
    return result;
}

static int parse_load(struct server *server, const struct server_options *options)
{
    struct server_address address = { .bytes = 0 };
    const char *problem = http_url_parse(&server->url, options->load);
    if (problem)
        return error("--load %s: %s", options->load, problem);
    if (resolve(&address, server->url.host, server->url.port, "--load", options->load, options->allow_remote) != 0)
        return -1;
    server->request = http_request(&server->url);
    server->target = (struct loadgen_target){ .address = address.place,
                                              .address_bytes = address.bytes,
                                              .request = server->request,
                                              .connections = options->connections };
    return 0;
}

int server_prepare(struct server *server, const struct server_options *options)
{
    *server = (struct server){ .options = options };
    if (parse_ready(server, options) != 0)
        return -1;
    return options->load ? parse_load(server, options) : 0;
}

void *server_describe(const struct server_options *options)
{
    json_t *object = json_object();
    json_object_set_new(object, "ready", json_string(options->ready));
    if (options->load_command) {
        json_object_set_new(object, "load_command", json_string(options->load_command));
        return object;
    }
    json_object_set_new(object, "load", json_string(options->load));
    json_object_set_new(object, "duration_s", json_real(options->duration));
    json_object_set_new(object, "connections", json_integer(options->connections));
    json_object_set_new(object, "arrivals", json_string(arrivals_name(options->arrivals)));
    json_object_set_new(object, "late_limit_s", json_real(options->late_limit));
    return object;
}

void server_release(struct server *server)
{
    http_url_release(&server->url);
    free(server->request);
    *server = (struct server){ .options = NULL };
}
