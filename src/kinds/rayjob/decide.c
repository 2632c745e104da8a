/* RayJob: from the resource to a cluster on which the job can run, and back to nothing when it is suspended or tried again. */
#include "decide.h"

int64_t job_mono_ms(const struct job_decision *d, int64_t wall_us)
{
    int64_t ms = (wall_us - d->in->now.wall_us + 999) / 1000;
    return d->in->now.mono_ms + (ms > 1 ? ms : 1);
}

bool job_passed(struct job_decision *d, int64_t from_us, int64_t known_ms, int64_t seconds)
{
    int64_t due_us = from_us + seconds * 1000000, due_ms = job_mono_ms(d, due_us);
    if (seconds == 0 || from_us == 0)
        return false;
    if (known_ms && known_ms + seconds * 1000 < due_ms)
        due_ms = known_ms + seconds * 1000;
    if (d->in->now.wall_us >= due_us || d->in->now.mono_ms >= due_ms)
        return true;
    plan_look_again(d->p, due_ms);
    return false;
}

int64_t job_due_us(const struct job_decision *d, int64_t from_us, int64_t wait_ms)
{
    return from_us > d->in->now.wall_us ? d->in->now.wall_us : from_us + wait_ms * 1000;
}

/* ---- beginnings ---- */

static void refuse(struct job_decision *d)
{
    d->to.phase = JOB_PHASE_INVALID;
    d->to.reason = SLICE("ValidationFailed");
    d->to.message = spec_errors_text(d->in->errors, LIMIT_JOB_MESSAGE, d->a);
    d->to.start_us = 0;
}

static void begin_attempt(struct job_decision *d, int32_t attempt)
{
    const struct ray_job *job = d->job;
    d->to = (struct course){
        .phase = JOB_PHASE_INITIALIZING,
        .attempt = attempt,
        .succeeded = d->is.succeeded,
        .failed = d->is.failed,
        .start_us = d->in->now.wall_us,
        .id = job->mode == RAY_JOB_INTERACTIVE ? job->job_id : ray_job_submission_id(job, attempt, d->a),
        .cluster = slice_empty(job->selected) ? ray_job_cluster_name(job, attempt, d->a) : job->selected,
    };
}

static void become_suspended(struct job_decision *d)
{
    d->to = (struct course){.phase = JOB_PHASE_SUSPENDED, .attempt = d->is.attempt, .succeeded = d->is.succeeded, .failed = d->is.failed};
}

/* The next attempt, or the reasons why there is none. */
static void begin(struct job_decision *d)
{
    if (d->in->errors->count) {
        refuse(d);
        return;
    }
    if (d->job->suspend)
        become_suspended(d);
    else
        begin_attempt(d, d->is.attempt + 1);
}

static const struct job_cluster *find_cluster(const struct job_view *in, struct slice name)
{
    for (uint32_t i = 0; i < in->cluster_count; i++)
        if (!slice_empty(name) && slice_eq(in->clusters[i].name, name))
            return &in->clusters[i];
    return NULL;
}

/* Status is older than what it tells of: somebody has put it back from a backup. The cluster of a later attempt is there, and that of this
 * one has gone before it was made. Made again it would run the program beside that, a second time in this attempt; so the later one is
 * taken up as it stands. What became of those between is not known: they count as failed, as far as that leaves the later one its turn. One
 * that waits for its next attempt has counted its own failure, and the cluster of that is waited for as ever: only one beyond it is
 * news. */
static bool take_up_later(struct job_decision *d)
{
    int32_t told = d->is.phase == JOB_PHASE_RETRYING;
    int32_t later = d->job->retries < JOB_LATER_ATTEMPTS ? d->job->retries + 1 : JOB_LATER_ATTEMPTS;
    bool may = slice_empty(d->job->selected) && d->in->errors->count == 0 && (told || d->is.state < JOB_STOPPED);
    may &= d->is.attempt < INT32_MAX - JOB_LATER_ATTEMPTS;
    for (int32_t n = 1 + told; may && !d->cluster && d->in->cluster_count && n <= later; n++) {
        const struct job_cluster *c = find_cluster(d->in, ray_job_cluster_name(d->job, d->is.attempt + n, d->a));
        if (!c || !c->owned || c->deleting)
            continue;
        begin_attempt(d, d->is.attempt + n);
        for (int32_t i = told; i < n && d->to.failed < d->job->retries; i++)
            d->to.failed++;
        return true;
    }
    return false;
}

