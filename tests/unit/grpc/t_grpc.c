#include "hex.h"

#include "../json/cases.h"
#include "src/grpc/frames.h"

/* ---- one call, fed with what a server sends ---- */

struct call {
    struct grpc c;
    struct err e;
    enum grpc_step step;
    struct slice left; /* what was not used */
};

enum { ANSWER_MAX = 256 * KIB };

static void call_begin(struct call *k, struct slice path, struct slice token, struct slice message)
{
    *k = (struct call){0};
    grpc_init(&k->c);
    const struct grpc_request r = {path, SLICE("gcs"), token, message, ANSWER_MAX, false};
    grpc_call(&k->c, &r);
}

/* In pieces of so many bytes, each at the end of a page. */
static void feed(struct call *k, struct slice bytes, size_t piece)
{
    k->step = k->step == GRPC_BROKEN ? GRPC_BROKEN : GRPC_MORE;
    while (k->step == GRPC_MORE && !slice_empty(bytes)) {
        struct slice in = guarded(slice_head(bytes, piece));
        size_t had = in.len;
        k->step = grpc_read(&k->c, &in, &k->e);
        CHECK(k->step != GRPC_MORE || slice_empty(in));
        bytes = slice_skip(bytes, had - in.len);
    }
    k->left = bytes;
}

/* ---- recorded calls ---- */

struct recorded {
    struct case_text text;
    struct slice path, asked, sent, frames, message, token;
};

static void recorded_read(struct recorded *r, struct arena *a)
{
    r->path = slice_trim(case_part(&r->text, "path"));
    r->asked = from_hex(case_part(&r->text, "asked"), a);
    r->sent = from_hex(case_part(&r->text, "sent"), a);
    r->frames = from_hex(case_part(&r->text, "frames"), a);
    r->message = from_hex(case_part(&r->text, "message"), a);
    struct slice name = r->text.name;
    r->token = slice_ends(name, SLICE("-right")) ? SLICE("mobula-test-token-0123456789abcdef0123456789abcdef") : SLICE("");
    r->token = slice_ends(name, SLICE("-wrong")) ? SLICE("wrong") : r->token;
}

static void recorded_asked(const struct recorded *r, struct arena *a)
{
    struct call k;
    call_begin(&k, r->path, r->token, r->asked);
    struct slice out = arena_dup(a, buf_slice(&k.c.out));
    char *secret = memmem(out.ptr, out.len, "\x1f\x08", 2); /* we ask proxies to forget it; otherwise the bytes are the same */
    if (secret)
        *secret = 0x0f;
    CHECK_INT(secret != NULL, r->token.len > 0);
    if (!slice_starts(r->text.name, SLICE("wrong-cluster-id"))) /* that one has a header that we never send */
        CHECK_SLICE(to_hex(out, a), to_hex(r->sent, a));
    grpc_free(&k.c);
}

static void recorded_answered(const struct recorded *r, size_t piece)
{
    struct call k;
    call_begin(&k, r->path, r->token, r->asked);
    feed(&k, r->frames, piece);
    if (k.step == GRPC_DONE)
        CHECK_SLICE(grpc_answer(&k.c), r->message);
    else
        CHECK(k.step == GRPC_REFUSED && k.c.status > 0 && k.e.code == ERR_STATUS);
    CHECK_INT(k.left.len, 0);
    CHECK(grpc_reusable(&k.c));
    grpc_free(&k.c);
}

static void recorded_calls(void)
{
    struct arena a = {0};
    struct slice file = read_file("tests/data/ray/gcs/h2.case", &a);
    int calls = 0;
    for (struct recorded r; case_next(&file, &r.text); calls++) {
        recorded_read(&r, &a);
        recorded_asked(&r, &a);
        for (size_t piece = 1; piece <= r.frames.len; piece = piece < 20 ? piece + 1 : piece * 2)
            recorded_answered(&r, piece);
        recorded_answered(&r, r.frames.len);
        for (size_t cut = 1; cut < r.frames.len; cut++) { /* two pieces, cut at every point */
            struct call k;
            call_begin(&k, r.path, r.token, r.asked);
            feed(&k, slice_head(r.frames, cut), cut);
            if (!CHECK_INT(k.step, GRPC_MORE))
                break;
            feed(&k, slice_skip(r.frames, cut), r.frames.len);
            CHECK(k.step == (r.message.len || k.c.status == 0 ? GRPC_DONE : GRPC_REFUSED));
            grpc_free(&k.c);
        }
    }
    CHECK_INT(calls, 33);
    arena_free(&a);
}

