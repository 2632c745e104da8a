/* Agents in the heads of workloads report to this operator, which carries what they say to the control plane with its own calls. A report
 * shows the token of its pod, which is reviewed as for a bootstrap (question.c). Which pod it is may be remembered: whether that pod is
 * there still, and of which workload, is known from the watch at each report. */
#include "workload.h"

#include <mobula/serve.h>
#include <mobula/tls.h>

enum { KNOWN = 1024, REVIEWS = 16 };

struct agent_known {
    char token[TLS_SHA256_HEX], pod[UID_TEXT_MAX + 1]; /* no pod: it is refused */
    int64_t until_ms;
};

/* A report that waits for its review. */
struct agent_review {
    struct agent_review *next, **back;
    struct agents *of;
    struct serve_ask *ask; /* NULL: the agent has gone */
    char token[TLS_SHA256_HEX];
};

struct agents {
    struct op *op;
    struct serve *serve;
    struct agent_review *reviews;
    uint32_t count;
    int64_t full_ms; /* of reviews: for rate_pays */
    uint64_t taken, refused;
    struct log_limit log;
    struct agent_known known[KNOWN];
};

/* ---- answers ---- */

static void answer(struct agents *g, struct serve_ask *q, int status, struct slice json)
{
    static const struct http_header headers[] = {{SLICE("Content-Type"), SLICE("application/json")}, {SLICE("Retry-After"), SLICE("5")}};
    serve_answer(q, status, headers, status == 429 || status == 503 ? 2 : 1, json, g->op->now);
}

/* In the words of a Kubernetes API server: the agent's client reads those. */
static void refuse(struct agents *g, struct serve_ask *q, int status, const char *why)
{
    struct buf b;
    struct jout w;
    buf_init(&b, 8 * KIB);
    jout_init(&w, &b);
    jout_form(&w, "{kind:'Status',apiVersion:'v1',status:'Failure',message:'%s',code:%d}", why, status);
    g->refused++;
    if (log_limit_pass(&g->log, g->op->now))
        log_warn("the report of an agent was refused", LF_INT("status", status), LF_CSTR("reason", why));
    answer(g, q, status, buf_slice(&b));
    buf_free(&b);
}

/* ---- reports ---- */

/* Read here, so that a report which nobody else can read keeps no call of this operator from being read. */
static struct slice write_report(const struct record *c, struct jval ray, struct arena *a)
{
    struct buf b;
    struct jout w;
    buf_init(&b, LIMIT_REMOTE_STATUS);
    jout_init(&w, &b);
    jout_form(&w, "{uid:'%s',ray:{", c->uid);
    work_ray_write(ray, a, &w);
    jout_end(&w);
    jout_end(&w);
    struct slice out = b.full ? SLICE_NONE : arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return out;
}

/* At once when the health is another one; else what has changed in a while, and from time to time all the same. */
static void keep(struct workloads *s, const struct record *c, struct jval ray)
{
    struct workload *w = workload_of(c);
    struct arena *a = &s->op->arenas.event;
    struct slice text = write_report(c, ray, a);
    uint64_t health = hash64(json_get_str(ray, "health", a), 0), hash = hash64(text, 0) | 1;
    int64_t now_ms = s->op->now.mono_ms;
    if (health == w->ray_health && now_ms < (hash == w->ray.hash ? w->ray_same_ms : w->ray_change_ms))
        return;
    w->ray_health = health;
    w->ray_change_ms = now_ms + REMOTE_REPORT_MS;
    w->ray_same_ms = now_ms + REMOTE_REPORT_SAME_MS;
    workload_tell(s, &w->ray, text, hash);
}

static void take(struct agents *g, struct serve_ask *q, struct slice pod)
{
    struct op *op = g->op;
    const struct record *c = workload_of_pod(op, pod);
    struct jval doc, ray = {.at = -1};
    arena_reset(&op->arenas.event, 64 * KIB);
    if (json_read(&doc, q->body, &op->arenas.event, NULL))
        ray = json_get(doc, "ray");
    if (!c) {
        refuse(g, q, 401, "the token is not accepted, or its pod belongs to no workload");
    } else if (op->now.mono_ms < workload_of(c)->ray_ms || workloads_of(op)->bytes > LIMIT_REMOTE_NEWS) {
        refuse(g, q, 429, "a workload is reported about once in 5 s, and no more is kept while the control plane cannot be reached");
    } else if (json_type(ray) != JSON_OBJECT) {
        refuse(g, q, 400, "the body is no report: want JSON with an object ray");
    } else {
        workload_of(c)->ray_ms = op->now.mono_ms + HUB_REPORT_MS;
        keep(workloads_of(op), c, ray);
        g->taken++;
        answer(g, q, 200, SLICE("{}"));
    }
}

/* ---- which workload a pod's token belongs to ---- */

static struct agent_known *slot(struct agents *g, const char *token)
{
    return &g->known[hash64(slice_of(token), 0) % KNOWN];
}

