/* The knowledge of each version: from the spec, from status, and from its RayService. */
#include "decide.h"

const char *const versioned_phases[] = {"", "Progressing", "Complete", "RolledBack", NULL};

/* ---- versions ---- */

static struct version *named(struct versioned_decision *d, struct slice name)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (slice_eq(d->list[i].name, name))
            return &d->list[i];
    if (d->count == VERSIONED_KEPT || slice_empty(name))
        return NULL;
    d->list[d->count] = (struct version){.name = name, .capacity = -1, .previous = -1};
    return &d->list[d->count++];
}

static int32_t percent(struct jval object, const char *key, int64_t otherwise)
{
    int64_t n = json_get_int(object, key, otherwise);
    return n >= 0 && n <= 100 ? (int32_t)n : (int32_t)otherwise;
}

static void gather_status(struct versioned_decision *d)
{
    struct jval k, v;
    for (struct jiter it = json_iter(json_get(d->prior, "versions")); json_next(&it, &k, &v);) {
        struct version *one = named(d, json_get_str(v, "name", d->a));
        if (!one)
            continue;
        one->weight = percent(v, "weight", 0);
        one->capacity = percent(v, "capacity", -1);
    }
    for (struct jiter it = json_iter(json_get(d->rollout, "previous")); json_next(&it, &k, &v);) {
        struct version *one = named(d, json_get_str(v, "name", d->a));
        if (one)
            one->previous = percent(v, "weight", -1);
    }
}

static void gather_children(struct versioned_decision *d)
{
    for (uint32_t i = 0; i < d->in->child_count; i++) {
        const struct versioned_child *c = &d->in->children[i];
        struct version *one = named(d, c->version);
        if (!one || !slice_eq(c->name, versioned_child_name(d->s->name, c->version, d->a)))
            continue;
        one->child = c;
        if (one->capacity < 0)
            one->capacity = c->capacity >= 0 && c->capacity <= 100 ? (int32_t)c->capacity : 100;
        struct rayservice_facts has;
        rayservice_facts_read(place_root(c->spec, d->a), d->a, &has, arena_new(d->a, struct spec_errors));
        one->config_hash = has.config_hash;
        if (!one->want)
            one->facts = has;
    }
}

void versioned_gather(struct versioned_decision *d)
{
    struct slice phase = json_get_str(d->rollout, "phase", d->a);
    d->list = arena_array(d->a, VERSIONED_KEPT, sizeof *d->list);
    for (int i = 1; versioned_phases[i]; i++)
        if (slice_is(phase, versioned_phases[i]))
            d->phase = (enum versioned_phase)i;
    d->why = json_get_str(d->rollout, "reason", d->a);
    d->returns = d->phase == VERSIONED_BACK_AGAIN && slice_empty(json_get_str(d->rollout, "endTime", d->a));
    struct jval token = status_condition(d->prior, SLICE(STATUS_TOKEN)); /* each status of a service with a token has it */
    d->edge = d->s->token &&
              (json_there(token) ? !slice_starts(json_get_str(token, "reason", d->a), SLICE(TOKEN_NONE)) : !json_there(d->rollout));
    for (uint32_t i = 0; i < d->s->count; i++) {
        struct version *one = named(d, d->s->versions[i].name);
        one->want = &d->s->versions[i];
        one->facts = one->want->facts;
    }
    gather_status(d);
    gather_children(d);
}

/* ---- one version ---- */

static bool no(struct version *v, struct slice why)
{
    v->why = slice_empty(v->why) ? why : v->why;
    return false;
}

/* The first of the applications that Ray Serve gives up or finds ill, of the configuration that the RayService has now. */
static struct slice bad_app(const struct versioned_decision *d, const struct version *v, const char *which)
{
    struct jval said = json_get(v->child->status, which), k, app;
    uint64_t hash;
    if (!ray_hash_parse(json_get_str(said, "serveConfigHash", d->a), &hash) || hash != v->config_hash)
        return SLICE("");
    for (struct jiter it = json_iter(json_get(said, "applicationStatuses")); json_next(&it, &k, &app);) {
        struct slice status = json_get_str(app, "status", d->a), name = json_str(k, d->a), words = json_get_str(app, "message", d->a);
        if (slice_is(status, "DEPLOY_FAILED") || (slice_is(status, "UNHEALTHY") && v->weight > 0))
            return arena_printf(d->a, "application %.*s is %.*s%s%.*s", SLICE_ARG(name), SLICE_ARG(status), words.len ? ": " : "",
                                SLICE_ARG(words));
    }
    return SLICE("");
}

/* Its spec if that is in force, else what it has: a version that leaves changes its capacity alone. */
static void build(struct versioned_decision *d, struct version *v)
{
    const struct versioned_child *c = v->child;
    if (v->want && versioned_keeps(d, v)) {
        struct slice config = v->capacity < 100 ? v->facts.config : SLICE("");
        v->text = versioned_build_child(d->s, v->name, v->want->spec, config, v->capacity, &v->hash, d->a);
        v->applied = c && !c->deleting && slice_eq(c->hash, v->hash);
    } else if (c) {
        v->applied = c->capacity == v->capacity;
        if (!v->applied)
            v->text = versioned_build_child(d->s, v->name, c->spec, v->facts.config, v->capacity, &v->hash, d->a);
    }
    v->applied = c && v->applied && json_get_int(c->status, "observedGeneration", -1) == c->generation;
}

