/* The view that sessions have of anchors and identities. */
#ifndef MOBULA_TLS_TRUST_H
#define MOBULA_TLS_TRUST_H

#include <mobula/tls.h>

#include <bearssl.h>

#define RSA_CANNOT_SIGN "the RSA key of %u bits cannot sign: see openssl rsa -check, and use another"

struct tls_trust {
    unsigned refs;
    uint32_t count;
    br_x509_trust_anchor *anchors;
    struct arena memory; /* of the anchors and all they point to */
};

struct tls_identity {
    unsigned refs;
    size_t count;
    br_x509_certificate chain[LIMIT_TLS_CHAIN];
    int signer_key_type;         /* of who signed the first certificate: BR_KEYTYPE_* */
    br_skey_decoder_context key; /* the decoder keeps the key */
    struct arena memory;         /* of the chain */
};

/* DER of the certificate that comes as the i-th in the chain. */
static inline struct slice identity_certificate(const struct tls_identity *id, size_t i)
{
    return (struct slice){(const char *)id->chain[i].data, id->chain[i].data_len};
}

#endif
