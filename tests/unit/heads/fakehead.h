/* Heads without Ray: a GCS and a dashboard as bytes in and bytes out. What a head answers is a recorded message or what a test says; how it
 * misbehaves is a field. Who carries the bytes: headnet.h in the tests of this room, tests/model/sim/fakeray.c in worlds with an operator,
 * tests/bench/heads.c on real sockets.
 *
 * fakehead_connect, fakehead_feed with what the client sent, conn->out for what it gets, fakehead_disconnect. What no client of ours may
 * send ends the program. */
#ifndef MOBULA_TEST_FAKEHEAD_H
#define MOBULA_TEST_FAKEHEAD_H

#include <mobula/heads.h>

#include <stdio.h>

enum { FAKEHEAD_BYTES = 80 * MIB, FAKEHEAD_FRAME = 16 * KIB };

struct fakehead {
    struct slice state;   /* the message that GetClusterResourceState gets */
    struct slice drain;   /* likewise DrainNode */
    const char *token;    /* asked of everything but the health check, or NULL */
    const char *also;     /* will do as well, or NULL */
    const char *refusal;  /* of every call: a grpc-status other than 0, as text; or NULL */
    struct slice garbage; /* sent instead of any answer, or SLICE_NONE */
    bool plain;           /* garbage comes without HTTP/2's greeting before it */
    bool hangs;           /* takes calls and never answers */
    bool cuts;            /* ends the connection at each call */
    bool cuts_kept;       /* only at a second call on a connection */
    size_t cuts_after;    /* bytes of an answer, and then the connection ends; 0: all of it */
    size_t stalls_after;  /* bytes of an answer, and then nothing more comes; 0: all of it */
    bool goes_away;       /* says GOAWAY behind each answer */
    size_t per_step;      /* bytes of output that the client gets each millisecond; 0: all */
    /* The dashboard: writes the body of an answer and gives its status. NULL: it knows nothing. */
    int (*dash)(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out);
    /* Before the answer to a call of the GCS: time to make the message that it gets. NULL: `state` and `drain` are ready. */
    void (*asked)(struct fakehead *h, const char *method, struct slice message);
    void *owner; /* the test's */
    /* what came */
    uint32_t connections, calls, dashes, states, reports, drains, checks;
    uint32_t hung, garbled, lost, shortened; /* of these, what `hangs`, `garbage`, `cuts` and `cuts_after` have come to */
    char report[4096], drained[256];         /* the last messages, their beginnings */
    size_t report_len, drained_len, report_size;
};

struct fakehead_conn {
    struct fakehead *head;
    struct buf in, out;
    bool greeted, ended;
    bool http; /* of the dashboard's port */
    struct http_reader request;
    bool authorized;
    uint32_t calls;
    struct buf message; /* of the call that is coming in, with its prefix */
    char path[256], method[16];
    bool allowed;
};

__attribute__((unused)) static struct fakehead_conn *fakehead_connect(struct fakehead *h, uint16_t port)
{
    struct fakehead_conn *c = mem_alloc(sizeof *c);
    c->head = h;
    c->http = port == 8265;
    http_reader_init(&c->request, HTTP_REQUESTS);
    buf_init(&c->in, FAKEHEAD_BYTES);
    buf_init(&c->out, FAKEHEAD_BYTES);
    buf_init(&c->message, FAKEHEAD_BYTES);
    h->connections++;
    return c;
}

__attribute__((unused)) static void fakehead_disconnect(struct fakehead_conn *c)
{
    buf_free(&c->in);
    buf_free(&c->out);
    buf_free(&c->message);
    http_reader_free(&c->request);
    mem_free(c);
}

static void fakehead_frame(struct fakehead_conn *c, unsigned type, unsigned flags, uint32_t stream, struct slice payload)
{
    const char head[] = {(char)(payload.len >> 16), (char)(payload.len >> 8), (char)payload.len,   (char)type,  (char)flags,
                         (char)(stream >> 24),      (char)(stream >> 16),     (char)(stream >> 8), (char)stream};
    buf_put(&c->out, (struct slice){head, sizeof head});
    buf_put(&c->out, payload);
}

/* As Ray writes them. */
static void fakehead_status(struct fakehead_conn *c, uint32_t stream, const char *status, bool alone)
{
    struct buf b;
    buf_init(&b, 1024);
    if (alone)
        buf_put(&b, SLICE("\x20\x88"));
    buf_printf(&b, "\x40\x0bgrpc-status%c%s", (int)strlen(status), status);
    fakehead_frame(c, 1, 5, stream, buf_slice(&b));
    buf_free(&b);
}

