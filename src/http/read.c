#include <mobula/http.h>

#include "chars.h"
#include "reader.h"

/* Where in a message the reader stands. A chunked body is
 *   size [; extension] CRLF data CRLF … 0 CRLF {trailer CRLF} CRLF
 * and has one state for each place where the stream may be cut; r->left counts the size while it is read, then the data that is still to
 * come, and at last the bytes of the trailers. */
enum {
    STATE_IDLE, /* between messages */
    STATE_HEAD,
    STATE_LENGTH,
    STATE_CLOSE,
    STATE_SIZE,
    STATE_EXTENSION,
    STATE_SIZE_LF,
    STATE_DATA,
    STATE_DATA_CR,
    STATE_DATA_LF,
    STATE_TRAILER, /* at the first byte of a line */
    STATE_TRAILER_LINE,
    STATE_TRAILER_LF,
    STATE_LAST_LF,
    STATE_DONE,
    STATE_BAD,
};

enum { CHUNK_DIGITS_MAX = 15 };

void http_reader_init(struct http_reader *r, enum http_side side)
{
    *r = (struct http_reader){.side = side, .state = STATE_IDLE, .length = -1};
    buf_init(&r->head, LIMIT_HTTP_HEAD);
}

void http_reader_free(struct http_reader *r)
{
    buf_free(&r->head);
    http_reader_init(r, r->side);
}

void http_reader_expect_no_body(struct http_reader *r)
{
    r->no_body = true;
}

static enum http_step bad(struct http_reader *r)
{
    r->state = STATE_BAD;
    return HTTP_BAD;
}

static enum http_step still_bad(struct err *e)
{
    err_set(e, ERR_HTTP, "the connection has carried a broken message");
    return HTTP_BAD;
}

static void begin_message(struct http_reader *r)
{
    buf_clear(&r->head);
    r->status = r->minor = 0;
    r->method = r->target = SLICE_NONE;
    r->header_count = 0;
    r->keep_alive = r->until_close = r->expects_continue = false;
    r->length = -1;
    r->left = r->overhead = r->body_bytes = 0;
    r->state = STATE_HEAD;
}

/* Moves bytes to r->head until it is complete. Lines are cut at LF, and an LF counts only behind a CR. */
static bool gather_head(struct http_reader *r, struct slice *in, bool *complete, struct err *e)
{
    *complete = false;
    while (!*complete && !slice_empty(*in)) {
        ptrdiff_t lf = slice_find(*in, '\n');
        size_t n = lf < 0 ? in->len : (size_t)lf + 1;
        if (n > LIMIT_HTTP_HEAD - r->head.len)
            return err_set(e, ERR_LIMIT, "head is longer than %d bytes (LIMIT_HTTP_HEAD)", LIMIT_HTTP_HEAD);
        buf_put(&r->head, slice_head(*in, n));
        *in = slice_skip(*in, n);
        if (lf < 0)
            return true;
        struct slice head = buf_slice(&r->head);
        if (!slice_ends(head, SLICE("\r\n")))
            return err_set(e, ERR_HTTP, "a line ends in LF without CR");
        *complete = head.len == 2 || slice_ends(head, SLICE("\r\n\r\n"));
    }
    return true;
}

/* Compares the first bytes of an answer with "HTTP/" as they arrive: a server of another protocol may send no more than its greeting. */
static bool is_http(const struct http_reader *r, struct slice in, struct err *e)
{
    static const struct slice first = SLICE("HTTP/");
    struct slice rest = slice_skip(first, r->head.len < first.len ? r->head.len : first.len);
    return r->side != HTTP_RESPONSES || slice_starts(rest, slice_head(in, rest.len)) || err_set(e, ERR_HTTP, "the answer is no HTTP/1.1");
}

/* A 1xx answer is not the answer: its head is forgotten. */
static bool pass_interim(struct http_reader *r, struct err *e)
{
    if (r->status == 101)
        return err_set(e, ERR_HTTP, "101: the server switches to a protocol that was not asked for");
    if (++r->interim > LIMIT_HTTP_INTERIM)
        return err_set(e, ERR_LIMIT, "more than %d interim answers (LIMIT_HTTP_INTERIM)", LIMIT_HTTP_INTERIM);
    begin_message(r);
    return true;
}

