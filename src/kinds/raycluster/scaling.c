/* Autoscaling: each cluster that wants it, or drains workers in a rolling update (drain.c), has a client of its head's GCS. What the head
 * says becomes a decision at once; kept of it are the target of each group, a mark on pods that may go, and the words for status.
 * raycluster_decide goes by these, so a head that falls silent leaves all as it is. */
#include "record.h"
#include <mobula/spec.h>

/* Of a group, known by its name: a changed spec may bring its groups in another order. */
struct group_memory {
    uint64_t name;
    int32_t hosts;
    struct scale_memory m;
};

struct scaling {
    struct op *op;
    struct record *c;
    struct ray_gcs *gcs; /* NULL: there is no head to ask */
    bool scales;         /* the autoscaler runs for this cluster */
    bool drains;         /* a rolling update has workers to drain */
    char ip[IP_TEXT_MAX + 1];
    uint16_t port;
    uint32_t token; /* auth_serial of the one that it shows */
    struct group_memory *groups;
    uint32_t group_count;
    uint32_t decisions;     /* counts them; see pod_record.stop_decision */
    uint64_t quiet;         /* ray_state_quiet of a state that left nothing to do; 0: the next one is decided on in any case */
    int64_t rest_ms;        /* until when the same state would leave nothing to do again */
    int64_t heard_ms;       /* when the last state came; 0: none has */
    int64_t begun_ms;       /* monotonic: when this struct was allocated */
    uint64_t reported;      /* hash of the last report but for its version; 0: none, or one of nothing */
    uint64_t said;          /* hash of the last lines that were logged */
    int64_t said_ms;        /* when the last legacy block was; 0: never */
    struct scale_news news; /* its words are ours */
};

enum { LEGACY_LOG_MS = 60 * 1000, WORDS_MAX = 1000 };

/* NULL: not scaled by this operator. The owner of a pod may be gone. */
static struct scaling *scaling_there(const struct record *c)
{
    const struct raycluster *own = raycluster_of(c);
    return own ? own->scaling : NULL;
}

/* ---- kept state ---- */

static uint64_t name_hash(struct slice name)
{
    return hash64(name, 1);
}

static const struct group_memory *remembered(const struct scaling *s, struct slice name)
{
    uint64_t hash = name_hash(name);
    for (uint32_t i = 0; i < s->group_count; i++)
        if (s->groups[i].name == hash)
            return &s->groups[i];
    return NULL;
}

static void remember(struct scaling *s, const struct scale_memory *memory)
{
    const struct ray_cluster *model = cluster_model(s->op);
    s->groups = mem_resize(s->groups, (model->group_count + 1) * sizeof s->groups[0]);
    s->group_count = model->group_count;
    for (uint32_t i = 0; i < model->group_count; i++)
        s->groups[i] = (struct group_memory){name_hash(model->groups[i].name), model->groups[i].hosts, memory[i]};
}

/* In the order of the view. */
static void remember_pods(struct scaling *s, const struct scale_seen *seen)
{
    uint32_t at = 0;
    for (struct pod_record *r = s->c->children.pods; r; r = r->next)
        r->seen = seen[at++];
}

/* A head that has started again is given the time to hear from its nodes. */
static void forgive_pods(struct scaling *s)
{
    for (struct pod_record *r = s->c->children.pods; r; r = r->next)
        r->seen.alone_ms = 0;
}

static void keep_news(struct scaling *s, bool works, const char *reason, const struct scale_plan *p)
{
    struct buf b;
    buf_init(&b, WORDS_MAX);
    for (uint32_t i = 0; i < p->line_count && !b.full; i++) {
        size_t before = b.len;
        buf_put(&b, i ? SLICE("; ") : SLICE(""));
        if (!buf_put(&b, p->lines[i]))
            b.len = before; /* whole lines only */
    }
    struct slice words = buf_slice(&b);
    bool same = s->news.works == works && s->news.reason == reason && slice_eq(s->news.words, words);
    if (!same) {
        char *copy = mem_alloc(words.len + 1);
        slice_copy(words, copy, words.len + 1);
        mem_free((void *)(uintptr_t)s->news.words.ptr);
        s->news = (struct scale_news){.works = works, .reason = reason, .words = {copy, words.len}};
        record_touch(s->op, s->c);
    }
    buf_free(&b);
}

