/* ClientHello, ServerHello and HelloRetryRequest: cut at every byte, with one field changed, or against the rules of RFC 8446. */
#include "subject.h"

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
        CHECK_INT(s->v.code == V13_ERR_SHARE, i == 0); /* the key is looked at when all else is right */
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
    } rows[] = {{"TLS 1.2", 0, 70, 3, 47}, {"another suite", 68, SIZE_MAX, 2, 47}, {"another group", 83, SIZE_MAX, 0x1d, 47}};
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
        b.ptr[83] = 0x17;
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
    for (unsigned i = 0; i < 4; i++) {
        static const char *const names[] = {"compression", "no suite of 1.3", "a second hello", "bytes behind it in its record"};
        test_case("ClientHello: %s", names[i]);
        struct subject *s = subject_new(true, V13_START);
        message_of(&b, MESSAGE_CLIENT_HELLO, body);
        size_t suites = 4 + 2 + 32 + 33;
        if (i == 0)
            b.ptr[suites + 2 + 18 + 1] = 1;
        for (size_t j = 0; i == 1 && j < 3; j++)
            b.ptr[suites + 2 + 2 * j] = 0x14;
        if (i == 3)
            put8(&b, MESSAGE_FINISHED);
        record(s, HS, buf_slice(&b), 0);
        if (i == 2)
            record(s, HS, buf_slice(&b), 0);
        CHECK(s->v.code != 0);
        CHECK(i >= 2 || alert_of(s) == (i == 0 ? 47 : 40));
        subject_free(s);
    }
    buf_free(&b);
    subject_free(c);
}

int main(void)
{
    server_hellos();
    retries();
    changed_after_retry();
    cookies(1);
    cookies(17000);
    cookies(19200);
    client_hellos();
    extensions();
    early_data();
    return test_done();
}
