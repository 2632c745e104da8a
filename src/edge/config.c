/* Files of routes: read as resources are, so that each complaint names its field and line. */
#include "private.h"

#include <mobula/text.h>

struct making {
    struct reader r;
    const struct edge_options *o;
};

/* A host in which "*" may stand for a name, inside the first label. labels: at least so many are behind that. */
static bool is_host(struct slice host, unsigned labels)
{
    char plain[LIMIT_NET_HOST];
    ptrdiff_t star = slice_find(host, '*');
    if (star < 0 || host.len > sizeof plain)
        return net_is_host(host);
    memcpy(plain, host.ptr, host.len);
    plain[star] = 'x';
    struct slice rest = host, first = slice_cut(&rest, '.');
    for (; labels > 0 && rest.ptr; labels--)
        slice_cut(&rest, '.');
    return labels == 0 && (size_t)star < first.len && name_dns1123_subdomain((struct slice){plain, host.len});
}

static void read_upstream(struct making *m, const struct place *at, struct version *v)
{
    if (!read_text(&m->r, at, REQUIRED, &v->authority))
        return;
    bool placed = net_place(v->authority, &v->host, &v->port) && v->host.len < v->authority.len;
    v->host = slice_lower(v->host, m->r.arena);
    if (!placed || !is_host(v->host, 2))
        place_bad(&m->r, at, "is \"%.*s\": want HOST:PORT; a * for the cluster's name stands in the first label, with two behind it",
                  SLICE_ARG(v->authority));
}

static void read_version(struct making *m, const struct place *at, struct route *route)
{
    static const char *const known[] = {"name", "weight", "upstream", NULL};
    struct version *v = &route->versions[route->version_count];
    if (!read_object(&m->r, at, REQUIRED))
        return;
    note_unknown(&m->r, at, known);
    v->weight = 1;
    read_text(&m->r, place_key(at, "name"), REQUIRED, &v->name);
    read_int(&m->r, place_key(at, "weight"), 0, LIMIT_EDGE_WEIGHT, &v->weight);
    read_upstream(m, place_key(at, "upstream"), v);
    for (uint32_t i = 0; i < route->version_count; i++)
        if (slice_eq_nocase(route->versions[i].name, v->name))
            place_bad(&m->r, at, "has the name of another version, \"%.*s\"", SLICE_ARG(v->name));
    route->version_count++;
}

static void read_versions(struct making *m, const struct place *at, struct route *route)
{
    const struct place *list = place_key(at, "versions"), *one = place_key(at, "upstream");
    struct jval k, v;
    int64_t sum = 0;
    route->versions = arena_array(m->r.arena, LIMIT_EDGE_VERSIONS, sizeof *route->versions);
    if (place_given(list) == place_given(one)) {
        place_bad(&m->r, at, "needs upstream (HOST:PORT) or versions, and not both");
    } else if (place_given(one)) {
        route->version_count = 1;
        route->versions->weight = 1;
        read_upstream(m, one, route->versions);
    } else if (read_array(&m->r, list, REQUIRED)) {
        size_t count = json_len(list->value), index = 0;
        if (count > LIMIT_EDGE_VERSIONS)
            place_bad(&m->r, list, "has %zu versions: at most %d (LIMIT_EDGE_VERSIONS)", count, LIMIT_EDGE_VERSIONS);
        for (struct jiter it = json_iter(list->value); count <= LIMIT_EDGE_VERSIONS && json_next(&it, &k, &v); index++)
            read_version(m, place_element(list, index, v), route);
        for (uint32_t i = 0; i < route->version_count; i++)
            sum += route->versions[i].weight;
        if (sum == 0 && count <= LIMIT_EDGE_VERSIONS)
            place_bad(&m->r, list, "no version has a weight above 0: requests would go nowhere");
    }
}