/* ---- the view ---- */

bool status_says_provisioned(const struct record *c, struct arena *a)
{
    struct jval doc;
    struct err e = {0};
    struct slice status = {c->status.text, c->status.len};
    return status.len && json_read(&doc, status, a, &e) && condition_is(doc, "RayClusterProvisioned", "True");
}

/* A cluster that was whole before is taken up as it stands: its spec's replicas were for its beginning. */
static int32_t first_target(const struct scaling *s, const struct ray_group *g)
{
    if (!status_says_provisioned(s->c, &s->op->arenas.plan))
        return -1;
    int32_t pods = 0;
    for (const struct pod_record *r = s->c->children.pods; r; r = r->next)
        pods += !r->pod.head && !r->pod.deleting && slice_eq(r->pod.group, g->name);
    return pods / g->hosts;
}

static struct scale_view view_make(struct scaling *s, const struct ray_state *state)
{
    struct op *op = s->op;
    struct arena *a = &op->arenas.plan;
    const struct ray_cluster *model = cluster_model(op);
    struct scale_memory *memory = arena_array(a, model->group_count + 1, sizeof *memory);
    struct ray_offer *offers = arena_array(a, model->group_count + 1, sizeof *offers);
    offers[0] = ray_group_offer(model, &model->head, a);
    for (uint32_t i = 0; i < model->group_count; i++) {
        const struct group_memory *m = remembered(s, model->groups[i].name);
        memory[i] = m ? m->m : (struct scale_memory){.target = first_target(s, &model->groups[i])};
        offers[i + 1] = ray_group_offer(model, &model->groups[i], a);
    }
    struct scale_view v = {.cluster = model,
                           .offers = offers,
                           .failures = view_failures(op, s->c),
                           .state = state,
                           .state_ms = op->now.mono_ms,
                           .memory = memory,
                           .now = op->now};
    v.pods = view_pods(op, s->c, &v.pod_count);
    struct scale_seen *seen = arena_array(a, v.pod_count, sizeof *seen);
    uint32_t at = 0;
    for (const struct pod_record *r = s->c->children.pods; r; r = r->next)
        seen[at++] = r->seen;
    v.seen = seen;
    return v;
}

/* ---- reports ---- */

/* As the old operator logged it at each of its looks, every five seconds: here when something changed, else once a minute. */
static void say_block(struct scaling *s, const struct scale_view *v, const struct scale_plan *p)
{
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    scale_log_legacy(v, p, &s->op->arenas.plan, &b);
    struct slice rest = buf_slice(&b);
    while (!slice_empty(rest))
        log_raw(slice_cut(&rest, '\n'));
    buf_free(&b);
    s->said_ms = s->op->now.mono_ms;
}

static void say_lines(struct scaling *s, const struct scale_view *v, const struct scale_plan *p)
{
    struct record *c = s->c;
    uint64_t hash = 1;
    for (uint32_t i = 0; i < v->cluster->group_count; i++) {
        int32_t seen[] = {p->groups[i].target, p->groups[i].nodes, p->groups[i].pending};
        hash = hash64((struct slice){(const char *)seen, sizeof seen}, hash);
    }
    hash = hash64((struct slice){(const char *)&p->unmet_count, sizeof p->unmet_count}, hash);
    bool news = hash != s->said;
    if (is_legacy(c) && (news || s->op->now.mono_ms - s->said_ms >= LEGACY_LOG_MS))
        say_block(s, v, p);
    s->said = hash;
    for (uint32_t i = 0; news && i < p->line_count; i++)
        log_info("autoscaler", LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name), LF("what", p->lines[i]));
}

/* why: the same for all texts that differ in numbers only. */
static void say_trouble(struct scaling *s, const char *why, const char *text)
{
    struct record *c = s->c;
    if (say_once(s->op, SAID_HEAD, said_of(c, slice_of(why), 0)))
        log_warn(s->scales ? "autoscaler: cannot read the state of the head: nothing is scaled by demand"
                           : "rolling update: cannot read the state of the head: workers are deleted without a drain",
                 LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name), LF_CSTR("error", text));
}

/* It scales all the same. */
static void say_unreported(struct scaling *s, const char *text)
{
    struct record *c = s->c;
    if (say_once(s->op, SAID_HEAD, said_of(c, SLICE("report"), 0)))
        log_warn("autoscaler: the head did not take the report for `ray status`: the next one is sent with the next decision",
                 LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name), LF_CSTR("error", text));
}

