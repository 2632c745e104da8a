/* Peers that break TLS 1.3: each case and the alert that RFC 8446 names for it. Records are encrypted with keys from a secret of zeros. */
#include "pki.h"

#include "src/tls/v13.h"

enum { NONE = -1 };
static const unsigned char secret[V13_HASH_MAX];

struct subject {
    struct v13 v;
    struct v13_keys keys; /* with which the test's peer sends */
    struct tls_check check;
    struct tls_identity *identity;
    unsigned char records[BR_SSL_BUFSIZE_BIDI];
};

static struct subject *subject_new(bool server, enum v13_step step)
{
    struct subject *s = mem_alloc(sizeof *s);
    bool sealed = step >= V13_EXTENSIONS;
    v13_start(&s->v, server, s->records);
    tls_check_init(&s->check, SLICE("a.test"), NULL, true, 0);
    s->v.check = &s->check;
    if (server)
        s->identity = pki_identity("both");
    s->v.identity = s->identity;
    if (!server)
        v13_client_hello(&s->v);
    buf_clear(&s->v.queue);
    s->v.step = step;
    if (sealed) {
        s->v.suite = v13_suite_of(0x1301);
        v13_keys_set(&s->v.in, s->v.suite, secret);
        v13_keys_set(&s->v.out, s->v.suite, secret);
        v13_keys_set(&s->keys, s->v.suite, secret);
    }
    if (step == V13_OPEN)
        v13_opened(&s->v);
    return s;
}

static void subject_free(struct subject *s)
{
    v13_free(&s->v);
    tls_check_free(&s->check);
    tls_identity_drop(s->identity);
    mem_free(s);
}

static void deliver(struct subject *s, const unsigned char *p, size_t n)
{
    size_t room = 0;
    for (char *to; n && (to = v13_recv_room(&s->v, &room)) != NULL;) {
        size_t part = n < room ? n : room;
        memcpy(to, p, part);
        v13_recv_wrote(&s->v, part);
        p += part;
        n -= part;
    }
}

/* Delivers a record with this content, encrypted if there are keys, then with `pad` zeros behind the type. */
static void record(struct subject *s, unsigned type, struct slice content, size_t pad)
{
    static unsigned char out[V13_HEAD + 40000];
    size_t n = content.len;
    memcpy(out + V13_HEAD, content.ptr, n);
    if (s->keys.suite && type != RECORD_CCS) {
        out[V13_HEAD + n++] = (unsigned char)type;
        memset(out + V13_HEAD + n, 0, pad);
        n += pad;
        type = RECORD_DATA;
    }
    bool sealed = s->keys.suite && type == RECORD_DATA;
    size_t len = n + (sealed ? V13_TAG : 0);
    const unsigned char head[V13_HEAD] = {(unsigned char)type, 3, 3, (unsigned char)(len >> 8), (unsigned char)len};
    memcpy(out, head, sizeof head);
    if (sealed)
        v13_seal(&s->keys, out, out + V13_HEAD, n);
    deliver(s, out, V13_HEAD + len);
}

/* The last alert in the queue for the peer; NONE: there is none. It decrypts the queue. */
static int alert_of(const struct subject *s)
{
    struct v13_keys k = {0};
    struct slice all = buf_slice(&s->v.queue), body;
    uint32_t type = 0, version = 0;
    int found = NONE;
    if (s->v.out.suite)
        v13_keys_set(&k, s->v.out.suite, secret);
    while (all.len) {
        unsigned char head[V13_HEAD];
        memcpy(head, all.ptr, sizeof head);
        v13_get(&all, 1, &type);
        v13_get(&all, 2, &version);
        v13_get_vector(&all, 2, &body);
        if (type == RECORD_DATA && k.suite) {
            v13_open(&k, head, (unsigned char *)(uintptr_t)body.ptr, body.len - V13_TAG);
            type = (unsigned char)body.ptr[body.len - V13_TAG - 1];
        }
        if (type == RECORD_ALERT)
            found = (unsigned char)body.ptr[1];
    }
    return found;
}

static void check_alert(struct subject *s, int want)
{
    CHECK_INT(alert_of(s), want);
    CHECK((s->v.code != 0) == (want != NONE));
    subject_free(s);
}

/* ---- single records and messages ---- */

