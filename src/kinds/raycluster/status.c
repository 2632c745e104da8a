/* Status is written as a merge patch, and only when it changed.
 *
 *   change                                           written
 *   state, generation, status of a condition,        at once
 *   desired counts, head ready
 *   only the reason of a condition, or one more      after REASON_MS (10 s), doubling to PROGRESS_MS (30 s) while reasons alternate; one
 *   failure of a group                               delay for all conditions together
 *   the first status, of a start without trouble     when all pods are ready, or START_MS (1 s) after the last pod was created, or after
 *                                                    START_EACH_MS (100 ms) x starting clusters, at most START_MAX_MS (2 min)
 *   only counters                                    after PROGRESS_MS, or PROGRESS_EACH_MS (120 ms) x clusters, at most PROGRESS_MAX_MS
 *                                                    (5 min)
 *
 * So a cluster of 1,000 pods that become ready one by one costs a handful of writes, and 1,000 clusters that come up at once do not delay
 * the creation of pods. */
#include "facts.h"

#include <mobula/status.h>

enum {
    PROGRESS_MS = 30 * 1000,
    PROGRESS_EACH_MS = 120,
    PROGRESS_MAX_MS = 5 * 60 * 1000,
    REASON_MS = 10 * 1000, /* demand may come and go by the second */
    REASONS_KEPT_MS = 5 * 60 * 1000,
    REASONS_MAX = 2, /* doublings that lead beyond PROGRESS_MS */
    BUSY_MS = 5 * 1000,
    START_MS = 1000,
    START_EACH_MS = 100,
    START_MAX_MS = 2 * 60 * 1000,
};

static void write_state(const struct facts *f, struct jout *w)
{
    struct slice state = slice_of(f->state);
    if (f->in->cluster->kind == RAY_LEGACY) {
        uint32_t retries = f->in->failures[0].count;
        const char *phase = !f->valid ? "Error" : retries && !f->ready ? "AutoscalingExceptionRecovery" : f->ready ? "Running" : "Updating";
        jout_kstr(w, "phase", slice_of(phase));
        int64_t before = json_get_int(f->prior, "autoscalerRetries", 0);
        jout_kint(w, "autoscalerRetries", (int64_t)retries > before ? (int64_t)retries : before);
        return;
    }
    jout_kstr(w, "state", state);
    status_put(w, f->prior, "reason", status_errors(f, ERR_TEXT_MAX));
    if (!slice_empty(state)) {
        struct slice since = json_str(json_key(json_get(f->prior, "stateTransitionTimes"), state), f->a);
        bool same = json_str_eq(json_get(f->prior, "state"), state) && !slice_empty(since);
        since = same ? since : f->stamp;
        jout_form(w, "stateTransitionTimes:{%s:'%.*s'}", f->state, SLICE_ARG(since));
    }
}

static int at_most(int64_t n)
{
    return n > INT32_MAX ? INT32_MAX : (int)n;
}

static void write_counts(const struct facts *f, struct jout *w)
{
    jout_form(w, "desiredWorkerReplicas:%d,availableWorkerReplicas:%lld,readyWorkerReplicas:%lld,minWorkerReplicas:%d,maxWorkerReplicas:%d",
              at_most(f->all.desired), (long long)f->all.running, (long long)f->all.ready, at_most(f->all.min), at_most(f->all.max));
}

static void write_sum(struct jout *w, const char *key, const struct ray_sum *sum, int decimals)
{
    char text[QUANTITY_TEXT_MAX];
    jout_kstr(w, key, quantity_format(sum->amount, decimals, sum->form, text));
}

static void write_sums(const struct facts *f, struct jout *w)
{
    struct ray_sums sums = {0};
    struct err e = {0};
    if (!ray_desired_sums(f->in->cluster, f->a, &sums, &e))
        return; /* a quantity that cannot be read is one of the spec's errors already */
    write_sum(w, "desiredCPU", &sums.cpu, 3);
    write_sum(w, "desiredMemory", &sums.memory, 0);
    write_sum(w, "desiredGPU", &sums.gpu, 0);
    write_sum(w, "desiredTPU", &sums.tpu, 0);
}

