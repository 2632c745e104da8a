#include "request.h"

struct slice request_query(const struct request *q, const char *name)
{
    struct slice raw = http_query_get(q->target, slice_of(name)), text;
    if (!raw.ptr)
        return SLICE_NONE;
    return http_query_decode(raw, q->a, &text) ? text : SLICE("");
}

bool request_flag(const struct request *q, const char *name)
{
    struct slice v = request_query(q, name);
    return slice_eq(v, SLICE("true")) || slice_eq(v, SLICE("1"));
}

bool request_is_status(const struct request *q)
{
    return slice_eq(q->sub, SLICE("status"));
}

void request_warn(struct request *q, struct slice text)
{
    if (q->warning_count < REQUEST_WARNINGS)
        q->warnings[q->warning_count++] = text;
}

/* /api/v1/… and /apis/GROUP/VERSION/…: [namespaces/NS/]PLURAL[/NAME[/SUB]]. False when the path names no stored resource. */
static bool find_api(struct request *q)
{
    struct slice rest = slice_skip(q->path, 1), root = slice_cut(&rest, '/'), group = SLICE(""), version;
    if (slice_eq(root, SLICE("apis")))
        group = slice_cut(&rest, '/');
    else if (!slice_eq(root, SLICE("api")))
        return false;
    if (!rest.ptr)
        return false;
    version = slice_cut(&rest, '/');
    struct slice plural = rest.ptr ? slice_cut(&rest, '/') : SLICE("");
    q->name = rest.ptr ? slice_cut(&rest, '/') : SLICE("");
    q->sub = rest.ptr ? slice_cut(&rest, '/') : SLICE("");
    q->ns = SLICE("");
    /* …/namespaces/NS/pods is about pods, …/namespaces/NS and …/namespaces/NS/status about the namespace itself. */
    bool namespaced =
        slice_eq(plural, SLICE("namespaces")) && q->sub.len && !slice_eq(q->sub, SLICE("status")) && !slice_eq(q->sub, SLICE("finalize"));
    if (namespaced) {
        q->ns = q->name;
        plural = q->sub;
        q->name = rest.ptr ? slice_cut(&rest, '/') : SLICE("");
        q->sub = rest.ptr ? rest : SLICE("");
    }
    if (!http_percent_decode(q->name, q->a, &q->name) || !http_percent_decode(q->ns, q->a, &q->ns))
        return false;
    q->api = registry_api(q->s, group, version, plural);
    return q->api && q->api->of->namespaced >= namespaced;
}

/* Groups of custom resources are served by another part of the real server, which says so when it knows nothing of a path. */
static bool is_builtin_group(const struct request *q)
{
    struct slice rest = slice_skip(q->path, 1), root = slice_cut(&rest, '/');
    if (!slice_eq(root, SLICE("apis")) || !rest.ptr)
        return true;
    struct slice group = slice_cut(&rest, '/');
    for (size_t i = 0; i < q->s->api_count; i++)
        if (slice_eq(q->s->apis[i]->group, group) && !q->s->apis[i]->of->custom)
            return true;
    return false;
}

