/* Encrypts and decrypts records: nonces, AEAD and key updates (RFC 8446 §5.2, §5.3, §7.2, §7.3). */
#include "v13.h"

static void init_aes(struct v13_keys *k, const unsigned char *key)
{
    const br_block_ctr_class *fast = br_aes_x86ni_ctr_get_vtable();
    const br_block_ctr_class *aes = fast ? fast : &br_aes_ct64_ctr_vtable;
    const unsigned char nonce[V13_NONCE] = {0};
    aes->init(&k->key.aes.vtable, key, k->suite->key_len);
    k->ghash = br_ghash_pclmul_get() ? br_ghash_pclmul_get() : br_ghash_ctmul64;
    memset(k->ghash_key, 0, sizeof k->ghash_key);
    aes->run(&k->key.aes.vtable, nonce, 0, k->ghash_key, sizeof k->ghash_key);
}

void v13_keys_set(struct v13_keys *k, const struct v13_suite *s, const unsigned char *secret)
{
    unsigned char key[32];
    k->suite = s;
    k->sequence = 0;
    if (k->secret != secret)
        memcpy(k->secret, secret, v13_hash_len(s));
    v13_expand(s, k->secret, "key", SLICE_NONE, key, s->key_len);
    v13_expand(s, k->secret, "iv", SLICE_NONE, k->iv, sizeof k->iv);
    if (s->chacha)
        memcpy(k->key.chacha, key, sizeof key);
    else
        init_aes(k, key);
    mem_wipe(key, sizeof key);
}

void v13_keys_update(struct v13_keys *k)
{
    unsigned char next[V13_HASH_MAX];
    v13_expand(k->suite, k->secret, "traffic upd", SLICE_NONE, next, v13_hash_len(k->suite));
    v13_keys_set(k, k->suite, next);
    mem_wipe(next, sizeof next);
}

/* AES-GCM (NIST SP 800-38D); the additional data is the header of the record. ghash pads each part with zeros to whole blocks. */
static void run_gcm(struct v13_keys *k, bool seal, const unsigned char *nonce, const unsigned char *head, unsigned char *text, size_t n,
                    unsigned char *tag)
{
    const br_block_ctr_class **aes = &k->key.aes.vtable;
    /* lengths in bits, of the header in the first 8 bytes, of the text in the others */
    const unsigned char lengths[16] = {[7] = 8 * V13_HEAD, [13] = n >> 13 & 0xff, [14] = n >> 5 & 0xff, [15] = n << 3 & 0xff};
    memset(tag, 0, V13_TAG);
    k->ghash(tag, k->ghash_key, head, V13_HEAD);
    if (seal)
        (*aes)->run(aes, nonce, 2, text, n);
    k->ghash(tag, k->ghash_key, text, n);
    if (!seal)
        (*aes)->run(aes, nonce, 2, text, n);
    k->ghash(tag, k->ghash_key, lengths, sizeof lengths);
    (*aes)->run(aes, nonce, 1, tag, V13_TAG);
}

/* Encrypts (seal) or decrypts n bytes in place, and computes the tag. When decrypting, the caller compares it with the received one. */
static void run(struct v13_keys *k, bool seal, const unsigned char *head, unsigned char *text, size_t n, unsigned char *tag)
{
    unsigned char nonce[V13_NONCE];
    memcpy(nonce, k->iv, sizeof nonce);
    for (unsigned i = 0; i < 8; i++)
        nonce[4 + i] ^= (unsigned char)(k->sequence >> (56 - 8 * i));
    k->sequence++;
    if (k->suite->chacha)
        br_poly1305_ctmulq_get()(k->key.chacha, nonce, text, n, head, V13_HEAD, tag, br_chacha20_ct_run, seal);
    else
        run_gcm(k, seal, nonce, head, text, n, tag);
}

void v13_seal(struct v13_keys *k, const unsigned char *head, unsigned char *text, size_t n)
{
    run(k, true, head, text, n, text + n);
}

bool v13_open(struct v13_keys *k, const unsigned char *head, unsigned char *text, size_t n)
{
    unsigned char tag[V13_TAG], differs = 0;
    run(k, false, head, text, n, tag);
    for (unsigned i = 0; i < V13_TAG; i++)
        differs |= tag[i] ^ text[n + i];
    return differs == 0;
}
