/* Why a pod is not ready: one word, and what the kubelet and the scheduler say of it in a line that a person can act on. The line has the
 * same words from one event to the next as long as nothing has happened, so that it may be compared: no ages, no back-off times. */
#include <mobula/pod.h>
#include <mobula/spec.h>

/* The room behind a message for the words of put_logs: three names and "; kubectl -n … logs … -c … --previous". */
enum { LOGS_ROOM = 3 * POD_NAME_MAX + 64 };

struct teller {
    struct jval status; /* of the container that keeps the pod; not there: none does */
    bool init;
};

/* The condition that it waits for, or how it ended, where that is no part of a pod's ordinary life. */
static struct slice container_reason(struct jval status, struct arena *a)
{
    struct slice waiting = json_get_str(status, "state.waiting.reason", a), ended = json_get_str(status, "state.terminated.reason", a);
    if (!slice_empty(waiting) && !slice_is(waiting, "PodInitializing"))
        return waiting;
    return slice_is(ended, "Completed") ? SLICE_NONE : ended;
}

static struct jval first_with_reason(struct jval list, struct arena *a)
{
    struct jval k, c;
    for (struct jiter it = json_iter(list); json_next(&it, &k, &c);)
        if (!slice_empty(container_reason(c, a)))
            return c;
    return (struct jval){.at = -1};
}

/* The Ray container's state comes first. Until it starts it has none, and the init containers' states are used. */
static struct teller find_teller(struct jval pod, struct jval ray, struct arena *a)
{
    if (!slice_empty(container_reason(ray, a)))
        return (struct teller){.status = ray};
    struct jval init = first_with_reason(json_get(pod, "status.initContainerStatuses"), a);
    if (json_there(init))
        return (struct teller){init, true};
    return (struct teller){.status = first_with_reason(json_get(pod, "status.containerStatuses"), a)};
}

/* A message may be a whole log, or nothing but blanks. */
static void put_message(struct buf *b, struct jval message, size_t room, struct arena *a)
{
    char text[LIMIT_POD_WORDS];
    if (b->full || b->len + sizeof ": …" + room > b->max)
        return;
    struct slice clean = utf8_clean(json_str(message, a), text, b->max - b->len - room - 1);
    if (!slice_empty(clean))
        buf_printf(b, "%s%.*s", b->len ? ": " : "", SLICE_ARG(clean));
}

static void put_restarts(struct buf *b, struct jval status)
{
    long long n = json_get_int(status, "restartCount", 0);
    if (n > 0)
        buf_printf(b, ", %lld restart%s", n, n == 1 ? "" : "s");
}

/* "ended with exit code 137 (OOMKilled), 3 restarts: what it left as its message" */
static void put_end(struct buf *b, struct jval status, struct jval ended, struct arena *a)
{
    struct slice why = json_get_str(ended, "reason", a);
    buf_printf(b, "ended with exit code %d", (int)json_get_int(ended, "exitCode", 0));
    if (!slice_empty(why) && !slice_is(why, "Error"))
        buf_printf(b, " (%.*s)", SLICE_ARG(why));
    put_restarts(b, status);
    put_message(b, json_get(ended, "message"), LOGS_ROOM, a);
}

static void put_kubectl(struct buf *b, struct jval pod, const char *verb, struct arena *a)
{
    struct slice ns = json_get_str(pod, "metadata.namespace", a), name = json_get_str(pod, "metadata.name", a);
    buf_printf(b, "; kubectl -n %.*s %s %.*s", SLICE_ARG(ns), verb, SLICE_ARG(name));
}

/* Where to read on. Of several containers kubectl shows the first, and of an init container nothing. */
static void put_logs(struct buf *b, struct jval pod, const struct teller *t, bool previous, struct arena *a)
{
    struct slice container = json_get_str(t->status, "name", a);
    put_kubectl(b, pod, "logs", a);
    if (t->init || json_len(json_get(pod, "spec.containers")) > 1)
        buf_printf(b, " -c %.*s", SLICE_ARG(container));
    buf_put(b, previous ? SLICE(" --previous") : SLICE(""));
}

static void put_waiting(struct buf *b, struct jval pod, const struct teller *t, struct slice reason, struct arena *a)
{
    struct jval last = json_get(t->status, "lastState.terminated");
    buf_put(b, reason);
    if (slice_is(reason, "ContainerCreating")) {
        put_message(b, json_get(t->status, "state.waiting.message"), LOGS_ROOM, a);
        buf_put(b, SLICE(": volumes, network or image"));
        put_kubectl(b, pod, "describe pod", a);
    } else if (slice_is(reason, "CrashLoopBackOff") && json_there(last)) { /* its message has a time that changes */
        buf_put(b, SLICE(": "));
        put_end(b, t->status, last, a);
        put_logs(b, pod, t, true, a);
    } else {
        put_message(b, json_get(t->status, "state.waiting.message"), 0, a);
    }
}

