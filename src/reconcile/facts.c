#include "status.h"

static bool counts_for(const struct pod *pod, const struct ray_group *g)
{
    return !pod->head && slice_eq(pod->group, g->name);
}

/* That a DELETE was answered "not there" is nobody's news as long as it may be wrong. */
static bool shown(const struct pod *pod)
{
    return !pod->deleting || pod->doubted;
}

static void gather_head(struct facts *f)
{
    for (uint32_t i = 0; i < f->in->pod_count; i++) {
        const struct pod *pod = f->in->pods[i];
        if (pod->head && shown(pod) && (!f->head || (pod_stands(pod) && !pod_stands(f->head))))
            f->head = pod;
    }
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
            if (!counts_for(pod, g) || !pod_stands(pod))
                continue;
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
        if (pod_stands(pod) && (g->head ? pod->head : counts_for(pod, g)) && pod_outdated(pod, g))
            return true;
    }
    return false;
}

/* Pods that the spec wants made anew, and that will be: until then the cluster is not what is asked for. */
static bool to_be_renewed(const struct facts *f)
{
    const struct ray_cluster *c = f->in->cluster;
    for (int32_t k = GROUP_HEAD; c->recreate && k < (int32_t)c->group_count; k++)
        if (f->in->failures[k + 1].refused != group_at(c, k)->hash && runs_outdated(f->in, group_at(c, k)))
            return true;
    return false;
}

/* A refusal matters as long as there is something that it keeps running: pods may be made anew for another reason, a new head. */
static int32_t find_refused(const struct cluster_view *in)
{
    const struct ray_cluster *c = in->cluster;
    for (int32_t k = GROUP_HEAD; k < (int32_t)c->group_count; k++)
        if (in->failures[k + 1].refused && in->failures[k + 1].refused == group_at(c, k)->hash && runs_outdated(in, group_at(c, k)))
            return k;
    return GROUP_NONE;
}

void facts_gather(const struct cluster_view *in, struct jval prior, struct arena *a, struct facts *out)
{
    const struct ray_cluster *c = in->cluster;
    *out = (struct facts){.in = in, .prior = prior, .a = a, .refused = find_refused(in)};
    out->valid = in->errors->count == 0 && out->refused == GROUP_NONE;
    gather_head(out);
    gather_groups(out);
    for (uint32_t i = 0; i < in->pod_count; i++)
        out->pods += shown(in->pods[i]);
    out->suspended = c->suspend && in->pod_count == 0;
    bool whole = out->head && pod_stands(out->head) && out->head->ready && (int64_t)out->pods == out->all.desired + 1;
    for (uint32_t k = 0; k < c->group_count && whole; k++)
        whole = out->groups[k].ready == out->groups[k].desired;
    out->ready = in->errors->count == 0 && !c->suspend && whole && !to_be_renewed(out);
    out->state = in->errors->count ? "failed" : out->suspended ? "suspended" : out->ready ? "ready" : "";
}
