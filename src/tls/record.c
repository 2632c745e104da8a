/* Sends and receives the records of a TLS 1.3 session, alerts, and the messages after the handshake (RFC 8446 §4.6, §5, §6).
 *
 * Order on the wire: the sealed record in writing.room, then the queue. Plaintext there is sealed only when neither is waiting. */
#include "v13.h"

#include <stdio.h>

/* ---- encoding and decoding: integers, vectors, extensions ---- */

size_t v13_begin(struct buf *b, unsigned width)
{
    size_t at = b->len;
    while (width--)
        put8(b, 0);
    return at;
}

void v13_end(struct buf *b, size_t from, unsigned width)
{
    if (b->full)
        return;
    size_t len = b->len - from - width;
    for (unsigned i = 0; i < width; i++)
        b->ptr[from + i] = (char)(len >> 8 * (width - 1 - i));
}

bool v13_get(struct slice *in, unsigned width, uint32_t *out)
{
    uint32_t v = 0;
    if (in->len < width)
        return false;
    for (unsigned i = 0; i < width; i++)
        v = v << 8 | (unsigned char)in->ptr[i];
    *in = slice_skip(*in, width);
    *out = v;
    return true;
}

bool v13_get_bytes(struct slice *in, size_t n, struct slice *out)
{
    if (in->len < n)
        return false;
    *out = slice_head(*in, n);
    *in = slice_skip(*in, n);
    return true;
}

bool v13_get_vector(struct slice *in, unsigned width, struct slice *out)
{
    uint32_t n = 0;
    return v13_get(in, width, &n) && v13_get_bytes(in, n, out);
}

bool v13_get_extensions(struct v13 *v, struct slice in, struct v13_extension *known, size_t count, bool strict)
{
    struct slice all, body;
    uint32_t type = 0;
    uint64_t seen = 0; /* a bit for each type below 64, as all of RFC 8446 are */
    if (!v13_get_vector(&in, 2, &all) || in.len)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    while (all.len) {
        size_t i = 0;
        if (!v13_get(&all, 2, &type) || !v13_get_vector(&all, 2, &body))
            return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
        while (i < count && known[i].type != type)
            i++;
        if (i == count && strict)
            return v13_fail(v, ALERT_EXTENSION, BR_ERR_EXTRA_EXTENSION);
        if ((i < count && known[i].there) || (type < 64 && seen >> type & 1))
            return v13_fail(v, ALERT_ILLEGAL, V13_ERR_MALFORMED);
        if (seen >> EXT_PSK & 1) /* it must be the last */
            return v13_fail(v, ALERT_ILLEGAL, V13_ERR_MALFORMED);
        seen |= type < 64 ? UINT64_C(1) << type : 0;
        if (i < count)
            known[i] = (struct v13_extension){(uint16_t)type, true, body};
    }
    return true;
}

/* ---- start and end of a session, end of its handshake ---- */

void v13_start(struct v13 *v, bool server, unsigned char *records)
{
    v->server = server;
    v->step = server ? V13_START : V13_HELLO;
    v->reading.room = records;
    v->writing.room = records + V13_HEAD + V13_PLAIN + V13_OVERHEAD;
    v->shake = mem_alloc(sizeof *v->shake);
    v13_transcript_init(&v->shake->transcript);
    buf_init(&v->shake->hello, LIMIT_TLS_HELLO);
    buf_init(&v->shake->raw, LIMIT_TLS_HELLO);
    buf_init(&v->shake->cookie, LIMIT_TLS_HELLO);
    buf_init(&v->message, LIMIT_TLS_MESSAGE + 4 + V13_PLAIN);
    buf_init(&v->queue, LIMIT_TLS_QUEUE);
}

static void shake_free(struct v13 *v)
{
    struct v13_shake *s = v->shake;
    if (!s)
        return;
    buf_free(&s->hello);
    buf_free(&s->raw);
    buf_free(&s->cookie);
    mem_wipe(s, sizeof *s);
    mem_free(s);
    v->shake = NULL;
}

void v13_free(struct v13 *v)
{
    shake_free(v);
    buf_free(&v->message);
    buf_free(&v->queue);
}

void v13_opened(struct v13 *v)
{
    shake_free(v);
    v->step = V13_OPEN;
}

/* ---- sending ---- */

static void put_head(unsigned char *head, unsigned type, size_t n)
{
    head[0] = (unsigned char)type;
    head[1] = 3;
    head[2] = 3;
    head[3] = (unsigned char)(n >> 8);
    head[4] = (unsigned char)n;
}

