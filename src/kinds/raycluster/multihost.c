/* Groups with several hosts per replica: a replica is one machine to its users (a TPU slice), so its pods live and die together. When one
 * host fails, the others go too; the replica is made again only when the last of them is gone, so that its pods may have the same names. */
#include "decide.h"

struct replica {
    uint32_t live, failed, deleting; /* pods */
    uint32_t ready;                  /* of those that live */
    bool doomed;                     /* one of its pods must go, so all must */
    bool begun;                      /* one of its pods goes already, or may */
    bool doubted;                    /* one of its pods may be gone, and may run */
    bool overtaken;                  /* one of its pods may be ready, and was seen otherwise */
    int64_t created_us;              /* of its youngest pod */
};

static void count_replicas(const struct group_view *g, struct replica *r, int32_t limit)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const struct pod *pod = g->pods[i];
        int32_t at = pod->index;
        if (at < 0 || at >= limit)
            continue;
        r[at].deleting += pod->deleting;
        r[at].failed += pod_failed(pod);
        r[at].live += pod_live(pod);
        r[at].begun |= pod->deleting || pod->ours.asked;
        r[at].doubted |= pod_doubted(pod);
        r[at].doomed |=
            r[at].live > (uint32_t)g->spec->hosts || (pod_live(pod) && pod->host >= g->spec->hosts); /* fewer hosts are wanted */
        r[at].doomed |= pod->deleting && !g->in->by_name && decide_given_up(g->spec, pod); /* our own autoscaler names each of them */
        r[at].ready += pod_live(pod) && pod->ready;
        r[at].overtaken |= pod->ours.overtaken;
        if (pod->created_us > r[at].created_us)
            r[at].created_us = pod->created_us;
    }
}

static void delete_replica(const struct group_view *g, int32_t replica, const char *why, struct plan *p)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (!g->pods[i]->deleting && g->pods[i]->index == replica)
            decide_delete(g, g->pods[i], why, p);
}

/* Marks replicas whose pods are named for deletion or outdated. decide_keep has planned those pods' deletion already; the rest of the
 * replica follows through `doomed`, so its own deletions are taken back here to have each pod named once. */
static uint32_t mark_doomed(const struct group_view *g, const struct pod **keep, uint32_t *gone, struct replica *r, int32_t limit,
                            struct plan *p)
{
    uint32_t kept = p->count, stay = decide_keep(g, keep, gone, p);
    for (uint32_t i = kept; i < p->count; i++) {
        int32_t at = p->actions[i].index;
        if (p->actions[i].verb != &pod_delete || at < 0)
            p->actions[kept++] = p->actions[i];
        else if (at >= 0 && at < limit)
            r[at].doomed = true;
    }
    p->count = kept;
    return stay;
}

static int32_t highest_replica(const struct group_view *g)
{
    int32_t highest = -1;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->pods[i]->index > highest)
            highest = g->pods[i]->index;
    return highest;
}

/* How much of a replica there is to lose. What has lost a host already, maybe because it was the surplus before, comes before what is only
 * not ready: or two would lose something where one has to go. */
enum wholeness { GOES_ALREADY, HOST_ENDED, HOST_MISSING, NOT_READY, WHOLE };

static enum wholeness wholeness(const struct group_view *g, const struct replica *r)
{
    uint32_t hosts = (uint32_t)g->spec->hosts;
    return r->begun ? GOES_ALREADY : r->failed ? HOST_ENDED : r->live < hosts ? HOST_MISSING : r->ready < hosts ? NOT_READY : WHOLE;
}

/* The replica that goes first when there are too many: the least whole, then what may be more, then youngest, then the highest number. */
static bool goes_before(const struct group_view *g, const struct replica *a, const struct replica *b)
{
    enum wholeness x = wholeness(g, a), y = wholeness(g, b);
    if (x != y)
        return x < y;
    return a->overtaken != b->overtaken ? !a->overtaken : a->created_us >= b->created_us;
}

static int32_t pick_victim(const struct group_view *g, const struct replica *r, int32_t limit)
{
    int32_t victim = -1;
    for (int32_t i = 0; i < limit; i++)
        if (r[i].live && !r[i].doomed && (victim < 0 || goes_before(g, &r[i], &r[victim])))
            victim = i;
    return victim;
}

/* As in delete_surplus of single pods: a replica that goes for hosts that are not ready goes with these, as they were seen. Its others
 * follow when one of them does. Returns whether it goes. */
static bool delete_surplus(const struct group_view *g, const struct replica *r, int32_t replica, struct plan *p)
{
    static const char why[] = "more replicas than desired";
    bool settled = g->spec->desired == 0 || r->deleting || r->failed || r->ready == r->live;
    if (!settled && r->overtaken)
        return false;
    if (settled)
        delete_replica(g, replica, why, p);
    for (uint32_t i = 0; i < g->count && !settled; i++)
        if (pod_live(g->pods[i]) && !g->pods[i]->ready && g->pods[i]->index == replica)
            plan_delete_as_seen(p, g->pods[i], g->number, why);
    return true;
}