/* ---- decisions ---- */

static void ask_drains(struct scaling *s, const struct scale_plan *p)
{
    struct err e = {0};
    for (uint32_t i = 0; i < p->drain_count; i++) {
        const struct scale_drain *d = &p->drains[i];
        const struct ray_drain ask = {.node_id = d->node_id,
                                      .preempt = d->preempt,
                                      .deadline_ms = d->deadline_ms,
                                      .message = d->message,
                                      .pod = slice_of(d->pod->name)};
        if (!ray_gcs_drain(s->gcs, &ask, s->op->now, &e))
            return; /* too many at a time: the next decision asks for the rest */
        struct pod_record *r = map_get(&s->op->all.pods, slice_of(d->pod->uid));
        if (r)
            r->pod.idle_s = d->idle_s;
    }
}

static bool has_news(const struct ray_report *r)
{
    return r->launch_count || r->launching_count || r->failure_count || r->infeasible.count || r->gang_count || r->constraint_count;
}

/* Pending and failed launches, for `ray status`; that none are left is worth a report, too. */
static void report(struct scaling *s, const struct scale_plan *p)
{
    bool news = has_news(&p->report);
    if (!news && s->reported == 0)
        return;
    s->reported = news;
    ray_gcs_report(s->gcs, &p->report, s->op->now);
}

/* A mark is as good as the decision it comes from: a pod that could not be deleted until now may have come to be of use, or runs Ray again
 * while its head is silent. */
static void mark_removals(struct scaling *s, const struct scale_plan *p)
{
    s->decisions++;
    for (uint32_t i = 0; i < p->removal_count; i++) {
        struct pod_record *r = map_get(&s->op->all.pods, slice_of(p->removals[i].pod->uid));
        if (!r)
            continue;
        if (!r->stop) {
            r->stop_begun = false;
            record_touch(s->op, s->c);
        }
        r->stop = p->removals[i].why;
        r->stop_decision = s->decisions;
    }
    for (struct pod_record *r = s->c->children.pods; r; r = r->next) {
        if (!r->stop || r->stop_begun || r->stop_decision == s->decisions)
            continue;
        r->stop = NULL;
        if (r->pod.deleting)
            continue;
        work_drop(s->c); /* its DELETE may be waiting there */
        record_touch(s->op, s->c);
    }
}

void scaling_spare_replica(struct op *op, struct pod_record *r)
{
    for (struct pod_record *mate = r->of->children.pods; mate; mate = mate->next)
        if (mate == r || (mate->group == r->group && mate->pod.index == r->pod.index && r->pod.index >= 0))
            mate->stop = NULL;
    work_drop(r->of); /* a DELETE of theirs may be waiting there */
    record_touch(op, r->of);
}

void scaling_commit_replica(struct pod_record *r)
{
    const struct scaling *s = scaling_there(r->of);
    const struct group_memory *m = s && r->stop ? remembered(s, r->pod.group) : NULL;
    if (!m || m->hosts == 1 || r->pod.index < 0)
        return;
    for (struct pod_record *mate = r->of->children.pods; mate; mate = mate->next)
        mate->stop_begun |= mate->stop && mate->group == r->group && mate->pod.index == r->pod.index;
}

/* Of several hosts the first to end takes the replica along: the others are deleted, or end as it did. */
static bool ends_replica(const struct pod_record *r, int32_t hosts)
{
    bool first = hosts == 1 || r->pod.index >= 0;
    for (const struct pod_record *mate = r->of->children.pods; mate && first && hosts > 1; mate = mate->next)
        first = mate == r || mate->group != r->group || mate->pod.index != r->pod.index || !(mate->pod.deleting || mate->pod.ours.counted);
    return first;
}

void scaling_ended(struct pod_record *r)
{
    struct scaling *s = scaling_there(r->of);
    if (!s || !(r->stop || r->seen.parting || r->pod.ours.drain))
        return;
    bool replaced = r->pod.ours.drain; /* by a rolling update: the target stays, and a new pod is created */
    for (uint32_t i = 0; i < s->group_count && !r->stop && !replaced; i++)
        if (s->groups[i].name == name_hash(r->pod.group) && s->groups[i].m.target > 0 && ends_replica(r, s->groups[i].hosts))
            s->groups[i].m.target--;
    r->pod.ours.counted = true;
    r->seen.parting = false;
}

