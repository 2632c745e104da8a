/* The traces of RFC 8448, byte for byte. Keys, records, signatures and Finished of each trace are computed for both sides. The state
 * machines then take the peer's records as they are in the RFC, and what they send must be the RFC's records.
 *
 * These bytes of the traces are injected, because the product does not send them or may not accept them:
 *   - hellos: ours have other extensions, in another order; a client of ours always sends a session id of 32 bytes, so ServerHello and
 *     HelloRetryRequest are accepted in section 7 alone;
 *   - EncryptedExtensions: it answers record_size_limit, which our ClientHello does not offer, so a client of ours refuses it;
 *   - Certificate and CertificateVerify of both sides: signatures have a random part, and the RFC has no key for those of section 6;
 *   - section 4 from ServerHello on: there is no resumption here, so no key schedule that begins with a PSK. */
#include "subject.h"

#include <stdio.h>

#define RFC "tests/data/tls/rfc8448.txt"

static struct slice file;
static struct arena memory;

static bool next_line(struct slice *rest, struct slice *line)
{
    bool any = rest->len > 0;
    *line = slice_cut(rest, '\n');
    return any;
}

/* A value of a section; SLICE_NONE: the section has none of that name. */
static struct slice value(int section, const char *name)
{
    char head[32];
    struct slice rest = file, line;
    struct buf out;
    snprintf(head, sizeof head, "[%d]", section);
    while (next_line(&rest, &line) && !slice_starts(line, slice_of(head)))
        ;
    while (next_line(&rest, &line) && !slice_is(line, name))
        if (slice_starts(line, SLICE("[")))
            return SLICE_NONE;
    buf_init(&out, 8 * KIB);
    while (next_line(&rest, &line) && slice_starts(line, SLICE("  ")))
        for (size_t i = 2; i + 1 < line.len; i += 2) {
            const char digits[] = {line.ptr[i], line.ptr[i + 1], '\0'};
            put8(&out, (unsigned)strtoul(digits, NULL, 16));
        }
    char *copy = arena_alloc(&memory, out.len + 1);
    memcpy(copy, out.ptr ? out.ptr : "", out.len);
    struct slice got = {copy, out.len};
    buf_free(&out);
    return got.len ? got : SLICE_NONE;
}

/* The message or the ciphertext in the only record of these bytes. */
static struct slice content(struct slice record)
{
    return slice_skip(record, V13_HEAD);
}

static bool contains(struct slice all, struct slice part)
{
    return memmem(all.ptr, all.len, part.ptr, part.len) != NULL;
}

/* ---- a trace: its key schedule, and what both sides have computed ---- */

struct trace {
    int section;
    const struct v13_group *group;
    const struct v13_suite *suite;
    struct slice hello; /* the ClientHello with the share that was used */
    struct v13_exchange client, server;
    struct v13_transcript hellos, finished; /* up to ServerHello; up to the server's Finished */
    struct v13_secrets handshake, master;
    br_x509_decoder_context decoder; /* of the last Certificate */
};

static void add(struct v13_transcript *t, int section, const char *name)
{
    v13_transcript_add(t, content(value(section, name)));
}

static void set_key(struct v13_exchange *x, const struct v13_group *g, struct slice key)
{
    memcpy(g->curve == BR_EC_curve25519 ? x->x25519 : x->curve, key.ptr, key.len);
}

/* Both private keys: their public keys are in the hellos, and both sides agree on one secret. */
static size_t agree(struct trace *t, unsigned char *shared)
{
    unsigned char theirs[V13_SECRET_MAX];
    struct buf ours[2];
    size_t n[2];
    struct v13_exchange *x[2] = {&t->client, &t->server};
    set_key(x[0], t->group, value(t->section, "client_key"));
    set_key(x[1], t->group, value(t->section, "server_key"));
    for (int i = 0; i < 2; i++) {
        buf_init(&ours[i], KIB);
        v13_share(x[i], t->group, &ours[i]);
    }
    CHECK(contains(t->hello, buf_slice(&ours[0])));
    CHECK(contains(value(t->section, "server_hello"), buf_slice(&ours[1])));
    n[0] = v13_agree(x[0], t->group, buf_slice(&ours[1]), shared);
    n[1] = v13_agree(x[1], t->group, buf_slice(&ours[0]), theirs);
    CHECK(n[0] == 32 && n[1] == 32 && memcmp(shared, theirs, 32) == 0);
    buf_free(&ours[0]);
    buf_free(&ours[1]);
    return n[0];
}

