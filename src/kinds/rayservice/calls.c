/* API requests of a RayService's plan, and their answers: creates, updates and deletes clusters, applies services, labels the head pod. */
#include "record.h"

/* ---- bodies ---- */

bool rayservice_make_cluster(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t,
                             struct err *e)
{
    slice_copy(act->name, f->name, sizeof f->name);
    *t = (struct call_text){SLICE("POST"), SLICE(KUBE_TYPE_JSON), false};
    kube_path(&op->out.path, &ray_resources[RAY_V1], istr_slice(c->ns), SLICE_NONE, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    return rayservice_build_cluster(rayservice_model(op), act->name, act->index, &op->out.body, &op->arenas.body) ||
           err_set(e, ERR_LIMIT, "RayCluster %.*s does not fit %d bytes (LIMIT_JSON_ITEM)", SLICE_ARG(act->name), LIMIT_JSON_ITEM);
}

bool rayservice_make_update(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    const struct record *own = record_get(op, act->uid, istr_slice(c->ns));
    struct jval live;
    char version[KUBE_VERSION_TEXT];
    slice_copy(act->name, f->name, sizeof f->name);
    if (!own || !own->present || !json_read(&live, istr_slice(own->seen.spec), &op->arenas.body, e))
        return err_set(e, ERR_MISSING, "RayCluster %.*s is gone", SLICE_ARG(act->name));
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_MERGE_PATCH), true};
    kube_path(&op->out.path, &ray_resources[RAY_V1], istr_slice(c->ns), act->name, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    return rayservice_build_update(rayservice_model(op), act->uid, kube_version_format(own->seen.version, version), live, &op->out.body,
                                   &op->arenas.body) ||
           err_set(e, ERR_LIMIT, "the groups of RayCluster %.*s do not fit %d bytes (LIMIT_JSON_ITEM)", SLICE_ARG(act->name),
                   LIMIT_JSON_ITEM);
}

bool rayservice_make_delete(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    model_load(op, c);
    /* While condition Suspended is not True, quota of the pods counts as used: so the RayCluster must exist until its pods are gone. */
    return object_make_delete(op, c, act, f, t, &ray_resources[RAY_V1],
                              rayservice_model(op)->suspend ? SLICE("Foreground") : SLICE("Background"));
}

/* act->uid: the cluster that the service will lead to. */
bool rayservice_make_service(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t,
                             struct err *e)
{
    bool head = act->verb == &rayservice_apply_head_service;
    struct record *to = record_get(op, act->uid, istr_slice(c->ns));
    if (!to || !to->present)
        return err_set(e, ERR_MISSING, "RayCluster %.*s is gone", SLICE_ARG(act->name));
    const struct rayservice *s = rayservice_model(op);
    struct slice name =
        head ? rayservice_head_name(s, &op->arenas.body) : rayservice_serve_name(s->name, s->serve_service, &op->arenas.body);
    slice_copy(name, f->name, sizeof f->name);
    f->fresh = !service_of(c, name);
    if (f->fresh && !service_free(op, c, name, e))
        return false;
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_APPLY), true};
    kube_path(&op->out.path, &kube_services, istr_slice(c->ns), name, SLICE_NONE);
    buf_put(&op->out.path, SLICE("?fieldManager=" RAY_FIELD_MANAGER));
    if (!f->fresh)
        buf_put(&op->out.path,
                SLICE("&force=true")); /* our service: overwrite other clients' changes. Else the name may be theirs: take over no fields */
    model_load(op, to);
    const struct ray_cluster *cluster = op->models.loaded->model;
    model_load(op, c);
    return rayservice_build_service(rayservice_model(op), cluster, head, &op->arenas.body, &op->out.body, e);
}

bool rayservice_seal(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e)
{
    struct jval doc;
    (void)c;
    (void)act;
    if (!json_read(&doc, buf_slice(&op->out.body), &op->arenas.body, e))
        return false;
    f->hash = ray_service_hash(doc);
    return true;
}