static void fakehead_message(struct fakehead_conn *c, uint32_t stream, struct slice message)
{
    struct buf b;
    buf_init(&b, FAKEHEAD_BYTES);
    const char prefix[] = {0, (char)(message.len >> 24), (char)(message.len >> 16), (char)(message.len >> 8), (char)message.len};
    buf_put(&b, (struct slice){prefix, sizeof prefix});
    buf_put(&b, message);
    fakehead_frame(c, 1, 4, stream,
                   SLICE("\x20\x88\x5f\x10"
                         "application/grpc"));
    for (struct slice rest = buf_slice(&b); !slice_empty(rest); rest = slice_skip(rest, slice_head(rest, FAKEHEAD_FRAME).len))
        fakehead_frame(c, 0, 0, stream, slice_head(rest, FAKEHEAD_FRAME));
    fakehead_status(c, stream, "0", false);
    buf_free(&b);
}

static bool fakehead_asks(const struct fakehead_conn *c, const char *method)
{
    return strstr(c->path, method) != NULL;
}

static void fakehead_keep(char *to, size_t size, size_t *len, struct slice message)
{
    *len = message.len < size ? message.len : size;
    memcpy(to, message.ptr, *len);
}

static void fakehead_answer(struct fakehead_conn *c, uint32_t stream)
{
    struct fakehead *h = c->head;
    struct slice message = slice_skip(buf_slice(&c->message), 5);
    h->calls++;
    if (h->asked)
        h->asked(h, strrchr(c->path, '/') + 1, message);
    bool check = fakehead_asks(c, "Health/Check");
    if (h->refusal || (!c->allowed && !check)) {
        fakehead_status(c, stream, h->refusal ? h->refusal : "16", true);
    } else if (check) {
        h->checks++;
        fakehead_message(c, stream, SLICE("\x08\x01"));
    } else if (fakehead_asks(c, "GetClusterResourceState")) {
        h->states++;
        fakehead_message(c, stream, h->state);
    } else if (fakehead_asks(c, "ReportAutoscalingState")) {
        h->reports++;
        h->report_size = message.len;
        fakehead_keep(h->report, sizeof h->report, &h->report_len, message);
        fakehead_message(c, stream, SLICE(""));
    } else if (fakehead_asks(c, "DrainNode")) {
        h->drains++;
        fakehead_keep(h->drained, sizeof h->drained, &h->drained_len, message);
        fakehead_message(c, stream, h->drain);
    } else {
        fakehead_status(c, stream, "12", true);
    }
    if (h->goes_away)
        fakehead_frame(c, 7, 0, 0, SLICE("\x7f\xff\xff\xff\0\0\0\0"));
}

static void fakehead_call(struct fakehead_conn *c, uint32_t stream)
{
    struct fakehead *h = c->head;
    c->calls++;
    if (h->cuts || (h->cuts_kept && c->calls > 1)) {
        c->ended = true;
        h->lost++;
    } else if (h->garbage.ptr) {
        buf_put(&c->out, h->garbage);
        h->garbled++;
    } else if (!h->hangs) {
        fakehead_answer(c, stream);
    }
    h->hung += h->hangs;
    if (h->cuts_after && c->out.len > h->cuts_after) {
        c->out.len = h->cuts_after;
        c->ended = true;
        h->shortened++;
    }
    if (h->stalls_after && c->out.len > h->stalls_after)
        c->out.len = h->stalls_after;
    buf_clear(&c->message);
}

/* whole: the header's value, else what it stands in. */
static bool fakehead_brings(struct slice text, const char *token, bool whole)
{
    char value[300];
    snprintf(value, sizeof value, "Bearer %s", token ? token : "");
    return whole ? slice_eq(text, slice_of(value)) : memmem(text.ptr, text.len, value, strlen(value)) != NULL;
}

static bool fakehead_allows(const struct fakehead *h, struct slice text, bool whole)
{
    return !h->token || fakehead_brings(text, h->token, whole) || (h->also && fakehead_brings(text, h->also, whole));
}

static void fakehead_headers(struct fakehead_conn *c, struct slice block)
{
    char *slash = memchr(block.ptr, '/', block.len);
    if (!slash)
        fatal("fakehead: a call without a path");
    size_t len = slash ? (unsigned char)slash[-1] : 0; /* the length of a short text stands before it */
    snprintf(c->path, sizeof c->path, "%.*s", (int)len, slash ? slash : "");
    c->allowed = fakehead_allows(c->head, block, false);
}