static void trace_begin(struct trace *t, int section)
{
    unsigned char shared[V13_SECRET_MAX], hash[V13_HASH_MAX];
    bool retried = value(section, "retry").len > 0;
    *t = (struct trace){.section = section, .group = v13_group_of(retried ? 23 : 29), .suite = v13_suite_of(0x1301)};
    test_case("RFC 8448 section %d: key exchange", section);
    t->hello = content(value(section, retried ? "client_hello_2" : "client_hello"));
    size_t n = agree(t, shared);
    v13_transcript_init(&t->hellos);
    add(&t->hellos, section, "client_hello");
    if (retried) {
        v13_transcript_retry(&t->hellos, t->suite);
        add(&t->hellos, section, "retry");
        add(&t->hellos, section, "client_hello_2");
    }
    add(&t->hellos, section, "server_hello");
    v13_transcript_out(&t->hellos, t->suite, hash);
    v13_secrets_handshake(&t->handshake, t->suite, (struct slice){(const char *)shared, n}, hash);
}

/* ---- records: each is decrypted, and its plaintext encrypts to the same bytes ---- */

/* Returns the plaintext of the next record with these keys. */
static struct slice check_record(struct v13_keys *k, unsigned type, struct slice sealed)
{
    unsigned char *text = arena_alloc(&memory, sealed.len + 1), *back = arena_alloc(&memory, sealed.len + 1);
    struct v13_keys again = *k;
    unsigned char head[V13_HEAD];
    size_t n = sealed.len - V13_HEAD - V13_TAG;
    memcpy(head, sealed.ptr, V13_HEAD);
    memcpy(text, sealed.ptr + V13_HEAD, sealed.len - V13_HEAD);
    CHECK(v13_open(k, head, text, n));
    CHECK_INT(text[n - 1], type);
    memcpy(back, text, n);
    v13_seal(&again, head, back, n);
    CHECK(slice_eq((struct slice){(const char *)back, n + V13_TAG}, content(sealed)));
    return (struct slice){(const char *)text, n - 1};
}

/* change_cipher_spec, if it comes first, and the record behind it. */
static struct slice skip_change(struct slice records)
{
    struct slice change = SLICE("\x14\3\3\0\1\1");
    return slice_starts(records, change) ? slice_skip(records, change.len) : records;
}

/* ---- the messages of a side's encrypted flight ---- */

static void take_certificate(struct trace *t, struct slice body)
{
    struct slice list, one, context;
    CHECK(v13_get_vector(&body, 1, &context) && v13_get_vector(&body, 3, &list) && v13_get_vector(&list, 3, &one));
    br_x509_decoder_init(&t->decoder, NULL, NULL);
    br_x509_decoder_push(&t->decoder, one.ptr, one.len);
}

static void check_signature(struct trace *t, const struct v13_transcript *now, struct slice body, bool server)
{
    unsigned char hash[V13_HASH_MAX];
    uint32_t scheme = 0;
    struct slice signature;
    const br_x509_pkey *key = br_x509_decoder_get_pkey(&t->decoder);
    v13_transcript_out(now, t->suite, hash);
    if (!CHECK(key && v13_get(&body, 2, &scheme) && v13_get_vector(&body, 2, &signature) && !body.len))
        return;
    CHECK(v13_scheme_fits(key, scheme));
    CHECK(v13_verify(key, scheme, server, t->suite, hash, signature));
    CHECK(!v13_verify(key, scheme, !server, t->suite, hash, signature));
    hash[0] ^= 1;
    CHECK(!v13_verify(key, scheme, server, t->suite, hash, signature));
}

static void check_finished(struct trace *t, const struct v13_transcript *now, struct slice body, bool server)
{
    unsigned char hash[V13_HASH_MAX], mac[V13_HASH_MAX];
    v13_transcript_out(now, t->suite, hash);
    v13_finished(t->suite, server ? t->handshake.server : t->handshake.client, hash, mac);
    CHECK(slice_eq(body, (struct slice){(const char *)mac, 32}));
}

