/* A request from its arrival to its answer. */
#include "private.h"

#include <stdio.h>

/* One question to the API server, which outlives a client that goes. */
struct flight {
    struct flight *next, **back;
    struct call *c; /* NULL: a write of the hub's own */
    call_done *done;
    void *about;
};

static const char *const resources[] = {"clouds", "computeconfigs", "workloads"};

const struct refusal refuse_bad = {400, "BadRequest", "see docs/api/openapi.yaml", 0};
const struct refusal refuse_unknown = {404, "NotFound", "see docs/api/openapi.yaml for what there is", 0};
const struct refusal refuse_later = {429, "TooManyRequests", "call again later, and less often", 1};
const struct refusal refuse_lost = {503, "Unavailable", "nothing: repeat the call", 2};

/* ---- life ---- */

static void flight_free(struct flight *f)
{
    *f->back = f->next;
    if (f->next)
        f->next->back = f->back;
    mem_free(f);
}

static void call_free(struct call *c)
{
    sync_read(c);
    if (c->cloud)
        sync_end(c);
    if (c->question)
        question_drop(c->question);
    *c->back = c->next;
    if (c->next)
        c->next->back = c->back;
    arena_free(&c->arena);
    mem_free(c);
}

void call_gone(struct serve_ask *q)
{
    struct call *c = q->state;
    if (!c)
        return;
    c->ask = NULL;
    if (!c->pending)
        call_free(c);
}

void calls_free(struct hub *h)
{
    while (h->flights)
        flight_free(h->flights);
    while (h->calls)
        call_free(h->calls);
}

static void expire(struct call *c)
{
    static const struct refusal silent = {503, "Unavailable", "see whether the operator of the cloud runs and reaches the control plane",
                                          5};
    if (c->question)
        call_refuse(c, &silent, "the operator of cloud %s has not answered within %d s", c->cloud->key, HUB_QUESTION_MS / 1000);
    else
        sync_touch(c);
}

int64_t calls_tick(struct hub *h)
{
    int64_t next = TIME_NEVER;
    for (struct call *c = h->calls, *after; c; c = after) {
        after = c->next; /* a call that is answered ends no other one but itself */
        if (!c->until_ms || c->pending || !c->ask)
            continue;
        if (c->until_ms <= h->now.mono_ms || h->stopping)
            expire(c);
        else if (c->until_ms < next)
            next = c->until_ms;
    }
    return next;
}

/* ---- answers ---- */

/* The audit log (user, action, whether it was allowed): writes by people, and whatever was refused. The same refusal is said once a
 * minute. */
static void audit(struct call *c, int status)
{
    struct hub *h = c->hub;
    bool read = !c->verb || strcmp(c->verb, "get") == 0 || strcmp(c->verb, "list") == 0 || strcmp(c->verb, "sync") == 0;
    uint64_t what = hash64(c->user, hash64(c->name, (uint64_t)status));
    if (status < 400 ? read : !log_memory_pass(&h->said, what, h->now))
        return;
    log_info("audit", LF("user", c->user), LF_CSTR("verb", c->verb ? c->verb : ""), LF("resource", c->resource), LF("project", c->project),
             LF("name", c->name), LF_INT("status", status));
}

static void finish(struct call *c, int status, const char *type, int retry_s, struct slice body)
{
    struct serve_ask *q = c->ask;
    char seconds[12];
    const struct http_header headers[] = {
        {SLICE("Content-Type"), slice_of(type)},
        {SLICE("Retry-After"), (struct slice){seconds, (size_t)snprintf(seconds, sizeof seconds, "%d", retry_s)}},
    };
    audit(c, status);
    c->hub->stats.refused += status >= 400;
    c->ask = NULL;
    q->state = NULL;
    serve_answer(q, status, headers, retry_s ? 2 : 1, body, c->hub->now);
    if (!c->pending)
        call_free(c);
}

void call_answer(struct call *c, int status, struct slice json)
{
    finish(c, status, "application/json", 0, json);
}

void call_text(struct call *c, int status, struct slice text)
{
    finish(c, status, "text/plain; charset=utf-8", 0, text);
}

void call_relay(struct call *c, const struct kube_answer *a)
{
    int64_t retry_ms = a->status.retry_after_ms;
    finish(c, a->status.code, "application/json", retry_ms > 0 ? (int)(retry_ms / 1000) : 0, a->body);
}

static void write_error(struct buf *b, const char *code, struct slice message, const char *remedy)
{
    struct jout w;
    jout_init(&w, b);
    jout_form(&w, "{error:{code:'%s',message:'%.*s',remedy?:'%s'}}", code, SLICE_ARG(message), remedy);
}

void call_refuse(struct call *c, const struct refusal *r, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    struct buf b;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_init(&b, 8 * ERR_TEXT_MAX);
    write_error(&b, r->code, slice_of(text), r->remedy);
    finish(c, r->status, "application/json", r->retry_s, buf_slice(&b));
    buf_free(&b);
}

