/* The end of a RayJob: what it was, what is deleted then, and what must not be left behind. */
#include "decide.h"

struct slice job_shorten(struct slice text, size_t max, struct arena *a)
{
    static const struct slice gap = SLICE("\n[...]\n");
    text = slice_trim(text);
    if (text.len <= max || max < 4 * gap.len)
        return slice_head(text, max);
    size_t front = (max - gap.len) / 4, back = max - gap.len - front;
    while (front && ((unsigned char)text.ptr[front] & 0xc0) == 0x80) /* no character is cut in two */
        front--;
    while (back && ((unsigned char)text.ptr[text.len - back] & 0xc0) == 0x80)
        back--;
    return arena_printf(a, "%.*s%.*s%.*s", (int)front, text.ptr, SLICE_ARG(gap), (int)back, text.ptr + (text.len - back));
}

static void say_end(struct job_decision *d, bool warning, const char *event, struct slice what)
{
    struct slice note = d->to.message.len ? arena_printf(d->a, "%.*s: %.*s", SLICE_ARG(what), SLICE_ARG(d->to.message)) : what;
    plan_event(d->p, warning, event, job_shorten(note, LIMIT_KUBE_EVENT_NOTE, d->a));
}

void job_fail(struct job_decision *d, const char *reason, struct slice message, enum retry retry)
{
    const struct ray_job *job = d->job;
    d->to.failed = d->is.failed + 1;
    d->to.end_us = d->in->now.wall_us;
    d->to.reason = slice_of(reason);
    d->to.message = job_shorten(message, LIMIT_JOB_MESSAGE, d->a);
    bool again = retry == RETRY_MAYBE && slice_empty(job->selected) && job->mode != RAY_JOB_INTERACTIVE && d->to.failed <= job->retries;
    d->to.phase = again ? JOB_PHASE_RETRYING : JOB_PHASE_FAILED;
    if (again)
        say_end(d, true, "RetryingRayJob",
                arena_printf(d->a, "attempt %d failed (%s), %lld of %d retries", (int)d->is.attempt, reason, (long long)d->to.failed,
                             (int)job->retries));
    else
        say_end(d, true, "FailedRayJob", slice_of(reason));
}

/* Ray's own words, and the log's last lines where they are not in them already: of a failure older Rays say only the exit code, and of a
 * success all of them say only that it was one. The cluster goes soon, and the log with it. */
static struct slice end_text(const struct job_said *said, struct arena *a)
{
    struct slice log = slice_trim(said->log), last = log;
    for (ptrdiff_t at = slice_find(last, '\n'); at >= 0; at = slice_find(last, '\n'))
        last = slice_skip(last, (size_t)at + 1);
    if (slice_empty(log) || slice_has(said->message, arena_dup(a, last).ptr))
        return said->message;
    return arena_printf(a, "%.*s\nlog:\n%.*s", SLICE_ARG(said->message), SLICE_ARG(log));
}

/* Whether a submitter pod is still at work: its log is what its owner reads. */
static bool submitter_works(const struct job_decision *d)
{
    for (uint32_t i = 0; i < d->in->submitter_count && job_uses_pod(d); i++) {
        const struct pod *pod = d->in->submitters[i];
        if (!pod->deleting && !pod_failed(pod))
            return true;
    }
    return false;
}

static void read_log(struct job_decision *d)
{
    struct action *act = plan_add(d->p, &rayjob_read_log);
    act->name = d->is.cluster;
    act->text = d->is.id;
}