/* Adds the messages to the transcript, and checks signature and Finished. Returns how many there are. */
static int take_flight(struct trace *t, struct v13_transcript *now, struct slice flight, bool server)
{
    int count = 0;
    while (flight.len) {
        struct slice rest = flight, body;
        uint32_t type = 0;
        if (!CHECK(v13_get(&rest, 1, &type) && v13_get_vector(&rest, 3, &body)))
            return count;
        if (type == MESSAGE_CERTIFICATE)
            take_certificate(t, body);
        if (type == MESSAGE_VERIFY)
            check_signature(t, now, body, server);
        if (type == MESSAGE_FINISHED)
            check_finished(t, now, body, server);
        v13_transcript_add(now, slice_head(flight, flight.len - rest.len));
        flight = rest;
        count++;
    }
    return count;
}

static const char *const server_messages[] = {"extensions", "request", "certificate", "verify", "finished"};

static void handshake(struct trace *t)
{
    struct v13_keys k = {0};
    struct v13_transcript now = t->hellos;
    unsigned char hash[V13_HASH_MAX];
    bool authenticated = value(t->section, "request").len > 0;
    test_case("RFC 8448 section %d: the server's flight", t->section);
    v13_keys_set(&k, t->suite, t->handshake.server);
    struct slice flight = check_record(&k, RECORD_HANDSHAKE, skip_change(value(t->section, "server_flight"))), rest = flight;
    for (size_t i = 0; i < COUNT_OF(server_messages); i++) {
        struct slice message = value(t->section, server_messages[i]);
        CHECK(slice_starts(rest, message));
        rest = slice_skip(rest, message.len);
    }
    CHECK_INT(rest.len, 0);
    CHECK_INT(take_flight(t, &now, flight, true), authenticated ? 5 : 4);
    t->finished = now;
    test_case("RFC 8448 section %d: the client's flight", t->section);
    memset(&k, 0, sizeof k);
    v13_keys_set(&k, t->suite, t->handshake.client);
    flight = check_record(&k, RECORD_HANDSHAKE, skip_change(value(t->section, "client_flight")));
    CHECK_INT(take_flight(t, &now, flight, false), authenticated ? 3 : 1);
    t->master = t->handshake;
    v13_transcript_out(&t->finished, t->suite, hash);
    v13_secrets_master(&t->master, t->suite, hash);
}

/* Records of the session, with the keys of each side. */
static void session(const struct trace *t)
{
    static const struct {
        bool server;
        const char *name;
        unsigned type;
    } rows[] = {{false, "client_data", RECORD_DATA},
                {true, "ticket", RECORD_HANDSHAKE},
                {true, "server_data", RECORD_DATA},
                {false, "client_close", RECORD_ALERT},
                {true, "server_close", RECORD_ALERT}};
    struct v13_keys k[2] = {{0}, {0}};
    v13_keys_set(&k[0], t->suite, t->master.client);
    v13_keys_set(&k[1], t->suite, t->master.server);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct slice sealed = value(t->section, rows[i].name);
        test_case("RFC 8448 section %d: %s", t->section, rows[i].name);
        if (!sealed.len)
            continue;
        struct slice text = check_record(&k[rows[i].server], rows[i].type, sealed);
        CHECK(rows[i].type != RECORD_ALERT || slice_eq(text, SLICE("\1\0")));
        CHECK(rows[i].type != RECORD_DATA || text.len == 50);
    }
}

/* ---- our state machines ---- */

static void deliver_slice(struct subject *s, struct slice bytes)
{
    deliver(s, (const unsigned char *)bytes.ptr, bytes.len);
}

/* A session that has sent and received the hellos of the trace. */
static struct subject *after_hellos(const struct trace *t, bool server)
{
    struct subject *s = subject_new(server, server ? V13_START : V13_HELLO);
    s->v.suite = t->suite;
    s->v.group = t->group;
    s->v.shake->transcript = t->hellos;
    s->v.shake->secrets = t->handshake;
    v13_keys_set(&s->v.in, t->suite, server ? t->handshake.client : t->handshake.server);
    v13_keys_set(&s->v.out, t->suite, server ? t->handshake.server : t->handshake.client);
    s->v.step = server ? V13_FINISHED : V13_EXTENSIONS;
    return s;
}

