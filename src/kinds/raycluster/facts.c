#include "facts.h"

static bool counts_for(const struct pod *pod, const struct ray_group *g)
{
    return !pod->head && slice_eq(pod->group, g->name);
}

/* That a DELETE was answered "not there" is nobody's news as long as it may be wrong. */
static bool shown(const struct pod *pod)
{
    return !pod->deleting || pod->ours.doubted;
}

/* Without a live head: the previous head pod that is still being deleted. The next head has the same name and waits for its end. */
static void gather_going(struct facts *f)
{
    for (uint32_t i = 0; i < f->in->pod_count && !f->head && slice_empty(f->going); i++)
        if (f->in->pods[i]->head)
            f->going = pods_going_text(&f->in->pods[i], 1, f->in->now.wall_us, f->a, &f->going_again_us);
}

static void gather_head(struct facts *f)
{
    for (uint32_t i = 0; i < f->in->pod_count; i++) {
        const struct pod *pod = f->in->pods[i];
        if (pod->head && shown(pod) && (!f->head || (pod_counts_in_status(pod) && !pod_counts_in_status(f->head))))
            f->head = pod;
    }
}

static bool of_old_head(const struct facts *f, const struct pod *pod)
{
    return f->head && pod_counts_in_status(f->head) && pod_of_old_head(pod, f->head, f->in->now.wall_us);
}

static void gather_groups(struct facts *f)
{
    const struct ray_cluster *c = f->in->cluster;
    f->groups = arena_array(f->a, c->group_count + 1, sizeof *f->groups);
    for (uint32_t k = 0; k < c->group_count; k++) {
        const struct ray_group *g = &c->groups[k];
        struct group_numbers *n = &f->groups[k];
        n->desired = (int64_t)g->desired * g->hosts;
        n->min = (int64_t)g->min * g->hosts;
        n->max = (int64_t)g->max * g->hosts;
        for (uint32_t i = 0; i < f->in->pod_count; i++) {
            const struct pod *pod = f->in->pods[i];
            if (!counts_for(pod, g) || !pod_counts_in_status(pod))
                continue;
            if (of_old_head(f, pod)) {
                f->old_head++;
                continue;
            }
            n->running += pod->phase == POD_RUNNING;
            n->ready += pod->ready;
        }
        f->all.desired += n->desired;
        f->all.min += n->min;
        f->all.max += n->max;
        f->all.running += n->running;
        f->all.ready += n->ready;
    }
}

static const struct ray_group *group_at(const struct ray_cluster *c, int32_t k)
{
    return k == GROUP_HEAD ? &c->head : &c->groups[k];
}

static bool runs_outdated(const struct cluster_view *in, const struct ray_group *g)
{
    for (uint32_t i = 0; i < in->pod_count; i++) {
        const struct pod *pod = in->pods[i];
        if (pod_counts_in_status(pod) && (g->head ? pod->head : counts_for(pod, g)) && pod_outdated(pod, g))
            return true;
    }
    return false;
}

/* Pods that the spec wants made again, and that will be: until then the cluster is not what is asked for. */
static bool to_be_renewed(const struct facts *f)
{
    const struct ray_cluster *c = f->in->cluster;
    for (int32_t k = GROUP_HEAD; c->recreate && k < (int32_t)c->group_count; k++)
        if (f->in->failures[k + 1].refused != group_at(c, k)->hash && runs_outdated(f->in, group_at(c, k)))
            return true;
    return false;
}

static bool drifts(const struct facts *f)
{
    const struct ray_cluster *c = f->in->cluster;
    bool any = false;
    for (int32_t k = GROUP_HEAD; f->in->errors->count == 0 && !c->recreate && !f->suspends && k < (int32_t)c->group_count; k++)
        any |= runs_outdated(f->in, group_at(c, k));
    return any;
}

/* A refusal matters as long as something keeps running because of it: pods may be made again for another reason, a new head. */
static int32_t find_refused(const struct cluster_view *in)
{
    const struct ray_cluster *c = in->cluster;
    for (int32_t k = GROUP_HEAD; k < (int32_t)c->group_count; k++)
        if (in->failures[k + 1].refused && in->failures[k + 1].refused == group_at(c, k)->hash && runs_outdated(in, group_at(c, k)))
            return k;
    return GROUP_NONE;
}

static bool all_ready(const struct facts *f)
{
    bool all = (int64_t)f->pods == f->all.desired + 1;
    for (uint32_t k = 0; k < f->in->cluster->group_count && all; k++)
        all = f->groups[k].ready == f->groups[k].desired;
    return all;
}

static bool was_ready(const struct facts *f)
{
    const char *key = f->in->cluster->kind == RAY_V1 ? "state" : "phase", *word = f->in->cluster->kind == RAY_V1 ? "ready" : "Running";
    return json_is(json_get(f->prior, key), word);
}

