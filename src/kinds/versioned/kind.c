/* The kind table of VersionedServices, and their verbs. */
#include "record.h"

#include <mobula/kind_route.h>

static void read_versioned(struct op *op, struct record *c, const struct spec_object *from)
{
    struct versioned *model = arena_new(&op->models.loaded->arena, struct versioned);
    (void)c;
    versioned_read(from, op->o.domain, &op->models.loaded->arena, model, &op->models.loaded->errors);
    if (!model->tls_named && json_len(model->hosts) && !slice_empty(op->o.route_ca))
        model->tls = arena_printf(&op->models.loaded->arena, "%.*s-tls", SLICE_ARG(model->name));
    op->models.loaded->model = model;
}

static void lead_versioned(struct op *op, struct record *c, bool leads)
{
    struct versioned_token *t = c->own;
    (void)leads;
    failures_clear(op, c);
    t->published = 0;
    t->since_ms = 0;
    t->fresh = t->gone = false;
}

static void respecified_versioned(struct op *op, struct record *c)
{
    children_respecified(op, c);
    routes_respecified(op, c);
}

static void done_versioned(struct op *op, struct record *c)
{
    (void)op;
    (void)c;
}

static void forget_versioned(struct op *op, struct record *c)
{
    route_tls_drop(op, c);
    versioned_token_forget(op, c);
}

static bool preview_versioned(struct jval object, struct preview *p)
{
    struct versioned *s = arena_new(p->arena, struct versioned);
    const struct spec_object from = spec_object_of(object, p->arena);
    struct slice hash;
    if (!versioned_read(&from, SLICE(VERSIONED_ANY_DOMAIN), p->arena, s, p->errors))
        return false;
    s->ns = slice_empty(s->ns) ? SLICE("default") : s->ns;
    s->uid = slice_empty(s->uid) ? SLICE(PREVIEW_UID) : s->uid;
    for (uint32_t i = 0; i < s->count; i++) {
        struct versioned_version *v = &s->versions[i];
        if (!p->put(p, versioned_build_child(s, v->name, v->spec, SLICE(""), 100, &hash, p->arena)))
            return false;
    }
    return true;
}

static const struct verb_more token_more = {.secret = versioned_token_secret};
static const struct verb_handler handlers[] = {
    {.verb = &versioned_apply_version, .make = versioned_make_version, .answer = versioned_answer, .failed = object_failed},
    {.verb = &versioned_delete_version, .make = versioned_make_delete, .answer = versioned_answer, .failed = object_failed},
    {.verb = &versioned_apply_route, .make = route_make, .more = &route_sealed, .answer = route_answer, .failed = route_failed},
    {.verb = &versioned_write_token,
     .make = versioned_make_token,
     .answer = versioned_answer_token,
     .failed = object_failed,
     .more = &token_more},
    {.verb = NULL},
};
static const struct kind *const owns[] = {&kind_rayservice, &kind_ingress, &kind_httproute, &kind_grpcroute, &kind_virtualservice, NULL};
static const struct kind *const needs[] = {&kind_versioned, &kind_rayservice, &kind_kservice, NULL};
static const struct kind *const must[] = {&kind_rayservice, NULL};

static const struct own_type own = {sizeof(struct versioned_token)};

static const struct controller controller = {.owns = owns,
                                             .needs = needs,
                                             .must = must,
                                             .decide = versioned_decide_record,
                                             .read = read_versioned,
                                             .own = &own,
                                             .forget = forget_versioned,
                                             .lead = lead_versioned,
                                             .done = done_versioned,
                                             .respecified = respecified_versioned,
                                             .unsettled = doubt_list,
                                             .recall = doubt_recall,
                                             .by_wall_clock = true,
                                             .goes_by_status = true};

const struct kind kind_versioned = {.name = VERSIONED_KIND,
                                    .word = "versionedservice",
                                    .api_version = SLICE(VERSIONED_API),
                                    .resource = &versioned_resource,
                                    .plural = "versionedservices.mobula.dev",
                                    .handlers = handlers,
                                    .family = OPERATOR_RAY_IO,
                                    .keep = extract_record,
                                    .drop = drop_record,
                                    .sweep = sweep_records,
                                    .check = versioned_check,
                                    .preview = preview_versioned,
                                    .gone = "versioned service deleted",
                                    .owned = true,
                                    .optional = {.flag = "versionedservices",
                                                 .run = "run VersionedServices (default); =false: they are not asked for",
                                                 .install = "with VersionedServices, which need RayServices and a kind of routes: six "
                                                            "rights more; --kinds=all has them"},
                                    .controller = &controller};