static enum http_step read_head(struct http_reader *r, struct slice *in, struct err *e)
{
    static const int state_of[] = {
        [FRAMING_NONE] = STATE_DONE,
        [FRAMING_LENGTH] = STATE_LENGTH,
        [FRAMING_CHUNKED] = STATE_SIZE,
        [FRAMING_CLOSE] = STATE_CLOSE,
    };
    for (;;) {
        bool complete = false;
        enum http_framing framing = FRAMING_NONE;
        if (!is_http(r, *in, e) || !gather_head(r, in, &complete, e))
            return bad(r);
        if (!complete)
            return HTTP_MORE;
        if (!http_head_parse(r, &framing, e))
            return bad(r);
        if (r->side == HTTP_RESPONSES && r->status < 200 && !(r->relay && r->status == 101)) {
            if (!pass_interim(r, e))
                return bad(r);
            continue;
        }
        r->interim = 0;
        r->digits = 0;
        r->left = framing == FRAMING_LENGTH ? (uint64_t)r->length : 0;
        r->state = state_of[framing];
        return HTTP_HEAD;
    }
}

static bool chunk_size_byte(struct http_reader *r, char c, struct err *e)
{
    int digit = http_hex_digit(c);
    if (digit >= 0 && r->digits == CHUNK_DIGITS_MAX)
        return err_set(e, ERR_HTTP, "chunk size has more than %d digits", CHUNK_DIGITS_MAX);
    if (digit < 0 && (r->digits == 0 || (c != ';' && c != '\r')))
        return err_set(e, ERR_HTTP, "chunk size is not a hexadecimal number: byte 0x%02x in it", (unsigned char)c);
    if (digit < 0) {
        r->state = c == ';' ? STATE_EXTENSION : STATE_SIZE_LF;
        return true;
    }
    r->left = r->left << 4 | (uint64_t)digit;
    r->digits++;
    return true;
}

/* A byte that must be the given one, and what comes behind it. */
static bool want_byte(struct http_reader *r, char c, char want, int next, struct err *e)
{
    if (c != want)
        return err_set(e, ERR_HTTP, "byte 0x%02x where chunked framing has %s", (unsigned char)c, want == '\r' ? "CR" : "LF");
    r->state = next;
    return true;
}

/* Text that is passed over up to its CR. */
static bool skip_byte(struct http_reader *r, char c, int at_cr, struct err *e)
{
    if (c == '\r')
        r->state = at_cr;
    else if (!http_is_value_byte(c))
        return err_set(e, ERR_HTTP, "control byte 0x%02x in a chunk extension or trailer", (unsigned char)c);
    return true;
}

/* Small chunks and long extensions must not make a small body dear. With `relay` only long extensions must not: see chunk_byte. */
static bool count_overhead(struct http_reader *r, struct err *e)
{
    if (++r->overhead > LIMIT_HTTP_CHUNK_OVERHEAD + r->body_bytes / 8)
        return err_set(e, ERR_LIMIT, "chunk headers take more than %d bytes and 1/8 of the body (LIMIT_HTTP_CHUNK_OVERHEAD)",
                       LIMIT_HTTP_CHUNK_OVERHEAD);
    return true;
}

static bool count_trailer(struct http_reader *r, struct err *e)
{
    if (++r->left > LIMIT_HTTP_HEAD)
        return err_set(e, ERR_LIMIT, "trailers are longer than %d bytes (LIMIT_HTTP_HEAD)", LIMIT_HTTP_HEAD);
    return true;
}

