/* Other replicas of the control plane. A question to an operator must reach the replica that holds the operator's call, and its answer the
 * replica that has asked: Cloud.status.session says where that one is reached. A call is passed on with the caller's own token, once, and
 * the other replica looks for itself whether the caller may. Its certificate must be by the same CA as our own, or be the same. */
#include "private.h"

#define FORWARDED "forwarded"

struct peer {
    struct peer *next;
    struct kube_config *config;
    struct kube_client *client;
    uint64_t certified; /* the certificate that it was opened with */
    uint32_t flights;
    int64_t used_ms;
    bool allowed;
    char url[];
};

static void peer_free(struct hub *h, struct peer *p)
{
    if (p->client)
        kube_client_free(p->client);
    if (p->allowed)
        net_allow_drop_peer(h->o.allow, p->config->host, p->config->port);
    kube_config_free(p->config);
    mem_free(p);
}

/* A peer that cannot be used is freed here. */
static struct peer *peer_open(struct hub *h, struct slice url, struct err *e)
{
    struct peer *p = mem_alloc(sizeof *p + url.len + 1);
    memcpy(p->url, url.ptr, url.len);
    p->certified = h->tls.certified;
    p->config = kube_config_url(&(struct kube_config_url){.url = p->url,
                                                          .setting = "--replica-addr",
                                                          .name = "another replica of the control plane",
                                                          .ca = buf_slice(&h->tls.trusted),
                                                          .tls_name = slice_of(h->tls.name)},
                                e);
    bool ok = p->config != NULL;
    if (ok)
        p->config->use_proxy = false;
    if (ok && h->o.allow && slice_starts(p->config->host, SLICE("127.")))
        ok = kube_config_allow(p->config, h->o.allow, e);
    else if (ok && h->o.allow)
        ok = p->allowed = net_allow_peer(h->o.allow, p->config->host, p->config->port, e);
    if (ok) {
        p->client = kube_client_new(h->net, p->config, rng_next(&h->rng), "mobula-control-plane/" MOBULA_VERSION);
        return p;
    }
    peer_free(h, p);
    return NULL;
}

static struct peer *peer_at(struct hub *h, const char *url, struct err *e)
{
    struct peer *p = h->peers;
    while (p && (strcmp(p->url, url) != 0 || p->certified != h->tls.certified))
        p = p->next;
    if (!p && (p = peer_open(h, slice_of(url), e)) != NULL) {
        p->next = h->peers;
        h->peers = p;
    }
    return p;
}

int64_t peers_tick(struct hub *h)
{
    int64_t next = TIME_NEVER;
    for (struct peer **at = &h->peers, *p; (p = *at) != NULL;) {
        bool old = p->certified != h->tls.certified || h->now.mono_ms - p->used_ms >= HUB_PEER_MS;
        int64_t due = kube_client_tick(p->client, h->now);
        if (!p->flights && old) {
            *at = p->next;
            peer_free(h, p);
            continue;
        }
        due = due < p->used_ms + HUB_PEER_MS ? due : p->used_ms + HUB_PEER_MS;
        next = next < due ? next : due;
        at = &p->next;
    }
    return next;
}

void peers_free(struct hub *h)
{
    for (struct peer *p; (p = h->peers) != NULL;) {
        h->peers = p->next;
        peer_free(h, p);
    }
}

/* ---- passing on ---- */

bool peer_forwarded(const struct call *c)
{
    return http_query_get(c->ask->head->target, SLICE(FORWARDED)).ptr != NULL;
}

bool peer_holds(const struct hub *h, const struct cloud *c)
{
    const struct session *s = &c->session;
    return !c->held && s->url[0] && !s->here && !session_silent(h, c);
}

/* Sends a request to the replica that holds the cloud's session, for c. False: it cannot be sent. */
static bool send_to_holder(struct call *c, const struct cloud *to, struct kube_request *r, call_done *done, struct err *e)
{
    struct hub *h = c->hub;
    struct peer *p = peer_at(h, to->session.url, e);
    if (!p)
        return false;
    buf_clear(&h->path);
    buf_put(&h->path, r->path);
    kube_query(&h->path, FORWARDED, SLICE("1"));
    r->path = buf_slice(&h->path);
    r->header = (struct http_header){SLICE("Authorization"), http_header_get(c->ask->head, SLICE("authorization"))};
    r->secret = true;
    p->flights++;
    p->used_ms = h->now.mono_ms;
    hub_ask_at(h, p->client, c, r, done, p);
    return true;
}

static void on_peer_answer(struct hub *h, struct call *c, void *about, const struct kube_answer *a)
{
    (void)h;
    (void)c;
    (void)a;
    ((struct peer *)about)->flights--;
}

static void relay(struct call *c)
{
    const struct kube_answer *a = c->answer;
    if (a->outcome == KUBE_OK)
        call_text(c, a->status.code, a->body);
    else if (a->outcome == KUBE_REFUSED)
        call_relay(c, a);
    else
        call_refuse(c, &refuse_lost, "the replica of the control plane that holds the operator's call does not answer: %s", a->err.text);
}

void peer_forward(struct call *c, const struct cloud *to)
{
    struct err e = {0};
    struct kube_request r = {.method = c->ask->head->method, .path = c->ask->head->target, .timeout_ms = HUB_QUESTION_MS + HUB_REVIEW_MS};
    if (slice_is(r.method, "POST")) {
        r.content_type = SLICE(KUBE_TYPE_JSON);
        r.body = c->ask->body;
    }
    c->then = relay;
    if (peer_forwarded(c))
        call_refuse(c, &refuse_lost, "this replica of the control plane does not hold the call of cloud %s's operator", to->key);
    else if (!send_to_holder(c, to, &r, on_peer_answer, &e))
        call_refuse(c, &refuse_lost, "%s", e.text);
}

void peer_answers(struct call *c, struct slice answers)
{
    struct buf b;
    struct jout w;
    struct err ignored = {0}; /* the callers that wait there get 503, and may ask again */
    buf_init(&b, LIMIT_HUB_BODY);
    jout_init(&w, &b);
    jout_form(&w, "{protocol:1,cloud:'%s',instance:'%.*s',lease:'%.*s',revision:'',wait:0,answers:%.*s}", c->cloud->id,
              SLICE_ARG(c->sync.instance), SLICE_ARG(c->sync.lease), SLICE_ARG(answers));
    struct kube_request r = {.method = SLICE("POST"),
                             .path = SLICE("/v1/sync"),
                             .content_type = SLICE(KUBE_TYPE_JSON),
                             .body = buf_slice(&b),
                             .timeout_ms = HUB_REVIEW_MS};
    if (!b.full)
        send_to_holder(c, c->cloud, &r, on_peer_answer, &ignored);
    buf_free(&b);
}

bool hub_replica_url(struct slice ip, struct slice address, struct arena *a, struct slice *url)
{
    while (address.ptr && slice_find(address, ':') >= 0)
        slice_cut(&address, ':');
    bool v6 = slice_find(ip, ':') >= 0;
    *url = arena_printf(a, "https://%s%.*s%s:%.*s", v6 ? "[" : "", SLICE_ARG(ip), v6 ? "]" : "", SLICE_ARG(address));
    return net_is_ip(ip) && !slice_empty(address);
}
