/* The view that a RayService's decision has of its Gateway and HTTPRoute, and how these and the annotation of a cluster are sent. */
#include "record.h"

#include <mobula/kind_route.h>

/* A service that had them before this process began is known by its status. */
static bool concerned(struct op *op, const struct record *c)
{
    const struct rayservice *s = rayservice_model(op);
    return s->upgrade == SERVICE_UPGRADE_STEPS || route_seen(op, c, &kind_gateway, rayservice_gateway_name(s, &op->arenas.plan)) ||
           slice_find_text((struct slice){c->status.text, c->status.len}, "\"trafficRoutedPercent\"") >= 0 ||
           slice_find_text((struct slice){c->status.text, c->status.len}, "\"RoutesReady\"") >= 0;
}

static struct route_view *look(struct op *op, struct record *c, const struct kind *k, struct slice name, const struct verb *apply)
{
    struct route_view *v = arena_new(&op->arenas.plan, struct route_view);
    *v = route_look(op, c, k, name);
    v->apply = apply;
    return v;
}

void view_routes(struct op *op, struct record *c, struct service_view *v)
{
    struct arena *a = &op->arenas.plan;
    const struct rayservice *s = rayservice_model(op);
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct err e = {0};
    v->patches = patches_in_force(op);
    v->patches_revision = patches_revision(op);
    if (!concerned(op, c))
        return;
    v->gateway = look(op, c, &kind_gateway, rayservice_gateway_name(s, a), &rayservice_apply_gateway);
    v->route = look(op, c, &kind_httproute, rayservice_route_name(s, a), &rayservice_apply_route);
    if (rayservice_build_gateway(s, v->patches_revision, a, &text, &e))
        v->gateway->want = route_want_of(arena_dup(a, buf_slice(&text)), v->patches, a);
    else
        v->gateway->want.trouble = arena_printf(a, "%s", e.text);
}

bool rayservice_make_announcement(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t,
                                  struct err *e)
{
    (void)e;
    slice_copy(act->name, f->name, sizeof f->name);
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_MERGE_PATCH), true};
    kube_path(&op->out.path, &ray_resources[RAY_V1], istr_slice(c->ns), act->name, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    return buf_put(&op->out.body, act->text);
}