/* Makes a record of the n bytes behind its header, in the clear if there are no keys yet; returns its length. */
static size_t seal(struct v13 *v, unsigned type, unsigned char *record, size_t n)
{
    if (!v->out.suite || type == RECORD_CCS) {
        put_head(record, type, n);
        return V13_HEAD + n;
    }
    record[V13_HEAD + n] = (unsigned char)type;
    put_head(record, RECORD_DATA, n + 1 + V13_TAG);
    v13_seal(&v->out, record, record + V13_HEAD, n + 1);
    return V13_HEAD + n + 1 + V13_TAG;
}

void v13_send(struct v13 *v, unsigned type, struct slice content)
{
    while (content.len) {
        struct slice part = slice_head(content, V13_PLAIN);
        char *to = buf_room(&v->queue, V13_HEAD + part.len + 1 + V13_TAG);
        if (!to)
            return;
        memcpy(to + V13_HEAD, part.ptr, part.len);
        v->queue.len += seal(v, type, (unsigned char *)to, part.len);
        content = slice_skip(content, part.len);
    }
}

void v13_say(struct v13 *v, struct buf *message)
{
    v13_transcript_add(&v->shake->transcript, buf_slice(message));
    v13_send(v, RECORD_HANDSHAKE, buf_slice(message));
    buf_free(message);
}

void v13_say_change(struct v13 *v)
{
    v13_send(v, RECORD_CCS, SLICE("\1"));
}

void v13_note(struct v13 *v, struct slice numbers)
{
    size_t at = 0, room = sizeof v->theirs - sizeof " ...";
    for (uint32_t id = 0; at + sizeof " 0x1234" <= room && v13_get(&numbers, 2, &id);)
        at += (size_t)snprintf(v->theirs + at, room - at, "%s0x%04x", at ? " " : "", id);
    if (numbers.len)
        memcpy(v->theirs + at, " ...", sizeof " ...");
}

bool v13_fail_for(struct v13 *v, int alert, int code, struct slice numbers)
{
    if (!v->code)
        v13_note(v, numbers);
    return v13_fail(v, alert, code);
}

bool v13_fail(struct v13 *v, int alert, int code)
{
    if (v->code)
        return false;
    v->code = code;
    const char bytes[2] = {2, (char)alert};
    v13_send(v, RECORD_ALERT, (struct slice){bytes, 2});
    return false;
}

static void put_update(struct v13 *v)
{
    v13_send(v, RECORD_HANDSHAKE, SLICE("\x18\0\0\1\0")); /* KeyUpdate that asks for none in return */
    v13_keys_update(&v->out);
    v->update_owed = false;
}

static bool is_busy(const struct v13 *v)
{
    return v->writing.sealed_end > 0 || v->queue.len > 0;
}

void v13_flush(struct v13 *v)
{
    if (v->writing.written == 0)
        return;
    if (!is_busy(v) && (v->update_owed || v->out.sequence >= LIMIT_TLS_RECORDS))
        put_update(v);
    v->flush = is_busy(v);
    if (v->flush)
        return;
    v->writing.sealed_end = seal(v, RECORD_DATA, v->writing.room, v->writing.written);
    v->writing.sealed_at = 0;
    v->writing.written = 0;
}

struct slice v13_send_peek(struct v13 *v)
{
    if (v->writing.sealed_end)
        return (struct slice){(const char *)v->writing.room + v->writing.sealed_at, v->writing.sealed_end - v->writing.sealed_at};
    return v->queue.len ? slice_skip(buf_slice(&v->queue), v->queue_at) : SLICE_NONE;
}

void v13_send_used(struct v13 *v, size_t n)
{
    if (v->writing.sealed_end) {
        v->writing.sealed_at += n;
        if (v->writing.sealed_at == v->writing.sealed_end)
            v->writing.sealed_at = v->writing.sealed_end = 0;
    } else {
        v->queue_at += n;
        if (v->queue_at == v->queue.len) {
            buf_free(&v->queue);
            v->queue_at = 0;
        }
    }
    if (v->flush && !is_busy(v))
        v13_flush(v);
}

char *v13_write_room(struct v13 *v, size_t *n)
{
    *n = v->writing.sealed_end || v->flush ? 0 : V13_PLAIN - v->writing.written;
    return *n ? (char *)v->writing.room + V13_HEAD + v->writing.written : NULL;
}

void v13_write_wrote(struct v13 *v, size_t n)
{
    v->writing.written += n;
    if (v->writing.written == V13_PLAIN)
        v13_flush(v);
}

