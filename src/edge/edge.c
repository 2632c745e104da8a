/* The edge as a whole: start, reload of its files, drain, end. */
#include "private.h"

struct edge *edge_new(struct net *net, struct kube_config *config, const struct edge_options *o)
{
    struct edge *g = mem_alloc(sizeof *g);
    g->o = *o;
    g->net = net;
    g->now = clock_now();
    if (!g->o.connections)
        g->o.connections = EDGE_CONNECTIONS;
    if (!g->o.answer_ms)
        g->o.answer_ms = EDGE_ANSWER_MS;
    random_bytes(g->key, sizeof g->key);
    g->client = config ? kube_client_new(net, config, o->seed, "mobula-edge/" MOBULA_VERSION) : NULL;
    g->figures = edge_figures_start(g);
    fronts_start(g);
    return g;
}

void edge_free(struct edge *g)
{
    if (!g)
        return;
    while (g->fronts)
        front_leave(g->fronts);
    backs_free(g);
    edge_calls_free(g);
    if (g->client)
        kube_client_free(g->client);
    edge_auth_free(g);
    serve_free(g->figures);
    config_drop(g->config);
    tls_identity_drop(g->identity);
    mem_wipe(g->key, sizeof g->key);
    mem_free(g);
}

/* ---- files ---- */

/* A file of tokens cannot be read. A log line (what) for each, when a running edge reads them again; else it is *e. */
static bool fail(struct edge *g, const char *what, const struct err *why, struct err *e)
{
    if (e)
        return err_set(e, why->code, "%s", why->text);
    if (log_memory_pass(&g->said, hash64(slice_of(why->text), hash64(slice_of(what), 0)), g->now))
        log_warn(what, LF_CSTR("error", why->text));
    return false;
}

static bool read_tokens(struct edge *g, struct route *r, struct err *e)
{
    struct err why = {0};
    return r->guard != GUARD_TOKEN || edge_auth_read_tokens(g, &r->tokens, &why) ||
           fail(g,
                why.code == ERR_MISSING ? "a file of tokens is gone: its tokens are not accepted any more"
                                        : "a file of tokens cannot be read: the tokens before it stay",
                &why, e);
}

static bool read_upstream(struct edge *g, struct route *r, struct err *e)
{
    struct err why = {0};
    return !r->upstream || edge_auth_read_upstream(g, r->upstream, &why) ||
           fail(g, "a token for an upstream cannot be read: the one before stays in use", &why, e);
}

/* Each file by itself: what is wrong with one changes nothing for the others. */
static bool read_all(struct edge *g, struct config *c, struct err *e)
{
    bool well = true;
    for (uint32_t i = 0; i < c->count; i++) {
        well &= read_tokens(g, &c->routes[i], e);
        well &= read_upstream(g, &c->routes[i], e);
    }
    return well;
}

bool edge_configure(struct edge *g, const struct edge_text *texts, uint32_t count, struct err *e)
{
    struct config *c = config_new();
    bool well = true;
    for (uint32_t i = 0; well && i < count; i++) {
        struct err why = {0};
        if (config_add(c, &g->o, &texts[i], &why))
            continue;
        well = i > 0;
        fail(g, "a service gets no requests: its routes cannot be used", &why, well ? NULL : e);
    }
    well = well && (g->client || !c->has_users || err_set(e, ERR_CONFIG, "%s: auth: users needs an API server", texts[0].file)) &&
           read_all(g, c, e) && (!g->o.allow || config_allow(c, g->o.allow, e));
    if (!well && g->config && g->o.allow)
        config_allow(g->config, g->o.allow, NULL);
    config_drop(well ? g->config : c);
    if (well)
        g->config = c;
    return well;
}

bool edge_has_users(const struct edge *g)
{
    return g->config && g->config->has_users;
}

bool edge_certify(struct edge *g, struct slice cert, struct slice key, struct err *e)
{
    uint64_t hash = hash64(cert, hash64(key, g->o.seed));
    if (g->identity && hash == g->certified)
        return true;
    struct tls_identity *fresh = tls_identity_load(cert, key, e);
    if (!fresh)
        return false;
    if (g->identity)
        log_info("new connections get the new certificate");
    tls_identity_drop(g->identity);
    g->identity = fresh;
    g->certified = hash;
    return true;
}

struct tls_identity *const *edge_identity(const struct edge *g)
{
    return &g->identity;
}

void edge_reload(struct edge *g)
{
    if (g->config)
        read_all(g, g->config, NULL);
}

/* ---- time ---- */

int64_t edge_step(struct edge *g, struct now now)
{
    g->now = now;
    return g->client ? kube_client_tick(g->client, now) : TIME_NEVER;
}

void edge_renew(struct edge *g, struct now now)
{
    if (g->client)
        kube_client_renew(g->client, now);
}

bool edge_drain(struct edge *g, bool close, struct now now)
{
    g->now = now;
    g->draining = true;
    if (close && !g->closed) {
        g->closed = true;
        fronts_drain(g);
        backs_free(g);
    }
    return close && g->busy == 0 && !g->fronts;
}

struct link_accept *edge_accept(struct edge *g)
{
    return &g->accept;
}

struct link_accept *edge_figures(struct edge *g)
{
    return serve_accept(g->figures);
}
