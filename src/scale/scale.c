/* One decision of the autoscaler: what there is, what is wanted, what is launched, what goes. */
#include "private.h"

#include <stdlib.h>

/* ---- demand ---- */

struct wishes {
    const struct scale_scene *scene;
    struct scale_plan *plan;
    struct scale_launch launch;
    struct ray_pack pack;
    uint32_t unmet_cap;
};

static void note_unmet(struct wishes *w, struct scale_unmet u)
{
    struct scale_plan *p = w->plan;
    if (p->unmet_count == w->unmet_cap) {
        w->unmet_cap = w->unmet_cap ? w->unmet_cap * 2 : 16;
        struct scale_unmet *grown = arena_array(w->scene->a, w->unmet_cap, sizeof *grown);
        for (uint32_t i = 0; i < p->unmet_count; i++)
            grown[i] = p->unmet[i];
        p->unmet = grown;
    }
    p->unmet[p->unmet_count++] = u;
}

/* One more want at the end of the list, which has room for it; what cannot be meant goes to the plan at once. */
static bool add_want(struct wishes *w, struct scale_wants *to, const struct ray_request *r, int64_t count, int32_t constraint)
{
    struct err e = {0};
    struct ray_want want = {.count = count};
    if (count < 1)
        err_set(&e, ERR_RANGE, "a count of %lld", (long long)count);
    else if (to->count == LIMIT_SCALE_WANTS)
        err_set(&e, ERR_LIMIT, "more than %d demands at a time (LIMIT_SCALE_WANTS)", (int)LIMIT_SCALE_WANTS);
    else if (constraint >= LIMIT_SCALE_CONSTRAINTS)
        err_set(&e, ERR_LIMIT, "more than %d request_resources() at a time (LIMIT_SCALE_CONSTRAINTS)", (int)LIMIT_SCALE_CONSTRAINTS);
    else if (ray_pack_shape(&w->pack, r, &want.shape, &e))
        to->list[to->count++] = want;
    if (e.code != ERR_NONE)
        note_unmet(w, (struct scale_unmet){.request = r,
                                           .constraint = constraint,
                                           .count = count,
                                           .why = SCALE_MALFORMED,
                                           .text = arena_printf(w->scene->a, "%s", e.text)});
    return e.code == ERR_NONE;
}

/* STRICT_PACK: all bundles of one selector as one. Each name's sum is kept in `sums`, which is all zero before and after. */
static void add_sum(struct wishes *w, struct scale_wants *to, uint32_t from, int64_t *sums)
{
    struct ray_want *list = to->list + from;
    uint32_t count = to->count - from, kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        int32_t selector = list[i].shape.selector;
        bool seen = false;
        for (uint32_t k = 0; k < kept && !seen; k++)
            seen = list[k].shape.selector == selector;
        if (seen)
            continue;
        uint32_t names = 0;
        for (uint32_t k = i; k < count; k++)
            for (uint32_t n = 0; n < list[k].shape.count && list[k].shape.selector == selector; n++) {
                const struct ray_part *part = &list[k].shape.parts[n];
                names += sums[part->name] == 0;
                if (__builtin_add_overflow(sums[part->name], part->amount, &sums[part->name]))
                    sums[part->name] = INT64_MAX;
            }
        struct ray_shape all = {.request = list[i].shape.request, .selector = selector};
        all.parts = arena_array(w->scene->a, names, sizeof *all.parts);
        for (uint32_t n = 0; n < w->pack.name_count && all.count < names; n++)
            if (sums[n] > 0) {
                all.parts[all.count++] = (struct ray_part){n, sums[n]};
                sums[n] = 0;
            }
        list[kept++] = (struct ray_want){.shape = all, .count = 1};
    }
    to->count = from + kept;
}

static void add_spread(struct wishes *w, const struct ray_gang *g)
{
    struct scale_wants wants = {.list = arena_array(w->scene->a, g->count, sizeof *wants.list)};
    bool sane = true;
    for (uint32_t i = 0; i < g->count; i++)
        sane &= add_want(w, &wants, &g->requests[i], 1, -1);
    if (!sane || g->count == 0)
        return;
    wants.count = ray_pack_sort(wants.list, wants.count);
    w->launch.spreads[w->launch.spread_count++] =
        (struct scale_gang){.gang = g,
                            .wants = wants.list,
                            .count = wants.count,
                            .label = {.key = g->requests[0].anti_affinity, .value = g->requests[0].anti_affinity_value}};
}