/* Section 7 has a session id as long as ours, so a client of ours accepts its ServerHello. */
static struct subject *take_server_hello(const struct trace *t)
{
    struct subject *s = subject_new(false, V13_HELLO);
    memcpy(s->v.shake->session, t->hello.ptr + 4 + 2 + V13_RANDOM + 1, V13_RANDOM);
    v13_transcript_init(&s->v.shake->transcript);
    add(&s->v.shake->transcript, t->section, "client_hello");
    s->v.shake->exchange = t->client;
    deliver_slice(s, value(t->section, "server_hello"));
    CHECK(s->v.step == V13_EXTENSIONS && s->v.group == t->group && s->v.suite == t->suite);
    CHECK(memcmp(&s->v.shake->secrets, &t->handshake, sizeof t->handshake) == 0);
    return s;
}

static void refuse_extensions(const struct trace *t)
{
    struct subject *s = after_hellos(t, false);
    test_case("RFC 8448 section %d: a client refuses record_size_limit, which it did not offer", t->section);
    deliver_slice(s, value(t->section, "server_flight"));
    CHECK_INT(s->v.code, BR_ERR_EXTRA_EXTENSION);
    subject_free(s);
}

/* Application data, and the end of the session: received as in the RFC, and sent as in the RFC. */
static void exchange_data(const struct trace *t, struct subject *s, bool server)
{
    struct slice theirs = value(t->section, server ? "client_data" : "server_data"),
                 ours = value(t->section, server ? "server_data" : "client_data");
    size_t room = 0;
    if (!server)
        deliver_slice(s, value(t->section, "ticket")); /* ignored */
    else if (ours.len)
        s->v.out.sequence = 1; /* the server of the trace has sent a ticket; ours sends none */
    deliver_slice(s, theirs);
    struct slice text = v13_read_peek(&s->v);
    CHECK(!theirs.len || text.len == 50);
    if (text.len) {
        memcpy(v13_write_room(&s->v, &room), text.ptr, text.len); /* the data of both sides is the same */
        v13_write_wrote(&s->v, text.len);
        v13_read_used(&s->v, text.len);
        v13_flush(&s->v);
        CHECK(slice_eq(v13_send_peek(&s->v), ours));
        v13_send_used(&s->v, ours.len);
    }
    deliver_slice(s, value(t->section, server ? "client_close" : "server_close"));
    CHECK(s->v.closed_in && !s->v.code);
    v13_close(&s->v);
    CHECK(slice_eq(v13_send_peek(&s->v), value(t->section, server ? "server_close" : "client_close")));
}

static void client(const struct trace *t)
{
    bool compatible = t->section == 7, authenticated = value(t->section, "request").len > 0;
    refuse_extensions(t);
    test_case("RFC 8448 section %d: our client", t->section);
    struct subject *s = compatible ? take_server_hello(t) : after_hellos(t, false);
    v13_transcript_add(&s->v.shake->transcript, value(t->section, "extensions"));
    s->v.step = V13_REQUEST;
    for (size_t i = 1; i < COUNT_OF(server_messages); i++) {
        struct slice message = value(t->section, server_messages[i]);
        bool last = i + 1 == COUNT_OF(server_messages);
        if (message.len && !(last && authenticated))
            CHECK(v13_client_take(&s->v, (unsigned char)message.ptr[0], message));
    }
    if (authenticated) {
        CHECK(s->v.step == V13_FINISHED && s->v.shake->requested && !s->v.shake->scheme);
        subject_free(s);
        return; /* the Finished of the trace is behind a signature that cannot be made here */
    }
    CHECK_INT(s->v.step, V13_OPEN);
    CHECK(slice_eq(v13_send_peek(&s->v), value(t->section, "client_flight")));
    v13_send_used(&s->v, v13_send_peek(&s->v).len);
    exchange_data(t, s, false);
    subject_free(s);
}

