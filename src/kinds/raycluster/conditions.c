#include "facts.h"

#include <mobula/status.h>

enum suspension suspension_of(const struct cluster_view *in, struct jval status)
{
    if (condition_is(status, "RayClusterSuspending", "True"))
        return SUSPENSION_GOES_ON;
    if (!in->cluster->suspend)
        return SUSPENSION_NONE;
    return condition_is(status, "RayClusterSuspended", "True") || in->pod_count == 0 ? SUSPENSION_GOES_ON : SUSPENSION_BEGINS;
}

static void condition(const struct facts *f, struct jout *w, const char *type, bool yes, struct slice reason, struct slice message)
{
    struct condition c = {type, yes, reason, message, f->in->cluster->generation};
    status_write_condition(w, &c, f->prior, f->stamp, f->a);
}

struct slice status_errors(const struct facts *f, size_t max)
{
    if (f->in->errors->count)
        return spec_errors_text(f->in->errors, max, f->a);
    if (f->refused == GROUP_NONE)
        return SLICE("");
    struct slice group = f->refused == GROUP_HEAD ? SLICE(RAY_HEAD_GROUP) : f->in->cluster->groups[f->refused].name;
    return arena_cut(f->a,
                     arena_printf(f->a, "the API server refuses the pod template of group %.*s: %s", SLICE_ARG(group),
                                  f->in->failures[f->refused + 1].reason),
                     max);
}

/* The part of a valid spec that is not carried out: the first group whose replicas are beyond its bounds. */
static struct slice clamped(const struct facts *f)
{
    struct slice text = SLICE("");
    for (uint32_t i = 0; i < f->in->cluster->group_count && slice_empty(text); i++)
        text = ray_clamp_text(f->in->cluster, &f->in->cluster->groups[i], f->a);
    return text;
}

/* That, and what the API server warned of when it took this generation's pods and services. A process that has not heard it keeps what the
 * one before it wrote: pods that stand are not sent again. */
static struct slice warnings_text(const struct facts *f, size_t max)
{
    struct jval before = status_condition(f->prior, SLICE("Valid"));
    struct slice rest = f->in->warnings, text = clamped(f);
    bool same = json_is(json_get(before, "status"), "True") && json_get_int(before, "observedGeneration", -1) == f->in->cluster->generation;
    if (slice_empty(rest)) {
        struct slice kept = same ? json_get_str(before, "message", f->a) : SLICE("");
        return slice_empty(kept) ? text : kept;
    }
    for (const char *intro = "the API server warns: "; !slice_empty(rest); intro = "") {
        struct slice line = slice_cut(&rest, '\n');
        text = arena_printf(f->a, "%.*s%s%s%.*s", SLICE_ARG(text), text.len ? "; " : "", intro, SLICE_ARG(line));
    }
    return arena_cut(f->a, text, max);
}

static void write_valid(const struct facts *f, struct jout *w)
{
    enum { MESSAGE_MAX = 4 * KIB };
    condition(f, w, "Valid", f->valid,
              f->valid               ? SLICE("SpecAccepted")
              : f->in->errors->count ? SLICE("InvalidSpec")
                                     : SLICE("PodRefused"),
              f->valid ? warnings_text(f, MESSAGE_MAX) : status_errors(f, MESSAGE_MAX));
}

/* The transition time comes from the kubelet, so a late observer computes the same one. */
static void write_head_is_ready(const struct facts *f, struct jout *w)
{
    struct facts then = *f;
    char text[TIME_TEXT_MAX];
    if (!slice_empty(f->stamp) && f->head->ready_us && f->head->ready_us < f->in->now.wall_us)
        then.stamp = time_format(f->head->ready_us, text);
    condition(&then, w, "HeadPodReady", true, SLICE("HeadPodRunningAndReady"), SLICE(""));
}