/* Nothing was done, nothing waits, and only time could change that: another state that says the same need not be decided on before. */
static void rest(struct scaling *s, const struct scale_view *v, const struct scale_plan *p)
{
    bool rests = !p->held && p->drain_count + p->removal_count + p->unmet_count == 0;
    for (uint32_t i = 0; i < v->cluster->group_count && rests; i++) {
        const struct scale_group *g = &p->groups[i];
        rests = g->launch == 0 && g->throttled == 0 && g->pending == 0 && v->failures[i + 1].count == 0;
    }
    s->quiet = rests ? ray_state_quiet(v->state) : 0;
    s->rest_ms = p->next_ms;
    if (is_legacy(s->c) && s->said_ms + LEGACY_LOG_MS < s->rest_ms)
        s->rest_ms = s->said_ms + LEGACY_LOG_MS;
}

/* The model of the cluster is loaded. */
static void decide(struct scaling *s, const struct ray_state *state)
{
    struct scale_plan p;
    arena_reset(&s->op->arenas.plan, 256 * KIB);
    struct scale_view v = view_make(s, state);
    scale_cluster(&v, &s->op->arenas.plan, &p);
    bool moved = false;
    for (uint32_t i = 0; i < v.cluster->group_count; i++) {
        const struct group_memory *m = remembered(s, v.cluster->groups[i].name);
        moved |= !m || m->m.target != p.memory[i].target;
    }
    remember(s, p.memory);
    remember_pods(s, p.seen);
    mark_removals(s, &p);
    if (moved)
        record_touch(s->op, s->c);
    if (!state)
        return;
    ask_drains(s, &p);
    report(s, &p);
    say_lines(s, &v, &p);
    keep_news(s, !p.held, p.held ? "HeadNotJoined" : p.unmet_count ? "DemandUnmet" : "DemandMet", &p);
    rest(s, &v, &p);
}

static void on_state(struct scaling *s, const struct ray_state *state)
{
    struct op *op = s->op;
    if (!op->phase.leading || op->phase.stopping || !space_synced(s->c->space, s->c->kind))
        return;
    s->heard_ms = op->now.mono_ms;
    bool same = s->quiet && op->now.mono_ms < s->rest_ms && ray_state_quiet(state) == s->quiet;
    if (s->scales && same && !s->drains)
        return;
    model_load(op, s->c);
    if (op->models.loaded->errors.count > 0)
        return;
    drain_look(op, s->c, s->gcs, state);
    if (!s->scales || same)
        return;
    op->stats.scalings++;
    decide(s, state);
}

static void on_drain(struct scaling *s, const struct ray_gcs_answer *answer)
{
    const char *what = answer->err.code != ERR_NONE ? answer->err.text : answer->accepted ? "accepted" : "refused";
    char id[2 * RAY_NODE_ID + 1] = "";
    hex_encode(slice_head(answer->node, RAY_NODE_ID), id);
    uint64_t node = hash64(answer->node, answer->err.code != ERR_NONE ? 2 : answer->accepted);
    if (say_once(s->op, SAID_DRAIN, said_of(s->c, SLICE(""), node)))
        log_info(drain_asked(s->c, answer->pod) ? "rolling update: drain" : "autoscaler: drain", LF("namespace", istr_slice(s->c->ns)),
                 LF_CSTR("cluster", s->c->name), LF("pod", answer->pod), LF_CSTR("node", id), LF_CSTR("answer", what),
                 LF("words", answer->words));
}

static const char *reason_of(const struct ray_gcs_answer *answer)
{
    enum err_code code = answer->err.code;
    if (answer->grpc_status == RAY_GCS_UNAUTHENTICATED)
        return "TokenRefused";
    if (answer->grpc_status > 0)
        return "GCSRefuses";
    if (answer->gave_way)
        return "GCSAnswersTooLarge";
    if (!answer->open || code == ERR_CLOSED || code == ERR_IO)
        return "GCSUnreachable";
    return code == ERR_TIMEOUT ? "GCSHangs" : "GCSAnswerInvalid";
}

