/* The head. Its name is fixed, so the API server itself allows one at most: a head that failed is deleted first, and made again when it is
 * gone. */
#include "decide.h"

/* Of several live heads (made by somebody else) the one that is ready, then the oldest, stays. */
static const struct pod *pick_head(const struct group_view *g)
{
    const struct pod *best = NULL;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct pod *pod = g->pods[i];
        if (!pod_live(pod))
            continue;
        if (!best || (pod->ready != best->ready ? pod->ready : pod->created_us < best->created_us))
            best = pod;
    }
    return best;
}

/* Without the account of the autoscaler beside it no head is taken, and without its token none starts. */
static bool decide_accounts(const struct group_view *g, struct plan *p)
{
    const struct ray_cluster *c = g->in->cluster;
    bool missing = false;
    for (int which = 0; which < RAY_ACCOUNT_OBJECTS; which++) {
        if ((g->in->accounts & 1u << which) || !ray_wants_account(c, (enum ray_account)which, g->in->options, p->arena))
            continue;
        struct action *act = plan_add(p, &raycluster_create_account);
        act->group = g->number;
        act->index = which;
        missing = true;
    }
    return missing;
}

const struct pod *decide_head(const struct group_view *g, struct plan *p)
{
    bool may_create = decide_failures(g, p) && !g->spec->blocked, gone = true;
    const struct pod *head = pick_head(g);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct pod *pod = g->pods[i];
        gone = gone && pod == head;
        if (pod == head || pod->deleting)
            continue;
        if (pod_live(pod) && head)
            plan_delete(p, pod, g->number, "a second head");
        else if (pod_failed(pod) && (may_create || head))
            plan_delete(p, pod, g->number, "it ended");
    }
    if (!head && gone && may_create && g->spec->desired > 0 && !decide_accounts(g, p)) {
        struct action *act = plan_add(p, &raycluster_create_pod);
        act->group = g->number;
        act->index = 0;
    }
    return head;
}

enum head_first head_first(const struct pod *head, const struct group_failures *failures)
{
    if (head)
        return head->unschedulable ? HEAD_ROOMLESS : HEAD_THERE;
    return failures->count && !failures->ended ? HEAD_DENIED : HEAD_MISSING;
}

/* A refusal is remembered for a minute longer than its back-off lasts. By then the head may have been taken, and have gone for another
 * reason: so the next one is tried first. One that is still going holds its room itself. */
bool head_needs_room(const struct group_view *g, enum head_first first)
{
    return first == HEAD_ROOMLESS || (first == HEAD_DENIED && g->count == 0 && g->in->now.mono_ms < g->failures->not_before_ms);
}

/* The worker may hold what the head needs, and nothing is lost with it: its Ray container has not started, or has ended. A worker whose
 * container runs is left alone, although the head that it joined is gone: it ends by itself when it notices. The pod may have started since
 * it was seen, so it goes only in the version that was. */
static bool makes_room(const struct pod *pod)
{
    bool over = pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED; /* it holds neither a node nor a quota */
    return !pod->deleting && !pod->ours.overtaken && !over && (pod->phase == POD_PENDING || pod->stopped);
}

/* No worker is created before the head has its room, so the pods that go here become fewer with each plan and do not come back. */
void decide_room(struct group_view *g, struct plan *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        if (makes_room(g->pods[i]))
            plan_delete_as_seen(p, g->pods[i], g->number, "it makes room for the head");
        else
            g->pods[kept++] = g->pods[i];
    }
    g->count = kept;
}