static void read_accept(struct request *q)
{
    struct slice rest = q->accept;
    bool any = !rest.len;
    while (rest.len) {
        struct slice one = slice_trim(slice_cut(&rest, ','));
        struct slice type = slice_trim(slice_cut(&one, ';'));
        bool json = slice_eq(type, SLICE("application/json")) || slice_eq(type, SLICE("*/*")) || slice_eq(type, SLICE("application/*"));
        if (!json)
            continue;
        any = true;
        for (struct slice p; one.len;) {
            p = slice_trim(slice_cut(&one, ';'));
            if (slice_eq(p, SLICE("as=Table")))
                q->format = FORMAT_TABLE;
            if (slice_starts(p, SLICE("as=PartialObjectMetadata")))
                q->format = FORMAT_METADATA;
        }
        break;
    }
    struct slice with = request_query(q, "includeObject");
    q->table_object = slice_eq(with, SLICE("Object")) ? TABLE_OBJECT : slice_eq(with, SLICE("None")) ? TABLE_NONE : TABLE_METADATA;
    if (!any)
        status_generic(
            &q->st, 406, "NotAcceptable",
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch");
}

static void check_write_options(struct request *q)
{
    static const struct {
        const char *method, *kind;
    } options[] = {{"POST", "CreateOptions"}, {"PUT", "UpdateOptions"}, {"PATCH", "PatchOptions"}};
    struct slice dry = request_query(q, "dryRun"), validation = request_query(q, "fieldValidation"), kind = SLICE_NONE;
    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (slice_eq(q->method, slice_of(options[i].method)))
            kind = slice_of(options[i].kind);
    if (!kind.ptr)
        return;
    bool apply = slice_eq(q->method, SLICE("PATCH")) && slice_starts(q->content_type, SLICE("application/apply-patch"));
    if (apply && !request_query(q, "fieldManager").len)
        status_cause(&q->st, "FieldValueRequired", SLICE("fieldManager"), "Required value: is required for apply patch");
    if (slice_eq(q->method, SLICE("PATCH")) && !apply && request_query(q, "force").len)
        status_cause(&q->st, "FieldValueForbidden", SLICE("force"), "Forbidden: may not be specified for non-apply patch");
    if (dry.len && !q->dry_run)
        status_cause(&q->st, "FieldValueNotSupported", SLICE("dryRun"), "Unsupported value: [\"%.*s\"]: supported values: \"All\"",
                     SLICE_ARG(dry));
    if (validation.len && !q->strict && !q->warn && !slice_eq(validation, SLICE("Ignore")))
        status_cause(&q->st, "FieldValueNotSupported", SLICE("fieldValidation"),
                     "Unsupported value: \"%.*s\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"", SLICE_ARG(validation));
    if (q->st.cause_count)
        status_invalid(&q->st, SLICE("meta.k8s.io"), kind, SLICE(""));
}

/* Typed clients send protobuf where a server says it can read it; this one cannot. */
bool request_is_json(struct request *q)
{
    struct slice rest = q->content_type, type = slice_trim(slice_cut(&rest, ';'));
    if (!type.len || slice_eq(type, SLICE("application/json")) || slice_eq(type, SLICE("application/yaml")))
        return true;
    return status_set(&q->st, 415, "UnsupportedMediaType",
                      "the body of the request was in an unknown format - accepted media types include: application/json, "
                      "application/yaml, application/vnd.kubernetes.protobuf");
}

static void read_options(struct request *q)
{
    if (slice_eq(q->method, SLICE("PATCH")) && q->name.len && !patch_known(q)) /* before all else */
        return;
    read_accept(q);
    if (slice_eq(q->method, SLICE("POST")) && !q->st.code && !request_is_json(q))
        return;
    struct slice validation = request_query(q, "fieldValidation");
    q->dry_run = slice_eq(request_query(q, "dryRun"), SLICE("All"));
    q->strict = slice_eq(validation, SLICE("Strict"));
    q->warn = !validation.len || slice_eq(validation, SLICE("Warn"));
    check_write_options(q);
    q->force = request_flag(q, "force");
    q->manager = request_query(q, "fieldManager");
    if (!q->manager.len) { /* as the real one: the User-Agent up to its slash */
        struct slice agent = q->agent;
        q->manager = slice_cut(&agent, '/');
    }
    if (!q->manager.len)
        q->manager = SLICE("unknown");
}

static void serve_object(struct request *q)
{
    struct slice m = q->method;
    if (slice_eq(m, SLICE("GET")))
        read_get(q);
    else if (slice_eq(m, SLICE("PUT")))
        write_update(q);
    else if (slice_eq(m, SLICE("PATCH")))
        patch_object(q);
    else if (slice_eq(m, SLICE("DELETE")) && !q->sub.len)
        remove_one(q);
    else if (slice_eq(m, SLICE("POST")) && q->api->of->custom && !q->sub.len) /* the name in the path is not looked at */
        write_create(q);
    else
        status_generic(&q->st, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

static void serve_collection(struct request *q)
{
    struct slice m = q->method;
    if (slice_eq(m, SLICE("GET")) && request_flag(q, "watch"))
        watch_open(q);
    else if (slice_eq(m, SLICE("GET")))
        read_list(q);
    else if (slice_eq(m, SLICE("POST")) && (q->ns.len || !q->api->of->namespaced))
        write_create(q);
    else if (slice_eq(m, SLICE("DELETE")) && (q->ns.len || !q->api->of->namespaced))
        remove_collection(q);
    else if (q->api->of->custom && (slice_eq(m, SLICE("PUT")) || slice_eq(m, SLICE("PATCH"))))
        status_bad(&q->st, "name must be provided");
    else
        status_generic(&q->st, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

static void serve_log(struct request *q)
{
    if (!store_find(q->api->of, q->ns, q->name)) {
        status_not_found(&q->st, q->api->group, q->api->of->plural, q->name);
        return;
    }
    q->code = 200;
    q->type = "text/plain";
    buf_printf(q->out, "%.*s runs in a model: it has no logs\n", SLICE_ARG(q->name));
}

static bool known_sub(const struct request *q)
{
    return !q->sub.len || (request_is_status(q) && q->api->of->has_status);
}

void request_serve(struct request *q)
{
    struct slice query = q->target;
    q->path = slice_cut(&query, '?');
    bool rooted = slice_starts(q->path, SLICE("/"));
    if (rooted && (discovery_serve(q) || openapi_serve(q) || reviews_serve(q)))
        return;
    if (!rooted || !find_api(q)) {
        if (is_builtin_group(q)) {
            status_generic(&q->st, 404, "NotFound", "the server could not find the requested resource");
            return;
        }
        q->code = 404;
        q->type = "text/plain; charset=utf-8";
        buf_put(q->out, SLICE("404 page not found\n"));
        return;
    }
    if (passed_is(q)) {
        passed_serve(q);
        return;
    }
    bool log = q->api->of->rules == &rules_pod && slice_eq(q->sub, SLICE("log"));
    if (!log && !known_sub(q)) {
        if (q->api->of->custom)
            status_not_found(&q->st, q->api->group, q->api->of->plural, q->name);
        else
            status_generic(&q->st, 404, "NotFound", "the server could not find the requested resource");
        return;
    }
    read_options(q);
    if (q->st.code)
        return;
    if (log)
        serve_log(q);
    else if (q->name.len)
        serve_object(q);
    else
        serve_collection(q);
}
