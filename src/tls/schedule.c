/* The transcript hash, HKDF and the secrets of TLS 1.3 (RFC 8446 §4.4.1, §7.1; RFC 5869). */
#include "v13.h"

const struct v13_suite v13_suites[3] = {
    {0x1301, 16, false, false, "TLS_AES_128_GCM_SHA256"},
    {0x1302, 32, true, false, "TLS_AES_256_GCM_SHA384"},
    {0x1303, 32, false, true, "TLS_CHACHA20_POLY1305_SHA256"},
};

const struct v13_suite *v13_suite_of(unsigned id)
{
    for (size_t i = 0; i < COUNT_OF(v13_suites); i++)
        if (v13_suites[i].id == id)
            return &v13_suites[i];
    return NULL;
}

bool v13_fast_aes(void)
{
    return br_aes_x86ni_ctr_get_vtable() && br_ghash_pclmul_get();
}

const struct v13_suite *v13_suite_nth(size_t i)
{
    return &v13_suites[v13_fast_aes() ? i : (i + 2) % COUNT_OF(v13_suites)];
}

/* ---- the transcript ---- */

void v13_transcript_init(struct v13_transcript *t)
{
    br_sha256_init(&t->sha256);
    br_sha384_init(&t->sha384);
}

void v13_transcript_add(struct v13_transcript *t, struct slice bytes)
{
    br_sha256_update(&t->sha256, bytes.ptr, bytes.len);
    br_sha384_update(&t->sha384, bytes.ptr, bytes.len);
}

void v13_transcript_out(const struct v13_transcript *t, const struct v13_suite *s, unsigned char *out)
{
    if (s->sha384)
        br_sha384_out(&t->sha384, out);
    else
        br_sha256_out(&t->sha256, out);
}

void v13_transcript_retry(struct v13_transcript *t, const struct v13_suite *s)
{
    unsigned char message[4 + V13_HASH_MAX] = {MESSAGE_HASH, 0, 0, (unsigned char)v13_hash_len(s)};
    v13_transcript_out(t, s, message + 4);
    v13_transcript_init(t);
    v13_transcript_add(t, (struct slice){(const char *)message, 4 + v13_hash_len(s)});
}

/* ---- HKDF ---- */

void v13_extract(const struct v13_suite *s, const unsigned char *salt, struct slice secret, unsigned char *out)
{
    br_hmac_key_context key;
    br_hmac_context mac;
    br_hmac_key_init(&key, v13_hash(s), salt, salt ? v13_hash_len(s) : 0);
    br_hmac_init(&mac, &key, 0);
    br_hmac_update(&mac, secret.ptr, secret.len);
    br_hmac_out(&mac, out);
    mem_wipe(&key, sizeof key);
    mem_wipe(&mac, sizeof mac);
}

/* HKDF-Expand-Label. len is at most the length of the hash, so one block is enough. */
void v13_expand(const struct v13_suite *s, const unsigned char *secret, const char *label, struct slice context, unsigned char *out,
                size_t len)
{
    unsigned char block[V13_HASH_MAX];
    const unsigned char head[3] = {(unsigned char)(len >> 8), (unsigned char)len, (unsigned char)(6 + strlen(label))};
    const unsigned char context_len = (unsigned char)context.len;
    br_hmac_key_context key;
    br_hmac_context mac;
    br_hmac_key_init(&key, v13_hash(s), secret, v13_hash_len(s));
    br_hmac_init(&mac, &key, 0);
    br_hmac_update(&mac, head, sizeof head);
    br_hmac_update(&mac, "tls13 ", 6);
    br_hmac_update(&mac, label, strlen(label));
    br_hmac_update(&mac, &context_len, 1);
    br_hmac_update(&mac, context.ptr, context.len);
    br_hmac_update(&mac, "\1", 1);
    br_hmac_out(&mac, block);
    memcpy(out, block, len);
    mem_wipe(&key, sizeof key);
    mem_wipe(&mac, sizeof mac);
    mem_wipe(block, sizeof block);
}

/* ---- secrets ---- */

static void derive(const struct v13_suite *s, const unsigned char *secret, const char *label, const unsigned char *hash, unsigned char *out)
{
    v13_expand(s, secret, label, (struct slice){(const char *)hash, v13_hash_len(s)}, out, v13_hash_len(s));
}

/* One step of the key schedule: k->now becomes HKDF-Extract(Derive-Secret(k->now, "derived", ""), input). */
static void climb(struct v13_secrets *k, const struct v13_suite *s, struct slice input)
{
    struct v13_transcript none;
    unsigned char empty[V13_HASH_MAX], derived[V13_HASH_MAX];
    v13_transcript_init(&none);
    v13_transcript_out(&none, s, empty);
    derive(s, k->now, "derived", empty, derived);
    v13_extract(s, derived, input, k->now);
    mem_wipe(derived, sizeof derived);
}

void v13_secrets_handshake(struct v13_secrets *k, const struct v13_suite *s, struct slice shared, const unsigned char *transcript)
{
    static const char zeros[V13_HASH_MAX];
    v13_extract(s, NULL, (struct slice){zeros, v13_hash_len(s)}, k->now);
    climb(k, s, shared);
    derive(s, k->now, "c hs traffic", transcript, k->client);
    derive(s, k->now, "s hs traffic", transcript, k->server);
}

void v13_secrets_master(struct v13_secrets *k, const struct v13_suite *s, const unsigned char *transcript)
{
    static const char zeros[V13_HASH_MAX];
    climb(k, s, (struct slice){zeros, v13_hash_len(s)});
    derive(s, k->now, "c ap traffic", transcript, k->client);
    derive(s, k->now, "s ap traffic", transcript, k->server);
}

void v13_finished(const struct v13_suite *s, const unsigned char *secret, const unsigned char *transcript, unsigned char *out)
{
    unsigned char key[V13_HASH_MAX];
    v13_expand(s, secret, "finished", SLICE_NONE, key, v13_hash_len(s));
    v13_extract(s, key, (struct slice){(const char *)transcript, v13_hash_len(s)}, out); /* HMAC(key, transcript) */
    mem_wipe(key, sizeof key);
}
