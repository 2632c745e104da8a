/* Which nodes go. A replica goes as a whole: it is idle when all of its hosts are. Units come in the order in which demand is placed on
 * them, so the ones that were used last are kept first. */
#include "private.h"

/* `extra` replicas of this group, or nodes of all: such that leave already, then the last of those that stand (of all, never below a
 * group's min). */
static void mark_victims(const struct scale_scene *s, int64_t extra, int32_t group)
{
    const struct ray_cluster *c = s->in->cluster;
    int32_t *stand = arena_array(s->a, c->group_count, sizeof *stand);
    for (uint32_t i = 0; i < s->unit_count; i++) {
        struct scale_unit *u = &s->units[i];
        bool ours = group < 0 || u->group == (uint32_t)group;
        stand[u->group] += !u->leaving && !u->victim;
        if (!u->leaving || u->dead || u->victim || !ours || extra <= 0)
            continue;
        u->victim = true;
        extra -= group >= 0 ? 1 : c->groups[u->group].hosts;
    }
    for (uint32_t i = s->unit_count; i-- > 0 && extra > 0;) {
        struct scale_unit *u = &s->units[i];
        const struct ray_group *g = &c->groups[u->group];
        if (u->leaving || u->victim || (group >= 0 ? u->group != (uint32_t)group : stand[u->group] <= g->min))
            continue;
        u->victim = true;
        stand[u->group]--;
        extra -= group >= 0 ? 1 : g->hosts;
    }
}

void scale_find_victims(const struct scale_scene *s)
{
    const struct ray_cluster *c = s->in->cluster;
    int64_t nodes = 0, *there = arena_array(s->a, c->group_count, sizeof *there);
    for (uint32_t i = 0; i < s->unit_count; i++)
        there[s->units[i].group] += !s->units[i].dead;
    for (uint32_t i = 0; i < c->group_count; i++) {
        const struct ray_group *g = &c->groups[i];
        if (there[i] > g->max && !g->suspended) {
            mark_victims(s, there[i] - g->max, (int32_t)i);
            there[i] = g->max;
        }
        nodes += there[i] * g->hosts;
    }
    mark_victims(s, nodes - c->scale.max_workers, -1);
}

/* Every host of it that has joined and does not drain yet. */
static void drain(const struct scale_scene *s, struct scale_plan *p, const struct scale_unit *u, bool preempt, int64_t idle_s,
                  struct slice message)
{
    for (uint32_t i = 0; i < u->count; i++) /* a GCS accepts any id: only ids that it sent us are sent back */
        if (u->members[i].node && u->members[i].node->id.len != RAY_NODE_ID)
            return;
    for (uint32_t i = 0; i < u->count; i++) {
        const struct ray_node *n = u->members[i].node;
        if (!n || n->status == RAY_NODE_DRAINING)
            continue;
        p->seen[u->members[i].at].parting = true;
        p->drains[p->drain_count++] = (struct scale_drain){.node_id = n->id,
                                                           .pod = u->members[i].pod,
                                                           .group = (int32_t)u->group,
                                                           .preempt = preempt,
                                                           .idle_s = idle_s < UINT16_MAX ? (uint16_t)idle_s : UINT16_MAX,
                                                           .message = message,
                                                           .deadline_ms = preempt ? s->in->now.wall_us / 1000 + SCALE_PREEMPT_MS : 0};
    }
}

static void take_away(struct scale_plan *p, const struct scale_unit *u, const char *why)
{
    for (uint32_t i = 0; i < u->count; i++)
        p->removals[p->removal_count++] = (struct scale_removal){.pod = u->members[i].pod, .group = (int32_t)u->group, .why = why};
    if (!u->dead && p->groups[u->group].target > 0) /* dead ones were not counted, nor any of a suspended group */
        p->groups[u->group].target--;
}

static void look_again(struct scale_plan *p, int64_t ms)
{
    if (ms < p->next_ms)
        p->next_ms = ms;
}

/* When the last host of it began to drain; TIME_NEVER: one does not. */
static int64_t drains_since(const struct scale_plan *p, const struct scale_unit *u)
{
    int64_t since = 0;
    for (uint32_t i = 0; i < u->count; i++) {
        int64_t ms = p->seen[u->members[i].at].drain_ms;
        since = ms == 0 ? TIME_NEVER : ms > since ? ms : since;
    }
    return since;
}

