/* A pod as the API server has it, and what of it decisions look at. */
#include <mobula/pod.h>
#include <mobula/spec.h>

static enum pod_phase read_phase(struct jval pod)
{
    static const char *const names[] = {
        [POD_PENDING] = "Pending", [POD_RUNNING] = "Running", [POD_SUCCEEDED] = "Succeeded", [POD_FAILED] = "Failed"};
    struct jval phase = json_get(pod, "status.phase");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (json_is(phase, names[i]))
            return (enum pod_phase)i;
    return json_there(phase) ? POD_UNKNOWN : POD_PENDING;
}

/* Whether a rule of the container's own starts it again after this exit code. */
static bool restarts_by_rule(struct jval container, int64_t exit_code)
{
    struct jval k, rule, n, value;
    int64_t code;
    for (struct jiter it = json_iter(json_get(container, "restartPolicyRules")); json_next(&it, &k, &rule);) {
        bool listed = false, other = json_is(json_get(rule, "exitCodes.operator"), "NotIn");
        for (struct jiter at = json_iter(json_get(rule, "exitCodes.values")); json_next(&at, &n, &value);)
            listed |= json_int(value, &code) && code == exit_code;
        if (listed != other)
            return true;
    }
    return false;
}

/* Whether the kubelet starts a container again that ended so, by the policies that stand in the living pod. */
static bool comes_back(struct jval pod, struct jval container, int64_t exit_code)
{
    struct jval own = json_get(container, "restartPolicy");
    struct jval policy = json_there(own) ? own : json_get(pod, "spec.restartPolicy");
    bool never = json_is(policy, "Never") || (json_is(policy, "OnFailure") && exit_code == 0);
    return !never || restarts_by_rule(container, exit_code);
}

static int64_t read_time(struct jval v, struct arena *a)
{
    int64_t us;
    struct err e = {0};
    return time_parse(json_str(v, a), &us, &e) ? us : 0;
}

static int32_t read_label_int(struct jval labels, struct slice key, struct arena *a)
{
    int64_t n;
    return slice_int(json_str(json_key(labels, key), a), &n) && n >= 0 && n <= LIMIT_RAY_PODS ? (int32_t)n : -1;
}

static uint64_t read_hash(struct jval object, struct arena *a)
{
    uint64_t hash;
    return ray_hash_parse(json_str(json_child(json_get(object, "metadata.annotations"), RAY_ANNOTATION_HASH), a), &hash) ? hash : 0;
}

/* Whether a scheduler may want to see other pods before this one gets a node. */
static bool scheduled_alone(struct jval pod)
{
    static const char *const groups[] = {"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"};
    struct jval scheduler = json_get(pod, "spec.schedulerName"), labels = json_get(pod, "metadata.labels");
    bool alone = !json_there(scheduler) || json_is(scheduler, "default-scheduler");
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        alone = alone && !json_there(json_child(labels, groups[i]));
    return alone && !json_there(json_get(pod, "spec.workloadRef"));
}

static bool is_unschedulable(struct jval pod)
{
    struct jval scheduled = status_condition(json_get(pod, "status"), SLICE("PodScheduled"));
    return json_is(json_get(scheduled, "status"), "False") && json_is(json_get(scheduled, "reason"), "Unschedulable") &&
           scheduled_alone(pod);
}

/* A container of that name that is the user's has another command, and may fail as often as it likes. */
static bool waits_by_us(struct jval container)
{
    static const char *const lists[] = {"command", "args"};
    struct jval k, word;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (struct jiter it = json_iter(json_get(container, lists[i])); json_next(&it, &k, &word);)
            if (json_is(word, "wait-gcs"))
                return true;
    return false;
}

/* Where the pod's restartPolicy is not Never, the kubelet starts the wait again, and the pod would keep its room for good. */
static bool gave_up(struct jval pod)
{
    struct slice name = SLICE(RAY_INIT_CONTAINER);
    struct jval status = list_find(json_get(pod, "status.initContainerStatuses"), "name", name),
                ended = json_get(status, "state.terminated");
    if (!json_there(ended))
        ended = json_get(status, "lastState.terminated");
    return json_get_int(ended, "exitCode", 0) == 1 && waits_by_us(list_find(json_get(pod, "spec.initContainers"), "name", name));
}

