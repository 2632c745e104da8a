/* Workers that a rolling update replaces (roll.c) are drained by Ray before their pods are deleted: Serve starts their replicas on other
 * nodes first, and takes no more requests there. Ray knows the nodes that drain, so a new leader finds them in the head's first state. A
 * node has drained when it has left Ray. */
#include "record.h"

static bool is_draining(const struct pod *pod)
{
    return pod->ours.drain == POD_DRAIN_ASKED || pod->ours.drain == POD_DRAIN_UNDER_WAY;
}

static bool is_replaced(const struct op *op, const struct pod *pod)
{
    const struct ray_cluster *model = cluster_model(op);
    for (uint32_t i = 0; i < model->group_count && !pod->head && pod_live(pod); i++)
        if (slice_eq(pod->group, model->groups[i].name))
            return pod_outdated(pod, &model->groups[i]);
    return false;
}

bool drain_wanted(const struct op *op, const struct record *c)
{
    bool any = false;
    for (const struct pod_record *r = c->children.pods; r && cluster_model(op)->roll.on && !any; r = r->next)
        any = is_replaced(op, &r->pod);
    return any && op->o.access != OPERATOR_PROXY;
}

static void move_to(struct op *op, struct pod_record *r, enum pod_drain drain)
{
    r->drain_ms = r->pod.ours.drain ? r->drain_ms : op->now.mono_ms;
    r->pod.ours.drain = drain & 3;
    record_touch(op, r->of);
}

bool drain_asked(const struct record *c, struct slice pod)
{
    const struct pod_record *r = c->children.pods;
    while (r && !(is_draining(&r->pod) && slice_is(pod, r->pod.name)))
        r = r->next;
    return r;
}

void drain_begin(struct op *op, struct record *c, const struct action *act)
{
    struct pod_record *r = map_get(&op->all.pods, act->uid);
    if (r && r->of == c)
        move_to(op, r, POD_DRAIN_ASKED);
}

/* ---- the head's state ---- */

static bool is_node_of(const struct ray_node *n, const struct pod *pod)
{
    bool same = slice_empty(n->instance_id) ? slice_is(n->ip, pod->ip) : slice_is(n->instance_id, pod->name);
    return same && n->status != RAY_NODE_DEAD;
}

static const struct ray_node *find_node(const struct ray_state *state, const struct pod *pod)
{
    for (uint32_t i = 0; i < state->node_count; i++)
        if (is_node_of(&state->nodes[i], pod))
            return &state->nodes[i];
    return NULL;
}

/* The same request each time until the state shows that the node drains: it has the same deadline. */
static void ask_drain(struct op *op, const struct pod_record *r, struct ray_gcs *gcs, const struct ray_node *n)
{
    struct err ignored = {0}; /* the queue is full: it is asked again at the next state */
    int64_t left_ms = r->drain_ms + RAYCLUSTER_DRAIN_MS - op->now.mono_ms;
    const struct ray_drain ask = {.node_id = n->id,
                                  .preempt = true,
                                  .deadline_ms = op->now.wall_us / 1000 + left_ms,
                                  .message = SLICE("a rolling update replaces its pod"),
                                  .pod = slice_of(r->pod.name)};
    ray_gcs_drain(gcs, &ask, op->now, &ignored);
}

/* Nodes that an earlier leader had drained. */
static void find_drains(struct op *op, struct record *c, const struct ray_state *state)
{
    for (uint32_t i = 0; i < state->node_count; i++)
        for (struct pod_record *r = c->children.pods; r && state->nodes[i].status == RAY_NODE_DRAINING; r = r->next)
            if (!r->pod.ours.drain && is_node_of(&state->nodes[i], &r->pod) && is_replaced(op, &r->pod))
                move_to(op, r, POD_DRAIN_UNDER_WAY);
}

void drain_look(struct op *op, struct record *c, struct ray_gcs *gcs, const struct ray_state *state)
{
    find_drains(op, c, state);
    for (struct pod_record *r = c->children.pods; r; r = r->next) {
        if (!is_draining(&r->pod))
            continue;
        const struct ray_node *n = find_node(state, &r->pod);
        bool drains = n && n->status == RAY_NODE_DRAINING;
        if (!n || (!drains && r->pod.ours.drain == POD_DRAIN_UNDER_WAY)) /* its container was restarted, and so is another node */
            move_to(op, r, POD_DRAIN_DONE);
        else if (drains && r->pod.ours.drain == POD_DRAIN_ASKED)
            move_to(op, r, POD_DRAIN_UNDER_WAY);
        else if (!drains)
            ask_drain(op, r, gcs, n);
    }
}

/* ---- the time that a drain may take ---- */

/* Once the GCS is silent, the next pods do not wait for it. */
static int64_t ends_at(const struct pod_record *r, int64_t heard_ms)
{
    if (r->pod.ours.drain == POD_DRAIN_UNDER_WAY)
        return r->drain_ms + RAYCLUSTER_DRAIN_MS;
    return (heard_ms < r->drain_ms ? heard_ms : r->drain_ms) + RAYCLUSTER_DRAIN_ASK_MS;
}

static void end_drain(struct op *op, struct pod_record *r)
{
    char note[ERR_TEXT_MAX];
    bool begun = r->pod.ours.drain == POD_DRAIN_UNDER_WAY;
    snprintf(note, sizeof note, "pod %s is deleted although its node has not drained: %s. Serve moves its replicas when the pod has ended",
             r->pod.name,
             begun ? "tasks or replicas are left there after 5 min, as when no other node has room for them"
                   : "the GCS of the head does not answer, or Ray has not taken the request for 10 s");
    if (say_once(op, SAID_CLUSTER, said_of(r->of, SLICE("drain"), begun)))
        log_warn("rolling update: a worker is deleted without a drain", LF("namespace", istr_slice(r->of->ns)),
                 LF_CSTR("cluster", r->of->name), LF_CSTR("what", note));
    say_event(op, r->of, true, "WorkerNotDrained", slice_of(note));
    move_to(op, r, POD_DRAIN_DONE);
}

void drain_follow(struct op *op, struct record *c)
{
    int64_t heard_ms = 0;
    bool drains = scaling_drains(c, &heard_ms);
    for (struct pod_record *r = c->children.pods; r; r = r->next) {
        if (!r->pod.ours.drain)
            continue;
        if (!pod_live(&r->pod))
            r->pod.ours.drain = POD_DRAIN_DONE; /* kept until the pod is gone: its end lowers no target of the autoscaler */
        else if (!drains || !is_replaced(op, &r->pod))
            r->pod.ours.drain = POD_DRAIN_NONE;
        else if (is_draining(&r->pod) && op->now.mono_ms >= ends_at(r, heard_ms))
            end_drain(op, r);
    }
}

int64_t drain_next(const struct record *c)
{
    int64_t next = TIME_NEVER, heard_ms = 0;
    bool drains = scaling_drains(c, &heard_ms);
    for (const struct pod_record *r = c->children.pods; r && drains; r = r->next)
        if (is_draining(&r->pod) && ends_at(r, heard_ms) < next)
            next = ends_at(r, heard_ms);
    return next;
}
