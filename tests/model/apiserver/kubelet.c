/* A scheduler and a kubelet in a few lines. Both look at the pod as it is and at the time, and do the one thing that is due:
 *
 *   no node      -> bound to the one node after schedule_ms
 *   bound        -> Running and Ready start_ms later, with an address and container statuses, once its ConfigMaps are there
 *   deleting     -> gone stop_ms later
 *
 * Ray in a worker ends when its head does. So when a head runs that is not the first of its cluster, or not for the first time, the workers
 * that were ready by then exit lose_ms later, and the kubelet starts their containers again, or fails the pod where it must not.
 *
 * Annotations of a pod make it misbehave:
 *   fake.kubelet/stuck: Unschedulable          it never gets a node
 *   fake.kubelet/stuck: Spot                   likewise when its annotation anyscale.com/market-type is SPOT: there are no such nodes
 *   fake.kubelet/full: a,b                     likewise when spec.nodeSelector asks for one of these zones
 *   fake.kubelet/stuck: ImagePullBackOff       its first container never starts (any other word will do)
 *   fake.kubelet/ready-after: 5s               takes the place of start_ms
 *   fake.kubelet/fail: after=2s                2 s after it became ready the pod is Failed, as if evicted
 *   fake.kubelet/crash: after=2s               2 s after it became ready its containers exit, and are ready again start_ms later */
#include "request.h"

static const char *const node_name = "model-node";
static const char *const crashed = "CrashLoopBackOff";

static void later(struct apiserver *s, const struct object *pod, int64_t after_ms)
{
    timers_add(s, s->now.mono_ms + after_ms, WAKE_POD, pod->uid);
}

static struct slice annotation(const struct node *pod, const char *name)
{
    return dom_string(dom_key(dom_get(pod, "metadata.annotations"), slice_of(name)));
}

/* "2s", "300ms" or "after=2s"; otherwise when it is none of these. */
static int64_t duration_ms(struct slice text, int64_t otherwise)
{
    int64_t n;
    if (slice_starts(text, SLICE("after=")))
        text = slice_skip(text, 6);
    bool ms = slice_ends(text, SLICE("ms"));
    if (!ms && !slice_ends(text, SLICE("s")))
        return otherwise;
    return slice_int(slice_head(text, text.len - (ms ? 2 : 1)), &n) && n >= 0 ? n * (ms ? 1 : 1000) : otherwise;
}

static int64_t start_ms(const struct apiserver *s, const struct node *pod)
{
    return duration_ms(annotation(pod, "fake.kubelet/ready-after"), s->config.start_ms);
}

static bool is_phase(const struct node *pod, const char *phase)
{
    return slice_eq(dom_str(pod, "status.phase"), slice_of(phase));
}

/* ---- status ---- */

static struct node *condition(struct apiserver *s, struct node *status, const char *type, bool yes, const char *reason)
{
    struct arena *a = &s->scratch;
    struct node *list = dom_want(a, status, "conditions", JSON_ARRAY), *c = list->child;
    while (c && !slice_eq(dom_str(c, "type"), slice_of(type)))
        c = c->next;
    if (!c) {
        c = dom_push(list, dom_new(a, JSON_OBJECT));
        dom_put_str(a, c, "type", slice_of(type));
    }
    struct slice value = yes ? SLICE("True") : SLICE("False");
    if (!slice_eq(dom_str(c, "status"), value)) {
        dom_put_str(a, c, "status", value);
        dom_put(c, SLICE("lastProbeTime"), dom_new(a, JSON_NULL));
        dom_put_str(a, c, "lastTransitionTime", world_time(s, 0, a));
    }
    if (reason)
        dom_put_str(a, c, "reason", slice_of(reason));
    else
        dom_drop(c, "reason");
    return c;
}

static void conditions(struct apiserver *s, struct node *status, bool ready, const char *reason)
{
    condition(s, status, "PodReadyToStartContainers", true, NULL);
    condition(s, status, "Initialized", true, NULL);
    condition(s, status, "Ready", ready, reason);
    condition(s, status, "ContainersReady", ready, reason);
    condition(s, status, "PodScheduled", true, NULL);
}

enum run { RUN_WAITING, RUN_RUNNING, RUN_COMPLETED, RUN_FAILED };