/* When the deletion was requested, wall clock in microseconds; 0: unknown. deletionTimestamp is the end of the grace period. */
static int64_t going_since(struct jval object, struct arena *a)
{
    int64_t grace_s = json_get_int(object, "metadata.deletionGracePeriodSeconds", 0);
    int64_t us = read_time(json_get(object, "metadata.deletionTimestamp"), a);
    return us && grace_s > 0 && grace_s < us / 1000000 ? us - grace_s * 1000000 : us;
}

static void read_states(struct pod *p, struct jval object, struct arena *a)
{
    struct jval ready = status_condition(json_get(object, "status"), SLICE("Ready"));
    p->phase = (uint8_t)read_phase(object);
    p->ready = json_is(json_get(ready, "status"), "True") && p->phase == POD_RUNNING;
    p->ready_us = p->ready ? read_time(json_get(ready, "lastTransitionTime"), a) : 0;
    p->deleting = json_there(json_get(object, "metadata.deletionTimestamp"));
    struct jval container = ray_live_container(object);
    /* by its name: the kubelet sorts statuses, so their order says nothing */
    struct jval ray = list_find(json_get(object, "status.containerStatuses"), "name", json_get_str(container, "name", a));
    struct jval ended = json_get(ray, "state.terminated");
    p->exit_code = (int32_t)json_get_int(ended, "exitCode", 0);
    p->run_us = read_time(json_get(ray, "state.running.startedAt"), a);
    p->restarted = json_get_int(ray, "restartCount", 0) > 0;
    p->stopped = p->phase == POD_RUNNING && json_there(ray) && !json_there(json_get(ray, "state.running"));
    p->gave_up = gave_up(object);
    p->ended = p->gave_up || (json_there(ended) && !comes_back(object, container, p->exit_code));
    p->unschedulable = is_unschedulable(object);
    bool over = p->ended || p->phase == POD_FAILED || p->phase == POD_SUCCEEDED;
    int64_t going_us = p->deleting ? going_since(object, a) : 0;
    p->going_s = going_us > 0 ? (uint32_t)(going_us / 1000000) : 0;
    if (p->deleting && !over)
        pod_why_going(object, going_us, a, &p->reason, &p->words);
    else if (!p->ready || (p->restarted && p->head)) /* a RayJob that was lost with the head reports why */
        pod_why(object, ray, p->ended || p->phase == POD_FAILED, a, &p->reason, &p->words);
}

uint32_t pod_zone_hash(struct slice zone)
{
    return slice_empty(zone) ? 0 : (uint32_t)hash64(zone, 0) | 1;
}

void pod_read(struct jval object, struct arena *a, struct pod *out)
{
    struct jval labels = json_get(object, "metadata.labels");
    int32_t host = read_label_int(labels, SLICE(RAY_LABEL_HOST_INDEX), a);
    *out = (struct pod){.index = read_label_int(labels, SLICE(RAY_LABEL_REPLICA_INDEX), a),
                        .host = host < 0 ? 0 : host,
                        .head = ray_live_head(object, a),
                        .serves = json_is(json_child(labels, RAY_LABEL_SERVE), "true"),
                        .on_demand = json_is(json_child(labels, RAY_LABEL_MARKET), "ON_DEMAND"),
                        .zone = pod_zone_hash(json_str(json_child(labels, RAY_LABEL_ZONE), a)),
                        .hash = read_hash(object, a),
                        .created_us = read_time(json_get(object, "metadata.creationTimestamp"), a),
                        .group = json_str(json_child(labels, RAY_LABEL_GROUP), a)};
    slice_copy(json_get_str(object, "metadata.name", a), out->name, sizeof out->name);
    slice_copy(json_get_str(object, "metadata.uid", a), out->uid, sizeof out->uid);
    if (!slice_copy(json_get_str(object, "status.podIP", a), out->ip, sizeof out->ip))
        out->ip[0] = '\0';
    read_states(out, object, a);
}
