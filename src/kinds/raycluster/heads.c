/* Requests to the heads of clusters: directly, or through the API server's proxy. The caller names the cluster only; way.c knows the
 * address. */
#include "record.h"

/* A question that is under way. */
struct head_call {
    struct head_call *next, **link;
    struct op *op;
    ray_dash_done *done;
    void *owner;
    uint64_t tag;
    enum ray_dash_call call;
    char uid[UID_TEXT_MAX + 1]; /* of the cluster … */
    const struct istr *ns;      /* … and where it is */
    char ip[IP_TEXT_MAX + 1];   /* asked directly: on the egress allowlist until the answer */
    uint16_t port;
    struct ray_turn turn;        /* asked through the API server: when … */
    struct kube_request request; /* … and what; its texts … */
    struct buf texts;            /* … are in here until then, the token among them */
    bool sent;
};

static struct head_call *call_new(struct op *op, ray_dash_done *done, void *owner, uint64_t tag)
{
    struct head_call *h = mem_alloc(sizeof *h), **first = &rayclusters_of(op)->calls;
    *h = (struct head_call){.op = op, .done = done, .owner = owner, .tag = tag, .next = *first, .link = first};
    if (h->next)
        h->next->link = &h->next;
    *first = h;
    return h;
}

static void call_free(struct head_call *h)
{
    ray_turn_leave(&rayclusters_of(h->op)->turns, &h->turn);
    buf_wipe(&h->texts);
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    if (h->op->o.allow && h->ip[0])
        net_allow_drop_peer(h->op->o.allow, slice_of(h->ip), h->port);
    intern_drop(&h->op->strings, h->ns);
    mem_free(h);
}

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    (void)tag;
    struct head_call *h = owner;
    struct head_call told = *h;
    struct ray_dash_answer said = *answer;
    struct record *c = record_get(told.op, slice_of(told.uid), istr_slice(told.ns));
    told.op->now = now;
    if (said.outcome == RAY_DASH_DENIED && c && c->present)
        auth_refused(told.op, c, AUTH_TOKEN, &said.err);
    call_free(h);
    told.done(told.owner, told.tag, &said, now);
}

static bool ask_direct(struct head_call *h, struct slice ip, uint16_t port, const struct ray_dash_request *r, struct err *e)
{
    struct op *op = h->op;
    const struct ray_dash_to to = {.host = ip, .port = port, .done = on_answer, .owner = h};
    if (op->o.allow && !net_allow_peer(op->o.allow, ip, port, e))
        return false;
    slice_copy(ip, h->ip, sizeof h->ip);
    h->port = port;
    return ray_dash_ask(rayclusters_of(op)->dash, &to, r, e);
}

/* ---- through the API server ---- */

static void on_proxied(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    (void)tag;
    struct head_call *h = owner;
    struct op *op = h->op;
    struct arena scratch = {0};
    struct ray_dash_answer answer;
    struct ray_log log;
    bool cut = false;
    ray_log_init(&log);
    if (h->call == RAY_DASH_LOG && a->outcome == KUBE_OK)
        ray_log_add(&log, a->body);
    struct slice end = ray_log_end(&log, &cut);
    ray_dash_read_proxied(h->call, a, end, cut, " (mobula install --ray-access=proxy prints the right)", &scratch, &answer);
    op->now = now;
    if (h->done)
        on_answer(h, 0, &answer, now);
    else
        call_free(h);
    ray_log_free(&log);
    arena_free(&scratch);
}

static void send_proxied(void *call, struct now now)
{
    struct head_call *h = call;
    struct ray_dash_answer none = {.call = h->call, .outcome = RAY_DASH_UNSENT};
    h->sent = kube_call(h->op->client, &h->request, now, &none.err);
    buf_wipe(&h->texts);
    if (!h->sent)
        on_answer(h, 0, &none, now);
}

/* There is room for all of them at once: growing would move those before, and leave a copy of the token behind. */
static struct slice keep(struct head_call *h, struct slice text)
{
    size_t at = h->texts.len;
    buf_put(&h->texts, text);
    return slice_skip(buf_slice(&h->texts), at);
}

