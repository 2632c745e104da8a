/* Builds the view of a RayService for a decision, from the records of its clusters, pods and services. */
#include "record.h"

void read_rayservice(struct op *op, struct record *c, const struct spec_object *from)
{
    struct rayservice *model = arena_new(&op->models.loaded->arena, struct rayservice);
    (void)c;
    rayservice_read(from, &op->models.loaded->arena, model, &op->models.loaded->errors);
    op->models.loaded->model = model;
}

/* ---- one cluster ---- */

/* Whether a cluster without our annotations has the present spec, although KubeRay has stored that in another form: status reports no
 * upgrade. That says nothing if the strategy may keep a cluster of another spec. */
static bool is_current(struct jval said, const struct rayservice *s, struct slice name)
{
    return (s->upgrade == SERVICE_NEW_CLUSTER || s->upgrade == SERVICE_UPGRADE_STEPS) &&
           json_str_eq(json_get(said, "activeServiceStatus.rayClusterName"), name) &&
           !json_there(json_get(said, "pendingServiceStatus.rayClusterName")) && !condition_is(said, "UpgradeInProgress", "True") &&
           json_get_int(said, "observedGeneration", 0) == s->generation;
}

/* said: the service's status. Without our annotations and if it is not current, the cluster's hash is computed from its spec, and its
 * scale_hash stays unknown. */
static void view_hashes(const struct record *c, const struct rayservice *s, struct jval said, struct service_cluster *v, struct arena *a)
{
    struct jval meta = json_document(istr_slice(c->seen.meta), a, NULL), spec = json_document(istr_slice(c->seen.spec), a, NULL);
    struct jval notes = json_get(meta, "annotations");
    v->group_count = (uint32_t)json_len(json_get(spec, "workerGroupSpecs"));
    if (!ray_hash_parse(json_str(json_child(notes, RAYSERVICE_HASH), a), &v->hash)) {
        v->unmarked = is_current(said, s, v->name);
        v->hash = v->unmarked ? s->cluster_hash : rayservice_hash(spec, UINT32_MAX, a);
    }
    if (!ray_hash_parse(json_str(json_child(notes, RAYSERVICE_SCALE), a), &v->scale_hash))
        v->scale_hash = 0;
    v->other_roll = !slice_eq(json_str(json_child(notes, RAY_ANNOTATION_ROLL), a), rayservice_roll_text(s, a));
    if (s->upgrade == SERVICE_UPGRADE_ROLLING && v->hash != s->cluster_hash)
        v->apart = rayservice_apart(spec, s->cluster_spec, a);
    v->first_hash = v->group_count < s->group_count ? rayservice_hash(s->cluster_spec, v->group_count, a) : s->cluster_hash;
}

static void view_pods_of(const struct record *c, bool exclude_head, struct service_cluster *v)
{
    for (const struct pod_record *r = c->children.pods; r; r = r->next) {
        const struct pod *pod = &r->pod;
        if (pod->head && !pod->deleting && !pod->ended && pod->phase == POD_RUNNING)
            v->head = pod;
        if (pod->ready && pod->serves && !pod->deleting && !(pod->head && exclude_head))
            v->ready++;
    }
}

static uint32_t count_outdated(const struct record *c, const struct ray_cluster *model)
{
    uint32_t n = 0;
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        for (uint32_t k = 0; k < model->group_count; k++)
            n += !r->pod.head && pod_live(&r->pod) && slice_eq(r->pod.group, model->groups[k].name) &&
                 pod_outdated(&r->pod, &model->groups[k]);
    return n;
}

static struct slice why_not_ready(struct jval status, struct arena *a)
{
    struct slice text = json_get_str(ray_cluster_unready(status), "message", a);
    return slice_empty(text) ? json_get_str(status, "reason", a) : text;
}

/* ray_service_hash of a service that leads to the cluster `to`, with the patches in force; 0: it cannot be built. */
static uint64_t service_hash(struct op *op, const struct rayservice *s, const struct ray_cluster *to, bool head)
{
    struct arena *a = &op->arenas.plan;
    struct err e = {0};
    struct jval doc;
    __attribute__((cleanup(buf_free))) struct buf b = {.max = LIMIT_JSON_ITEM};
    const struct shape_patches *patches = patches_in_force(op);
    struct slice patched;
    if (!rayservice_build_service(s, to, head, a, &b, &e))
        return 0;
    bool any =
        patches && shape_patches_for(patches, SLICE("Service")) && shape_patches_apply(patches, buf_slice(&b), NULL, a, &patched, &e);
    return json_read(&doc, any ? patched : buf_slice(&b), a, NULL) ? ray_service_hash(doc) : 0;
}

