/* A TLS 1.3 session of either side at any step, for tests that send it what peers should not. Records are encrypted with keys from a secret
 * of zeros. */
#ifndef MOBULA_TEST_TLS_SUBJECT_H
#define MOBULA_TEST_TLS_SUBJECT_H

#include "pki.h"

#include "src/tls/v13.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

#define HS RECORD_HANDSHAKE
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
    s->v.peer_finished = step == V13_OPEN;
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

static void message_of(struct buf *b, unsigned type, struct slice body)
{
    buf_clear(b);
    put8(b, type);
    put8(b, 0);
    put16(b, (unsigned)body.len);
    buf_put(b, body);
}

#pragma GCC diagnostic pop

#endif
