#include <mobula/tls.h>

#include "pem.h"

#include <bearssl.h>

enum { P256_DER = 91, P256_HEAD = 26 }; /* a SubjectPublicKeyInfo, and what stands in it before the point */

bool tls_key_load(struct slice pem, struct tls_key *out, struct err *e)
{
    static const unsigned char head[P256_HEAD] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
                                                  0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00};
    __attribute__((cleanup(buf_free))) struct buf der;
    struct pem_block block;
    buf_init(&der, LIMIT_TLS_PEM);
    while (pem_next(&pem, &block, e)) {
        if (!slice_is(block.label, "PUBLIC KEY"))
            continue;
        if (!pem_decode(block.body, &der, e))
            return false;
        if (der.len != P256_DER || memcmp(der.ptr, head, sizeof head) != 0)
            return err_set(e, ERR_CONFIG, "the public key is of another kind: want one on P-256, as openssl ec -pubout prints it");
        memcpy(out->point, der.ptr + P256_HEAD, sizeof out->point);
        tls_sha256_hex(buf_slice(&der), out->fingerprint);
        return true;
    }
    return err_set(e, ERR_MISSING, "no public key found: want PEM with -----BEGIN PUBLIC KEY-----");
}

bool tls_key_signed(const struct tls_key *key, struct slice bytes, struct slice signature)
{
    const br_ec_public_key k = {.curve = BR_EC_secp256r1, .q = (unsigned char *)(uintptr_t)key->point, .qlen = sizeof key->point};
    unsigned char digest[br_sha256_SIZE];
    br_sha256_context h;
    br_sha256_init(&h);
    br_sha256_update(&h, bytes.ptr, bytes.len);
    br_sha256_out(&h, digest);
    return br_ecdsa_vrfy_asn1_get_default()(br_ec_get_default(), digest, sizeof digest, &k, signature.ptr, signature.len) == 1;
}
