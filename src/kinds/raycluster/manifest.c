/* The command line's questions to a RayCluster's manifest, of either API group: kind.check and kind.preview. */
#include "record.h"

#include <stdio.h>

void raycluster_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes)
{
    ray_read(object, a, arena_new(a, struct ray_cluster), errors);
    ray_notes(object, a, notes);
}

/* ---- a namespace in which all that was decided came true at once ---- */

struct world {
    struct preview *p;
    const struct ray_cluster *cluster, *plain; /* plain: without instance types; NULL: it is not wanted */
    const struct pod **pods;
    uint32_t count, cap;
    struct service own[RAY_SERVICES];
    bool has[RAY_SERVICES];
    uint32_t accounts; /* as in cluster_view */
    struct route_view ingress;
    struct route route;
};

static void add_pod(struct world *w, const struct action *action, const struct ray_group *group)
{
    struct arena *a = w->p->arena;
    if (w->count == w->cap) {
        const struct pod **more = arena_array(a, w->cap * 2 + 16, sizeof *more);
        if (w->count)
            memcpy(more, w->pods, w->count * sizeof *more);
        w->pods = more;
        w->cap = w->cap * 2 + 16;
    }
    struct pod *pod = arena_new(a, struct pod);
    struct slice name =
        group->head ? ray_head_pod_name(w->cluster, a) : ray_worker_pod_name(w->cluster, group, action->index, SLICE(""), a);
    slice_copy(name, pod->name, sizeof pod->name);
    snprintf(pod->uid, sizeof pod->uid, "%08x-0000-0000-0000-000000000000", w->count + 1);
    pod->group = group->name;
    pod->hash = group->hash;
    pod->index = action->index / group->hosts;
    pod->host = action->index % group->hosts;
    pod->head = group->head;
    w->pods[w->count++] = pod;
}

static bool build_pod_of(struct preview *p, const struct ray_cluster *c, const struct action *action, struct buf *object)
{
    if (action->group < 0)
        return ray_build_head_pod(c, &p->ray, p->arena, object, &p->err);
    return ray_build_worker_pod(c, &c->groups[action->group], action->index, SLICE(""), &p->ray, p->arena, object, &p->err);
}

static bool build_pod(struct world *w, const struct action *action, struct buf *object)
{
    struct preview *p = w->p;
    add_pod(w, action, action->group < 0 ? &w->cluster->head : &w->cluster->groups[action->group]);
    if (w->plain) {
        if (!build_pod_of(p, w->plain, action, object))
            return false;
        p->untyped = arena_dup(p->arena, buf_slice(object));
        buf_clear(object);
    }
    return build_pod_of(p, w->cluster, action, object);
}

static bool build_service(struct world *w, enum ray_service which, struct buf *object)
{
    struct preview *p = w->p;
    struct jval doc;
    if (!ray_build_service(w->cluster, which, p->arena, object, &p->err) || !json_read(&doc, buf_slice(object), p->arena, &p->err))
        return false;
    w->own[which].hash = ray_service_hash(doc);
    w->has[which] = true;
    return true;
}

static bool build_ingress(struct world *w, struct buf *object)
{
    w->ingress.have = &w->route;
    return raycluster_build_ingress(w->cluster, 0, w->p->arena, object, &w->p->err);
}

static bool build_account(struct world *w, const struct action *action, struct buf *object)
{
    bool ca = action->index == RAY_ACCOUNT_CA;
    struct slice secret = ca ? SLICE("{\"" RAY_CA_CERT "\":\"\",\"" RAY_CA_KEY "\":\"\"}") : SLICE("(32 random bytes, in base64)");
    w->accounts |= 1u << action->index;
    if (ca && !w->cluster->auth.ca_ours) /* the user's */
        return true;
    return ray_build_account(w->cluster, (enum ray_account)action->index, secret, w->p->arena, object);
}

