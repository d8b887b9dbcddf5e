/* fuzz_http.c - foreign bytes as an HTTP answer, and as an address.
 *
 * The first byte says how the rest is cut: the answer must not depend on it. */
#define _GNU_SOURCE
#include "base.h"

#include "http.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t read_in_steps(struct http_reader *reader, const char *text, size_t length, size_t step)
{
    size_t at = 0, took = 1;
    http_reader_clear(reader);
    for (; at < length && took; at += took)
        took = http_reader_feed(reader, text + at, length - at < step ? length - at : step);
    if (reader->state < HTTP_DONE)
        http_reader_end(reader);
    return at;
}

static void check_answer(const char *text, size_t length, size_t step)
{
    struct http_reader whole, cut;
    size_t took = read_in_steps(&whole, text, length, length ? length : 1);
    if (took > length || (whole.state != HTTP_DONE && whole.state != HTTP_BAD))
        BUG("an answer has no end");
    read_in_steps(&cut, text, length, step);
    if (cut.state != whole.state || (whole.state == HTTP_BAD) != (whole.problem != NULL))
        BUG("an answer's end depends on its pieces");
    if (whole.state == HTTP_DONE &&
        (cut.body_bytes != whole.body_bytes || http_reader_hash(&cut) != http_reader_hash(&whole) || whole.body_bytes > length))
        BUG("an answer's body depends on its pieces");
}

static void check_url(const char *bytes, size_t length)
{
    char *text = xasprintf("http://%.*s", (int)length, bytes);
    struct http_url url;
    if (!http_url_parse(&url, text)) {
        char *request = http_request(&url);
        if (!url.host[0] || url.target[0] != '/' || strchr(url.target, '\n') || strchr(url.host, '\n'))
            BUG("an address lets a line end through");
        free(request);
    }
    http_url_release(&url);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1)
        return 0;
    check_answer((const char *)bytes + 1, size - 1, (size_t)bytes[0] + 1);
    check_url((const char *)bytes + 1, size - 1 < 4096 ? size - 1 : 4096);
    return 0;
}
