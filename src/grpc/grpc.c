/* The call: what stands in the frames of one stream. */
#include "frames.h"

#include "hpack.h"

#include <mobula/http.h>

enum {
    PREFIX = 5, /* of a message: 0 for "not compressed", and its length */
    DATA_MAX = 16 * KIB,
    OUT_MAX = 256 * KIB,
    STREAM_LAST = 1 << 30, /* a connection is not used for ever */
    STATIC_AUTHORITY = 1,
    STATIC_PATH = 4,
    STATIC_AUTHORIZATION = 23,
    STATIC_CONTENT_TYPE = 31,
    HTTP_OK = 200,
};

/* ---- life ---- */

void grpc_init(struct grpc *c)
{
    *c = (struct grpc){.window = 65535, .first_window = 65535};
    buf_init(&c->out, OUT_MAX);
    buf_init(&c->block, LIMIT_RAY_HEADERS);
    buf_init(&c->body, LIMIT_RAY_REPORT + PREFIX);
}

void grpc_free(struct grpc *c)
{
    buf_wipe(&c->out); /* it holds the token */
    buf_free(&c->block);
    buf_free(&c->body);
    buf_free(&c->answer);
    grpc_init(c);
}

void grpc_rest(struct grpc *c)
{
    if (c->calling)
        return;
    if (c->out.len == 0)
        buf_wipe(&c->out);
    if (!c->block_open && c->frame.have < GRPC_FRAME_HEAD)
        buf_free(&c->block);
    buf_free(&c->body);
    buf_free(&c->answer);
}

bool grpc_reusable(const struct grpc *c)
{
    return !c->calling && !c->going_away && c->stream < STREAM_LAST;
}

/* ---- asking ---- */

static void put_headers(struct grpc *c, const struct grpc_request *r)
{
    const char post_over_http[] = {(char)0x83, (char)(0x86 + r->tls)}; /* :method POST, :scheme http or https */
    struct buf b;
    buf_init(&b, LIMIT_RAY_HEADERS);
    buf_put(&b, (struct slice){post_over_http, sizeof post_over_http});
    hpack_put(&b, STATIC_PATH, SLICE_NONE, r->path, false);
    hpack_put(&b, STATIC_AUTHORITY, SLICE_NONE, r->authority, false);
    hpack_put(&b, 0, SLICE("te"), SLICE("trailers"), false);
    hpack_put(&b, STATIC_CONTENT_TYPE, SLICE_NONE, SLICE("application/grpc"), false);
    if (!slice_empty(r->token)) {
        struct buf value;
        buf_init(&value, LIMIT_RAY_HEADERS);
        buf_room(&value, r->token.len + 16);
        buf_put(&value, SLICE("Bearer "));
        buf_put(&value, r->token);
        buf_room(&b, value.len + 16);
        hpack_put(&b, STATIC_AUTHORIZATION, SLICE_NONE, buf_slice(&value), true);
        buf_wipe(&value);
    }
    buf_room(&c->out, GRPC_FRAME_HEAD + b.len + r->message.len + 64); /* all at once: growing would leave a copy of the token behind */
    frame_put(&c->out, b.len, FRAME_HEADERS, FLAG_END_HEADERS, c->stream);
    buf_put(&c->out, buf_slice(&b));
    buf_wipe(&b);
}

void call_send(struct grpc *c)
{
    while (c->calling && c->body.len > 0) {
        int64_t most = c->window < c->stream_window ? c->window : c->stream_window;
        most = most < DATA_MAX ? most : DATA_MAX;
        if (most <= 0)
            return;
        size_t len = c->body.len < (size_t)most ? c->body.len : (size_t)most;
        frame_put(&c->out, len, FRAME_DATA, len == c->body.len ? FLAG_END_STREAM : 0, c->stream);
        buf_put(&c->out, slice_head(buf_slice(&c->body), len));
        buf_drop(&c->body, len);
        c->window -= (int64_t)len;
        c->stream_window -= (int64_t)len;
    }
}

void grpc_call(struct grpc *c, const struct grpc_request *r)
{
    if (c->calling)
        fatal("a gRPC connection carries one call at a time");
    frames_begin(c);
    c->stream += c->stream ? 2 : 1;
    c->stream_window = c->first_window;
    c->calling = true;
    c->headed = false;
    c->http_status = 0;
    c->status = GRPC_NO_STATUS;
    c->text[0] = 0;
    buf_free(&c->answer);
    buf_init(&c->answer, r->answer_max + PREFIX);
    put_headers(c, r);
    buf_clear(&c->body);
    buf_putc(&c->body, 0);
    frame_put_number(&c->body, (uint32_t)r->message.len);
    buf_put(&c->body, r->message);
    call_send(c);
}

