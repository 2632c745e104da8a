/* One client for each head. Calls of one head follow one another on its connection: drains first, because they were decided on a state that
 * grows old; then the report, the health check, the next state. What cannot be answered in time closes the connection, so that an answer
 * that comes late is never taken for another's. */
#include "gcs.h"
#include <mobula/grpc.h>

#include <stdio.h>

enum {
    HOST_PORT = LIMIT_NET_HOST + 16,
    SCRATCH_KEPT = 64 * KIB, /* of the memory that a state is read into */
    SMALL_ANSWER = 4 * KIB,
    DRAIN_MAX = 1 * KIB,
    WORDS_MAX = ERR_TEXT_MAX,
};

struct drain {
    struct drain *next;
    char node[RAY_NODE_ID], pod[LIMIT_KUBE_NAME + 1];
    struct buf message;
};

struct ray_gcs {
    struct link_owner owner; /* first */
    struct ray_gcs_pool *pool;
    struct ray_gcs *prev, *next;
    ray_gcs_done *done;
    void *user;
    char *host, *token;
    uint16_t port;
    size_t token_len;
    struct tls_trust *trust; /* NULL: no TLS */
    struct tls_identity *identity;
    const char *tls_name;
    struct link *link;
    struct grpc grpc;
    /* the call under way */
    bool busy, opened;
    bool gave_way;
    bool again; /* it was sent on a kept connection that was dead: this is the second time */
    enum ray_gcs_call call;
    int64_t began_ms, until_ms;
    size_t held; /* of the pool's: by its answer */
    struct {
        struct drain *drains, **drains_end;
        uint32_t drain_count;
        struct buf report;
        bool report_newer; /* than the one under way */
        bool check;
        int64_t check_until_ms;
        int64_t every_ms, due_ms;
    } ask; /* requests that are to be sent */
    /* kept state */
    uint32_t calls; /* answered on this connection */
    uint32_t failures;
    uint64_t session; /* its hash; 0: none yet */
    int64_t idle_since_ms;
};

struct ray_gcs_pool {
    struct net *net;
    struct rng rng;
    struct ray_gcs *first, *closed; /* closed: freed by the next tick, when no step can stand inside them */
    struct arena scratch;
    size_t held;     /* by answers that are coming in */
    int64_t next_ms; /* nothing is to be done before this */
};

static void soon(struct ray_gcs_pool *p, int64_t at_ms)
{
    p->next_ms = at_ms < p->next_ms ? at_ms : p->next_ms;
}

/* ---- the connection ---- */

/* After anything that may have changed what its answer holds. */
static void weigh(struct ray_gcs *g)
{
    size_t held = g->grpc.answer.cap > RAY_ANSWER_FREE ? g->grpc.answer.cap : 0;
    g->pool->held += held - g->held;
    g->held = held;
}

static void disconnect(struct ray_gcs *g)
{
    if (g->link)
        link_close(g->link);
    g->link = NULL;
    g->calls = 0;
    grpc_free(&g->grpc);
    weigh(g);
}

static void gcs_step(struct link_owner *owner, struct link *l, struct now now);

static bool connect_to(struct ray_gcs *g, struct err *e)
{
    const struct endpoint to = {.host = slice_of(g->host),
                                .port = g->port,
                                .tls = g->trust,
                                .tls_name = slice_of(g->tls_name),
                                .h2 = true,
                                .trust = g->trust,
                                .identity = g->identity};
    g->opened = false;
    g->link = net_open(g->pool->net, &to, &g->owner, g->until_ms, e);
    return g->link != NULL;
}

static void send_out(struct ray_gcs *g)
{
    struct slice rest = buf_slice(&g->grpc.out);
    size_t had = rest.len;
    if (g->link->state == LINK_OPEN && had > 0)
        link_put(g->link, &rest);
    buf_drop(&g->grpc.out, had - rest.len);
}

/* ---- the queue ---- */

static void drain_free(struct drain *d)
{
    buf_free(&d->message);
    mem_free(d);
}

static struct drain *drain_take(struct ray_gcs *g)
{
    struct drain *d = g->ask.drains;
    g->ask.drains = d->next;
    g->ask.drains_end = g->ask.drains ? g->ask.drains_end : &g->ask.drains;
    g->ask.drain_count--;
    return d;
}

