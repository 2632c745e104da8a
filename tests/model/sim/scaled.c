/* Clusters that are scaled by what their heads say, in every third seed: `replicas` of theirs is the work there is, a node for each task,
 * and that many workers there must be at the end. The old kind has no room between its minimum and its maximum there, so that its end is
 * known too; nodes that are too many drain all the same. */
#include "fakeray.h"
#include "sim.h"

enum {
    REJOIN_MS = 3000,
    LATE_MS = 8000,
    KNOWN_MS = OPERATOR_PLAN_MS + 10 * 1000, /* what has been decided may wait so long before it goes out, and be known so late */
};

static struct fakeray *head_of(const struct want *c, struct sim *s)
{
    return fakeray_of(&s->w, c->kind == RAY_V1 ? "ray.io" : "cluster.ray.io", c->ns, c->name);
}

void scaled_begin(struct sim *s)
{
    if (s->plan->setup.scaled || s->plan->setup.jobs)
        fakerays_begin(&s->w, false);
    tokens_begin(s);
}

void scaled_work(struct sim *s, const struct want *c)
{
    struct fakeray *h = head_of(c, s);
    h->rejoin_ms = REJOIN_MS;
    h->by_replica = c->multi;
    fakeray_work(h, 0, FAKERAY_CPUS, c->replicas[0] * (c->multi ? WANT_HOSTS : 1), false);
    s->moved = true;
}

/* A node that lives, but for heads: its raylet ends, and its pod goes on. */
void scaled_kill_raylet(struct sim *s, uint32_t dice)
{
    uint32_t count = 0;
    for (const struct fakeray *h = s->w.rays->first; h; h = h->next)
        count += fakeray_nodes(h);
    uint32_t left = count ? dice % count : 0;
    for (struct fakeray *h = count ? s->w.rays->first : NULL; h; h = h->next)
        for (const struct fakeray_node *n = h->nodes; n; n = n->next)
            if (!n->dead && !n->pod.head && left-- == 0) {
                sim_say(s, "raylet of %s", n->pod.name);
                fakeray_kill_raylet(h, n->pod.name);
                s->moved = true;
                return;
            }
}

/* ---- faults ---- */

/* A head begins again: any that runs. */
static bool restart_head(struct sim *s, uint32_t dice)
{
    uint32_t count = 0;
    for (const struct fakeray *h = s->w.rays->first; h; h = h->next)
        count += h->pod[0] != '\0';
    uint32_t left = count ? dice % count : 0;
    for (struct fakeray *h = count ? s->w.rays->first : NULL; h; h = h->next)
        if (h->pod[0] && left-- == 0) {
            sim_say(s, "Ray of %s/%s begins again", h->ns, h->cluster);
            fakeray_restart(h);
            return true;
        }
    return false;
}

bool scaled_strike(struct sim *s, const struct sim_entry *e)
{
    return e->kind == FAULT_HEADS_BREAK ? fakerays_cut(&s->w, NULL, 40 + e->dice[1] % 217) > 0 : restart_head(s, e->dice[2]);
}

/* What is on holds for about half of the heads. */
void scaled_knobs(struct sim *s)
{
    static const struct slice nonsense = SLICE("HTTP/1.1 200 OK\r\n\r\n");
    uint32_t i = 0;
    for (struct fakeray *h = s->w.rays ? s->w.rays->first : NULL; h; h = h->next, i++) {
        bool hit[SIM_KINDS] = {0};
        for (enum sim_kind k = FAULT_HEADS_HANG; k <= FAULT_HEADS_REFUSE; k++)
            hit[k] = faults_on(s, k) && s->dice[k][1] >> i % 32 & 1;
        h->fake.hangs = hit[FAULT_HEADS_HANG];
        h->fake.garbage = hit[FAULT_HEADS_NONSENSE] ? nonsense : SLICE_NONE;
        h->answer_ms = hit[FAULT_HEADS_LATE] ? s->dice[FAULT_HEADS_LATE][2] % LATE_MS : 0;
        h->stale = hit[FAULT_HEADS_STALE];
        h->fake.cuts_after = hit[FAULT_HEADS_CUT] ? 1 + s->dice[FAULT_HEADS_CUT][2] % 400 : 0;
        h->refuses = hit[FAULT_HEADS_REFUSE];
    }
}

