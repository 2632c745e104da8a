/* The connection: frames, settings, windows. */
#include "frames.h"

enum {
    FRAME_MAX = 16 * KIB, /* the default, which we announced by announcing nothing */
    PREFIX_NUMBER = 4,
    SETTING_SIZE = 6,
    SETTING_INITIAL_WINDOW = 4,
    PRIORITY_SIZE = 5,
    PING_SIZE = 8,
    GOAWAY_MIN = 8,
    CREDIT_GIVE = 64 * KIB,
    STREAM_MASK = 0x7fffffff,
};
#define WINDOW_FIRST INT64_C(65535)
#define WINDOW_MAX INT64_C(0x7fffffff)

static const unsigned char opening[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                                       /* SETTINGS: header table size 0, no push, stream window 2^31-1 */
                                       "\x00\x00\x12\x04\x00\x00\x00\x00\x00"
                                       "\x00\x01\x00\x00\x00\x00"
                                       "\x00\x02\x00\x00\x00\x00"
                                       "\x00\x04\x7f\xff\xff\xff"
                                       /* WINDOW_UPDATE of the connection, by 2^30-1 */
                                       "\x00\x00\x04\x08\x00\x00\x00\x00\x00"
                                       "\x3f\xff\xff\xff";

bool grpc_bad(struct err *e, const char *what)
{
    return err_set(e, ERR_SYNTAX, "the answer is no gRPC over HTTP/2 that can be read here: %s", what);
}

/* ---- writing ---- */

static void put_bytes(struct buf *b, uint32_t number, unsigned bytes)
{
    while (bytes-- > 0)
        buf_putc(b, (char)(number >> (8 * bytes)));
}

void frame_put_number(struct buf *b, uint32_t number)
{
    put_bytes(b, number, PREFIX_NUMBER);
}

void frame_put(struct buf *b, size_t len, enum grpc_frame_type type, unsigned flags, uint32_t stream)
{
    put_bytes(b, (uint32_t)len, 3);
    buf_putc(b, (char)type);
    buf_putc(b, (char)flags);
    frame_put_number(b, stream);
}

void frames_begin(struct grpc *c)
{
    c->chatter = 0;
    if (!c->began)
        buf_put(&c->out, (struct slice){(const char *)opening, sizeof opening - 1});
    c->began = true;
    if (c->credit < CREDIT_GIVE)
        return;
    frame_put(&c->out, PREFIX_NUMBER, FRAME_WINDOW_UPDATE, 0, 0);
    frame_put_number(&c->out, c->credit);
    c->credit = 0;
}

/* ---- whole frames but DATA ---- */

static uint32_t number_at(struct slice s, size_t at)
{
    uint32_t n = 0;
    for (size_t i = at; i < at + PREFIX_NUMBER; i++)
        n = n << 8 | (unsigned char)s.ptr[i];
    return n;
}

static bool first_window(struct grpc *c, uint32_t size, struct err *e)
{
    if (size > WINDOW_MAX)
        return grpc_bad(e, "a window is too large");
    c->stream_window += size - c->first_window;
    c->first_window = size;
    return true;
}

static bool on_settings(struct grpc *c, struct slice payload, struct err *e)
{
    if (c->frame.flags & FLAG_ACK)
        return payload.len == 0 || grpc_bad(e, "a SETTINGS acknowledgement has a payload");
    if (payload.len % SETTING_SIZE != 0)
        return grpc_bad(e, "its SETTINGS are cut off");
    for (size_t at = 0; at < payload.len; at += SETTING_SIZE) {
        unsigned id = (unsigned)(unsigned char)payload.ptr[at] << 8 | (unsigned char)payload.ptr[at + 1];
        if (id == SETTING_INITIAL_WINDOW && !first_window(c, number_at(payload, at + 2), e))
            return false;
    }
    c->settled = true;
    frame_put(&c->out, 0, FRAME_SETTINGS, FLAG_ACK, 0);
    call_send(c);
    return true;
}

static bool on_ping(struct grpc *c, struct slice payload, struct err *e)
{
    if (payload.len != PING_SIZE)
        return grpc_bad(e, "a PING is not 8 bytes long");
    if (c->frame.flags & FLAG_ACK)
        return true;
    frame_put(&c->out, payload.len, FRAME_PING, FLAG_ACK, 0);
    buf_put(&c->out, payload);
    return true;
}

static bool on_window(struct grpc *c, struct slice payload, struct err *e)
{
    if (payload.len != PREFIX_NUMBER)
        return grpc_bad(e, "a WINDOW_UPDATE is not 4 bytes long");
    if (c->frame.stream != 0 && c->frame.stream != c->stream)
        return true;
    int64_t more = number_at(payload, 0) & STREAM_MASK, *window = c->frame.stream ? &c->stream_window : &c->window;
    *window += more;
    if (more == 0 || *window > WINDOW_MAX)
        return grpc_bad(e, "a WINDOW_UPDATE is out of range");
    call_send(c);
    return true;
}

/* Calls up to the number that it names are still answered. */
static bool on_goaway(struct grpc *c, struct slice payload, struct err *e)
{
    if (payload.len < GOAWAY_MIN)
        return grpc_bad(e, "a GOAWAY is cut off");
    c->going_away = true;
    if (!c->calling || (number_at(payload, 0) & STREAM_MASK) >= c->stream)
        return true;
    return err_set(e, ERR_CLOSED, "the server is about to close the connection and did not take the call (HTTP/2 error %u)",
                   number_at(payload, PREFIX_NUMBER));
}

/* The server gives the call up, the connection stays. */
static bool on_reset(struct grpc *c, struct slice payload, struct err *e)
{
    if (payload.len != PREFIX_NUMBER)
        return grpc_bad(e, "a RST_STREAM is not 4 bytes long");
    if (!c->calling || c->frame.stream != c->stream)
        return true;
    c->calling = false;
    return err_set(e, ERR_STATUS, "the server gave the call up (HTTP/2 error %u)", number_at(payload, 0));
}

/* ---- header blocks ---- */

/* Takes padding and priority off what came with HEADERS. */
static bool unpad(struct grpc *c, struct err *e)
{
    size_t front = c->frame.flags & FLAG_PRIORITY ? PRIORITY_SIZE : 0, pad = 0;
    if (c->frame.flags & FLAG_PADDED) {
        pad = c->block.len ? (unsigned char)c->block.ptr[0] : 0;
        front++;
    }
    if (c->block.len < front + pad)
        return grpc_bad(e, "a frame is shorter than its padding");
    buf_drop(&c->block, front);
    c->block.len -= pad;
    return true;
}

static bool on_block(struct grpc *c, struct err *e)
{
    if (c->frame.type == FRAME_HEADERS) {
        c->block_ends = c->frame.flags & FLAG_END_STREAM;
        if (!unpad(c, e))
            return false;
    }
    c->block_open = !(c->frame.flags & FLAG_END_HEADERS);
    if (c->block_open || !c->calling || c->frame.stream != c->stream)
        return true;
    return call_headers(c, buf_slice(&c->block), c->block_ends, e);
}

/* ---- any frame ---- */

static bool whole_frame(struct grpc *c, struct err *e)
{
    struct slice payload = buf_slice(&c->block);
    switch (c->frame.type) {
    case FRAME_DATA:
        return !(c->frame.flags & FLAG_END_STREAM) || !c->calling || c->frame.stream != c->stream || call_end(c, e);
    case FRAME_HEADERS:
    case FRAME_CONTINUATION:
        return on_block(c, e);
    case FRAME_RST_STREAM:
        return on_reset(c, payload, e);
    case FRAME_SETTINGS:
        return on_settings(c, payload, e);
    case FRAME_PING:
        return on_ping(c, payload, e);
    case FRAME_GOAWAY:
        return on_goaway(c, payload, e);
    case FRAME_WINDOW_UPDATE:
        return on_window(c, payload, e);
    case FRAME_PUSH_PROMISE:
        return grpc_bad(e, "it pushes what nobody asked for");
    default:
        return true; /* PRIORITY, and whatever HTTP/2 is extended with */
    }
}

/* Which streams a frame of this type may speak of. */
static bool stream_fits(const struct grpc *c, struct err *e)
{
    const struct grpc_frame *f = &c->frame;
    bool of_connection = f->type == FRAME_SETTINGS || f->type == FRAME_PING || f->type == FRAME_GOAWAY;
    bool of_stream = f->type == FRAME_DATA || f->type == FRAME_HEADERS || f->type == FRAME_RST_STREAM || f->type == FRAME_CONTINUATION;
    if ((of_connection && f->stream != 0) || (of_stream && f->stream == 0))
        return grpc_bad(e, "a frame is of the wrong stream");
    if (of_stream && (f->stream > c->stream || f->stream % 2 == 0))
        return grpc_bad(e, "a frame is of a stream that was never opened");
    return true;
}

/* The head is complete. */
static bool frame_begins(struct grpc *c, struct err *e)
{
    struct grpc_frame *f = &c->frame;
    if (!c->settled && memcmp(f->head, "HTTP/1", 6) == 0)
        return grpc_bad(e, "it is HTTP/1");
    f->left = (uint32_t)f->head[0] << 16 | (uint32_t)f->head[1] << 8 | f->head[2];
    f->type = f->head[3];
    f->flags = f->head[4];
    f->stream = number_at((struct slice){(const char *)f->head, sizeof f->head}, GRPC_FRAME_HEAD - PREFIX_NUMBER) & STREAM_MASK;
    f->pad = 0;
    f->pad_known = f->type != FRAME_DATA || !(f->flags & FLAG_PADDED);
    if (!c->settled && (f->type != FRAME_SETTINGS || f->flags & FLAG_ACK))
        return grpc_bad(e, "it does not begin with SETTINGS");
    if (f->left > FRAME_MAX)
        return grpc_bad(e, "a frame is longer than 16 KiB");
    if (c->block_open != (f->type == FRAME_CONTINUATION))
        return grpc_bad(e, "a header block is not whole");
    if (!stream_fits(c, e))
        return false;
    bool ours = f->type == FRAME_DATA && c->calling && f->stream == c->stream;
    c->chatter += GRPC_FRAME_HEAD + (ours ? 0 : f->left);
    if (c->chatter > LIMIT_RAY_CHATTER)
        return err_set(e, ERR_LIMIT, "the server sends frame after frame and no answer: %d bytes (LIMIT_RAY_CHATTER)", LIMIT_RAY_CHATTER);
    if (f->type == FRAME_DATA)
        c->credit += f->left;
    if (f->type != FRAME_CONTINUATION)
        buf_clear(&c->block);
    return true;
}

static bool data_piece(struct grpc *c, struct slice piece, struct err *e)
{
    struct grpc_frame *f = &c->frame;
    if (!f->pad_known) {
        f->pad = (unsigned char)piece.ptr[0];
        f->pad_known = true;
        piece = slice_skip(piece, 1);
        f->left--;
        if (f->pad > f->left)
            return grpc_bad(e, "a frame is shorter than its padding");
    }
    uint32_t data_left = f->left > f->pad ? f->left - f->pad : 0;
    f->left -= (uint32_t)piece.len;
    struct slice data = slice_head(piece, data_left);
    return slice_empty(data) || !c->calling || f->stream != c->stream || call_data(c, data, e);
}

static bool block_piece(struct grpc *c, struct slice piece, struct err *e)
{
    c->frame.left -= (uint32_t)piece.len;
    return buf_put(&c->block, piece) ||
           err_set(e, ERR_LIMIT, "the answer's headers are longer than %d bytes (LIMIT_RAY_HEADERS)", LIMIT_RAY_HEADERS);
}

static struct slice take(struct slice *in, size_t most)
{
    struct slice piece = slice_head(*in, most);
    *in = slice_skip(*in, piece.len);
    return piece;
}

bool frames_read(struct grpc *c, struct slice *in, struct err *e)
{
    struct grpc_frame *f = &c->frame;
    bool data = f->type == FRAME_DATA;
    if (f->have < GRPC_FRAME_HEAD) {
        if (slice_empty(*in))
            return false;
        struct slice piece = take(in, GRPC_FRAME_HEAD - f->have);
        memcpy(f->head + f->have, piece.ptr, piece.len);
        f->have += (unsigned)piece.len;
        return f->have < GRPC_FRAME_HEAD || frame_begins(c, e);
    }
    if (f->left > 0) {
        if (slice_empty(*in))
            return false;
        struct slice piece = take(in, f->left);
        return data ? data_piece(c, piece, e) : block_piece(c, piece, e);
    }
    if (!f->pad_known)
        return grpc_bad(e, "a frame is shorter than its padding");
    f->have = 0;
    bool was_calling = c->calling;
    return whole_frame(c, e) && (c->calling || !was_calling);
}
