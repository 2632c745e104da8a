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

const struct refusal refuse_cloud = {
    404, "CloudUnknown", "mobula cloud list prints the deployment ids; the operator's --cloud-deployment-id names one of them", 0};

/* ---- life ---- */

static void flight_free(struct flight *f)
{
    *f->back = f->next;
    if (f->next)
        f->next->back = f->back;
    mem_free(f);
}

void call_drop_values(struct call *c)
{
    c->hub->values -= c->sync.values;
    c->sync.values = 0;
}

static void call_free(struct call *c)
{
    call_drop_values(c);
    if (c->cloud)
        cloud_leave(c);
    if (c->question)
        question_drop(c->question);
    *c->back = c->next;
    if (c->next)
        c->next->back = c->back;
    arena_free(&c->arena);
    mem_free(c);
}

struct call *call_new(struct hub *h, struct serve_ask *q)
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

int64_t calls_tick(struct hub *h)
{
    int64_t next = TIME_NEVER;
    for (struct call *c = h->calls, *after; c; c = after) {
        after = c->next; /* a call that is answered ends no other one but itself */
        if (!c->until_ms || c->pending || !c->ask)
            continue;
        if (c->until_ms <= h->now.mono_ms || h->stopping)
            c->touch(c);
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

bool call_resource(struct slice name)
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
    bool taken = a->status.reason == KUBE_ALREADY_EXISTS, person = call_resource(c->resource) && strcmp(c->verb, "sync") != 0;
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
