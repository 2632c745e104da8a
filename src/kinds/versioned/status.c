/* Writes the status of a VersionedService, and the events that belong to it. */
#include "decide.h"

#include <mobula/status.h>

/* ---- rollout and versions ---- */

static const char *state_of(const struct versioned_decision *d, const struct version *v)
{
    if (!versioned_keeps(d, v) && v->weight == 0)
        return "Terminating";
    if (v->failed.len)
        return "Failed";
    if (!v->serves)
        return v->weight > 0 ? "Unhealthy" : "Starting";
    return v->settled ? "Running" : "Updating";
}

static void write_versions(const struct versioned_decision *d, struct jout *w)
{
    jout_karray(w, "versions");
    for (uint32_t i = 0; i < d->count; i++) {
        const struct version *v = &d->list[i];
        if (!v->child && !versioned_keeps(d, v) && v->weight == 0)
            continue;
        struct slice child = versioned_child_name(d->s->name, v->name, d->a), why = arena_cut(d->a, v->why, LIMIT_JOB_MESSAGE / 8);
        jout_form(w, "{name:'%.*s',weight:%d,targetWeight:%d,share:%d,capacity:%d,state:'%s',rayService:'%.*s',message?:'%.*s'}",
                  SLICE_ARG(v->name), (int)v->weight, (int)v->goal, (int)v->share, (int)v->capacity, state_of(d, v), SLICE_ARG(child),
                  SLICE_ARG(why));
    }
    jout_end(w);
}

static void write_rollout(const struct versioned_decision *d, struct jout *w, struct slice stamp)
{
    struct jval prior = d->rollout;
    jout_kobject(w, "rollout");
    jout_kint(w, "generation", d->s->generation);
    jout_kstr(w, "phase", slice_of(versioned_phases[d->phase]));
    status_put(w, prior, "startTime", d->began ? stamp : json_get_str(prior, "startTime", d->a));
    status_put(w, prior, "stepTime", d->stepped ? stamp : d->began ? SLICE("") : json_get_str(prior, "stepTime", d->a));
    status_put(w, prior, "endTime", d->ended ? stamp : d->began || d->returns ? SLICE("") : json_get_str(prior, "endTime", d->a));
    status_put(w, prior, "reason", arena_cut(d->a, d->why, LIMIT_JOB_MESSAGE));
    jout_karray(w, "previous");
    for (uint32_t i = 0; i < d->count; i++)
        if (d->list[i].previous >= 0)
            jout_form(w, "{name:'%.*s',weight:%d}", SLICE_ARG(d->list[i].name), (int)d->list[i].previous);
    jout_end(w);
    jout_end(w);
}

/* ---- conditions ---- */

static bool any_serves(const struct versioned_decision *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->list[i].serves && d->list[i].weight > 0)
            return true;
    return false;
}

static struct condition ready_condition(const struct versioned_decision *d)
{
    struct condition c = {.type = "Ready", .reason = SLICE("Starting"), .message = d->waits, .generation = d->s->generation};
    c.yes = any_serves(d);
    for (uint32_t i = 0; i < d->count && !c.yes; i++)
        if (d->list[i].weight > 0) {
            c.reason = SLICE("NoVersionServes");
            c.message = d->list[i].why;
        }
    if (c.yes) {
        c.reason = SLICE("Serving");
        c.message = SLICE("");
    }
    c.message = arena_cut(d->a, c.message, LIMIT_JOB_MESSAGE);
    return c;
}

static struct condition rollout_condition(const struct versioned_decision *d)
{
    bool back = d->phase == VERSIONED_BACK_AGAIN;
    struct condition c = {.type = "Progressing",
                          .yes = d->phase == VERSIONED_PROGRESSING || d->returns,
                          .reason = d->returns ? SLICE("RollingBack") : slice_of(versioned_phases[d->phase]),
                          .message = back ? d->why : d->waits,
                          .generation = d->s->generation};
    if (d->returns)
        c.message = arena_printf(d->a, "requests go back as versions get the capacity for them, because %.*s%s%.*s", SLICE_ARG(d->why),
                                 d->waits.len ? "; now " : "", SLICE_ARG(d->waits));
    else if (back)
        c.message =
            arena_printf(d->a, "requests go as before the rollout, because %.*s: change spec.versions to try again", SLICE_ARG(d->why));
    c.message = arena_cut(d->a, c.message, LIMIT_JOB_MESSAGE);
    return c;
}

