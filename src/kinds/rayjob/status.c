/* A RayJob's status: read into a course, and written as a merge patch when the course says something new. Words and fields are KubeRay's;
 * attempt, raySession and conditions are ours, and a server with KubeRay's definition drops them. Without the session a head that was
 * restarted while no operator ran would look like the one before, so it is also kept where that definition has room: as a condition in the
 * copy of the cluster's status. It is written with the rest of status, or not at all. */
#include "decide.h"

#include <mobula/status.h>

#define SESSION_CONDITION "RaySession"

static const char *const phases[] = {
    [JOB_PHASE_NEW] = "",
    [JOB_PHASE_INITIALIZING] = "Initializing",
    [JOB_PHASE_WAITING] = "Waiting",
    [JOB_PHASE_RUNNING] = "Running",
    [JOB_PHASE_COMPLETE] = "Complete",
    [JOB_PHASE_FAILED] = "Failed",
    [JOB_PHASE_RETRYING] = "Retrying",
    [JOB_PHASE_SUSPENDING] = "Suspending",
    [JOB_PHASE_SUSPENDED] = "Suspended",
    [JOB_PHASE_INVALID] = "ValidationFailed",
};

static const char *const states[] = {
    [JOB_STATE_NONE] = "",     [JOB_PENDING] = "PENDING",     [JOB_RUNNING] = "RUNNING",
    [JOB_STOPPED] = "STOPPED", [JOB_SUCCEEDED] = "SUCCEEDED", [JOB_FAILED] = "FAILED",
};

const char *job_state_name(enum job_state state)
{
    return (unsigned)state < COUNT_OF(states) ? states[state] : "";
}

bool job_state_parse(struct slice name, enum job_state *out)
{
    for (size_t i = JOB_PENDING; i < COUNT_OF(states); i++)
        if (slice_is(name, states[i])) {
            *out = (enum job_state)i;
            return true;
        }
    return false;
}

/* ---- reading ---- */

static int64_t read_time(struct jval status, const char *path, struct arena *a)
{
    int64_t us = 0;
    return time_parse(json_get_str(status, path, a), &us, NULL) && us > 0 ? us : 0;
}

static int64_t read_count(struct jval status, const char *key)
{
    int64_t n = json_get_int(status, key, 0);
    return n < 0 ? 0 : n > INT32_MAX - 1 ? INT32_MAX - 1 : n;
}

static struct slice read_session(struct jval status, struct arena *a)
{
    struct slice session = json_get_str(status, "raySession", a);
    if (!slice_empty(session))
        return session;
    return json_get_str(status_condition(json_get(status, "rayClusterStatus"), SLICE(SESSION_CONDITION)), "message", a);
}

void course_read(struct jval status, struct course *out, struct arena *a)
{
    *out = (struct course){.succeeded = read_count(status, "succeeded"),
                           .failed = read_count(status, "failed"),
                           .attempt = (int32_t)read_count(status, "attempt"),
                           .id = json_get_str(status, "jobId", a),
                           .cluster = json_get_str(status, "rayClusterName", a),
                           .dashboard = json_get_str(status, "dashboardURL", a),
                           .session = read_session(status, a),
                           .reason = json_get_str(status, "reason", a),
                           .message = json_get_str(status, "message", a),
                           .left = json_get_str(status_condition(status, SLICE("MayStillRun")), "message", a),
                           .start_us = read_time(status, "startTime", a),
                           .end_us = read_time(status, "endTime", a),
                           .ray_start_us = read_time(status, "rayJobInfo.startTime", a),
                           .ray_end_us = read_time(status, "rayJobInfo.endTime", a),
                           .silent_us = read_time(status, "jobStatusCheckFailureStartTime", a)};
    /* A word that nobody here knows, of a later KubeRay: what was begun is not begun again, Ray is asked how it stands. */
    struct slice word = json_get_str(status, "jobDeploymentStatus", a);
    if (!slice_empty(word) && !slice_empty(out->id) && !slice_empty(out->cluster))
        out->phase = JOB_PHASE_RUNNING;
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        if (slice_is(word, phases[i]))
            out->phase = (enum job_phase)i;
    job_state_parse(json_get_str(status, "jobStatus", a), &out->state);
    /* KubeRay's definition has no such field, and a server with that one drops it: then tries are counted by those that failed. */
    if (out->attempt == 0 && !slice_empty(out->cluster)) {
        bool counted = out->phase == JOB_PHASE_RETRYING || out->phase == JOB_PHASE_FAILED;
        out->attempt = (int32_t)out->failed + (counted && out->failed ? 0 : 1);
    }
}

