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
    static const char *const keys[] = {RAY_CA_CERT, RAY_CA_KEY, RAY_CA_ROOT};
    enum { CERT, KEY, ROOT, OWN_CERT, OWN_KEY, COUNT };
    struct tls_issue how = {.names = &name, .name_count = 1, .subject = "mobula"};
    struct buf pem[COUNT];
    struct slice text[COUNT];
    uint32_t count, skipped;
    bool read = true;
    for (int i = 0; i < COUNT; i++) {
        buf_init(&pem[i], LIMIT_TLS_PEM);
        read = read && (i > ROOT || kube_secret_data(secret, keys[i], i == ROOT, &pem[i], a, e));
        text[i] = buf_slice(&pem[i]);
    }
    *trust = read ? tls_trust_load(text[ROOT].len ? text[ROOT] : text[CERT], &count, &skipped, e) : NULL;
    *identity = *trust && tls_issue_by(text[CERT], text[KEY], &how, wall_us, &pem[OWN_CERT], &pem[OWN_KEY], e)
                    ? tls_identity_load(buf_slice(&pem[OWN_CERT]), buf_slice(&pem[OWN_KEY]), e)
                    : NULL;
    if (!*identity)
        tls_trust_drop(*trust);
    for (int i = 0; i < COUNT; i++)
        buf_wipe(&pem[i]);
    return *identity != NULL;
}