bool answer_too_large(const struct kube_answer *a)
{
    static const char *const words[] = {"request is too large", "larger than max", "ResourceExhausted"};
    bool large = a->outcome == KUBE_REFUSED && a->status.code == 413;
    for (size_t i = 0; i < COUNT_OF(words) && a->outcome == KUBE_REFUSED; i++)
        large |= a->status.code == 500 && strstr(a->status.message, words[i]);
    return large;
}

static bool find_resource(struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(resources); i++)
        if (slice_is(name, resources[i]))
            return true;
    return false;
}

void call_refuse_as(struct call *c, const struct kube_answer *a)
{
    static const struct {
        int code;
        const char *word, *remedy;
    } words[] = {
        {400, "BadRequest", "mend the object"},
        {403, "Forbidden",
         "read the message: the control plane's account, a quota or an admission rule of its cluster does not allow this"},
        {404, "NotFound", "list what there is"},
        {409, "Conflict", "read the object again, and write it with its metadata.resourceVersion"},
        {413, "TooLarge", "make the object smaller"},
        {422, "Invalid", "mend the fields that the message names"},
    };
    if (a->outcome != KUBE_REFUSED) {
        call_refuse(c, &refuse_lost, "the API server of the control plane does not answer: %s", a->err.text);
        return;
    }
    bool taken = a->status.reason == KUBE_ALREADY_EXISTS, person = find_resource(c->resource) && strcmp(c->verb, "sync") != 0;
    int code = answer_too_large(a) ? 413 : a->status.code;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (words[i].code == code && (code != 403 || person)) {
            call_refuse(c, &(struct refusal){words[i].code, words[i].word, taken ? "use another name" : words[i].remedy, 0}, "%s",
                        a->status.message);
            return;
        }
    call_refuse(c, &refuse_lost, "the API server of the control plane answered %d %s: %s", a->status.code,
                kube_reason_text(a->status.reason), a->status.message);
}

/* ---- the API server ---- */

static void settle(struct call *c, const struct kube_answer *a)
{
    if (--c->pending)
        return;
    c->answer = a;
    if (c->ask)
        c->then(c);
    else
        call_free(c);
}

void call_settle(struct call *c)
{
    settle(c, NULL);
}

static void land(struct hub *h, struct flight *flight, const struct kube_answer *a)
{
    struct flight f = *flight;
    flight_free(flight);
    if (f.done)
        f.done(h, f.c, f.about, a);
    if (f.c)
        settle(f.c, a);
}

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct hub *h = owner;
    h->now = now;
    arena_reset(&h->event, 64 * KIB);
    land(h, (struct flight *)(uintptr_t)tag, a);
}

void hub_ask_at(struct hub *h, struct kube_client *client, struct call *c, struct kube_request *r, call_done *done, void *about)
{
    struct flight *f = mem_alloc(sizeof *f);
    struct kube_answer none = {.outcome = KUBE_UNSENT};
    *f = (struct flight){.next = h->flights, .back = &h->flights, .c = c, .done = done, .about = about};
    if (f->next)
        f->next->back = &f->next;
    h->flights = f;
    r->lane = KUBE_LANE_MAIN;
    r->at_once = true;
    r->timeout_ms = r->timeout_ms ? r->timeout_ms : HUB_CALL_MS;
    r->done = on_answer;
    r->owner = h;
    r->tag = (uint64_t)(uintptr_t)f;
    if (c)
        c->pending++;
    if (!kube_call(client, r, h->now, &none.err))
        land(h, f, &none);
}

void hub_ask(struct hub *h, struct call *c, struct kube_request *r, call_done *done, void *about)
{
    hub_ask_at(h, h->client, c, r, done, about);
}

void call_ask(struct call *c, struct kube_request *r)
{
    hub_ask(c->hub, c, r, NULL, NULL);
}

struct slice hub_path(struct hub *h, const struct kube_resource *r, struct slice ns, struct slice name, struct slice sub)
{
    buf_clear(&h->path);
    kube_path(&h->path, r, ns, name, sub);
    return buf_slice(&h->path);
}

/* ---- the request ---- */

static const struct route {
    const char *path; /* a * stands for one segment */
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
        if (slice_is(want, "*"))
            *parts++ = have;
        else if (!slice_eq(want, have))
            return false;
    }
    return !pattern.ptr && !path.ptr;
}

static bool names_are_sound(struct call *c)
{
    return (slice_empty(c->resource) || find_resource(c->resource)) && (slice_empty(c->project) || name_dns1123_label(c->project)) &&
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

static struct call *call_new(struct hub *h, struct serve_ask *q)
{
    struct call *c = mem_alloc(sizeof *c);
    c->hub = h;
    c->ask = q;
    q->state = c;
    c->next = h->calls;
    c->back = &h->calls;
    if (c->next)
        c->next->back = &c->next;
    h->calls = c;
    return c;
}

static bool is_json(const struct serve_ask *q)
{
    struct slice type = http_header_get(q->head, SLICE("content-type"));
    return slice_empty(q->body) || slice_eq_nocase(slice_trim(slice_cut(&type, ';')), SLICE("application/json"));
}

void call_begin(struct hub *h, struct serve_ask *q)
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

void call_bad(struct hub *h, struct serve_ask *q, int status, const struct err *why)
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