/* ---- writing ---- */

static void put_time(struct jout *w, struct jval prior, const char *key, int64_t us)
{
    char text[TIME_TEXT_MAX];
    status_put(w, prior, key, us ? time_format(us, text) : SLICE(""));
}

static void write_ray_info(const struct job_decision *d, struct jout *w)
{
    struct jval prior = json_get(d->prior, "rayJobInfo");
    bool none = d->to.ray_start_us == 0 && d->to.ray_end_us == 0;
    if (none && json_type(prior) != JSON_OBJECT)
        return;
    if (none) {
        jout_key(w, SLICE("rayJobInfo"));
        jout_null(w);
        return;
    }
    jout_kobject(w, "rayJobInfo");
    put_time(w, prior, "startTime", d->to.ray_start_us);
    put_time(w, prior, "endTime", d->to.ray_end_us);
    jout_end(w);
}

/* Whether the course still has to do with its cluster, so that the copy of its status is kept up. */
static bool follows_cluster(enum job_phase phase)
{
    return phase == JOB_PHASE_INITIALIZING || phase == JOB_PHASE_WAITING || phase == JOB_PHASE_RUNNING;
}

/* Writes the conditions of the cluster, and one of our own with Ray's session. */
static void write_cluster_conditions(const struct job_decision *d, struct jout *w, struct slice stamp)
{
    struct condition c = {SESSION_CONDITION, true, SLICE("DashboardAnswered"), d->to.session, d->job->generation};
    struct jval k, v;
    jout_karray(w, "conditions");
    for (struct jiter it = json_iter(json_get(d->cluster->status, "conditions")); json_next(&it, &k, &v);)
        if (!json_is(json_get(v, "type"), SESSION_CONDITION))
            jout_val(w, v);
    if (!slice_empty(d->to.session))
        status_write_condition(w, &c, json_get(d->prior, "rayClusterStatus"), stamp, d->a);
    jout_end(w);
}

/* Whether the status of a condition differs between the cluster and its copy in rayClusterStatus. Messages are not compared: they count
 * pods. */
static bool other_conditions(const struct job_decision *d)
{
    struct jval copy = json_get(d->prior, "rayClusterStatus"), k, v;
    size_t own = json_there(status_condition(copy, SLICE(SESSION_CONDITION)));
    if (json_len(json_get(d->cluster->status, "conditions")) + own != json_len(json_get(copy, "conditions")))
        return true;
    for (struct jiter it = json_iter(json_get(d->cluster->status, "conditions")); json_next(&it, &k, &v);) {
        struct jval was = status_condition(copy, json_get_str(v, "type", d->a));
        if (!json_equal(json_get(was, "status"), json_get(v, "status")))
            return true;
    }
    return false;
}

static void copy_cluster_status(const struct job_decision *d, struct jout *w, struct jval status, bool brief)
{
    static const char *const passing[] = {"conditions", "groups", "lastUpdateTime", "autoscaling"};
    struct jval k, v;
    for (struct jiter it = json_iter(status); json_next(&it, &k, &v);) {
        struct slice key = json_str(k, d->a);
        bool skip = brief && !slice_is(key, "state") && !slice_is(key, "head");
        for (size_t i = 0; i < COUNT_OF(passing); i++)
            skip |= slice_is(key, passing[i]);
        if (skip)
            continue;
        jout_key(w, key);
        jout_val(w, v);
    }
}

/* Writes rayClusterStatus: the cluster's status without members that change often. It is written when state, head or the status of a
 * condition changes; counts are those of that time. */
static void write_cluster_status(const struct job_decision *d, struct jout *w, struct slice stamp)
{
    bool brief = slice_empty(stamp);
    bool dropped = slice_empty(d->to.cluster) || !slice_eq(d->to.cluster, d->is.cluster);
    bool same = d->cluster && !dropped && follows_cluster(d->to.phase) && json_type(d->cluster->status) != JSON_NONE;
    if (dropped && json_type(json_get(d->prior, "rayClusterStatus")) == JSON_OBJECT) {
        jout_key(w, SLICE("rayClusterStatus"));
        jout_null(w);
    }
    if (!same)
        return;
    jout_kobject(w, "rayClusterStatus");
    copy_cluster_status(d, w, d->cluster->status, brief);
    if (!brief || other_conditions(d))
        write_cluster_conditions(d, w, stamp);
    jout_end(w);
}