/* ---- invariants ---- */

/* Whether the store changes because an operator deletes this very pod. */
static bool is_deleted(const struct sim *s, const struct apiserver_change *c)
{
    const struct world_request *q = s->serving;
    if (!q || !slice_eq(c->plural, SLICE("pods")) || !slice_eq(q->method, SLICE("DELETE")))
        return false;
    struct slice path = q->target, pods = slice_cut(&path, '?');
    return slice_ends(pods, arena_printf(&s->w.rays->arena, "/%.*s/pods/%.*s", SLICE_ARG(c->ns), SLICE_ARG(c->name)));
}

/* Its container has begun again, and its head or the watch may not have told yet. */
static bool is_back(const struct fakeray_pod *p)
{
    return p->lives > 0 && p->of->world->now.mono_ms < p->since_ms + KNOWN_MS;
}

/* Its head must be made again, or goes for that already: all workers follow. */
static bool head_goes(const struct sim *s, const struct want *c, const struct seen_pod *p)
{
    for (const struct seen_pod *head = s->pods; head; head = head->next)
        if (head->head && strcmp(head->owner, p->owner) == 0 && c->recreate && head->template != c->template)
            return true;
    return false;
}

static const struct fakeray_pod *ray_of(const struct sim *s, const char *uid)
{
    const struct fakeray_pod *p = s->w.rays->pods;
    while (p && strcmp(p->uid, uid) != 0)
        p = p->next;
    return p;
}

/* A replica of several hosts that has lost one of them, or that one's Ray, goes as a whole, whatever the others do. */
static bool is_broken(const struct sim *s, const struct want *c, const struct seen_pod *seen)
{
    if (!c->multi)
        return false;
    bool broken = pods_mates(s, seen) < WANT_HOSTS;
    for (const struct seen_pod *mate = s->pods; mate; mate = mate->next) {
        const struct fakeray_pod *p = ray_of(s, mate->uid);
        bool of_it = strcmp(mate->owner, seen->owner) == 0 && strcmp(mate->group, seen->group) == 0 && mate->index == seen->index;
        broken |= of_it && ((p && (p->ended || is_back(p))) || pods_follow(s, c, mate));
    }
    return broken;
}

/* A worker of ours that runs goes only when its raylet has ended, by a drain or otherwise: who goes for that may be up again when it is
 * deleted, with a raylet so young that nothing is lost with it. A DELETE that is refused does no harm, nor one that comes after the end of
 * the pod's cluster, when the garbage collector is about to take the pod. */
void scaled_changes(struct sim *s, const struct apiserver_change *change)
{
    if (!s->w.rays || !is_deleted(s, change))
        return;
    const struct want *c = NULL;
    const struct seen_pod *seen = pods_find(s, change->ns, change->name);
    const struct fakeray_pod *p = seen ? ray_of(s, seen->uid) : NULL;
    for (uint32_t i = 0; p && i < SIM_CLUSTERS; i++)
        if (s->want[i].scaled && s->want[i].there && head_of(&s->want[i], s) == p->of)
            c = &s->want[i];
    if (!c || p->head || !p->runs || p->ended || is_back(p))
        return;
    if (!seen->live || is_broken(s, c, seen) || owners_gone(s, slice_of(seen->owner)) || pods_dropped(c, seen) ||
        (c->recreate && seen->template != c->template) || pods_follow(s, c, seen) || head_goes(s, c, seen))
        return;
    sim_violation(s, "no scale-down without a drain", "%.*s/%.*s runs, and its raylet has not ended", SLICE_ARG(change->ns),
                  SLICE_ARG(change->name));
}

/* A pod whose Ray has ended is there in number only. */
bool scaled_settled(const struct sim *s, char why[SIM_TEXT])
{
    for (const struct fakeray_pod *p = s->w.rays ? s->w.rays->pods : NULL; p; p = p->next)
        if (p->of && p->runs && p->ended) {
            snprintf(why, SIM_TEXT, "%s/%s runs without Ray", p->of->ns, p->name);
            return false;
        }
    return true;
}

void scaled_residue(struct sim *s)
{
    uint32_t links = s->w.rays ? fakerays_links(&s->w) : 0;
    if (links)
        sim_violation(s, "nothing stays", "%u connections to heads", links);
}