static bool wants(const struct ray_gcs *g, struct now now, enum ray_gcs_call *call)
{
    bool poll = g->ask.every_ms > 0 && now.mono_ms >= g->ask.due_ms;
    *call = g->ask.drains ? RAY_GCS_DRAIN : g->ask.report.len ? RAY_GCS_REPORT : g->ask.check ? RAY_GCS_HEALTH : RAY_GCS_STATE;
    return *call != RAY_GCS_STATE || poll;
}

static struct grpc_request request_of(const struct ray_gcs *g, char authority[HOST_PORT])
{
    struct grpc_request r = {.token = {g->token, g->token_len}, .answer_max = SMALL_ANSWER, .tls = g->trust};
    switch (g->call) {
    case RAY_GCS_HEALTH:
        r.path = SLICE("/grpc.health.v1.Health/Check");
        r.token = SLICE_NONE;
        break;
    case RAY_GCS_STATE:
        r.path = SLICE(GCS_SERVICE "GetClusterResourceState");
        r.answer_max = LIMIT_RAY_ANSWER;
        break;
    case RAY_GCS_REPORT:
        r.path = SLICE(GCS_SERVICE "ReportAutoscalingState");
        r.message = buf_slice(&g->ask.report);
        break;
    case RAY_GCS_DRAIN:
        r.path = SLICE(GCS_SERVICE "DrainNode");
        r.message = buf_slice(&g->ask.drains->message);
        break;
    }
    bool v6 = strchr(g->host, ':') != NULL;
    int n = snprintf(authority, HOST_PORT, v6 ? "[%s]:%u" : "%s:%u", g->host, g->port);
    r.authority = (struct slice){authority, (size_t)n};
    return r;
}

/* ---- the end of a call ---- */

/* The next poll: after a failure later each time, and always on the grid. */
static void poll_next(struct ray_gcs *g, struct now now)
{
    int64_t wait = g->ask.every_ms;
    if (g->failures > 0) {
        int64_t backoff = backoff_ms(&g->pool->rng, g->failures - 1, RAY_GCS_BACKOFF_MS, RAY_GCS_BACKOFF_MAX_MS);
        wait = backoff > wait ? backoff : wait;
    }
    g->ask.due_ms = (now.mono_ms + wait + RAY_GCS_GRID_MS - 1) / RAY_GCS_GRID_MS * RAY_GCS_GRID_MS;
}

/* When this client has something to do but to wait for its link. */
static int64_t next_of(const struct ray_gcs *g)
{
    if (g->busy)
        return TIME_NEVER;
    if (g->ask.drains || g->ask.report.len || g->ask.check)
        return 0;
    int64_t idle = g->link ? g->idle_since_ms + NET_IDLE_MS : TIME_NEVER;
    return g->ask.every_ms > 0 && g->ask.due_ms < idle ? g->ask.due_ms : idle;
}

/* Takes the call off the queue and tells the owner, who may close the client. */
static void tell(struct ray_gcs *g, struct ray_gcs_answer *a, struct now now)
{
    struct drain *drain = g->call == RAY_GCS_DRAIN ? drain_take(g) : NULL;
    bool failed = a->err.code != ERR_NONE;
    g->busy = g->again = false;
    g->idle_since_ms = now.mono_ms;
    if (g->call == RAY_GCS_REPORT && !g->ask.report_newer)
        buf_free(&g->ask.report);
    if (g->call == RAY_GCS_HEALTH)
        g->ask.check = false;
    if (g->call == RAY_GCS_STATE)
        poll_next(g, now);
    a->call = g->call;
    a->failures = g->failures;
    a->open = failed && g->opened;
    a->gave_way = g->gave_way;
    a->took_ms = now.mono_ms - g->began_ms;
    if (drain) {
        a->node = (struct slice){drain->node, sizeof drain->node};
        a->pod = slice_of(drain->pod);
    }
    g->done(g->user, a, now);
    soon(g->pool, next_of(g)); /* its own: looking at all the others after each answer would be thousands of looks a second for nothing */
    if (drain)
        drain_free(drain);
}

static void finish(struct ray_gcs *g, struct ray_gcs_answer *a, struct now now)
{
    g->failures = a->err.code != ERR_NONE ? g->failures + 1 : 0;
    tell(g, a, now);
}