static void form(struct head_call *h, struct slice path, struct http_header header, struct slice body)
{
    const char *method = ray_dash_method(h->call);
    bool get = strcmp(method, "GET") == 0;
    size_t bytes = path.len + header.value.len + body.len;
    buf_init(&h->texts, bytes);
    buf_room(&h->texts, bytes);
    h->request = (struct kube_request){.lane = KUBE_LANE_PROXY,
                                       .method = slice_of(method),
                                       .path = keep(h, path),
                                       .content_type = get ? SLICE_NONE : SLICE(KUBE_TYPE_JSON),
                                       .body = keep(h, body),
                                       .header = {header.name, keep(h, header.value)},
                                       .again = get,
                                       .timeout_ms = RAY_DASH_MS,
                                       .done = on_proxied,
                                       .owner = h};
}

static bool ask_proxy(struct head_call *h, const struct head_way *way, uint16_t port, const struct ray_dash_request *r, struct err *e)
{
    struct op *op = h->op;
    struct arena scratch = {0};
    struct slice path = ray_dash_path(r, istr_slice(h->ns), way->service, port, &scratch);
    struct http_header header = {SLICE_NONE, SLICE_NONE};
    h->call = r->call;
    h->turn.call = h;
    if (!slice_empty(r->token))
        header = ray_dash_token(r->token, true, &scratch);
    bool ok = path.ptr ? ray_turn_enter(&rayclusters_of(op)->turns, &h->turn, slice_of(h->uid), port, r->doubtful, e)
                       : err_set(e, ERR_LIMIT, "the question does not fit a URL");
    if (ok)
        form(h, path, header, r->body);
    mem_wipe((char *)(uintptr_t)header.value.ptr, header.value.len);
    arena_free(&scratch);
    return ok;
}

bool head_ask(struct op *op, struct record *c, const struct ray_dash_request *r, ray_dash_done *done, void *owner, uint64_t tag,
              struct err *e)
{
    const struct head_way *way = head_way(op, c);
    struct slice ip = head_address(op, c);
    if (slice_empty(ip))
        return err_set(e, ERR_CLOSED, "cluster %s has no head that runs", c->name);
    struct ray_dash_request asked = *r;
    if (!auth_token(op, c, &asked.token, e))
        return false;
    struct head_call *h = call_new(op, done, owner, tag);
    slice_copy(slice_of(c->uid), h->uid, sizeof h->uid);
    h->ns = intern_keep(c->ns);
    uint16_t port = head_port(op, c);
    if (op->o.access == OPERATOR_PROXY ? ask_proxy(h, way, port, &asked, e) : ask_direct(h, ip, port, &asked, e))
        return true;
    call_free(h);
    return false;
}

void heads_forget(struct op *op, const void *owner)
{
    for (struct head_call *h = rayclusters_of(op)->calls, *next; h; h = next) {
        next = h->next;
        if (h->owner != owner)
            continue;
        if (h->sent) { /* it is answered still, to nobody, and keeps its place until then */
            h->done = NULL;
            h->owner = NULL;
            kube_calls_recall(op->client, h, NULL, op->now);
            continue;
        }
        ray_dash_forget(rayclusters_of(op)->dash, h);
        call_free(h);
    }
}

void heads_init(struct op *op)
{
    struct rayclusters *all = mem_alloc(sizeof *all);
    *kind_own(op, own_kind(op, &raycluster_own)) = all;
    all->gcs = ray_gcs_pool_new(op->net, rng_next(&op->rng));
    all->dash = ray_dash_pool_new(op->net);
    all->executable_hash = op->o.executable.take ? op->o.executable.hash : hash64(op->o.executable.bytes, 0);
    all->turns = (struct ray_turns){.most = KUBE_PROXY_CALLS, .most_doubtful = RAY_DASH_PROXIED_DOUBTFUL, .begin = send_proxied};
}

int64_t heads_tick(struct op *op)
{
    struct rayclusters *all = rayclusters_of(op);
    int64_t gcs = ray_gcs_pool_tick(all->gcs, op->now), next = earlier(gcs, ray_dash_pool_tick(all->dash, op->now));
    if (op->phase.stopping) /* else the end would wait for each of those in turn: what is under way is waited for */
        return next;
    return earlier(next, ray_turns_tick(&all->turns, op->now));
}

void heads_free(struct op *op)
{
    struct rayclusters *all = rayclusters_of(op);
    ray_gcs_pool_free(all->gcs);
    ray_dash_pool_free(all->dash);
    while (all->calls)
        call_free(all->calls);
    mem_free(all);
    *kind_own(op, own_kind(op, &raycluster_own)) = NULL;
}