#define HS RECORD_HANDSHAKE
static const struct {
    const char *name;
    bool server;
    enum v13_step step;
    unsigned type;
    struct slice content;
    int alert;
} cases[] = {
    {"empty handshake record", false, V13_EXTENSIONS, HS, SLICE(""), 10},
    {"data before Finished", false, V13_EXTENSIONS, RECORD_DATA, SLICE("x"), 10},
    {"change_cipher_spec sealed", false, V13_EXTENSIONS, 20, SLICE("\1"), NONE},
    {"change_cipher_spec of 2", false, V13_EXTENSIONS, 20, SLICE("\2"), 10},
    {"change_cipher_spec of two bytes", false, V13_EXTENSIONS, 20, SLICE("\1\1"), 10},
    {"change_cipher_spec when open", false, V13_OPEN, 20, SLICE("\1"), NONE},
    {"alert of one byte", false, V13_EXTENSIONS, RECORD_ALERT, SLICE("\2"), 50},
    {"alert of three bytes", false, V13_OPEN, RECORD_ALERT, SLICE("\2\50\0"), 50},
    {"message of 16 MiB", false, V13_EXTENSIONS, HS, SLICE("\x08\xff\xff\xff"), 47},
    {"certificate of 1 MiB", false, V13_REQUEST, HS, SLICE("\x0b\x10\0\0"), 47},
    {"extensions: none", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\2\0\0"), NONE},
    {"extensions: no list", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\0"), 50},
    {"extensions: bytes behind", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\3\0\0\0"), 50},
    {"extensions: not asked for", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\6\0\4\x12\x34\0\0"), 110},
    {"extensions: a key share", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\6\0\4\0\x33\0\0"), 47},
    {"extensions: a version", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\x08\0\6\0\x2b\0\2\3\4"), 47},
    {"extensions: twice", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\x0a\0\x08\0\0\0\0\0\0\0\0"), 47},
    {"extensions: a name with text", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\7\0\5\0\0\0\1x"), 50},
    {"extensions: another protocol", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\x0b\0\x09\0\x10\0\5\0\3\2h2"), 47},
    {"extensions: a broken protocol list", false, V13_EXTENSIONS, HS, SLICE("\x08\0\0\x07\0\x05\0\x10\0\1\0"), 50},
    {"extensions: again", false, V13_REQUEST, HS, SLICE("\x08\0\0\2\0\0"), 10},
    {"request: too early", false, V13_EXTENSIONS, HS, SLICE("\x0d\0\0\3\0\0\0"), 10},
    {"request: no signatures", false, V13_REQUEST, HS, SLICE("\x0d\0\0\3\0\0\0"), 109},
    {"request: a context", false, V13_REQUEST, HS, SLICE("\x0d\0\0\4\1x\0\0"), 47},
    {"request: odd signatures", false, V13_REQUEST, HS, SLICE("\x0d\0\0\x0c\0\0\x09\0\x0d\0\5\0\3\4\3\4"), 50},
    {"request: an empty list", false, V13_REQUEST, HS, SLICE("\x0d\0\0\x09\0\0\6\0\x0d\0\2\0\0"), 50},
    {"request: unknown extension", false, V13_REQUEST, HS, SLICE("\x0d\0\0\x0f\0\0\x0c\x12\x34\0\0\0\x0d\0\4\0\2\4\3"), NONE},
    {"request: again", false, V13_CERTIFICATE, HS, SLICE("\x0d\0\0\x0b\0\0\x08\0\x0d\0\4\0\2\4\3"), 10},
    {"certificate: an empty list", false, V13_REQUEST, HS, SLICE("\x0b\0\0\4\0\0\0\0"), 50},
    {"certificate: one of no bytes", false, V13_REQUEST, HS, SLICE("\x0b\0\0\x09\0\0\0\5\0\0\0\0\0"), 50},
    {"certificate: a context", false, V13_REQUEST, HS, SLICE("\x0b\0\0\5\1x\0\0\0"), 50},
    {"certificate: no DER", false, V13_REQUEST, HS, SLICE("\x0b\0\0\x0b\0\0\0\x07\0\0\2\x30\0\0\0"), 42},
    {"certificate: an extension", false, V13_REQUEST, HS, SLICE("\x0b\0\0\x0f\0\0\0\x0b\0\0\2\x30\0\0\4\0\5\0\0"), 110},
    {"verify: before the certificate", false, V13_REQUEST, HS, SLICE("\x0f\0\0\4\4\3\0\0"), 10},
    {"verify: no certificate was good", false, V13_VERIFY, HS, SLICE("\x0f\0\0\4\4\3\0\0"), 42},
    {"verify: short", false, V13_VERIFY, HS, SLICE("\x0f\0\0\3\4\3\0"), 50},
    {"Finished: too early", false, V13_REQUEST, HS, SLICE("\x14\0\0\1x"), 10},
    {"Finished: short", false, V13_FINISHED, HS, SLICE("\x14\0\0\1x"), 50},
    {"Finished: wrong", false, V13_FINISHED, HS,
     SLICE("\x14\0\0\x20"
           "0123456789abcdef0123456789abcdef"),
     51},
    {"Finished: with bytes behind it", false, V13_FINISHED, HS, SLICE("\x14\0\0\1xx"), 10},
    {"Finished of a client: wrong", true, V13_FINISHED, HS,
     SLICE("\x14\0\0\x20"
           "0123456789abcdef0123456789abcdef"),
     51},
    {"Certificate of a client: not asked for", true, V13_FINISHED, HS, SLICE("\x0b\0\0\4\0\0\0\0"), 10},
    {"early end of data", true, V13_FINISHED, HS, SLICE("\5\0\0\0"), 10},
    {"ServerHello when open", false, V13_OPEN, HS, SLICE("\2\0\0\0"), 10},
    {"hello request when open", false, V13_OPEN, HS, SLICE("\0\0\0\0"), 10},
    {"request when open", false, V13_OPEN, HS, SLICE("\x0d\0\0\3\0\0\0"), 10},
    {"ClientHello when open", true, V13_OPEN, HS, SLICE("\1\0\0\0"), 10},
    {"ticket for a client", false, V13_OPEN, HS, SLICE("\4\0\0\1x"), NONE},
    {"ticket for a server", true, V13_OPEN, HS, SLICE("\4\0\0\1x"), 10},
    {"new keys", false, V13_OPEN, HS, SLICE("\x18\0\0\1\0"), NONE},
    {"new keys for both", false, V13_OPEN, HS, SLICE("\x18\0\0\1\1"), NONE},
    {"new keys: another value", false, V13_OPEN, HS, SLICE("\x18\0\0\1\2"), 47},
    {"new keys: no value", false, V13_OPEN, HS, SLICE("\x18\0\0\0"), 50},
    {"new keys: two values", false, V13_OPEN, HS, SLICE("\x18\0\0\2\0\0"), 50},
    {"new keys with bytes behind", false, V13_OPEN, HS, SLICE("\x18\0\0\1\0\x18\0\0\1\0"), 10},
    {"new keys in the handshake", false, V13_EXTENSIONS, HS, SLICE("\x18\0\0\1\0"), 10},
    {"data", false, V13_OPEN, RECORD_DATA, SLICE("x"), NONE},
    {"hello of no bytes", true, V13_START, HS, SLICE("\1\0\0\0"), 50},
    {"another message first", true, V13_START, HS, SLICE("\2\0\0\0"), 10},
    {"data first", true, V13_START, RECORD_DATA, SLICE("x"), 10},
    {"change_cipher_spec first", true, V13_START, RECORD_CCS, SLICE("\1"), 10},
    {"another message for a client", false, V13_HELLO, HS, SLICE("\1\0\0\0"), 10},
    {"ServerHello of no bytes", false, V13_HELLO, HS, SLICE("\2\0\0\0"), 50},
};

static void single(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].name);
        struct subject *s = subject_new(cases[i].server, cases[i].step);
        record(s, cases[i].type, cases[i].content, 0);
        check_alert(s, cases[i].alert);
    }
}

/* ---- ClientHello and ServerHello: cut at every byte, or with one field changed ---- */

static void message_of(struct buf *b, unsigned type, struct slice body)
{
    buf_clear(b);
    put8(b, type);
    put8(b, 0);
    put16(b, (unsigned)body.len);
    buf_put(b, body);
}

/* Cuts the hello at every byte, with a message length that fits: decode_error, or from `least` bytes on maybe a hello of TLS 1.2. */
static void cut(bool server, struct slice body, size_t least)
{
    struct buf b;
    buf_init(&b, 8 * KIB);
    for (size_t n = 0; n < body.len; n++) {
        test_case("%s hello cut at %zu of %zu", server ? "client" : "server", n, body.len);
        struct subject *s = subject_new(server, server ? V13_START : V13_HELLO);
        message_of(&b, server ? MESSAGE_CLIENT_HELLO : MESSAGE_SERVER_HELLO, slice_head(body, n));
        record(s, HS, buf_slice(&b), 0);
        CHECK(s->v.old ? n >= least : alert_of(s) == ALERT_DECODE);
        subject_free(s);
    }
    buf_free(&b);
}

/* Changes of one byte, at this offset, in a ServerHello that is valid but for its key share of zeros. SIZE_MAX: no change. */
static const struct {
    const char *name;
    size_t at;
    unsigned char value;
    int alert;
} changes[] = {
    {"a key of zeros", SIZE_MAX, 0, 47},
    {"legacy version", 1, 2, 47},
    {"session id", 40, 0xee, 47},
    {"suite not offered", 68, 0x04, 47},
    {"compression", 69, 1, 47},
    {"version 1.2 in 1.3", 77, 3, 47},
    {"extension not asked for", 79, 0x12, 110},
    {"group not offered", 83, 0x1e, 47},
    {"group without a key", 83, 0x17, 47},
    {"extension of another length", 81, 0x23, 50},
    {"key of another length", 85, 0x1f, 50},
    {"no version: of TLS 1.2", 73, 0x2c, NONE},
};

static struct slice server_hello(const struct subject *s, struct buf *b)
{
    buf_clear(b);
    put16(b, VERSION_12);
    for (int i = 0; i < V13_RANDOM; i++)
        put8(b, 7);
    put8(b, V13_RANDOM);
    buf_put(b, (struct slice){(const char *)s->v.shake->session, V13_RANDOM});
    buf_put(b, SLICE("\x13\x01\0\0\x2e\0\x2b\0\2\3\4\0\x33\0\x24\0\x1d\0\x20"));
    for (int i = 0; i < 32; i++)
        put8(b, 0);
    return buf_slice(b);
}

static void server_hellos(void)
{
    struct buf b, m;
    buf_init(&b, KIB);
    buf_init(&m, KIB);
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        test_case("ServerHello: %s", changes[i].name);
        struct subject *s = subject_new(false, V13_HELLO);
        server_hello(s, &b);
        if (changes[i].at != SIZE_MAX)
            b.ptr[changes[i].at] = (char)changes[i].value;
        message_of(&m, MESSAGE_SERVER_HELLO, buf_slice(&b));
        record(s, HS, buf_slice(&m), 0);
        check_alert(s, changes[i].alert);
    }
    for (int mark = 0; mark < 2; mark++) {
        test_case("TLS 1.2 with the mark of a downgrade, %d", mark);
        struct subject *s = subject_new(false, V13_HELLO);
        server_hello(s, &b);
        memcpy(b.ptr + 26, "DOWNGRD", 7);
        b.ptr[33] = (char)mark;
        message_of(&m, MESSAGE_SERVER_HELLO, slice_head(buf_slice(&b), 70));
        record(s, HS, buf_slice(&m), 0);
        check_alert(s, 47);
    }
    struct subject *s = subject_new(false, V13_HELLO);
    cut(false, server_hello(s, &b), 70);
    subject_free(s);
    buf_free(&b);
    buf_free(&m);
}

/* HelloRetryRequest: a valid one, which must not come again (alert `again`), and invalid ones. */
static void retries(void)
{
    static const struct {
        const char *name;
        struct slice extensions;
        int alert, again;
    } rows[] = {
        {"P-256", SLICE("\0\x0c\0\x2b\0\2\3\4\0\x33\0\2\0\x17"), NONE, 10},
        {"a cookie", SLICE("\0\x0d\0\x2b\0\2\3\4\0\x2c\0\3\0\1x"), NONE, 10},
        {"X25519, whose key was sent", SLICE("\0\x0c\0\x2b\0\2\3\4\0\x33\0\2\0\x1d"), 47, 0},
        {"a group not offered", SLICE("\0\x0c\0\x2b\0\2\3\4\0\x33\0\2\0\x1e"), 47, 0},
        {"nothing to change", SLICE("\0\6\0\x2b\0\2\3\4"), 47, 0},
        {"an unknown extension", SLICE("\0\x0a\0\x2b\0\2\3\4\x12\x34\0\0"), 110, 0},
        {"a whole share", SLICE("\0\x0d\0\x2b\0\2\3\4\0\x33\0\3\0\x17\0"), 50, 0},
        {"a cookie of no bytes", SLICE("\0\x0c\0\x2b\0\2\3\4\0\x2c\0\2\0\0"), 50, 0},
        {"a cookie without a length", SLICE("\0\x0a\0\x2b\0\2\3\4\0\x2c\0\0"), 50, 0},
        {"a cookie with bytes behind", SLICE("\0\x0e\0\x2b\0\2\3\4\0\x2c\0\4\0\1xx"), 50, 0},
    };
    struct buf b, m;
    buf_init(&b, KIB);
    buf_init(&m, KIB);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        test_case("HelloRetryRequest: %s", rows[i].name);
        struct subject *s = subject_new(false, V13_HELLO);
        server_hello(s, &b);
        memcpy(b.ptr + 2, V13_RETRY.ptr, V13_RANDOM);
        b.len = 70;
        buf_put(&b, rows[i].extensions);
        message_of(&m, MESSAGE_SERVER_HELLO, buf_slice(&b));
        record(s, HS, buf_slice(&m), 0);
        CHECK_INT(alert_of(s), rows[i].alert);
        if (rows[i].alert == NONE) {
            record(s, HS, buf_slice(&m), 0);
            CHECK_INT(alert_of(s), rows[i].again);
        }
        subject_free(s);
    }
    buf_free(&b);
    buf_free(&m);
}

/* What must not follow a HelloRetryRequest for P-256: TLS 1.2, another suite, another group. */
static void changed_after_retry(void)
{
    static const struct {
        const char *name;
        size_t at, len;
        unsigned char value;
        int alert;
    } rows[] = {{"TLS 1.2", 0, 70, 3, 70}, {"another suite", 68, SIZE_MAX, 2, 47}, {"another group", 83, SIZE_MAX, 0x1d, 47}};
    struct buf b, m;
    buf_init(&b, KIB);
    buf_init(&m, KIB);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        test_case("after a HelloRetryRequest: %s", rows[i].name);
        struct subject *s = subject_new(false, V13_HELLO);
        server_hello(s, &b);
        memcpy(b.ptr + 2, V13_RETRY.ptr, V13_RANDOM);
        b.len = 70;
        buf_put(&b, SLICE("\0\x0c\0\x2b\0\2\3\4\0\x33\0\2\0\x17"));
        message_of(&m, MESSAGE_SERVER_HELLO, buf_slice(&b));
        record(s, HS, buf_slice(&m), 0);
        CHECK_INT(s->v.code, 0);
        server_hello(s, &b);
        b.ptr[rows[i].at] = (char)rows[i].value;
        message_of(&m, MESSAGE_SERVER_HELLO, slice_head(buf_slice(&b), rows[i].len));
        record(s, HS, buf_slice(&m), 0);
        CHECK_INT(s->v.code, V13_ERR_RETRY);
        check_alert(s, rows[i].alert);
    }
    buf_free(&b);
    buf_free(&m);
}

/* A HelloRetryRequest with a cookie alone: the second ClientHello is the first with the cookie in it (RFC 8446 §4.1.2). */
static void cookies(size_t len)
{
    struct buf b, m, first;
    buf_init(&b, LIMIT_TLS_HELLO);
    buf_init(&m, LIMIT_TLS_HELLO);
    buf_init(&first, LIMIT_TLS_HELLO);
    test_case("a cookie of %zu bytes", len);
    struct subject *s = subject_new(false, V13_HELLO);
    buf_put(&first, buf_slice(&s->v.shake->hello));
    server_hello(s, &b);
    memcpy(b.ptr + 2, V13_RETRY.ptr, V13_RANDOM);
    b.len = 70;
    put16(&b, (unsigned)len + 12);
    buf_put(&b, SLICE("\0\x2b\0\2\3\4\0\x2c"));
    put16(&b, (unsigned)len + 2);
    put16(&b, (unsigned)len);
    memset(buf_room(&b, len), 'c', len);
    b.len += len;
    message_of(&m, MESSAGE_SERVER_HELLO, buf_slice(&b));
    struct slice rest = buf_slice(&m);
    record(s, HS, slice_head(rest, V13_PLAIN), 0);
    if (rest.len > V13_PLAIN)
        record(s, HS, slice_skip(rest, V13_PLAIN), 0);
    struct slice second = buf_slice(&s->v.shake->hello);
    if (s->v.code) {
        CHECK_INT(s->v.code, BR_ERR_TOO_LARGE);
    } else {
        size_t shares = 1216 + 32 + 8; /* at the end; in front of the extensions are 93 bytes with a length at 1 to 3 */
        CHECK_INT(second.len, first.len + len + 6);
        CHECK(slice_eq(slice_skip(second, second.len - shares), slice_skip(buf_slice(&first), first.len - shares)));
        CHECK(slice_eq(slice_head(slice_skip(second, 4), 89), slice_head(slice_skip(buf_slice(&first), 4), 89)));
    }
    check_alert(s, len > 17000 ? 47 : NONE);
    buf_free(&b);
    buf_free(&m);
    buf_free(&first);
}

/* A ClientHello with one more extension at its end, or with its ALPN list changed. */
static void extensions(void)
{
    static const struct {
        const char *name;
        struct slice add;
        int alert, code;
    } rows[] = {
        {"a key to resume", SLICE("\0\x2d\0\2\1\1\0\x29\0\1x"), NONE, 0},
        {"a key to resume, not the last", SLICE("\0\x29\0\1x\0\x2d\0\2\1\1"), 47, V13_ERR_MALFORMED},
        {"a key to resume without modes", SLICE("\0\x29\0\1x"), 109, V13_ERR_MALFORMED},
        {"a known one again", SLICE("\0\x0a\0\4\0\2\0\x1d"), 47, V13_ERR_MALFORMED},
        {"an unknown one again", SLICE("\0\x31\0\0\0\x31\0\0"), 47, V13_ERR_MALFORMED},
        {"an unknown one", SLICE("\x12\x34\0\1x"), NONE, 0},
    };
    static const struct {
        const char *name;
        struct slice alpn;
        int alert, code;
    } protocols[] = {{"two, one of them known", SLICE("\2h2\5http/"), 120, V13_ERR_PROTOCOL},
                     {"of 8 bytes", SLICE("\x08http/1.0"), 120, V13_ERR_PROTOCOL},
                     {"an empty name", SLICE("\0\x07http/1."), 50, V13_ERR_MALFORMED},
                     {"a cut name", SLICE("\x09http/1.1"), 50, V13_ERR_MALFORMED},
                     {"the known one", SLICE("\x08http/1.1"), NONE, 0}};
    struct subject *c = subject_new(false, V13_HELLO);
    struct slice body = slice_skip(buf_slice(&c->v.shake->hello), 4);
    struct buf b, m;
    buf_init(&b, 8 * KIB);
    buf_init(&m, 8 * KIB);
    for (size_t i = 0; i < COUNT_OF(rows) + COUNT_OF(protocols); i++) {
        const bool added = i < COUNT_OF(rows);
        size_t j = added ? i : i - COUNT_OF(rows);
        test_case("ClientHello with %s", added ? rows[j].name : protocols[j].name);
        struct subject *s = subject_new(true, V13_START);
        buf_clear(&b);
        buf_put(&b, body);
        if (added) {
            buf_put(&b, rows[j].add);
            size_t len = b.len - 91;
            b.ptr[89] = (char)(len >> 8), b.ptr[90] = (char)len;
        } else {
            char *at = memmem(b.ptr, b.len, "\x08http/1.1", 9);
            memcpy(at, protocols[j].alpn.ptr, 9);
        }
        message_of(&m, MESSAGE_CLIENT_HELLO, buf_slice(&b));
        record(s, HS, buf_slice(&m), 0);
        CHECK_INT(s->v.code, added ? rows[j].code : protocols[j].code);
        CHECK(s->v.code || s->v.step == V13_FINISHED);
        s->v.out = (struct v13_keys){0}; /* the queue is sealed with keys that the test does not have, behind the ServerHello */
        if (s->v.code)
            CHECK_INT(alert_of(s), added ? rows[j].alert : protocols[j].alert);
        subject_free(s);
    }
    buf_free(&b);
    buf_free(&m);
    subject_free(c);
}

/* Delivers a record of 0-RTT data: nothing that the server has keys for. */
static void early_record(struct subject *s, size_t len)
{
    static unsigned char bytes[V13_HEAD + V13_PLAIN] = {RECORD_DATA, 3, 3};
    bytes[3] = (unsigned char)(len >> 8);
    bytes[4] = (unsigned char)len;
    deliver(s, bytes, V13_HEAD + len);
}

/* early_data, which a server that gives out no tickets does not accept: its records are skipped, up to LIMIT_TLS_EARLY bytes. */
static void early_data(void)
{
    struct subject *c = subject_new(false, V13_HELLO);
    struct slice body = slice_skip(buf_slice(&c->v.shake->hello), 4);
    struct buf b, m;
    buf_init(&b, 8 * KIB);
    buf_init(&m, 8 * KIB);
    for (int row = 0; row < 5; row++) {
        static const char *const names[] = {"of the limit", "past the limit", "that was not announced", "after a valid record",
                                            "after a retry"};
        test_case("early data %s", names[row]);
        struct subject *s = subject_new(true, V13_START);
        buf_clear(&b);
        buf_put(&b, body);
        if (row != 2)
            buf_put(&b, SLICE("\0\x2a\0\0"));
        size_t len = b.len - 91;
        b.ptr[89] = (char)(len >> 8), b.ptr[90] = (char)len;
        char *hybrid = row == 4 ? memmem(b.ptr + 91, len, "\x11\xec\x04\xc0", 4) : NULL;
        if (hybrid) /* its share becomes that of an unknown group */
            hybrid[0] = 0x12;
        message_of(&m, MESSAGE_CLIENT_HELLO, buf_slice(&b));
        record(s, HS, buf_slice(&m), 0);
        CHECK_INT(s->v.step, hybrid ? V13_RETRIED : V13_FINISHED);
        if (row == 3) {
            v13_keys_set(&s->keys, s->v.suite, s->v.in.secret);
            record(s, HS, SLICE("\x14"), 0);
        }
        for (int i = 0; i < LIMIT_TLS_EARLY / (8 * KIB) + (row == 1); i++)
            early_record(s, 8 * KIB);
        CHECK_INT(s->v.code, row >= 1 && row <= 3 ? BR_ERR_BAD_MAC : 0);
        if (row == 0) { /* the client's first record is the first of its keys */
            v13_keys_set(&s->keys, s->v.suite, s->v.in.secret);
            record(s, HS, SLICE("\x14"), 0);
            CHECK_INT(s->v.code, 0);
        }
        subject_free(s);
    }
    buf_free(&b);
    buf_free(&m);
    subject_free(c);
}

static void client_hellos(void)
{
    struct subject *c = subject_new(false, V13_HELLO);
    struct slice body = slice_skip(buf_slice(&c->v.shake->hello), 4);
    struct buf b;
    buf_init(&b, 8 * KIB);
    cut(true, body, 89);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"compression", "no suite of 1.3", "a second hello"};
        test_case("ClientHello: %s", names[i]);
        struct subject *s = subject_new(true, V13_START);
        message_of(&b, MESSAGE_CLIENT_HELLO, body);
        size_t suites = 4 + 2 + 32 + 33;
        if (i == 0)
            b.ptr[suites + 2 + 18 + 1] = 1;
        for (size_t j = 0; i == 1 && j < 3; j++)
            b.ptr[suites + 2 + 2 * j] = 0x14;
        record(s, HS, buf_slice(&b), 0);
        if (i == 2)
            record(s, HS, buf_slice(&b), 0);
        CHECK(s->v.code != 0);
        CHECK(i == 2 || alert_of(s) == (i == 0 ? 47 : 40));
        subject_free(s);
    }
    buf_free(&b);
    subject_free(c);
}

/* ---- floods and limits ---- */

static void floods(void)
{
    static const struct {
        const char *name;
        unsigned type;
        struct slice content;
    } rows[] = {
        {"tickets", HS, SLICE("\4\0\0\1x")}, {"empty records", RECORD_DATA, SLICE("")}, {"canceled", RECORD_ALERT, SLICE("\1\x5a")}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        test_case("a flood of %s", rows[i].name);
        struct subject *s = subject_new(false, V13_OPEN);
        for (int n = 0; n < LIMIT_TLS_IDLE; n++)
            record(s, rows[i].type, rows[i].content, 0);
        CHECK_INT(alert_of(s), NONE);
        record(s, rows[i].type, rows[i].content, 0);
        check_alert(s, 10);
    }
    test_case("a flood of new keys: no answer before there is data");
    struct subject *s = subject_new(true, V13_OPEN);
    for (int n = 0; n < LIMIT_TLS_IDLE; n++) {
        record(s, HS, SLICE("\x18\0\0\1\1"), 0);
        v13_keys_update(&s->keys);
    }
    CHECK_INT(s->v.code, 0);
    CHECK_INT(s->v.queue.len, 0);
    record(s, HS, SLICE("\x18\0\0\1\1"), 0);
    CHECK(s->v.code != 0);
    subject_free(s);
}

static void say(struct subject *s, const char *text)
{
    size_t n = 0;
    char *to = v13_write_room(&s->v, &n);
    memcpy(to, text, strlen(text));
    v13_write_wrote(&s->v, strlen(text));
}

/* Takes one record off the wire, and decrypts it with the peer's keys. Returns its type and first byte; 0: there is none. */
static unsigned sent(struct subject *s, struct v13_keys *k)
{
    struct slice out = v13_send_peek(&s->v);
    if (!out.len)
        return 0;
    unsigned char *p = (unsigned char *)(uintptr_t)out.ptr;
    size_t n = ((size_t)p[3] << 8 | p[4]) - V13_TAG;
    CHECK(v13_open(k, p, p + V13_HEAD, n));
    unsigned got = p[V13_HEAD + n - 1] * 256u + p[V13_HEAD];
    v13_send_used(&s->v, V13_HEAD + n + V13_TAG);
    return got;
}

/* RFC 8446 §4.6.3: who is asked for a KeyUpdate sends it before its next application data, whatever waits in the queue meanwhile. */
static void updates(void)
{
    for (int close = 0; close < 2; close++) {
        test_case("an update that was asked for comes before data, closed at once: %d", close);
        struct subject *s = subject_new(false, V13_OPEN);
        struct v13_keys k = {0};
        v13_keys_set(&k, s->v.suite, secret);
        s->v.out.sequence = k.sequence = LIMIT_TLS_RECORDS;
        say(s, "1");
        v13_flush(&s->v); /* queues a KeyUpdate of our own */
        CHECK(s->v.queue.len > 0);
        record(s, HS, SLICE("\x18\0\0\1\1"), 0); /* asked for while the queue holds something */
        CHECK_INT(sent(s, &k), RECORD_HANDSHAKE * 256 + MESSAGE_KEY_UPDATE);
        v13_keys_update(&k);
        CHECK_INT(sent(s, &k), RECORD_HANDSHAKE * 256 + MESSAGE_KEY_UPDATE);
        v13_keys_update(&k);
        CHECK_INT(sent(s, &k), RECORD_DATA * 256 + '1');
        CHECK_INT(sent(s, &k), 0);
        v13_keys_update(&s->keys);
        record(s, HS, SLICE("\x18\0\0\1\1"), 0);
        say(s, "2");
        if (close)
            v13_close(&s->v);
        else
            v13_flush(&s->v);
        CHECK_INT(sent(s, &k), RECORD_HANDSHAKE * 256 + MESSAGE_KEY_UPDATE);
        v13_keys_update(&k);
        CHECK_INT(sent(s, &k), RECORD_DATA * 256 + '2');
        CHECK_INT(sent(s, &k), close ? RECORD_ALERT * 256 + 1 : 0);
        subject_free(s);
    }
}

static void limits(void)
{
    static char zeros[V13_PLAIN + 512];
    for (size_t over = 0; over < 2; over++) {
        test_case("data of %zu bytes", V13_PLAIN + over);
        struct subject *s = subject_new(false, V13_OPEN);
        record(s, RECORD_DATA, (struct slice){zeros, V13_PLAIN + over}, 0);
        CHECK_INT(v13_read_peek(&s->v).len, over ? 0 : V13_PLAIN);
        check_alert(s, over ? 22 : NONE);
        test_case("a record of %zu bytes", V13_PLAIN + 256 + over);
        s = subject_new(false, V13_OPEN);
        record(s, RECORD_DATA, (struct slice){zeros, 1}, V13_PLAIN + 256 + over - V13_TAG - 2);
        check_alert(s, 22); /* over 0: the plaintext is too long; over 1: the record is */
        test_case("padding to the last byte, %zu beyond", over);
        s = subject_new(false, V13_OPEN);
        record(s, RECORD_DATA, SLICE("x"), V13_PLAIN - 1 + over);
        check_alert(s, over ? 22 : NONE);
    }
    test_case("padding and no type");
    struct subject *s = subject_new(false, V13_OPEN);
    record(s, 0, SLICE("\0\0\0"), 3);
    check_alert(s, 10);
    test_case("a record of a tag alone, and a changed one");
    s = subject_new(false, V13_OPEN);
    deliver(s,
            (const unsigned char *)"\x17\3\3\0\x10"
                                   "0123456789abcdef",
            21);
    check_alert(s, 20);
    s = subject_new(false, V13_OPEN);
    deliver(s,
            (const unsigned char *)"\x17\3\3\0\x14"
                                   "0123456789abcdefghij",
            25);
    check_alert(s, 20);
    test_case("a record in the clear");
    s = subject_new(false, V13_OPEN);
    deliver(s, (const unsigned char *)"\x16\3\3\0\1x", 6);
    check_alert(s, 10);
    test_case("an alert between two halves of a message");
    s = subject_new(false, V13_EXTENSIONS);
    record(s, HS, SLICE("\x08\0"), 0);
    record(s, RECORD_ALERT, SLICE("\1\x5a"), 0);
    check_alert(s, 10);
    test_case("new keys after LIMIT_TLS_RECORDS records");
    s = subject_new(false, V13_OPEN);
    s->v.out.sequence = LIMIT_TLS_RECORDS - 1;
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        *v13_write_room(&s->v, &n) = 'x';
        v13_write_wrote(&s->v, 1);
        v13_flush(&s->v);
        CHECK_INT(s->v.queue.len > 0, i == 1); /* the KeyUpdate is queued, and the data waits until it is sent */
        v13_send_used(&s->v, v13_send_peek(&s->v).len);
    }
    CHECK_INT(v13_send_peek(&s->v).len, V13_HEAD + 1 + 1 + V13_TAG);
    CHECK_INT(s->v.out.sequence, 1);
    subject_free(s);
}

int main(void)
{
    single();
    server_hellos();
    retries();
    changed_after_retry();
    cookies(1);
    cookies(17000);
    cookies(19200);
    client_hellos();
    extensions();
    early_data();
    floods();
    updates();
    limits();
    return test_done();
}