static bool is_undivided(const struct versioned_decision *d)
{
    bool divided = false;
    for (uint32_t i = 0; i < d->count; i++)
        divided |= d->list[i].share > 0 && d->list[i].share < 100;
    return divided && d->s->whole && !d->edge;
}

/* While the list of routes is awaited, as after a start of the operator, the condition stays as it is. */
static struct condition routes_condition(const struct versioned_decision *d)
{
    struct slice trouble = versioned_routes_trouble(d), address = SLICE("");
    struct condition c = {.type = "RoutesReady", .yes = slice_empty(trouble), .generation = d->s->generation}, was;
    const char *flag = NULL;
    bool unknown = false;
    for (int i = VERSIONED_ROUTES - 1; i >= 0; i--) {
        const struct route_view *v = versioned_asks(d->s, i) ? d->in->routes[i] : NULL;
        address = v && v->have && v->have->address.len ? v->have->address : address;
        flag = v && !v->known && v->why_not.len ? versioned_routes[i].flag : flag;
        unknown |= v && !v->known && slice_empty(v->why_not);
    }
    if (unknown && route_prior_condition(d->prior, c.type, d->a, &was))
        return was;
    c.reason = c.yes ? SLICE("RouteApplied") : SLICE("RouteNotReady");
    c.message = !c.yes ? trouble : address.len ? arena_printf(d->a, "requests come in at %.*s", SLICE_ARG(address)) : SLICE("");
    if (c.yes && is_undivided(d)) {
        c.yes = false;
        c.reason = SLICE("RequestsNotDivided");
        c.message = slice_of(VERSIONED_WHOLE);
    }
    if (flag)
        c.message = arena_printf(d->a, "%.*s; see `mobula install --%s`", SLICE_ARG(trouble), flag);
    c.message = arena_cut(d->a, c.message, LIMIT_JOB_MESSAGE);
    return c;
}

/* Whether the edge knows the token for sure. */
static bool has_edge(const struct versioned_decision *d)
{
    const struct versioned_token_view *v = d->in->token;
    return d->edge || d->in->now.mono_ms >= v->state->since_ms + versioned_token_lead(v->grace_ms);
}

/* Until the Secret was read, and the ConfigMap of the edge written, the condition stays as it is. False: there is none. */
static bool token_condition(const struct versioned_decision *d, struct condition *c)
{
    const struct versioned_token_view *v = d->in->token;
    const struct versioned_token *t = v ? v->state : NULL;
    if (!v || (!d->s->token && (t->gone || !v->grace_ms)))
        return false;
    const struct istr *trouble = t->part[TOKEN_SECRET].trouble ? t->part[TOKEN_SECRET].trouble : t->part[TOKEN_EDGE].trouble;
    bool unknown = !t->known || (!t->published && !trouble && condition_is(d->prior, STATUS_TOKEN, "True"));
    if (d->s->token && v->grace_ms && unknown && route_prior_condition(d->prior, STATUS_TOKEN, d->a, c))
        return true;
    *c = (struct condition){
        .type = STATUS_TOKEN, .yes = d->s->token && t->published && !trouble && has_edge(d), .generation = d->s->generation};
    c->reason = !c->yes ? SLICE("TokenNotReady") : t->has.next || t->has.former ? SLICE("TokenRotating") : SLICE("TokenValid");
    c->message = arena_cut(d->a, istr_slice(trouble), LIMIT_KUBE_EVENT_NOTE);
    if (!v->grace_ms)
        c->message = SLICE("the operator makes no tokens: see `mobula install --service-auth`");
    if (!d->s->token) {
        c->reason = SLICE(TOKEN_OVER);
        c->message = trouble ? c->message : SLICE("the edge forgets the service 60 s after no route leads there any more");
    } else if (!d->edge && !c->yes) {
        c->reason = SLICE(TOKEN_AHEAD);
        c->message = c->message.len ? arena_printf(d->a, "requests are served without a token: %.*s", SLICE_ARG(c->message))
                                    : arena_printf(d->a, "requests are served without a token until the edge knows it, within %lld s",
                                                   (long long)versioned_token_lead(v->grace_ms) / 1000);
    }
    return true;
}

static void write_token(const struct versioned_decision *d, struct jout *w)
{
    const struct versioned_token_view *v = d->in->token;
    char since[TIME_TEXT_MAX];
    bool there = d->s->token && v && v->state->has.there;
    if (d->s->token && v && !v->state->known)
        return; /* the previous leader's entry stays */
    status_put(w, d->prior, "tokenSecret", there ? v->secret : SLICE(""));
    status_put(w, d->prior, "tokenTime", there ? time_format(v->state->has.since_us, since) : SLICE(""));
}