/* Pods that belong to no replica we know (made by somebody else): as many of them as a replica has hosts stand for one. They go first when
 * there are too many for the room that is left. Returns how many replicas they stand for then. */
static int32_t decide_strangers(const struct group_view *g, const struct pod **keep, uint32_t kept, int32_t room, struct plan *p)
{
    int32_t live = 0, hosts = g->spec->hosts;
    for (uint32_t i = 0; i < kept; i++)
        live += keep[i]->index < 0;
    int32_t stand = (live + hosts - 1) / hosts, stay = stand < room ? stand : room > 0 ? room : 0;
    int32_t surplus = (stand - stay) * hosts;
    for (uint32_t i = 0; i < kept; i++)
        if (keep[i]->index < 0 && surplus-- > 0)
            plan_delete(p, keep[i], g->number, "more replicas than desired");
    return stay;
}

/* Strangers that go by this plan, or of which nobody knows whether they went: for how many replicas they stand together with those that
 * stay, beyond these. */
static int32_t going_strangers(const struct group_view *g, const struct pod **keep, uint32_t kept, uint32_t gone)
{
    int32_t live = 0, going = 0, hosts = g->spec->hosts;
    for (uint32_t i = 0; i < kept; i++)
        live += keep[i]->index < 0;
    for (uint32_t i = g->count - gone; i < g->count; i++)
        going += keep[i]->index < 0;
    return (live + going + hosts - 1) / hosts - (live + hosts - 1) / hosts;
}

static void create_hosts(const struct group_view *g, int32_t replica, struct plan *p)
{
    for (int32_t host = 0; host < g->spec->hosts; host++) {
        bool there = false;
        for (uint32_t i = 0; i < g->count && !there; i++)
            there = g->pods[i]->index == replica && g->pods[i]->host == host;
        if (there)
            continue;
        struct action *act = plan_add(p, &raycluster_create_pod);
        act->group = g->number;
        act->index = replica * g->spec->hosts + host;
        act->on_demand = market_on_demand(g);
        act->uid = decide_held(g, act->index);
    }
}

static bool named_again(const struct group_view *g, int32_t replica, struct arena *a)
{
    bool named = false;
    for (int32_t host = 0; host < g->spec->hosts && !named; host++) {
        int32_t index = replica * g->spec->hosts + host;
        named = decide_named(g, index, decide_held(g, index), a);
    }
    return named;
}

void decide_multi_host(const struct group_view *g, struct plan *p)
{
    bool may_create = decide_failures(g, p);
    int32_t want = decide_want(g), limit = highest_replica(g) + 1;
    if (limit < 2 * want)
        limit = 2 * want;                               /* room for new replicas beside those that are going away */
    limit += (int32_t)g->spec->workers_to_delete_count; /* … and for names that may not be used again yet */
    struct replica *r = arena_array(p->arena, (size_t)limit + 1, sizeof *r);
    count_replicas(g, r, limit);
    const struct pod **keep = arena_array(p->arena, g->count + 1, sizeof *keep);
    uint32_t gone, kept = mark_doomed(g, keep, &gone, r, limit, p);
    int32_t standing = 0, going = going_strangers(g, keep, kept, gone); /* going: replicas whose places are filled when they are gone */
    for (int32_t i = 0; i < limit; i++) {
        if (r[i].doomed)
            delete_replica(g, i, "its replica is to go", p);
        standing += !r[i].doomed && r[i].live > 0;
        going += r[i].live ? r[i].doomed : r[i].doubted;
    }
    standing += decide_strangers(g, keep, kept, g->named_only ? INT32_MAX / 2 : want - standing, p);
    for (uint32_t i = 0; i < g->count && may_create; i++)
        if (g->pods[i]->index < 0 && pod_failed(g->pods[i]))
            plan_delete(p, g->pods[i], g->number, "it ended")->text = pod_drained_text(g->pods[i], p->arena);
    for (; standing > want && !g->named_only; standing--) {
        int32_t victim = pick_victim(g, r, limit);
        if (!delete_surplus(g, &r[victim], victim, p))
            break;
        r[victim].doomed = true;
    }
    int32_t attempts = decide_attempts(g);
    bool refill = !g->held && (g->named_only || standing <= want); /* else one of these is to go, as soon as it is known which */
    for (int32_t i = 0; i < limit && may_create; i++) {
        if (r[i].failed && !r[i].doomed) /* not before the backoff is over: the logs of what failed stay as long */
            delete_replica(g, i, "a host of its replica ended", p);
        bool empty = !r[i].live && !r[i].failed && !r[i].deleting && !named_again(g, i, p->arena);
        bool partial = r[i].live && r[i].live < (uint32_t)g->spec->hosts && !r[i].failed && !r[i].deleting && !r[i].doomed;
        if (partial && refill)
            create_hosts(g, i, p);
        else if (empty && !g->held && standing + going < want && attempts > 0 && decide_heard_out(g, p)) {
            create_hosts(g, i, p);
            standing++;
            attempts--;
        }
    }
}
