/* Which nodes to launch, as Ray's own autoscaler (v1) decides it: minimum, request_resources, placement groups that must be spread, all
 * other demand, and then how much of that at once. Nodes that are ordered stand at the end of the list with all that they will have. */
#include "private.h"

/* As Ray's: so many launches of a group may be pending whatever the speed. */
enum { SCALE_PENDING_MIN = 5 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t room_left(const struct scale_launch *l)
{
    int64_t all = 0;
    for (uint32_t i = 0; i < l->kind_count; i++)
        all += l->kinds[i].count;
    return l->most - all;
}

/* Nodes that are ordered now. */
static void order(struct scale_launch *l, struct scale_kind *k, int64_t n)
{
    k->count += n;
    ray_pack_add(l->pack, &l->free, &k->supply.full, n);
    ray_pack_add(l->pack, &l->whole, &k->supply.full, n);
}

void scale_launch_min(struct scale_launch *l)
{
    for (uint32_t i = 0; i < l->kind_count; i++) {
        struct scale_kind *k = &l->kinds[i];
        int64_t missing = least(least(k->min, k->max), LIMIT_RAY_PODS) - k->count;
        if (missing <= 0)
            continue;
        k->sure += missing;
        order(l, k, missing);
    }
}

/* The kinds as the packer wants them: how many of each may still come. */
static struct ray_supply *open_supplies(const struct scale_launch *l)
{
    struct ray_supply *s = arena_array(l->pack->arena, l->kind_count, sizeof *s);
    for (uint32_t i = 0; i < l->kind_count; i++) {
        s[i] = l->kinds[i].supply;
        s[i].added = 0;
        s[i].left = l->kinds[i].closed ? 0 : l->kinds[i].max - l->kinds[i].count;
    }
    return s;
}

static void meet_constraint(struct scale_launch *l, struct scale_wants *w)
{
    struct ray_rooms idle = ray_pack_clone(l->pack, &l->whole);
    ray_pack_fit(&idle, w->list, w->count);
    for (uint32_t i = 0; i < idle.count; i++)
        l->whole.list[i].used |= idle.list[i].used;
    struct ray_supply *supplies = open_supplies(l);
    ray_pack_choose(l->pack, supplies, l->kind_count, w->list, w->count, least(room_left(l), SCALE_STEP));
    for (uint32_t i = 0; i < l->kind_count; i++) {
        l->kinds[i].sure += supplies[i].added;
        order(l, &l->kinds[i], supplies[i].added);
    }
}

/* All of the group or nothing of it. */
static void meet_spread(struct scale_launch *l, struct scale_gang *g)
{
    struct arena *a = l->pack->arena;
    struct ray_put *put = arena_array(a, (size_t)g->gang->count, sizeof *put),
                   *later = arena_array(a, (size_t)g->gang->count, sizeof *later);
    uint32_t done = ray_pack_spread(&l->free, g->wants, g->count, &g->label, put);
    struct ray_want *rest = arena_array(a, g->count, sizeof *rest);
    for (uint32_t i = 0; i < g->count; i++)
        rest[i] = g->wants[i];
    struct ray_supply *supplies = open_supplies(l);
    ray_pack_choose_spread(l->pack, supplies, l->kind_count, rest, g->count, room_left(l)); /* no step would ever be enough for it */
    struct ray_rooms added = {0};
    for (uint32_t i = 0; i < l->kind_count; i++)
        ray_pack_add(l->pack, &added, &supplies[i].full, supplies[i].added);
    const struct ray_label anywhere = {0};
    ray_pack_spread(&added, g->wants, g->count, &anywhere, later);
    for (uint32_t i = 0; i < g->count; i++)
        g->unmet |= g->wants[i].count > 0;
    if (g->unmet) {
        ray_pack_take_back(put, done);
        return;
    }
    for (uint32_t i = 0; i < l->kind_count; i++) {
        l->kinds[i].bypass += supplies[i].added;
        l->kinds[i].wanted += supplies[i].added;
        l->kinds[i].count += supplies[i].added;
    }
    for (uint32_t i = 0; i < added.count; i++)
        ray_pack_add(l->pack, &l->free, &added.list[i], 1);
}

/* Nodes that placement groups alone would launch are launched at once. */
static void count_bypass(struct scale_launch *l, int64_t room)
{
    if (l->groups.count == 0)
        return;
    struct ray_rooms free = ray_pack_clone(l->pack, &l->free);
    struct ray_supply *supplies = open_supplies(l);
    ray_pack_fit(&free, l->groups.list, l->groups.count);
    ray_pack_choose(l->pack, supplies, l->kind_count, l->groups.list, l->groups.count, room);
    for (uint32_t i = 0; i < l->kind_count; i++)
        l->kinds[i].bypass += supplies[i].added;
}

static void meet_demands(struct scale_launch *l, int64_t room)
{
    struct ray_supply *supplies = open_supplies(l);
    ray_pack_fit(&l->free, l->demands.list, l->demands.count);
    ray_pack_choose(l->pack, supplies, l->kind_count, l->demands.list, l->demands.count, room);
    for (uint32_t i = 0; i < l->kind_count; i++) {
        l->kinds[i].wanted += supplies[i].added;
        l->kinds[i].count += supplies[i].added;
    }
}

void scale_launch_limit(struct scale_launch *l)
{
    for (uint32_t i = 0; i < l->kind_count; i++) {
        struct scale_kind *k = &l->kinds[i];
        double speed = l->speed > 0 ? l->speed : 1, grown = speed * (double)(k->running > 1 ? k->running : 1);
        int64_t allowed = grown < (double)LIMIT_RAY_PODS ? (int64_t)grown : LIMIT_RAY_PODS, hosts = k->supply.hosts;
        if (allowed < SCALE_PENDING_MIN)
            allowed = SCALE_PENDING_MIN;
        int64_t sure = k->sure + k->bypass, now = allowed - k->pending;
        if (now < sure)
            now = sure;
        now = (now + hosts - 1) / hosts * hosts; /* whole replicas */
        k->launch = now > 0 ? least(now, k->wanted) : 0;
    }
}

void scale_launch(struct scale_launch *l)
{
    scale_launch_min(l);
    for (uint32_t i = 0; i < l->constraint_count; i++)
        meet_constraint(l, &l->constraints[i]);
    for (uint32_t i = 0; i < l->kind_count; i++)
        l->kinds[i].wanted = l->kinds[i].sure;
    for (uint32_t i = 0; i < l->spread_count; i++)
        meet_spread(l, &l->spreads[i]);
    int64_t room = least(room_left(l), SCALE_STEP);
    count_bypass(l, room);
    meet_demands(l, room);
    scale_launch_limit(l);
}