/* Sends what was written, then close_notify. Both are sealed now, behind the records that still wait in the queue. */
void v13_close(struct v13 *v)
{
    if (v->closed_out)
        return;
    v->closed_out = true;
    if (v->writing.written) {
        if (v->update_owed)
            put_update(v);
        char *to = buf_room(&v->queue, V13_HEAD + v->writing.written + 1 + V13_TAG);
        if (to) {
            memcpy(to + V13_HEAD, v->writing.room + V13_HEAD, v->writing.written);
            v->queue.len += seal(v, RECORD_DATA, (unsigned char *)to, v->writing.written);
        }
        v->writing.written = 0;
        v->flush = false;
    }
    v13_send(v, RECORD_ALERT, SLICE("\1\0"));
}

/* ---- receiving ---- */

/* Counts records in a row without application data: key updates, tickets, empty records. Above LIMIT_TLS_IDLE the session fails. */
static bool count_idle(struct v13 *v)
{
    return ++v->idle <= LIMIT_TLS_IDLE || v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
}

static bool take_update(struct v13 *v, struct slice body)
{
    if (body.len != 1)
        return v13_fail(v, ALERT_DECODE, BR_ERR_BAD_PARAM);
    if ((unsigned char)body.ptr[0] > 1)
        return v13_fail(v, ALERT_ILLEGAL, BR_ERR_BAD_PARAM);
    v13_keys_update(&v->in);
    v->update_owed |= body.ptr[0] == 1; /* one answer, before our next data, to all requests until then (RFC 8446 §4.6.3) */
    return true;
}

static bool take_later(struct v13 *v, unsigned type, struct slice message)
{
    if (type == MESSAGE_KEY_UPDATE)
        return take_update(v, slice_skip(message, 4));
    return (type == MESSAGE_TICKET && !v->server) || v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
}

/* Messages after which the peer's keys change: they must end their record (RFC 8446 §5.1). take_messages checks hellos after they were
 * read, as a hello of TLS 1.2 need not. */
static bool changes_keys(const struct v13 *v, unsigned type)
{
    return type == MESSAGE_FINISHED || (type == MESSAGE_KEY_UPDATE && v->step == V13_OPEN);
}

static bool take_message(struct v13 *v, unsigned type, struct slice message)
{
    if (v->step == V13_OPEN)
        return take_later(v, type, message);
    return v->server ? v13_server_take(v, type, message) : v13_client_take(v, type, message);
}

static bool take_messages(struct v13 *v)
{
    while (v->message.len >= 4 && !v->old) {
        struct slice all = buf_slice(&v->message), rest = slice_skip(all, 1);
        uint32_t n = 0, type = (unsigned char)all.ptr[0];
        v13_get(&rest, 3, &n);
        if (n > (v->server ? LIMIT_TLS_HELLO : LIMIT_TLS_MESSAGE)) /* certificates come to clients alone */
            return v13_fail(v, ALERT_ILLEGAL, BR_ERR_TOO_LARGE);
        if (rest.len < n)
            return true;
        if (rest.len > n && changes_keys(v, type))
            return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
        if (!take_message(v, type, slice_head(all, 4 + n)))
            return false;
        if (!v->old && rest.len > n && type <= MESSAGE_SERVER_HELLO)
            return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
        buf_drop(&v->message, 4 + n);
    }
    if (v->message.len == 0)
        buf_free(&v->message);
    return true;
}

static bool take_alert(struct v13 *v, struct slice body)
{
    if (body.len != 2)
        return v13_fail(v, ALERT_DECODE, BR_ERR_BAD_LENGTH);
    int alert = (unsigned char)body.ptr[1];
    if (alert == ALERT_CLOSE) {
        v->closed_in = true;
        return false;
    }
    if (alert == ALERT_CANCELED || (!v->in.suite && body.ptr[0] == 1))
        return count_idle(v);
    if (!v->code)
        v->code = BR_ERR_RECV_FATAL_ALERT + alert;
    return false;
}

static bool take_data(struct v13 *v, size_t n)
{
    if (v->step != V13_OPEN)
        return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
    if (n == 0)
        return count_idle(v);
    v->idle = 0;
    v->reading.plain_at = V13_HEAD;
    v->reading.plain_end = V13_HEAD + n;
    return true;
}

static bool take_content(struct v13 *v, unsigned type, struct slice body)
{
    if (type != RECORD_HANDSHAKE && v->message.len > 0)
        return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
    if (type == RECORD_ALERT)
        return take_alert(v, body);
    if (type == RECORD_DATA && v->in.suite)
        return take_data(v, body.len);
    if (type != RECORD_HANDSHAKE || body.len == 0)
        return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
    if (v->step == V13_OPEN && !count_idle(v))
        return false;
    if (!buf_put(&v->message, body))
        return v13_fail(v, ALERT_ILLEGAL, BR_ERR_TOO_LARGE);
    return take_messages(v);
}

/* 0-RTT data, which a server that does not accept it skips (RFC 8446 §4.2.10): after a HelloRetryRequest up to the second ClientHello, else
 * records that cannot be decrypted, up to the first that can. */