/* Frames that are complete. */
static void fakehead_frames(struct fakehead_conn *c)
{
    while (c->in.len >= 9) {
        const unsigned char *p = (const unsigned char *)c->in.ptr;
        size_t len = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
        unsigned type = p[3], flags = p[4];
        uint32_t stream = (uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8];
        if (c->in.len < 9 + len)
            return;
        struct slice payload = {c->in.ptr + 9, len};
        if (type == 4 && !(flags & 1) && !c->head->plain)
            fakehead_frame(c, 4, 1, 0, SLICE(""));
        if (type == 1)
            fakehead_headers(c, payload);
        if (type == 0)
            buf_put(&c->message, payload);
        if (type == 0 && flags & 1)
            fakehead_call(c, stream);
        buf_drop(&c->in, 9 + len);
    }
}

/* ---- the dashboard ---- */

static void fakehead_dash(struct fakehead_conn *c)
{
    struct fakehead *h = c->head;
    struct buf body;
    buf_init(&body, FAKEHEAD_BYTES);
    h->dashes++;
    int status = 404;
    if (!c->authorized)
        status = 401;
    else if (h->dash)
        status = h->dash(h, slice_of(c->method), slice_of(c->path), buf_slice(&c->message), &body);
    const struct http_header type = {SLICE("Content-Type"), SLICE("application/json")};
    struct slice bytes = buf_slice(&body);
    if (h->garbage.ptr)
        buf_put(&c->out, h->garbage);
    else if (!h->hangs && !h->cuts)
        http_write_response(&c->out, status, &type, 1, &bytes);
    c->ended = !h->hangs;
    h->hung += h->hangs;
    h->garbled += h->garbage.ptr != NULL;
    h->lost += h->cuts;
    h->shortened += h->cuts_after && c->out.len > h->cuts_after;
    if (h->cuts_after && c->out.len > h->cuts_after)
        c->out.len = h->cuts_after;
    buf_free(&body);
    buf_clear(&c->message);
}

static void fakehead_request(struct fakehead_conn *c)
{
    struct slice in = buf_slice(&c->in), body;
    struct err e = {0};
    enum http_step step = HTTP_HEAD;
    while (step == HTTP_HEAD || step == HTTP_BODY) {
        step = http_read(&c->request, &in, &body, &e);
        if (step == HTTP_BODY)
            buf_put(&c->message, body);
        if (step == HTTP_HEAD) {
            snprintf(c->method, sizeof c->method, "%.*s", SLICE_ARG(c->request.method));
            snprintf(c->path, sizeof c->path, "%.*s", SLICE_ARG(c->request.target));
            c->authorized = fakehead_allows(c->head, http_header_get(&c->request, SLICE("authorization")), true);
        }
    }
    if (step == HTTP_BAD)
        fatal("fakehead: a request that is none: %s", e.text);
    buf_drop(&c->in, c->in.len - in.len);
    if (step == HTTP_END)
        fakehead_dash(c);
}

/* What a GCS of Ray 2.60 says before anything else, PING included. */
#define FAKEHEAD_GREETING                                                                                                                  \
    "\0\0\x18\4\0\0\0\0\0\0\4\0\x40\0\0\0\5\0\x40\0\0\0\6\0\0\x40\0\xfe\3\0\0\0\1"                                                         \
    "\0\0\4\x08\0\0\0\0\0\0\x3f\0\1"                                                                                                       \
    "\0\0\x08\6\0\0\0\0\0\0\0\0\0\0\0\0\0"

__attribute__((unused)) static void fakehead_feed(struct fakehead_conn *c, struct slice bytes)
{
    static const struct slice preface = {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24};
    buf_put(&c->in, bytes);
    if (c->http) {
        fakehead_request(c);
        return;
    }
    if (!c->greeted && c->in.len >= preface.len) {
        if (!slice_eq(slice_head(buf_slice(&c->in), preface.len), preface))
            fatal("fakehead: a client that does not begin as HTTP/2 does");
        buf_drop(&c->in, preface.len);
        c->greeted = true;
        if (!c->head->plain)
            buf_put(&c->out, SLICE(FAKEHEAD_GREETING));
    }
    if (c->greeted)
        fakehead_frames(c);
}

#endif