void job_finish(struct job_decision *d, const struct job_said *said)
{
    if (submitter_works(d) && d->to.ray_end_us && !job_passed(d, d->to.ray_end_us, d->in->ray_end_known_ms, JOB_SUBMITTER_GRACE_MS / 1000))
        return;
    if (!said->log_asked) {
        if (!said->asking)
            read_log(d);
        return;
    }
    if (said->state == JOB_FAILED) {
        struct slice cause = d->cluster ? d->cluster->pods_failed : SLICE_NONE;
        cause = cause.len ? arena_printf(d->a, "\nRayCluster %.*s: %.*s", SLICE_ARG(d->cluster->name), SLICE_ARG(cause)) : SLICE("");
        job_fail(d, "AppFailed", arena_printf(d->a, "%.*s%.*s", SLICE_ARG(end_text(said, d->a)), SLICE_ARG(cause)), RETRY_MAYBE);
        return;
    }
    d->to.phase = JOB_PHASE_COMPLETE;
    d->to.end_us = d->in->now.wall_us;
    d->to.message = job_shorten(said->message, LIMIT_JOB_MESSAGE, d->a); /* the event has no need of the log */
    d->to.succeeded += said->state == JOB_SUCCEEDED;
    say_end(d, false, said->state == JOB_SUCCEEDED ? "SucceededRayJob" : "StoppedRayJob", slice_of(job_state_name(said->state)));
    d->to.message = job_shorten(end_text(said, d->a), LIMIT_JOB_MESSAGE, d->a);
}

/* ---- deleting ---- */

static bool deletes(const struct plan *p, const struct pod *pod)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb == &pod_delete && slice_is(p->actions[i].uid, pod->uid))
            return true;
    return false;
}

/* A submitter that lives when its attempt is over may submit yet: to a head that started again, or after the job was told to stop. One that
 * has ended cannot, and its log is read. Returns whether none is left. */
bool decide_remove_submitters(struct job_decision *d, bool ended, const char *why)
{
    bool gone = true;
    for (uint32_t i = 0; i < d->in->submitter_count; i++) {
        const struct pod *pod = d->in->submitters[i];
        if (pod_failed(pod) && !ended)
            continue;
        gone = false;
        if (!pod->deleting && !deletes(d->p, pod))
            plan_delete(d->p, pod, GROUP_NONE, why);
    }
    return gone;
}

/* A cluster of the next attempt is not a left-over: when clusters are listed after jobs, it may be there before the status that tells of
 * it.
 */
bool decide_remove(struct job_decision *d, bool all, const char *why)
{
    struct slice next = ray_job_cluster_name(d->job, d->is.attempt + 1, d->a);
    bool gone = !all || decide_remove_submitters(d, true, why);
    for (uint32_t i = 0; i < d->in->cluster_count; i++) {
        const struct job_cluster *c = &d->in->clusters[i];
        if (!c->owned || slice_eq(c->name, next) || (!all && slice_eq(c->name, d->is.cluster)))
            continue;
        gone = false;
        if (c->deleting) { /* then pods that hang are reported */
            plan_look_again(d->p, c->stays_again_us ? job_mono_ms(d, c->stays_again_us) : d->in->now.mono_ms + POD_HANGS_MS);
            continue;
        }
        struct action *act = plan_add(d->p, &rayjob_delete_cluster);
        act->name = c->name;
        act->uid = c->uid;
        act->why = why;
    }
    return gone;
}

/* Reports submitter pods only once one hangs: the others end within seconds, and each report is a write of status. */
static void say_submitters_stay(struct job_decision *d)
{
    int64_t again_us = 0;
    struct slice stays = pods_going_text(d->in->submitters, d->in->submitter_count, d->in->now.wall_us, d->a, &again_us);
    if (again_us)
        plan_look_again(d->p, job_mono_ms(d, again_us));
    d->to.hangs = !slice_empty(stays) && !again_us;
    if (d->to.hangs)
        d->to.waits = arena_printf(d->a, "waiting for the end of submitter pods: %.*s", SLICE_ARG(stays));
}

