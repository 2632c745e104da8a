/* The paths of the API: finds the function that begins a call. */
#include "private.h"

static const struct route {
    const char *path; /* a * stands for one segment that is not empty */
    const char *method, *verb;
    call_step *begin; /* once it is known who asks */
} routes[] = {
    {"/v1/sync", "POST", "sync", sync_begin},
    {"/v1/bootstrap", "POST", "bootstrap", bootstrap_begin}, /* these two: pods, whose tokens the hub's API server does not know */
    {"/v1/report", "POST", "report", report_begin},
    {"/v1/projects/*/*", "GET", "list", rest_begin},
    {"/v1/projects/*/*", "POST", "create", rest_begin},
    {"/v1/projects/*/*/*", "GET", "get", rest_begin},
    {"/v1/projects/*/*/*", "PUT", "update", rest_begin},
    {"/v1/projects/*/*/*", "DELETE", "delete", rest_begin},
    {"/v1/projects/*/workloads/*/logs", "GET", "get", logs_begin},
    {"/v1/projects/*/workloads/*/folder", "PUT", "update", folder_put_begin},
    {"/v1/projects/*/workloads/*/folder", "GET", "sync", folder_get_begin},
};

/* Segments that stand for a *, at most three, become project, resource and name. */
static bool matches(struct slice pattern, struct slice path, struct slice *parts)
{
    while (pattern.ptr && path.ptr) {
        struct slice want = slice_cut(&pattern, '/'), have = slice_cut(&path, '/');
        if (slice_is(want, "*") && !slice_empty(have))
            *parts++ = have;
        else if (!slice_eq(want, have))
            return false;
    }
    return !pattern.ptr && !path.ptr;
}

static bool names_are_sound(struct call *c)
{
    return (slice_empty(c->resource) || call_resource(c->resource)) && (slice_empty(c->project) || name_dns1123_label(c->project)) &&
           (slice_empty(c->name) || name_dns1123_subdomain(c->name));
}

static const struct route *find_route(struct call *c, struct slice path, bool *known)
{
    *known = false;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        struct slice parts[3] = {SLICE_NONE, SLICE_NONE, SLICE_NONE};
        if (!matches(slice_of(routes[i].path), path, parts))
            continue;
        *known = true;
        if (!slice_is(c->ask->head->method, routes[i].method))
            continue;
        bool part = strstr(routes[i].path, "/workloads/") != NULL; /* of one workload */
        c->project = parts[0];
        c->resource = part ? SLICE("workloads") : parts[1];
        c->name = part ? parts[1] : parts[2];
        return &routes[i];
    }
    return NULL;
}

static bool answer_probe(struct call *c, struct slice path)
{
    struct buf why;
    bool ready = slice_is(path, "/readyz");
    if (!ready && !slice_is(path, "/healthz"))
        return false;
    buf_init(&why, 64 * KIB);
    if (ready && !hub_ready(c->hub, &why))
        call_text(c, 503, buf_slice(&why));
    else
        call_text(c, 200, SLICE("ok\n"));
    buf_free(&why);
    return true;
}

static bool is_json(const struct serve_ask *q)
{
    struct slice type = http_header_get(q->head, SLICE("content-type"));
    return slice_empty(q->body) || slice_eq_nocase(slice_trim(slice_cut(&type, ';')), SLICE("application/json"));
}

static void call_begin(struct hub *h, struct serve_ask *q)
{
    static const struct refusal method = {405, "MethodNotAllowed", "see docs/api/openapi.yaml", 0};
    static const struct refusal media = {415, "UnsupportedMediaType", "send Content-Type: application/json", 0};
    struct call *c = call_new(h, q);
    struct slice path = q->head->target;
    path = slice_cut(&path, '?');
    bool known = false, probe = slice_is(q->head->method, "GET");
    if (probe && answer_probe(c, path))
        return;
    const struct route *r = find_route(c, path, &known);
    if (!r && known) {
        call_refuse(c, &method, "%.*s is not for this path", SLICE_ARG(slice_head(q->head->method, 20)));
    } else if (!r || !names_are_sound(c)) {
        call_refuse(c, &refuse_unknown, "there is nothing at this path");
    } else if (!is_json(q)) {
        call_refuse(c, &media, "the body of a request is JSON");
    } else {
        c->verb = r->verb;
        if (r->begin == bootstrap_begin || r->begin == report_begin)
            r->begin(c);
        else
            auth_who(c, r->begin);
    }
}

static void call_bad(struct hub *h, struct serve_ask *q, int status, const struct err *why)
{
    struct call *c = call_new(h, q);
    call_refuse(c,
                &(struct refusal){status,
                                  status == 413 || status == 431 ? "TooLarge"
                                  : status == 503                ? "Unavailable"
                                                                 : "BadRequest",
                                  "", status == 503 ? 1 : 0},
                "%s", why->text);
}

static void on_ask(void *owner, struct serve_ask *q, struct now now)
{
    struct hub *h = owner;
    h->now = now;
    arena_reset(&h->event, 64 * KIB);
    call_begin(h, q);
}

static void on_bad(void *owner, struct serve_ask *q, int status, const struct err *why, struct now now)
{
    struct hub *h = owner;
    h->now = now;
    call_bad(h, q, status, why);
}

static void on_gone(void *owner, struct serve_ask *q)
{
    (void)owner;
    call_gone(q);
}

const struct serve_user hub_people = {on_ask, on_bad, on_gone};