static void view_cluster(struct op *op, struct record *c, struct record *own, struct service_cluster *v)
{
    struct arena *a = &op->arenas.plan;
    model_load(op, c); /* few models are kept: those of the clusters before may have evicted it */
    const struct rayservice *s = rayservice_model(op);
    *v = (struct service_cluster){
        .name = slice_of(own->name), .uid = slice_of(own->uid), .deleting = own->deleting, .status = record_status(own, a)};
    v->why = why_not_ready(v->status, a);
    view_hashes(own, s, record_status(c, a), v, a);
    view_pods_of(own, s->exclude_head, v);
    struct jval meta = json_document(istr_slice(own->seen.meta), a, NULL);
    const struct service_record *serve = service_of(own, rayservice_own_name(v->name, a));
    v->announced = json_is(json_child(json_get(meta, "annotations"), RAY_ANNOTATION_SERVE), "true");
    v->own = serve && !serve->service.deleting ? &serve->service : NULL;
    v->head_ready = v->head && !own->deleting && condition_is(v->status, "HeadPodReady", "True");
    struct serve_asked *q = asked_of(op, c, own, v->head ? slice_of(v->head->uid) : SLICE_NONE);
    v->said = q->said;
    v->unused_ms = q->unused_ms;
    model_load(op, own);
    if (op->models.loaded->errors.count == 0) {
        v->serve_port = ray_serve_port(op->models.loaded->model, a);
        v->outdated = count_outdated(own, op->models.loaded->model);
        v->head_want = service_hash(op, s, op->models.loaded->model, true);
        v->serve_want = service_hash(op, s, op->models.loaded->model, false);
    }
}

static struct service_cluster *view_clusters(struct op *op, struct record *c, struct service_view *v)
{
    uint32_t count = 0;
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        count++;
    struct service_cluster *list = arena_array(&op->arenas.plan, count + 1, sizeof *list);
    for (struct record *own = c->family.owned; own; own = own->family.next) {
        if (own->present && own->kind == &kind_raycluster)
            view_cluster(op, c, own, &list[v->cluster_count++]);
        v->pods_left |= !own->present && own->children.pods;
    }
    v->clusters = list;
    return list;
}

struct record *rayservice_cluster(const struct record *c, struct arena *a)
{
    static const char *const paths[] = {"activeServiceStatus.rayClusterName", "pendingServiceStatus.rayClusterName"};
    struct jval status = record_status(c, a);
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        for (struct record *own = c->family.owned; own; own = own->family.next)
            if (own->present && own->kind == &kind_raycluster && json_is(json_get(status, paths[i]), own->name))
                return own;
    return NULL;
}

/* ---- the view ---- */

static bool is_named(struct jval status, const char *path, struct slice name)
{
    return json_str_eq(json_get(status, path), name);
}

/* A cluster that status does not name counts as unused from the first decision that finds it so. */
static void count_unused(struct op *op, struct record *c, const struct service_view *v)
{
    struct rayservice_own *own = c->own;
    for (struct serve_asked *q = own->asked; q; q = q->next) {
        struct slice name = slice_of(q->name);
        bool used = is_named(v->status, "activeServiceStatus.rayClusterName", name) ||
                    is_named(v->status, "pendingServiceStatus.rayClusterName", name);
        q->unused_ms = used ? 0 : q->unused_ms ? q->unused_ms : op->now.mono_ms;
    }
}

static const struct service *find_service(const struct record *c, struct slice name)
{
    const struct service_record *r = service_of(c, name);
    return r ? &r->service : NULL;
}

/* Returns when the service last had an active cluster, or a spec that could not be carried out: the initializing timeout begins then. */
static int64_t follow_active(struct op *op, struct record *c, struct jval status)
{
    struct rayservice_own *own = c->own;
    bool refused =
        op->models.loaded->errors.count || json_is(json_get(status_condition(status, SLICE("Ready")), "reason"), "ValidationFailed");
    if (refused || json_there(json_get(status, "activeServiceStatus.rayClusterName")))
        own->active_ms = op->now.mono_ms;
    return own->active_ms;
}

int64_t decide_rayservice(struct op *op, struct record *c, struct plan *p)
{
    struct arena *a = &op->arenas.plan;
    arena_reset(a, 256 * KIB);
    asked_drop_gone(op, c);
    const struct rayservice *s = rayservice_model(op);
    struct service_view v = {.service = s,
                             .status = record_status(c, a),
                             .status_hash = c->status_ours ? c->status.hash : 0,
                             .status_not_before_ms = c->status.not_before_ms,
                             .refusals = failures_of(op, c, SLICE_NONE, true, false),
                             .head_service = find_service(c, rayservice_head_name(s, a)),
                             .serve_service = find_service(c, rayservice_serve_name(s->name, s->serve_service, a)),
                             .now = op->now};
    view_clusters(op, c, &v);
    count_unused(op, c, &v);
    model_load(op, c); /* view_clusters has loaded the models of the clusters */
    v.service = rayservice_model(op);
    view_routes(op, c, &v);
    v.errors = &op->models.loaded->errors;
    v.active_ms = follow_active(op, c, v.status);
    rayservice_decide(&v, a, p);
    op->stats.decisions++;
    return p->next_ms;
}