/* Reports the cluster or submitter whose deletion the next attempt, or the suspension, waits for; with an event once a pod hangs. */
void job_say_stays(struct job_decision *d)
{
    for (uint32_t i = 0; i < d->in->cluster_count; i++) {
        const struct job_cluster *c = &d->in->clusters[i];
        if (!c->owned || !c->deleting)
            continue;
        d->to.waits = arena_printf(d->a, "waiting for the end of RayCluster %.*s%s%.*s", SLICE_ARG(c->name), c->stays.len ? ": " : "",
                                   SLICE_ARG(c->stays));
        d->to.hangs = c->stays.len && !c->stays_again_us;
    }
    if (slice_empty(d->to.waits))
        say_submitters_stay(d);
    if (d->to.hangs && !condition_is(d->prior, "Waiting", "True"))
        plan_event(d->p, true, "PodsHang", job_shorten(d->to.waits, LIMIT_KUBE_EVENT_NOTE, d->a));
}

static void suspend_workers(struct job_decision *d)
{
    const struct job_cluster *c = d->cluster;
    if (!c || !c->owned || c->deleting || c->workers_suspended)
        return;
    struct action *act = plan_add(d->p, &rayjob_suspend_workers);
    act->name = c->name;
    act->uid = c->uid;
}

static bool owns_any(const struct job_decision *d)
{
    for (uint32_t i = 0; i < d->in->cluster_count; i++)
        if (d->in->clusters[i].owned)
            return true;
    return false;
}

/* Whether it has something to delete yet. Submitters that have ended go with the cluster, and may outlast it when their deletion was
 * refused or never sent; where the cluster was selected their log stays. */
static bool touches(const struct job_decision *d, uint8_t what)
{
    bool pods = d->in->submitter_count > 0 && slice_empty(d->job->selected);
    return what == RAY_REMOVE_SELF || (what != RAY_REMOVE_NONE && owns_any(d)) || (what == RAY_REMOVE_CLUSTER && pods);
}

/* " and holds CPU 4, GPU 1": what the cluster requests by its status: CPUs, GPUs, TPUs, memory. Empty: nothing. */
static struct slice holds_text(const struct job_decision *d)
{
    static const char *const counts[][2] = {
        {"desiredCPU", "CPU"}, {"desiredGPU", "GPU"}, {"desiredTPU", "TPU"}, {"desiredMemory", "memory"}};
    struct slice text = SLICE("");
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        struct slice n = json_get_str(d->cluster->status, counts[i][0], d->a);
        if (n.len && !slice_is(n, "0"))
            text = arena_printf(d->a, "%.*s%s%s %.*s", SLICE_ARG(text), text.len ? ", " : " and holds ", counts[i][1], SLICE_ARG(n));
    }
    return text;
}

/* The job has deletion rules, and none of them deletes the cluster after this end: none matches (fits is false), or the strongest that
 * matches is DeleteNone or DeleteWorkers. Sets condition ClusterKept, with an event: a Warning if no rule matches. */
static void say_kept(struct job_decision *d, bool fits, uint8_t last)
{
    const struct job_cluster *c = d->cluster;
    char since[TIME_TEXT_MAX];
    bool none = fits && last == RAY_REMOVE_NONE, stays = !fits || none || (last == RAY_REMOVE_WORKERS && c && c->workers_suspended);
    if (!stays || !d->job->rule_count || !c || !c->owned || c->deleting)
        return;
    const char *why = none   ? "its deletion rule for this end is DeleteNone"
                      : fits ? "its deletion rules end with DeleteWorkers, which keeps the head"
                             : "no rule of deletionStrategy is for this end";
    d->to.kept_reason = none ? "DeleteNone" : fits ? "OnlyWorkersDeleted" : "NoDeletionRule";
    d->to.kept =
        arena_printf(d->a, "the job is over (%.*s) and %s: RayCluster %.*s stays since %.*s%.*s. Delete it or the RayJob, or add a rule",
                     SLICE_ARG(d->is.reason.len ? d->is.reason : slice_of(job_state_name(d->is.state))), why, SLICE_ARG(c->name),
                     SLICE_ARG(d->is.end_us ? time_format(d->is.end_us, since) : SLICE("its end")), SLICE_ARG(holds_text(d)));
    if (!condition_is(d->prior, "ClusterKept", "True"))
        plan_event(d->p, !fits, "ClusterKept", job_shorten(d->to.kept, LIMIT_KUBE_EVENT_NOTE, d->a));
}