static void put_state(struct apiserver *s, struct node *status, enum run run, const char *reason)
{
    static const char *const names[] = {"waiting", "running", "terminated", "terminated"};
    struct arena *a = &s->scratch;
    dom_put(status, SLICE("state"), dom_new(a, JSON_OBJECT));
    struct node *state = dom_want(a, dom_get(status, "state"), names[run], JSON_OBJECT);
    if (run == RUN_COMPLETED || run == RUN_FAILED) {
        dom_put_int(a, state, "exitCode", run == RUN_FAILED);
        dom_put_str(a, state, "finishedAt", world_time(s, 0, a));
    }
    if (run != RUN_WAITING)
        dom_put_str(a, state, "startedAt", world_time(s, 0, a));
    if (reason)
        dom_put_str(a, state, "reason", slice_of(reason));
}

static const struct node *named(const struct node *list, struct slice name)
{
    const struct node *n = list ? list->child : NULL;
    while (n && !slice_eq(dom_str(n, "name"), name))
        n = n->next;
    return n;
}

/* A kubelet sorts them by name, but for those of init containers. */
static void put_in_order(struct arena *a, struct node *status, const char *to, struct node *list)
{
    struct node *sorted = dom_new(a, JSON_ARRAY);
    for (struct node *first; (first = list->child) != NULL;) {
        for (struct node *n = first->next; n; n = n->next)
            if (slice_cmp(dom_str(n, "name"), dom_str(first, "name")) < 0)
                first = n;
        dom_unlink(list, first);
        first->next = NULL;
        dom_push(sorted, first);
    }
    dom_put(status, slice_of(to), sorted);
}

/* One status per container; what there was before is kept for restart counts. */
static void container_statuses(struct apiserver *s, const struct node *pod, struct node *status, const char *from, const char *to,
                               enum run run, const char *reason, bool restarted)
{
    struct arena *a = &s->scratch;
    const struct node *containers = dom_get(dom_get(pod, "spec"), from), *old = dom_get(status, to);
    if (!containers)
        return;
    struct node *list = dom_new(a, JSON_ARRAY);
    bool init = from[0] == 'i';
    for (const struct node *c = containers->child; c; c = c->next) {
        bool stays = init && run == RUN_COMPLETED && slice_eq(dom_str(c, "restartPolicy"), SLICE("Always")); /* a native sidecar */
        struct node *n = dom_push(list, dom_new(a, JSON_OBJECT));
        int64_t restarts = dom_int(named(old, dom_str(c, "name")), "restartCount", 0) + restarted;
        dom_put_str(a, n, "name", dom_str(c, "name"));
        put_state(s, n, stays ? RUN_RUNNING : run, stays ? NULL : reason);
        dom_put(n, SLICE("lastState"), dom_new(a, JSON_OBJECT));
        dom_put_bool(a, n, "ready", run == RUN_RUNNING || run == RUN_COMPLETED);
        dom_put_int(a, n, "restartCount", restarts);
        dom_put_str(a, n, "image", dom_str(c, "image"));
        dom_put_str(a, n, "imageID", run == RUN_WAITING ? SLICE("") : dom_str(c, "image"));
        dom_put_bool(a, n, "started", run == RUN_RUNNING || stays);
    }
    if (init)
        dom_put(status, slice_of(to), list);
    else
        put_in_order(a, status, to, list);
}

static void containers(struct apiserver *s, const struct node *pod, struct node *status, enum run run, const char *reason, bool restarted)
{
    bool begun = run != RUN_WAITING || restarted;
    container_statuses(s, pod, status, "initContainers", "initContainerStatuses", begun ? RUN_COMPLETED : RUN_WAITING,
                       begun ? "Completed" : "PodInitializing", false);
    container_statuses(s, pod, status, "containers", "containerStatuses", run, reason, restarted);
}

static void say(struct apiserver *s, const struct object *pod, const char *type, const char *reason, const char *component,
                struct slice message)
{
    if (s->config.pod_events)
        world_event(s, pod, type, reason, component, message);
}

/* ---- the steps ---- */

static void unschedulable(struct apiserver *s, struct object *o, struct node *pod)
{
    struct arena *a = &s->scratch;
    struct node *c = condition(s, dom_want(a, pod, "status", JSON_OBJECT), "PodScheduled", false, "Unschedulable");
    if (dom_get(c, "message"))
        return;
    dom_put_str(a, c, "message", SLICE("0/1 nodes are available: the pod's annotation asks for this"));
    store_put(s, o->of, o, pod);
    say(s, o, "Warning", "FailedScheduling", "default-scheduler", SLICE("0/1 nodes are available: the pod's annotation asks for this"));
}

static bool zone_is_full(const struct node *pod)
{
    struct slice full = annotation(pod, "fake.kubelet/full");
    struct slice zone = dom_string(dom_key(dom_get(pod, "spec.nodeSelector"), SLICE("topology.kubernetes.io/zone")));
    while (!slice_empty(full))
        if (slice_eq(slice_cut(&full, ','), zone))
            return true;
    return false;
}