static void write_head_ready(const struct facts *f, struct jout *w)
{
    if (!f->head && !slice_empty(f->going))
        condition(f, w, "HeadPodReady", false, f->going_again_us ? SLICE("HeadPodTerminating") : SLICE("HeadPodHangs"),
                  arena_printf(f->a, "%.*s; the next head has the same name, and is made when this pod is gone", SLICE_ARG(f->going)));
    else if (!f->head)
        condition(f, w, "HeadPodReady", false, SLICE("HeadPodNotFound"), SLICE("there is no head pod"));
    else if (pod_failed(f->head))
        condition(f, w, "HeadPodReady", false, SLICE("HeadPodEnded"), pod_failure_text(f->head, f->a));
    else if (f->head->ready)
        write_head_is_ready(f, w);
    else
        condition(f, w, "HeadPodReady", false, slice_empty(f->head->reason) ? SLICE("ContainersNotReady") : f->head->reason,
                  slice_empty(f->head->words) ? arena_printf(f->a, "pod %s is not ready", f->head->name)
                                              : arena_printf(f->a, "pod %s: %.*s", f->head->name, SLICE_ARG(f->head->words)));
}

/* Where the head keeps its workers from being created. */
static struct slice waits_for_head(const struct facts *f)
{
    const struct pod *head = f->head && pod_counts_in_status(f->head) ? f->head : NULL;
    enum head_first first = f->all.desired ? head_first(head, &f->in->failures[0]) : HEAD_THERE;
    if (first == HEAD_DENIED)
        return SLICE("; no worker is created before the head, which is refused");
    return first == HEAD_ROOMLESS ? arena_printf(f->a, "; no worker is created before head pod %s has a node", head->name) : SLICE("");
}

static struct slice lacking(const struct facts *f)
{
    struct slice trouble = pods_trouble(f->in->pods, f->in->pod_count, f->a);
    if (slice_empty(trouble) && f->old_head)
        trouble = arena_printf(f->a, "%lld more belong%s to a head that has ended: Ray exits there and is started again",
                               (long long)f->old_head, f->old_head == 1 ? "s" : "");
    struct slice service = ray_head_service_name(f->in->cluster, f->a), waits = waits_for_head(f);
    if (slice_empty(trouble) && !f->service && f->in->errors->count == 0)
        trouble = arena_printf(f->a, "service %.*s is not there", SLICE_ARG(service));
    bool head = f->head && f->head->ready;
    struct slice counts = head ? SLICE("the head pod is ready") : SLICE("the head pod is not ready");
    if (f->all.desired)
        counts = arena_printf(f->a, "%lld of %lld worker pods and %d of 1 head pod are ready", (long long)f->all.ready,
                              (long long)f->all.desired, head);
    return arena_printf(f->a, "%.*s%.*s%s%.*s", SLICE_ARG(counts), SLICE_ARG(waits), trouble.len ? "; " : "", SLICE_ARG(trouble));
}

/* True from the first time that all pods were ready until the cluster is suspended. */
static void write_provisioned(const struct facts *f, struct jout *w)
{
    bool yes = !f->suspends && (f->ready || condition_is(f->prior, "RayClusterProvisioned", "True"));
    struct slice message = yes ? SLICE("") : lacking(f);
    condition(f, w, "RayClusterProvisioned", yes, yes ? SLICE("AllPodRunningAndReadyFirstTime") : SLICE("RayClusterPodsProvisioning"),
              message);
}

/* The wall clock time since when the condition is False; 0: it is not. */
static int64_t since_us(const struct facts *f, const char *type)
{
    int64_t us = 0;
    struct jval was = status_condition(f->prior, slice_of(type));
    struct slice text = json_is(json_get(was, "status"), "False") ? json_get_str(was, "lastTransitionTime", f->a) : SLICE("");
    return time_parse(text, &us, NULL) ? us : 0;
}

/* How long the start may take; 0: there is no limit. */
static int64_t starting_ms(const struct facts *f)
{
    int64_t ms;
    struct slice own = shape_given(f->in->cluster->head.template, SHAPE_STARTING_TIMEOUT, f->a);
    return !slice_empty(own) && duration_parse(own, &ms, NULL) ? ms : f->in->options->starting_ms;
}