/* Port names of the head service to the numbers that clients use. A merge patch forgets only what is null. */
static void write_endpoints(const struct facts *f, struct jout *w)
{
    const struct service *svc = f->in->own[RAY_SERVICE_HEAD];
    struct jval ports = {.at = -1}, k, v;
    struct jval doc;
    struct err e = {0};
    if (f->service && json_read(&doc, svc->endpoints, f->a, &e))
        ports = doc;
    struct jval before = json_get(f->prior, "endpoints");
    if (json_len(ports) + json_len(before) == 0)
        return;
    jout_kobject(w, "endpoints");
    for (struct jiter it = json_iter(ports); json_next(&it, &k, &v);) {
        jout_key(w, json_str(k, f->a));
        jout_val(w, v);
    }
    for (struct jiter it = json_iter(before); json_next(&it, &k, &v);) {
        struct slice name = json_str(k, f->a);
        if (json_there(json_key(ports, name)))
            continue;
        jout_key(w, name);
        jout_null(w);
    }
    jout_end(w);
}

static void write_head(const struct facts *f, struct jout *w)
{
    const struct service *svc = f->in->own[RAY_SERVICE_HEAD];
    struct jval prior = json_get(f->prior, "head");
    struct slice pod_ip = f->head ? slice_of(f->head->ip) : SLICE("");
    struct slice service_ip = svc ? slice_of(svc->ip) : SLICE("");
    jout_kobject(w, "head");
    status_put(w, prior, "podIP", pod_ip);
    status_put(w, prior, "podName", f->head ? slice_of(f->head->name) : SLICE(""));
    status_put(w, prior, "serviceIP", slice_is(service_ip, "None") ? pod_ip : service_ip); /* a headless service is its pod */
    status_put(w, prior, "serviceName", svc ? slice_of(svc->name) : SLICE(""));
    jout_end(w);
}

/* Per group, for people and for the next process: the counters of failures survive a restart here. */
static void write_groups(const struct facts *f, struct jout *w)
{
    const struct ray_cluster *c = f->in->cluster;
    jout_karray(w, "groups");
    for (int32_t k = GROUP_HEAD; k < (int32_t)c->group_count; k++) {
        const struct group_failures *gf = &f->in->failures[k + 1];
        char text[TIME_TEXT_MAX];
        bool head = k == GROUP_HEAD;
        struct slice name = head ? SLICE(RAY_HEAD_GROUP) : c->groups[k].name;
        jout_form(w, "{name:'%.*s',desired:%lld,ready:%lld", SLICE_ARG(name), (long long)(head ? !c->suspend : f->groups[k].desired),
                  (long long)(head ? f->head && f->head->ready : f->groups[k].ready));
        if (gf->count) {
            jout_kint(w, "failures", gf->count);
            if (gf->ends)
                jout_kint(w, "podsEnded", gf->ends);
            struct slice last = time_format(gf->last_us, text);
            jout_form(w, "lastFailureTime:'%.*s',reason:'%s',ended:%hhd", SLICE_ARG(last), gf->reason, gf->ended);
        }
        jout_end(w);
    }
    jout_end(w);
}

static void write_status(const void *about, struct jout *w, struct slice stamp)
{
    struct facts then = *(const struct facts *)about, *f = &then;
    f->stamp = stamp;
    write_state(f, w);
    jout_kint(w, "observedGeneration", f->in->cluster->generation);
    if (f->in->errors->count == 0) {
        if (f->in->cluster->kind == RAY_V1) {
            write_counts(f, w);
            write_sums(f, w);
            write_endpoints(f, w);
        }
        write_head(f, w);
        write_groups(f, w);
    }
    status_write_conditions(f, w);
    if (f->in->cluster->kind == RAY_V1 && !slice_empty(stamp))
        jout_kstr(w, "lastUpdateTime", stamp);
}

/* Whether the head has another address than clients were told. Its first one is no such news: nobody has looked it up. */
static bool moved(struct jval prior, struct jval next)
{
    static const char *const addresses[] = {"head.podIP", "head.serviceIP"};
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        struct jval was = json_get(prior, addresses[i]), is = json_get(next, addresses[i]);
        if (json_type(was) == JSON_STRING && json_type(is) == JSON_STRING && !json_equal(was, is))
            return true;
    }
    return false;
}