static void refusals(void)
{
    static const struct {
        const char *name, *says;
        int status;
    } cases[] = {
        {"unknown-method", "the server answers with gRPC status 12", 12},
        {"bad-message", "the server answers with gRPC status 13: Unable to parse request", 13},
        {"auth-wrong", "the server answers with gRPC status 16: InvalidAuthToken: Authentication token is missing or incorrect", 16},
        {"wrong-cluster-id",
         "the server answers with gRPC status 16: WrongClusterID: Perhaps the client is accessing GCS after it has restarted.", 16},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct slice file = read_file("tests/data/ray/gcs/h2.case", &a);
        struct recorded r;
        while (case_next(&file, &r.text) && !slice_eq(r.text.name, slice_of(cases[i].name)))
            ;
        recorded_read(&r, &a);
        struct call k;
        call_begin(&k, r.path, r.token, r.asked);
        feed(&k, r.frames, 7);
        CHECK_INT(k.step, GRPC_REFUSED);
        CHECK_INT(k.c.status, cases[i].status);
        CHECK_STR(slice_of(k.e.text), cases[i].says);
        grpc_free(&k.c);
        arena_free(&a);
    }
}

/* ---- what else may come: after our request, and after SETTINGS where the case does not bring its own ---- */

#define SETTINGS_F "000000040000000000 "
#define HEAD "000001010400000001 88 "
#define DATA(len, body) "0000" len "000000000001 " body " "
#define TRAILER "00000f010500000001 400b677270632d7374617475730130 "

