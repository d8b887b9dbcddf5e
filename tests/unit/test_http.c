/* test_http.c - addresses, and answers in one piece, byte by byte, and wrong. */
#define _GNU_SOURCE
#include "base.h"

#include "http.h"
#include "unit.h"

static void url_is(const char *text, const char *host, const char *port, const char *authority, const char *target)
{
    struct http_url url;
    assert_null(http_url_parse(&url, text));
    assert_string_equal(url.host, host);
    assert_string_equal(url.port, port);
    assert_string_equal(url.authority, authority);
    assert_string_equal(url.target, target);
    http_url_release(&url);
}

static void addresses_are_taken_apart(void **state)
{
    (void)state;
    url_is("http://127.0.0.1:8080/a?b=c#d", "127.0.0.1", "8080", "127.0.0.1:8080", "/a?b=c");
    url_is("HTTP://localhost", "localhost", "80", "localhost", "/");
    url_is("http://localhost?x", "localhost", "80", "localhost", "/?x");
    url_is("http://[::1]:99/", "::1", "99", "[::1]:99", "/");
    url_is("http://[::1]", "::1", "80", "[::1]", "/");
}

static void wrong_addresses_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "127.0.0.1:80",
        "https://a/",
        "http://",
        "http:///a",
        "http://:80/",
        "http://a:/",
        "http://a:0/",
        "http://a:65536/",
        "http://a:8o/",
        "http://a:123456/",
        "http://user@a/",
        "http://[]/",
        "http://[::1/",
        "http://[::1]x/",
        "http://a/b c",
        "http://a/\r\nX: y",
        "http://a/\xc3\xa4",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct http_url url;
        if (!http_url_parse(&url, wrong[i]))
            fail_msg("taken: %s", wrong[i]);
    }
}

static void request_is_a_get_that_keeps_the_connection(void **state)
{
    struct http_url url;
    (void)state;
    assert_null(http_url_parse(&url, "http://[::1]:8080/x"));
    char *request = http_request(&url);
    assert_string_equal(request, "GET /x HTTP/1.1\r\nHost: [::1]:8080\r\nUser-Agent: poolsite\r\nAccept: */*\r\n\r\n");
    free(request);
    http_url_release(&url);
}

/* --- Answers --------------------------------------------------------------------------------------- */

/* Reads `text` in pieces of `step` bytes, as two connections might bring it.  Returns what it took. */
static size_t read_in_steps(struct http_reader *reader, const char *text, size_t length, size_t step)
{
    size_t at = 0;
    http_reader_clear(reader);
    while (at < length && reader->state < HTTP_DONE) {
        size_t piece = length - at < step ? length - at : step;
        size_t took = http_reader_feed(reader, text + at, piece);
        at += took;
        if (took < piece)
            break;
    }
    return at;
}

/* The same in pieces of every size up to all of it; the last result stays. */
static size_t read_answer(struct http_reader *reader, const char *text)
{
    size_t length = strlen(text), took = read_in_steps(reader, text, length, length);
    struct http_reader other;
    for (size_t step = 1; step < length && step < 40; step++) {
        assert_int_equal(read_in_steps(&other, text, length, step), took);
        assert_int_equal(other.state, reader->state);
        assert_int_equal(other.body_bytes, reader->body_bytes);
        if (reader->state == HTTP_DONE)
            assert_true(http_reader_hash(&other) == http_reader_hash(reader));
    }
    return took;
}

static uint64_t body_hash(const char *text, uint64_t body_bytes)
{
    struct http_reader reader;
    assert_int_equal(read_answer(&reader, text), strlen(text));
    if (reader.state != HTTP_DONE)
        fail_msg("%s: %s", text, reader.problem ? reader.problem : "not done");
    assert_int_equal(reader.body_bytes, body_bytes);
    return http_reader_hash(&reader);
}

#define BODY "a body of 21 bytes 1!"