/* ---- a cluster to run on ---- */

static void create_cluster(struct job_decision *d)
{
    const struct group_failures *refused = d->in->refusals;
    if (!slice_empty(d->job->selected)) {
        d->to.message = arena_printf(d->a, "RayCluster %.*s does not exist", SLICE_ARG(d->is.cluster));
        return;
    }
    if (refused && refused->count) {
        d->to.message = arena_printf(d->a, "RayCluster %.*s cannot be created: %s", SLICE_ARG(d->is.cluster), refused->reason);
        if (d->in->now.mono_ms < refused->not_before_ms) {
            plan_look_again(d->p, refused->not_before_ms);
            return;
        }
    }
    plan_add(d->p, &rayjob_create_cluster)->name = d->is.cluster;
}

/* Whether the attempt's cluster can take the job; else `to` says what it waits for. */
static bool cluster_usable(struct job_decision *d)
{
    const struct job_cluster *c = d->cluster;
    if (!c) {
        create_cluster(d);
        return false;
    }
    struct slice name = c->name, why = c->why;
    bool own = slice_empty(d->job->selected);
    if (own && !c->owned)
        d->to.message = arena_printf(d->a, "RayCluster %.*s exists and belongs to somebody else: delete it", SLICE_ARG(name));
    else if (c->deleting)
        d->to.message = arena_printf(d->a, "waiting for the end of RayCluster %.*s, which is being deleted", SLICE_ARG(name));
    else if (own && (c->refused || (!c->ready && c->head_failures >= JOB_HEAD_FAILURES)))
        job_fail(d, "ClusterFailed", arena_printf(d->a, "RayCluster %.*s: %.*s", SLICE_ARG(name), SLICE_ARG(why)),
                 c->refused ? RETRY_NEVER : RETRY_MAYBE);
    else if (!c->ready)
        d->to.message = why.len ? arena_printf(d->a, "RayCluster %.*s is not ready: %.*s", SLICE_ARG(name), SLICE_ARG(why)) : why;
    else
        return true;
    return false;
}

static void decide_initializing(struct job_decision *d)
{
    if (d->job->suspend) {
        d->to.phase = JOB_PHASE_SUSPENDING;
        return;
    }
    if (job_passed(d, d->is.start_us, d->in->start_known_ms, d->job->active_deadline_s)) {
        job_fail(d, "DeadlineExceeded", SLICE("activeDeadlineSeconds passed before the job ran"), RETRY_NEVER);
        return;
    }
    if (job_passed(d, d->is.start_us, d->in->start_known_ms, d->job->pre_running_deadline_s)) {
        struct slice waited = d->is.message;
        job_fail(d, "PreRunningDeadlineExceeded",
                 arena_printf(d->a, "preRunningDeadlineSeconds passed%s%.*s", waited.len ? ": " : "", SLICE_ARG(waited)), RETRY_MAYBE);
        return;
    }
    decide_remove(d, false, "it is of an earlier attempt");
    if (!cluster_usable(d))
        return;
    struct job_said said = job_heard(d);
    if (slice_empty(said.session)) {
        d->to.message = job_silence(d, &said, SLICE("the dashboard does not answer yet"));
        decide_look(d, SLICE(""));
        return;
    }
    d->to.phase = d->job->mode == RAY_JOB_INTERACTIVE && slice_empty(d->job->job_id) ? JOB_PHASE_WAITING : JOB_PHASE_RUNNING;
    d->to.session = said.session;
    d->to.dashboard = d->cluster->dashboard;
    d->to.message = SLICE("");
}