/* A head that does not answer for longer than a restart takes is reported in status, and its last state is no longer used. */
static void on_failure(struct scaling *s, const struct ray_gcs_answer *answer)
{
    enum { SILENT_AFTER = 5, REFUSED_AFTER = 2 }; /* a token that was just changed is read again first */
    s->quiet = 0;
    bool refused = answer->grpc_status == RAY_GCS_UNAUTHENTICATED;
    struct err e = answer->err;
    if (refused || e.code == ERR_TLS || e.code == ERR_TLS_TRUST)
        auth_refused(s->op, s->c, refused ? AUTH_TOKEN : AUTH_CA, &e);
    if (answer->call == RAY_GCS_REPORT)
        say_unreported(s, e.text);
    else
        say_trouble(s, reason_of(answer), e.text);
    if (answer->call != RAY_GCS_STATE || answer->failures < (refused ? REFUSED_AFTER : SILENT_AFTER))
        return;
    struct slice line = slice_of(e.text);
    const struct scale_plan p = {.lines = &line, .line_count = 1};
    keep_news(s, false, reason_of(answer), &p);
}

static void on_answer(void *owner, const struct ray_gcs_answer *answer, struct now now)
{
    struct scaling *s = owner;
    s->op->now = now;
    if (answer->call == RAY_GCS_DRAIN)
        on_drain(s, answer);
    else if (answer->err.code != ERR_NONE)
        on_failure(s, answer);
    else if (answer->call == RAY_GCS_STATE) {
        if (answer->new_session)
            forgive_pods(s);
        on_state(s, answer->state);
    }
}

/* ---- the client comes and goes with its head ---- */

static void hang_up(struct scaling *s)
{
    if (!s->gcs)
        return;
    ray_gcs_close(s->gcs);
    s->gcs = NULL;
    if (s->op->o.allow)
        net_allow_drop_peer(s->op->o.allow, slice_of(s->ip), s->port);
    s->ip[0] = '\0';
    s->reported = 0;
    forgive_pods(s);
}

/* Running pods stay as they are. */
static void warn_of_missing_secret(struct scaling *s, const char *reason, const struct err *e)
{
    struct slice line = slice_of(e->text);
    const struct scale_plan p = {.lines = &line, .line_count = 1};
    keep_news(s, false, reason, &p);
}

/* The last head's state is no longer valid. A cluster that has not started yet has no state, and reports none. */
static void tell_headless(struct scaling *s)
{
    struct slice line = SLICE("no head runs: nothing is scaled by demand until one does");
    const struct scale_plan p = {.lines = &line, .line_count = 1};
    keep_news(s, false, "HeadNotRunning", &p);
}

static void call_head(struct scaling *s, struct slice ip, uint16_t port)
{
    struct op *op = s->op;
    struct err e = {0};
    struct ray_gcs_options o = {.host = ip, .port = port, .done = on_answer, .owner = s, .tls_name = RAY_TLS_HEAD};
    bool token = auth_token(op, s->c, &o.token, &e);
    if (!token || !auth_tls(op, s->c, &o.trust, &o.identity, &e)) {
        if (e.code == ERR_STATUS)
            warn_of_missing_secret(s, token ? "CertificateMissing" : "TokenMissing", &e);
        return;
    }
    if (op->o.allow && !net_allow_peer(op->o.allow, ip, port, &e)) {
        say_trouble(s, "allow", e.text);
        return;
    }
    slice_copy(ip, s->ip, sizeof s->ip);
    s->port = port;
    s->token = auth_serial(s->c);
    s->gcs = ray_gcs_open(rayclusters_of(op)->gcs, &o, &e);
    if (s->gcs) {
        ray_gcs_poll(s->gcs, RAY_GCS_EVERY_MS, op->now);
        return;
    }
    if (op->o.allow)
        net_allow_drop_peer(op->o.allow, ip, port);
    s->ip[0] = '\0';
    say_trouble(s, "open", e.text);
}

static bool may_ask(const struct op *op)
{
    const struct ray_cluster *m = cluster_model(op);
    return !ray_has_sidecar(m, &op->o.ray) && op->models.loaded->errors.count == 0 && !m->deleting && !m->managed_elsewhere && !m->suspend;
}

static bool is_wanted(const struct op *op)
{
    const struct ray_cluster *m = cluster_model(op);
    return (op->o.autoscaling || m->scale.scaler == RAY_SCALER_OPERATOR) && m->scale.on;
}