/* The group that is harder to place first. */
static int by_size(const void *a, const void *b)
{
    const struct scale_gang *x = a, *y = b;
    if (x->gang->count != y->gang->count)
        return x->gang->count > y->gang->count ? -1 : 1;
    int order = slice_cmp(x->label.key, y->label.key);
    return order ? order : slice_cmp(x->gang->details, y->gang->details);
}

static void add_gangs(struct wishes *w, const struct ray_state *state)
{
    struct scale_launch *l = &w->launch;
    size_t bundles = 0;
    for (uint32_t i = 0; i < state->gang_count; i++)
        bundles += state->gangs[i].count;
    l->groups.list = arena_array(w->scene->a, bundles, sizeof *l->groups.list);
    l->spreads = arena_array(w->scene->a, state->gang_count, sizeof *l->spreads);
    int64_t *sums = arena_array(w->scene->a, w->pack.name_count, sizeof *sums);
    for (uint32_t i = 0; i < state->gang_count; i++) {
        const struct ray_gang *g = &state->gangs[i];
        uint32_t from = l->groups.count;
        if (g->strategy == RAY_STRICT_SPREAD) {
            add_spread(w, g);
            continue;
        }
        for (uint32_t k = 0; k < g->count; k++)
            add_want(w, &l->groups, &g->requests[k], 1, -1);
        if (g->strategy == RAY_STRICT_PACK)
            add_sum(w, &l->groups, from, sums);
    }
    l->groups.count = ray_pack_sort(l->groups.list, l->groups.count);
    qsort(l->spreads, l->spread_count, sizeof *l->spreads, by_size);
}

static void add_demands(struct wishes *w, const struct ray_state *state)
{
    struct scale_wants *to = &w->launch.demands;
    to->list = arena_array(w->scene->a, (size_t)state->demands.count + w->launch.groups.count, sizeof *to->list);
    for (uint32_t i = 0; i < w->launch.groups.count; i++)
        to->list[to->count++] = w->launch.groups.list[i];
    for (uint32_t i = 0; i < state->demands.count; i++)
        add_want(w, to, &state->demands.list[i].request, state->demands.list[i].count, -1);
    to->count = ray_pack_sort(to->list, to->count);
}

static void add_constraints(struct wishes *w, const struct ray_state *state)
{
    w->launch.constraints = arena_array(w->scene->a, state->constraint_count, sizeof *w->launch.constraints);
    for (uint32_t i = 0; i < state->constraint_count; i++) {
        const struct ray_demands *asked = &state->constraints[i];
        struct scale_wants *to = &w->launch.constraints[i];
        w->launch.constraint_count += i < LIMIT_SCALE_CONSTRAINTS;
        to->list = arena_array(w->scene->a, asked->count, sizeof *to->list);
        for (uint32_t k = 0; k < asked->count; k++) /* beyond the limit each is reported, and none is kept */
            if (asked->list[k].request.bundle.count > 0)
                add_want(w, to, &asked->list[k].request, asked->list[k].count, (int32_t)i);
        to->count = ray_pack_sort(to->list, to->count);
    }
}

static void learn_requests(struct ray_pack *p, const struct ray_demands *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        ray_pack_learn(p, &d->list[i].request.bundle);
}

static void learn_names(struct wishes *w)
{
    const struct ray_state *state = w->scene->in->state;
    for (uint32_t i = 0; i <= w->scene->in->cluster->group_count; i++)
        ray_pack_learn(&w->pack, &w->scene->in->offers[i].bundle);
    for (uint32_t i = 0; i < state->constraint_count; i++)
        learn_requests(&w->pack, &state->constraints[i]);
    for (uint32_t i = 0; i < state->gang_count; i++)
        for (uint32_t k = 0; k < state->gangs[i].count; k++)
            ray_pack_learn(&w->pack, &state->gangs[i].requests[k].bundle);
    learn_requests(&w->pack, &state->demands);
}