/* The names of a cluster's or a service's right. "*" needs a host with a star, and so does an upstream with one. */
static void read_right(struct making *m, const struct place *at, struct route *route)
{
    static const char *const verbs[] = {"get", "create", "update", "patch", "delete", NULL};
    const struct place *cluster = place_key(at, "cluster"), *service = place_key(at, "service");
    bool star = slice_find(route->host, '*') >= 0, filled = false;
    route->right.resource = place_given(service) ? SLICE("rayservices") : SLICE("rayclusters");
    route->right.ns = m->o->ns;
    route->right.write = SLICE("update");
    read_text(&m->r, place_key(at, "namespace"), OPTIONAL, &route->right.ns);
    read_word(&m->r, place_key(at, "writeVerb"), verbs, &route->right.write);
    read_text(&m->r, place_given(service) ? service : cluster, OPTIONAL, &route->right.name);
    if (place_given(cluster) && place_given(service))
        place_bad(&m->r, service, "stands beside cluster: the rights on one of them decide");
    for (uint32_t i = 0; i < route->version_count; i++)
        filled |= slice_find(route->versions[i].host, '*') >= 0;
    if (route->guard == GUARD_USERS && slice_empty(route->right.name))
        place_bad(&m->r, at, "has auth: users, and names no cluster or service: whose rights would decide?");
    if (!star && (filled || slice_is(route->right.name, "*")))
        place_bad(&m->r, at, "has a * for the cluster's name: its host must have one in its first label");
    /* the star of the upstream is the label that the right is about, or anybody's right would be enough for each cluster */
    if (filled && route->guard == GUARD_USERS && !slice_is(route->right.name, "*"))
        place_bad(&m->r, at, "has a * in its upstream: the cluster whose rights decide must be \"*\" too");
}

/* Sums, with a blank between them. */
static void read_sums(struct making *m, const struct place *at, struct token_file *out)
{
    struct slice rest = SLICE_NONE;
    read_text(&m->r, at, OPTIONAL, &rest);
    while (rest.ptr) {
        struct slice one = slice_cut(&rest, ' ');
        if (one.len != TLS_SHA256_HEX - 1 || out->count == LIMIT_EDGE_TOKENS) {
            place_bad(&m->r, at, "must be 1 to %d SHA-256 sums (LIMIT_EDGE_TOKENS)", LIMIT_EDGE_TOKENS);
            return;
        }
        slice_copy(one, out->sum[out->count++], TLS_SHA256_HEX);
    }
}

static void read_guard(struct making *m, const struct place *at, struct route *route)
{
    static const char *const names[] = {[GUARD_USERS] = "users", [GUARD_TOKEN] = "token", [GUARD_NONE] = "none", [GUARD_NONE + 1] = NULL};
    const struct place *file = place_key(at, "tokenFile"), *sums = place_key(at, "tokenSha256");
    struct slice name = SLICE_NONE;
    if (read_text(&m->r, file, OPTIONAL, &route->tokens.path))
        route->tokens.path = arena_dup(m->r.arena, route->tokens.path); /* a NUL stands behind it */
    read_sums(m, sums, &route->tokens);
    struct slice upstream;
    if (read_text(&m->r, place_key(at, "upstreamTokenFile"), OPTIONAL, &upstream)) {
        route->upstream = arena_new(m->r.arena, struct upstream_token);
        route->upstream->path = arena_dup(m->r.arena, upstream);
    }
    if (!read_word(&m->r, place_key(at, "auth"), names, &name))
        place_bad(&m->r, at, "needs auth: users, token or none");
    for (unsigned i = 0; names[i]; i++)
        if (slice_is(name, names[i]))
            route->guard = (enum guard)i;
    if (place_given(file) + place_given(sums) != (route->guard == GUARD_TOKEN))
        place_bad(&m->r, at, "needs tokenFile or tokenSha256 with auth: token, and with nothing else");
}

