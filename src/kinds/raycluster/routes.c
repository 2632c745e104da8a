/* The view that a RayCluster's decision has of its Ingress, and how that is sent. */
#include "record.h"

#include <mobula/kind_route.h>

/* A cluster that had one before this process began is known by its condition; one that got it since, and has not told yet, by that. */
static bool concerned(struct op *op, const struct record *c, struct slice name)
{
    static const char was[] = "\"" STATUS_INGRESS "\"";
    return cluster_model(op)->kind == RAY_V1 && (ray_wants_ingress(cluster_model(op)) || route_seen(op, c, &kind_ingress, name) ||
                                                 slice_find_text((struct slice){c->status.text, c->status.len}, was) >= 0);
}

static const struct route_tls_view *view_tls(struct op *op, struct record *c)
{
    struct route_tls_want want = {.secret = SLICE("")};
    if (ray_wants_ingress(cluster_model(op)) && !op->models.loaded->errors.count)
        want.secret = ray_ingress_secret(cluster_model(op), &want.hosts, &want.field, &op->arenas.plan);
    return route_tls_look(op, c, &want);
}

const struct route_view *view_ingress(struct op *op, struct record *c)
{
    const struct route_tls_view *tls = view_tls(op, c);
    struct arena *a = &op->arenas.plan;
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct err e = {0};
    struct slice name = op->models.loaded->errors.count ? SLICE_NONE : ray_ingress_name(cluster_model(op), a);
    if (slice_empty(name) || !concerned(op, c, name))
        return NULL;
    struct route_view *v = arena_new(a, struct route_view);
    *v = route_look(op, c, &kind_ingress, name);
    v->apply = &raycluster_apply_ingress;
    v->tls = tls;
    if (raycluster_build_ingress(cluster_model(op), patches_revision(op), a, &text, &e))
        v->want = route_want_of(arena_dup(a, buf_slice(&text)), patches_in_force(op), a);
    else
        v->want.trouble = arena_printf(a, "%s", e.text);
    return v;
}
