/* The kind table of RayServices, and their verbs. */
#include "record.h"

#include <mobula/kind_route.h>
#include <mobula/versioned.h>

/* On a change of leader refusals are forgotten. A process that no longer leads drops the answers of heads, and asks again when it leads. */
static void lead_service(struct op *op, struct record *c, bool leads)
{
    if (!leads)
        asked_drop(op, c);
    failures_clear(op, c);
}

static void respecified_service(struct op *op, struct record *c)
{
    children_respecified(op, c);
    routes_respecified(op, c);
}

static void done_service(struct op *op, struct record *c)
{
    (void)op;
    (void)c;
}

/* As they are when the first cluster takes all requests. */
static bool preview_routes(struct preview *p, const struct rayservice *s, const struct ray_cluster *cluster)
{
    const struct service_cluster primary = {.name = cluster->name, .serve_port = ray_serve_port(cluster, p->arena)};
    __attribute__((cleanup(buf_free))) struct buf gateway = {.max = LIMIT_JSON_ITEM}, route = {.max = LIMIT_JSON_ITEM};
    if (s->upgrade != SERVICE_UPGRADE_STEPS)
        return true;
    return rayservice_build_gateway(s, 0, p->arena, &gateway, &p->err) && p->put(p, buf_slice(&gateway)) &&
           rayservice_build_route(s, &primary, NULL, 0, 0, p->arena, &route, &p->err) && p->put(p, buf_slice(&route));
}

static bool preview_service(struct jval object, struct preview *p)
{
    struct rayservice *s = arena_new(p->arena, struct rayservice);
    const struct spec_object from = spec_object_of(object, p->arena);
    struct ray_cluster *cluster = arena_new(p->arena, struct ray_cluster);
    struct jval doc;
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    if (!rayservice_read(&from, p->arena, s, p->errors))
        return false;
    s->ns = slice_empty(s->ns) ? SLICE("default") : s->ns;
    s->uid = slice_empty(s->uid) ? SLICE(PREVIEW_UID) : s->uid;
    if (s->managed_elsewhere)
        p->note = SLICE("nothing is made: spec.managedBy leaves it to another controller");
    else if (s->suspend)
        p->note = SLICE("nothing is made: spec.suspend is true");
    if (!slice_empty(p->note))
        return true;
    if (!rayservice_build_cluster(s, rayservice_cluster_name(s, false, p->arena), false, &text, p->arena))
        return err_set(&p->err, ERR_LIMIT, "its RayCluster does not fit %d bytes (LIMIT_JSON_ITEM)", LIMIT_JSON_ITEM);
    if (!p->put(p, buf_slice(&text)) || !json_read(&doc, buf_slice(&text), p->arena, &p->err) ||
        !ray_read(doc, p->arena, cluster, p->errors))
        return false;
    for (int head = 1; head >= 0; head--) {
        __attribute__((cleanup(buf_free))) struct buf service = {.max = LIMIT_JSON_ITEM};
        if (!rayservice_build_service(s, cluster, head, p->arena, &service, &p->err) || !p->put(p, buf_slice(&service)))
            return false;
    }
    return preview_routes(p, s, cluster);
}

static const struct verb_more sealed = {.seal = rayservice_seal};
static const struct verb_handler handlers[] = {
    {.verb = &rayservice_create_cluster, .make = rayservice_make_cluster, .answer = rayservice_answer_cluster, .failed = object_failed},
    {.verb = &rayservice_update_cluster, .make = rayservice_make_update, .answer = rayservice_answer_cluster, .failed = object_failed},
    {.verb = &rayservice_delete_cluster, .make = rayservice_make_delete, .answer = rayservice_answer_cluster, .failed = object_failed},
    {.verb = &rayservice_apply_head_service,
     .make = rayservice_make_service,
     .more = &sealed,
     .answer = rayservice_answer_service,
     .failed = object_failed},
    {.verb = &rayservice_apply_serve_service,
     .make = rayservice_make_service,
     .more = &sealed,
     .answer = rayservice_answer_service,
     .failed = object_failed},
    {.verb = &rayservice_announce_cluster,
     .make = rayservice_make_announcement,
     .answer = rayservice_answer_cluster,
     .failed = object_failed},
    {.verb = &rayservice_apply_gateway, .make = route_make, .more = &route_sealed, .answer = route_answer, .failed = route_failed},
    {.verb = &rayservice_apply_route, .make = route_make, .more = &route_sealed, .answer = route_answer, .failed = route_failed},
    {.verb = &rayservice_label_head, .make = rayservice_make_label, .answer = rayservice_answer_label, .failed = object_failed},
    {.verb = &rayservice_remove_finalizer, .make = finalizer_remove, .answer = finalizer_answer, .failed = object_failed},
    {.verb = &rayservice_look, .carry_out = rayservice_ask_head},
    {.verb = &rayservice_put, .carry_out = rayservice_ask_head},
    {.verb = &rayservice_scale, .carry_out = rayservice_ask_head},
    {.verb = NULL},
};
static const struct kind *const owns[] = {&kind_raycluster, &kind_kservice, &kind_gateway, &kind_httproute, NULL};
static const struct kind *const needs[] = {&kind_rayservice, &kind_raycluster, &kind_pod, &kind_kservice, NULL};
static const struct kind *const must[] = {&kind_raycluster, NULL};

static const struct own_type own = {sizeof(struct rayservice_own)};

static const struct controller controller = {.owns = owns,
                                             .needs = needs,
                                             .must = must,
                                             .decide = decide_rayservice,
                                             .read = read_rayservice,
                                             .own = &own,
                                             .forget = asked_drop,
                                             .lead = lead_service,
                                             .done = done_service,
                                             .respecified = respecified_service,
                                             .unsettled = doubt_list,
                                             .recall = doubt_recall,
                                             .by_wall_clock = true,
                                             .goes_by_status = true};

const struct kind kind_rayservice = {.name = "RayService",
                                     .word = "service",
                                     .api_version = SLICE("ray.io/v1"),
                                     .resource = &rayservice_resource,
                                     .plural = "rayservices.ray.io",
                                     .handlers = handlers,
                                     .family = OPERATOR_RAY_IO,
                                     .keep = extract_record,
                                     .drop = drop_record,
                                     .sweep = sweep_records,
                                     .check = rayservice_check,
                                     .preview = preview_service,
                                     .gone = "service deleted",
                                     .optional = {.flag = "rayservices",
                                                  .run = "run RayServices (default); =false: they are not asked for",
                                                  .install = "with RayServices: six rights more; --kinds=all has them"},
                                     .creation = true,
                                     .finalizers = true,
                                     .owned = true,
                                     .orphan = {.mark = VERSIONED_HASH, .maker = VERSIONED_LABEL},
                                     .controller = &controller};
