/* Our X.509 class: BearSSL's own decides about the chain, and what it cannot do is done here.
 *
 * br_x509_minimal skips IP addresses, takes the common name for want of a better one, and does not look at the extended key usage: a
 * client's certificate whose common name is that of the API server would do. So it is given no name at all, a copy of the first
 * certificate is kept, and when the chain is found good, tls_leaf_read decides whether the certificate is for this server.
 *
 * It does not know RSA-PSS either. A certificate that is signed so is shown to it as one signed with PKCS #1 and the same hash (one byte of
 * the OID behind the signed part differs; it ignores the parameters), and then our verification function is called. */
#ifndef MOBULA_TLS_CHECK_H
#define MOBULA_TLS_CHECK_H

#include "trust.h"

struct tls_check {
    const br_x509_class *vtable; /* first: BearSSL calls us through it */
    struct slice name;
    bool insecure;
    int64_t wall_us;
    union {
        br_x509_minimal_context minimal;
        br_x509_decoder_context decoder; /* insecure: only the key is wanted */
    } engine;
    uint32_t certificates; /* that have begun */
    struct buf leaf, cert; /* DER of the first one, and of the one that is being received */
    bool pss;              /* the signature that BearSSL verifies next is RSA-PSS */
    int64_t leaf_expires_us;
    struct err error; /* why the verdict was no */
};

/* name must stay as long as c. trust may be NULL with insecure. */
void tls_check_init(struct tls_check *c, struct slice name, const struct tls_trust *trust, bool insecure, int64_t wall_us);
void tls_check_free(struct tls_check *c);

/* explain.c: a code of BearSSL's in words. */
void tls_explain_certificate(struct err *e, int code, const struct tls_leaf *leaf, int64_t wall_us); /* leaf NULL: not readable */
/* old.c: verifies an RSA signature as BearSSL asks for it. An empty OID stands for RSA-PSS: then `out` holds the hash of the signed bytes.
 */
uint32_t tls_verify_rsa(const unsigned char *x, size_t len, const unsigned char *oid, size_t hash_len, const br_rsa_public_key *key,
                        unsigned char *out);
/* algorithm.c: the place behind the OID of a certificate's signature algorithm, outside of its signed part; 0: the DER is malformed. *hash:
 * of RSA-PSS with valid parameters BearSSL's number of its hash, else 0. */
size_t tls_signature_algorithm(struct slice der, int *hash);

struct tls_failure {
    bool accepted;      /* we are the server */
    bool has_identity;  /* we have a client certificate */
    bool suite_agreed;  /* the server has sent its certificate */
    const char *theirs; /* v13.theirs, or "" */
};
void tls_explain(struct err *e, int code, const struct tls_failure *f);

#endif