static const struct {
    const char *id, *hex;
    enum grpc_step want;
    const char *says; /* how the error ends */
} answers[] = {
    {"plain", SETTINGS_F HEAD DATA("07", "0000000002 0801") TRAILER, GRPC_DONE, NULL},
    {"empty message", SETTINGS_F HEAD DATA("05", "0000000000") TRAILER, GRPC_DONE, NULL},
    {"frames without bytes", SETTINGS_F HEAD DATA("00", "") DATA("05", "0000000000") DATA("00", "") TRAILER, GRPC_DONE, NULL},
    {"prefix in pieces", SETTINGS_F HEAD DATA("01", "00") DATA("03", "000000") DATA("02", "0108") TRAILER, GRPC_DONE, NULL},
    {"padded", SETTINGS_F HEAD "00000a000800000001 02 00000000020801 0000 " TRAILER, GRPC_DONE, NULL},
    {"only padding", SETTINGS_F HEAD "000003000800000001 02 0000 " DATA("05", "0000000000") TRAILER, GRPC_DONE, NULL},
    {"padded headers with priority", SETTINGS_F "000009012c00000001 02 0000000010 88 0000 " DATA("05", "0000000000") TRAILER, GRPC_DONE,
     NULL},
    {"continuation", SETTINGS_F "000000010000000001 000000090000000001 000001090400000001 88 " DATA("05", "0000000000") TRAILER, GRPC_DONE,
     NULL},
    {"trailers in two frames",
     SETTINGS_F HEAD DATA("05", "0000000000") "000005010100000001 400b677270 00000a090400000001 632d7374617475730130", GRPC_DONE, NULL},
    {"padded headers with continuation",
     SETTINGS_F "000004010800000001 02 40 0000 00000e090400000001 0b677270632d7374617475730130 " HEAD DATA("05", "0000000000") TRAILER,
     GRPC_DONE, NULL},
    {"HTTP 100 first", SETTINGS_F "000005010400000001 0803313030 " HEAD DATA("05", "0000000000") TRAILER, GRPC_DONE, NULL},
    {"Huffman-coded trailers", SETTINGS_F HEAD DATA("05", "0000000000") "00000c010500000001 40889acac8b21234da8f8107", GRPC_DONE, NULL},
    {"a PING, an unknown frame, PRIORITY, a WINDOW_UPDATE",
     SETTINGS_F
     "0000080600000000000102030405060708 000002fa00000000000102 0000050200000000010000000010 0000040800000000000000000a " HEAD DATA(
         "05", "0000000000") TRAILER,
     GRPC_DONE, NULL},
    {"going away, but not before this", SETTINGS_F "0000080700000000000000000100000000 " HEAD DATA("05", "0000000000") TRAILER, GRPC_DONE,
     NULL},
    {"going away", SETTINGS_F "0000080700000000000000000000000000", GRPC_BROKEN,
     "about to close the connection and did not take the call (HTTP/2 error 0)"},
    {"a short GOAWAY", SETTINGS_F "00000707000000000000000000000000", GRPC_BROKEN, "a GOAWAY is cut off"},
    {"reset", SETTINGS_F "00000403000000000100000008", GRPC_REFUSED, "the server gave the call up (HTTP/2 error 8)"},
    {"a short reset", SETTINGS_F "000003030000000001000008", GRPC_BROKEN, "a RST_STREAM is not 4 bytes long"},
    {"HTTP 503", SETTINGS_F "000005010500000001 0803353033", GRPC_REFUSED, "HTTP status 503"},
    {"no HTTP status", SETTINGS_F TRAILER, GRPC_REFUSED, "HTTP status 0"},
    {"a status that is no number", SETTINGS_F "000005010500000001 0803353078", GRPC_BROKEN, "its status is no number"},
    {"a negative status", SETTINGS_F HEAD "000010010500000001 400b677270632d737461747573022d31", GRPC_BROKEN, "its status is no number"},
    {"no grpc-status", SETTINGS_F HEAD "000005000100000001 0000000000", GRPC_BROKEN, "it has no grpc-status"},
    {"message cut off", SETTINGS_F HEAD DATA("06", "000000000208") TRAILER, GRPC_BROKEN, "its message is cut off"},
    {"no message", SETTINGS_F HEAD TRAILER, GRPC_BROKEN, "its message is cut off"},
    {"two messages", SETTINGS_F HEAD DATA("0a", "00000000000000000000") TRAILER, GRPC_BROKEN, "there is more than one message"},
    {"a compressed message", SETTINGS_F HEAD DATA("07", "01000000020801") TRAILER, GRPC_BROKEN, "its message is compressed"},
    {"DATA before HEADERS", SETTINGS_F DATA("05", "0000000000"), GRPC_BROKEN, "it has no headers"},
    {"headers in the middle", SETTINGS_F HEAD HEAD, GRPC_BROKEN, "there are headers in its middle"},
    {"a broken header block", SETTINGS_F "000001010400000001 be", GRPC_BROKEN,
     "a header field refers to a table that we announced as empty"},
    {"no SETTINGS", HEAD, GRPC_BROKEN, "it does not begin with SETTINGS"},
    {"an acknowledgement first", "000000040100000000", GRPC_BROKEN, "it does not begin with SETTINGS"},
    {"HTTP/1.1", "485454502f312e3120343030204261642052657175657374", GRPC_BROKEN, "it is HTTP/1"},
    {"SETTINGS cut off", "000005040000000000 0001000000", GRPC_BROKEN, "its SETTINGS are cut off"},
    {"SETTINGS of a stream", "000000040000000001", GRPC_BROKEN, "a frame is of the wrong stream"},
    {"an acknowledgement with something in it", SETTINGS_F "000006040100000000 000100000000", GRPC_BROKEN,
     "a SETTINGS acknowledgement has a payload"},
    {"a window of 2^31", "000006040000000000 000480000000", GRPC_BROKEN, "a window is too large"},
    {"a frame of 16 KiB and a byte", SETTINGS_F "004001000000000001", GRPC_BROKEN, "a frame is longer than 16 KiB"},
    {"DATA of no stream", SETTINGS_F "000000000000000000", GRPC_BROKEN, "a frame is of the wrong stream"},
    {"DATA of a stream to come", SETTINGS_F "000000000000000003", GRPC_BROKEN, "a frame is of a stream that was never opened"},
    {"HEADERS of a stream of the server's", SETTINGS_F "000000010400000002", GRPC_BROKEN, "a frame is of a stream that was never opened"},
    {"a push", SETTINGS_F "000004050400000001 00000002", GRPC_BROKEN, "it pushes what nobody asked for"},
    {"a continuation of nothing", SETTINGS_F "000000090400000001", GRPC_BROKEN, "a header block is not whole"},
    {"something else in a header block", SETTINGS_F "000001010000000001 88 000000000000000001", GRPC_BROKEN, "a header block is not whole"},
    {"a short PING", SETTINGS_F "000007060000000000 00000000000000", GRPC_BROKEN, "a PING is not 8 bytes long"},
    {"a short WINDOW_UPDATE", SETTINGS_F "000003080000000000 000001", GRPC_BROKEN, "a WINDOW_UPDATE is not 4 bytes long"},
    {"a WINDOW_UPDATE of 0", SETTINGS_F "000004080000000000 00000000", GRPC_BROKEN, "a WINDOW_UPDATE is out of range"},
    {"a WINDOW_UPDATE beyond 2^31", SETTINGS_F "000004080000000000 7fffffff", GRPC_BROKEN, "a WINDOW_UPDATE is out of range"},
    {"padding longer than DATA", SETTINGS_F HEAD "000002000800000001 0200", GRPC_BROKEN, "a frame is shorter than its padding"},
    {"padding of nothing", SETTINGS_F HEAD "000000000800000001", GRPC_BROKEN, "a frame is shorter than its padding"},
    {"padding longer than HEADERS", SETTINGS_F "000002010c00000001 0288", GRPC_BROKEN, "a frame is shorter than its padding"},
    {"priority of nothing", SETTINGS_F "000001012400000001 88", GRPC_BROKEN, "a frame is shorter than its padding"},
};