/* Whether another number of pods is wanted of a group. */
static bool other_wish(struct jval prior, struct jval next)
{
    struct jval was = json_get(prior, "groups"), is = json_get(next, "groups"), k, before, now;
    struct jiter old = json_iter(was);
    if (json_len(was) != json_len(is))
        return json_there(was);
    for (struct jiter it = json_iter(is); json_next(&it, &k, &now) && json_next(&old, &k, &before);)
        if (!json_equal(json_get(before, "desired"), json_get(now, "desired")))
            return true;
    return false;
}

/* Whether each group has as many ready pods as it wants. */
static bool is_whole(struct jval status)
{
    struct jval groups = json_get(status, "groups"), k, g;
    for (struct jiter it = json_iter(groups); json_next(&it, &k, &g);)
        if (json_get_int(g, "ready", 0) != json_get_int(g, "desired", 0))
            return false;
    return json_len(groups) > 0;
}

/* True when the news can wait: state, generation, desired numbers and all conditions are as they were. */
static bool mere_progress(struct jval prior, struct jval next)
{
    static const char *const hard[] = {"state", "phase", "observedGeneration", "desiredWorkerReplicas"};
    for (size_t i = 0; i < COUNT_OF(hard); i++)
        if (json_there(json_get(next, hard[i])) && !json_equal(json_get(prior, hard[i]), json_get(next, hard[i])))
            return false;
    struct jval was = json_get(prior, "head.serviceName"), service = json_get(next, "head.serviceName"), k, now;
    if (json_there(json_get(prior, "head")) && json_type(service) == JSON_STRING && !json_equal(was, service))
        return false; /* clients look it up here */
    if (moved(prior, next) || other_wish(prior, next) || (is_whole(next) && !is_whole(prior) && json_there(json_get(prior, "groups"))))
        return false; /* the end of its scaling is as good to know as its beginning */
    for (struct jiter it = json_iter(json_get(next, "conditions")); json_next(&it, &k, &now);) {
        struct jval type = json_get(now, "type"), yes = json_get(now, "status");
        struct arena none = {0};
        struct jval before = status_condition(prior, json_str(type, &none)); /* types hold no escapes: nothing is allocated */
        if (!json_equal(json_get(before, "status"), yes))
            return false;
    }
    return json_len(json_get(prior, "conditions")) == json_len(json_get(next, "conditions"));
}

/* Programs wait for this with an address in their hands, also while workers are still being made. */
static bool head_came(struct jval prior, struct jval next)
{
    struct slice type = SLICE("HeadPodReady");
    struct jval was = status_condition(prior, type), is = status_condition(next, type);
    return json_there(was) && json_is(json_get(is, "status"), "True") && !json_equal(json_get(was, "status"), json_get(is, "status"));
}

/* Whether the plan writes something else than status: the answer brings the cluster here again. */
static bool acts(const struct plan *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        enum verb_how how = p->actions[i].verb->how;
        if (how == VERB_CREATE || how == VERB_APPLY || how == VERB_DELETE || how == VERB_DRY_RUN)
            return true;
    }
    return false;
}

/* The states that every head passes on its way up: a starting fleet does not report them. */
static bool is_start(struct jval condition)
{
    static const char *const course[] = {"HeadPodNotFound", "HeadPodTerminating", "ContainersNotReady", "ContainerCreating",
                                         "PodInitializing"};
    for (size_t i = 0; i < COUNT_OF(course); i++)
        if (json_is(json_get(condition, "reason"), course[i]))
            return true;
    return false;
}

/* Monotonic: end of the delay of the first status write, so that a cluster that is soon ready is written once, and not three times: a
 * status is the dearest request of a start (docs/performance.md). 0: no delay, as after a failure. */
static int64_t start_due_ms(const struct facts *f, struct jval next)
{
    int64_t ms = (int64_t)f->in->fleet.starting * START_EACH_MS;
    struct jval head = status_condition(next, SLICE("HeadPodReady"));
    bool quiet = f->valid && f->in->made_ms && !json_there(json_get(f->prior, "conditions")) && f->head &&
                 (f->head->ready ? !is_whole(next) : is_start(head)) &&
                 !json_is(json_get(status_condition(next, SLICE(STATUS_TYPES_READY)), "status"), "False");
    for (uint32_t i = 0; i <= f->in->cluster->group_count && quiet; i++)
        quiet = f->in->failures[i].count == 0;
    return quiet ? f->in->made_ms + (ms < START_MS ? START_MS : ms < START_MAX_MS ? ms : START_MAX_MS) : 0;
}