/* Pods end, or cannot be made. */
static bool fails(const struct facts *f)
{
    bool failing = false;
    for (uint32_t k = 0; k <= f->in->cluster->group_count; k++)
        failing |= f->in->failures[k].count > 0;
    for (uint32_t i = 0; i < f->in->pod_count; i++)
        failing |= !pod_counts_in_status(f->in->pods[i]) && shown(f->in->pods[i]);
    return failing;
}

/* A cluster that was ready stays so while it scales and while workers that somebody deleted are made again: with the head it is of use. It
 * is ready for the first time, or again after its head has ended, when all of it is. Without its head service nobody finds it. */
static bool is_ready(const struct facts *f)
{
    bool head = f->head && pod_counts_in_status(f->head) && f->head->ready && f->service;
    bool stays = was_ready(f) && !fails(f) && f->old_head == 0;
    return head && f->in->errors->count == 0 && !f->suspends && !to_be_renewed(f) && (all_ready(f) || stays);
}

static bool of_any_group(const struct ray_cluster *c, const struct pod *pod)
{
    bool any = false;
    for (uint32_t k = 0; k < c->group_count && !any; k++)
        any = counts_for(pod, &c->groups[k]);
    return any;
}

/* Pods that end count in ReplicaFailure. Until a cluster is complete for the first time, RayClusterProvisioned reports unready pods. */
static void gather_slow(struct facts *f)
{
    bool told = f->suspends || f->in->errors->count || !condition_is(f->prior, "RayClusterProvisioned", "True");
    for (uint32_t i = 0; i < f->in->pod_count && !told; i++) {
        const struct pod *pod = f->in->pods[i];
        bool goes = pod->deleting && !pod->ours.doubted;
        int64_t from_us = goes ? pod->going_s * INT64_C(1000000) : pod->created_us, due_us = from_us + POD_HANGS_MS * INT64_C(1000);
        bool waits = goes ? slice_is(pod->reason, POD_REASON_GOING) : pod_live(pod) && !pod->ready && !pod->ours.drain;
        if (!waits || !from_us || !of_any_group(f->in->cluster, pod))
            continue;
        if (f->in->now.wall_us < due_us) {
            f->slow_again_us = f->slow_again_us && f->slow_again_us < due_us ? f->slow_again_us : due_us;
            continue;
        }
        f->slow_count++;
        if (!f->slow || (f->slow->deleting != pod->deleting ? !pod->deleting : strcmp(pod->name, f->slow->name) < 0))
            f->slow = pod;
    }
}

/* A pod's certificate is as old as the pod, or younger if its sandbox was made again. */
static void gather_dated(struct facts *f)
{
    for (uint32_t i = 0; i < f->in->pod_count && !slice_empty(f->in->cluster->auth.ca); i++) {
        const struct pod *pod = f->in->pods[i];
        int64_t due_us = pod->created_us + RAYCLUSTER_CERTIFICATE_OLD_DAYS * TIME_DAY_US;
        if (!pod_live(pod) || !pod->created_us)
            continue;
        if (f->in->now.wall_us < due_us) {
            f->expiring_again_us = f->expiring_again_us && f->expiring_again_us < due_us ? f->expiring_again_us : due_us;
            continue;
        }
        f->expiring_count++;
        f->expiring = f->expiring && f->expiring->created_us <= pod->created_us ? f->expiring : pod;
    }
}

void facts_gather(const struct cluster_view *in, struct jval prior, struct arena *a, struct facts *out)
{
    *out = (struct facts){.in = in, .prior = prior, .a = a, .refused = find_refused(in)};
    out->valid = in->errors->count == 0 && out->refused == GROUP_NONE;
    gather_head(out);
    gather_going(out);
    gather_groups(out);
    for (uint32_t i = 0; i < in->pod_count; i++)
        out->pods += shown(in->pods[i]) && !pod_astray(in->cluster, in->pods[i], a);
    out->suspends = suspension_of(in, prior) != SUSPENSION_NONE;
    out->suspended = out->suspends && in->pod_count == 0;
    out->service = in->own[RAY_SERVICE_HEAD] && !in->own[RAY_SERVICE_HEAD]->deleting;
    gather_slow(out);
    gather_dated(out);
    out->drift = drifts(out);
    out->roll = (struct roll){.number = GROUP_NONE};
    if (out->drift && in->cluster->roll.on)
        out->roll = decide_roll(decide_group_views(in, a), out->head && pod_live(out->head) ? out->head : NULL, a);
    out->ready = is_ready(out);
    out->state = in->errors->count ? "failed" : out->suspended ? "suspended" : out->ready ? "ready" : "";
}
