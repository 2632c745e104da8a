/* grpc.health.v1.Health/Check over cleartext HTTP/2, without an HTTP/2 library: the request never changes, and of the answer only a
 * handful of frames matter. The GCS answers it as soon as its port is open, in every authentication mode.
 *
 * We announce a header table of size 0, so a peer may not refer to headers it sent before; Ray's does not compress strings either.
 * RFC 9113 (frames), RFC 7541 (header fields). */
#include <mobula/ray.h>

static const unsigned char request[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                                       /* SETTINGS: header table size 0, no push, stream window 2^31-1 */
                                       "\x00\x00\x12\x04\x00\x00\x00\x00\x00"
                                       "\x00\x01\x00\x00\x00\x00"
                                       "\x00\x02\x00\x00\x00\x00"
                                       "\x00\x04\x7f\xff\xff\xff"
                                       /* WINDOW_UPDATE of the connection */
                                       "\x00\x00\x04\x08\x00\x00\x00\x00\x00"
                                       "\x3f\xff\xff\xff"
                                       /* HEADERS of stream 1, END_HEADERS: method POST, scheme http, path, authority, te, content-type */
                                       "\x00\x00\x45\x01\x04\x00\x00\x00\x01"
                                       "\x83\x86"
                                       "\x04\x1c/grpc.health.v1.Health/Check"
                                       "\x01\x03gcs"
                                       "\x00\x02te\x08trailers"
                                       "\x0f\x10\x10"
                                       "application/grpc"
                                       /* DATA of stream 1, END_STREAM: an empty message */
                                       "\x00\x00\x05\x00\x01\x00\x00\x00\x01"
                                       "\x00\x00\x00\x00\x00";

struct slice ray_health_request(void)
{
    return (struct slice){(const char *)request, sizeof request - 1};
}

enum { FRAME_HEAD = 9, GRPC_PREFIX = 5, MESSAGE_MAX = 64, STREAM = 1 };
enum frame_type { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, GOAWAY = 7 };
enum frame_flag { END_STREAM = 0x1, END_HEADERS = 0x4, PADDED = 0x8, PRIORITY = 0x20 };

/* What the frames so far have said. */
struct answer {
    unsigned char message[MESSAGE_MAX]; /* with its 5-byte prefix */
    size_t message_len;
    struct slice grpc_status, grpc_message;
    int64_t http_status;
    bool ended;
};

static unsigned byte_at(struct slice s, size_t i)
{
    return (unsigned char)s.ptr[i];
}

static uint32_t number(struct slice s, size_t at, size_t bytes)
{
    uint32_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | byte_at(s, at + i);
    return n;
}

/* ---- header fields ---- */

static bool bad(struct err *e, const char *what)
{
    return err_set(e, ERR_SYNTAX, "the answer is no gRPC over HTTP/2 that can be read here: %s", what);
}

/* RFC 7541 5.1: an integer whose first `bits` bits stand in the first byte. */
static bool take_int(struct slice *s, unsigned bits, uint32_t *out, struct err *e)
{
    unsigned mask = (1U << bits) - 1;
    if (slice_empty(*s))
        return bad(e, "a header field is cut off");
    *out = byte_at(*s, 0) & mask;
    *s = slice_skip(*s, 1);
    if (*out < mask)
        return true;
    for (unsigned shift = 0; shift <= 14; shift += 7) { /* more than 3 bytes is longer than any answer may be */
        if (slice_empty(*s))
            return bad(e, "a header field is cut off");
        unsigned c = byte_at(*s, 0);
        *s = slice_skip(*s, 1);
        *out += (c & 0x7f) << shift;
        if (!(c & 0x80))
            return true;
    }
    return bad(e, "a header field is too long");
}

static bool take_text(struct slice *s, struct slice *out, struct err *e)
{
    uint32_t len;
    bool huffman = !slice_empty(*s) && byte_at(*s, 0) & 0x80;
    if (!take_int(s, 7, &len, e))
        return false;
    if (huffman)
        return bad(e, "a header field is Huffman-coded");
    if (len > s->len)
        return bad(e, "a header field is cut off");
    *out = slice_head(*s, len);
    *s = slice_skip(*s, len);
    return true;
}

/* The static table, as far as a status stands in it. */
static bool indexed(uint32_t index, struct answer *a, struct err *e)
{
    static const int statuses[] = {200, 204, 206, 304, 400, 404, 500};
    enum { FIRST_STATUS = 8, STATIC_LAST = 61 };
    if (index == 0 || index > STATIC_LAST)
        return bad(e, "a header field refers to a table that is empty");
    if (index >= FIRST_STATUS && index < FIRST_STATUS + COUNT_OF(statuses))
        a->http_status = statuses[index - FIRST_STATUS];
    return true;
}

static bool literal(struct slice *s, unsigned bits, struct answer *a, struct err *e)
{
    enum { NAME_STATUS_FIRST = 8, NAME_STATUS_LAST = 14, STATIC_LAST = 61 };
    uint32_t index;
    struct slice name = SLICE_NONE, value;
    if (!take_int(s, bits, &index, e) || (index == 0 && !take_text(s, &name, e)) || !take_text(s, &value, e))
        return false;
    if (index > STATIC_LAST)
        return bad(e, "a header field refers to a table that is empty");
    if (slice_eq(name, SLICE(":status")) || (index >= NAME_STATUS_FIRST && index <= NAME_STATUS_LAST))
        return slice_int(value, &a->http_status) || bad(e, "its status is no number");
    if (slice_eq(name, SLICE("grpc-status")))
        a->grpc_status = value;
    else if (slice_eq(name, SLICE("grpc-message")))
        a->grpc_message = value;
    return true;
}

static bool read_fields(struct slice block, struct answer *a, struct err *e)
{
    while (!slice_empty(block)) {
        unsigned first = byte_at(block, 0);
        uint32_t n;
        bool ok;
        if (first & 0x80)
            ok = take_int(&block, 7, &n, e) && indexed(n, a, e);
        else if (first & 0x40)
            ok = literal(&block, 6, a, e);
        else if (first & 0x20)
            ok = take_int(&block, 5, &n, e); /* the table's size, which is 0 already */
        else
            ok = literal(&block, 4, a, e);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- frames ---- */

/* Takes padding and priority off. */
static bool unpad(struct slice *payload, unsigned flags, bool may_have_priority, struct err *e)
{
    size_t pad = 0, front = may_have_priority && flags & PRIORITY ? 5 : 0;
    if (flags & PADDED) {
        if (slice_empty(*payload))
            return bad(e, "a frame is shorter than its padding");
        pad = byte_at(*payload, 0);
        *payload = slice_skip(*payload, 1);
    }
    if (payload->len < front + pad)
        return bad(e, "a frame is shorter than its padding");
    *payload = slice_head(slice_skip(*payload, front), payload->len - front - pad);
    return true;
}

static bool read_headers(struct slice payload, unsigned flags, struct answer *a, struct err *e)
{
    if (!(flags & END_HEADERS))
        return bad(e, "its headers go on in a second frame");
    return unpad(&payload, flags, true, e) && read_fields(payload, a, e);
}

static bool read_data(struct slice payload, unsigned flags, struct answer *a, struct err *e)
{
    if (!unpad(&payload, flags, false, e))
        return false;
    if (payload.len > MESSAGE_MAX - a->message_len)
        return bad(e, "its message is too long for a health check");
    if (payload.len)
        memcpy(a->message + a->message_len, payload.ptr, payload.len);
    a->message_len += payload.len;
    return true;
}

static bool read_frame(unsigned type, unsigned flags, uint32_t stream, struct slice payload, struct answer *a, struct err *e)
{
    if (type == GOAWAY)
        return err_set(e, ERR_STATUS, "the server is about to close the connection");
    if (stream != STREAM)
        return true;
    if (type == RST_STREAM)
        return err_set(e, ERR_STATUS, "the server gave the call up (HTTP/2 error %u)", payload.len >= 4 ? number(payload, 0, 4) : 0);
    if (type != HEADERS && type != DATA)
        return true;
    a->ended = flags & END_STREAM;
    return type == HEADERS ? read_headers(payload, flags, a, e) : read_data(payload, flags, a, e);
}

/* ---- the verdict ---- */

static bool take_varint(struct slice *s, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && !slice_empty(*s); shift += 7) {
        unsigned c = byte_at(*s, 0);
        *s = slice_skip(*s, 1);
        *out |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return true;
    }
    return false;
}

/* HealthCheckResponse {ServingStatus status = 1}: its status, 0 when it has none; false when it is no message. */
static bool read_message(const struct answer *a, uint64_t *status)
{
    *status = 0;
    struct slice s = {(const char *)a->message, a->message_len};
    if (s.len < GRPC_PREFIX || s.ptr[0] != 0 || number(s, 1, 4) != s.len - GRPC_PREFIX)
        return false;
    for (s = slice_skip(s, GRPC_PREFIX); !slice_empty(s);) {
        uint64_t tag, value;
        if (!take_varint(&s, &tag) || !take_varint(&s, &value))
            return false;
        size_t skip = (tag & 7) == 0 ? 0 : (tag & 7) == 2 && value <= s.len ? (size_t)value : SIZE_MAX;
        if (skip == SIZE_MAX)
            return false;
        if (tag == (1 << 3))
            *status = value;
        s = slice_skip(s, skip);
    }
    return true;
}

static enum ray_health verdict(const struct answer *a, struct err *e)
{
    enum { OK = 0, UNIMPLEMENTED = 12, SERVING = 1 };
    int64_t code;
    uint64_t status;
    if (a->http_status != 200) {
        err_set(e, ERR_STATUS, "the server answers with HTTP status %lld", (long long)a->http_status);
        return RAY_HEALTH_NOT;
    }
    if (!slice_int(a->grpc_status, &code)) {
        bad(e, "it has no grpc-status");
        return RAY_HEALTH_BAD;
    }
    if (code == UNIMPLEMENTED)
        return RAY_HEALTH_SERVING;
    if (code != OK) {
        err_set(e, ERR_STATUS, "the server answers with gRPC status %lld: %.*s", (long long)code,
                SLICE_ARG(slice_head(a->grpc_message, 120)));
        return RAY_HEALTH_NOT;
    }
    if (!read_message(a, &status)) {
        bad(e, "its message cannot be read");
        return RAY_HEALTH_BAD;
    }
    if (status == SERVING)
        return RAY_HEALTH_SERVING;
    err_set(e, ERR_STATUS, "the GCS answers that it is not serving (health status %llu)", (unsigned long long)status);
    return RAY_HEALTH_NOT;
}

enum ray_health ray_health_read(struct slice answer, struct err *e)
{
    struct answer a = {0};
    struct slice rest = answer;
    while (rest.len >= FRAME_HEAD) {
        size_t len = number(rest, 0, 3);
        unsigned type = byte_at(rest, 3), flags = byte_at(rest, 4);
        uint32_t stream = number(rest, 5, 4) & 0x7fffffff;
        if (rest.ptr == answer.ptr && type != SETTINGS) {
            bad(e, "it does not begin with SETTINGS");
            return RAY_HEALTH_BAD;
        }
        if (len + FRAME_HEAD > LIMIT_RAY_HEALTH_ANSWER - (size_t)(rest.ptr - answer.ptr)) {
            err_set(e, ERR_LIMIT, "the answer is longer than %d bytes (LIMIT_RAY_HEALTH_ANSWER)", (int)LIMIT_RAY_HEALTH_ANSWER);
            return RAY_HEALTH_BAD;
        }
        if (rest.len < FRAME_HEAD + len)
            return RAY_HEALTH_MORE;
        struct err failed = {0};
        if (!read_frame(type, flags, stream, slice_head(slice_skip(rest, FRAME_HEAD), len), &a, &failed)) {
            err_set(e, failed.code, "%s", failed.text);
            return failed.code == ERR_STATUS ? RAY_HEALTH_NOT : RAY_HEALTH_BAD;
        }
        if (a.ended)
            return verdict(&a, e);
        rest = slice_skip(rest, FRAME_HEAD + len);
    }
    return RAY_HEALTH_MORE;
}
