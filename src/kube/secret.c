/* Reads the data of a Secret. */
#include <mobula/kube.h>

bool kube_secret_data(struct jval secret, const char *key, bool optional, struct buf *out, struct arena *a, struct err *e)
{
    struct slice text = json_str(json_child(json_get(secret, "data"), key), a);
    if (slice_empty(text))
        return optional || err_set(e, ERR_MISSING, "it has no key %s", key);
    buf_room(out, text.len); /* in one piece: a buffer that grows leaves copies of the key in memory */
    return base64_decode(text, out, e) || err_wrap(e, "key %s", key);
}

void kube_ca_wipe(struct kube_ca *ca)
{
    buf_wipe(&ca->cert);
    buf_wipe(&ca->key);
    buf_wipe(&ca->root);
}

bool kube_secret_ca(struct jval secret, struct kube_ca *ca, struct arena *a, struct err *e)
{
    kube_ca_wipe(ca);
    ca->cert.max = ca->key.max = ca->root.max = LIMIT_TLS_PEM;
    return kube_secret_data(secret, "tls.crt", false, &ca->cert, a, e) && kube_secret_data(secret, "tls.key", false, &ca->key, a, e) &&
           kube_secret_data(secret, "ca.crt", true, &ca->root, a, e) && (ca->root.len || buf_put(&ca->root, buf_slice(&ca->cert)));
}
