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
