/* Our X.509 class: BearSSL's own decides about the chain, and what it cannot do is done here.
 *
 * br_x509_minimal skips IP addresses, takes the common name for want of a better one, and does not look at the extended key usage: a
 * client's certificate whose common name is that of the API server would do. So it is given no name at all, a copy of the first
 * certificate is kept, and when the chain is found good, tls_leaf_read decides whether the certificate is for this server. */
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
    struct buf leaf;       /* DER of the first one */
    int64_t leaf_expires_us;
    struct err error; /* why the verdict was no */
};

/* name must stay as long as c. trust may be NULL with insecure. */
void tls_check_init(struct tls_check *c, struct slice name, const struct tls_trust *trust, bool insecure, int64_t wall_us);
void tls_check_free(struct tls_check *c);

/* explain.c: a code of BearSSL's in words. */
void tls_explain_certificate(struct err *e, int code, const struct tls_leaf *leaf, int64_t wall_us); /* leaf NULL: not readable */
struct tls_failure {
    bool accepted;      /* we are the server */
    bool has_identity;  /* we have a client certificate */
    bool suite_agreed;  /* the server has sent its certificate */
    const char *theirs; /* v13.theirs, or "" */
};
void tls_explain(struct err *e, int code, const struct tls_failure *f);

#endif