/* Tells what keeps the head from ready as an event and a log line, once for each change of the reason: status shows only the present one,
 * and a crashing head may be up again when somebody looks. A status without this condition was pruned by the server: no change can be seen.
 */
static void say_head_kept(const struct facts *f, struct jval next, struct plan *p)
{
    struct slice type = SLICE("HeadPodReady");
    struct jval was = status_condition(f->prior, type), is = status_condition(next, type);
    bool kept = f->head ? pod_live(f->head) && !f->head->ready && !slice_empty(f->head->words) : !slice_empty(f->going);
    bool first = !json_there(f->prior);
    if (!kept || is_start(is) || !(first || json_there(was)) || json_equal(json_get(was, "reason"), json_get(is, "reason")))
        return;
    plan_event(p, true, "HeadPodNotReady", arena_cut(f->a, json_get_str(is, "message", f->a), LIMIT_KUBE_EVENT_NOTE));
    p->actions[p->count - 1].logged = true;
}

/* Tells which groups get no pods for want of an instance type, once for each change of that text. */
static void say_types(const struct facts *f, struct jval next, struct plan *p)
{
    struct slice type = SLICE(STATUS_TYPES_READY);
    struct jval was = status_condition(f->prior, type), is = status_condition(next, type);
    if (!json_is(json_get(is, "status"), "False") || json_equal(json_get(was, "message"), json_get(is, "message")))
        return;
    plan_event(p, true, "InstanceTypesNotReady", json_get_str(is, "message", f->a));
    p->actions[p->count - 1].logged = true;
}

/* Event and log line, once, when the condition appears. */
static void say_appeared(const struct facts *f, struct jval next, bool warning, const char *type, const char *event, struct plan *p)
{
    struct jval is = status_condition(next, slice_of(type));
    if (!json_there(is) || json_there(status_condition(f->prior, slice_of(type))))
        return;
    plan_event(p, warning, event, arena_cut(f->a, json_get_str(is, "message", f->a), LIMIT_KUBE_EVENT_NOTE));
    p->actions[p->count - 1].logged = true;
}

/* An event each time a rolling update stops at a pod that fails. */
static void say_roll(const struct facts *f, struct jval next, struct plan *p)
{
    struct jval is = status_condition(next, SLICE(STATUS_DRIFT)), was = status_condition(f->prior, SLICE(STATUS_DRIFT));
    if (!json_is(json_get(is, "reason"), STATUS_ROLL_STOPPED) || json_is(json_get(was, "reason"), STATUS_ROLL_STOPPED))
        return;
    plan_event(p, true, STATUS_ROLL_STOPPED, arena_cut(f->a, json_get_str(is, "message", f->a), LIMIT_KUBE_EVENT_NOTE));
}

/* A condition is as it was, but for another reason: demand that was met is not, a head that was starting cannot. Where there was none that
 * is no news: the server may drop what it does not know. */
static bool other_reason(struct jval prior, struct jval next)
{
    struct jval k, now;
    for (struct jiter it = json_iter(json_get(next, "conditions")); json_next(&it, &k, &now);) {
        struct arena none = {0};
        struct jval before = status_condition(prior, json_str(json_get(now, "type"), &none)), was = json_get(before, "reason");
        struct jval type = json_get(now, "type"); /* the messages of these say how often, and which groups */
        bool counted = json_is(type, "ReplicaFailure") || json_is(type, STATUS_TYPES_READY);
        bool other =
            !json_equal(was, json_get(now, "reason")) || (counted && !json_equal(json_get(before, "message"), json_get(now, "message")));
        if (json_there(was) && other && json_equal(json_get(before, "status"), json_get(now, "status")) && !is_start(now))
            return true;
    }
    return false;
}

static uint32_t reasons_of_late(const struct cluster_view *in)
{
    if (in->now.mono_ms - in->reasons_ms >= REASONS_KEPT_MS)
        return 0;
    return in->reasons < REASONS_MAX ? in->reasons : REASONS_MAX;
}