/* ---- present nodes ---- */

/* Data that a node reports and its pod's spec may not have: amounts that Ray found out, and its accelerator. */
static bool told_by_node(struct slice name)
{
    return slice_is(name, "CPU") || slice_is(name, "GPU") || slice_is(name, "memory") || slice_is(name, "object_store_memory") ||
           slice_starts(name, SLICE("accelerator_type:"));
}

static bool told(const struct ray_node *sample, struct slice name)
{
    bool found = false;
    for (uint32_t i = 0; sample && i < sample->total.count && !found; i++)
        found = slice_eq(sample->total.list[i].name, name);
    return found && told_by_node(name);
}

/* A new node of the group: what the spec says, corrected by what a node of the group says. */
static struct ray_room full_room(const struct wishes *w, uint32_t group, const struct ray_node *sample)
{
    const struct ray_offer *offer = &w->scene->in->offers[group + 1];
    uint32_t most = offer->bundle.count + (sample ? sample->total.count : 0), labels = sample ? sample->label_count : 0, n = 0;
    struct ray_amount *list = arena_array(w->scene->a, most, sizeof *list);
    for (uint32_t i = 0; i < offer->bundle.count; i++)
        if (!told(sample, offer->bundle.list[i].name))
            list[n++] = offer->bundle.list[i];
    for (uint32_t i = 0; sample && i < sample->total.count; i++)
        if (told_by_node(sample->total.list[i].name))
            list[n++] = sample->total.list[i];
    struct ray_label *own = arena_array(w->scene->a, labels, sizeof *own);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < labels; i++)
        if (!slice_is(sample->labels[i].key, "ray.io/node-id") && !slice_starts(sample->labels[i].key, SLICE("_PG_")))
            own[kept++] = sample->labels[i];
    const struct ray_bundle all = {list, n};
    return kept ? ray_pack_room(&w->pack, &all, own, kept) : ray_pack_room(&w->pack, &all, offer->labels, offer->label_count);
}

static void add_room(struct wishes *w, const struct ray_node *n, const struct ray_room *full, uint32_t owner)
{
    struct ray_room free = *full, whole = *full;
    if (n) {
        free = ray_pack_room(&w->pack, &n->available, n->labels, n->label_count);
        if (n->total.count)
            whole = ray_pack_room(&w->pack, &n->total, n->labels, n->label_count);
        whole.meets = free.meets;
    }
    free.owner = whole.owner = owner;
    ray_pack_add(&w->pack, &w->launch.free, &free, 1);
    ray_pack_add(&w->pack, &w->launch.whole, &whole, 1);
}

static bool stands(const struct scale_unit *u)
{
    return !u->victim && !u->leaving;
}

/* Rooms in the order in which they are filled: the head first. Their owner is the unit's number from 1. */
static void add_rooms(struct wishes *w)
{
    const struct scale_scene *s = w->scene;
    const struct ray_room nothing = {0};
    if (s->head->status != RAY_NODE_DRAINING)
        add_room(w, s->head, &nothing, 0);
    for (uint32_t i = 0; i < s->unit_count; i++) {
        const struct scale_unit *u = &s->units[i];
        const struct ray_room *full = &w->launch.kinds[u->group].supply.full;
        uint32_t hosts = (uint32_t)s->in->cluster->groups[u->group].hosts;
        for (uint32_t k = 0; stands(u) && k < (u->count > hosts ? u->count : hosts); k++)
            add_room(w, k < u->count && !u->replaced ? u->members[k].node : NULL, full, i + 1);
    }
}

static bool fails(const struct scale_view *in, uint32_t group)
{
    const struct group_failures *f = &in->failures[group + 1];
    return f->count >= SCALE_FAILURES && in->now.mono_ms < f->not_before_ms;
}

