/* The writes that a control plane causes. Each leaves a line in the log and an event on the object. */
#include "workload.h"

/* Policy and spec are looked at once more: the model is what they allow now. */
static bool make_apply(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    const struct workload_model *m = op->models.loaded->model;
    struct slice frozen = policy_frozen(op, &op->arenas.body);
    if (frozen.ptr)
        return err_set(e, ERR_DENIED, "%.*s", SLICE_ARG(frozen));
    slice_copy(act->name, f->name, sizeof f->name);
    slice_copy(act->uid, f->uid, sizeof f->uid);
    if (m->form < 0)
        return err_set(e, ERR_DENIED, "%.*s", SLICE_ARG(m->message.ptr ? m->message : SLICE("it is to be ended")));
    const struct kind *kind = workload_forms[m->form].kind;
    f->index = m->form;
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_APPLY), true};
    kube_path(&op->out.path, kind->resource, istr_slice(c->ns), act->name, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(WORKLOAD_FIELD_MANAGER));
    if (!slice_empty(act->uid)) /* an object of this name that nobody has told of yet is not taken over */
        kube_query(&op->out.path, "force", SLICE("true"));
    return workload_write(m, act->uid, &op->arenas.body, &op->out.body, e) ||
           err_set(e, ERR_LIMIT, "%s %.*s does not fit %d bytes (LIMIT_JSON_ITEM)", kind->name, SLICE_ARG(act->name), LIMIT_JSON_ITEM);
}

static bool make_delete_of(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    struct slice frozen = policy_frozen(op, &op->arenas.body);
    if (frozen.ptr)
        return err_set(e, ERR_DENIED, "%.*s", SLICE_ARG(frozen));
    f->index = act->index;
    return object_make_delete(op, c, act, f, t, workload_forms[act->index].kind->resource, SLICE("Background"));
}

/* ---- answers ---- */

static void audit(struct op *op, const struct flight *f, const struct kind *kind)
{
    const struct record *c = f->c;
    bool apply = f->verb == &workload_apply;
    char note[LIMIT_KUBE_EVENT_NOTE + ANSWER_WORDS]; /* cut where it is sent */
    snprintf(note, sizeof note, "%s for workload %s (uid %s, generation %lld) of the control plane%s%s", apply ? "applied" : "deleted",
             c->name, c->uid, (long long)c->seen.generation, f->why[0] ? ": " : "", f->why);
    struct kube_event ev = {.about = {.api_version = kind->api_version,
                                      .kind = slice_of(kind->name),
                                      .ns = istr_slice(c->ns),
                                      .name = slice_of(f->name),
                                      .uid = slice_of(f->uid)},
                            .reason = apply ? SLICE("RemoteApplied") : SLICE("RemoteDeleted"),
                            .action = SLICE("Sync"),
                            .note = slice_of(note)};
    log_info(apply ? "remote write: an object was applied" : "remote write: an object was deleted", LF("cloud", op->o.plane.cloud),
             LF("namespace", istr_slice(c->ns)), LF_CSTR("workload", c->name), LF_CSTR("uid", c->uid),
             LF_INT("generation", c->seen.generation), LF_CSTR("kind", kind->name), LF_CSTR("object", f->name),
             LF_CSTR("object_uid", f->uid), LF_CSTR("why", f->why));
    kube_event_say(op->events, &ev, op->now);
    workloads_of(op)->writes++;
}

static void done(struct op *op, struct flight *f, const struct kube_answer *a)
{
    const struct kind *kind = workload_forms[f->index].kind;
    if (f->verb == &workload_delete) {
        object_deleting(op, record_get(op, slice_of(f->uid), istr_slice(f->c->ns)));
        audit(op, f, kind);
        return;
    }
    failures_clear(op, f->c);
    object_answered(op, f, a, kind); /* it is a child of the record now, unless the watch has told more */
    const struct record *made = name_find(op, kind, f->c->ns, slice_of(f->name));
    if (made)
        slice_copy(slice_of(made->uid), f->uid, sizeof f->uid);
    audit(op, f, kind);
}

static bool answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    bool gone = a->outcome == KUBE_REFUSED && a->status.code == 404 && f->verb == &workload_delete;
    if (a->outcome == KUBE_OK) {
        done(op, f, a);
        return false;
    }
    if (gone) /* the watch has not told it yet */
        source_missed(source_of(f->c->space, workload_forms[f->index].kind));
    object_write_sorted(op, f, a, gone || answer_passing(&a->status), f->verb == &workload_apply);
    return false;
}

const struct verb_handler workload_handlers[] = {
    {.verb = &workload_apply, .make = make_apply, .answer = answer, .failed = object_failed},
    {.verb = &workload_delete, .make = make_delete_of, .answer = answer, .failed = object_failed},
    {.verb = NULL},
};