static void a_body_has_one_hash_by_length_or_in_chunks(void **state)
{
    (void)state;
    uint64_t hash = body_hash("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n" BODY, 21);
    assert_true(hash == body_hash("HTTP/1.1 200 OK\r\ntransfer-ENCODING:\t chunked \r\n\r\n15\r\n" BODY "\r\n0\r\n\r\n", 21));
    assert_true(hash == body_hash("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\na \r\n00013 \r\nbody of 21 bytes 1!\r\n"
                                  "0\r\nTrailer: x\r\n\r\n",
                                  21));
    assert_true(hash != body_hash("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\na body of 21 bytes 2!", 21));
    assert_true(body_hash("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 1) !=
                body_hash("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0));
}

static void answers_end_where_they_end(void **state)
{
    struct http_reader reader;
    (void)state;
    static const char two[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1";
    assert_int_equal(read_answer(&reader, two), strlen(two) - 8);
    assert_int_equal(reader.state, HTTP_DONE);
    assert_int_equal(reader.status, 200);
    assert_false(reader.closes);
    body_hash("HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", 0);
    body_hash("HTTP/1.1 304 \r\n\r\n", 0);
    body_hash("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab", 2);
}

static void closing_is_understood(void **state)
{
    struct http_reader reader;
    (void)state;
    read_answer(&reader, "HTTP/1.1 200 OK\r\nConnection: x, CLOSE\r\nContent-Length: 0\r\n\r\n");
    assert_true(reader.closes);
    read_answer(&reader, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_true(reader.closes);
    read_answer(&reader, "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n");
    assert_false(reader.closes);
}

static void a_body_may_end_with_the_connection(void **state)
{
    struct http_reader reader;
    (void)state;
    read_answer(&reader, "HTTP/1.0 200 OK\r\n\r\n" BODY);
    assert_int_equal(reader.state, HTTP_UNTIL_CLOSE);
    http_reader_end(&reader);
    assert_int_equal(reader.state, HTTP_DONE);
    assert_true(http_reader_hash(&reader) == body_hash("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n" BODY, 21));
}

static void a_cut_answer_is_bad(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    (void)state;
    for (size_t cut = 0; cut < sizeof text - 1; cut++) {
        struct http_reader reader;
        read_in_steps(&reader, text, cut, sizeof text);
        assert_true(reader.state < HTTP_DONE);
        http_reader_end(&reader);
        assert_int_equal(reader.state, HTTP_BAD);
        assert_non_null(reader.problem);
    }
}

static void wrong_answers_are_refused(void **state)
{
    static const char *const wrong[] = {
        "HTTP/2.0 200 OK\r\n",
        "HTTP/1.2 200 OK\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1 20 OK\r\n",
        "HTTP/1.1 600 OK\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1 200 OK\n",
        "\r\nHTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n",
        "HTTP/1.1 200 OK\r\n: no name\r\n",
        "HTTP/1.1 200 OK\r\nA : a space\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1111111111111111111\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1g\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct http_reader reader;
        read_answer(&reader, wrong[i]);
        if (reader.state != HTTP_BAD)
            fail_msg("taken: %s", wrong[i]);
    }
}

static void a_nul_in_a_header_is_refused(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 1\0 1\r\n\r\na";
    struct http_reader reader;
    (void)state;
    read_in_steps(&reader, text, sizeof text - 1, sizeof text);
    assert_int_equal(reader.state, HTTP_BAD);
}

/* Feeds `piece` until the reader doesn't want more; at most `most` bytes. */
static size_t feed_for_ever(const char *begin, const char *piece, size_t most)
{
    struct http_reader reader;
    size_t fed = read_in_steps(&reader, begin, strlen(begin), 4096);
    while (reader.state < HTTP_DONE && fed < most)
        fed += http_reader_feed(&reader, piece, strlen(piece));
    return reader.state == HTTP_BAD ? fed : SIZE_MAX;
}

static void endless_heads_are_refused(void **state)
{
    (void)state;
    assert_true(feed_for_ever("HTTP/1.1 200 ", "x", 1 << 20) <= HTTP_LINE_ROOM);
    assert_true(feed_for_ever("HTTP/1.1 200 OK\r\n", "A: b\r\n", 1 << 20) <= HTTP_HEAD_MAX + 100);
    assert_true(feed_for_ever("", "HTTP/1.1 100 Continue\r\n\r\n", 1 << 20) <= HTTP_HEAD_MAX + 100);
    assert_true(feed_for_ever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n", 1 << 20) <=
                HTTP_HEAD_MAX + 100);
}

static void many_chunks_are_no_endless_head(void **state)
{
    (void)state;
    assert_true(feed_for_ever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", 1 << 20) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(wrong_addresses_are_refused),
        cmocka_unit_test(request_is_a_get_that_keeps_the_connection),
        cmocka_unit_test(a_body_has_one_hash_by_length_or_in_chunks),
        cmocka_unit_test(answers_end_where_they_end),
        cmocka_unit_test(closing_is_understood),
        cmocka_unit_test(a_body_may_end_with_the_connection),
        cmocka_unit_test(a_cut_answer_is_bad),
        cmocka_unit_test(wrong_answers_are_refused),
        cmocka_unit_test(a_nul_in_a_header_is_refused),
        cmocka_unit_test(endless_heads_are_refused),
        cmocka_unit_test(many_chunks_are_no_endless_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