/* One byte of chunked framing; never one of data. */
static bool chunk_byte(struct http_reader *r, char c, struct err *e)
{
    if (!(r->state < STATE_TRAILER ? count_overhead(r, e) : count_trailer(r, e)))
        return false;
    switch (r->state) {
    case STATE_SIZE:
        return chunk_size_byte(r, c, e);
    case STATE_EXTENSION:
        return skip_byte(r, c, STATE_SIZE_LF, e);
    case STATE_SIZE_LF:
        return want_byte(r, c, '\n', r->left ? STATE_DATA : STATE_TRAILER, e);
    case STATE_DATA_CR:
        return want_byte(r, c, '\r', STATE_DATA_LF, e);
    case STATE_DATA_LF:
        r->left = r->digits = 0;
        if (r->relay)
            r->overhead = 0;
        return want_byte(r, c, '\n', STATE_SIZE, e);
    case STATE_TRAILER:
        r->state = STATE_TRAILER_LINE;
        return skip_byte(r, c, STATE_LAST_LF, e);
    case STATE_TRAILER_LINE:
        return skip_byte(r, c, STATE_TRAILER_LF, e);
    case STATE_TRAILER_LF:
        return want_byte(r, c, '\n', STATE_TRAILER, e);
    default: /* STATE_LAST_LF */
        return want_byte(r, c, '\n', STATE_DONE, e);
    }
}

/* A piece of the body: at most `most` bytes off the front of *in. */
static enum http_step take_body(struct http_reader *r, struct slice *in, uint64_t most, struct slice *body)
{
    *body = slice_head(*in, most < in->len ? (size_t)most : in->len);
    *in = slice_skip(*in, body->len);
    r->body_bytes += body->len;
    return HTTP_BODY;
}

/* The part of the body with a known length that *in holds; when it is all there, the state behind it follows. */
static enum http_step take_counted(struct http_reader *r, struct slice *in, int next, struct slice *body)
{
    take_body(r, in, r->left, body);
    r->left -= body->len;
    if (r->left == 0)
        r->state = next;
    return HTTP_BODY;
}

static enum http_step end_message(struct http_reader *r)
{
    r->no_body = false;
    r->state = STATE_IDLE;
    return HTTP_END;
}

enum http_step http_read(struct http_reader *r, struct slice *in, struct slice *body, struct err *e)
{
    *body = SLICE_NONE;
    if (r->state == STATE_BAD)
        return still_bad(e);
    if (r->state == STATE_DONE)
        return end_message(r);
    while (!slice_empty(*in)) {
        switch (r->state) {
        case STATE_IDLE:
            begin_message(r);
            return read_head(r, in, e);
        case STATE_HEAD:
            return read_head(r, in, e);
        case STATE_LENGTH:
            return take_counted(r, in, STATE_DONE, body);
        case STATE_CLOSE:
            return take_body(r, in, in->len, body);
        case STATE_DATA:
            return take_counted(r, in, STATE_DATA_CR, body);
        default:
            if (!chunk_byte(r, in->ptr[0], e))
                return bad(r);
            *in = slice_skip(*in, 1);
            if (r->state == STATE_DONE)
                return end_message(r);
        }
    }
    return HTTP_MORE;
}

enum http_step http_read_end(struct http_reader *r, struct err *e)
{
    switch (r->state) {
    case STATE_IDLE:
        return HTTP_MORE;
    case STATE_CLOSE:
    case STATE_DONE:
        return end_message(r);
    case STATE_HEAD:
        err_set(e, ERR_CLOSED, "connection ended before the head was complete");
        return bad(r);
    case STATE_BAD:
        return still_bad(e);
    default:
        err_set(e, ERR_CLOSED, "connection ended inside a body, %llu bytes into it", (unsigned long long)r->body_bytes);
        return bad(r);
    }
}

struct slice http_header_get(const struct http_reader *r, struct slice name)
{
    for (uint32_t i = 0; i < r->header_count; i++)
        if (slice_eq_nocase(r->headers[i].name, name))
            return r->headers[i].value;
    return SLICE_NONE;
}

struct slice http_bearer(const struct http_reader *r)
{
    struct slice token = http_header_get(r, SLICE("authorization")), scheme = slice_cut(&token, ' ');
    return slice_eq_nocase(scheme, SLICE("bearer")) ? slice_trim(token) : SLICE_NONE;
}