static void review_free(struct agent_review *r)
{
    *r->back = r->next;
    if (r->next)
        r->next->back = r->back;
    r->of->count--;
    if (r->ask)
        r->ask->state = NULL;
    mem_free(r);
}

static void on_review(void *owner, uint64_t tag, const struct kube_answer *said, struct now now)
{
    struct agent_review *r = owner;
    struct agents *g = r->of;
    struct serve_ask *q = r->ask;
    struct agent_known *known = slot(g, r->token);
    struct arena scratch = {0};
    struct workload_pod pod = {.uid = SLICE("")};
    (void)tag;
    g->op->now = now;
    const char *why = review_read(g->op, said, &pod, &scratch);
    if (said->outcome == KUBE_OK) {
        known->until_ms = now.mono_ms + (why ? REMOTE_REFUSED_MS : REMOTE_REVIEW_MS);
        memcpy(known->token, r->token, sizeof known->token);
        known->pod[0] = '\0';
        slice_copy(why ? SLICE("") : pod.uid, known->pod, sizeof known->pod);
    }
    review_free(r);
    if (q && why)
        refuse(g, q, said->outcome == KUBE_OK ? 401 : 503, why);
    else if (q)
        take(g, q, slice_of(known->pod));
    arena_free(&scratch);
}

static void review(struct agents *g, struct serve_ask *q, struct slice token, const char *hex)
{
    struct agent_review *r = mem_alloc(sizeof *r);
    struct kube_answer none = {.outcome = KUBE_UNSENT};
    *r = (struct agent_review){.next = g->reviews, .back = &g->reviews, .of = g, .ask = q};
    memcpy(r->token, hex, sizeof r->token);
    if (r->next)
        r->next->back = &r->next;
    g->reviews = r;
    g->count++;
    q->state = r;
    if (!review_ask(g->op, token, on_review, r, &none.err))
        on_review(r, 0, &none, g->op->now);
}

/* ---- requests ---- */

static void ask(void *owner, struct serve_ask *q, struct now now)
{
    struct agents *g = owner;
    struct slice token = http_bearer(q->head);
    char hex[TLS_SHA256_HEX];
    g->op->now = now;
    tls_sha256_hex(token, hex);
    const struct agent_known *known = slot(g, hex);
    if (!slice_is(q->head->method, "POST") || !slice_is(q->head->target, "/v1/report"))
        refuse(g, q, 404, "there is POST /v1/report, and nothing else");
    else if (!workloads_of(g->op)->on)
        refuse(g, q, 503, "this replica does not lead, or has just begun: another one may");
    else if (slice_empty(token))
        refuse(g, q, 401, "the request carries no bearer token: show the pod's, for the audience " REMOTE_BOOTSTRAP_AUDIENCE);
    else if (now.mono_ms < known->until_ms && slice_is(slice_of(hex), known->token))
        take(g, q, slice_of(known->pod));
    else if (g->count == REVIEWS || !rate_pays(&g->full_ms, HUB_RATE_MS, HUB_BURST, now))
        refuse(g, q, 429, "too many tokens are to be reviewed");
    else
        review(g, q, token, hex);
}

static void bad(void *owner, struct serve_ask *q, int status, const struct err *why, struct now now)
{
    struct agents *g = owner;
    g->op->now = now;
    refuse(g, q, status, why->text);
}

static void gone(void *owner, struct serve_ask *q)
{
    struct agent_review *r = q->state;
    (void)owner;
    if (r)
        r->ask = NULL;
}

struct link_accept *operator_agents(struct op *op)
{
    static const struct serve_user user = {ask, bad, gone};
    struct agents *g = mem_alloc(sizeof *g);
    g->op = op;
    g->serve = serve_new(&(struct serve_options){.user = &user,
                                                 .owner = g,
                                                 .connections = LIMIT_REMOTE_AGENTS,
                                                 .body_max = LIMIT_HUB_REPORT,
                                                 .bodies_max = 64 * LIMIT_HUB_REPORT,
                                                 .request_ms = HEALTH_HEAD_MS,
                                                 .answer_ms = HEALTH_ANSWER_MS});
    workloads_of(op)->agents = g;
    return serve_accept(g->serve);
}

void agents_free(struct agents *g)
{
    if (!g)
        return;
    serve_free(g->serve);
    while (g->reviews)
        review_free(g->reviews);
    mem_free(g);
}

void agents_figures(const struct agents *g, struct buf *b)
{
    if (g)
        buf_printf(b,
                   "# HELP mobula_agent_reports_total Reports of agents in head pods.\n# TYPE mobula_agent_reports_total counter\n"
                   "mobula_agent_reports_total{result=\"taken\"} %llu\nmobula_agent_reports_total{result=\"refused\"} %llu\n",
                   (unsigned long long)g->taken, (unsigned long long)g->refused);
}
