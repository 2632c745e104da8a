/* Decides about a VersionedService: its step, and what is made of the state that status has. */
#include "decide.h"

/* ---- RayServices ---- */

static bool backs_off(struct versioned_decision *d)
{
    const struct group_failures *r = d->in->refusals;
    if (!r || d->in->now.mono_ms >= r->not_before_ms)
        return false;
    plan_look_again(d->p, r->not_before_ms);
    return true;
}

static void delete_child(struct versioned_decision *d, const struct versioned_child *c, const char *why)
{
    if (c->deleting)
        return;
    struct action *act = plan_add(d->p, &versioned_delete_version);
    act->name = c->name;
    act->uid = c->uid;
    act->why = why;
}

/* Whether the last requests that a version got are long over. A new rollout has the time of its start alone, up to which they may have come
 * if a version served before. */
static bool is_over(struct versioned_decision *d)
{
    int64_t leave_ms = VERSIONED_LEAVE_MS + (d->s->token ? TOKEN_LEAD_MS : 0); /* the edge learns of weights late */
    static const char *const times[] = {"startTime", "stepTime", "endTime"};
    int64_t last_us = 0;
    bool served = false;
    for (uint32_t i = 0; i < d->count; i++)
        served |= d->list[i].previous > 0;
    for (size_t i = !served; i < COUNT_OF(times); i++)
        last_us = versioned_time(d, times[i]) > last_us ? versioned_time(d, times[i]) : last_us;
    int64_t left_ms = (last_us - d->in->now.wall_us) / 1000 + leave_ms;
    if (left_ms > 0)
        plan_look_again(d->p, d->in->now.mono_ms + (left_ms < leave_ms ? left_ms : leave_ms));
    return left_ms <= 0;
}

/* Whether requests may still come to a version that is to get none. */
static bool may_get_requests(struct versioned_decision *d)
{
    return (d->primary && versioned_routes_trouble(d).len) || (d->edge && !versioned_edge_knows(d)) || !is_over(d);
}

static void decide_version(struct versioned_decision *d, struct version *v)
{
    if (v->child && v->weight == 0 && !versioned_keeps(d, v) && !may_get_requests(d)) {
        delete_child(d, v->child, "its version gets no requests any more");
        return;
    }
    if (v->text.len == 0 || (v->child && v->child->deleting) || (v->child && slice_eq(v->child->hash, v->hash)) || backs_off(d))
        return;
    struct action *act = plan_add(d->p, &versioned_apply_version);
    act->name = versioned_child_name(d->s->name, v->name, d->a);
    act->uid = v->child ? v->child->uid : SLICE_NONE;
    act->text = v->text;
}

static void decide_children(struct versioned_decision *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        decide_version(d, &d->list[i]);
    for (uint32_t i = 0; i < d->in->child_count; i++) {
        bool listed = false;
        for (uint32_t j = 0; j < d->count; j++)
            listed |= d->list[j].child == &d->in->children[i];
        if (!listed)
            delete_child(d, &d->in->children[i], "it is none of the service's versions");
    }
}

/* ---- routes ---- */

static void decide_routes(struct versioned_decision *d)
{
    for (int i = 0; i < VERSIONED_ROUTES; i++) {
        struct route_view *v = d->in->routes[i];
        if (v && (v->want.text.len || v->want.trouble.len))
            route_decide(v, d->in->now, d->p);
        else if (v)
            route_end(v, "the VersionedService does not ask for it any more", d->in->now, d->p);
    }
}

/* ---- the token ---- */

static uint64_t asked_of(const struct versioned *s)
{
    return slice_empty(s->rotate) ? 0 : hash64(s->rotate, 0);
}

int64_t versioned_token_lead(int64_t grace_ms)
{
    return grace_ms / 2 < TOKEN_LEAD_MS ? grace_ms / 2 : TOKEN_LEAD_MS;
}

enum token_step versioned_token_step(const struct token_state *t, uint64_t asked, int64_t grace_ms, int64_t now_us)
{
    int64_t lead_ms = versioned_token_lead(grace_ms);
    bool rotate = asked && asked != t->done;
    if (!t->there)
        return TOKEN_MAKE;
    if (!t->ours)
        return TOKEN_READ;
    if ((t->next || t->former) && now_us >= t->since_us + (t->next ? lead_ms : grace_ms) * 1000)
        return t->next ? TOKEN_TAKE : TOKEN_END;
    return !rotate || t->next ? TOKEN_READ : TOKEN_STAGE;
}