bool rayservice_make_label(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    slice_copy(act->name, f->name, sizeof f->name);
    slice_copy(act->uid, f->uid, sizeof f->uid);
    f->index = act->index;
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_MERGE_PATCH), true};
    kube_path(&op->out.path, &kube_pods, istr_slice(c->ns), act->name, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    return buf_printf(&op->out.body, "{\"metadata\":{\"uid\":\"%.*s\",\"labels\":{\"" RAY_LABEL_SERVE "\":\"%s\"}}}", SLICE_ARG(act->uid),
                      act->index ? "true" : "false");
}

/* ---- answers ---- */

static void say(struct op *op, const struct flight *f, const char *reason, const char *log, const char *did)
{
    struct record *c = f->c;
    char note[LIMIT_KUBE_EVENT_NOTE + ANSWER_WORDS]; /* cut where it is sent */
    snprintf(note, sizeof note, "%s RayCluster %s%s%s", did, f->name, f->why[0] ? ": " : "", f->why);
    log_info(log, LF("namespace", istr_slice(c->ns)), LF_CSTR("service", c->name), LF_CSTR("cluster", f->name));
    say_event(op, c, false, reason, slice_of(note));
}

static void cluster_done(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (f->verb == &rayservice_delete_cluster) {
        object_deleting(op, record_get(op, slice_of(f->uid), istr_slice(f->c->ns)));
        say(op, f, "DeletedRayCluster", "cluster deleted", "deleted");
    } else {
        bool create = f->verb == &rayservice_create_cluster;
        failures_clear(op, f->c);
        object_answered(op, f, a, &kind_raycluster);
        if (f->verb == &rayservice_announce_cluster) /* only annotations were set */
            return;
        say(op, f, create ? "CreatedRayCluster" : "UpdatedRayCluster", create ? "cluster created" : "cluster updated",
            create ? "created" : "updated the worker groups of");
    }
}

/* Every answer but success. A lasting refusal of a cluster or service is counted and delays only such writes; anything else backs off the
 * whole record, and a cluster or pod that is gone (404) is no refusal. */
static void not_done(struct op *op, struct flight *f, const struct kube_answer *a)
{
    bool exists = a->outcome == KUBE_REFUSED && a->status.reason == KUBE_ALREADY_EXISTS;
    bool made = f->verb->how == VERB_CREATE || f->verb->how == VERB_APPLY, gone = !made && a->status.code == 404;
    if (exists && !cluster_named(op, f->c, slice_of(f->name)))
        source_missed(source_of(f->c->space, &kind_raycluster));
    object_write_sorted(op, f, a, exists || gone || answer_passing(&a->status), made || f->verb == &rayservice_update_cluster);
}

bool rayservice_answer_cluster(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome == KUBE_OK)
        cluster_done(op, f, a);
    else
        not_done(op, f, a);
    return false;
}

bool rayservice_answer_service(struct op *op, struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    if (a->outcome != KUBE_OK) {
        not_done(op, f, a);
        return false;
    }
    failures_clear(op, f->c);
    struct jval object = answer_object(op, a, &version);
    struct source *services = source_of(f->c->space, &kind_kservice);
    if (json_there(object) && (service_of(f->c, slice_of(f->name)) || !source_passed(services, version)))
        extract_service(op, f->c->space, object, version, 0);
    else
        source_missed(services);
    struct service_record *r = service_of(f->c, slice_of(f->name));
    if (!r)
        return false;
    r->service.wanted = f->hash;
    r->service.became = json_there(object) ? ray_service_hash(object) : 0;
    r->service.applied_ms = op->now.mono_ms;
    return false;
}

bool rayservice_answer_label(struct op *op, struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    if (a->outcome != KUBE_OK) {
        not_done(op, f, a);
        return false;
    }
    struct jval object = answer_object(op, a, &version);
    if (json_there(object))
        extract_pod(op, f->c->space, object, version, 0);
    log_info("head pod labelled", LF("namespace", istr_slice(f->c->ns)), LF_CSTR("service", f->c->name), LF_CSTR("pod", f->name),
             LF_CSTR(RAY_LABEL_SERVE, f->index ? "true" : "false"));
    record_touch(op, f->c);
    return false;
}
