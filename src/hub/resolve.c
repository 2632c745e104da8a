/* Whether an operator can be told of a workload: its compute config is there, and both together are what an operator reads. Compute configs
 * are stored as NAME-vN, and named NAME:N, or NAME for the newest. */
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

/* ---- reasons to hide a workload ---- */

/* Of text that is JSON. Each container and what separates its members counts as a token, which is enough for all that is in it. */
struct weight weigh(struct slice json)
{
    struct weight out = {.bytes = json.len, .tokens = 1};
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];
        i += quoted && c == '\\';
        if (c == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        out.depth = depth > out.depth ? depth : out.depth;
        out.tokens += c == '{' || c == '[' || c == ',' || c == ':';
    }
    return out;
}

/* One that is read by nobody would keep all others of its answer from their operator. */
static const char *why_hidden(const struct hub *h, const struct workload *w)
{
    enum { INLINE = 2 /* levels above the compute config */ };
    const struct config *config = slice_empty(w->config) || w->terminate ? NULL : config_find(h, w->ns, w->config);
    struct weight all = w->weight, more = config ? config->weight : (struct weight){0};
    if (!slice_empty(w->config) && !w->terminate && !config)
        return HUB_UNRESOLVED;
    all.depth = config && more.depth + INLINE > all.depth ? more.depth + INLINE : all.depth;
    bool fits = all.bytes + more.bytes <= LIMIT_HUB_SPEC && all.tokens + more.tokens <= LIMIT_HUB_TOKENS && all.depth <= LIMIT_HUB_DEPTH;
    return fits ? NULL : HUB_UNFIT;
}

void workload_look(struct hub *h, struct workload *w)
{
    w->hidden = why_hidden(h, w);
    w->shown = w->deleting || (w->finalizer >= 0 && !w->hidden);
}

bool workload_waits(const struct workload *w)
{
    return !w->deleting && w->observed < w->generation;
}

void hidden_care(struct hub *h, const struct workload *w)
{
    if (!w->hidden || !workload_waits(w))
        return;
    const char *now = why_hidden(h, w);
    if (!now || now != w->told)
        hidden_write(h, w, now);
}

/* One that is hidden no more is written once more: its new version tells every replica's operators of it. */
void workloads_look(struct hub *h, struct slice ns)
{
    struct workload *w;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;) {
        if (slice_empty(w->config) || !(slice_empty(ns) || slice_eq(w->ns, ns)))
            continue;
        const char *before = w->hidden, *now = why_hidden(h, w);
        if (now || !before || !workload_waits(w))
            workload_look(h, w);
        if (now != before && workload_waits(w))
            hidden_write(h, w, now);
    }
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