static void bind(struct apiserver *s, struct object *o, struct node *pod)
{
    struct arena *a = &s->scratch;
    enum { SPOT_AGAIN_MS = 500 };
    bool spot = slice_eq(annotation(pod, "anyscale.com/market-type"), SLICE("SPOT"));
    if (spot && s->faults.no_spot) {
        unschedulable(s, o, pod);
        later(s, o, SPOT_AGAIN_MS);
        return;
    }
    if (slice_eq(annotation(pod, "fake.kubelet/stuck"), spot ? SLICE("Spot") : SLICE("Unschedulable")) || zone_is_full(pod)) {
        unschedulable(s, o, pod);
        return;
    }
    dom_put_str(a, dom_get(pod, "spec"), "nodeName", slice_of(node_name));
    dom_drop(condition(s, dom_want(a, pod, "status", JSON_OBJECT), "PodScheduled", true, NULL), "message");
    store_put(s, o->of, o, pod);
    say(s, o, "Normal", "Scheduled", "default-scheduler",
        arena_printf(a, "Successfully assigned %.*s/%.*s to %s", SLICE_ARG(o->ns), SLICE_ARG(o->name), node_name));
    later(s, o, start_ms(s, pod));
}

/* ImagePullBackOff, CrashLoopBackOff …: the containers wait with this reason. */
static void wait_for_ever(struct apiserver *s, struct object *o, struct node *pod, struct slice reason)
{
    struct node *status = dom_get(pod, "status");
    if (dom_get(status, "containerStatuses"))
        return;
    conditions(s, status, false, "ContainersNotReady");
    containers(s, pod, status, RUN_WAITING, arena_printf(&s->scratch, "%.*s", SLICE_ARG(reason)).ptr, false);
    dom_put_str(&s->scratch, status, "startTime", world_time(s, 0, &s->scratch));
    store_put(s, o->of, o, pod);
    say(s, o, "Warning", "Failed", "kubelet", reason);
}

static struct slice pod_ip(struct apiserver *s)
{
    uint32_t n = ++s->pod_ips;
    return arena_printf(&s->scratch, "%s.%u.%u", s->config.pod_net, n / 254 % 256, n % 254 + 1);
}

static void put_ips(struct apiserver *s, struct node *status)
{
    struct arena *a = &s->scratch;
    struct slice ip = pod_ip(s);
    dom_put_str(a, status, "hostIP", SLICE("10.0.0.1"));
    dom_put(status, SLICE("hostIPs"), dom_literal(a, "[{\"ip\":\"10.0.0.1\"}]"));
    dom_put_str(a, status, "podIP", ip);
    dom_put(status, SLICE("podIPs"), dom_new(a, JSON_ARRAY));
    dom_put_str(a, dom_push(dom_get(status, "podIPs"), dom_new(a, JSON_OBJECT)), "ip", ip);
}

static bool is_ready(const struct node *pod)
{
    return dom_true(dom_at(dom_get(pod, "status.containerStatuses"), 0), "ready");
}

static bool has_crashed(const struct node *pod)
{
    return slice_eq(dom_str(dom_at(dom_get(pod, "status.containerStatuses"), 0), "state.waiting.reason"), slice_of(crashed));
}

/* Whether this worker has had a head before the one that runs now. */
static bool had_another(const struct node *worker, const struct node *head)
{
    bool again = dom_int(dom_at(dom_get(head, "status.containerStatuses"), 0), "restartCount", 0) > 0;
    return again || slice_cmp(dom_str(head, "metadata.creationTimestamp"), dom_str(worker, "metadata.creationTimestamp")) > 0;
}

static void lose_workers(struct apiserver *s, const struct object *o, const struct node *pod)
{
    const struct resource *r = o->of;
    struct slice type = SLICE("ray.io/node-type"), cluster = version_label(o->now, SLICE("ray.io/cluster"));
    if (!slice_eq(version_label(o->now, type), SLICE("head")))
        return;
    for (size_t i = store_seek(r, o->ns, SLICE("")); i < r->count && slice_eq(r->objects[i]->ns, o->ns); i++) {
        const struct version *v = r->objects[i]->now;
        if (!slice_eq(version_label(v, type), SLICE("worker")) || !slice_eq(version_label(v, SLICE("ray.io/cluster")), cluster))
            continue;
        const struct node *worker = version_tree(v, &s->scratch);
        if (is_ready(worker) && had_another(worker, pod))
            timers_add(s, s->now.mono_ms + s->config.lose_ms, WAKE_LOST, v->uid);
    }
}