/* The kinds of the routes that there may be: those of the spec, and former ones until they are gone. */
static struct slice route_kinds_of(const struct versioned_decision *d)
{
    struct slice was = json_get_str(d->prior, "routeKind", d->a), out = SLICE("");
    for (int i = 0; i < VERSIONED_ROUTES; i++) {
        const struct route_view *v = d->in->routes[i];
        const char *kind = versioned_routes[i].kind;
        bool left = v && (!v->known || v->have) && slice_find_text(was, kind) >= 0;
        if ((left || versioned_asks(d->s, i)) && slice_find_text(out, kind) < 0)
            out = arena_printf(d->a, "%.*s%s%s", SLICE_ARG(out), out.len ? "," : "", kind);
    }
    return out;
}

static void write_status(const void *about, struct jout *w, struct slice stamp)
{
    static const char *const ours[] = {"Valid", "Ready", "Progressing", "RoutesReady", STATUS_ROUTE_TLS, STATUS_TOKEN, NULL};
    const struct versioned_decision *d = about;
    struct condition all[6] = {{"Valid", true, SLICE("SpecAccepted"), SLICE(""), d->s->generation}};
    size_t count = 1;
    jout_kint(w, "observedGeneration", d->s->generation);
    if (d->in->errors->count) { /* all goes on as it was */
        all[0].yes = false;
        all[0].reason = SLICE("InvalidSpec");
        all[0].message = spec_errors_text(d->in->errors, LIMIT_JOB_MESSAGE, d->a);
        jout_karray(w, "conditions");
        status_write_condition(w, &all[0], d->prior, stamp, d->a);
        status_write_foreign(w, d->prior, (const char *const[]){"Valid", NULL});
        jout_end(w);
        return;
    }
    all[count++] = ready_condition(d);
    all[count++] = rollout_condition(d);
    all[count++] = routes_condition(d);
    count += route_tls_condition(d->in->tls, d->prior, d->s->generation, d->a, &all[count]);
    count += token_condition(d, &all[count]);
    const char *state = d->phase != VERSIONED_PROGRESSING || all[1].yes ? versioned_phases[d->phase] : "Starting";
    status_put(w, d->prior, "state",
               d->phase == VERSIONED_COMPLETE ? (all[1].yes ? SLICE("Running") : SLICE("Unhealthy")) : slice_of(state));
    status_put(w, d->prior, "primaryVersion", d->primary ? d->primary->name : SLICE(""));
    status_put(w, d->prior, "canaryVersion", d->canary ? d->canary->name : SLICE(""));
    status_put(w, d->prior, "routeKind", route_kinds_of(d));
    write_token(d, w);
    write_versions(d, w);
    write_rollout(d, w, stamp);
    status_write_all(w, all, count, d->prior, stamp, d->a, ours);
}

/* ---- events ---- */

static void say_changes(const struct versioned_decision *d)
{
    if (d->began)
        plan_event(d->p, false, "RolloutStarted", arena_printf(d->a, "generation %lld is rolled out", (long long)d->s->generation));
    if (d->returns && !json_is(json_get(d->rollout, "phase"), versioned_phases[VERSIONED_BACK_AGAIN]))
        plan_event(d->p, true, "RollbackStarted", arena_cut(d->a, rollout_condition(d).message, LIMIT_KUBE_EVENT_NOTE));
    if (d->ended && d->phase == VERSIONED_COMPLETE)
        plan_event(d->p, false, "RolloutComplete", SLICE("each version gets its weight of the requests"));
    if (d->ended && d->phase == VERSIONED_BACK_AGAIN)
        plan_event(d->p, true, "RolledBack", arena_cut(d->a, rollout_condition(d).message, LIMIT_KUBE_EVENT_NOTE));
}

bool versioned_decide_status(struct versioned_decision *d)
{
    struct status_writer w = {.plan = d->p,
                              .prior = d->prior,
                              .hash = d->in->status_hash,
                              .not_before_ms = d->in->status_not_before_ms,
                              .now = d->in->now,
                              .uid = d->s->uid,
                              .about = d,
                              .write = write_status};
    enum status_news news = status_look(&w);
    if (news != STATUS_NEWS)
        return news == STATUS_SAME;
    if (d->in->errors->count)
        status_say_invalid(&w, d->s->generation, "InvalidVersionedServiceSpec",
                           spec_errors_text(d->in->errors, LIMIT_KUBE_EVENT_NOTE, d->a));
    else
        say_changes(d);
    status_send(&w);
    return false;
}