static bool look(struct versioned_decision *d, struct version *v)
{
    const struct versioned_child *c = v->child;
    if (!c)
        return no(v, arena_printf(d->a, "RayService of version %.*s is not there yet%s%s", SLICE_ARG(v->name),
                                  d->in->refusals && d->in->refusals->count ? ": " : "",
                                  d->in->refusals && d->in->refusals->count ? d->in->refusals->reason : ""));
    struct jval ready = status_condition(c->status, SLICE("Ready"));
    struct slice words = json_get_str(ready, "message", d->a), active = bad_app(d, v, "activeServiceStatus"),
                 pending = bad_app(d, v, "pendingServiceStatus"), bad = active.len ? active : pending;
    bool is_ready = condition_is(c->status, "Ready", "True");
    v->serves = is_ready && c->service && !c->deleting && slice_empty(active);
    if (v->applied && bad.len)
        v->failed = arena_printf(d->a, "version %.*s: %.*s", SLICE_ARG(v->name), SLICE_ARG(bad));
    else if (v->applied && json_is(json_get(ready, "reason"), "ValidationFailed"))
        v->failed = arena_printf(d->a, "version %.*s: %.*s", SLICE_ARG(v->name), SLICE_ARG(words));
    if (v->failed.len)
        return no(v, v->failed);
    if (!v->applied)
        return no(v, arena_printf(d->a, "RayService %.*s is changed", SLICE_ARG(c->name)));
    if (condition_is(c->status, "UpgradeInProgress", "True"))
        return no(v, arena_printf(d->a, "RayService %.*s changes its cluster", SLICE_ARG(c->name)));
    if (!is_ready || words.len)
        return no(v, arena_printf(d->a, "version %.*s is not ready%s%.*s", SLICE_ARG(v->name), words.len ? ": " : "", SLICE_ARG(words)));
    if (!c->service)
        plan_look_again(d->p, d->in->now.mono_ms + VERSIONED_LOOK_MS); /* no event of it comes here */
    return c->service || no(v, arena_printf(d->a, "the Service of RayService %.*s is not there yet", SLICE_ARG(c->name)));
}

/* ---- shares and routes ---- */

/* A version that does not serve gets no requests while another one serves that is to get some. */
static void share_out(struct versioned_decision *d)
{
    bool any = false;
    int32_t most = 0;
    for (uint32_t i = 0; i < d->count; i++)
        any |= d->list[i].serves && d->list[i].weight > 0;
    for (uint32_t i = 0; i < d->count; i++) {
        struct version *v = &d->list[i];
        bool moves = d->phase == VERSIONED_PROGRESSING || d->returns;
        int32_t rank = moves && v->previous >= 0 ? 1 + v->previous : v->weight ? v->weight : -1;
        v->leaves = versioned_leaves(d, v);
        v->share = v->serves || !any ? v->weight : 0;
        if (rank > most) {
            most = rank;
            d->primary = v;
        }
    }
    for (uint32_t i = 0; i < d->count && !d->canary; i++)
        if (&d->list[i] != d->primary && (d->list[i].weight > 0 || d->list[i].goal > 0))
            d->canary = &d->list[i];
}

static void build_route(struct versioned_decision *d, int which)
{
    struct route_view *v = d->in->routes[which];
    const struct versioned_shares in = {d->list, d->count, d->primary, d->canary, d->edge, d->in->patches_revision};
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct err e = {0};
    int32_t sum = 0;
    for (uint32_t i = 0; i < d->count; i++)
        sum += d->list[i].child && d->list[i].child->service ? d->list[i].share : 0;
    if (!v)
        return;
    if (v->want.trouble.len)
        plan_look_again(d->p,
                        d->in->now.mono_ms + 5 * VERSIONED_LOOK_MS); /* a change of the other service's route does not touch this service */
    else if (sum == 0)
        v->want.trouble = SLICE("no version takes requests yet");
    else if (versioned_build_route(d->s, &in, which, d->a, &text, &e))
        v->want = route_want_of(arena_dup(d->a, buf_slice(&text)), d->in->patches, d->a);
    else
        v->want.trouble = arena_printf(d->a, "%s", e.text);
}

static bool wanted(const struct versioned_decision *d, int which)
{
    return versioned_asks(d->s, which) &&
           (which != VERSIONED_CANARY || (!d->edge && !d->s->whole && d->canary && d->canary->child && d->canary->child->service));
}

void versioned_observe(struct versioned_decision *d)
{
    for (uint32_t i = 0; i < d->count; i++) {
        build(d, &d->list[i]);
        d->list[i].settled = look(d, &d->list[i]);
    }
    share_out(d);
    for (int i = 0; i < VERSIONED_ROUTES; i++)
        if (wanted(d, i))
            build_route(d, i);
        else if (d->in->routes[i])
            d->in->routes[i]->want.trouble = SLICE(""); /* a route that is no longer wanted is deleted, whichever service has its host */
}

struct slice versioned_routes_trouble(const struct versioned_decision *d)
{
    for (int i = 0; i < VERSIONED_ROUTES; i++) {
        struct slice text = wanted(d, i) && d->in->routes[i] ? route_trouble(d->in->routes[i], d->a) : SLICE("");
        if (text.len)
            return text;
    }
    return SLICE("");
}