static void make_kinds(struct wishes *w)
{
    const struct scale_view *in = w->scene->in;
    const struct ray_cluster *c = in->cluster;
    struct scale_launch *l = &w->launch;
    const struct ray_node **samples = scale_samples(w->scene);
    l->kind_count = c->group_count;
    l->kinds = arena_array(w->scene->a, c->group_count, sizeof *l->kinds);
    for (uint32_t i = 0; i < c->group_count; i++) {
        const struct ray_group *g = &c->groups[i];
        struct scale_kind *k = &l->kinds[i];
        k->supply = (struct ray_supply){.name = g->name, .full = full_room(w, i, samples[i]), .hosts = g->hosts, .priority = g->priority};
        k->max = g->suspended ? 0 : (int64_t)g->max * g->hosts;
        k->min = g->suspended ? 0 : (int64_t)g->min * g->hosts;
        k->closed = g->suspended || g->blocked || fails(in, i);
    }
    for (uint32_t i = 0; i < w->scene->unit_count; i++) {
        const struct scale_unit *u = &w->scene->units[i];
        struct scale_kind *k = &l->kinds[u->group];
        int64_t hosts = k->supply.hosts;
        if (u->dead)
            continue;
        k->count += hosts;
        *(u->joined ? &k->running : &k->pending) += stands(u) ? hosts : 0;
        k->min += stands(u) ? 0 : hosts; /* it stands for nothing: another takes its place */
    }
}

/* ---- the decision ---- */

/* *group: of SCALE_AT_MAX. */
static enum scale_why why_unmet(const struct wishes *w, const struct ray_shape *s, int32_t *group)
{
    enum scale_why why = SCALE_NO_GROUP;
    int64_t left = w->launch.most;
    for (uint32_t i = 0; i < w->launch.kind_count; i++)
        left -= w->launch.kinds[i].count;
    for (uint32_t i = 0; i < w->launch.kind_count; i++) {
        const struct scale_kind *k = &w->launch.kinds[i];
        if (k->max == 0 || k->supply.full.count == 0 || !ray_pack_holds(&k->supply.full, s))
            continue;
        if (k->closed)
            why = SCALE_WAITS;
        else if (k->max - k->count >= k->supply.hosts && left >= k->supply.hosts)
            return SCALE_LATER;
        else if (why == SCALE_NO_GROUP) {
            why = SCALE_AT_MAX;
            *group = k->max - k->count < k->supply.hosts ? (int32_t)i : -1;
        }
    }
    return why;
}

static void note_wants(struct wishes *w, const struct scale_wants *wants, int32_t constraint)
{
    for (uint32_t i = 0; i < wants->count; i++) {
        struct scale_unmet u = {
            .request = wants->list[i].shape.request, .constraint = constraint, .count = wants->list[i].count, .group = -1};
        if (u.count <= 0)
            continue;
        u.why = why_unmet(w, &wants->list[i].shape, &u.group);
        note_unmet(w, u);
    }
}

static void note_rest(struct wishes *w)
{
    const struct scale_launch *l = &w->launch;
    for (uint32_t i = 0; i < l->constraint_count; i++)
        note_wants(w, &l->constraints[i], (int32_t)i);
    for (uint32_t i = 0; i < l->spread_count; i++) {
        enum scale_why why = SCALE_NO_GROUP;
        int32_t group = -1;
        for (uint32_t k = 0; l->spreads[i].unmet && k < l->spreads[i].count; k++) {
            why = why_unmet(w, &l->spreads[i].wants[k].shape, &group);
            if (why == SCALE_NO_GROUP)
                break;
            why = why == SCALE_LATER ? SCALE_AT_MAX : why; /* some of it could still come, and all of it not */
        }
        if (l->spreads[i].unmet)
            note_unmet(w, (struct scale_unmet){.gang = l->spreads[i].gang, .constraint = -1, .count = 1, .why = why, .group = group});
    }
    note_wants(w, &l->demands, -1);
}

static void mark_needed(const struct scale_scene *s, const struct ray_rooms *rooms)
{
    for (uint32_t i = 0; i < rooms->count; i++)
        if (rooms->list[i].used && rooms->list[i].owner > 0)
            s->units[rooms->list[i].owner - 1].needed = true;
}

static int64_t most_workers(const struct ray_cluster *c)
{
    return c->scale.max_workers < LIMIT_RAY_PODS - 1 ? c->scale.max_workers : LIMIT_RAY_PODS - 1;
}