static void other_answers(void)
{
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        for (size_t piece = 1; piece < 8; piece++) {
            struct arena a = {0};
            struct call k;
            test_case("%s, in pieces of %zu", answers[i].id, piece);
            call_begin(&k, SLICE("/p"), SLICE(""), SLICE(""));
            feed(&k, from_hex(slice_of(answers[i].hex), &a), piece);
            CHECK_INT(k.step, answers[i].want);
            bool says = answers[i].says ? slice_ends(slice_of(k.e.text), slice_of(answers[i].says)) : k.e.code == ERR_NONE;
            if (!CHECK(says))
                printf("  says \"%s\"\n", k.e.text);
            CHECK(answers[i].want == GRPC_MORE || !k.c.calling || k.step == GRPC_BROKEN);
            grpc_free(&k.c);
            arena_free(&a);
        }
}

/* ---- limits ---- */

/* A message of so many bytes in DATA frames of at most 16 KiB. */
static enum grpc_step long_message(size_t bytes, struct err *e)
{
    struct arena a = {0};
    struct call k;
    char *body = arena_alloc(&a, 16 * KIB);
    call_begin(&k, SLICE("/p"), SLICE(""), SLICE(""));
    feed(&k, HEX(SETTINGS_F HEAD, &a), SIZE_MAX);
    feed(&k, from_hex(arena_printf(&a, "000005000000000001 00%08zx", bytes), &a), SIZE_MAX);
    for (size_t left = bytes; left > 0 && k.step == GRPC_MORE;) {
        size_t n = left < 16 * KIB ? left : 16 * KIB;
        feed(&k, from_hex(arena_printf(&a, "%06zx000000000001", n), &a), SIZE_MAX);
        feed(&k, (struct slice){body, n}, SIZE_MAX);
        left -= n;
    }
    if (k.step == GRPC_MORE)
        feed(&k, HEX(TRAILER, &a), SIZE_MAX);
    CHECK(k.step != GRPC_DONE || grpc_answer(&k.c).len == bytes);
    *e = k.e;
    grpc_free(&k.c);
    arena_free(&a);
    return k.step;
}

