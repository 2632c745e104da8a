/* Questions to a pod's record. */
#include <mobula/pod.h>
#include <mobula/spec.h>

bool pod_failed(const struct pod *pod)
{
    bool ended = pod->ended && !(pod->gave_up && pod->ours.overtaken); /* its second wait may have been a good one */
    return !pod->deleting && (pod->phase == POD_FAILED || pod->phase == POD_SUCCEEDED || ended);
}

bool pod_live(const struct pod *pod)
{
    return !pod->deleting && !pod_failed(pod);
}

bool pod_doubted(const struct pod *pod)
{
    return pod->ours.doubted && !pod->ended && pod->phase != POD_FAILED && pod->phase != POD_SUCCEEDED;
}

bool pod_counts_in_status(const struct pod *pod)
{
    return pod_live(pod) || pod_doubted(pod);
}

bool pod_astray(const struct ray_cluster *c, const struct pod *pod, struct arena *a)
{
    for (uint32_t k = 0; k < c->group_count; k++)
        if (slice_eq(pod->group, c->groups[k].name))
            return false;
    return !pod->head && !ray_named_for(c, pod->group, slice_of(pod->name), a);
}

bool pod_outdated(const struct pod *pod, const struct ray_group *spec)
{
    /* A pod without our annotation was made by somebody else, whose hash we cannot know: it counts as it is. */
    return pod->hash != 0 && pod->hash != spec->hash && pod->hash != spec->hash_now;
}

/* The first head of a cluster that has never restarted has no predecessor: a worker without the init container that waits for the head
 * may become ready before it. */
static bool has_predecessor(const struct pod *head, const struct pod *worker)
{
    return head->restarted || head->created_us > worker->created_us;
}

bool pod_of_old_head(const struct pod *worker, const struct pod *head, int64_t now_us)
{
    enum { CLOCK_SKEW_MS = 10 * 1000 }; /* a node's clock may be ahead of ours */
    int64_t runs_ms = (now_us - head->run_us) / 1000;
    bool recent = head->run_us && runs_ms > -CLOCK_SKEW_MS && runs_ms < POD_OLD_HEAD_MS;
    return recent && has_predecessor(head, worker) && worker->ready && worker->ready_us && worker->ready_us < head->run_us;
}

/* Evicted, or lost with its node, it may have no container that ended, and no exit code. */
struct slice pod_failure_text(const struct pod *pod, struct arena *a)
{
    if (pod->phase == POD_SUCCEEDED)
        return arena_printf(a, "pod %s ended with exit code 0: Ray must keep running", pod->name);
    if (pod->gave_up)
        return arena_printf(a, "pod %s has waited for the head in vain: kubectl logs %s -c " RAY_INIT_CONTAINER, pod->name, pod->name);
    if (slice_starts(pod->words, SLICE("ended with ")))
        return arena_printf(a, "pod %s %.*s", pod->name, SLICE_ARG(pod->words));
    if (!pod->ended && !slice_empty(pod->words))
        return arena_printf(a, "pod %s failed: %.*s", pod->name, SLICE_ARG(pod->words));
    return arena_printf(a, "pod %s ended with exit code %d", pod->name, (int)pod->exit_code);
}

struct slice pods_going_text(const struct pod *const *pods, uint32_t count, int64_t now_us, struct arena *a, int64_t *again_us)
{
    const struct pod *first = NULL;
    *again_us = 0;
    for (uint32_t i = 0; i < count; i++)
        if (pods[i]->going_s && slice_is(pods[i]->reason, POD_REASON_GOING) && (!first || pods[i]->going_s < first->going_s))
            first = pods[i];
    if (!first)
        return SLICE_NONE;
    int64_t late_us = first->going_s * INT64_C(1000000) + POD_HANGS_MS * INT64_C(1000);
    bool hangs = now_us >= late_us;
    struct slice more = count == 1 ? SLICE("") : arena_printf(a, "; %u more pod%s left", count - 1, count == 2 ? " is" : "s are");
    if (!hangs)
        *again_us = late_us;
    return arena_printf(
        a, "pod %s is %.*s%.*s%s", first->name, SLICE_ARG(first->words), SLICE_ARG(more),
        hangs ? ": if its node is lost, delete the node, or taint it node.kubernetes.io/out-of-service=nodeshutdown:NoExecute "
                "once it is switched off; a finalizer of the pod is for its owner to take off"
              : "");
}

struct slice pod_drained_text(const struct pod *pod, struct arena *a)
{
    return pod->idle_s ? arena_printf(a, "drained after %u s idle", (unsigned)pod->idle_s) : SLICE_NONE;
}

/* The states that every pod passes on its way up. */
static bool starts(const struct pod *pod)
{
    return slice_empty(pod->reason) || slice_is(pod->reason, "ContainerCreating");
}

struct slice pods_trouble(const struct pod *const *pods, uint32_t count, struct arena *a)
{
    const struct pod *worst = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct pod *pod = pods[i];
        if (pod->ready || !pod_live(pod) || slice_empty(pod->words))
            continue;
        bool worse = !worst || (pod->head != worst->head ? pod->head : starts(worst) && !starts(pod));
        worst = worse ? pod : worst;
    }
    return worst ? arena_printf(a, "pod %s: %.*s", worst->name, SLICE_ARG(worst->words)) : SLICE_NONE;
}
