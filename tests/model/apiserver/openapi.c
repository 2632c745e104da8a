/* /openapi/v3, as little as kubectl needs: which operations know fieldValidation and dryRun (kubectl apply asks before it leaves the
 * checking to the server), and the schemas of CRDs (kubectl explain). */
#include "request.h"

static bool is_same(const struct api *x, const struct api *y)
{
    return slice_eq(x->group, y->group) && slice_eq(x->version, y->version);
}

/* "api/v1" or "apis/ray.io/v1" */
static struct slice group_path(const struct api *api, struct arena *a)
{
    struct slice version = api_version(api, a);
    return arena_printf(a, "%s/%.*s", api->group.len ? "apis" : "api", SLICE_ARG(version));
}

static bool serve_index(struct request *q)
{
    struct jout w;
    jout_init(&w, q->out);
    jout_object(&w);
    jout_kobject(&w, "paths");
    for (size_t i = 0; i < q->s->api_count; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again = again || is_same(q->s->apis[k], q->s->apis[i]);
        if (again)
            continue;
        struct slice path = group_path(q->s->apis[i], q->a);
        jout_key(&w, path);
        jout_object(&w);
        jout_kstr(&w, "serverRelativeURL", arena_printf(q->a, "/openapi/v3/%.*s", SLICE_ARG(path)));
        jout_end(&w);
    }
    jout_end(&w);
    jout_end(&w);
    q->code = 200;
    return true;
}

static void write_kind(const struct api *api, bool in_list, struct jout *w)
{
    jout_key(w, SLICE("x-kubernetes-group-version-kind"));
    if (in_list)
        jout_array(w);
    jout_object(w);
    jout_kstr(w, "group", api->group);
    jout_kstr(w, "version", api->version);
    jout_kstr(w, "kind", api->of->kind);
    jout_end(w);
    if (in_list)
        jout_end(w);
}

static void write_operation(const struct api *api, const char *method, const char *action, struct slice schema, struct jout *w)
{
    static const char *const parameters[] = {"dryRun", "fieldManager", "fieldValidation"};
    jout_kobject(w, method);
    jout_karray(w, "parameters");
    for (size_t i = 0; i < COUNT_OF(parameters); i++) {
        jout_object(w);
        jout_kstr(w, "name", slice_of(parameters[i]));
        jout_kstr(w, "in", SLICE("query"));
        jout_kraw(w, "schema", SLICE("{\"type\":\"string\",\"uniqueItems\":true}"));
        jout_end(w);
    }
    jout_end(w);
    jout_kobject(w, "responses");
    jout_kobject(w, "200");
    jout_kstr(w, "description", SLICE("OK"));
    jout_kobject(w, "content");
    jout_kobject(w, "application/json");
    jout_kobject(w, "schema");
    jout_kstr(w, "$ref", schema);
    for (int i = 0; i < 5; i++)
        jout_end(w);
    jout_kstr(w, "x-kubernetes-action", slice_of(action));
    write_kind(api, false, w);
    jout_end(w);
}

static struct slice schema_name(const struct api *api, struct arena *a)
{
    return arena_printf(a, "%.*s%s%.*s.%.*s", SLICE_ARG(api->group), api->group.len ? "." : "", SLICE_ARG(api->version),
                        SLICE_ARG(api->of->kind));
}

static void write_path(struct request *q, const struct api *api, struct jout *w)
{
    struct slice group = group_path(api, q->a), name = schema_name(api, q->a);
    struct slice collection = arena_printf(q->a, "/%.*s%s/%.*s", SLICE_ARG(group), api->of->namespaced ? "/namespaces/{namespace}" : "",
                                           SLICE_ARG(api->of->plural));
    struct slice schema = arena_printf(q->a, "#/components/schemas/%.*s", SLICE_ARG(name));
    jout_key(w, collection);
    jout_object(w);
    write_operation(api, "post", "post", schema, w);
    jout_end(w);
    jout_key(w, arena_printf(q->a, "%.*s/{name}", SLICE_ARG(collection)));
    jout_object(w);
    write_operation(api, "get", "get", schema, w);
    write_operation(api, "put", "put", schema, w);
    write_operation(api, "patch", "patch", schema, w);
    jout_end(w);
}

static void write_schema(struct request *q, const struct api *api, struct jout *w)
{
    jout_key(w, schema_name(api, q->a));
    jout_object(w);
    const struct node *schema = api->schema;
    for (const struct node *c = schema ? schema->child : NULL; c; c = c->next) {
        jout_key(w, c->key);
        dom_write(c, w);
    }
    if (!schema)
        jout_kstr(w, "type", SLICE("object"));
    write_kind(api, true, w);
    jout_end(w);
}

bool openapi_serve(struct request *q)
{
    const struct api *wanted = NULL;
    if (slice_eq(q->path, SLICE("/openapi/v3")))
        return serve_index(q);
    if (!slice_starts(q->path, SLICE("/openapi/v3/")))
        return false;
    for (size_t i = 0; i < q->s->api_count && !wanted; i++)
        if (slice_eq(group_path(q->s->apis[i], q->a), slice_skip(q->path, strlen("/openapi/v3/"))))
            wanted = q->s->apis[i];
    if (!wanted)
        return false;
    struct jout w;
    jout_init(&w, q->out);
    jout_object(&w);
    jout_kstr(&w, "openapi", SLICE("3.0.0"));
    jout_kraw(&w, "info", SLICE("{\"title\":\"Kubernetes\",\"version\":\"v1.34.10\"}"));
    jout_kobject(&w, "paths");
    for (size_t i = 0; i < q->s->api_count; i++)
        if (is_same(q->s->apis[i], wanted))
            write_path(q, q->s->apis[i], &w);
    jout_end(&w);
    jout_kobject(&w, "components");
    jout_kobject(&w, "schemas");
    for (size_t i = 0; i < q->s->api_count; i++)
        if (is_same(q->s->apis[i], wanted))
            write_schema(q, q->s->apis[i], &w);
    jout_end(&w);
    jout_end(&w);
    jout_end(&w);
    q->code = 200;
    return true;
}
