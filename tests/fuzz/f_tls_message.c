/* A malicious TLS 1.3 peer that knows the keys: it sends records of any type, length and content, correctly encrypted, in every step of the
 * handshake (of client and server) and in the open session. Input: one byte for step and side, then records: type, length (two bytes),
 * content. */
#include "src/tls/v13.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char secret[V13_HASH_MAX];

static void record(struct v13 *v, struct v13_keys *keys, unsigned type, struct slice content)
{
    unsigned char out[V13_HEAD + 65535 + 1 + V13_TAG];
    size_t n = content.len, room = 0;
    memcpy(out + V13_HEAD, content.ptr, n);
    bool seal = keys->suite && type != RECORD_CCS;
    if (seal) {
        out[V13_HEAD + n++] = (unsigned char)type;
        type = RECORD_DATA;
    }
    size_t len = seal ? n + V13_TAG : n;
    const unsigned char head[V13_HEAD] = {(unsigned char)type, 3, 3, (unsigned char)(len >> 8), (unsigned char)len};
    memcpy(out, head, sizeof head);
    if (seal)
        v13_seal(keys, out, out + V13_HEAD, n);
    size_t at = 0;
    for (char *to; at < V13_HEAD + len && (to = v13_recv_room(v, &room)) != NULL;) {
        size_t part = V13_HEAD + len - at < room ? V13_HEAD + len - at : room;
        memcpy(to, out + at, part);
        v13_recv_wrote(v, part);
        at += part;
        v13_read_used(v, v13_read_peek(v).len);
    }
}

static struct tls_identity *identity(void)
{
    static struct tls_identity *made;
    const struct slice name = SLICE("a.test");
    struct tls_issue ca = {.not_after_us = INT64_C(1) << 52}, leaf = {.names = &name, .name_count = 1, .not_after_us = INT64_C(1) << 52};
    struct buf cert, key;
    if (made)
        return made;
    buf_init(&cert, 64 * KIB);
    buf_init(&key, 64 * KIB);
    struct err e = {0};
    if (!tls_issue(&ca, &cert, &key, &e))
        abort();
    struct tls_identity *signer = tls_identity_load(buf_slice(&cert), buf_slice(&key), &e);
    buf_clear(&cert);
    buf_clear(&key);
    leaf.ca = signer;
    if (!signer || !tls_issue(&leaf, &cert, &key, &e))
        abort();
    made = tls_identity_load(buf_slice(&cert), buf_slice(&key), &e);
    if (!made)
        abort();
    tls_identity_drop(signer);
    buf_free(&cert);
    buf_free(&key);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char records[BR_SSL_BUFSIZE_BIDI];
    struct slice in = {(const char *)data, size}, content;
    struct v13 v = {0};
    struct v13_keys keys = {0};
    struct tls_check check;
    uint32_t first = 0, type = 0;
    if (!v13_get(&in, 1, &first))
        return 0;
    bool server = first & 0x80;
    enum v13_step step = (enum v13_step)((first & 0x7f) % (V13_OPEN + 1));
    if (server && step != V13_RETRIED && step != V13_FINISHED && step != V13_OPEN)
        step = V13_START;
    if (!server && step < V13_HELLO)
        step = V13_HELLO;
    v13_start(&v, server, records);
    tls_check_init(&check, SLICE("a.test"), NULL, true, 0);
    v.check = &check;
    v.identity = server ? identity() : NULL;
    if (!server)
        v13_client_hello(&v);
    v.step = step;
    if (step >= V13_EXTENSIONS) {
        v.suite = v13_suite_of(0x1301 + (first & 0x7f) / (V13_OPEN + 1) % 3);
        v13_keys_set(&v.in, v.suite, secret);
        v13_keys_set(&v.out, v.suite, secret);
        v13_keys_set(&keys, v.suite, secret);
    }
    if (step == V13_OPEN)
        v13_opened(&v);
    while (v13_get(&in, 1, &type) && v13_get_vector(&in, 2, &content))
        record(&v, &keys, type, content);
    if (v.step == V13_OPEN && step != V13_OPEN)
        abort(); /* the session opened without a valid Finished */
    v13_free(&v);
    tls_check_free(&check);
    return 0;
}