static void server(const struct trace *t)
{
    bool authenticated = value(t->section, "request").len > 0;
    test_case("RFC 8448 section %d: our server, from the client's flight on", t->section);
    struct subject *s = after_hellos(t, true);
    s->v.shake->transcript = t->finished;
    s->v.shake->secrets = t->master;
    v13_keys_set(&s->v.out, t->suite, t->master.server);
    deliver_slice(s, value(t->section, "client_flight"));
    if (authenticated) /* a certificate, for which our servers do not ask */
        CHECK_INT(s->v.code, BR_ERR_UNEXPECTED);
    else if (CHECK(s->v.step == V13_OPEN && !s->v.code))
        exchange_data(t, s, true);
    subject_free(s);
}

/* ---- the hellos of the RFC, at our server ---- */

/* Whether the ServerHello in the queue echoes this session id and has no pre_shared_key, so that the handshake is a full one. */
static void check_answer(const struct subject *s, struct slice hello)
{
    struct slice queue = buf_slice(&s->v.queue), session, answer, chosen;
    struct v13_extension ext[] = {{.type = EXT_VERSIONS}, {.type = EXT_KEY_SHARE}};
    struct v13 scratch = s->v;
    uint32_t number = 0;
    hello = slice_skip(hello, 4 + 2 + V13_RANDOM);
    CHECK(v13_get_vector(&hello, 1, &session));
    queue = slice_skip(queue, 3);
    CHECK(v13_get_vector(&queue, 2, &answer));
    answer = slice_skip(answer, 4 + 2 + V13_RANDOM);
    CHECK(v13_get_vector(&answer, 1, &chosen) && slice_eq(session, chosen) && v13_get(&answer, 3, &number));
    CHECK(v13_get_extensions(&scratch, answer, ext, COUNT_OF(ext), true));
}

static void hello(int section)
{
    struct subject *s = subject_new(true, V13_START);
    struct slice first = value(section, "client_hello"), early = value(section, "early_data");
    test_case("RFC 8448 section %d: ClientHello at our server", section);
    deliver_slice(s, first);
    CHECK(!s->v.code && s->v.step == V13_FINISHED && s->v.group->id == 29);
    check_answer(s, content(first));
    CHECK_INT(s->v.shake->early, early.len ? LIMIT_TLS_EARLY : 0);
    deliver_slice(s, early); /* 0-RTT data is skipped */
    CHECK(!s->v.code && s->v.step == V13_FINISHED);
    CHECK_INT(s->v.shake->early, early.len ? LIMIT_TLS_EARLY - content(early).len : 0);
    subject_free(s);
    if (!value(section, "retry").len)
        return;
    test_case("RFC 8448 section %d: the second ClientHello at our server", section);
    s = subject_new(true, V13_RETRIED);
    s->v.shake->retried = v13_group_of(23);
    s->v.suite = v13_suite_nth(0);
    deliver_slice(s, value(section, "client_hello_2"));
    CHECK(!s->v.code && s->v.step == V13_FINISHED && s->v.group->id == 23);
    check_answer(s, content(first));
    subject_free(s);
}

/* A server without resumption does not look at binders: with a wrong one (the last bytes of section 4's ClientHello) the handshake is a
 * full one all the same, and the 0-RTT data is skipped. */
static void wrong_binder(void)
{
    struct subject *s = subject_new(true, V13_START);
    struct slice right = value(4, "client_hello");
    char *wrong = arena_alloc(&memory, right.len);
    test_case("RFC 8448 section 4: a wrong binder");
    memcpy(wrong, right.ptr, right.len);
    wrong[right.len - 1] ^= 1;
    deliver_slice(s, (struct slice){wrong, right.len});
    deliver_slice(s, value(4, "early_data"));
    CHECK(!s->v.code && s->v.step == V13_FINISHED);
    check_answer(s, content(right));
    subject_free(s);
}

int main(void)
{
    static const int sections[] = {3, 5, 6, 7};
    file = read_file(RFC, &memory);
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        struct trace t;
        trace_begin(&t, sections[i]);
        handshake(&t);
        session(&t);
        client(&t);
        server(&t);
    }
    for (int section = 3; section <= 7; section++)
        hello(section);
    wrong_binder();
    arena_free(&memory);
    return test_done();
}
