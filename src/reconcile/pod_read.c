/* A pod as the API server has it, and what of it decisions look at. */
#include "reconcile_private.h"

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

void pod_read(struct jval object, struct arena *a, struct pod *out)
{
    struct jval labels = json_get(object, "metadata.labels");
    int32_t host = read_label_int(labels, SLICE(RAY_LABEL_HOST_INDEX), a);
    *out = (struct pod){.index = read_label_int(labels, SLICE(RAY_LABEL_REPLICA_INDEX), a),
                        .host = host < 0 ? 0 : host,
                        .head = json_str_eq(json_key(labels, SLICE(RAY_LABEL_NODE_TYPE)), SLICE("head")),
                        .hash = read_hash(object, a),
                        .created_us = read_time(json_get(object, "metadata.creationTimestamp"), a),
                        .group = json_str(json_key(labels, SLICE(RAY_LABEL_GROUP)), a)};
    slice_copy(json_get_str(object, "metadata.name", a), out->name, sizeof out->name);
    slice_copy(json_get_str(object, "metadata.uid", a), out->uid, sizeof out->uid);
    if (!slice_copy(json_get_str(object, "status.podIP", a), out->ip, sizeof out->ip))
        out->ip[0] = '\0';
    read_states(out, object, a);
    out->reason = out->ready ? SLICE_NONE : read_reason(object, a);
}