static int64_t reason_ms(const struct cluster_view *in)
{
    int64_t ms = (int64_t)REASON_MS << reasons_of_late(in);
    return ms < PROGRESS_MS ? ms : PROGRESS_MS;
}

static int64_t pause_ms(const struct cluster_view *in, struct jval prior, struct jval next)
{
    if (!mere_progress(prior, next))
        return 0;
    if (other_reason(prior, next))
        return reason_ms(in);
    int64_t ms = (int64_t)in->fleet.all * PROGRESS_EACH_MS;
    return ms < PROGRESS_MS ? PROGRESS_MS : ms > PROGRESS_MAX_MS ? PROGRESS_MAX_MS : ms;
}

/* How long the news must wait, and until when: not before a refused write may be tried again, and progress not too often. */
static int64_t status_due_ms(const struct facts *f, struct jval next)
{
    const struct cluster_view *in = f->in;
    struct jval prior = f->prior;
    int64_t start = start_due_ms(f, next), due = in->status_at_ms != 0 ? in->status_at_ms + pause_ms(in, prior, next) : 0;
    due = due > start ? due : start;
    return due > in->status_not_before_ms ? due : in->status_not_before_ms;
}

void decide_status(const struct cluster_view *in, struct plan *p)
{
    struct jval prior = {.at = -1};
    struct err e = {0};
    if (!slice_empty(in->status) && !json_read(&prior, in->status, p->arena, &e))
        prior = (struct jval){.at = -1};
    struct facts f;
    facts_gather(in, prior, p->arena, &f);
    struct status_writer w = {
        .plan = p, .prior = prior, .hash = in->status_hash, .now = in->now, .uid = in->cluster->uid, .about = &f, .write = write_status};
    bool other = status_next(&w);
    if (f.old_head) /* the end of that time is no event */
        plan_look_again(p, in->now.mono_ms + POD_OLD_HEAD_MS - (in->now.wall_us - f.head->run_us) / 1000);
    if (f.going_again_us) /* from then on the deletion counts as hanging */
        plan_look_again(p, in->now.mono_ms + 1 + (f.going_again_us - in->now.wall_us) / 1000);
    if (f.slow_again_us)
        plan_look_again(p, in->now.mono_ms + 1 + (f.slow_again_us - in->now.wall_us) / 1000);
    if (f.expiring_again_us)
        plan_look_again(p, in->now.mono_ms + 1 + (f.expiring_again_us - in->now.wall_us) / 1000);
    int64_t late_ms = status_late_in_ms(&f);
    if (late_ms > 0 && late_ms != TIME_NEVER)
        plan_look_again(p, in->now.mono_ms + late_ms);
    if (!other)
        return;
    struct jval next = status_next_object(&w);
    if (json_covers(prior, next))
        return;
    bool busy = acts(p) && (in->status_at_ms == 0 || in->now.mono_ms - in->status_at_ms < BUSY_MS);
    if (busy && in->errors->count == 0 && !head_came(prior, next))
        return; /* the answers to these actions bring us here again */
    int64_t due_ms = status_due_ms(&f, next);
    if (in->now.mono_ms < due_ms) {
        plan_look_again(p, due_ms);
        return;
    }
    /* A spec that cannot work, or a template that the API server refuses. */
    status_say_invalid(&w, in->cluster->generation, in->errors->count ? "InvalidRayClusterSpec" : "PodRefused",
                       f.valid ? SLICE("") : status_errors(&f, LIMIT_KUBE_EVENT_NOTE));
    say_head_kept(&f, next, p);
    say_types(&f, next, p);
    say_appeared(&f, next, true, STATUS_LATE, "WorkloadStartingTimeout", p);
    say_appeared(&f, next, false, STATUS_DRIFT, STATUS_DRIFT, p);
    say_roll(&f, next, p);
    say_appeared(&f, next, true, STATUS_SLOW, STATUS_SLOW, p);
    say_appeared(&f, next, true, STATUS_ZONES, STATUS_ZONES, p);
    say_appeared(&f, next, true, STATUS_CERTIFICATES, STATUS_CERTIFICATES, p);
    status_send(&w);
    if (mere_progress(prior, next) && other_reason(prior, next))
        p->reasons = reasons_of_late(in) + 1;
}
