/* /version, health, and what there is: /api, /apis and their children, in the plain form that every client falls back to. */
#include "request.h"

#include <stdio.h>

static bool serve_text(struct request *q, const char *text)
{
    q->code = 200;
    q->type = "text/plain; charset=utf-8";
    buf_put(q->out, slice_of(text));
    return true;
}

static bool serve_json(struct request *q, const char *json)
{
    q->code = 200;
    buf_put(q->out, slice_of(json));
    return true;
}

static void string_list(struct jout *w, const char *key, const struct slice *list, size_t max)
{
    if (!list[0].len)
        return;
    jout_karray(w, key);
    for (size_t i = 0; i < max && list[i].len; i++)
        jout_str(w, list[i]);
    jout_end(w);
}

static void verbs(struct jout *w, const char *const *list, size_t count)
{
    jout_karray(w, "verbs");
    for (size_t i = 0; i < count; i++)
        jout_str(w, slice_of(list[i]));
    jout_end(w);
}

static void one_resource(const struct api *api, struct jout *w)
{
    static const char *const all[] = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
    static const char *const custom[] = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
    static const char *const status[] = {"get", "patch", "update"};
    const struct resource *r = api->of;
    jout_object(w);
    jout_kstr(w, "name", r->plural);
    jout_kstr(w, "singularName", r->singular);
    jout_kbool(w, "namespaced", r->namespaced);
    jout_kstr(w, "kind", r->kind);
    verbs(w, r->custom ? custom : all, COUNT_OF(all));
    string_list(w, "shortNames", r->short_names, RESOURCE_NAMES);
    string_list(w, "categories", r->categories, RESOURCE_NAMES);
    jout_end(w);
    if (!r->has_status)
        return;
    char name[128];
    snprintf(name, sizeof name, "%.*s/status", SLICE_ARG(r->plural));
    jout_object(w);
    jout_kstr(w, "name", slice_of(name));
    jout_kstr(w, "singularName", SLICE(""));
    jout_kbool(w, "namespaced", r->namespaced);
    jout_kstr(w, "kind", r->kind);
    verbs(w, status, COUNT_OF(status));
    jout_end(w);
}

static bool serve_resources(struct request *q, struct slice group, struct slice version)
{
    struct jout w;
    bool any = false;
    struct slice name = group.len ? arena_printf(q->a, "%.*s/%.*s", SLICE_ARG(group), SLICE_ARG(version)) : version;
    jout_init(&w, q->out);
    jout_object(&w);
    jout_kstr(&w, "kind", SLICE("APIResourceList"));
    jout_kstr(&w, "apiVersion", SLICE("v1"));
    jout_kstr(&w, "groupVersion", name);
    jout_karray(&w, "resources");
    for (size_t i = 0; i < q->s->api_count; i++) {
        const struct api *api = q->s->apis[i];
        if (!slice_eq(api->group, group) || !slice_eq(api->version, version))
            continue;
        any = true;
        one_resource(api, &w);
    }
    jout_end(&w);
    jout_end(&w);
    q->code = 200;
    if (!any)
        status_generic(&q->st, 404, "NotFound", "the server could not find the requested resource");
    return true;
}

/* Is there an earlier api of the same group (and version)? */
static bool seen_before(const struct apiserver *s, size_t i, bool same_version)
{
    for (size_t k = 0; k < i; k++)
        if (slice_eq(s->apis[k]->group, s->apis[i]->group) && (!same_version || slice_eq(s->apis[k]->version, s->apis[i]->version)))
            return true;
    return false;
}

static void version_entry(struct request *q, const struct api *api, struct jout *w)
{
    jout_object(w);
    jout_kstr(w, "groupVersion", api_version(api, q->a));
    jout_kstr(w, "version", api->version);
    jout_end(w);
}

static void one_group(struct request *q, size_t first, bool typed, struct jout *w)
{
    const struct api *api = q->s->apis[first], *preferred = api;
    jout_object(w);
    if (typed) {
        jout_kstr(w, "kind", SLICE("APIGroup"));
        jout_kstr(w, "apiVersion", SLICE("v1"));
    }
    jout_kstr(w, "name", api->group);
    jout_karray(w, "versions");
    for (size_t i = first; i < q->s->api_count; i++) {
        if (!slice_eq(q->s->apis[i]->group, api->group) || seen_before(q->s, i, true))
            continue;
        if (q->s->apis[i]->storage)
            preferred = q->s->apis[i];
        version_entry(q, q->s->apis[i], w);
    }
    jout_end(w);
    jout_key(w, SLICE("preferredVersion"));
    version_entry(q, preferred, w);
    jout_end(w);
}

static bool serve_groups(struct request *q)
{
    struct jout w;
    jout_init(&w, q->out);
    jout_object(&w);
    jout_kstr(&w, "kind", SLICE("APIGroupList"));
    jout_kstr(&w, "apiVersion", SLICE("v1"));
    jout_karray(&w, "groups");
    for (size_t i = 0; i < q->s->api_count; i++)
        if (q->s->apis[i]->group.len && !seen_before(q->s, i, false))
            one_group(q, i, false, &w);
    jout_end(&w);
    jout_end(&w);
    q->code = 200;
    return true;
}

static bool serve_group(struct request *q, struct slice group)
{
    struct jout w;
    jout_init(&w, q->out);
    for (size_t i = 0; i < q->s->api_count; i++) {
        if (!slice_eq(q->s->apis[i]->group, group))
            continue;
        one_group(q, i, true, &w);
        q->code = 200;
        return true;
    }
    status_generic(&q->st, 404, "NotFound", "the server could not find the requested resource");
    return true;
}

bool discovery_serve(struct request *q)
{
    static const char *const healthy[] = {"/healthz", "/readyz", "/livez"};
    struct slice path = q->path;
    for (size_t i = 0; i < COUNT_OF(healthy); i++)
        if (slice_eq(path, slice_of(healthy[i])))
            return serve_text(q, "ok");
    if (slice_eq(path, SLICE("/version")))
        return serve_json(
            q, "{\"major\":\"1\",\"minor\":\"34\",\"gitVersion\":\"v1.34.10+model\",\"gitCommit\":\"\",\"gitTreeState\":\"clean\","
               "\"buildDate\":\"\",\"goVersion\":\"\",\"compiler\":\"\",\"platform\":\"linux/amd64\"}");
    if (path.len > 1 && slice_ends(path, SLICE("/")))
        path = slice_head(path, path.len - 1);
    if (slice_eq(path, SLICE("/api")))
        return serve_json(q, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}");
    if (slice_eq(path, SLICE("/apis")))
        return serve_groups(q);
    if (slice_eq(path, SLICE("/api/v1")))
        return serve_resources(q, SLICE(""), SLICE("v1"));
    struct slice rest = slice_skip(path, 1), root = slice_cut(&rest, '/');
    if (!slice_eq(root, SLICE("apis")) || !rest.len)
        return false;
    struct slice group = slice_cut(&rest, '/');
    if (!rest.ptr)
        return serve_group(q, group);
    return slice_find(rest, '/') < 0 && serve_resources(q, group, rest);
}