/* Carries out what makes an object; *made counts them. */
static bool carry_out(struct world *w, const struct action *action, uint32_t *made)
{
    struct buf object;
    bool well = true;
    buf_init(&object, LIMIT_JSON_ITEM);
    if (action->verb == &raycluster_create_account)
        well = build_account(w, action, &object);
    else if (action->verb == &raycluster_create_pod)
        well = build_pod(w, action, &object);
    else if (action->verb == &raycluster_apply_ingress)
        well = build_ingress(w, &object);
    else if (action->verb->how == VERB_APPLY)
        well = build_service(w, raycluster_service_of(action->verb), &object);
    *made += action->verb == &raycluster_create_account;
    if (well && object.len) {
        well = w->p->put(w->p, buf_slice(&object));
        w->p->untyped = SLICE_NONE;
        ++*made;
    }
    buf_free(&object);
    return well;
}

/* Decides and carries out until nothing more is to be made: a plan holds PLAN_ACTIONS at most. */
static bool run_world(struct world *w)
{
    struct arena *a = w->p->arena;
    struct spec_errors errors = {0};
    struct cluster_view view = {.cluster = w->cluster, .errors = &errors, .options = &w->p->ray, .now = {.mono_ms = 1, .wall_us = 1}};
    if (ray_wants_ingress(w->cluster))
        view.ingress = &w->ingress;
    view.failures = arena_array(a, w->cluster->group_count + 1, sizeof *view.failures);
    for (uint32_t made = 1; made > 0;) {
        struct plan plan;
        made = 0;
        view.pods = w->pods;
        view.pod_count = w->count;
        view.accounts = w->accounts;
        for (enum ray_service k = 0; k < RAY_SERVICES; k++) {
            view.own[k] = w->has[k] ? &w->own[k] : NULL;
            view.wants[k].hash = w->own[k].hash;
        }
        raycluster_decide(&view, a, &plan);
        for (uint32_t i = 0; i < plan.count; i++)
            if (!carry_out(w, &plan.actions[i], &made))
                return false;
    }
    return true;
}

/* Groups without the instance type that they name are errors here. */
static bool apply_types(struct ray_cluster *c, struct preview *p)
{
    struct spec_errors *errors = p->errors;
    shape_cluster(p->types, c, p->arena);
    for (int32_t k = -1; k < (int32_t)c->group_count && errors->count < LIMIT_SPEC_ERRORS; k++) {
        const struct ray_group *g = k < 0 ? &c->head : &c->groups[k];
        if (g->blocked)
            errors->list[errors->count++] = (struct spec_error){.path = arena_printf(p->arena, "group %.*s", SLICE_ARG(g->name)),
                                                                .text = g->blocked_text,
                                                                .offset = json_offset(g->template)};
    }
    return errors->count == 0;
}

/* With groups of its own. */
static const struct ray_cluster *copy_cluster(const struct ray_cluster *c, struct arena *a)
{
    struct ray_cluster *copy = arena_new(a, struct ray_cluster);
    *copy = *c;
    copy->groups = arena_array(a, c->group_count + 1, sizeof *copy->groups);
    if (c->group_count)
        memcpy(copy->groups, c->groups, c->group_count * sizeof *copy->groups);
    return copy;
}

bool raycluster_preview(struct jval object, struct preview *p)
{
    struct ray_cluster *cluster = arena_new(p->arena, struct ray_cluster);
    struct world w = {.p = p, .cluster = cluster, .ingress = {.apply = &raycluster_apply_ingress, .known = true, .want.text = SLICE("{}")}};
    w.route.text = w.ingress.want.text;
    if (!ray_read(object, p->arena, cluster, p->errors))
        return false;
    if (slice_empty(cluster->ns))
        cluster->ns = SLICE("default");
    if (slice_empty(cluster->uid))
        cluster->uid = SLICE(PREVIEW_UID);
    shape_zones(cluster, 0, p->arena);
    if (p->types && p->steps)
        w.plain = copy_cluster(cluster, p->arena);
    if (!p->types)
        shape_markets(cluster, p->arena);
    else if (!apply_types(cluster, p))
        return false;
    if (cluster->managed_elsewhere)
        p->note = SLICE("nothing is made: spec.managedBy leaves it to another controller");
    else if (cluster->suspend)
        p->note = SLICE("no pods are made: spec.suspend is true");
    return run_world(&w);
}