void scaling_follow(struct op *op, struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    bool scales = is_wanted(op), drains = may_ask(op) && drain_wanted(op, c), any = may_ask(op) && (scales || drains);
    if (!any || (own->scaling && own->scaling->scales != scales))
        scaling_drop(c);
    if (!any)
        return;
    const struct ray_cluster *model = cluster_model(op);
    struct scaling *s = own->scaling;
    if (!s) {
        s = own->scaling = mem_alloc(sizeof *s);
        *s = (struct scaling){.op = op, .c = c, .scales = scales, .begun_ms = op->now.mono_ms};
    }
    s->drains = drains;
    s->quiet = 0; /* the cluster is decided on because something has changed */
    if (op->o.access == OPERATOR_PROXY) {
        struct slice line =
            SLICE("--ray-access=proxy: the API server passes no gRPC on, so what Ray wants cannot be asked and replicas stay as "
                  "the spec has them; run the operator in the cluster, or annotate this one with " RAY_ANNOTATION_AUTOSCALER "=sidecar");
        if (is_legacy(c))
            line = SLICE("--ray-access=proxy: the API server passes no gRPC on, so what Ray wants cannot be asked and there are as many "
                         "workers as the minimum; run the operator in the cluster");
        const struct scale_plan p = {.lines = &line, .line_count = 1};
        keep_news(s, false, "GCSBehindProxy", &p);
        return;
    }
    struct slice head = head_address(op, c);
    if (s->gcs && (!slice_eq(slice_of(s->ip), head) || s->port != model->ports.gcs || s->token != auth_serial(c)))
        hang_up(s);
    if (!s->gcs && !slice_empty(head))
        call_head(s, head, (uint16_t)model->ports.gcs);
    if (slice_empty(head) && s->news.works)
        tell_headless(s);
    /* A silent head does not hide the spec: a new group, a maximum that was lowered. */
    bool known = s->group_count == model->group_count && op->now.mono_ms - s->heard_ms <= SCALE_STALE_MS;
    for (uint32_t i = 0; i < model->group_count && known; i++)
        known = remembered(s, model->groups[i].name) != NULL;
    if (!known && scales)
        decide(s, NULL);
}

bool scaling_writes_log(const struct record *c)
{
    const struct scaling *s = scaling_there(c);
    return s && s->said_ms != 0;
}

void scaling_drop(struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    struct scaling *s = own->scaling;
    if (!s)
        return;
    hang_up(s);
    mem_free(s->groups);
    mem_free((void *)(uintptr_t)s->news.words.ptr);
    mem_free(s);
    own->scaling = NULL;
    for (struct pod_record *r = c->children.pods; r; r = r->next) {
        r->stop = NULL;
        r->pod.ours.drain = POD_DRAIN_NONE;
    }
}

bool scaling_drains(const struct record *c, int64_t *heard_ms)
{
    const struct scaling *s = scaling_there(c);
    if (s && heard_ms)
        *heard_ms = s->heard_ms > s->begun_ms ? s->heard_ms : s->begun_ms;
    return s && s->op->o.access != OPERATOR_PROXY;
}

bool scaling_decides(const struct record *c)
{
    const struct scaling *s = scaling_there(c);
    return s && s->scales && s->op->o.access != OPERATOR_PROXY;
}

/* No pod is made above a max; one that is there goes when its node has drained. */
const struct scale_news *scaling_apply(const struct record *c, struct ray_group *groups, uint32_t count, struct arena *a)
{
    const struct scaling *s = scaling_there(c);
    if (!scaling_decides(c))
        return s && s->scales ? &s->news : NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct ray_group *g = &groups[i];
        const struct group_memory *m = remembered(s, g->name);
        int32_t target = m ? m->m.target : g->replicas;
        g->desired = g->suspended ? 0 : target < g->min ? g->min : target > g->max ? g->max : target;
        g->workers_to_delete = arena_array(a, c->children.pod_count, sizeof g->workers_to_delete[0]);
        g->workers_to_delete_count = 0;
        for (const struct pod_record *r = c->children.pods; r; r = r->next)
            if (r->stop && slice_eq(r->pod.group, g->name))
                g->workers_to_delete[g->workers_to_delete_count++] = slice_of(r->pod.name);
    }
    return &s->news;
}
