/* The services of RayClusters: how the call is made, and what an answer to it means. */
#include "record.h"

bool service_free(struct op *op, const struct record *c, struct slice name, struct err *e)
{
    const struct service_record *r = name_find(op, &kind_kservice, c->ns, name);
    if (!r || r->of == c || !r->of->present)
        return true;
    return err_set(e, ERR_CONFIG, "service %.*s belongs to %s %s (%.*s): rename one of the two or its headService", SLICE_ARG(name),
                   r->of->kind->name, r->of->name, SLICE_ARG(r->of->kind->api_version));
}

static struct service_want *known_want(struct op *op, struct record *c, enum ray_service which)
{
    struct raycluster *own = raycluster_of(c);
    uint64_t of = patches_revision(op) + own->zone;
    if (own->wants_of != of)
        memset(own->wants, 0, sizeof own->wants);
    own->wants_of = of;
    return &own->wants[which];
}

struct service_want service_wanted(struct op *op, struct record *c, enum ray_service which)
{
    struct service_want *want = known_want(op, c, which);
    if (!want->hash)
        *want = service_want_made(cluster_model(op), which, patches_in_force(op), &op->arenas.plan);
    return *want;
}

bool make_service(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    enum ray_service which = raycluster_service_of(act->verb);
    struct slice name = ray_service_name(cluster_model(op), which, &op->arenas.body);
    snprintf(f->name, sizeof f->name, "%.*s", SLICE_ARG(name));
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_APPLY), true};
    kube_path(&op->out.path, &kube_services, istr_slice(c->ns), name, SLICE_NONE);
    buf_put(&op->out.path, SLICE("?fieldManager=" RAY_FIELD_MANAGER));
    f->fresh = !service_of(c, name);
    if (!f->fresh)
        buf_put(&op->out.path, SLICE("&force=true")); /* ours: set right. Else nobody's fields are taken over */
    else if (!service_free(op, c, name, e))
        return false;
    return ray_build_service(cluster_model(op), which, &op->arenas.body, &op->out.body, e);
}

/* Services are compared with what was sent. */
bool seal_service(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e)
{
    struct jval doc;
    struct service_want *want = known_want(op, c, raycluster_service_of(act->verb));
    if (!want->hash) {
        if (!json_read(&doc, buf_slice(&op->out.body), &op->arenas.body, e))
            return false;
        *want = service_want_of(doc, &op->arenas.body);
    }
    f->hash = want->hash;
    return true;
}

/* Whether the service is still that of an older cluster of the same name, which is gone: it goes too. A server with
 * OwnerReferencesPermissionEnforcement does not let it be taken over by who may not delete services. */
static bool service_left_over(const struct op *op, const struct flight *f)
{
    const struct service_record *r = name_find(op, &kind_kservice, f->c->ns, slice_of(f->name));
    return r && !r->of->present;
}

/* Quota, admission and validation do not look at the index of a pod: their no holds for the whole group. */
void group_refused(struct op *op, struct flight *f, const struct kube_status *s)
{
    char text[ANSWER_WORDS + POD_NAME_MAX + 16];
    op->stats.refused[verb_number(op, f->verb)]++;
    if (f->c->work)
        f->c->work->refused++;
    bool service = f->verb->how == VERB_APPLY;
    if (service && service_left_over(op, f)) {
        f->failed = 0; /* the words are the same whatever the code was */
        snprintf(
            text, sizeof text,
            "service %s exists and belongs to another owner, which is gone, or of a kind that --kinds leaves out: waiting for it to go",
            f->name);
        record_wait(op, f->c, f, text);
        return;
    }
    snprintf(text, sizeof text, "%s%s%s%d %s%s: %s", service ? "service " : "", service ? f->name : "", service ? ": " : "", s->code,
             kube_reason_text(s->reason), answer_way_out(s), s->message);
    if (answer_passing(s))
        record_trouble(op, f->c, f, text);
    else
        flight_failed(op, f, text);
}

/* A spec that was refused before is accepted. */
static void forget_refusal(struct op *op, const struct flight *f)
{
    const struct group_failures *g = failures_of(op, f->c, SLICE_NONE, true, false);
    char text[sizeof POD_REASON_SERVICE + sizeof f->name];
    snprintf(text, sizeof text, POD_REASON_SERVICE "%s", f->name);
    if (g && g->ends == 0 && slice_starts(slice_of(g->reason), slice_of(text)))
        failures_over(op, f->c, SLICE_NONE, true);
}

bool answer_service(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome == KUBE_REFUSED) {
        group_refused(op, f, &a->status);
        return false;
    }
    if (a->outcome != KUBE_OK) {
        record_trouble(op, f->c, f, a->err.text);
        return false;
    }
    forget_refusal(op, f);
    service_applied(op, f, a);
    return false;
}
