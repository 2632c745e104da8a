/* The hub as a whole: it lives, it is ready, it steps. */
#include "private.h"

enum { PATH_MAX_BYTES = 2 * KIB, CARE_MS = 10 * 1000, FIGURES_MAX = 64 * KIB };

static void on_figures(void *owner, struct serve_ask *q, struct now now)
{
    struct buf text;
    struct slice path = q->head->target;
    buf_init(&text, FIGURES_MAX);
    bool known = slice_is(slice_cut(&path, '?'), "/metrics"), get = slice_is(q->head->method, "GET");
    if (known && get)
        figures_write(owner, &text);
    else
        buf_put(&text, SLICE("not found: try GET /metrics\n"));
    const struct http_header type = {SLICE("Content-Type"), SLICE("text/plain; version=0.0.4; charset=utf-8")};
    serve_answer(q, known && get ? 200 : known ? 405 : 404, &type, 1, buf_slice(&text), now);
    buf_free(&text);
}

static bool open_sts(struct hub *h, struct err *e)
{
    const struct kube_config_url to = {.url = h->o.sts, .setting = "--sts-url", .name = "STS"};
    if (!h->o.sts)
        return true;
    h->auth.sts_config = kube_config_url(&to, e);
    if (!h->auth.sts_config || (h->o.allow && !kube_config_allow(h->auth.sts_config, h->o.allow, e)))
        return false;
    h->auth.sts = kube_client_new(h->net, h->auth.sts_config, rng_next(&h->rng), "mobula-control-plane/" MOBULA_VERSION);
    return true;
}

struct hub *hub_new(struct net *net, struct kube_config *config, const struct hub_options *o, struct err *e)
{
    static const struct serve_user figures = {.ask = on_figures};
    struct hub *h = mem_alloc(sizeof *h);
    h->o = *o;
    h->net = net;
    buf_init(&h->tls.trusted, LIMIT_TLS_PEM);
    random_bytes(h->secret, sizeof h->secret); /* until there is a certificate's key, which all replicas have */
    rng_seed(&h->rng, o->seed);
    buf_init(&h->body, LIMIT_JSON_ITEM);
    buf_init(&h->path, PATH_MAX_BYTES);
    h->client = kube_client_new(net, config, rng_next(&h->rng), "mobula-control-plane/" MOBULA_VERSION);
    kube_client_keep_warm(h->client);
    h->serve = serve_new(&(struct serve_options){.user = &hub_people,
                                                 .owner = h,
                                                 .connections = LIMIT_HUB_CONNECTIONS,
                                                 .each = LIMIT_HUB_STRANGERS,
                                                 .body_max = LIMIT_HUB_BODY,
                                                 .bodies_max = LIMIT_HUB_BODIES,
                                                 .answers_max = LIMIT_HUB_UNTAKEN,
                                                 .head_ms = HUB_HEAD_MS,
                                                 .request_ms = HUB_REQUEST_MS,
                                                 .answer_ms = HUB_ANSWER_MS,
                                                 .idle_ms = HUB_IDLE_MS});
    h->metrics =
        serve_new(&(struct serve_options){.user = &figures, .owner = h, .request_ms = HEALTH_HEAD_MS, .answer_ms = HEALTH_ANSWER_MS});
    hub_cert_start(h);
    if (open_sts(h, e) && hub_store_start(h, e))
        return h;
    hub_free(h);
    return NULL;
}

void hub_free(struct hub *h)
{
    if (!h)
        return;
    serve_free(h->serve);
    serve_free(h->metrics);
    hub_store_stop(h);
    peers_free(h);
    if (h->auth.sts)
        kube_client_free(h->auth.sts);
    kube_config_free(h->auth.sts_config);
    kube_client_free(h->client); /* no callback is called from here on */
    calls_free(h);
    hub_store_free(h);
    hub_cert_free(h);
    auth_free(h);
    arena_free(&h->event);
    buf_free(&h->body);
    buf_free(&h->path);
    mem_free(h);
}

int64_t hub_step(struct hub *h, struct now now)
{
    h->now = now;
    if (now.mono_ms >= h->care_ms) {
        arena_reset(&h->event, 64 * KIB);
        hub_store_care(h);
        silence_care(h);
        h->care_ms = now.mono_ms + CARE_MS;
    }
    int64_t next = calls_tick(h), cert = hub_cert_tick(h), client = kube_client_tick(h->client, now);
    next = next < client ? next : client;
    next = next < cert ? next : cert;
    next = earlier(next, peers_tick(h));
    next = h->auth.sts ? earlier(next, kube_client_tick(h->auth.sts, now)) : next;
    return next < h->care_ms ? next : h->care_ms;
}

bool hub_stop(struct hub *h, struct now now)
{
    h->now = now;
    if (!h->stopping) {
        h->stopping = true;
        h->stop_ms = now.mono_ms;
        serve_stop(h->serve);
        calls_tick(h);
    }
    bool late = now.mono_ms >= h->stop_ms + HUB_STOP_MS;
    return !hub_leaves(h) && (late || serve_stats(h->serve)->connections == 0);
}

void hub_renew(struct hub *h, struct now now)
{
    kube_client_renew(h->client, now);
    hub_cert_renew(h);
}

struct link_accept *hub_accept(struct hub *h)
{
    return serve_accept(h->serve);
}

struct link_accept *hub_metrics(struct hub *h)
{
    return serve_accept(h->metrics);
}