struct slice versioned_edge_text(const struct versioned_decision *d)
{
    const struct versioned_token_view *v = d->in->token;
    const struct versioned_shares in = {.list = d->list, .count = d->count, .primary = d->primary, .canary = d->canary};
    return v && v->state->sum_count ? versioned_build_edge(d->s, &in, v->state, d->a) : SLICE("");
}

bool versioned_edge_knows(struct versioned_decision *d)
{
    struct slice text = versioned_edge_text(d);
    if (!text.len || hash64(text, 0) != d->in->token->state->published)
        return false;
    int64_t known_ms = d->in->token->state->published_ms + versioned_token_lead(d->in->token->grace_ms);
    if (d->in->now.mono_ms < known_ms)
        plan_look_again(d->p, known_ms);
    return d->in->now.mono_ms >= known_ms;
}

static void add_step(struct versioned_decision *d, enum token_step step, struct slice name, struct slice text)
{
    struct action *act = plan_add(d->p, &versioned_write_token);
    act->name = name;
    act->index = (int32_t)step;
    act->text = text;
}

/* After `auth: token` was taken back: the edge forgets the service when requests that came through it are over. */
static void end_token(struct versioned_decision *d)
{
    const struct token_part *edge = &d->in->token->state->part[TOKEN_EDGE];
    if (d->in->token->state->gone || d->phase == VERSIONED_PROGRESSING || d->returns || may_get_requests(d))
        return;
    if (edge->failures && d->in->now.mono_ms < edge->again_ms)
        plan_look_again(d->p, edge->again_ms);
    else
        add_step(d, TOKEN_PUBLISH, SLICE(VERSIONED_EDGE_MAP), SLICE(""));
}

static void decide_token(struct versioned_decision *d)
{
    const struct versioned_token_view *v = d->in->token;
    if (!v || !v->grace_ms)
        return;
    if (!d->s->token) {
        end_token(d);
        return;
    }
    const struct versioned_token *t = v->state;
    const struct token_part *secret = &t->part[TOKEN_SECRET], *edge = &t->part[TOKEN_EDGE];
    int64_t now_ms = d->in->now.mono_ms, now_us = d->in->now.wall_us;
    enum token_step step = TOKEN_READ;
    struct slice text;
    char done[RAY_HASH_TEXT], stamp[TIME_TEXT_MAX];
    if (t->fresh)
        step = versioned_token_step(&t->has, asked_of(d->s), v->grace_ms, now_us);
    if (step == TOKEN_TAKE && !versioned_edge_knows(d))
        step = TOKEN_READ;
    if (step || now_ms >= secret->again_ms) {
        ray_hash_format(step == TOKEN_TAKE || step == TOKEN_END ? t->has.done : asked_of(d->s), done);
        text = arena_printf(d->a, "%.*s %.*s", RAY_HASH_TEXT, done, SLICE_ARG(time_format(now_us, stamp)));
        add_step(d, step, v->secret, text);
        return;
    }
    plan_look_again(d->p, secret->again_ms);
    if (!d->edge && t->since_ms)
        plan_look_again(d->p, t->since_ms + versioned_token_lead(v->grace_ms));
    text = versioned_edge_text(d);
    if (!text.len)
        return;
    plan_look_again(d->p, edge->again_ms);
    if (now_ms >= edge->again_ms || (!edge->failures && hash64(text, 0) != t->published))
        add_step(d, TOKEN_PUBLISH, SLICE(VERSIONED_EDGE_MAP), text);
}

/* ---- the whole decision ---- */

void versioned_decide(const struct versioned_view *in, struct arena *a, struct plan *out)
{
    struct versioned_decision d = {
        .in = in, .s = in->service, .a = a, .p = out, .prior = in->status, .rollout = json_get(in->status, "rollout")};
    *out = (struct plan){.arena = a, .next_ms = TIME_NEVER};
    if (d.s->deleting)
        return;
    if (in->errors->count == 0) {
        versioned_gather(&d);
        versioned_begin(&d);
        versioned_observe(&d);
        versioned_advance(&d);
    }
    /* The answer to the write brings the record here again, and then what is made is what status says. */
    if (!versioned_decide_status(&d) || in->errors->count)
        return;
    decide_children(&d);
    route_tls_decide(in->tls, d.p);
    decide_token(&d);
    decide_routes(&d);
}
