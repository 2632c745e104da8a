#include <mobula/http.h>

#include "chars.h"
#include "reader.h"

/* Foreign bytes are quoted in errors, but not at any length. */
enum { QUOTE_MAX = 60 };
#define QUOTE(s) SLICE_ARG(slice_head((s), QUOTE_MAX))

/* Reads from the headers where the message ends. */
struct framing_headers {
    unsigned hosts, codings, credentials;
    bool close, keep_alive;
};

static struct slice next_line(struct slice *rest)
{
    struct slice line = slice_cut(rest, '\n');
    return slice_head(line, line.len - 1); /* the CR, which the framing has seen */
}

/* "HTTP/1.1" or "HTTP/1.0". */
static bool parse_version(struct slice s, int *minor, struct err *e)
{
    if (slice_is(s, "HTTP/1.1"))
        *minor = 1;
    else if (slice_is(s, "HTTP/1.0"))
        *minor = 0;
    else
        return err_set(e, ERR_HTTP, "want HTTP/1.1, got \"%.*s\"", QUOTE(s));
    return true;
}

/* HTTP/1.1 SP 200 [SP reason] */
static bool parse_status_line(struct http_reader *r, struct slice line, int *minor, struct err *e)
{
    struct slice reason = line;
    if (!parse_version(slice_cut(&reason, ' '), minor, e))
        return false;
    struct slice status = slice_cut(&reason, ' ');
    int64_t number = 0;
    if (status.len != 3 || !slice_int(status, &number) || number < 100 || number > 599)
        return err_set(e, ERR_HTTP, "status \"%.*s\" is not a number from 100 to 599", QUOTE(status));
    if (!http_is_value(reason))
        return err_set(e, ERR_HTTP, "status line holds a control byte");
    r->status = (int)number;
    return true;
}

/* GET SP /path SP HTTP/1.1 */
static bool parse_request_line(struct http_reader *r, struct slice line, int *minor, struct err *e)
{
    struct slice method = slice_cut(&line, ' '), target = slice_cut(&line, ' ');
    if (!parse_version(line, minor, e))
        return false;
    if (!http_is_token(method))
        return err_set(e, ERR_HTTP, "method \"%.*s\" is not a token", QUOTE(method));
    if (!http_is_word(target))
        return err_set(e, ERR_HTTP, "request target \"%.*s\" is empty or holds a byte that must be percent-encoded", QUOTE(target));
    if (target.len > LIMIT_HTTP_URL)
        return err_set(e, ERR_LIMIT, "request target is longer than %d bytes (LIMIT_HTTP_URL)", LIMIT_HTTP_URL);
    r->method = method;
    r->target = target;
    return true;
}

static bool parse_header(struct http_reader *r, struct slice line, struct err *e)
{
    struct slice value = line, name = slice_cut(&value, ':');
    if (!value.ptr || !http_is_token(name)) /* also a folded line, and white space before the colon */
        return err_set(e, ERR_HTTP, "header line \"%.*s\" does not begin with a name and a colon", QUOTE(line));
    if (!http_is_value(value))
        return err_set(e, ERR_HTTP, "header %.*s holds a control byte", QUOTE(name));
    if (r->header_count == LIMIT_HTTP_HEADERS)
        return err_set(e, ERR_LIMIT, "more than %d headers (LIMIT_HTTP_HEADERS)", LIMIT_HTTP_HEADERS);
    r->headers[r->header_count++] = (struct http_header){name, slice_trim(value)};
    return true;
}

static bool read_content_length(struct http_reader *r, struct slice value, struct err *e)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return err_set(e, ERR_HTTP, "Content-Length \"%.*s\" is not a number", QUOTE(value));
    struct slice digits = value;
    while (digits.len > 1 && digits.ptr[0] == '0')
        digits = slice_skip(digits, 1);
    int64_t length = 0;
    if (!slice_int(digits, &length))
        return err_set(e, ERR_HTTP, "Content-Length \"%.*s\" is not a number, or too large a one", QUOTE(value));
    if (r->length >= 0 && r->length != length)
        return err_set(e, ERR_HTTP, "two different Content-Length headers");
    r->length = length;
    return true;
}