/* Of the rules that hold now the one that deletes most is carried out; the plan looks again when the next begins to hold. */
static void decide_rules(struct job_decision *d)
{
    uint8_t ends = RAY_END_ANY, most = RAY_REMOVE_NONE, last = RAY_REMOVE_NONE;
    bool fits = false;
    if (d->is.phase == JOB_PHASE_FAILED) /* also of one that was given up, and then succeeded before its stop came */
        ends |= d->is.state == JOB_FAILED ? RAY_END_FAILED | RAY_END_GIVEN_UP : RAY_END_GIVEN_UP;
    else if (d->is.state == JOB_SUCCEEDED)
        ends |= RAY_END_SUCCEEDED;
    for (uint32_t i = 0; i < d->job->rule_count; i++) {
        const struct ray_job_rule *rule = &d->job->rules[i];
        uint8_t what = d->in->delete_jobs && d->job->shutdown ? RAY_REMOVE_SELF : rule->what;
        fits |= (rule->ends & ends) != 0;
        last = (rule->ends & ends) && what > last ? what : last;
        if (!(rule->ends & ends) || !touches(d, what))
            continue;
        bool due = rule->ttl_s == 0 || job_passed(d, d->is.end_us ? d->is.end_us : 1, d->in->end_known_ms, rule->ttl_s);
        if (due && what > most)
            most = what;
    }
    say_kept(d, fits, last);
    if (most == RAY_REMOVE_SELF)
        plan_add(d->p, &rayjob_delete);
    else if (most == RAY_REMOVE_CLUSTER)
        decide_remove(d, true, "the job is over");
    else if (most == RAY_REMOVE_WORKERS)
        suspend_workers(d);
}

void decide_job_ended(struct job_decision *d)
{
    bool gone = decide_remove_submitters(d, false, "the job is over");
    if (d->is.phase == JOB_PHASE_FAILED)
        decide_stop_given_up(d, gone);
    decide_remove(d, false, "it is of an earlier attempt");
    if (d->in->errors->count == 0)
        decide_rules(d);
    decide_let_go(d, gone);
    decide_mark(d);
}

/* ---- ends that a restore must not forget ---- */

void decide_mark(struct job_decision *d)
{
    char end[TIME_TEXT_MAX];
    int64_t since_us = d->in->now.wall_us - d->is.end_us;
    bool recent = d->is.end_us && since_us < JOB_MARK_S * INT64_C(1000000);
    if (!d->in->unmarked || !recent || d->p->count)
        return;
    plan_add(d->p, &rayjob_mark_ended)->text =
        arena_printf(d->a, "%.*s %s %s %.*s", SLICE_ARG(d->job->name), d->is.phase == JOB_PHASE_COMPLETE ? "Complete" : "Failed",
                     d->is.state == JOB_STATE_NONE ? "-" : job_state_name(d->is.state), SLICE_ARG(time_format(d->is.end_us, end)));
}

bool decide_restored_end(struct job_decision *d)
{
    struct slice rest = json_str(json_child(d->job->annotations, RAY_ANNOTATION_ENDED), d->a);
    struct slice name = slice_cut(&rest, ' '), phase = slice_cut(&rest, ' '), state = slice_cut(&rest, ' ');
    bool complete = slice_is(phase, "Complete");
    int64_t end_us;
    if (!slice_eq(name, d->job->name) || !(complete || slice_is(phase, "Failed")) || !time_parse(rest, &end_us, NULL))
        return false;
    d->to.phase = complete ? JOB_PHASE_COMPLETE : JOB_PHASE_FAILED;
    job_state_parse(state, &d->to.state);
    d->to.end_us = end_us;
    d->to.reason = SLICE("Restored");
    d->to.message =
        SLICE("it ended before it was restored, and is not run again: to run it, create it without annotation " RAY_ANNOTATION_ENDED);
    return true;
}
