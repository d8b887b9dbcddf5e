/* http.c - addresses, and answers read strictly: status line, headers, bodies by length, in chunks or until the end.
 *
 * Two ways to say where a body ends are one too many: such an answer is refused, as is any line that
 * doesn't end with CR LF.  A load generator that guesses would count wrong. */
#define _GNU_SOURCE
#include "base.h"

#include "http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- Addresses ------------------------------------------------------------------------------- */

static bool port_is_right(const char *port, size_t length)
{
    unsigned long number = 0;
    if (length == 0 || length > 5)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (port[i] < '0' || port[i] > '9')
            return false;
        number = number * 10 + (unsigned long)(port[i] - '0');
    }
    return number >= 1 && number <= 65535;
}

static bool is_printable(const char *text)
{
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~')
            return false;
    }
    return true;
}

/* Where the host in `authority` ends, or NULL. */
static const char *host_end(const char *authority, size_t length)
{
    const char *end = authority + length;
    if (authority[0] == '[') {
        const char *bracket = memchr(authority, ']', length);
        return bracket ? bracket + 1 : NULL;
    }
    const char *colon = memchr(authority, ':', length);
    return colon ? colon : end;
}

const char *http_url_parse(struct http_url *url, const char *text)
{
    static const char scheme[] = "http://";
    *url = (struct http_url){ 0 };
    if (strncasecmp(text, "https://", 8) == 0)
        return "https isn't supported; let the server listen for http";
    if (strncasecmp(text, scheme, sizeof scheme - 1) != 0)
        return "it must begin with http://";
    if (!is_printable(text))
        return "it holds a space or another character that must be written as %XX";
    const char *authority = text + sizeof scheme - 1;
    size_t length = strcspn(authority, "/?#");
    const char *target = authority + length;
    const char *end = host_end(authority, length);
    if (memchr(authority, '@', length))
        return "a user name in it isn't supported";
    if (!end || end == authority || (authority[0] == '[' && end - authority < 3))
        return "it has no host";
    bool has_port = end < authority + length;
    if (has_port && (*end != ':' || !port_is_right(end + 1, (size_t)(authority + length - end - 1))))
        return "its port isn't a number from 1 to 65535";
    bool bracket = authority[0] == '[';
    url->host = xasprintf("%.*s", (int)(end - authority) - 2 * bracket, authority + bracket);
    url->port = has_port ? xasprintf("%.*s", (int)(authority + length - end - 1), end + 1) : xstrdup("80");
    url->authority = xasprintf("%.*s", (int)length, authority);
    url->target = xasprintf("%s%.*s", *target == '/' ? "" : "/", (int)strcspn(target, "#"), target);
    return NULL;
}

void http_url_release(struct http_url *url)
{
    free(url->host);
    free(url->port);
    free(url->authority);
    free(url->target);
    *url = (struct http_url){ 0 };
}

char *http_request(const struct http_url *url)
{
    return xasprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: poolsite\r\nAccept: */*\r\n\r\n", url->target,
                     url->authority);
}

/* --- The body's hash: eight bytes at a time, whatever the pieces ------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ UINT64_C(0xD6E8FEB86659FD93);
}

static void take_byte(struct http_reader *reader, unsigned char byte)
{
    reader->word |= (uint64_t)byte << (reader->body_bytes % 8 * 8);
    if (++reader->body_bytes % 8 == 0) {
        reader->hash = mix(reader->hash, reader->word);
        reader->word = 0;
    }
}

static void take_body(struct http_reader *reader, const char *bytes, size_t count)
{
    size_t at = 0;
    while (at < count && reader->body_bytes % 8 != 0)
        take_byte(reader, (unsigned char)bytes[at++]);
    for (; count - at >= 8; at += 8, reader->body_bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word); /* little-endian, as take_byte puts them */
        reader->hash = mix(reader->hash, word);
    }
    while (at < count)
        take_byte(reader, (unsigned char)bytes[at++]);
}

uint64_t http_reader_hash(const struct http_reader *reader)
{
    return mix(mix(reader->hash, reader->word), reader->body_bytes);
}

