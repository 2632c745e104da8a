/* CAs of clusters with tlsOptions: creates a CA, and makes the operator's trust and client certificate for calls to a head from one. */
#include "record.h"

enum { PEM_MAX = 64 * KIB };

_Static_assert((int)RAYCLUSTER_CERTIFICATE_DAYS == TLS_ISSUED_DAYS - 1, "a certificate begins a day before it is made");

bool ca_write(int64_t wall_us, struct buf *data, struct err *e)
{
    struct buf cert, key;
    buf_init(&cert, PEM_MAX);
    buf_init(&key, PEM_MAX);
    bool well = tls_issue_ca(NULL, "ray", wall_us, &cert, &key, e);
    buf_put(data, SLICE("{\"" RAY_CA_CERT "\":\""));
    base64_encode(buf_slice(&cert), data);
    buf_put(data, SLICE("\",\"" RAY_CA_KEY "\":\""));
    base64_encode(buf_slice(&key), data);
    buf_put(data, SLICE("\"}"));
    buf_free(&cert);
    buf_wipe(&key);
    return well;
}

bool ca_take(struct jval secret, int64_t wall_us, struct arena *a, struct tls_trust **trust, struct tls_identity **identity, struct err *e)
{
    static const struct slice name = SLICE("mobula-operator");
    struct tls_issue how = {.names = &name, .name_count = 1, .subject = "mobula"};
    struct kube_ca ca = {.cert = {0}};
    struct buf cert, key;
    uint32_t count, skipped;
    buf_init(&cert, LIMIT_TLS_PEM);
    buf_init(&key, LIMIT_TLS_PEM);
    *trust = kube_secret_ca(secret, &ca, a, e) ? tls_trust_load(buf_slice(&ca.root), &count, &skipped, e) : NULL;
    *identity = *trust && tls_issue_by(buf_slice(&ca.cert), buf_slice(&ca.key), &how, wall_us, &cert, &key, e)
                    ? tls_identity_load(buf_slice(&cert), buf_slice(&key), e)
                    : NULL;
    if (!*identity)
        tls_trust_drop(*trust);
    kube_ca_wipe(&ca);
    buf_free(&cert);
    buf_wipe(&key);
    return *identity != NULL;
}
