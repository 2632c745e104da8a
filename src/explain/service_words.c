/* Writes the text of `mobula explain service`. */
#include "private.h"

#include <mobula/kind_rayservice.h>
#include <mobula/rayservice.h>

struct words {
    const struct explain_service *in;
    struct jval spec, status;
    struct slice active, pending, selected; /* names of RayClusters; selected: by the Service; empty: none */
    struct arena *a;
    struct buf *out;
};

/* ---- facts ---- */

/* Wall time in microseconds; 0: missing or malformed. */
static int64_t time_of(const struct words *w, struct jval text)
{
    int64_t us = 0;
    return time_parse(json_str(text, w->a), &us, NULL) ? us : 0;
}

static struct slice message(const struct words *w, const char *type)
{
    return json_get_str(status_condition(w->status, slice_of(type)), "message", w->a);
}

/* Time at which a condition became False, in microseconds; 0: it is not False. */
static int64_t false_since(const struct words *w, const char *type)
{
    return condition_is(w->status, type, "False") ? time_of(w, json_get(status_condition(w->status, slice_of(type)), "lastTransitionTime"))
                                                  : 0;
}

static bool is_reason(const struct words *w, const char *reason)
{
    return json_is(json_get(status_condition(w->status, SLICE("Ready")), "reason"), reason);
}

/* ---- lines ---- */

static void put_title(const struct words *w)
{
    struct jval object = w->in->object, ready = status_condition(w->status, SLICE("Ready"));
    int64_t made_us = time_of(w, json_get(object, "metadata.creationTimestamp")), since_us = false_since(w, "Ready");
    struct slice why = message(w, "Ready"), reason = json_get_str(ready, "reason", w->a);
    bool is_ready = condition_is(w->status, "Ready", "True");
    buf_printf(w->out, "RayService %.*s/%.*s", SLICE_ARG(json_get_str(object, "metadata.namespace", w->a)),
               SLICE_ARG(json_get_str(object, "metadata.name", w->a)));
    if (made_us)
        buf_printf(w->out, ", made %s ago", explain_age(w->in->now_us, made_us, w->a));
    buf_printf(w->out, ": %s\n", is_ready ? "ready" : "not ready");
    if (!is_ready && json_there(ready))
        buf_printf(w->out, "  for %s (%.*s)%s%.*s\n", explain_age(w->in->now_us, since_us, w->a), SLICE_ARG(reason), why.len ? ": " : "",
                   SLICE_ARG(why));
}

static bool in_steps(const struct words *w)
{
    return json_is(json_get(w->spec, "upgradeStrategy.type"), "NewClusterWithIncrementalUpgrade");
}

/* Weights and capacities of an upgrade in steps. */
static void put_shares(const struct words *w)
{
    static const char *const keys[] = {"activeServiceStatus", "pendingServiceStatus"};
    struct slice routes = message(w, "RoutesReady");
    if (!in_steps(w))
        return;
    if (!slice_empty(routes))
        buf_printf(w->out, "  %.*s\n", SLICE_ARG(routes));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct jval c = json_get(w->status, keys[i]);
        int64_t traffic = json_get_int(c, "trafficRoutedPercent", -1), us = time_of(w, json_get(c, "lastTrafficMigratedTime"));
        if (traffic < 0)
            continue;
        buf_printf(w->out, "  the HTTPRoute gives %lld %% to RayCluster %.*s, which has %lld %% of the capacity", (long long)traffic,
                   SLICE_ARG(json_get_str(c, "rayClusterName", w->a)), (long long)json_get_int(c, "targetCapacity", 100));
        if (us)
            buf_printf(w->out, "; changed %s ago", explain_age(w->in->now_us, us, w->a));
        buf_put(w->out, SLICE("\n"));
    }
}

/* The step of an upgrade, onward or back. */
static void put_step(const struct words *w)
{
    struct jval o = json_get(w->spec, "upgradeStrategy.clusterUpgradeOptions");
    bool back = condition_is(w->status, "RollbackInProgress", "True");
    buf_printf(w->out, "  %s: %lld %% of the requests move every %lld s, and %lld %% of the capacity at a time; now: %.*s\n",
               back ? "back to the active cluster" : "to the pending cluster", (long long)json_get_int(o, "stepSizePercent", 0),
               (long long)json_get_int(o, "intervalSeconds", 0), (long long)json_get_int(o, "maxSurgePercent", 100),
               SLICE_ARG(message(w, back ? "RollbackInProgress" : "UpgradeInProgress")));
}