/* Drains that wait fail together: nobody knows when the next one could be sent, and what they were decided on would be long gone. */
static void fail(struct ray_gcs *g, const struct err *why, struct now now)
{
    struct ray_gcs_answer a = {.err = *why, .grpc_status = GRPC_NO_STATUS};
    uint32_t waiting = g->call == RAY_GCS_DRAIN ? g->ask.drain_count - 1 : 0;
    finish(g, &a, now);
    for (; waiting > 0 && g->ask.drains; waiting--) {
        g->call = RAY_GCS_DRAIN;
        tell(g, &a, now);
    }
}

/* The call cannot be answered on this connection any more. The server may have closed a kept one just when we used it: every call of ours
 * may be sent twice, so that is tried once. */
static void lost(struct ray_gcs *g, const struct err *why, struct now now)
{
    struct err kept = *why; /* it may lie in the link, which goes first */
    bool stale = g->calls > 0 && !g->grpc.headed && !g->again && (kept.code == ERR_CLOSED || kept.code == ERR_IO);
    disconnect(g);
    if (!g->busy)
        return;
    if (stale) {
        g->busy = false;
        g->again = true;
        soon(g->pool, now.mono_ms);
        return;
    }
    fail(g, &kept, now);
}

static void about(const struct ray_gcs *g, struct err *e)
{
    bool v6 = strchr(g->host, ':') != NULL;
    err_wrap(e, v6 ? "[%s]:%u" : "%s:%u", g->host, g->port);
}

/* A large answer of a head that works is here in a tenth of a second. So it is not whoever comes last that goes without, but the one whose
 * answer has been coming for the longest: heads that stall keep nobody else from theirs. */
static void make_room(struct ray_gcs_pool *p, struct now now)
{
    while (p->held > LIMIT_RAY_ANSWERS) {
        struct ray_gcs *slow = NULL;
        struct err e = {0};
        for (struct ray_gcs *g = p->first; g; g = g->next)
            if (g->held && (!slow || g->began_ms < slow->began_ms))
                slow = g;
        if (!slow)
            fatal("gcs: %zu bytes of answers are held, and nobody holds them", p->held);
        err_set(&e, ERR_LIMIT, "the answer gave way after %lld ms and %zu bytes: those of all heads exceed %d bytes (LIMIT_RAY_ANSWERS)",
                (long long)(now.mono_ms - slow->began_ms), slow->grpc.answer.len, (int)LIMIT_RAY_ANSWERS);
        about(slow, &e);
        slow->gave_way = true;
        lost(slow, &e, now);
    }
}

static void answer_state(struct ray_gcs *g, struct now now)
{
    struct ray_gcs_answer a = {.grpc_status = 0};
    struct ray_gcs_pool *p = g->pool;
    struct ray_state state;
    if (ray_state_read(grpc_answer(&g->grpc), &p->scratch, &state, &a.err)) {
        uint64_t session = hash64(state.session, 0) | 1; /* 0 means none */
        a.new_session = g->session != 0 && g->session != session;
        a.state = &state;
        g->session = session;
    } else {
        about(g, &a.err);
    }
    finish(g, &a, now);
    arena_reset(&p->scratch, SCRATCH_KEPT);
}

static void answered(struct ray_gcs *g, struct now now)
{
    struct ray_gcs_answer a = {.grpc_status = 0};
    char words[WORDS_MAX];
    g->calls++;
    if (g->call == RAY_GCS_STATE) {
        answer_state(g, now);
        return;
    }
    if (g->call == RAY_GCS_HEALTH)
        gcs_read_health(grpc_answer(&g->grpc), &a.err);
    if (g->call == RAY_GCS_DRAIN && gcs_read_drain(grpc_answer(&g->grpc), &a.accepted, &a.words, &a.err))
        a.words = utf8_clean(a.words, words, sizeof words);
    if (a.err.code != ERR_NONE)
        about(g, &a.err);
    finish(g, &a, now);
}

static void refused(struct ray_gcs *g, struct err *why, struct now now)
{
    struct ray_gcs_answer a = {.grpc_status = g->grpc.status};
    g->calls++;
    if (g->call != RAY_GCS_HEALTH || a.grpc_status != GRPC_UNIMPLEMENTED) {
        a.err = *why;
        about(g, &a.err);
    }
    finish(g, &a, now);
}

/* ---- steps ---- */