static void read_route(struct making *m, const struct place *at, struct config *c)
{
    static const char *const known[] = {"host",    "path",    "strip",     "auth",      "tokenFile", "upstreamTokenFile", "tokenSha256",
                                        "cluster", "service", "namespace", "writeVerb", "upstream",  "versions",          NULL};
    struct route *route = &c->routes[c->count++];
    const struct place *host = place_key(at, "host"), *path = place_key(at, "path");
    struct arena *a = m->r.arena;
    struct place_asked same;
    struct slice text = SLICE("/");
    *route = (struct route){0}; /* a text that was refused may have filled it */
    if (!read_object(&m->r, at, REQUIRED))
        return;
    note_unknown(&m->r, at, known);
    if (read_text(&m->r, host, OPTIONAL, &route->host) && !is_host(route->host, 1))
        place_bad(&m->r, host, "is \"%.*s\": want NAME, or one with a * in its first label", SLICE_ARG(route->host));
    route->host = slice_lower(route->host, a);
    if (read_text(&m->r, path, OPTIONAL, &text) && !(asked_read(text, SLICE_NONE, a, &same, NULL) && slice_eq(same.path, text)))
        place_bad(&m->r, path, "is \"%.*s\": want /SEGMENT/SEGMENT, nothing percent-encoded, no empty segment", SLICE_ARG(text));
    route->path = slice_ends(text, SLICE("/")) ? slice_head(text, text.len - 1) : text;
    read_flag(&m->r, place_key(at, "strip"), &route->strip);
    read_guard(m, at, route);
    read_versions(m, at, route);
    read_right(m, at, route);
    c->has_users |= route->guard == GUARD_USERS;
    for (const struct route *other = c->routes; other < route; other++)
        if (slice_eq(other->host, route->host) && slice_eq(other->path, route->path))
            place_bad(&m->r, at, "has the host and path of another route");
}

static bool read_routes(struct making *m, struct jval root, struct config *c)
{
    static const char *const known[] = {"routes", NULL};
    const struct place *at = place_root(root, m->r.arena), *list = place_key(at, "routes");
    struct jval k, v;
    size_t index = 0, count = json_len(list->value);
    if (!read_object(&m->r, at, REQUIRED) || !read_array(&m->r, list, REQUIRED))
        return false;
    note_unknown(&m->r, at, known);
    if (c->count + count > LIMIT_EDGE_ROUTES) {
        place_bad(&m->r, list, "has %zu routes: at most %d (LIMIT_EDGE_ROUTES)", count, LIMIT_EDGE_ROUTES);
        return false;
    }
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); index++)
        read_route(m, place_element(list, index, v), c);
    return true;
}

struct config *config_new(void)
{
    struct config *c = mem_alloc(sizeof *c);
    c->users = 1;
    c->routes = arena_array(&c->arena, LIMIT_EDGE_ROUTES, sizeof *c->routes);
    return c;
}

bool config_add(struct config *c, const struct edge_options *o, const struct edge_text *t, struct err *e)
{
    struct spec_errors *errors = arena_new(&c->arena, struct spec_errors);
    struct making m = {.r = {&c->arena, errors}, .o = o};
    struct yaml_doc doc;
    struct jval root;
    uint32_t before = c->count;
    bool had_users = c->has_users;
    if (t->text.len > LIMIT_EDGE_CONFIG)
        return err_set(e, ERR_LIMIT, "%s has %zu bytes: at most %d (LIMIT_EDGE_CONFIG)", t->file, t->text.len, LIMIT_EDGE_CONFIG);
    /* values lie in the text */
    if (spec_text_open(arena_dup(&c->arena, t->text), "routes", &c->arena, &doc, &root, errors)) {
        read_routes(&m, root, c);
        spec_text_lines(&doc, errors);
    }
    if (spec_errors_count(errors) == 0)
        return true;
    c->count = before;
    c->has_users = had_users;
    spec_errors_tell(errors, e);
    return err_wrap(e, "%s", t->file);
}

/* An upstream with a star is allowed as any name in its place: "*.NAMESPACE.svc". Upstreams of routes before these are forgotten. */
bool config_allow(const struct config *c, struct net_allow *allow, struct err *e)
{
    static const char setting[] = "upstream";
    char wild[LIMIT_NET_HOST + 1];
    net_allow_forget(allow, setting);
    for (uint32_t i = 0; i < c->count; i++)
        for (uint32_t n = 0; n < c->routes[i].version_count; n++) {
            const struct version *v = &c->routes[i].versions[n];
            struct slice host = v->host;
            if (slice_find(host, '*') >= 0) {
                host = slice_skip(host, (size_t)slice_find(host, '.'));
                wild[0] = '*';
                memcpy(wild + 1, host.ptr, host.len);
                host = (struct slice){wild, host.len + 1};
            }
            if (!net_allow_add(allow, host, v->port, setting, e))
                return false;
        }
    return true;
}