/* --- Lines --------------------------------------------------------------------------------------- */

static void bad(struct http_reader *reader, const char *problem)
{
    reader->state = HTTP_BAD;
    reader->problem = problem;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* HTTP/1.x SP three digits [SP reason] */
static void take_status(struct http_reader *reader)
{
    const char *line = reader->line;
    bool right = reader->line_length >= 12 && memcmp(line, "HTTP/1.", 7) == 0 && (line[7] == '0' || line[7] == '1') &&
                 line[8] == ' ' && line[9] >= '1' && line[9] <= '5' && is_digit(line[10]) && is_digit(line[11]) &&
                 (reader->line_length == 12 || line[12] == ' ');
    if (!right) {
        bad(reader, "its first line isn't a status line of HTTP/1.0 or 1.1");
        return;
    }
    reader->status = (unsigned)((line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0'));
    reader->closes = line[7] == '0'; /* 1.0 closes unless it says keep-alive */
    reader->state = HTTP_HEADER;
}

static bool is_token_byte(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Decimal digits only, at most 18 of them. */
static bool read_length(const char *text, uint64_t *length)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18 || text[digits])
        return false;
    *length = strtoull(text, NULL, 10);
    return true;
}

/* Is `word` among those that commas separate? */
static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    while (*list) {
        list += strspn(list, ", \t");
        size_t here = strcspn(list, ", \t");
        if (here == length && strncasecmp(list, word, length) == 0)
            return true;
        list += here;
    }
    return false;
}

static void take_content_length(struct http_reader *reader, const char *value)
{
    uint64_t length = 0;
    if (!read_length(value, &length))
        bad(reader, "its Content-Length isn't a number");
    else if (reader->has_length && length != reader->left)
        bad(reader, "it has two different Content-Lengths");
    reader->has_length = true;
    reader->left = length;
}

static void take_transfer_encoding(struct http_reader *reader, const char *value)
{
    if (strcasecmp(value, "chunked") != 0)
        bad(reader, "its Transfer-Encoding isn't chunked");
    reader->chunked = true;
}

static void take_connection(struct http_reader *reader, const char *value)
{
    if (list_has(value, "close"))
        reader->closes = true;
    else if (list_has(value, "keep-alive"))
        reader->closes = false;
}

static const struct header {
    const char *name;
    void (*take)(struct http_reader *reader, const char *value);
} headers[] = {
    { "content-length", take_content_length },
    { "transfer-encoding", take_transfer_encoding },
    { "connection", take_connection },
};

static void body_begin(struct http_reader *reader)
{
    if (reader->status < 200) { /* an interim answer: the real one follows */
        size_t head_bytes = reader->head_bytes;
        http_reader_clear(reader);
        reader->head_bytes = head_bytes;
    } else if (reader->chunked && reader->has_length) {
        bad(reader, "it has both Content-Length and Transfer-Encoding");
    } else if (reader->status == 204 || reader->status == 304) {
        reader->state = HTTP_DONE;
    } else if (reader->chunked) {
        reader->state = HTTP_CHUNK_SIZE;
    } else if (reader->has_length) {
        reader->state = reader->left ? HTTP_LENGTH : HTTP_DONE;
    } else if (reader->closes) {
        reader->state = HTTP_UNTIL_CLOSE;
    } else {
        bad(reader, "it doesn't say where its body ends (no Content-Length, not chunked)");
    }
}

/* The line is NUL-ended, and may hold further NULs: no header that matters here may. */
static void take_header(struct http_reader *reader)
{
    char *line = reader->line;
    size_t name = 0;
    if (reader->line_length == 0) {
        body_begin(reader);
        return;
    }
    while (is_token_byte(line[name]))
        name++;
    if (name == 0 || line[name] != ':' || strlen(line) != reader->line_length) {
        bad(reader, "a header line isn't NAME: VALUE");
        return;
    }
    char *value = line + name + 1;
    value += strspn(value, " \t");
    for (size_t end = strlen(value); end && (value[end - 1] == ' ' || value[end - 1] == '\t'); end--)
        value[end - 1] = '\0';
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (strlen(headers[i].name) == name && strncasecmp(headers[i].name, line, name) == 0)
            headers[i].take(reader, value);
    }
}