/* Uses what has come. Whether there may be more. */
static bool read_some(struct ray_gcs *g, struct now now)
{
    struct link *l = g->link;
    struct slice in = link_peek(l);
    struct err e = {0};
    size_t had = in.len;
    if (had == 0)
        return false;
    enum grpc_step step = grpc_read(&g->grpc, &in, &e);
    link_used(l, had - in.len);
    weigh(g);
    if (step == GRPC_BROKEN) {
        about(g, &e);
        lost(g, &e, now);
    } else if (step == GRPC_DONE) {
        answered(g, now);
    } else if (step == GRPC_REFUSED) {
        refused(g, &e, now);
    } else {
        make_room(g->pool, now);
    }
    return g->link == l;
}

static void read_end(struct ray_gcs *g, struct now now)
{
    struct err e = {0};
    if (g->link->state == LINK_FAILED && !(g->opened && g->link->error.code == ERR_TIMEOUT)) {
        lost(g, &g->link->error, now);
        return;
    }
    if (g->link->state == LINK_FAILED)
        err_set(&e, ERR_TIMEOUT, "the port is open but nobody answers: the GCS is still starting, or it hangs");
    else
        err_set(&e, ERR_CLOSED, "it closed the connection without an answer: is this the port of the GCS?");
    about(g, &e);
    lost(g, &e, now);
}

static void gcs_step(struct link_owner *owner, struct link *l, struct now now)
{
    struct ray_gcs *g = (struct ray_gcs *)owner;
    if (g->link != l || l->state == LINK_OPENING)
        return;
    g->opened |= l->state == LINK_OPEN || l->state == LINK_ENDED;
    while (g->link == l && (send_out(g), read_some(g, now)))
        ;
    if (g->link != l)
        return;
    if (l->state == LINK_ENDED || l->state == LINK_FAILED) {
        read_end(g, now);
    } else if (!g->busy && !grpc_reusable(&g->grpc)) {
        disconnect(g);
    } else if (!g->busy) {
        l->deadline_ms = TIME_NEVER;
        grpc_rest(&g->grpc);
        weigh(g);
    }
}

/* Begins the call that is due. */
static void ask(struct ray_gcs *g, struct now now)
{
    char authority[HOST_PORT];
    struct err e = {0};
    if (g->busy || !wants(g, now, &g->call))
        return;
    g->busy = true;
    g->gave_way = false;
    g->began_ms = now.mono_ms;
    g->until_ms = now.mono_ms + RAY_GCS_MS;
    if (g->call == RAY_GCS_HEALTH && g->ask.check_until_ms < g->until_ms)
        g->until_ms = g->ask.check_until_ms;
    if (!g->link && !connect_to(g, &e)) {
        fail(g, &e, now);
        return;
    }
    g->link->deadline_ms = g->until_ms;
    struct grpc_request r = request_of(g, authority);
    g->ask.report_newer = g->ask.report_newer && g->call != RAY_GCS_REPORT;
    grpc_call(&g->grpc, &r);
    send_out(g);
}

/* ---- the pool ---- */

struct ray_gcs_pool *ray_gcs_pool_new(struct net *net, uint64_t seed)
{
    struct ray_gcs_pool *p = mem_alloc(sizeof *p);
    p->net = net;
    p->next_ms = TIME_NEVER;
    rng_seed(&p->rng, seed);
    return p;
}

static void reap(struct ray_gcs_pool *p)
{
    for (struct ray_gcs *g; (g = p->closed) != NULL;) {
        p->closed = g->next;
        mem_free(g);
    }
}

void ray_gcs_pool_free(struct ray_gcs_pool *p)
{
    if (!p)
        return;
    while (p->first)
        ray_gcs_close(p->first);
    reap(p);
    arena_free(&p->scratch);
    mem_free(p);
}

int64_t ray_gcs_pool_tick(struct ray_gcs_pool *p, struct now now)
{
    reap(p);
    if (now.mono_ms < p->next_ms)
        return p->next_ms;
    p->next_ms = TIME_NEVER;
    for (struct ray_gcs *g = p->first, *next; g; g = next) {
        next = g->next;
        ask(g, now);
        if (!g->busy && g->link && now.mono_ms >= g->idle_since_ms + NET_IDLE_MS)
            disconnect(g);
    }
    for (const struct ray_gcs *g = p->first; g; g = g->next)
        soon(p, next_of(g));
    return p->next_ms;
}

/* ---- one client ---- */

