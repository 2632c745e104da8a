/* Which route a request takes, and which version of it. */
#include "private.h"

#include <limits.h>

/* ---- host and path of a request ---- */

static bool is_dots(struct slice segment)
{
    return slice_is(segment, ".") || slice_is(segment, "..");
}

/* Decodes the path, and leaves out empty segments. A backslash counts as a slash where dots are looked for: some readers take it for one.
 */
static bool read_path(struct slice raw, struct arena *a, struct slice *out, struct err *e)
{
    struct slice plain;
    if (!http_percent_decode(raw, a, &plain))
        return err_set(e, ERR_HTTP, "the path has a %% without two hexadecimal digits");
    char *to = arena_alloc(a, plain.len + 1);
    size_t len = 0, from = 0; /* of the last segment */
    for (size_t i = 0; i <= plain.len; i++) {
        char c = i < plain.len ? plain.ptr[i] : '/';
        if ((unsigned char)c < 0x20 || c == 0x7f)
            return err_set(e, ERR_HTTP, "the path has a control byte");
        if (c != '/' && c != '\\') {
            to[len++] = c;
            continue;
        }
        if (is_dots((struct slice){to + from, len - from}))
            return err_set(e, ERR_HTTP, "the path has a segment of dots: two readers may take it for different paths");
        if (i < plain.len && (c == '\\' || len == 0 || to[len - 1] != '/'))
            to[len++] = c;
        from = len;
    }
    *out = (struct slice){to, len};
    return true;
}

static bool read_host(struct slice host, struct arena *a, struct slice *out, struct err *e)
{
    struct slice name = host;
    uint16_t port;
    *out = SLICE("");
    if (slice_empty(host))
        return true;
    if (!net_place(host, &name, &port) || !net_is_host(name))
        return err_set(e, ERR_HTTP, "the host is no name or address with a port or without");
    *out = slice_lower(name, a);
    return true;
}

bool asked_read(struct slice target, struct slice host, struct arena *a, struct place_asked *out, struct err *e)
{
    struct slice rest = target, path = slice_cut(&rest, '?');
    if (!slice_starts(path, SLICE("/")) || slice_find(target, '#') >= 0)
        return err_set(e, ERR_HTTP, "the request target is no path: want /PATH[?QUERY]");
    return read_path(path, a, &out->path, e) && read_host(host, a, &out->host, e);
}

/* ---- routes ---- */

/* How exact the route's host is, from 1; 0: it is another. */
static int host_rank(const struct route *r, struct slice host, struct slice *label)
{
    *label = SLICE("");
    ptrdiff_t star = slice_find(r->host, '*');
    if (slice_empty(r->host))
        return 1;
    if (star < 0)
        return slice_eq(r->host, host) ? INT_MAX : 0;
    struct slice before = slice_head(r->host, (size_t)star), behind = slice_skip(r->host, before.len + 1);
    if (host.len <= before.len + behind.len || !slice_starts(host, before) || !slice_ends(host, behind))
        return 0;
    *label = slice_head(slice_skip(host, before.len), host.len - before.len - behind.len);
    return name_dns1123_label(*label) ? 1 + (int)r->host.len : 0;
}

static bool path_matches(const struct route *r, struct slice path)
{
    return slice_starts(path, r->path) && (path.len == r->path.len || path.ptr[r->path.len] == '/');
}

const struct route *route_find(const struct config *c, const struct place_asked *asked, struct slice *label)
{
    const struct route *best = NULL;
    int best_rank = 0;
    for (const struct route *r = c->routes; r < c->routes + c->count; r++) {
        struct slice here;
        int rank = host_rank(r, asked->host, &here);
        bool better = rank > best_rank || (rank == best_rank && best && r->path.len > best->path.len);
        if (rank && better && path_matches(r, asked->path)) {
            best = r;
            best_rank = rank;
            *label = here;
        }
    }
    return best;
}

/* ---- versions ---- */

/* As a rollout names them: the first is the primary, the second the canary, unless a version has that name. */
static struct version *named(const struct route *r, struct slice name)
{
    for (uint32_t i = 0; i < r->version_count; i++)
        if (slice_eq_nocase(r->versions[i].name, name))
            return &r->versions[i];
    if (slice_eq_nocase(name, SLICE("primary")))
        return r->versions;
    return slice_eq_nocase(name, SLICE("canary")) && r->version_count > 1 ? r->versions + 1 : NULL;
}

/* Smooth weighted round robin: of each run of requests as long as the sum of weights, each version gets its weight, well mixed. */
struct version *route_version(const struct route *r, struct slice pinned)
{
    struct version *best = NULL;
    int64_t sum = 0;
    if (!slice_empty(pinned))
        return named(r, pinned);
    for (struct version *v = r->versions; v < r->versions + r->version_count; v++) {
        v->turn += v->weight;
        sum += v->weight;
        if (v->weight && (!best || v->turn > best->turn))
            best = v;
    }
    if (best)
        best->turn -= sum;
    return best;
}

bool route_target(const struct route *r, struct slice target, struct arena *a, struct slice *out)
{
    *out = target;
    if (!r->strip || slice_empty(r->path))
        return true;
    struct slice rest = slice_skip(target, r->path.len);
    if (!slice_starts(target, r->path) || !(slice_empty(rest) || rest.ptr[0] == '/' || rest.ptr[0] == '?'))
        return false;
    *out = slice_starts(rest, SLICE("/")) ? rest : arena_printf(a, "/%.*s", SLICE_ARG(rest));
    return true;
}
