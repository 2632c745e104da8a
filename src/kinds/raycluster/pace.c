/* Follows a service that was applied. An answer is not the end of it: a service that the watch has passed without an event is listed, and
 * one that is missing the next time is made again, at once when it had stayed, and ever more rarely when it had not. */
#include "record.h"

static void say_missing(struct op *op, const struct record *c, const struct flight *f, int64_t again_ms)
{
    static const char what[] =
        "a service is applied again and again, and is not there: something deletes it, takes its label " RAY_LABEL_CLUSTER
        " or its owner away, or answers in the API server's place";
    if (say_once(op, SAID_CLUSTER, said_of(c, slice_of(f->name), verb_number(op, f->verb))))
        log_warn(what, LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name), LF_CSTR("service", f->name),
                 LF_INT("retry_in_ms", again_ms - op->now.mono_ms));
}

/* It was not there when it was sent: the first time, because it was yet to be made. Whoever takes it away each time, or says that it was
 * made when it was not, is answered ever more rarely. Pods do not wait for it. */
static void service_missing(struct op *op, struct record *c, const struct flight *f)
{
    enum { TOLD_FROM = 3 };
    struct service_pace *p = &raycluster_of(c)->paces[raycluster_service_of(f->verb)];
    uint64_t name = hash64(slice_of(f->name), 0);
    if (p->name != name)
        *p = (struct service_pace){.name = name};
    p->from_ms = op->now.mono_ms + backoff_ms(&op->rng, p->applied++, OPERATOR_BACKOFF_MS, OPERATOR_BACKOFF_MAX_MS);
    if (p->applied >= TOLD_FROM)
        say_missing(op, c, f, p->from_ms);
}

void service_gone(struct op *op, struct record *c, const struct service_record *r)
{
    enum { STAYED_MS = 5 * 1000 };
    uint64_t name = hash64(slice_of(r->service.name), 0);
    struct raycluster *own = raycluster_of(c);
    int64_t until_ms = r->going_ms ? r->going_ms : op->now.mono_ms; /* however long a finalizer keeps it then */
    for (size_t i = 0; own && i < COUNT_OF(own->paces) && until_ms >= r->made_ms + STAYED_MS; i++)
        if (own->paces[i].name == name)
            own->paces[i] = (struct service_pace){0};
}

void service_applied(struct op *op, const struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    struct record *c = f->c;
    struct service_record *r = service_of(c, slice_of(f->name));
    if (f->fresh)
        service_missing(op, c, f);
    struct jval object = answer_object(op, a, &version);
    struct source *services = source_of(c->space, &kind_kservice);
    bool passed = source_passed(services, version);
    if (extract_labelled(object) && (r || !passed))
        extract_service(op, c->space, object, version, 0);
    else if (extract_labelled(object))
        source_missed(services);
    r = service_of(c, slice_of(f->name));
    if (!r)
        return;
    r->service.wanted = f->hash;
    r->service.became = json_there(object) ? ray_service_hash(object) : 0;
    r->service.applied_ms = op->now.mono_ms;
}
