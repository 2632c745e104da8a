/* A pod becomes a record of a few hundred bytes: the fields that decisions look at. */
#include "op.h"

static enum pod_phase read_phase(struct jval pod)
{
    static const char *const names[] = {
        [POD_PENDING] = "Pending", [POD_RUNNING] = "Running", [POD_SUCCEEDED] = "Succeeded", [POD_FAILED] = "Failed"};
    struct jval phase = json_get(pod, "status.phase");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (json_str_eq(phase, slice_of(names[i])))
            return (enum pod_phase)i;
    return json_there(phase) ? POD_UNKNOWN : POD_PENDING;
}

static struct jval condition_of(struct jval pod, struct slice type)
{
    struct jval k, c;
    for (struct jiter it = json_iter(json_get(pod, "status.conditions")); json_next(&it, &k, &c);)
        if (json_str_eq(json_get(c, "type"), type))
            return c;
    return (struct jval){.at = -1};
}

/* The status of the container of this name: the kubelet sorts them, so their order says nothing. */
static struct jval container_status(struct jval pod, struct slice name)
{
    struct jval k, c;
    for (struct jiter it = json_iter(json_get(pod, "status.containerStatuses")); json_next(&it, &k, &c);)
        if (json_str_eq(json_get(c, "name"), name))
            return c;
    return (struct jval){.at = -1};
}

/* The first container that waits or ended, init containers before the others; what it says is why the pod is not ready. */
static struct slice container_reason(struct jval list, struct arena *a)
{
    struct jval k, c;
    for (struct jiter it = json_iter(list); json_next(&it, &k, &c);) {
        struct slice waiting = json_get_str(c, "state.waiting.reason", a);
        if (!slice_empty(waiting) && !slice_eq(waiting, SLICE("PodInitializing")))
            return waiting;
        struct slice ended = json_get_str(c, "state.terminated.reason", a);
        if (!slice_empty(ended) && !slice_eq(ended, SLICE("Completed")))
            return ended;
    }
    return SLICE_NONE;
}

static struct slice read_reason(struct jval pod, struct arena *a)
{
    struct slice reason = container_reason(json_get(pod, "status.initContainerStatuses"), a);
    if (slice_empty(reason))
        reason = container_reason(json_get(pod, "status.containerStatuses"), a);
    if (slice_empty(reason))
        reason = json_get_str(pod, "status.reason", a); /* Evicted, NodeLost … */
    struct jval scheduled = condition_of(pod, SLICE("PodScheduled"));
    if (slice_empty(reason) && json_str_eq(json_get(scheduled, "status"), SLICE("False")))
        reason = json_get_str(scheduled, "reason", a);
    return reason;
}

static int64_t read_time(struct jval v, struct arena *a)
{
    int64_t us;
    struct err e = {0};
    return time_parse(json_str(v, a), &us, &e) ? us : 0;
}

static int32_t read_label_int(struct jval labels, struct slice key, struct arena *a)
{
    int64_t n;
    return slice_int(json_str(json_key(labels, key), a), &n) && n >= 0 && n <= LIMIT_RAY_PODS ? (int32_t)n : -1;
}

static uint64_t read_hash(struct jval object, struct arena *a)
{
    uint64_t hash;
    return ray_hash_parse(json_str(json_key(json_get(object, "metadata.annotations"), SLICE(RAY_ANNOTATION_HASH)), a), &hash) ? hash : 0;
}

static void read_states(struct pod *p, struct jval object, struct arena *a)
{
    struct jval ready = condition_of(object, SLICE("Ready"));
    p->phase = (uint8_t)read_phase(object);
    p->ready = json_str_eq(json_get(ready, "status"), SLICE("True")) && p->phase == POD_RUNNING;
    p->ready_us = p->ready ? read_time(json_get(ready, "lastTransitionTime"), a) : 0;
    p->deleting = json_there(json_get(object, "metadata.deletionTimestamp"));
    struct slice first = json_get_str(json_at(json_get(object, "spec.containers"), 0), "name", a);
    struct jval ended = json_get(container_status(object, first), "state.terminated");
    p->exit_code = (int32_t)json_get_int(ended, "exitCode", 0);
    p->ended = json_there(ended) && json_str_eq(json_get(object, "spec.restartPolicy"), SLICE("Never"));
}

static void keep_interned(struct op *op, const struct istr **held, struct slice *view, struct slice text)
{
    const struct istr *fresh = slice_empty(text) ? NULL : intern_get(&op->strings, text);
    intern_drop(&op->strings, *held);
    *held = fresh;
    *view = istr_slice(fresh);
}

static struct pod_record *pod_make(struct op *op, struct cluster *c, struct slice uid)
{
    struct pod_record *r = slab_alloc(&op->pod_slab);
    slice_copy(uid, r->pod.uid, sizeof r->pod.uid);
    r->of = c;
    r->next = c->pods;
    r->link = &c->pods;
    if (r->next)
        r->next->link = &r->next;
    c->pods = r;
    c->pod_count++;
    map_put(&op->pods, slice_of(r->pod.uid), r);
    return r;
}

/* Most of a pod's events change nothing that a decision looks at: its node, its conditions' times, a kubelet's notes. */
static bool same_to_decisions(const struct pod *a, const struct pod *b)
{
    return a->version != 0 && a->phase == b->phase && a->ready == b->ready && a->deleting == b->deleting && a->ended == b->ended &&
           a->exit_code == b->exit_code && a->index == b->index && a->host == b->host && a->hash == b->hash && a->head == b->head &&
           a->group.ptr == b->group.ptr && a->reason.ptr == b->reason.ptr && (!b->head || strcmp(a->ip, b->ip) == 0);
}

void extract_pod(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round)
{
    struct arena *a = &op->event_arena;
    struct slice uid = json_get_str(object, "metadata.uid", a), name = json_get_str(object, "metadata.name", a);
    struct pod_record *r = map_get(&op->pods, uid);
    if (r && version <= r->pod.version) {
        r->round = round ? round : r->round;
        return;
    }
    struct cluster *c = extract_parent(op, space, object);
    if (r && r->of != c) { /* it changed hands */
        pod_remove(op, r);
        r = NULL;
    }
    if (!c)
        return;
    if (!r)
        r = pod_make(op, c, uid);
    r->round = round ? round : r->round;
    struct jval labels = json_get(object, "metadata.labels");
    struct pod *p = &r->pod;
    struct pod before = *p;
    p->version = version;
    slice_copy(name, p->name, sizeof p->name);
    if (!slice_copy(json_get_str(object, "status.podIP", a), p->ip, sizeof p->ip))
        p->ip[0] = '\0';
    p->head = json_str_eq(json_key(labels, SLICE(RAY_LABEL_NODE_TYPE)), SLICE("head"));
    p->index = read_label_int(labels, SLICE(RAY_LABEL_REPLICA_INDEX), a);
    int32_t host = read_label_int(labels, SLICE(RAY_LABEL_HOST_INDEX), a);
    p->host = host < 0 ? 0 : host;
    p->hash = read_hash(object, a);
    p->created_us = read_time(json_get(object, "metadata.creationTimestamp"), a);
    read_states(p, object, a);
    if (p->deleting)
        r->doubt_ms = 0;
    p->deleting |= before.deleting; /* our own DELETE was answered; the object may be older than that */
    keep_interned(op, &r->group, &p->group, json_str(json_key(labels, SLICE(RAY_LABEL_GROUP)), a));
    keep_interned(op, &r->reason, &p->reason, p->ready ? SLICE_NONE : read_reason(object, a));
    if (!same_to_decisions(&before, p))
        cluster_touch(op, c);
}
