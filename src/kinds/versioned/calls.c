/* The view of a VersionedService, and the calls of its plan. */
#include "record.h"

#include <mobula/kind_route.h>

/* ---- the view ---- */

static struct versioned_child view_child(const struct record *own, struct arena *a)
{
    struct jval meta = json_document(istr_slice(own->seen.meta), a, NULL), notes = json_get(meta, "annotations");
    struct versioned_child v = {.name = slice_of(own->name),
                                .uid = slice_of(own->uid),
                                .version = json_str(json_child(json_get(meta, "labels"), VERSIONED_VERSION), a),
                                .deleting = own->deleting,
                                .generation = own->seen.generation,
                                .status = record_status(own, a),
                                .spec = json_document(istr_slice(own->seen.spec), a, NULL),
                                .hash = json_str(json_child(notes, VERSIONED_HASH), a)};
    const struct service_record *serve = service_of(own, rayservice_serve_name(v.name, json_get(v.spec, "serveService"), a));
    v.service = serve && !serve->service.deleting;
    if (!slice_int(json_str(json_child(notes, VERSIONED_CAPACITY), a), &v.capacity))
        v.capacity = -1;
    return v;
}

static void view_children(struct op *op, const struct record *c, struct versioned_view *v)
{
    uint32_t count = 0;
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        count++;
    struct versioned_child *list = arena_array(&op->arenas.plan, count + 1, sizeof *list);
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        if (own->present && own->kind == &kind_rayservice)
            list[v->child_count++] = view_child(own, &op->arenas.plan);
    v->children = list;
}

struct record *versioned_child_record(const struct record *c, struct slice version, struct arena *a)
{
    if (slice_empty(version))
        version = json_get_str(record_status(c, a), "primaryVersion", a);
    struct slice name = versioned_child_name(slice_of(c->name), version, a);
    for (struct record *own = c->family.owned; own; own = own->family.next)
        if (own->present && own->kind == &kind_rayservice && slice_eq(slice_of(own->name), name))
            return own;
    return NULL;
}

static const struct kind *const kinds_of[VERSIONED_ROUTES] = {[VERSIONED_HTTPROUTE] = &kind_httproute,
                                                              [VERSIONED_INGRESS] = &kind_ingress,
                                                              [VERSIONED_CANARY] = &kind_ingress,
                                                              [VERSIONED_GRPCROUTE] = &kind_grpcroute,
                                                              [VERSIONED_VIRTUALSERVICE] = &kind_virtualservice};

/* Whether a route is attached to the Gateway, Ingress class or a gateway of Istio of the service. A VirtualService may omit its own
 * namespace in the name of a gateway. */
static bool is_at(const struct versioned *s, const struct route *r, struct slice ns, struct arena *a)
{
    struct jval i, gateway;
    if (s->class.len)
        return slice_find_text(r->text, arena_printf(a, "\"ingressClassName\":\"%.*s\"", SLICE_ARG(s->class)).ptr) >= 0;
    if (s->gateway.len)
        return slice_find_text(
                   r->text,
                   arena_printf(a, "\"name\":\"%.*s\",\"namespace\":\"%.*s\"", SLICE_ARG(s->gateway), SLICE_ARG(s->gateway_ns)).ptr) >= 0;
    for (struct jiter it = json_iter(s->istio); json_next(&it, &i, &gateway);) {
        struct slice name = json_str(gateway, a), of = slice_find(name, '/') < 0 ? s->ns : slice_cut(&name, '/');
        if (slice_find_text(r->text, arena_printf(a, "\"%.*s/%.*s\"", SLICE_ARG(of), SLICE_ARG(name)).ptr) >= 0 ||
            (slice_eq(of, ns) && slice_find_text(r->text, arena_printf(a, "\"%.*s\"", SLICE_ARG(name)).ptr) >= 0))
            return true;
    }
    return false;
}

/* The first route of another namespace's service that gets requests for the host; empty: none. */
static struct slice find_other(struct op *op, const struct record *c, const struct versioned *s, const struct kind *k, struct slice host)
{
    struct arena *a = &op->arenas.plan;
    const struct route *r;
    struct slice ns;
    for (uint32_t at = 0; (r = route_elsewhere(op, c, k, &at, &ns)) != NULL;)
        if (slice_find_text(r->text, VERSIONED_LABEL) >= 0 && is_at(s, r, ns, a) &&
            versioned_hosts_meet(r->text, host, k == &kind_ingress, a))
            return arena_printf(a, "%s %s of namespace %.*s", k->name, r->name, SLICE_ARG(ns));
    return SLICE("");
}

/* Why a route may not be written: one of another namespace has a host of it already, at the same place. A host that the server's route of
 * this service has stays. Routes to listeners of a Gateway that are named need not be in each other's way. */
static struct slice host_taken(struct op *op, const struct record *c, const struct versioned *s, const struct route_view *v, int which)
{
    struct arena *a = &op->arenas.plan;
    bool grpc = which == VERSIONED_GRPCROUTE;
    struct jval i, host;
    for (struct jiter it = json_iter(grpc ? s->grpc_hosts : s->hosts);
         json_next(&it, &i, &host) && !s->section.len && !(grpc && s->grpc_section.len);) {
        const char *quoted = arena_dup(a, json_raw(host)).ptr;
        if (v->have && slice_find_text(v->have->text, quoted) >= 0)
            continue;
        struct slice name = json_str(host, a), by = find_other(op, c, s, kinds_of[which], name);
        if (!by.len && s->gateway.len) /* a listener has a host for HTTP or for gRPC */
            by = find_other(op, c, s, kinds_of[grpc ? VERSIONED_HTTPROUTE : VERSIONED_GRPCROUTE], name);
        if (by.len)
            return arena_printf(a, "%s: %s belongs to %.*s: use another host", grpc ? "spec.grpc.hostnames" : "spec.hostnames", quoted,
                                SLICE_ARG(by));
    }
    return SLICE("");
}

