/* Pods as a kind: children, that nothing is decided on. */
#include "record.h"

static void keep_pod(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round)
{
    extract_pod(op, from->space, object, version, round);
}

static void drop_pod(struct op *op, struct source *from, struct jval object)
{
    (void)from;
    struct pod_record *r = map_get(&op->all.pods, json_get_str(object, "metadata.uid", &op->arenas.event));
    if (r)
        pod_remove(op, r);
}

static void sweep_pods(struct op *op, struct source *from, uint64_t version)
{
    struct pod_record *r;
    for (uint32_t i = 0; (r = map_next(&op->all.pods, &i)) != NULL;)
        if (r->of->space == from->space && r->round != from->keeper.round && r->pod.version <= version)
            pod_remove(op, r);
}

/* Of what who decided before has sent, a list in pages holds only what had come when it was asked for: the rest its watch has yet to tell.
 */
static void keep_fence(struct op *op, struct source *from)
{
    if (kube_watch_asked_ms(from->keeper.watch) < op->phase.workers_from_ms)
        from->space->workers_from_ms = op->now.mono_ms + op->o.fence_ms;
}

static void free_pods(struct op *op)
{
    struct pod_record *r;
    for (uint32_t i = 0; (r = map_next(&op->all.pods, &i)) != NULL;) {
        intern_drop(&op->strings, r->group);
        intern_drop(&op->strings, r->reason);
        intern_drop(&op->strings, r->words);
    }
    map_free(&op->all.pods);
    slab_destroy(&op->slabs.pod);
}

static const struct verb_handler handlers[] = {
    {.verb = &pod_delete,
     .make = make_delete,
     .answer = answer_delete,
     .failed = call_failed,
     .more = &(const struct verb_more){.by_us = pod_by_us, .undone = pod_outlived, .outdated = pod_has_newer_version}},
    {.verb = NULL},
};

const struct kind kind_pod = {.name = "Pod",
                              .word = "pod",
                              .api_version = SLICE("v1"),
                              .resource = &kube_pods,
                              .plural = "pods",
                              .handlers = handlers,
                              .selector = SLICE(RAY_LABEL_CLUSTER),
                              .orphan = {.mark = RAY_ANNOTATION_HASH, .cluster = RAY_LABEL_CLUSTER},
                              .keep = keep_pod,
                              .drop = drop_pod,
                              .sweep = sweep_pods,
                              .listed = keep_fence,
                              .free = free_pods};