/* ---- the answer ---- */

static size_t answer_length(const struct grpc *c)
{
    const unsigned char *p = (const unsigned char *)c->answer.ptr;
    return (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
}

/* As soon as the prefix is there, it says whether the rest is worth reading. */
static bool check_prefix(const struct grpc *c, struct err *e)
{
    if (c->answer.len < PREFIX)
        return true;
    if (c->answer.ptr[0] != 0)
        return grpc_bad(e, "its message is compressed");
    if (answer_length(c) > c->answer.max - PREFIX)
        return err_set(e, ERR_LIMIT, "the answer is %zu bytes long, at most %zu are read", answer_length(c), c->answer.max - PREFIX);
    if (c->answer.len - PREFIX > answer_length(c))
        return grpc_bad(e, "there is more than one message");
    return true;
}

bool call_data(struct grpc *c, struct slice piece, struct err *e)
{
    if (!c->headed)
        return grpc_bad(e, "it has no headers");
    size_t head = c->answer.len < PREFIX ? PREFIX - c->answer.len : 0;
    struct slice first = slice_head(piece, head);
    buf_put(&c->answer, first);
    if (!check_prefix(c, e))
        return false;
    piece = slice_skip(piece, first.len);
    if (!slice_empty(piece) && !buf_put(&c->answer, piece))
        return grpc_bad(e, "there is more than one message");
    return check_prefix(c, e);
}

/* A grpc-message is percent-encoded, and somebody else's words: what is kept is one line of text. */
static void keep_text(struct grpc *c, struct slice value)
{
    struct arena a = {0};
    struct slice text = slice_head(value, HPACK_TEXT);
    if (!http_percent_decode(text, &a, &text))
        text = slice_head(value, HPACK_TEXT);
    utf8_clean(text, c->text, sizeof c->text);
    arena_free(&a);
}

static bool keep_field(struct grpc *c, const struct hpack_field *f, struct err *e)
{
    int64_t n;
    if (slice_is(f->name, "grpc-message")) {
        keep_text(c, f->value);
        return true;
    }
    bool http = slice_is(f->name, ":status");
    if (!http && !slice_is(f->name, "grpc-status"))
        return true;
    if (!slice_int(f->value, &n) || n < 0 || n > INT16_MAX)
        return grpc_bad(e, "its status is no number");
    *(http ? &c->http_status : &c->status) = (int)n;
    return true;
}

bool call_headers(struct grpc *c, struct slice block, bool end, struct err *e)
{
    enum { HTTP_FINAL = 200 };
    struct hpack_field f;
    struct err bad = {0};
    while (hpack_next(&block, &f, &bad))
        if (!keep_field(c, &f, e))
            return false;
    if (bad.code != ERR_NONE)
        return grpc_bad(e, bad.text);
    if (c->headed && !end)
        return grpc_bad(e, "there are headers in its middle");
    c->headed = c->headed || c->http_status >= HTTP_FINAL;
    return !end || call_end(c, e);
}

bool call_end(struct grpc *c, struct err *e)
{
    c->calling = false;
    c->going_away = c->going_away || c->body.len > 0; /* it has answered a request that it has not read: let both begin again */
    if (c->http_status != HTTP_OK)
        return err_set(e, ERR_STATUS, "the server answers with HTTP status %d", c->http_status);
    if (c->status == GRPC_NO_STATUS)
        return grpc_bad(e, "it has no grpc-status");
    if (c->status != 0)
        return err_set(e, ERR_STATUS, "the server answers with gRPC status %d%s%s", c->status, c->text[0] ? ": " : "", c->text);
    if (c->answer.len < PREFIX || c->answer.len - PREFIX != answer_length(c))
        return grpc_bad(e, "its message is cut off");
    return true;
}

struct slice grpc_answer(const struct grpc *c)
{
    return slice_skip(buf_slice(&c->answer), PREFIX);
}

enum grpc_step grpc_read(struct grpc *c, struct slice *in, struct err *e)
{
    struct err failed = {0};
    bool was_calling = c->calling;
    while (frames_read(c, in, &failed))
        ;
    if (failed.code != ERR_NONE) {
        err_set(e, failed.code, "%s", failed.text);
        return failed.code == ERR_STATUS ? GRPC_REFUSED : GRPC_BROKEN;
    }
    return was_calling && !c->calling ? GRPC_DONE : GRPC_MORE;
}