static void put_requests(const struct words *w)
{
    const char *svc = arena_dup(w->a, w->in->serve_name).ptr;
    long long endpoints = json_get_int(w->status, "numServeEndpoints", 0);
    buf_put(w->out, SLICE("\nRequests\n"));
    if (!slice_empty(w->in->serve_silence))
        buf_printf(w->out, "  Service %s cannot be read: %.*s\n", svc, SLICE_ARG(w->in->serve_silence));
    else if (!json_there(w->in->serve))
        buf_printf(w->out, "  are not served: there is no Service %s%s\n", svc,
                   slice_empty(w->active) ? ", which is made when all applications of a cluster run" : "");
    else if (slice_empty(w->selected))
        buf_printf(w->out, "  Service %s selects no cluster: another client has changed it\n", svc);
    else if (slice_eq(w->selected, w->active))
        buf_printf(w->out, "  Service %s leads to RayCluster %.*s, the active one: %lld of its pods take%s requests\n", svc,
                   SLICE_ARG(w->selected), endpoints, endpoints == 1 ? "s" : "");
    else if (slice_eq(w->selected, w->pending))
        buf_printf(w->out, "  Service %s leads to RayCluster %.*s, which becomes the active one\n", svc, SLICE_ARG(w->selected));
    else
        buf_printf(w->out, "  Service %s leads to RayCluster %.*s, which status does not name\n", svc, SLICE_ARG(w->selected));
    put_shares(w);
}

static void put_state(const struct words *w, const char *what, struct slice name, struct jval v, const char *indent)
{
    struct slice words = json_get_str(v, "message", w->a);
    buf_printf(w->out, "%s%s %.*s: %.*s%s%.*s\n", indent, what, SLICE_ARG(name), SLICE_ARG(json_get_str(v, "status", w->a)),
               words.len ? ": " : "", SLICE_ARG(words));
}

static void put_apps(const struct words *w, struct jval apps)
{
    struct jval k, app, name, deployment;
    for (struct jiter it = json_iter(apps); json_next(&it, &k, &app);) {
        put_state(w, "application", json_str(k, w->a), app, "    ");
        for (struct jiter jt = json_iter(json_get(app, "serveDeploymentStatuses")); json_next(&jt, &name, &deployment);)
            put_state(w, "deployment", json_str(name, w->a), deployment, "      ");
    }
    if (json_len(apps) == 0)
        buf_put(w->out, SLICE("    no application is known\n"));
}

/* why: message of condition UpgradeInProgress, if it is about this cluster; empty: none. */
static void put_cluster(const struct words *w, const char *key, const char *which, struct slice why)
{
    struct jval c = json_get(w->status, key);
    struct slice name = json_get_str(c, "rayClusterName", w->a), state = json_get_str(c, "rayClusterStatus.state", w->a);
    if (slice_empty(name))
        return;
    buf_printf(w->out, "  %.*s, %s: %.*s\n", SLICE_ARG(name), which, SLICE_ARG(slice_empty(state) ? SLICE("not ready") : state));
    if (!slice_empty(why))
        buf_printf(w->out, "    %.*s\n", SLICE_ARG(why));
    if (!json_there(json_get(c, "serveConfigHash")))
        buf_put(w->out, SLICE("    it has not got serveConfigV2 yet\n"));
    put_apps(w, json_get(c, "applicationStatuses"));
}

/* Lists clusters of the RayService that are neither active nor pending. Returns the number of those that are not being deleted yet. */
static uint32_t put_unused(const struct words *w)
{
    struct slice uid = json_get_str(w->in->object, "metadata.uid", w->a);
    struct jval k, c;
    uint32_t count = 0;
    for (struct jiter it = json_iter(w->in->clusters); json_next(&it, &k, &c);) {
        struct slice name = json_get_str(c, "metadata.name", w->a);
        bool own = json_str_eq(json_get(json_at(json_get(c, "metadata.ownerReferences"), 0), "uid"), uid);
        bool ends = json_there(json_get(c, "metadata.deletionTimestamp"));
        if (!own || slice_eq(name, w->active) || slice_eq(name, w->pending))
            continue;
        buf_printf(w->out, "  %.*s: %s\n", SLICE_ARG(name), ends ? "is being deleted" : "gets no requests, and is deleted");
        count += !ends;
    }
    return count;
}