/* One header block in so many bytes of continuation frames of `each` bytes. */
static enum grpc_step long_headers(size_t bytes, size_t each, struct err *e)
{
    struct arena a = {0};
    struct call k;
    char *body = arena_alloc(&a, each);
    memset(body, 0x88, each);
    call_begin(&k, SLICE("/p"), SLICE(""), SLICE(""));
    feed(&k, HEX(SETTINGS_F "000000010000000001", &a), SIZE_MAX);
    for (size_t left = bytes; left > 0 && k.step == GRPC_MORE;) {
        size_t n = left < each ? left : each;
        feed(&k, from_hex(arena_printf(&a, "%06zx09%s00000001", n, n == left ? "04" : "00"), &a), SIZE_MAX);
        feed(&k, (struct slice){body, n}, SIZE_MAX);
        left -= n;
    }
    *e = k.e;
    grpc_free(&k.c);
    arena_free(&a);
    return k.step;
}

static enum grpc_step many_pings(size_t pings, struct err *e)
{
    struct arena a = {0};
    struct call k;
    call_begin(&k, SLICE("/p"), SLICE(""), SLICE(""));
    feed(&k, HEX(SETTINGS_F, &a), SIZE_MAX);
    for (size_t i = 0; i < pings && k.step == GRPC_MORE; i++)
        feed(&k, HEX("0000080601000000000000000000000000", &a), SIZE_MAX);
    *e = k.e;
    grpc_free(&k.c);
    arena_free(&a);
    return k.step;
}

static void limits(void)
{
    enum { PING = 17, SETTINGS_SIZE = 9 };
    size_t pings = (LIMIT_RAY_CHATTER - SETTINGS_SIZE) / PING;
    struct err e;
    test_case("message");
    CHECK_INT(long_message(ANSWER_MAX, &e), GRPC_DONE);
    CHECK_INT(long_message(ANSWER_MAX + 1, &e), GRPC_BROKEN);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(long_message(UINT32_MAX, &e), GRPC_BROKEN);
    CHECK_INT(e.code, ERR_LIMIT);
    test_case("headers");
    CHECK_INT(long_headers(LIMIT_RAY_HEADERS, 1 * KIB, &e), GRPC_MORE);
    CHECK_INT(long_headers(LIMIT_RAY_HEADERS + 1, 1 * KIB, &e), GRPC_BROKEN);
    CHECK(strstr(e.text, "LIMIT_RAY_HEADERS"));
    test_case("frames that are no answer");
    CHECK_INT(many_pings(pings, &e), GRPC_MORE);
    CHECK_INT(many_pings(pings + 1, &e), GRPC_BROKEN);
    CHECK(strstr(e.text, "LIMIT_RAY_CHATTER"));
    /* Empty frames cost as well, in headers that never end. */
    CHECK_INT(long_headers(LIMIT_RAY_HEADERS, 1, &e), GRPC_BROKEN);
    CHECK(strstr(e.text, "LIMIT_RAY_CHATTER"));
}

/* ---- what we send ---- */

static void acknowledged(void)
{
    struct arena a = {0};
    struct call k;
    test_case("SETTINGS and PING are acknowledged, an acknowledgement is not");
    call_begin(&k, SLICE("/p"), SLICE(""), SLICE(""));
    buf_clear(&k.c.out);
    feed(&k, HEX(SETTINGS_F "0000080600000000000102030405060708 000000040100000000 0000080601000000000102030405060708", &a), 5);
    CHECK_SLICE(to_hex(buf_slice(&k.c.out), &a), SLICE("000000040100000000"
                                                       "0000080601000000000102030405060708"));
    grpc_free(&k.c);
    arena_free(&a);
}