static void decide_waiting(struct job_decision *d)
{
    if (d->job->suspend)
        d->to.phase = JOB_PHASE_SUSPENDING;
    else if (job_passed(d, d->is.start_us, d->in->start_known_ms, d->job->pre_running_deadline_s))
        job_fail(d, "PreRunningDeadlineExceeded", SLICE("preRunningDeadlineSeconds passed without a spec.jobId"), RETRY_NEVER);
    else if (!d->cluster || d->cluster->deleting)
        job_fail(d, "ClusterLost", arena_printf(d->a, "RayCluster %.*s was deleted", SLICE_ARG(d->is.cluster)), RETRY_NEVER);
    else if (slice_empty(d->job->job_id))
        d->to.message = SLICE("waiting for spec.jobId, the id of a job that you submitted");
    else {
        d->to.phase = JOB_PHASE_RUNNING;
        d->to.id = d->job->job_id;
        d->to.message = SLICE("");
    }
}

/* ---- back to nothing ---- */

static void decide_suspending(struct job_decision *d)
{
    if (!decide_stop_first(d))
        return;
    if (!decide_remove(d, true, "the job is suspended")) {
        job_say_stays(d);
        return;
    }
    become_suspended(d);
}

/* A new cluster when the old one is gone: what two of them would need may not be there. Who is suspended meanwhile gives back at once what
 * was admitted for it. */
static void decide_retrying(struct job_decision *d)
{
    bool gone = decide_stop_first(d) && decide_remove(d, true, "the attempt failed");
    if (!gone)
        job_say_stays(d);
    uint32_t failed = d->is.failed > 0 && d->is.failed < 1000 ? (uint32_t)d->is.failed : 1;
    int64_t due_us = job_due_us(d, d->is.end_us, plan_backoff_ms(failed, hash64(d->job->uid, 0)));
    if (gone && (d->job->suspend || d->in->now.wall_us >= due_us))
        begin(d);
    else if (gone)
        plan_look_again(d->p, job_mono_ms(d, due_us));
}

static void decide_phase(struct job_decision *d)
{
    bool wrong = d->in->errors->count > 0, begun = d->is.phase == JOB_PHASE_INITIALIZING || d->is.phase == JOB_PHASE_WAITING;
    if ((begun || d->is.phase == JOB_PHASE_RUNNING || d->is.phase == JOB_PHASE_RETRYING) && take_up_later(d))
        return;
    switch (d->is.phase) {
    case JOB_PHASE_NEW:
        if (!decide_restored_end(d))
            begin(d);
        break;
    case JOB_PHASE_INVALID: /* the next attempt has a cluster of its own, and until then this one would hold what others wait for */
        if (d->is.state == JOB_STATE_NONE)
            decide_remove(d, true, "the spec is refused");
        begin(d);
        break;
    case JOB_PHASE_INITIALIZING:
        if (wrong)
            refuse(d);
        else
            decide_initializing(d);
        break;
    case JOB_PHASE_WAITING:
        decide_waiting(d);
        break;
    case JOB_PHASE_RUNNING:
        decide_job_running(d);
        break;
    case JOB_PHASE_COMPLETE:
    case JOB_PHASE_FAILED:
        decide_job_ended(d);
        break;
    case JOB_PHASE_RETRYING:
        decide_retrying(d);
        break;
    case JOB_PHASE_SUSPENDING:
        decide_suspending(d);
        break;
    case JOB_PHASE_SUSPENDED:
        if (wrong || !d->job->suspend)
            begin(d);
        else
            decide_remove(d, true, "the job is suspended");
        break;
    }
}

void rayjob_decide(const struct job_view *in, struct arena *a, struct plan *out)
{
    struct job_decision d = {.in = in, .job = in->job, .a = a, .p = out, .prior = in->status};
    *out = (struct plan){.next_ms = TIME_NEVER, .arena = a, .hands_off = in->job->managed_elsewhere};
    if (in->job->managed_elsewhere)
        return;
    course_read(d.prior, &d.is, a);
    d.cluster = find_cluster(in, d.is.cluster);
    d.to = d.is;
    if (in->namespace_going && in->job->finalizer) { /* its cluster is deleted too, and our rights may be deleted before the RayJob */
        plan_add(out, &rayjob_remove_finalizer)->text = SLICE(RAY_JOB_FINALIZER);
        return;
    }
    if (in->job->deleting) {
        decide_job_deleted(&d);
        return;
    }
    decide_phase(&d);
    decide_job_status(&d);
}