static void read_connection(struct framing_headers *f, struct slice value)
{
    while (value.ptr) {
        struct slice option = slice_trim(slice_cut(&value, ','));
        f->close |= slice_eq_nocase(option, SLICE("close"));
        f->keep_alive |= slice_eq_nocase(option, SLICE("keep-alive"));
    }
}

/* The headers that decide how the message is framed and whether its body can be understood; all others are the caller's. */
static bool read_header(struct http_reader *r, struct framing_headers *f, struct http_header h, struct err *e)
{
    if (slice_eq_nocase(h.name, SLICE("content-length")))
        return read_content_length(r, h.value, e);
    if (slice_eq_nocase(h.name, SLICE("transfer-encoding"))) {
        f->codings++;
        if (!slice_eq_nocase(h.value, SLICE("chunked")))
            return err_set(e, ERR_HTTP, "Transfer-Encoding \"%.*s\" is not understood: only chunked is", QUOTE(h.value));
    } else if (slice_eq_nocase(h.name, SLICE("content-encoding"))) {
        if (r->side == HTTP_RESPONSES && !r->encoded && !slice_eq_nocase(h.value, SLICE("identity")))
            return err_set(e, ERR_HTTP, "Content-Encoding \"%.*s\" was not asked for", QUOTE(h.value));
    } else if (slice_eq_nocase(h.name, SLICE("connection"))) {
        read_connection(f, h.value);
    } else if (slice_eq_nocase(h.name, SLICE("host"))) {
        f->hosts++;
    } else if (slice_eq_nocase(h.name, SLICE("authorization"))) {
        f->credentials++;
    } else if (slice_eq_nocase(h.name, SLICE("expect"))) {
        r->expects_continue = r->side == HTTP_REQUESTS && slice_eq_nocase(h.value, SLICE("100-continue"));
    }
    return true;
}

/* Whether two readers could disagree about this head, and what its body is. */
static bool decide_framing(struct http_reader *r, const struct framing_headers *f, enum http_framing *out, struct err *e)
{
    int minor = r->minor;
    if (f->codings > 1)
        return err_set(e, ERR_HTTP, "more than one Transfer-Encoding");
    if (f->codings && r->length >= 0)
        return err_set(e, ERR_HTTP, "Content-Length beside Transfer-Encoding");
    if (f->codings && minor == 0)
        return err_set(e, ERR_HTTP, "Transfer-Encoding in HTTP/1.0");
    if (r->side == HTTP_REQUESTS && (f->hosts > 1 || (f->hosts == 0 && minor == 1)))
        return err_set(e, ERR_HTTP, "want one Host header, got %u", f->hosts);
    if (f->credentials > 1)
        return err_set(e, ERR_HTTP, "want one Authorization header at most, got %u: a proxy may have judged another one", f->credentials);
    r->keep_alive = !f->close && (minor == 1 || f->keep_alive);
    bool bodiless = r->side == HTTP_RESPONSES && (r->no_body || r->status < 200 || r->status == 204 || r->status == 304);
    if (bodiless || r->length == 0)
        *out = FRAMING_NONE;
    else if (f->codings)
        *out = FRAMING_CHUNKED;
    else if (r->length > 0)
        *out = FRAMING_LENGTH;
    else
        *out = r->side == HTTP_RESPONSES ? FRAMING_CLOSE : FRAMING_NONE;
    r->until_close = *out == FRAMING_CLOSE;
    r->keep_alive &= !r->until_close;
    return true;
}

bool http_head_parse(struct http_reader *r, enum http_framing *framing, struct err *e)
{
    struct slice rest = buf_slice(&r->head), line = next_line(&rest);
    struct framing_headers f = {0};
    r->length = -1;
    r->header_count = 0;
    if (!(r->side == HTTP_RESPONSES ? parse_status_line(r, line, &r->minor, e) : parse_request_line(r, line, &r->minor, e)))
        return false;
    while (!slice_empty(line = next_line(&rest))) {
        if (!parse_header(r, line, e) || !read_header(r, &f, r->headers[r->header_count - 1], e))
            return false;
    }
    return decide_framing(r, &f, framing, e);
}