static void launch(const struct scale_scene *s, struct scale_plan *p)
{
    const struct scale_view *in = s->in;
    struct wishes *w = arena_new(s->a, struct wishes);
    w->scene = s;
    w->plan = p;
    w->launch.pack = &w->pack;
    w->launch.most = most_workers(in->cluster);
    w->launch.speed = in->cluster->scale.upscaling_speed;
    ray_pack_init(&w->pack, s->a);
    learn_names(w);
    add_constraints(w, in->state);
    add_gangs(w, in->state);
    add_demands(w, in->state);
    make_kinds(w);
    add_rooms(w);
    scale_launch(&w->launch);
    mark_needed(s, &w->launch.free);
    mark_needed(s, &w->launch.whole);
    note_rest(w);
    for (uint32_t i = 0; i < w->launch.kind_count; i++) {
        const struct scale_kind *k = &w->launch.kinds[i];
        p->groups[i].launch = (int32_t)(k->launch / k->supply.hosts);
        p->groups[i].throttled = (int32_t)((k->wanted - k->launch) / k->supply.hosts);
        p->groups[i].target += p->groups[i].launch;
    }
}

static int32_t clamp(int32_t n, int32_t low, int32_t high)
{
    return n < low ? low : n > high ? high : n;
}

/* As it is: what was decided last, or what the spec says; never fewer than there are. */
static void hold(const struct scale_scene *s, struct scale_plan *p)
{
    const struct ray_cluster *c = s->in->cluster;
    for (uint32_t i = 0; i < c->group_count; i++) {
        const struct ray_group *g = &c->groups[i];
        const struct scale_memory *m = s->in->memory ? &s->in->memory[i] : NULL;
        int32_t want = g->suspended || c->suspend ? 0 : clamp(m && m->target >= 0 ? m->target : g->replicas, g->min, g->max);
        if (want > p->groups[i].before && !c->suspend)
            p->groups[i].launch = want - p->groups[i].before;
        p->groups[i].target = want > p->groups[i].before || g->suspended || c->suspend ? want : p->groups[i].before;
    }
}

static const char *why_held(const struct scale_scene *s, struct arena *a)
{
    const struct scale_view *in = s->in;
    if (in->cluster->suspend)
        return "the cluster is suspended";
    if (!in->state)
        return "the head has not said yet what the cluster needs";
    if (in->now.mono_ms - in->state_ms > SCALE_STALE_MS)
        return arena_printf(a, "the head has not said for %lld s what the cluster needs",
                            (long long)((in->now.mono_ms - in->state_ms) / 1000))
            .ptr;
    return s->head ? NULL : "the head's own node has not joined";
}

static void count_groups(const struct scale_scene *s, struct scale_plan *p)
{
    for (uint32_t i = 0; i < s->unit_count; i++) {
        const struct scale_unit *u = &s->units[i];
        struct scale_group *g = &p->groups[u->group];
        g->before += !u->dead;
        for (uint32_t k = 0; k < u->count; k++) {
            const struct ray_node *n = u->members[k].node;
            g->nodes += n && n->status != RAY_NODE_DEAD;
            g->idle += n && n->status == RAY_NODE_IDLE;
            g->pending += !n;
        }
    }
    for (uint32_t i = 0; i < s->in->cluster->group_count; i++)
        p->groups[i].target = p->groups[i].before;
}

void scale_cluster(const struct scale_view *in, struct arena *a, struct scale_plan *out)
{
    const uint32_t count = in->cluster->group_count;
    *out = (struct scale_plan){.next_ms = TIME_NEVER};
    out->groups = arena_array(a, count, sizeof *out->groups);
    out->memory = arena_array(a, count, sizeof *out->memory);
    out->lines = arena_array(a, LIMIT_SCALE_LINES, sizeof *out->lines);
    struct scale_scene s = scale_look(in, a);
    out->held = why_held(&s, a);
    scale_find_lost(&s, out);
    count_groups(&s, out);
    if (!in->cluster->suspend)
        scale_find_victims(&s);
    if (out->held) {
        hold(&s, out);
        scale_stop_unheard(&s, out);
    } else {
        launch(&s, out);
        scale_stop(&s, out);
    }
    for (uint32_t i = 0; i < count; i++)
        out->memory[i].target = out->groups[i].target;
    scale_explain(&s, out);
    scale_report(&s, out);
}
