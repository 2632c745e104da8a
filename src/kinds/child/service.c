/* Services of Kubernetes as a kind: children, that nothing is decided on. */
#include "record.h"

static void keep_service(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round)
{
    extract_service(op, from->space, object, version, round);
}

static void drop_service(struct op *op, struct source *from, struct jval object)
{
    (void)from;
    struct service_record *r = map_get(&op->all.services, json_get_str(object, "metadata.uid", &op->arenas.event));
    if (r)
        service_remove(op, r);
}

static void sweep_services(struct op *op, struct source *from, uint64_t version)
{
    struct service_record *r;
    for (uint32_t i = 0; (r = map_next(&op->all.services, &i)) != NULL;)
        if (r->of->space == from->space && r->round != from->keeper.round && r->service.version <= version)
            service_remove(op, r);
}

static void free_services(struct op *op)
{
    map_free(&op->all.services);
    slab_destroy(&op->slabs.service);
}

static const struct verb_handler handlers[] = {
    {.verb = &kservice_delete,
     .make = make_delete,
     .answer = answer_delete,
     .failed = call_failed,
     .more = &(const struct verb_more){.by_us = kservice_by_us, .undone = pod_outlived}},
    {.verb = NULL},
};

const struct kind kind_kservice = {.name = "Service",
                                   .word = "service",
                                   .api_version = SLICE("v1"),
                                   .resource = &kube_services,
                                   .plural = "services",
                                   .handlers = handlers,
                                   .selector = SLICE(RAY_LABEL_CLUSTER),
                                   .orphan = {.mark = RAY_ANNOTATION_HASH,
                                              .cluster = RAY_LABEL_CLUSTER,
                                              .maker = RAY_LABEL_MAKER_NAME,
                                              .maker_kind = RAY_LABEL_MAKER_KIND},
                                   .keep = keep_service,
                                   .drop = drop_service,
                                   .sweep = sweep_services,
                                   .free = free_services};