/* Counted from times in the status, so that a new leader goes on with the same time. */
int64_t status_late_in_ms(const struct facts *f)
{
    int64_t from_us = since_us(f, "RayClusterProvisioned"), resumed_us = since_us(f, "RayClusterSuspended");
    bool suspended = json_there(status_condition(f->prior, SLICE("RayClusterSuspended"))) && resumed_us == 0;
    if (from_us == 0 || suspended || f->ready || f->suspends || f->in->errors->count || f->in->cluster->deleting)
        return TIME_NEVER;
    int64_t most_ms = starting_ms(f), past_ms = (f->in->now.wall_us - (resumed_us > from_us ? resumed_us : from_us)) / 1000;
    return most_ms > 0 ? most_ms - past_ms : TIME_NEVER;
}

/* Nothing is stopped: what is there may be of use, and what is missing is still tried. */
static void write_late(const struct facts *f, struct jout *w)
{
    if (status_late_in_ms(f) <= 0)
        condition(f, w, STATUS_LATE, true, SLICE("WorkloadStartingTimeout"),
                  arena_printf(f->a, "not ready within %lld s: %.*s", (long long)(starting_ms(f) / 1000), SLICE_ARG(lacking(f))));
}

/* KubeRay's words where a pod could not be made. It has none for pods that end, which it makes again for ever, nor for a service, whose
 * refusal counts as one of the head's and begins with its name. */
static struct slice failure_reason(bool head, bool ended, struct slice text)
{
    if (!ended && slice_starts(text, SLICE(POD_REASON_SERVICE)))
        return SLICE("FailedCreateService");
    if (ended)
        return head ? SLICE("HeadPodFailed") : SLICE("WorkerPodFailed");
    return head ? SLICE("FailedCreateHeadPod") : SLICE("FailedCreateWorkerPod");
}

/* The first group that fails, with its reason and how often; the others are counted. */
static void write_failure(const struct facts *f, struct jout *w)
{
    const struct ray_cluster *c = f->in->cluster;
    int32_t first = GROUP_NONE, failing = 0;
    for (int32_t k = (int32_t)c->group_count - 1; k >= GROUP_HEAD; k--) {
        if (f->in->failures[k + 1].count == 0)
            continue;
        first = k;
        failing++;
    }
    if (failing == 0)
        return;
    const struct group_failures *gf = &f->in->failures[first + 1];
    struct slice name = first == GROUP_HEAD ? SLICE(RAY_HEAD_GROUP) : c->groups[first].name;
    struct slice more = failing == 2  ? SLICE("; another group fails, too")
                        : failing > 2 ? arena_printf(f->a, "; %d more groups fail", (int)failing - 1)
                                      : SLICE("");
    struct slice times = gf->count == 1 ? SLICE("once") : arena_printf(f->a, "%u times in a row, last", gf->count);
    condition(f, w, "ReplicaFailure", true, failure_reason(first == GROUP_HEAD, gf->ended, slice_of(gf->reason)),
              arena_printf(f->a, "group %.*s failed %.*s: %s%.*s", SLICE_ARG(name), SLICE_ARG(times), gf->reason, SLICE_ARG(more)));
}

static uint32_t outdated(const struct facts *f, const struct ray_group *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->in->pod_count; i++) {
        const struct pod *pod = f->in->pods[i];
        n += pod_counts_in_status(pod) && (g->head ? pod->head : !pod->head && slice_eq(pod->group, g->name)) && pod_outdated(pod, g);
    }
    return n;
}

/* Writes TemplateDrift of a cluster with a rolling update in progress. Returns false if none is. */
static bool write_roll(const struct facts *f, struct jout *w, struct slice text)
{
    const struct roll *r = &f->roll;
    if (r->number == GROUP_NONE)
        return false;
    condition(f, w, STATUS_DRIFT, true, r->stopped ? SLICE(STATUS_ROLL_STOPPED) : SLICE("RollingUpdate"),
              arena_printf(f->a, "%.*s. Rolling update, group after group: in group %.*s at most %d extra and %d missing at a time%s%.*s",
                           SLICE_ARG(text), SLICE_ARG(f->in->cluster->groups[r->number].name), (int)r->surge, (int)r->unavailable,
                           slice_empty(r->why) ? ""
                           : r->stopped        ? ". Stopped; no worker is deleted until its successor is up: "
                                               : ". Waiting: ",
                           SLICE_ARG(r->why)));
    return true;
}