/* Ray ends a node that was preempted when its work has ended, and some work never does: an actor, a replica of Serve. It has its time. */
static void stop_victim(const struct scale_scene *s, struct scale_plan *p, const struct scale_unit *u)
{
    int64_t since = drains_since(p, u);
    if (!u->started)
        take_away(p, u, "there are more than the maximum");
    else if (since != TIME_NEVER && s->in->now.mono_ms - since >= SCALE_PREEMPT_MS)
        take_away(p, u, "there are more than the maximum, and its time to drain is over");
    else if (since != TIME_NEVER)
        look_again(p, since + SCALE_PREEMPT_MS);
    else if ((u->joined || u->leaving || u->idle_ms >= 0) && !u->twins)
        drain(s, p, u, u->idle_ms < 0, 0, SLICE("there are more nodes than the maximum"));
}

/* Idle ones first: they may refuse once they have got the work of those that must go although they work. */
static void stop_victims(const struct scale_scene *s, struct scale_plan *p)
{
    for (uint32_t i = s->unit_count; i-- > 0;)
        if (s->units[i].victim && !s->units[i].dead)
            stop_victim(s, p, &s->units[i]);
}

static int64_t idle_limit(const struct scale_scene *s, uint32_t group)
{
    int64_t own = s->in->cluster->groups[group].idle_timeout_s;
    return 1000 * (own >= 0 ? own : s->in->cluster->scale.idle_timeout_s);
}

/* Whether the pods of this unit would be made for spot today: an idle one goes although the group's min counts it. */
static bool returns_to_spot(const struct scale_scene *s, const struct scale_unit *u)
{
    const struct scale_view *in = s->in;
    if (!in->cluster->groups[u->group].on_demand || in->now.mono_ms < in->failures[1 + u->group].spot_from_ms)
        return false;
    for (uint32_t i = 0; i < u->count; i++)
        if (!u->members[i].pod || !u->members[i].pod->on_demand)
            return false;
    return true;
}

/* Also of a replica of which a host cannot start: the others would wait for that with nobody waiting for them. */
static void stop_idle(const struct scale_scene *s, struct scale_plan *p, const struct scale_unit *u)
{
    int64_t limit = idle_limit(s, u->group);
    if (u->twins || u->idle_ms < 0)
        return;
    if (u->idle_ms >= limit)
        drain(s, p, u, false, u->idle_ms / 1000, arena_printf(s->a, "idle for %lld s", (long long)(u->idle_ms / 1000)));
    else
        look_again(p, s->in->now.mono_ms + limit - u->idle_ms);
}

/* Pods that have not started and that nobody needs: they go when it has been so for a while, because demand comes and goes. */
static void stop_surplus(const struct scale_scene *s, struct scale_plan *p, const bool *surplus)
{
    const struct scale_view *in = s->in;
    for (uint32_t i = 0; i < s->unit_count; i++) {
        const struct scale_unit *u = &s->units[i];
        int64_t since = in->memory && in->memory[u->group].surplus_ms ? in->memory[u->group].surplus_ms : in->now.mono_ms;
        if (!surplus[i])
            continue;
        p->memory[u->group].surplus_ms = since;
        if (in->now.mono_ms - since >= SCALE_CANCEL_MS)
            take_away(p, u, "it has not started, and nobody needs it any more");
        else
            look_again(p, since + SCALE_CANCEL_MS);
    }
}

static void begin(const struct scale_scene *s, struct scale_plan *p)
{
    p->drains = arena_array(s->a, s->member_count, sizeof *p->drains);
    p->removals = arena_array(s->a, s->member_count, sizeof *p->removals);
}

void scale_stop(const struct scale_scene *s, struct scale_plan *p)
{
    int32_t *kept = arena_array(s->a, s->in->cluster->group_count, sizeof *kept);
    bool *surplus = arena_array(s->a, s->unit_count, sizeof *surplus);
    begin(s, p);
    stop_victims(s, p);
    for (uint32_t i = 0; i < s->unit_count; i++) {
        const struct scale_unit *u = &s->units[i];
        const struct ray_group *g = &s->in->cluster->groups[u->group];
        if (g->suspended || u->replaced)
            continue; /* its pods go without us */
        if (u->dead)
            take_away(p, u, u->lost ? "it runs, and Ray has no node of it" : "Ray has ended in it");
        else if (u->victim || u->leaving || (kept[u->group]++ < g->min && !returns_to_spot(s, u)) || u->needed)
            continue;
        else if (!u->started)
            surplus[i] = true;
        else
            stop_idle(s, p, u);
    }
    stop_surplus(s, p, surplus);
}

void scale_stop_unheard(const struct scale_scene *s, struct scale_plan *p)
{
    begin(s, p);
    for (uint32_t i = 0; i < s->unit_count; i++)
        if (s->units[i].victim && !s->units[i].started)
            take_away(p, &s->units[i], "there are more than the maximum");
}