/* DATA bytes in what we have written, and the flags of the last such frame. */
static size_t sent_data(struct slice out, unsigned *flags)
{
    size_t n = 0;
    while (out.len >= GRPC_FRAME_HEAD) {
        size_t len = (size_t)(unsigned char)out.ptr[0] << 16 | (size_t)(unsigned char)out.ptr[1] << 8 | (unsigned char)out.ptr[2];
        CHECK(len <= 16 * KIB);
        if (out.ptr[3] == FRAME_DATA) {
            n += len;
            *flags = (unsigned char)out.ptr[4];
        }
        out = slice_skip(out, GRPC_FRAME_HEAD + len);
    }
    CHECK_INT(out.len, 0);
    return n;
}

/* The peer's windows are kept, and the request goes on when they open. */
static void windows(void)
{
    struct arena a = {0};
    struct call k;
    unsigned flags = 0;
    char *message = arena_alloc(&a, 40000);
    test_case("windows");
    call_begin(&k, SLICE("/p"), SLICE(""), (struct slice){message, 39995});
    CHECK_INT(sent_data(slice_skip(buf_slice(&k.c.out), 24), &flags), 40000);
    CHECK_INT(flags, FLAG_END_STREAM);
    feed(&k, HEX("000006040000000000 000400002710 " HEAD DATA("05", "0000000000") TRAILER, &a), SIZE_MAX); /* 10,000 bytes a stream */
    CHECK_INT(k.step, GRPC_DONE);
    buf_clear(&k.c.out);
    const struct grpc_request again = {SLICE("/p"), SLICE("gcs"), SLICE(""), {message, 29995}, ANSWER_MAX, false};
    grpc_call(&k.c, &again);
    CHECK_INT(sent_data(buf_slice(&k.c.out), &flags), 10000); /* of the stream's */
    CHECK_INT(flags, 0);
    buf_clear(&k.c.out);
    feed(&k, HEX("000004080000000003 00007530", &a), SIZE_MAX);               /* 30,000 more */
    CHECK_INT(sent_data(buf_slice(&k.c.out), &flags), 65535 - 40000 - 10000); /* the connection's is used up */
    CHECK_INT(flags, 0);
    buf_clear(&k.c.out);
    feed(&k, HEX("000004080000000000 00010000", &a), SIZE_MAX);
    CHECK_INT(sent_data(buf_slice(&k.c.out), &flags), 30000 - (65535 - 40000));
    CHECK_INT(flags, FLAG_END_STREAM);
    grpc_free(&k.c);
    arena_free(&a);
}

/* A server that answers before it has heard all: the connection is not used again. */
static void early_answer(void)
{
    struct arena a = {0};
    struct call k;
    test_case("an early answer");
    call_begin(&k, SLICE("/p"), SLICE(""), SLICE("0123456789"));
    feed(&k, HEX("000006040000000000 000400000000 " HEAD DATA("05", "0000000000") TRAILER, &a), SIZE_MAX);
    CHECK(grpc_reusable(&k.c)); /* all was sent before the window closed */
    const struct grpc_request again = {SLICE("/p"), SLICE("gcs"), SLICE(""), SLICE("0123456789"), ANSWER_MAX, false};
    grpc_call(&k.c, &again);
    feed(&k, HEX("000001010400000003 88 000005000000000003 0000000000 00000f010500000003 400b677270632d7374617475730130", &a), SIZE_MAX);
    CHECK_INT(k.step, GRPC_DONE);
    CHECK(!grpc_reusable(&k.c));
    grpc_free(&k.c);
    arena_free(&a);
}