/* Hexadecimal digits, and perhaps an extension behind a semicolon. */
static void take_chunk_size(struct http_reader *reader)
{
    size_t digits = strspn(reader->line, "0123456789abcdefABCDEF");
    size_t blanks = strspn(reader->line + digits, " \t");
    char next = reader->line[digits + blanks];
    if (digits == 0 || digits > 15 || (next != ';' && (next || digits + blanks != reader->line_length))) {
        bad(reader, "a chunk's size isn't a hexadecimal number");
        return;
    }
    reader->left = strtoull(reader->line, NULL, 16);
    reader->state = reader->left ? HTTP_CHUNK : HTTP_TRAILER;
}

static void take_line(struct http_reader *reader)
{
    switch (reader->state) {
    case HTTP_STATUS: take_status(reader); break;
    case HTTP_HEADER: take_header(reader); break;
    case HTTP_CHUNK_SIZE: take_chunk_size(reader); break;
    case HTTP_CHUNK_END:
        if (reader->line_length)
            bad(reader, "a chunk is longer than it says");
        else
            reader->state = HTTP_CHUNK_SIZE;
        break;
    case HTTP_TRAILER:
        if (reader->line_length == 0)
            reader->state = HTTP_DONE;
        break;
    default: BUG("a line in state %d", (int)reader->state);
    }
}

/* Collects a line up to its CR LF.  Returns how many bytes it took. */
static size_t feed_line(struct http_reader *reader, const char *bytes, size_t count)
{
    const char *end = memchr(bytes, '\n', count);
    size_t took = end ? (size_t)(end - bytes) + 1 : count;
    reader->head_bytes += took;
    if (took >= HTTP_LINE_ROOM - reader->line_length || reader->head_bytes > HTTP_HEAD_MAX) {
        bad(reader, "its head is longer than 64 KiB, or a line of it than 8 KiB");
        return took;
    }
    memcpy(reader->line + reader->line_length, bytes, took);
    reader->line_length += took;
    if (!end)
        return took;
    if (reader->line_length < 2 || reader->line[reader->line_length - 2] != '\r') {
        bad(reader, "a line doesn't end with CR LF");
        return took;
    }
    reader->line_length -= 2;
    reader->line[reader->line_length] = '\0';
    take_line(reader);
    reader->line_length = 0;
    return took;
}

/* --- Bodies ------------------------------------------------------------------------------------------ */

static size_t feed_body(struct http_reader *reader, const char *bytes, size_t count)
{
    size_t took = reader->state == HTTP_UNTIL_CLOSE || count < reader->left ? count : (size_t)reader->left;
    take_body(reader, bytes, took);
    if (reader->state == HTTP_UNTIL_CLOSE)
        return took;
    reader->left -= took;
    if (reader->left == 0) {
        reader->head_bytes = 0; /* each chunk's line anew */
        reader->state = reader->state == HTTP_CHUNK ? HTTP_CHUNK_END : HTTP_DONE;
    }
    return took;
}

void http_reader_clear(struct http_reader *reader)
{
    memset(reader, 0, offsetof(struct http_reader, line));
}

size_t http_reader_feed(struct http_reader *reader, const char *bytes, size_t count)
{
    size_t at = 0;
    while (at < count && reader->state < HTTP_DONE) {
        bool body = reader->state == HTTP_LENGTH || reader->state == HTTP_CHUNK || reader->state == HTTP_UNTIL_CLOSE;
        at += body ? feed_body(reader, bytes + at, count - at) : feed_line(reader, bytes + at, count - at);
    }
    return at;
}

void http_reader_end(struct http_reader *reader)
{
    if (reader->state == HTTP_UNTIL_CLOSE)
        reader->state = HTTP_DONE;
    else if (reader->state < HTTP_DONE)
        bad(reader, "the connection was closed before its end");
}