static uint32_t put_clusters(const struct words *w)
{
    bool both = !slice_empty(w->active) && !slice_empty(w->pending);
    struct slice upgrade = message(w, "UpgradeInProgress");
    buf_put(w->out, SLICE("\nClusters\n"));
    put_cluster(w, "activeServiceStatus", "active", both ? SLICE_NONE : upgrade);
    put_cluster(w, "pendingServiceStatus", "pending", both ? upgrade : SLICE_NONE);
    uint32_t unused = put_unused(w);
    if (!slice_empty(w->in->clusters_silence))
        buf_printf(w->out, "  others are not known: RayClusters cannot be listed: %.*s\n", SLICE_ARG(w->in->clusters_silence));
    else if (slice_empty(w->active) && slice_empty(w->pending) && json_len(w->in->clusters) == 0)
        buf_put(w->out, SLICE("  none\n"));
    return unused;
}

/* ---- the operator's next step ---- */

/* Writes the time left of annotation ray.io/initializing-timeout. */
static void put_timeout(const struct words *w)
{
    struct slice text = json_str(json_child(json_get(w->in->object, "metadata.annotations"), RAYSERVICE_TIMEOUT), w->a);
    int64_t ms, created_us = time_of(w, json_get(w->in->object, "metadata.creationTimestamp"));
    if (created_us && rayservice_timeout_parse(text, &ms))
        buf_printf(w->out, "  if no cluster serves in %s from now (" RAYSERVICE_TIMEOUT "), all are deleted\n",
                   explain_age(rayservice_timeout_begin(created_us, w->status, w->a) + ms * 1000, w->in->now_us, w->a));
}

static void put_next(const struct words *w, uint32_t unused)
{
    bool waits = !slice_empty(w->pending) || slice_empty(w->active), first = false;
    buf_put(w->out, SLICE("\nNext\n"));
    if (is_reason(w, "ValidationFailed"))
        buf_put(w->out, SLICE("  nothing is changed until the spec is corrected (mobula validate names each error)\n"));
    else if (is_reason(w, "InitializingTimeout"))
        buf_put(w->out, SLICE("  nothing: delete this RayService and create it again\n"));
    else if (json_get_bool(w->spec, "suspend", false))
        buf_put(w->out, condition_is(w->status, "Suspended", "True")
                            ? SLICE("  nothing, until spec.suspend is false: then a cluster is made\n")
                            : SLICE("  its clusters and Services are deleted: spec.suspend is true\n"));
    else if (in_steps(w) && !slice_empty(w->pending) && !slice_empty(w->active))
        put_step(w);
    else if (slice_empty(w->pending) && waits)
        first = buf_put(w->out, SLICE("  a RayCluster is made\n"));
    else if (waits)
        first = buf_printf(w->out,
                           "  when all applications of RayCluster %.*s are RUNNING and a pod of it takes requests, the Services lead to "
                           "it; its head is asked every second\n",
                           SLICE_ARG(w->pending));
    else
        buf_put(w->out, SLICE("  the head is asked for its applications every 10 s, and every second while one does not run\n"));
    if (first && slice_empty(w->active))
        put_timeout(w);
    if (unused)
        buf_printf(w->out, "  %u cluster%s without requests end%s at most %lld s after the switch (rayClusterDeletionDelaySeconds)\n",
                   unused, unused == 1 ? "" : "s", unused == 1 ? "s" : "",
                   (long long)json_get_int(w->spec, "rayClusterDeletionDelaySeconds", RAYSERVICE_DELETION_S));
    if (!slice_empty(w->pending) || !slice_empty(w->active))
        buf_printf(w->out, "  more of a cluster: mobula explain cluster %.*s -n %.*s\n",
                   SLICE_ARG(slice_empty(w->pending) ? w->active : w->pending),
                   SLICE_ARG(json_get_str(w->in->object, "metadata.namespace", w->a)));
}

void explain_service_words(const struct explain_service *f, struct arena *a, struct buf *out)
{
    const char *const lacks[] = {"RayServices", kind_rayservice.optional.flag};
    __attribute__((cleanup(buf_free))) struct buf b = {.max = EXPLAIN_WORDS_MAX};
    struct words w = {.in = f, .spec = json_get(f->object, "spec"), .status = json_get(f->object, "status"), .a = a, .out = &b};
    w.active = json_get_str(w.status, "activeServiceStatus.rayClusterName", a);
    w.pending = json_get_str(w.status, "pendingServiceStatus.rayClusterName", a);
    w.selected = json_str(json_child(json_get(f->serve, "spec.selector"), RAY_LABEL_CLUSTER), a);
    put_title(&w);
    explain_put_operator(f->object, f->unwatched, lacks, a, &b);
    if (json_there(w.status)) {
        put_requests(&w);
        put_next(&w, put_clusters(&w));
    }
    explain_plain(buf_slice(&b), out);
}
