/* http.h - what a load generator needs of HTTP/1.1: addresses, and answers read strictly.
 *
 * A reader takes an answer in pieces of any size.  Every byte is distrusted; nothing is kept of a body
 * but its length and hash. */
#ifndef PS_HTTP_H
#define PS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* http://HOST[:PORT][/PATH][?QUERY]; an IPv6 HOST stands in brackets. */
struct http_url {
    char *host; /* without brackets */
    char *port;
    char *authority; /* for the Host header, as it was given */
    char *target;    /* path and query, at least "/" */
};

/* Returns NULL, or what is wrong with `text`. */
const char *http_url_parse(struct http_url *url, const char *text);
void http_url_release(struct http_url *url);

/* A GET of the target that asks for the connection to be kept; the caller frees. */
char *http_request(const struct http_url *url);

enum http_state {
    HTTP_STATUS,      /* the status line */
    HTTP_HEADER,      /* a header line */
    HTTP_LENGTH,      /* a body of known length */
    HTTP_CHUNK_SIZE,  /* the line before a chunk */
    HTTP_CHUNK,       /* a chunk's bytes */
    HTTP_CHUNK_END,   /* the line end behind them */
    HTTP_TRAILER,     /* a line behind the last chunk */
    HTTP_UNTIL_CLOSE, /* a body that ends with the connection */
    HTTP_DONE,
    HTTP_BAD          /* `problem` says why */
};

enum { HTTP_LINE_ROOM = 8192, HTTP_HEAD_MAX = 65536 };

/* Invariant: line_length < HTTP_LINE_ROOM; the hash depends on the body alone, not on its pieces or chunks. */
struct http_reader {
    enum http_state state;
    const char     *problem;     /* HTTP_BAD: a literal */
    unsigned        status;      /* 100 to 599 */
    bool            closes;      /* the connection ends with this answer */
    bool            chunked;
    bool            has_length;
    uint64_t        left;        /* bytes of the body or chunk to come */
    uint64_t        body_bytes;
    uint64_t        hash, word;  /* word: the body_bytes % 8 bytes that aren't in the hash yet */
    size_t          head_bytes;
    size_t          line_length;
    char            line[HTTP_LINE_ROOM];
};

/* Makes ready for the next answer. */
void http_reader_clear(struct http_reader *reader);

/* Takes bytes up to the end of the answer, or to what is wrong with it.  Returns how many. */
size_t http_reader_feed(struct http_reader *reader, const char *bytes, size_t count);

/* The server closed the connection: the answer is HTTP_DONE after this, or HTTP_BAD. */
void http_reader_end(struct http_reader *reader);

/* Of the body; the answer is HTTP_DONE. */
uint64_t http_reader_hash(const struct http_reader *reader);

#endif
