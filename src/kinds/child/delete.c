/* Pods and services are deleted: how the call is made, and what an answer to it means. */
#include "record.h"

bool make_delete(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    snprintf(f->name, sizeof f->name, "%.*s", SLICE_ARG(act->name));
    snprintf(f->uid, sizeof f->uid, "%.*s", SLICE_ARG(act->uid));
    bool pod = act->verb == &pod_delete;
    struct slice why = act->text.len ? act->text : slice_of(act->why);
    utf8_copy(why, f->why, sizeof f->why);
    *t = (struct call_text){SLICE("DELETE"), SLICE(KUBE_TYPE_JSON), true};
    kube_path(&op->out.path, pod ? &kube_pods : &kube_services, istr_slice(c->ns), act->name, SLICE_NONE);
    f->version = act->version;
    return kube_delete_options(&op->out.body, act->uid, f->version, SLICE("Background"));
}

/* The pod was to be deleted only in the version that was seen, and a newer one has been seen since: the next plan decides. */
bool pod_has_newer_version(const struct op *op, const struct action *act)
{
    const struct pod_record *r = act->version ? map_get(&op->all.pods, act->uid) : NULL;
    return act->version && (!r || r->pod.version != act->version);
}

/* How long a failed DELETE may still take effect: by then the server has given up on it, and every watch has been restarted at least once
 * and would have shown the deletion. */
enum { ASKED_MS = KUBE_CALL_MS + KUBE_WATCH_SECONDS * 1000 };

/* 409: the pod has changed since we chose it, and the watch will show how. Or the answer to a first DELETE was lost, the client sent it
 * again, and the change is the deletion itself: the watch shows that, too; since we cannot tell whose deletion it was, the owner is read
 * once more. Nothing has failed: the rest of the plan is dropped and decided again without backoff. */
static void overtaken(struct op *op, const struct flight *f)
{
    struct pod_record *r = map_get(&op->all.pods, slice_of(f->uid));
    if (!r || r->pod.version != f->version)
        return;
    r->pod.ours.overtaken = true;
    doubt_pod(op, r);
    pod_notify_owner(op, r, CHILD_CHANGED);
}

static void service_deleted(struct op *op, const struct flight *f, bool gone)
{
    struct service_record *s = map_get(&op->all.services, slice_of(f->uid));
    if (s && gone)
        s->by_us = false;
    if (s && gone && !s->service.deleting) /* else the watch has told meanwhile that it goes */
        doubt_service(op, s);
    if (gone)
        return;
    if (s) {
        s->service.deleting = true;
        s->doubt = (struct doubt){0};
    }
    log_info("service deleted", LF("namespace", istr_slice(f->c->ns)), LF_CSTR("cluster", f->c->name), LF_CSTR("service", f->name));
}

/* The DELETE was not confirmed but may have happened: marks the pod so that scale-down picks it first. */
void pod_outlived(struct op *op, const struct flight *f, const struct kube_answer *a)
{
    struct pod_record *r = f->verb == &pod_delete ? map_get(&op->all.pods, slice_of(f->uid)) : NULL;
    const struct verb_handler *h = verb_handler(op, f->verb);
    if (h->more && h->more->by_us)
        h->more->by_us(op, slice_of(f->uid), false);
    if (!r || (a->outcome != KUBE_UNKNOWN && !answer_troubled(a)))
        return;
    r->pod.ours.asked = true;
    r->asked_ms = op->now.mono_ms + ASKED_MS;
}

static void count_deleted(struct work *w, const struct flight *f)
{
    size_t n = strlen(w->why_deleted);
    w->deleted++;
    w->deleted_head += f->group == -1;
    if (!strstr(w->why_deleted, f->why))
        snprintf(w->why_deleted + n, sizeof w->why_deleted - n, "%s%s", n ? "; " : "", f->why);
}

bool answer_delete(struct op *op, struct flight *f, const struct kube_answer *a)
{
    bool refusal = a->outcome == KUBE_REFUSED, gone = refusal && a->status.code == 404;
    struct pod_record *r = map_get(&op->all.pods, slice_of(f->uid));
    if (a->outcome != KUBE_OK && !gone) {
        pod_outlived(op, f, a);
        if (refusal && a->status.reason == KUBE_CONFLICT && f->version)
            overtaken(op, f);
        else if (refusal)
            call_refused(op, f, &a->status); /* 409, too: another object has the name (its watch event follows), or a webhook refused */
        else
            record_trouble(op, f->c, f, a->err.text);
        return false;
    }
    if (f->verb == &kservice_delete) {
        service_deleted(op, f, gone);
        return false;
    }
    if (r) {
        r->pod.ours.doubted = gone && !r->pod.deleting; /* else the watch has told meanwhile that it goes */
        r->pod.deleting = true;                         /* its end is the watch's to tell */
        r->pod.ours.overtaken = false;
        r->doubt.ms = 0;
        pod_notify_owner(op, r, CHILD_GOES);
        if (r->pod.ours.doubted)
            doubt_pod(op, r);
        else
            r->doubt.disproved = 0;
    }
    if (f->c->work && !gone) /* else somebody else was first, as far as anybody knows */
        count_deleted(f->c->work, f);
    return false;
}