/* Those that the spec asks for, and those that status or a watch tells are there. */
static void view_routes(struct op *op, struct record *c, const struct versioned *s, struct versioned_view *v)
{
    struct arena *a = &op->arenas.plan;
    struct slice was = json_get_str(v->status, "routeKind", a);
    v->patches = patches_in_force(op);
    v->patches_revision = patches_revision(op);
    for (int i = 0; i < VERSIONED_ROUTES; i++) {
        const struct kind *k = kinds_of[i];
        struct slice name = arena_printf(a, "%.*s-%s", SLICE_ARG(s->name), versioned_routes[i].suffix);
        if (!versioned_asks(s, i) && slice_find_text(was, k->name) < 0 && !route_seen(op, c, k, name))
            continue;
        v->routes[i] = arena_new(a, struct route_view);
        *v->routes[i] = route_look(op, c, k, name);
        v->routes[i]->apply = &versioned_apply_route;
        if (i == VERSIONED_CANARY && v->routes[VERSIONED_INGRESS])
            v->routes[i]->want.trouble = v->routes[VERSIONED_INGRESS]->want.trouble;
        else if (versioned_asks(s, i))
            v->routes[i]->want.trouble = host_taken(op, c, s, v->routes[i], i);
    }
}

static const struct route_tls_view *view_tls(struct op *op, struct record *c, const struct versioned *s)
{
    struct arena *a = &op->arenas.plan;
    struct route_tls_want want = {.secret = s->tls, .hosts = SLICE("")};
    struct jval k, host;
    for (struct jiter it = json_iter(s->hosts); json_next(&it, &k, &host);)
        want.hosts = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(want.hosts), want.hosts.len ? "," : "", SLICE_ARG(json_str(host, a)));
    if (s->tls_named)
        want.field = SLICE("annotation " VERSIONED_TLS);
    if (s->gateway.len && !slice_eq(s->gateway_ns, s->ns))
        want.gateway_ns = s->gateway_ns;
    return route_tls_look(op, c, &want);
}

int64_t versioned_decide_record(struct op *op, struct record *c, struct plan *p)
{
    struct arena *a = &op->arenas.plan;
    arena_reset(a, 256 * KIB);
    const struct versioned *s = op->models.loaded->model;
    struct versioned_view v = {.service = s,
                               .errors = &op->models.loaded->errors,
                               .status = record_status(c, a),
                               .status_hash = c->status_ours ? c->status.hash : 0,
                               .status_not_before_ms = c->status.not_before_ms,
                               .refusals = failures_of(op, c, SLICE_NONE, true, false),
                               .now = op->now};
    view_children(op, c, &v);
    view_routes(op, c, s, &v);
    if (!s->deleting && op->models.loaded->errors.count == 0)
        v.tls = view_tls(op, c, s);
    if (v.errors->count == 0 && !s->deleting && (s->token || json_there(status_condition(v.status, SLICE(STATUS_TOKEN)))))
        v.token = versioned_token_look(op, c);
    versioned_decide(&v, a, p);
    op->stats.decisions++;
    return p->next_ms;
}

/* ---- calls ---- */

bool versioned_make_version(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    const struct record *there = name_find(op, &kind_rayservice, c->ns, act->name);
    slice_copy(act->name, f->name, sizeof f->name);
    f->fresh = slice_empty(act->uid);
    if (there && there->family.owner != c)
        return err_set(
            e, ERR_CONFIG,
            "RayService %.*s exists and belongs to somebody else, and is left as it is: delete it or give the version another name",
            SLICE_ARG(act->name));
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_APPLY), true};
    kube_path(&op->out.path, kind_rayservice.resource, istr_slice(c->ns), act->name, SLICE_NONE);
    buf_put(&op->out.path, SLICE("?fieldManager=" RAY_FIELD_MANAGER));
    if (!f->fresh)
        buf_put(&op->out.path, SLICE("&force=true"));
    return buf_put(&op->out.body, act->text);
}

bool versioned_make_delete(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    return object_make_delete(op, c, act, f, t, kind_rayservice.resource, SLICE("Background"));
}

static void say_done(struct op *op, const struct flight *f, const char *reason, const char *did)
{
    char note[LIMIT_KUBE_EVENT_NOTE + ANSWER_WORDS]; /* cut where it is sent */
    snprintf(note, sizeof note, "%s RayService %s%s%s", did, f->name, f->why[0] ? ": " : "", f->why);
    log_info("version of a service changed", LF("namespace", istr_slice(f->c->ns)), LF_CSTR(f->c->kind->word, f->c->name),
             LF_CSTR("service", f->name), LF_CSTR("done", did), LF_CSTR("why", f->why));
    say_event(op, f->c, false, reason, slice_of(note));
}

bool versioned_answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    bool removes = f->verb == &versioned_delete_version;
    if (a->outcome != KUBE_OK) {
        object_write_failed(op, f, a);
    } else if (removes) {
        object_deleting(op, record_get(op, slice_of(f->uid), istr_slice(f->c->ns)));
        say_done(op, f, "DeletedRayService", "deleted");
    } else {
        failures_clear(op, f->c);
        object_answered(op, f, a, &kind_rayservice);
        say_done(op, f, f->fresh ? "CreatedRayService" : "UpdatedRayService", f->fresh ? "created" : "updated");
    }
    return false;
}