static bool skip_early(struct v13 *v, size_t n)
{
    bool may = v->shake && n && n <= v->shake->early;
    if (may)
        v->shake->early -= n;
    return may;
}

/* Decrypts the record in place. Its last byte that is not zero is the type of the content; zeros behind that are padding. */
static bool take_sealed(struct v13 *v, size_t n)
{
    unsigned char *text = v->reading.room + V13_HEAD;
    if (n < V13_TAG + 1 || !v13_open(&v->in, v->reading.room, text, n - V13_TAG)) {
        if (!skip_early(v, n))
            return v13_fail(v, ALERT_BAD_MAC, BR_ERR_BAD_MAC);
        v->in.sequence = 0;
        return true;
    }
    if (v->shake)
        v->shake->early = 0;
    n -= V13_TAG;
    if (n > V13_PLAIN + 1)
        return v13_fail(v, ALERT_OVERFLOW, BR_ERR_TOO_LARGE);
    while (n > 0 && text[n - 1] == 0)
        n--;
    if (n == 0 || text[n - 1] == RECORD_CCS)
        return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
    return take_content(v, text[n - 1], (struct slice){(const char *)text, n - 1});
}

/* change_cipher_spec is ignored, and allowed only between the first ClientHello and the peer's Finished (RFC 8446 §5). */
static bool take_change(struct v13 *v, struct slice body)
{
    bool may = v->step != V13_START && !v->peer_finished && v->message.len == 0;
    if (!may || !slice_eq(body, SLICE("\1")))
        return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
    return count_idle(v);
}

static bool take_record(struct v13 *v)
{
    unsigned type = v->reading.room[0];
    struct slice body = {(const char *)v->reading.room + V13_HEAD, v->reading.len - V13_HEAD};
    if ((v->step == V13_START || v->step == V13_HELLO) &&
        !buf_put(&v->shake->raw, (struct slice){(const char *)v->reading.room, v->reading.len}))
        return v13_fail(v, ALERT_ILLEGAL, BR_ERR_TOO_LARGE);
    if (type == RECORD_CCS)
        return take_change(v, body);
    if (type == RECORD_DATA && v->step == V13_RETRIED && skip_early(v, body.len))
        return true;
    /* A client that rejects our ServerHello has no keys: it sends its alert in the clear. */
    bool clear = type == RECORD_ALERT && v->server && v->step == V13_FINISHED && v->in.sequence == 0;
    if (!v->in.suite || clear)
        return take_content(v, type, body);
    return type == RECORD_DATA ? take_sealed(v, body.len) : v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
}

/* The length of the record, from its header; 0: the header is invalid, and the session has failed. */
static size_t record_len(struct v13 *v)
{
    const unsigned char *head = v->reading.room;
    size_t n = (size_t)head[3] << 8 | head[4];
    if (head[1] != 3) {
        v13_fail(v, ALERT_VERSION, BR_ERR_UNSUPPORTED_VERSION);
        return 0;
    }
    if (head[0] < RECORD_CCS || head[0] > RECORD_DATA) {
        v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
        return 0;
    }
    if (n > ((v->in.suite || v->step == V13_RETRIED) && head[0] == RECORD_DATA ? V13_PLAIN + V13_OVERHEAD : V13_PLAIN)) {
        v13_fail(v, ALERT_OVERFLOW, BR_ERR_BAD_LENGTH);
        return 0;
    }
    return V13_HEAD + n;
}

char *v13_recv_room(struct v13 *v, size_t *n)
{
    *n = 0;
    if (v->code || v->closed_in || v->closed_out || v->reading.plain_end)
        return NULL;
    size_t want = v->reading.len < V13_HEAD ? V13_HEAD : V13_HEAD + ((size_t)v->reading.room[3] << 8 | v->reading.room[4]);
    *n = want - v->reading.len;
    return (char *)v->reading.room + v->reading.len;
}

void v13_recv_wrote(struct v13 *v, size_t n)
{
    v->reading.len += n;
    if (v->reading.len < V13_HEAD)
        return;
    size_t want = record_len(v);
    if (want == 0 || v->reading.len < want)
        return;
    take_record(v);
    v->reading.len = 0;
}

struct slice v13_read_peek(const struct v13 *v)
{
    return v->reading.plain_end
               ? (struct slice){(const char *)v->reading.room + v->reading.plain_at, v->reading.plain_end - v->reading.plain_at}
               : SLICE_NONE;
}

void v13_read_used(struct v13 *v, size_t n)
{
    v->reading.plain_at += n;
    if (v->reading.plain_at == v->reading.plain_end)
        v->reading.plain_at = v->reading.plain_end = 0;
}
