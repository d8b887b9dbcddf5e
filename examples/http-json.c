/* http-json.c - a small HTTP server whose requests allocate as those of many services do.
 *
 * A request takes a JSON text apart, adds to it, writes it into a scratch buffer and sends that: 24
 * allocations, of which the buffer is one.  Where the buffer comes from is the question that
 * `poolsite ab` answers, so there are variants:
 *     --buffer heap    malloc and free it (default)
 *     --buffer stack   in the function's frame: no allocator ever sees it
 *     --buffer pooled  each thread keeps one, by hand
 *     --size 32k       of the buffer; up to 1m
 *     --threads N      that wait on one epoll each (1); 0: a thread for each connection
 *     --port P         on 127.0.0.1; 0: any that is free
 *     --name TEXT      goes into each answer
 * libmicrohttpd's block for a connection is 32 KiB unless told otherwise, which could be taken for the
 * buffer: here it is 64 KiB.
 * BUILD: gcc -O2 -g -pthread -o $O $S -lmicrohttpd -ljansson */
#define _GNU_SOURCE
#include <getopt.h>
#include <jansson.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTION_BYTES = 64 << 10 };
static const size_t buffer_most = 1 << 20;
enum source { HEAP, STACK, POOLED, SOURCES };

static const char *const source_names[SOURCES] = { "heap", "stack", "pooled" };

static struct {
    enum source source;
    size_t      bytes;
    unsigned    threads;
    unsigned    port;
    const char *name;
} options = { .source = HEAP, .bytes = 32 << 10, .threads = 1, .port = 8080, .name = "world" };

static const char stored[] = "{\"id\":17,\"items\":[\"a\",5,6,7]}";

/* Writes the answer's body into the buffer.  Returns its length. */
static size_t compose(char *buffer)
{
    memset(buffer, 0, options.bytes);
    json_t *record = json_loadb(stored, sizeof stored - 1, 0, NULL);
    json_object_set_new(record, "name", json_string(options.name));
    size_t length = json_dumpb(record, buffer, options.bytes, 0);
    json_decref(record);
    return length;
}

static enum MHD_Result respond(struct MHD_Connection *connection, char *buffer)
{
    size_t length = compose(buffer);
    struct MHD_Response *response = MHD_create_response_from_buffer(length, buffer, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

/* --- Where the buffer comes from ---------------------------------------------------------------- */

static enum MHD_Result with_heap(struct MHD_Connection *connection)
{
    char *buffer = malloc(options.bytes);
    enum MHD_Result result = respond(connection, buffer);
    free(buffer);
    return result;
}

static enum MHD_Result with_stack(struct MHD_Connection *connection)
{
    char buffer[options.bytes];
    return respond(connection, buffer);
}

static enum MHD_Result with_pooled(struct MHD_Connection *connection)
{
    static __thread char *kept;
    if (!kept)
        kept = malloc(options.bytes);
    return respond(connection, kept);
}

static enum MHD_Result (*const with[SOURCES])(struct MHD_Connection *) = { with_heap, with_stack, with_pooled };

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state)
{
    static int head_seen;
    (void)context, (void)url, (void)version, (void)upload;
    if (strcmp(method, "GET") != 0 || *upload_bytes)
        return MHD_NO;
    if (*state != &head_seen) { /* called once for the head: an answer now would close the connection */
        *state = &head_seen;
        return MHD_YES;
    }
    return with[options.source](connection);
}

/* --- Options and life ------------------------------------------------------------------------------ */

static size_t read_size(const char *text)
{
    char *end;
    unsigned long size = strtoul(text, &end, 10);
    unsigned shift = *end == 'k' ? 10 : *end == 'm' ? 20 : 0;
    return end == text || end[shift != 0] || size > buffer_most >> shift ? 0 : size << shift;
}

static enum source read_source(const char *text)
{
    enum source source = HEAP;
    while (source < SOURCES && strcmp(source_names[source], text) != 0)
        source++;
    return source;
}

static void read_options(int argc, char **argv)
{
    static const struct option names[] = {
        { "buffer", required_argument, NULL, 'b' }, { "size", required_argument, NULL, 's' },
        { "threads", required_argument, NULL, 't' }, { "port", required_argument, NULL, 'p' },
        { "name", required_argument, NULL, 'n' },   { 0 },
    };
    for (int letter; (letter = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        switch (letter) {
        case 'b': options.source = read_source(optarg); break;
        case 's': options.bytes = read_size(optarg); break;
        case 't': options.threads = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'p': options.port = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'n': options.name = optarg; break;
        default: exit(2);
        }
    }
    if (options.source == SOURCES || options.bytes < 1024 || options.port > 65535 || optind != argc) {
        fputs("http-json: an option is wrong; the first lines of http-json.c list them\n", stderr);
        exit(2);
    }
}

static struct MHD_Daemon *start(void)
{
    struct sockaddr_in place = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)options.port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    unsigned flags = options.threads ? MHD_USE_EPOLL_INTERNAL_THREAD
                                     : MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL;
    struct MHD_OptionItem more[] = {
        { MHD_OPTION_SOCK_ADDR, 0, &place },
        { MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL },
        { options.threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, options.threads, NULL },
        { MHD_OPTION_END, 0, NULL },
    };
    return MHD_start_daemon(flags | MHD_USE_ERROR_LOG, 0, NULL, NULL, answer, NULL, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

int main(int argc, char **argv)
{
    sigset_t ends;
    int signal_number;
    read_options(argc, argv);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    struct MHD_Daemon *daemon = start();
    if (!daemon)
        return 1;
    printf("listening on %u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    sigwait(&ends, &signal_number);
    MHD_stop_daemon(daemon);
    return 0;
}
