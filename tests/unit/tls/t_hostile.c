/* Peers that break TLS 1.3: each case and the alert that RFC 8446 names for it. */
#include "subject.h"

/* ---- single records and messages ---- */

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
    {"change_cipher_spec when open", false, V13_OPEN, 20, SLICE("\1"), 10},
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

/* RFC 8446 §4.6.3: a requested KeyUpdate is sent before the next application data, even if records wait in the queue. */
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

/* Records without a byte, and a server's limit of a message: a client that is not known yet must not take memory. */
static void empty_and_large(void)
{
    for (int k = 0; k < 3; k++) {
        static const struct {
            bool server;
            enum v13_step step;
            int alert;
        } rows[] = {{false, V13_EXTENSIONS, 20}, {true, V13_FINISHED, 20}, {true, V13_RETRIED, 10}};
        test_case("a record of no bytes is no early data that was announced, step %d", (int)rows[k].step);
        struct subject *s = subject_new(rows[k].server, rows[k].step);
        deliver(s, (const unsigned char *)"\x17\3\3\0\0", 5);
        check_alert(s, rows[k].alert);
    }
    for (unsigned over = 0; over < 2; over++) {
        const unsigned n = LIMIT_TLS_HELLO + over;
        const char head[4] = {MESSAGE_FINISHED, 0, (char)(n >> 8), (char)n};
        test_case("a message of LIMIT_TLS_HELLO bytes for a server, and %u more", over);
        struct subject *s = subject_new(true, V13_FINISHED);
        record(s, HS, (struct slice){head, sizeof head}, 0);
        check_alert(s, over ? 47 : NONE);
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
    floods();
    updates();
    empty_and_large();
    limits();
    return test_done();
}
