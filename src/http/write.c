#include <mobula/http.h>

#include "chars.h"

#include <stdio.h>

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        {100, "Continue"},
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {407, "Proxy Authentication Required"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Unknown";
}

/* A header that the caller may set: the rest is the writer's, who alone knows how the message is framed. */
static bool may_write(struct http_header h)
{
    return http_is_token(h.name) && http_is_value(h.value) && !slice_eq_nocase(h.name, SLICE("host")) &&
           !slice_eq_nocase(h.name, SLICE("content-length")) && !slice_eq_nocase(h.name, SLICE("transfer-encoding"));
}

static bool put_headers(struct buf *b, const struct http_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!may_write(headers[i]))
            return false;
        buf_put(b, headers[i].name);
        buf_put(b, SLICE(": "));
        buf_put(b, headers[i].value);
        buf_put(b, SLICE("\r\n"));
    }
    return true;
}

/* The end of each writer: a message that was refused or did not fit leaves nothing behind. */
static bool finish(struct buf *b, size_t before, bool ok)
{
    b->full |= !ok;
    if (b->full)
        b->len = before;
    return !b->full;
}

static void put_body(struct buf *b, struct slice body)
{
    buf_printf(b, "Content-Length: %zu\r\n\r\n", body.len);
    buf_put(b, body);
}

static bool put_length(struct buf *b, int64_t length)
{
    if (length >= 0)
        buf_printf(b, "Content-Length: %lld\r\n", (long long)length);
    else if (length == HTTP_CHUNKED)
        buf_put(b, SLICE("Transfer-Encoding: chunked\r\n"));
    return buf_put(b, SLICE("\r\n"));
}

bool http_write_request_head(struct buf *b, struct slice method, struct slice target, struct slice host, const struct http_header *headers,
                             size_t count, int64_t length)
{
    size_t before = b->len;
    if (!http_is_token(method) || !http_is_word(target) || target.len > LIMIT_HTTP_URL || !http_is_word(host))
        return finish(b, before, false);
    buf_put(b, method);
    buf_putc(b, ' ');
    buf_put(b, target);
    buf_put(b, SLICE(" HTTP/1.1\r\nHost: "));
    buf_put(b, host);
    buf_put(b, SLICE("\r\n"));
    if (!put_headers(b, headers, count))
        return finish(b, before, false);
    return finish(b, before, put_length(b, length));
}

bool http_write_request(struct buf *b, struct slice method, struct slice target, struct slice host, const struct http_header *headers,
                        size_t count, const struct slice *body)
{
    size_t before = b->len;
    bool well = http_write_request_head(b, method, target, host, headers, count, body ? (int64_t)body->len : HTTP_NO_BODY);
    if (well && body)
        buf_put(b, *body);
    return finish(b, before, well);
}

static bool is_bodiless(int status)
{
    return status < 200 || status == 204 || status == 304;
}

static bool put_status_line(struct buf *b, int status)
{
    buf_printf(b, "HTTP/1.1 %d %s\r\n", status, http_status_text(status));
    return status >= 100 && status <= 599;
}

bool http_write_response(struct buf *b, int status, const struct http_header *headers, size_t count, const struct slice *body)
{
    size_t before = b->len;
    if (!put_status_line(b, status) || !put_headers(b, headers, count))
        return finish(b, before, false);
    if (!is_bodiless(status))
        put_body(b, body ? *body : SLICE_NONE);
    else
        buf_put(b, SLICE("\r\n"));
    return finish(b, before, !is_bodiless(status) || !body || slice_empty(*body));
}

bool http_write_response_head(struct buf *b, int status, const struct http_header *headers, size_t count, int64_t length)
{
    size_t before = b->len;
    bool well = (!is_bodiless(status) || length != HTTP_CHUNKED) && put_status_line(b, status) && put_headers(b, headers, count);
    return finish(b, before, well && put_length(b, length));
}

bool http_write_chunked_response(struct buf *b, int status, const struct http_header *headers, size_t count)
{
    return http_write_response_head(b, status, headers, count, HTTP_CHUNKED);
}

bool http_write_chunk(struct buf *b, struct slice data)
{
    size_t before = b->len;
    if (slice_empty(data)) /* an empty chunk would end the body */
        return !b->full;
    buf_printf(b, "%zx\r\n", data.len);
    buf_put(b, data);
    buf_put(b, SLICE("\r\n"));
    return finish(b, before, true);
}

bool http_write_last_chunk(struct buf *b)
{
    return buf_put(b, SLICE("0\r\n\r\n"));
}
