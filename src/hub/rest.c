/* Objects for people: the API server's own answers, in our errors. The hub's account reads and writes; whether the caller may was asked
 * before. */
#include "private.h"

#include <stdio.h>

static const struct kube_resource *resource_of(const struct call *c)
{
    for (unsigned k = 0; k < SOURCES; k++)
        if (slice_eq(c->resource, hub_kinds[k]->resource->plural))
            return hub_kinds[k]->resource;
    fatal("no resource %.*s", SLICE_ARG(c->resource));
}

static void pass_on(struct call *c)
{
    const struct kube_answer *a = c->answer;
    if (a->outcome != KUBE_OK) {
        call_refuse_as(c, a);
        return;
    }
    call_answer(c, a->status.code, a->body);
}

static void ask(struct call *c)
{
    static const char *const queries[] = {"limit", "continue", "labelSelector"};
    struct hub *h = c->hub;
    const struct http_reader *head = c->ask->head;
    bool body = slice_is(head->method, "POST") || slice_is(head->method, "PUT");
    bool list = strcmp(c->verb, "list") == 0;
    hub_path(h, resource_of(c), c->project, c->name, SLICE_NONE);
    for (size_t i = 0; i < COUNT_OF(queries) && list; i++) {
        struct slice text, value = http_query_get(head->target, slice_of(queries[i]));
        if (value.ptr && http_query_decode(value, &c->arena, &text) && !kube_query(&h->path, queries[i], text)) {
            call_refuse(c, &refuse_bad, "the query is too long");
            return;
        }
    }
    if (body)
        kube_query(&h->path, "fieldValidation", SLICE("Strict")); /* a misspelt member would be dropped without a word */
    struct kube_request r = {.method = head->method,
                             .path = buf_slice(&h->path),
                             .content_type = body ? SLICE(KUBE_TYPE_JSON) : SLICE_NONE,
                             .body = body ? c->ask->body : SLICE_NONE,
                             .again = slice_is(head->method, "GET")};
    c->then = pass_on;
    call_ask(c, &r);
}

static void not_served(struct call *c)
{
    static const struct refusal other = {404, "NotFound", "name another, or add it to those of the control plane's --namespace", 0};
    call_refuse(c, &other, "project %.*s is not served by this control plane", SLICE_ARG(c->project));
}

/* A caller without the right gets 403 whether or not the project is served, so the answer does not reveal it. */
void project_may(struct call *c, call_step *then)
{
    auth_may(c, hub_store_space(c->hub, c->project) ? then : not_served);
}

void rest_begin(struct call *c)
{
    project_may(c, ask);
}

/* ---- logs ---- */

struct workload *workload_named(const struct hub *h, struct slice ns, struct slice name)
{
    struct workload *w;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;)
        if (slice_eq(w->ns, ns) && slice_eq(w->name, name))
            return w;
    return NULL;
}

/* The refusal for the code of the operator's answer: 503, which may be asked again, if it has none. */
static const struct refusal *log_refusal(struct jval answer)
{
    static const struct refusal refusals[] = {
        {404, "NotFound", "mobula job status has what is kept of the job", 0},
        {403, "Forbidden", "ask who runs that cluster", 0},
        {503, "Unavailable", "see the log of the operator", 5},
    };
    size_t i = 0;
    while (i + 1 < COUNT_OF(refusals) && json_get_int(answer, "code", 0) != refusals[i].status)
        i++;
    return &refusals[i];
}

static void log_answered(struct call *c, const struct cloud *of, struct jval answer)
{
    struct slice error = json_get_str(answer, "error", &c->arena);
    if (slice_empty(error))
        call_text(c, 200, json_get_str(answer, "text", &c->arena));
    else
        call_refuse(c, log_refusal(answer), "the operator of cloud %s answers: %.*s", of->key, SLICE_ARG(error));
}

static void ask_log(struct call *c)
{
    struct workload *w = workload_named(c->hub, c->project, c->name);
    struct slice target = c->ask->head->target, text = http_query_get(target, SLICE("lines")),
                 version = http_query_get(target, SLICE("version"));
    int64_t lines = 200;
    if (text.ptr && (!slice_int(text, &lines) || lines < 1 || lines > LIMIT_HUB_LOG_LINES)) {
        call_refuse(c, &refuse_bad, "lines is a number from 1 to %d", LIMIT_HUB_LOG_LINES);
        return;
    }
    if (version.len > LIMIT_KUBE_NAME) {
        call_refuse(c, &refuse_bad, "version is the name of a version of a service, of at most %d bytes", LIMIT_KUBE_NAME);
        return;
    }
    if (!w) {
        call_refuse(c, &refuse_unknown, "there is no workload %.*s in project %.*s", SLICE_ARG(c->name), SLICE_ARG(c->project));
        return;
    }
    c->cloud = w->of;
    w->of->calls++;
    c->uid = arena_dup(&c->arena, w->uid);
    c->version = arena_dup(&c->arena, version);
    c->lines = lines;
    if (peer_holds(c->hub, w->of))
        peer_forward(c, w->of);
    else
        question_put(c, w->of, "logTail", log_answered);
}

void logs_begin(struct call *c)
{
    auth_may(c, ask_log);
}