/* Many calls on one connection: the window is given back, memory is, and what still comes of an older call is passed over. */
static void kept(void)
{
    struct arena a = {0};
    struct call k;
    test_case("kept connection");
    call_begin(&k, SLICE("/p"), SLICE(""), SLICE(""));
    feed(&k, HEX(SETTINGS_F HEAD, &a), SIZE_MAX);
    feed(&k, from_hex(arena_printf(&a, "000005000000000001 00%08x 004000000000000001", 16 * KIB), &a), SIZE_MAX);
    feed(&k, (struct slice){arena_alloc(&a, 16 * KIB), 16 * KIB}, SIZE_MAX);
    feed(&k, HEX(TRAILER, &a), SIZE_MAX);
    CHECK_INT(k.step, GRPC_DONE);
    buf_clear(&k.c.out);
    grpc_rest(&k.c);
    CHECK(!k.c.out.ptr && !k.c.block.ptr && !k.c.body.ptr && !k.c.answer.ptr);
    CHECK_INT(k.c.credit, 16 * KIB + 5);
    for (uint32_t stream = 3; stream < 99; stream += 2) {
        const struct grpc_request again = {SLICE("/p"), SLICE("gcs"), SLICE(""), SLICE(""), ANSWER_MAX, false};
        grpc_call(&k.c, &again);
        CHECK_INT(k.c.stream, stream);
        feed(&k, HEX("000004030000000001 00000008 000004000000000001 01020304 " HEAD, &a), 3); /* of the first call */
        CHECK_INT(k.step, GRPC_MORE);
        feed(&k,
             from_hex(arena_printf(&a, "0000010104%08x 88 0000050000%08x 0000000000 00000f0105%08x 400b677270632d7374617475730130", stream,
                                   stream, stream),
                      &a),
             3);
        if (!CHECK_INT(k.step, GRPC_DONE))
            break;
        buf_clear(&k.c.out);
        grpc_rest(&k.c);
    }
    k.c.credit = 64 * KIB;
    const struct grpc_request last = {SLICE("/p"), SLICE("gcs"), SLICE(""), SLICE(""), ANSWER_MAX, false};
    grpc_call(&k.c, &last);
    CHECK_SLICE(to_hex(slice_head(buf_slice(&k.c.out), 13), &a), SLICE("000004080000000000"
                                                                       "00010000"));
    CHECK_INT(k.c.credit, 0);
    grpc_free(&k.c);
    arena_free(&a);
}

static void idle(void)
{
    struct arena a = {0};
    struct call k;
    test_case("between calls");
    call_begin(&k, SLICE("/p"), SLICE(""), SLICE(""));
    feed(&k, HEX(SETTINGS_F HEAD DATA("05", "0000000000") TRAILER, &a), SIZE_MAX);
    CHECK_INT(k.step, GRPC_DONE);
    buf_clear(&k.c.out);
    feed(&k, HEX("0000080600000000000102030405060708", &a), SIZE_MAX);
    CHECK_INT(k.step, GRPC_MORE);
    CHECK_INT(k.c.out.len, 17);
    CHECK(grpc_reusable(&k.c));
    feed(&k, HEX("0000080700000000000000000100000000", &a), SIZE_MAX);
    CHECK_INT(k.step, GRPC_MORE);
    CHECK(!grpc_reusable(&k.c));
    grpc_free(&k.c);
    arena_free(&a);
}

/* Somebody else's words are one clean line. */
static void messages(void)
{
    struct arena a = {0};
    struct call k;
    test_case("grpc-message");
    call_begin(&k, SLICE("/p"), SLICE(""), SLICE(""));
    /* "a%0A%09b%20%E2%82%ac%ff" */
    feed(&k,
         HEX(SETTINGS_F "000036010500000001 88 400b677270632d7374617475730132 400c677270632d6d657373616765 17"
                        "61253041253039622532302545322538322561632566 66",
             &a),
         SIZE_MAX);
    CHECK_INT(k.step, GRPC_REFUSED);
    CHECK_STR(slice_of(k.c.text), "a b \xe2\x82\xac?");
    grpc_free(&k.c);
    arena_free(&a);
}

int main(void)
{
    recorded_calls();
    refusals();
    other_answers();
    limits();
    acknowledged();
    windows();
    early_answer();
    kept();
    idle();
    messages();
    return test_done();
}