static void run(struct apiserver *s, struct object *o, struct node *pod)
{
    struct arena *a = &s->scratch;
    struct slice stuck = annotation(pod, "fake.kubelet/stuck");
    if (stuck.len && !slice_eq(stuck, SLICE("Spot"))) {
        wait_for_ever(s, o, pod, stuck);
        return;
    }
    struct node *status = dom_get(pod, "status");
    dom_put_str(a, status, "phase", SLICE("Running"));
    conditions(s, status, true, NULL);
    dom_put_str(a, status, "startTime", world_time(s, 0, a));
    containers(s, pod, status, RUN_RUNNING, NULL, false);
    put_ips(s, status);
    store_put(s, o->of, o, pod);
    lose_workers(s, o, pod);
    say(s, o, "Normal", "Started", "kubelet", SLICE("Started all containers"));
    int64_t fail = duration_ms(annotation(pod, "fake.kubelet/fail"), -1), crash = duration_ms(annotation(pod, "fake.kubelet/crash"), -1);
    if (fail >= 0 || crash >= 0)
        later(s, o, fail >= 0 ? fail : crash);
}

static void fail(struct apiserver *s, struct object *o, struct node *pod, const char *reason, struct slice message)
{
    struct node *status = dom_get(pod, "status");
    dom_put_str(&s->scratch, status, "phase", SLICE("Failed"));
    if (reason) {
        dom_put_str(&s->scratch, status, "reason", slice_of(reason));
        dom_put_str(&s->scratch, status, "message", message);
    }
    conditions(s, status, false, "PodFailed");
    containers(s, pod, status, RUN_FAILED, "Error", false);
    store_put(s, o->of, o, pod);
    if (reason)
        say(s, o, "Warning", reason, "kubelet", message);
}

/* The containers exit, or run again after they did. */
static void crash(struct apiserver *s, struct object *o, struct node *pod)
{
    struct node *status = dom_get(pod, "status");
    bool up = is_ready(pod);
    conditions(s, status, !up, up ? "ContainersNotReady" : NULL);
    containers(s, pod, status, up ? RUN_WAITING : RUN_RUNNING, up ? crashed : NULL, up);
    store_put(s, o->of, o, pod);
    int64_t next = duration_ms(annotation(pod, "fake.kubelet/crash"), -1);
    if (up)
        later(s, o, start_ms(s, pod));
    else
        lose_workers(s, o, pod);
    if (!up && next >= 0)
        later(s, o, next);
}

void kubelet_lost(struct apiserver *s, struct object *o)
{
    struct node *pod = version_tree(o->now, &s->scratch);
    if (o->now->deleting || !is_phase(pod, "Running") || !is_ready(pod))
        return;
    if (slice_eq(dom_str(pod, "spec.restartPolicy"), SLICE("Never")))
        fail(s, o, pod, NULL, SLICE_NONE);
    else
        crash(s, o, pod);
}

/* A kubelet tries again and again to mount what is not there. */
static bool lacks_volume(const struct apiserver *s, const struct object *o, const struct node *pod)
{
    const struct resource *maps = registry_resource(s, SLICE(""), SLICE("configmaps"));
    const struct node *volumes = dom_get(pod, "spec.volumes");
    for (const struct node *v = volumes ? volumes->child : NULL; v; v = v->next) {
        struct slice name = dom_str(v, "configMap.name");
        if (name.len && !dom_true(v, "configMap.optional") && !store_find(maps, o->ns, name))
            return true;
    }
    return false;
}

void kubelet_wake(struct apiserver *s, struct object *o)
{
    enum { MOUNT_AGAIN_MS = 1000 };
    struct node *pod = version_tree(o->now, &s->scratch);
    if (o->now->deleting)
        remove_object(s, o, PROPAGATE_BACKGROUND, 0);
    else if (!dom_str(pod, "spec.nodeName").len)
        bind(s, o, pod);
    else if (is_phase(pod, "Pending") && lacks_volume(s, o, pod))
        later(s, o, MOUNT_AGAIN_MS);
    else if (is_phase(pod, "Pending"))
        run(s, o, pod);
    else if (is_phase(pod, "Running") && annotation(pod, "fake.kubelet/fail").len)
        fail(s, o, pod, "Evicted", SLICE("The pod's annotation asked for this."));
    else if (is_phase(pod, "Running") && (annotation(pod, "fake.kubelet/crash").len || has_crashed(pod)))
        crash(s, o, pod);
}

void kubelet_saw(struct apiserver *s, const struct object *pod, enum change change)
{
    if (s->config.no_nodes)
        return;
    if (change == CHANGE_ADDED)
        later(s, pod, s->config.schedule_ms);
    else if (change == CHANGE_MODIFIED && pod->now->deleting)
        later(s, pod, s->config.stop_ms);
}
