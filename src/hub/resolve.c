/* Compute configs are stored as NAME-vN, and named NAME:N, or NAME for the newest. */
#include "private.h"

#include <stdio.h>

/* The version in a key "ns/NAME-vN"; 0: it is another name's. */
static int64_t version_of(struct slice key, struct slice ns, struct slice name)
{
    int64_t n = 0;
    size_t head = ns.len + 1 + name.len;
    if (key.len <= head + 2 || !slice_eq(slice_head(key, ns.len), ns) || key.ptr[ns.len] != '/' ||
        !slice_eq(slice_head(slice_skip(key, ns.len + 1), name.len), name) || memcmp(key.ptr + head, "-v", 2) != 0)
        return 0;
    return slice_int(slice_skip(key, head + 2), &n) && n > 0 ? n : 0;
}

const struct config *config_find(const struct hub *h, struct slice ns, struct slice name)
{
    char key[2 * LIMIT_KUBE_NAME + LIMIT_KUBE_NAMESPACE];
    struct slice version = name, base = slice_cut(&version, ':');
    if (version.ptr) {
        int n = snprintf(key, sizeof key, "%.*s/%.*s-v%.*s", SLICE_ARG(ns), SLICE_ARG(base), SLICE_ARG(version));
        return n < (int)sizeof key ? map_get(&h->configs, slice_of(key)) : NULL;
    }
    const struct config *c, *newest = NULL;
    int64_t most = 0;
    for (uint32_t i = 0; (c = map_next(&h->configs, &i)) != NULL;) {
        int64_t n = version_of(slice_of(c->key), ns, base);
        if (n > most) {
            most = n;
            newest = c;
        }
    }
    return newest;
}

struct slice workload_spec(const struct hub *h, const struct workload *w, struct arena *a)
{
    const struct config *config = slice_empty(w->config) ? NULL : config_find(h, w->ns, w->config);
    struct slice spec = w->spec;
    if (config)
        json_merge(w->spec, arena_printf(a, "{\"computeConfig\":{\"name\":null,\"inline\":%.*s}}", SLICE_ARG(config->spec)), a, &spec,
                   NULL);
    return spec;
}
