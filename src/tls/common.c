/* Sends Certificate, CertificateVerify and Finished, and verifies the peer's Finished, for client and server (RFC 8446 §4.4). */
#include "v13.h"

static size_t begin(struct buf *b, unsigned type)
{
    buf_init(b, LIMIT_TLS_QUEUE);
    put8(b, type);
    return v13_begin(b, 3);
}

static void say(struct v13 *v, struct buf *b, size_t from)
{
    v13_end(b, from, 3);
    v13_say(v, b);
}

void v13_say_certificate(struct v13 *v)
{
    struct buf b;
    size_t from = begin(&b, MESSAGE_CERTIFICATE);
    put8(&b, 0); /* certificate_request_context, which only a request after the handshake has */
    size_t list = v13_begin(&b, 3);
    for (size_t i = 0; v->shake->scheme && i < v->identity->count; i++) {
        size_t one = v13_begin(&b, 3);
        buf_put(&b, identity_certificate(v->identity, i));
        v13_end(&b, one, 3);
        put16(&b, 0);
    }
    v13_end(&b, list, 3);
    say(v, &b, from);
}

bool v13_say_verify(struct v13 *v)
{
    struct buf b;
    unsigned char transcript[V13_HASH_MAX];
    size_t from = begin(&b, MESSAGE_VERIFY);
    v13_transcript_out(&v->shake->transcript, v->suite, transcript);
    put16(&b, v->shake->scheme);
    size_t signature = v13_begin(&b, 2);
    if (!v13_sign(v->identity, v->shake->scheme, v->server, v->suite, transcript, &b)) {
        buf_free(&b);
        return v13_fail(v, ALERT_NO_HANDSHAKE, V13_ERR_SCHEME);
    }
    v13_end(&b, signature, 2);
    say(v, &b, from);
    return true;
}

static void finished(const struct v13 *v, const unsigned char *secret, unsigned char *out)
{
    unsigned char transcript[V13_HASH_MAX];
    v13_transcript_out(&v->shake->transcript, v->suite, transcript);
    v13_finished(v->suite, secret, transcript, out);
}

void v13_say_finished(struct v13 *v, const unsigned char *secret)
{
    struct buf b;
    unsigned char mac[V13_HASH_MAX];
    size_t from = begin(&b, MESSAGE_FINISHED);
    finished(v, secret, mac);
    buf_put(&b, (struct slice){(const char *)mac, v13_hash_len(v->suite)});
    say(v, &b, from);
}

bool v13_check_finished(struct v13 *v, const unsigned char *secret, struct slice body)
{
    unsigned char mac[V13_HASH_MAX], differs = 0;
    size_t n = v13_hash_len(v->suite);
    if (body.len != n)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    finished(v, secret, mac);
    for (size_t i = 0; i < n; i++)
        differs |= mac[i] ^ (unsigned char)body.ptr[i];
    return differs == 0 || v13_fail(v, ALERT_DECRYPT, BR_ERR_BAD_FINISHED);
}