/* Those that one waits for with kubectl wait are there when they are true. */
static void write_conditions(const struct job_decision *d, struct jout *w, struct slice stamp)
{
    static const char *const ours[] = {"Valid", "Suspended", "Complete", "Failed", "Waiting", "ClusterKept", "MayStillRun", NULL};
    const struct course *to = &d->to;
    bool valid = d->in->errors->count == 0;
    struct condition all[7] = {{"Valid", valid, valid ? SLICE("SpecAccepted") : SLICE("InvalidSpec"),
                                valid ? SLICE("") : spec_errors_text(d->in->errors, LIMIT_JOB_MESSAGE, d->a), d->job->generation}};
    size_t count = 1;
    if (to->phase == JOB_PHASE_SUSPENDED || json_there(status_condition(d->prior, SLICE("Suspended"))))
        all[count++] = (struct condition){"Suspended", to->phase == JOB_PHASE_SUSPENDED, SLICE("Suspend"), SLICE(""), d->job->generation};
    if (to->phase == JOB_PHASE_COMPLETE)
        all[count++] = (struct condition){"Complete", true, to->state == JOB_STOPPED ? SLICE("JobStopped") : SLICE("JobSucceeded"),
                                          SLICE(""), d->job->generation};
    if (to->phase == JOB_PHASE_FAILED)
        all[count++] = (struct condition){"Failed", true, to->reason, job_shorten(to->message, ERR_TEXT_MAX, d->a), d->job->generation};
    if (to->kept.len)
        all[count++] = (struct condition){"ClusterKept", true, slice_of(to->kept_reason), to->kept, d->job->generation};
    if (to->hangs)
        all[count++] =
            (struct condition){"Waiting", true, SLICE("PodsHang"), job_shorten(to->waits, ERR_TEXT_MAX, d->a), d->job->generation};
    if (to->left.len)
        all[count++] = (struct condition){"MayStillRun", true, SLICE("NotStopped"), to->left, d->job->generation};
    status_write_all(w, all, count, d->prior, stamp, d->a, ours);
}

static void write_job_status(const void *about, struct jout *w, struct slice stamp)
{
    const struct job_decision *d = about;
    const struct course *to = &d->to;
    status_put(w, d->prior, "jobDeploymentStatus", slice_of(phases[to->phase]));
    status_put(w, d->prior, "jobStatus", slice_of(states[to->state]));
    status_put(w, d->prior, "jobId", to->id);
    status_put(w, d->prior, "rayClusterName", to->cluster);
    status_put(w, d->prior, "dashboardURL", to->dashboard);
    status_put(w, d->prior, "raySession", to->session);
    status_put(w, d->prior, "reason", to->reason);
    status_put(w, d->prior, "message", job_shorten(to->message, LIMIT_JOB_MESSAGE, d->a));
    put_time(w, d->prior, "startTime", to->start_us);
    put_time(w, d->prior, "endTime", to->end_us);
    put_time(w, d->prior, "jobStatusCheckFailureStartTime", to->silent_us);
    write_ray_info(d, w);
    jout_form(w, "succeeded:%lld,failed:%lld,attempt:%d,observedGeneration:%lld", (long long)to->succeeded, (long long)to->failed,
              (int)to->attempt, (long long)d->job->generation);
    write_cluster_status(d, w, stamp);
    write_conditions(d, w, stamp);
}

/* A report belongs to the status that holds it: without one it would be reported again with the next plan. */
static void drop_events(struct plan *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb != &verb_event)
            p->actions[kept++] = p->actions[i];
    p->count = kept;
}

void decide_job_status(struct job_decision *d)
{
    struct status_writer w = {.plan = d->p,
                              .prior = d->prior,
                              .hash = d->in->status_hash,
                              .not_before_ms = d->in->status_not_before_ms,
                              .now = d->in->now,
                              .uid = d->job->uid,
                              .about = d,
                              .write = write_job_status};
    if (status_look(&w) != STATUS_NEWS) {
        drop_events(d->p);
        return;
    }
    status_say_invalid(&w, d->job->generation, "InvalidRayJobSpec", spec_errors_text(d->in->errors, LIMIT_KUBE_EVENT_NOTE, d->a));
    status_send(&w);
}
