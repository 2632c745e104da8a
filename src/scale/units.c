/* Which pods there are, and what the head says of each. A node belongs to the pod whose name it tells (RAY_CLOUD_INSTANCE_ID), or, when it
 * tells none, to the pod of its address. */
#include "private.h"

#include <stdlib.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct scale_member *)a)->pod->name, ((const struct scale_member *)b)->pod->name);
}

static int by_ip(const void *a, const void *b)
{
    const struct scale_member *x = *(struct scale_member *const *)a, *y = *(struct scale_member *const *)b;
    int order = strcmp(x->pod->ip, y->pod->ip);
    return order ? order : strcmp(x->pod->name, y->pod->name);
}

static struct scale_member *find_name(const struct scale_scene *s, struct slice name)
{
    uint32_t low = 0, high = s->member_count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = slice_cmp(slice_of(s->members[mid].pod->name), name);
        if (order == 0)
            return &s->members[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static struct scale_member *find_ip(struct scale_member **sorted, uint32_t count, struct slice ip)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (slice_cmp(slice_of(sorted[mid]->pod->ip), ip) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && !slice_empty(ip) && slice_eq(slice_of(sorted[low]->pod->ip), ip) ? sorted[low] : NULL;
}

static bool alive(const struct ray_node *n)
{
    return n->status != RAY_NODE_DEAD;
}

static int64_t idle_ms(const struct ray_node *n)
{
    return n->status == RAY_NODE_IDLE && n->idle_ms >= 0 ? n->idle_ms : -1;
}

/* Of two nodes of one pod: the one that lives, else the busier, so that nothing is thought idle that is not. */
static bool rather(const struct ray_node *a, const struct ray_node *b)
{
    if (alive(a) != alive(b))
        return alive(a);
    if (idle_ms(a) != idle_ms(b))
        return idle_ms(a) < idle_ms(b);
    return slice_cmp(a->id, b->id) < 0;
}

/* The head remembers nodes long after their end. A pod that was made where one was taken out of the store, as with its machine, has its
 * name, and another address: what ended was not this one's. */
static bool of_an_earlier(const struct pod *pod, const struct ray_node *n)
{
    return !alive(n) && !slice_empty(n->ip) && !slice_is(n->ip, pod->ip);
}

static void match_node(struct scale_member *m, const struct ray_node *n)
{
    if (!m || of_an_earlier(m->pod, n))
        return;
    m->twin |= m->node && alive(m->node) && alive(n);
    if (!m->node || rather(n, m->node))
        m->node = n;
}

static struct scale_member **sort_by_ip(const struct scale_scene *s)
{
    struct scale_member **sorted = arena_array(s->a, s->member_count, sizeof(struct scale_member *));
    for (uint32_t i = 0; i < s->member_count; i++)
        sorted[i] = &s->members[i];
    qsort(sorted, s->member_count, sizeof(struct scale_member *), by_ip);
    return sorted;
}

static void match_nodes(struct scale_scene *s)
{
    const struct ray_state *state = s->in->state;
    struct scale_member **ips = NULL;
    for (uint32_t i = 0; i < state->node_count; i++) {
        const struct ray_node *n = &state->nodes[i];
        if (!slice_empty(n->instance_id)) {
            match_node(find_name(s, n->instance_id), n);
        } else {
            ips = ips ? ips : sort_by_ip(s);
            match_node(find_ip(ips, s->member_count, n->ip), n);
        }
    }
}

static int32_t group_of(const struct ray_cluster *c, const struct pod *pod)
{
    if (pod->head)
        return GROUP_HEAD;
    for (uint32_t i = 0; i < c->group_count; i++)
        if (slice_eq(pod->group, c->groups[i].name))
            return (int32_t)i;
    return GROUP_NONE;
}

/* Pods that live, of groups that the spec has, and those that a rolling update has deleted, whose successors do not exist yet. */
static void gather(struct scale_scene *s)
{
    const struct scale_view *in = s->in;
    s->members = arena_array(s->a, in->pod_count, sizeof *s->members);
    for (uint32_t i = 0; i < in->pod_count; i++) {
        int32_t group = group_of(in->cluster, in->pods[i]);
        bool replaced = in->pods[i]->deleting && in->pods[i]->ours.drain;
        if ((pod_live(in->pods[i]) || replaced) && group != GROUP_NONE)
            s->members[s->member_count++] = (struct scale_member){.pod = in->pods[i], .group = group, .at = i};
    }
    qsort(s->members, s->member_count, sizeof *s->members, by_name);
    if (in->state)
        match_nodes(s);
}

static double part_in_use(const struct ray_node *n)
{
    double sum = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < n->total.count; i++) {
        const struct ray_amount *all = &n->total.list[i];
        while (k < n->available.count && slice_cmp(n->available.list[k].name, all->name) < 0)
            k++;
        bool there = k < n->available.count && slice_eq(n->available.list[k].name, all->name);
        if (all->amount > 0)
            sum += 1 - (there ? (double)n->available.list[k].amount / (double)all->amount : 0);
    }
    return n->total.count ? sum / n->total.count : 0;
}

/* A replica that a rolling update replaces counts as one that has not started, because its successor will be one. */
static void sum_up(struct scale_unit *u, int32_t hosts)
{
    for (uint32_t i = 0; i < u->count; i++)
        u->replaced |= u->members[i].pod->ours.drain != POD_DRAIN_NONE;
    u->joined = u->count == (uint32_t)hosts;
    u->idle_ms = INT64_MAX;
    for (uint32_t i = 0; i < u->count; i++) {
        const struct scale_member *m = &u->members[i];
        const struct ray_node *n = u->replaced ? NULL : m->node;
        bool begun = !u->replaced && (n || m->pod->phase != POD_PENDING || m->pod->ours.overtaken);
        u->started |= begun;
        u->twins |= m->twin;
        u->dead |= n && !alive(n);
        u->leaving |= n && (!alive(n) || n->status == RAY_NODE_DRAINING);
        u->joined &= n && !u->leaving;
        int64_t idle = n ? idle_ms(n) : begun ? -1 : INT64_MAX; /* a node that has not started has nothing to do */
        u->idle_ms = idle < u->idle_ms ? idle : u->idle_ms;
        u->busy += n ? part_in_use(n) / hosts : 0;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct scale_member *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->pod->index != y->pod->index)
        return x->pod->index < y->pod->index ? -1 : 1;
    if (x->pod->host != y->pod->host)
        return x->pod->host < y->pod->host ? -1 : 1;
    return strcmp(x->pod->name, y->pod->name);
}

static int by_use(const void *a, const void *b)
{
    const struct scale_unit *x = a, *y = b;
    if (x->joined != y->joined)
        return x->joined ? -1 : 1;
    if (x->started != y->started)
        return x->started ? -1 : 1;
    if (x->idle_ms != y->idle_ms)
        return x->idle_ms < y->idle_ms ? -1 : 1;
    if (x->busy < y->busy || x->busy > y->busy)
        return x->busy > y->busy ? -1 : 1;
    if (x->members->pod->created_us != y->members->pod->created_us)
        return x->members->pod->created_us < y->members->pod->created_us ? -1 : 1;
    return strcmp(x->members->pod->name, y->members->pod->name);
}

/* Pods of one replica; strangers, which have no index, as many at a time as a replica has hosts. */
static uint32_t unit_end(const struct scale_scene *s, uint32_t from, uint32_t hosts)
{
    uint32_t to = from + 1;
    const struct scale_member *first = &s->members[from];
    while (hosts > 1 && to < s->member_count && s->members[to].group == first->group && s->members[to].pod->index == first->pod->index &&
           (first->pod->index >= 0 || to - from < hosts))
        to++;
    return to;
}

struct scale_scene scale_look(const struct scale_view *in, struct arena *a)
{
    struct scale_scene s = {.in = in, .a = a};
    gather(&s);
    qsort(s.members, s.member_count, sizeof *s.members, by_place);
    s.units = arena_array(a, s.member_count, sizeof *s.units);
    for (uint32_t i = 0; i < s.member_count;) {
        struct scale_member *m = &s.members[i];
        if (m->group == GROUP_HEAD) {
            if (m->node && alive(m->node))
                s.head = m->node;
            i++;
            continue;
        }
        int32_t hosts = in->cluster->groups[m->group].hosts;
        uint32_t to = unit_end(&s, i, (uint32_t)hosts);
        struct scale_unit *u = &s.units[s.unit_count++];
        *u = (struct scale_unit){.group = (uint32_t)m->group, .members = m, .count = to - i};
        sum_up(u, hosts);
        i = to;
    }
    qsort(s.units, s.unit_count, sizeof *s.units, by_use);
    return s;
}

static struct scale_seen look_at(const struct scale_view *in, const struct scale_member *m, bool held)
{
    struct scale_seen seen = in->seen ? in->seen[m->at] : (struct scale_seen){0};
    bool alone = !held && !m->node && m->pod->phase == POD_RUNNING;
    seen.joined |= !held && m->node && alive(m->node);
    bool drains = !held && m->node && m->node->status == RAY_NODE_DRAINING;
    seen.parting = drains || (held && seen.parting);
    seen.alone_ms = !alone ? 0 : seen.alone_ms ? seen.alone_ms : in->now.mono_ms;
    seen.drain_ms = !drains ? 0 : seen.drain_ms ? seen.drain_ms : in->now.mono_ms;
    return seen;
}

void scale_find_lost(const struct scale_scene *s, struct scale_plan *p)
{
    const struct scale_view *in = s->in;
    p->seen = arena_array(s->a, in->pod_count, sizeof *p->seen);
    for (uint32_t i = 0; i < s->member_count; i++)
        p->seen[s->members[i].at] = look_at(in, &s->members[i], p->held != NULL);
    for (uint32_t i = 0; i < s->unit_count; i++) {
        struct scale_unit *u = &s->units[i];
        for (uint32_t k = 0; k < u->count; k++) {
            const struct scale_seen *seen = &p->seen[u->members[k].at];
            int64_t limit = seen->joined ? SCALE_REJOIN_MS : SCALE_JOIN_MS;
            u->lost |= !u->replaced && seen->alone_ms && in->now.mono_ms - seen->alone_ms >= limit;
        }
        u->dead |= u->lost;
        u->leaving |= u->lost;
    }
}

const struct ray_node **scale_samples(const struct scale_scene *s)
{
    const struct ray_cluster *c = s->in->cluster;
    const struct ray_node **out = arena_array(s->a, c->group_count, sizeof(struct ray_node *));
    const struct scale_member **best = arena_array(s->a, c->group_count, sizeof(struct scale_member *));
    for (uint32_t i = 0; i < s->unit_count; i++) {
        const struct scale_unit *u = &s->units[i];
        const struct scale_member *m = &u->members[0];
        if (!u->joined || u->twins || m->node->total.count == 0 || pod_outdated(m->pod, &c->groups[u->group]))
            continue;
        if (best[u->group] && strcmp(m->pod->name, best[u->group]->pod->name) >= 0)
            continue;
        best[u->group] = m;
        out[u->group] = m->node;
    }
    return out;
}