static void put_container(struct buf *b, struct jval pod, const struct teller *t, bool ray, bool over, struct arena *a)
{
    struct jval ended = json_get(t->status, "state.terminated");
    struct slice name = json_get_str(t->status, "name", a);
    if (t->init || (!ray && json_len(json_get(pod, "spec.containers")) > 1))
        buf_printf(b, "%s %.*s: ", t->init ? "init container" : "container", SLICE_ARG(name));
    if (!json_there(ended)) {
        put_waiting(b, pod, t, container_reason(t->status, a), a);
        return;
    }
    put_end(b, t->status, ended, a);
    if (!over) /* else the pod goes, and its log with it */
        put_logs(b, pod, t, false, a);
}

/* The init container that runs; one that is started for good is a sidecar. */
static struct jval running_init(struct jval pod)
{
    struct jval k, c;
    for (struct jiter it = json_iter(json_get(pod, "status.initContainerStatuses")); json_next(&it, &k, &c);)
        if (json_there(json_get(c, "state.running")) && !json_get_bool(c, "started", false))
            return c;
    return (struct jval){.at = -1};
}

/* No container complains. */
static void put_stage(struct buf *b, struct jval pod, struct jval ray, struct arena *a)
{
    struct jval init = running_init(pod), last = json_get(ray, "lastState.terminated");
    struct slice name = json_get_str(init, "name", a);
    if (json_there(init) && slice_is(name, RAY_INIT_CONTAINER))
        buf_put(b, SLICE("Init: waits for the head (" RAY_INIT_CONTAINER ")"));
    else if (json_there(init))
        buf_printf(b, "Init: container %.*s runs", SLICE_ARG(name));
    if (json_there(init)) {
        put_restarts(b, init);
    } else if (json_there(json_get(ray, "state.running")) && json_there(last)) {
        bool ready = json_is(json_get(status_condition(json_get(pod, "status"), SLICE("Ready")), "status"), "True");
        buf_put(b, ready ? SLICE("runs again; before it ") : SLICE("runs again, and is not ready; before it "));
        put_end(b, ray, last, a);
        put_logs(b, pod, &(struct teller){.status = ray}, true, a);
    } else {
        put_message(b, json_get(status_condition(json_get(pod, "status"), SLICE("Ready")), "message"), 0, a);
    }
}

void pod_why_going(struct jval pod, int64_t since_us, struct arena *a, struct slice *reason, struct slice *words)
{
    struct buf b;
    struct slice node = json_get_str(pod, "spec.nodeName", a);
    struct jval cause = status_condition(json_get(pod, "status"), SLICE("DisruptionTarget"));
    char text[TIME_TEXT_MAX];
    buf_init(&b, LIMIT_POD_WORDS);
    *reason = SLICE(POD_REASON_GOING);
    buf_put(&b, *reason);
    if (!slice_empty(node))
        buf_printf(&b, " on node %.*s", SLICE_ARG(node));
    if (since_us)
        buf_printf(&b, " since %.*s", SLICE_ARG(time_format(since_us, text)));
    put_message(&b, json_get(cause, "message"), 0, a);
    *words = arena_dup(a, buf_slice(&b));
    buf_free(&b);
}

void pod_why(struct jval pod, struct jval ray, bool over, struct arena *a, struct slice *reason, struct slice *words)
{
    struct buf b;
    struct teller t = find_teller(pod, ray, a);
    struct jval scheduled = status_condition(json_get(pod, "status"), SLICE("PodScheduled"));
    buf_init(&b, LIMIT_POD_WORDS);
    *reason = container_reason(t.status, a);
    if (json_there(t.status)) {
        put_container(&b, pod, &t, t.status.at == ray.at, over, a);
    } else if (!slice_empty(*reason = json_get_str(pod, "status.reason", a))) { /* Evicted, NodeLost … */
        buf_put(&b, *reason);
        put_message(&b, json_get(pod, "status.message"), 0, a);
    } else if (json_is(json_get(scheduled, "status"), "False")) {
        *reason = json_get_str(scheduled, "reason", a);
        buf_put(&b, *reason);
        put_message(&b, json_get(scheduled, "message"), 0, a);
    } else {
        put_stage(&b, pod, ray, a);
    }
    *words = arena_dup(a, buf_slice(&b));
    buf_free(&b);
}
