/* The kind table of RayServices, and their verbs. */
#include "record.h"

/* On a change of leader refusals are forgotten. A process that no longer leads drops the answers of heads, and asks again when it leads. */
static void lead_service(struct op *op, struct record *c, bool leads)
{
    if (!leads)
        asked_drop(op, c);
    failures_clear(op, c);
}

static void done_service(struct op *op, struct record *c)
{
    (void)op;
    (void)c;
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
    if (!rayservice_build_cluster(s, &text, p->arena))
        return err_set(&p->err, ERR_LIMIT, "its RayCluster does not fit %d bytes (LIMIT_JSON_ITEM)", LIMIT_JSON_ITEM);
    if (!p->put(p, buf_slice(&text)) || !json_read(&doc, buf_slice(&text), p->arena, &p->err) ||
        !ray_read(doc, p->arena, cluster, p->errors))
        return false;
    for (int head = 1; head >= 0; head--) {
        __attribute__((cleanup(buf_free))) struct buf service = {.max = LIMIT_JSON_ITEM};
        if (!rayservice_build_service(s, cluster, head, p->arena, &service, &p->err) || !p->put(p, buf_slice(&service)))
            return false;
    }
    return true;
}

const struct verb rayservice_create_cluster = {.name = "create-service-cluster",
                                               .how = VERB_CREATE,
                                               .make = rayservice_make_cluster,
                                               .answer = rayservice_answer_cluster,
                                               .failed = rayservice_failed_by,
                                               .refusal = {"FailedToCreateRayCluster"}};
const struct verb rayservice_update_cluster = {.name = "update-service-cluster",
                                               .how = VERB_PATCH,
                                               .make = rayservice_make_update,
                                               .answer = rayservice_answer_cluster,
                                               .failed = rayservice_failed_by,
                                               .refusal = {"FailedToUpdateRayCluster"}};
const struct verb rayservice_delete_cluster = {.name = "delete-service-cluster",
                                               .how = VERB_DELETE,
                                               .make = rayservice_make_delete,
                                               .answer = rayservice_answer_cluster,
                                               .failed = rayservice_failed_by,
                                               .refusal = {"FailedToDeleteRayCluster"}};
const struct verb rayservice_apply_head_service = {.name = "apply-rayservice-head-service",
                                                   .how = VERB_APPLY,
                                                   .make = rayservice_make_service,
                                                   .seal = rayservice_seal,
                                                   .answer = rayservice_answer_service,
                                                   .failed = rayservice_failed_by,
                                                   .refusal = {"FailedToCreateService"}};
const struct verb rayservice_apply_serve_service = {.name = "apply-serve-service",
                                                    .how = VERB_APPLY,
                                                    .make = rayservice_make_service,
                                                    .seal = rayservice_seal,
                                                    .answer = rayservice_answer_service,
                                                    .failed = rayservice_failed_by,
                                                    .refusal = {"FailedToCreateService"}};
const struct verb rayservice_label_head = {.name = "label-serve-head",
                                           .how = VERB_PATCH,
                                           .make = rayservice_make_label,
                                           .answer = rayservice_answer_label,
                                           .failed = rayservice_failed_by,
                                           .refusal = {"FailedToUpdateHeadPodServeLabel"}};
const struct verb rayservice_remove_finalizer = {.name = "remove-service-finalizer",
                                                 .how = VERB_PATCH,
                                                 .make = job_make_finalizers,
                                                 .answer = rayservice_answer_cluster,
                                                 .failed = rayservice_failed_by,
                                                 .refusal = {"FailedToUpdateRayService"}};
const struct verb rayservice_look = {.name = "look-serve", .how = VERB_ASK, .carry_out = rayservice_ask_head};
const struct verb rayservice_put = {.name = "put-serve-config", .how = VERB_ASK, .carry_out = rayservice_ask_head};

static const struct verb *const verbs[] = {&rayservice_create_cluster,
                                           &rayservice_update_cluster,
                                           &rayservice_delete_cluster,
                                           &rayservice_apply_head_service,
                                           &rayservice_apply_serve_service,
                                           &rayservice_label_head,
                                           &rayservice_remove_finalizer,
                                           &rayservice_look,
                                           &rayservice_put,
                                           NULL};
static const struct kind *const owns[] = {&kind_raycluster, &kind_kservice, NULL};
static const struct kind *const needs[] = {&kind_rayservice, &kind_raycluster, &kind_pod, &kind_kservice, NULL};
static const struct kind *const must[] = {&kind_raycluster, NULL};

const struct kind kind_rayservice = {.name = "RayService",
                                     .word = "service",
                                     .api_version = SLICE("ray.io/v1"),
                                     .resource = &rayservice_resource,
                                     .plural = "rayservices.ray.io",
                                     .verbs = verbs,
                                     .family = OPERATOR_RAY_IO,
                                     .keep = extract_record,
                                     .drop = drop_record,
                                     .sweep = sweep_records,
                                     .owns = owns,
                                     .needs = needs,
                                     .must = must,
                                     .decide = decide_rayservice,
                                     .read = read_rayservice,
                                     .own_size = sizeof(struct rayservice_own),
                                     .forget = asked_drop,
                                     .lead = lead_service,
                                     .done = done_service,
                                     .check = rayservice_check,
                                     .preview = preview_service,
                                     .respecified = children_respecified,
                                     .unsettled = doubt_list,
                                     .recall = doubt_recall,
                                     .gone = "service deleted",
                                     .optional = {.flag = "rayservices",
                                                  .run = "run RayServices (default); =false: they are not asked for",
                                                  .install = "with RayServices: six rights more; --kinds=all has them"},
                                     .creation = true,
                                     .finalizers = true,
                                     .by_wall_clock = true,
                                     .goes_by_status = true};