/* Condition TemplateDrift: the pods of an older template, how the head differs from the spec, and how to replace them. */
static void write_drift(const struct facts *f, struct jout *w)
{
    const struct ray_cluster *c = f->in->cluster;
    bool head = f->drift && outdated(f, &c->head);
    struct slice text = head ? ray_running_drift(c, f->a) : SLICE("");
    if (!f->drift)
        return;
    if (head)
        text = arena_printf(f->a, "the head pod runs an older template%s%.*s; clients and new workers are led to it as it runs",
                            text.len ? ": " : "", SLICE_ARG(text));
    for (uint32_t i = 0; i < c->group_count; i++) {
        uint32_t n = outdated(f, &c->groups[i]);
        if (n)
            text = arena_printf(f->a, "%.*s%sgroup %.*s: %u pod%s of an older template", SLICE_ARG(text), text.len ? "; " : "",
                                SLICE_ARG(c->groups[i].name), n, n == 1 ? "" : "s");
    }
    if (write_roll(f, w, text))
        return;
    condition(f, w, STATUS_DRIFT, true, head ? SLICE("NewHeadNeeded") : SLICE("NewWorkersNeeded"),
              arena_printf(f->a, "%.*s. To bring it over: %s, or set upgradeStrategy.type: Recreate, which replaces all of them",
                           SLICE_ARG(text), head ? "delete the head pod, whose workers follow" : "delete these pods"));
}

static void write_slow(const struct facts *f, struct jout *w)
{
    const struct pod *pod = f->slow;
    int64_t again_us;
    if (!pod)
        return;
    struct slice reason = pod->deleting ? SLICE("PodsHang") : slice_empty(pod->reason) ? SLICE("ContainersNotReady") : pod->reason;
    struct slice what = pod->deleting             ? pods_going_text(&pod, 1, f->in->now.wall_us, f->a, &again_us)
                        : slice_empty(pod->words) ? arena_printf(f->a, "pod %s is not ready", pod->name)
                                                  : arena_printf(f->a, "pod %s: %.*s", pod->name, SLICE_ARG(pod->words));
    struct slice more = f->slow_count > 1 ? arena_printf(f->a, "; %u more", f->slow_count - 1) : SLICE("");
    condition(f, w, STATUS_SLOW, true, reason,
              arena_printf(f->a, "group %.*s: %.*s%.*s", SLICE_ARG(pod->group), SLICE_ARG(what), SLICE_ARG(more)));
}

static void write_certificates(const struct facts *f, struct jout *w)
{
    char end[TIME_TEXT_MAX];
    if (!f->expiring)
        return;
    struct slice date =
        slice_head(time_format(f->expiring->created_us + RAYCLUSTER_CERTIFICATE_DAYS * TIME_DAY_US, end), sizeof "2026-11-21" - 1);
    struct slice more = f->expiring_count > 1 ? arena_printf(f->a, "; %u more certificates end soon", f->expiring_count - 1) : SLICE("");
    condition(f, w, STATUS_CERTIFICATES, true, SLICE("PodsTooOld"),
              arena_printf(f->a,
                           "the certificate of pod %s ends on %.*s or, if its CA does, earlier; Ray does not read another, and opens no "
                           "connection there from then on%.*s. Delete the pod before (with the head, all workers are replaced), or let a "
                           "rolling update replace the workers: annotation " RAY_ANNOTATION_ROLL ", and a change of their template",
                           f->expiring->name, SLICE_ARG(date), SLICE_ARG(more)));
}

static void write_zones(const struct facts *f, struct jout *w)
{
    const struct ray_cluster *c = f->in->cluster;
    if (f->in->zone.stays && !f->in->zone.settled && !f->suspends)
        condition(
            f, w, STATUS_ZONES, true, SLICE("NoZoneHasRoom"),
            arena_printf(f->a,
                         "no zone of %.*s had room for the cluster's minimum: it stays in %.*s, because pods of it run there. Add nodes "
                         "or zones, or lower the minimum; after a change of the spec each zone is tried again",
                         SLICE_ARG(c->zone.allowed), SLICE_ARG(c->zone.made_for)));
}

