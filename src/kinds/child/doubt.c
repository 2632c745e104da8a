/* A 404 to a DELETE proves nothing: a gateway without backends answers so, or an admission webhook, in words like the API server's. So
 * until the watch confirms it a pod keeps its place, a service its name, and neither is deleted again. If that takes too long, a consistent
 * list is requested and decides. While the object stays unchanged, each further 404 doubles the wait: a list stops decisions until it is
 * complete. */
#include "record.h"

static void doubt_until(struct op *op, struct doubt *d, int64_t ms, const struct source *of)
{
    for (uint32_t i = 0; i < d->disproved && ms < OPERATOR_DOUBT_MAX_MS; i++)
        ms *= 2;
    d->ms = op->now.mono_ms + (ms < OPERATOR_DOUBT_MAX_MS ? ms : OPERATOR_DOUBT_MAX_MS);
    d->round = of->keeper.round;
}

void doubt_pod(struct op *op, struct pod_record *r)
{
    doubt_until(op, &r->doubt, OPERATOR_DOUBT_MS, source_of(r->of->space, &kind_pod));
}

/* There are few services: the first doubt requests a list at once. */
void doubt_service(struct op *op, struct service_record *r)
{
    r->service.deleting = true;
    doubt_until(op, &r->doubt, r->doubt.disproved ? OPERATOR_DOUBT_MS : 0, source_of(r->of->space, &kind_kservice));
}

void doubt_restart_backoff(struct op *op, struct record *c, struct doubt *d)
{
    int64_t soon_ms = op->now.mono_ms + OPERATOR_DOUBT_MS;
    d->disproved = 0;
    if (d->ms <= soon_ms)
        return;
    d->ms = soon_ms;
    record_wake_at(op, c, soon_ms);
}

/* The watch has not confirmed it in time: the answer or the watch is wrong. */
static bool unsettled(const struct op *op, const struct doubt *d, const struct source *of)
{
    return d->ms && op->now.mono_ms >= d->ms && of->keeper.asked <= d->round;
}

/* Because the outcome of a POST is unknown, or because of doubts. One list settles all doubts that existed when it began. */
bool doubt_list(struct op *op, struct record *c)
{
    struct source *pods = source_of(c->space, &kind_pod), *services = source_of(c->space, &kind_kservice);
    bool of_pods = pods->keeper.asked < c->doubt.pods_round, of_services = false;
    for (const struct pod_record *r = c->children.pods; r && !of_pods; r = r->next)
        of_pods = unsettled(op, &r->doubt, pods);
    for (const struct service_record *r = c->children.services; r && !of_services; r = r->next)
        of_services = unsettled(op, &r->doubt, services);
    if (of_pods)
        source_refresh(pods);
    if (of_services)
        source_refresh(services);
    return of_pods || of_services;
}

static void recalled(struct op *op, struct record *c, struct doubt *d, const char *what, const char *kind, const char *name)
{
    d->ms = 0;
    if (d->disproved < UINT8_MAX)
        d->disproved++;
    if (say_once(op, SAID_SERVER, said_of(c, slice_of(what), verb_number(op, &pod_delete))))
        log_warn(what, LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name), LF_CSTR(kind, name));
}

static void recall_pod(struct op *op, struct record *c, struct pod_record *r)
{
    const char *what = r->pod.ours.overtaken
                           ? "the API server does not delete a pod because it was changed, but shows it unchanged: it counts as it is shown"
                           : "the API server says that a pod is not there, but shows it: it counts as it is shown";
    recalled(op, c, &r->doubt, what, "pod", r->pod.name);
    if (r->pod.ours.doubted)
        pod_notify_owner(op, r, CHILD_RESTORED);
    r->pod.deleting = r->pod.ours.doubted = r->pod.ours.overtaken = r->by_us = false;
}

static void recall_service(struct op *op, struct record *c, struct service_record *r)
{
    recalled(op, c, &r->doubt, "the API server says that a service is not there, but shows it: it counts as it is shown", "service",
             r->service.name);
    r->service.deleting = false;
}

static bool is_due(const struct op *op, const struct doubt *d, int64_t *next)
{
    if (d->ms && op->now.mono_ms < d->ms && d->ms < *next)
        *next = d->ms;
    return d->ms && op->now.mono_ms >= d->ms;
}

int64_t doubt_recall(struct op *op, struct record *c)
{
    int64_t next = TIME_NEVER;
    for (struct pod_record *r = c->children.pods; r; r = r->next) {
        r->pod.ours.asked &= op->now.mono_ms < r->asked_ms; /* nothing is to be done then, so nobody wakes for it */
        if (is_due(op, &r->doubt, &next))
            recall_pod(op, c, r);
    }
    for (struct service_record *r = c->children.services; r; r = r->next)
        if (is_due(op, &r->doubt, &next))
            recall_service(op, c, r);
    return next;
}

void children_respecified(struct op *op, struct record *c)
{
    for (struct pod_record *r = c->children.pods; r; r = r->next)
        doubt_restart_backoff(op, c, &r->doubt);
    for (struct service_record *r = c->children.services; r; r = r->next)
        doubt_restart_backoff(op, c, &r->doubt);
}