static char *keep_text(struct slice s)
{
    char *copy = mem_alloc(s.len + 1);
    if (s.len)
        memcpy(copy, s.ptr, s.len);
    return copy;
}

struct ray_gcs *ray_gcs_open(struct ray_gcs_pool *p, const struct ray_gcs_options *o, struct err *e)
{
    if (slice_empty(o->host) || o->host.len > LIMIT_NET_HOST) {
        err_set(e, ERR_CONFIG, "a GCS has a host name or an address");
        return NULL;
    }
    if (o->token.len > LIMIT_RAY_TOKEN) {
        err_set(e, ERR_LIMIT, "the token is longer than %d bytes (LIMIT_RAY_TOKEN)", LIMIT_RAY_TOKEN);
        return NULL;
    }
    struct ray_gcs *g = mem_alloc(sizeof *g);
    g->owner.step = gcs_step;
    g->pool = p;
    g->done = o->done;
    g->user = o->owner;
    g->host = keep_text(o->host);
    g->port = o->port;
    g->token = keep_text(o->token);
    g->token_len = o->token.len;
    g->trust = o->trust ? tls_trust_keep(o->trust) : NULL;
    g->tls_name = o->tls_name;
    g->identity = o->trust ? tls_identity_keep(o->identity) : NULL;
    g->ask.drains_end = &g->ask.drains;
    buf_init(&g->ask.report, LIMIT_RAY_REPORT);
    grpc_init(&g->grpc);
    g->next = p->first;
    if (p->first)
        p->first->prev = g;
    p->first = g;
    return g;
}

void ray_gcs_close(struct ray_gcs *g)
{
    struct ray_gcs_pool *p = g->pool;
    disconnect(g);
    while (g->ask.drains)
        drain_free(drain_take(g));
    buf_free(&g->ask.report);
    g->busy = g->ask.check = false; /* a walk that stands on it finds nothing to do */
    g->ask.every_ms = 0;
    mem_wipe(g->token, g->token_len);
    tls_trust_drop(g->trust);
    tls_identity_drop(g->identity);
    mem_free(g->token);
    mem_free(g->host);
    *(g->prev ? &g->prev->next : &p->first) = g->next;
    if (g->next)
        g->next->prev = g->prev;
    g->next = p->closed;
    p->closed = g;
}

void ray_gcs_poll(struct ray_gcs *g, int64_t every_ms, struct now now)
{
    bool began = g->ask.every_ms == 0;
    g->ask.every_ms = every_ms <= 0 ? 0 : every_ms < RAY_GCS_EVERY_MS ? RAY_GCS_EVERY_MS : every_ms;
    if (!began || g->ask.every_ms == 0)
        return;
    g->ask.due_ms = now.mono_ms + (int64_t)rng_below(&g->pool->rng, RAY_GCS_EVERY_MS) / RAY_GCS_GRID_MS * RAY_GCS_GRID_MS;
    soon(g->pool, g->ask.due_ms);
}

void ray_gcs_check(struct ray_gcs *g, int64_t until_ms, struct now now)
{
    g->ask.check = true;
    g->ask.check_until_ms = until_ms;
    soon(g->pool, now.mono_ms);
}

void ray_gcs_report(struct ray_gcs *g, const struct ray_report *report, struct now now)
{
    buf_clear(&g->ask.report);
    gcs_write_report(report, now.wall_us / 1000, &g->ask.report); /* the version rises, after a restart of ours too */
    g->ask.report_newer = true;
    soon(g->pool, now.mono_ms);
}

bool ray_gcs_drain(struct ray_gcs *g, const struct ray_drain *drain, struct now now, struct err *e)
{
    if (g->ask.drain_count == LIMIT_RAY_DRAINS)
        return err_set(e, ERR_LIMIT, "%d drains wait for this GCS already (LIMIT_RAY_DRAINS)", LIMIT_RAY_DRAINS);
    struct drain *d = mem_alloc(sizeof *d);
    buf_init(&d->message, DRAIN_MAX);
    if (!gcs_write_drain(drain, &d->message, e)) {
        drain_free(d);
        return false;
    }
    memcpy(d->node, drain->node_id.ptr, sizeof d->node);
    slice_copy(drain->pod, d->pod, sizeof d->pod);
    *g->ask.drains_end = d;
    g->ask.drains_end = &d->next;
    g->ask.drain_count++;
    soon(g->pool, now.mono_ms);
    return true;
}