static void write_suspension(const struct facts *f, struct jout *w)
{
    if (!f->suspends && !json_there(status_condition(f->prior, SLICE("RayClusterSuspended"))))
        return;
    condition(f, w, "RayClusterSuspending", f->suspends && !f->suspended, SLICE("RayClusterSuspending"), SLICE(""));
    condition(f, w, "RayClusterSuspended", f->suspended, SLICE("RayClusterSuspended"), SLICE(""));
}

/* Of a cluster that goes. */
static void write_redis(const struct facts *f, struct jout *w)
{
    const struct ray_cluster *c = f->in->cluster;
    if (!c->deleting || !c->redis_finalizer)
        return;
    condition(f, w, "RedisCleaned", false, SLICE("NotSupported"),
              arena_printf(f->a,
                           "what the cluster has stored in Redis is not deleted; finalizer " RAY_REDIS_FINALIZER
                           " is taken off %lld s after the deletion (annotation " RAY_ANNOTATION_REDIS_WAIT ")",
                           (long long)c->redis_wait_s));
}

static void write_scaling(const struct facts *f, struct jout *w)
{
    const struct scale_news *news = f->in->scaling;
    if (news && news->reason)
        condition(f, w, "Autoscaling", news->works, slice_of(news->reason), news->words);
}

static void add_blocked(const struct facts *f, const struct ray_group *g, struct slice *text, const char **reason)
{
    if (!g->blocked)
        return;
    *reason = *reason ? *reason : g->blocked;
    *text = arena_printf(f->a, "%.*s%sgroup %.*s %.*s", SLICE_ARG(*text), text->len ? "; " : "", SLICE_ARG(g->name),
                         SLICE_ARG(g->blocked_text));
}

/* Of a cluster with instance types: for which groups no pods are made, and why. */
static void write_types(const struct facts *f, struct jout *w)
{
    const struct ray_cluster *c = f->in->cluster;
    const char *reason = NULL;
    struct slice text = SLICE("");
    if (!c->typed)
        return;
    add_blocked(f, &c->head, &text, &reason);
    for (uint32_t i = 0; i < c->group_count; i++)
        add_blocked(f, &c->groups[i], &text, &reason);
    condition(f, w, STATUS_TYPES_READY, !reason, reason ? slice_of(reason) : SLICE("InstanceTypesApplied"),
              arena_cut(f->a, text, LIMIT_KUBE_EVENT_NOTE));
}

static void write_ingress(const struct facts *f, struct jout *w)
{
    struct condition c;
    if (ingress_condition(f, &c))
        status_write_condition(w, &c, f->prior, f->stamp, f->a);
    if (f->in->ingress && route_tls_condition(f->in->ingress->tls, f->prior, f->in->cluster->generation, f->a, &c))
        status_write_condition(w, &c, f->prior, f->stamp, f->a);
}

void status_write_conditions(const struct facts *f, struct jout *w)
{
    static const char *const ours[] = {"Valid",
                                       STATUS_TYPES_READY,
                                       "HeadPodReady",
                                       "RayClusterProvisioned",
                                       "Autoscaling",
                                       "ReplicaFailure",
                                       "RayClusterSuspending",
                                       "RayClusterSuspended",
                                       "RedisCleaned",
                                       STATUS_LATE,
                                       STATUS_DRIFT,
                                       STATUS_SLOW,
                                       STATUS_ZONES,
                                       STATUS_CERTIFICATES,
                                       STATUS_INGRESS,
                                       STATUS_ROUTE_TLS,
                                       NULL};
    jout_karray(w, "conditions");
    write_valid(f, w);
    write_head_ready(f, w);
    write_provisioned(f, w);
    write_late(f, w);
    write_failure(f, w);
    write_drift(f, w);
    write_slow(f, w);
    write_zones(f, w);
    write_certificates(f, w);
    write_suspension(f, w);
    write_redis(f, w);
    write_types(f, w);
    write_scaling(f, w);
    write_ingress(f, w);
    status_write_foreign(w, f->prior, ours);
    jout_end(w);
}
