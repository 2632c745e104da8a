/* A RayJob that runs: looked at, submitted when Ray does not know it, noticed when it is lost. */
#include "decide.h"

struct job_said job_heard(const struct job_decision *d)
{
    const struct job_said *said = &d->in->said;
    return !slice_empty(said->cluster) && slice_eq(said->cluster, d->is.cluster) ? *said : (struct job_said){0};
}

bool job_uses_pod(const struct job_decision *d)
{
    return d->job->own_submitter || (d->job->mode == RAY_JOB_K8S && d->in->submitter_pods);
}

/* ---- looking ---- */

/* A job that has run for an hour is not looked at as often as one that just began; and no two at the same time for ever. */
static int64_t next_look_ms(const struct job_decision *d, const struct job_said *said)
{
    uint64_t seed = hash64(d->job->uid, (uint64_t)said->answered_ms);
    if (said->failures) {
        int64_t wait = plan_backoff_ms(said->failures, seed);
        return said->failed_ms + (wait < JOB_LOOK_FAILING_MAX_MS ? wait : JOB_LOOK_FAILING_MAX_MS - (int64_t)(seed % 1000));
    }
    if (said->answered_ms == 0)
        return d->in->now.mono_ms;
    int64_t age_ms = (d->in->now.wall_us - d->is.start_us) / 1000, wait = age_ms / 20;
    wait = wait < JOB_LOOK_MS ? JOB_LOOK_MS : wait > JOB_LOOK_MAX_MS ? JOB_LOOK_MAX_MS : wait;
    return said->answered_ms + wait - (int64_t)(seed % (uint64_t)(wait / 4));
}

static void ask(struct job_decision *d, const struct verb *verb, struct slice id)
{
    struct action *act = plan_add(d->p, verb);
    act->name = d->is.cluster;
    act->text = id;
}

void decide_look(struct job_decision *d, struct slice id)
{
    struct job_said said = job_heard(d);
    if (said.asking)
        return;
    bool other = !slice_empty(id) && !slice_eq(said.id, id) && !said.failures; /* an earlier question is not the one to ask now */
    bool at_once = other || (d->stale && !said.failures);
    int64_t due_ms = at_once ? d->in->now.mono_ms : next_look_ms(d, &said);
    if (d->in->now.mono_ms >= due_ms)
        ask(d, &rayjob_look, id);
    else
        plan_look_again(d->p, due_ms);
}

/* ---- submitter pods ---- */

static const struct pod *find_submitter(const struct job_decision *d, struct slice name)
{
    for (uint32_t i = 0; i < d->in->submitter_count; i++)
        if (slice_eq(slice_of(d->in->submitters[i]->name), name))
            return d->in->submitters[i];
    return NULL;
}

/* A pod that ended, or was deleted and has left no trace, may have submitted before, and the job may be over since. */
static bool is_fresh(struct job_decision *d, const struct job_said *said)
{
    d->stale = d->in->now.mono_ms > said->answered_ms + JOB_FRESH_MS;
    return !d->stale;
}

static bool has_succeeded(const struct pod *pod)
{
    return pod->phase == POD_SUCCEEDED || (pod->ended && pod->exit_code == 0);
}

/* It is over and calls that a success, but Ray does not know the job: its command has submitted nothing, or under another id, and would
 * again. */
static void submitted_nothing(struct job_decision *d, const struct job_said *said, const struct pod *pod)
{
    if (is_fresh(d, said))
        job_fail(d, "SubmissionFailed",
                 arena_printf(d->a,
                              "submitter pod %s ended with exit code 0, but Ray does not know job %.*s: the pod's command must submit it "
                              "under this id, as ray job submit --submission-id \"$RAY_JOB_SUBMISSION_ID\" does",
                              pod->name, SLICE_ARG(d->is.id)),
                 RETRY_NEVER);
}

/* One that does not start is waited for, as everything that Kubernetes may yet mend; why it does not is in status. */
static void submitter_waits(struct job_decision *d, const struct pod *pod)
{
    int64_t worth_us = pod->created_us + (int64_t)JOB_TROUBLE_MS * 1000;
    if (pod->phase != POD_PENDING || pod->deleting)
        return;
    if (d->in->now.wall_us < worth_us)
        plan_look_again(d->p, job_mono_ms(d, worth_us));
    else
        d->to.message =
            arena_printf(d->a, "submitter pod %s has not started%s%.*s", pod->name, pod->reason.len ? ": " : "", SLICE_ARG(pod->reason));
}

/* When the n-th submitter may be made, the one before it having failed: 0: now. The API server's clock is not ours; of a pod that this
 * process has made it knows by a clock that nobody sets. */
static int64_t next_submitter_ms(const struct job_decision *d, const struct pod *last, int32_t n)
{
    if (!last)
        return 0;
    int64_t wait_ms = plan_backoff_ms((uint32_t)n, hash64(d->job->uid, 0)), made_ms = d->in->submitter_ms;
    int64_t due_ms = job_mono_ms(d, job_due_us(d, last->created_us, wait_ms));
    if (made_ms && made_ms + wait_ms > due_ms)
        due_ms = made_ms + wait_ms;
    return due_ms > d->in->now.mono_ms + 1 ? due_ms : 0;
}

/* Makes the first submitter that is needed, and the next when one failed. */
static void decide_submitter(struct job_decision *d, const struct job_said *said)
{
    const struct group_failures *refused = d->in->refusals;
    const struct pod *last = NULL;
    struct err e = {0};
    if (!ray_submitter_fits(d->job, &e)) {
        job_fail(d, "SubmissionFailed", arena_dup(d->a, slice_of(e.text)), RETRY_NEVER);
        return;
    }
    for (int32_t n = 0; n <= d->job->submitter_retries; n++) {
        struct slice name = ray_job_submitter_name(d->job, d->is.attempt, n, d->a);
        const struct pod *pod = find_submitter(d, name);
        if (pod) {
            last = pod;
            if (pod_failed(pod) && !has_succeeded(pod))
                continue;
            if (pod_failed(pod))
                submitted_nothing(d, said, pod);
            else
                submitter_waits(d, pod);
            return;
        }
        int64_t due_ms = next_submitter_ms(d, last, n);
        if (refused && refused->count) {
            d->to.message = arena_printf(d->a, "submitter pod %.*s cannot be created: %s", SLICE_ARG(name), refused->reason);
            due_ms = refused->not_before_ms > due_ms ? refused->not_before_ms : due_ms;
        }
        if (d->in->now.mono_ms < due_ms)
            plan_look_again(d->p, due_ms);
        else if (is_fresh(d, said))
            plan_add(d->p, &rayjob_create_submitter)->name = name;
        return;
    }
    if (!is_fresh(d, said))
        return;
    job_fail(d, "SubmissionFailed",
             arena_printf(d->a, "%d submitter pods failed, the last: %.*s", (int)d->job->submitter_retries + 1,
                          SLICE_ARG(last ? pod_failure_text(last, d->a) : SLICE(""))),
             RETRY_MAYBE);
}

/* ---- the run ---- */

/* No further answer will come. If status already has the end, there is nothing to record. */
static void lost(struct job_decision *d, const char *reason, struct slice why, enum retry retry)
{
    struct job_said known = {.state = d->is.state, .message = why, .log_asked = true};
    if (d->is.state >= JOB_STOPPED)
        job_finish(d, &known);
    else
        job_fail(d, reason, why, retry);
}

/* A time that the head tells. Its clock is not ours: one that is behind shows in a start before the submission, and all that it tells is so
 * much later; of one that is ahead nothing is later than now. The first answer stays: else a time in the future would come true when our
 * clock gets there. */
static int64_t told_us(const struct job_decision *d, const struct job_said *said, int64_t us, int64_t known_us)
{
    int64_t behind_us = said->started_us ? d->is.start_us - said->started_us : 0, now_us = d->in->now.wall_us;
    if (known_us)
        return known_us;
    if (behind_us > 0 && us && d->job->mode != RAY_JOB_INTERACTIVE) /* which was submitted whenever its user liked */
        us += behind_us;
    return us <= now_us ? us : now_us;
}

/* Ray knows the job. Returns whether that ended it. */
static bool follow(struct job_decision *d, const struct job_said *said)
{
    d->to.state = said->state;
    d->to.ray_start_us = told_us(d, said, said->started_us, d->is.ray_start_us);
    d->to.ray_end_us = told_us(d, said, said->ended_us, d->is.ray_end_us);
    if (said->state < JOB_STOPPED)
        return false;
    job_finish(d, said);
    return true;
}

/* Looks are answered, and submissions are not: nobody knows whether that passes. What keeps them may be in the way there, or in Ray, and it
 * is for people to look into; the job waits, as long as its deadline lets it. */
static struct slice unheard_text(const struct job_decision *d, const struct job_said *said)
{
    if (said->unheard < JOB_SUBMIT_UNHEARD || d->is.state != JOB_STATE_NONE)
        return SLICE("");
    return arena_printf(d->a, "job %.*s could not be submitted so far: %.*s", SLICE_ARG(d->is.id),
                        SLICE_ARG(said->unheard_no.len ? said->unheard_no : SLICE("submissions have no answer, and Ray does not know it")));
}

static int64_t next_submit_ms(const struct job_decision *d, const struct job_said *said)
{
    uint64_t seed = hash64(d->job->uid, 0);
    int64_t wait_ms = plan_backoff_ms(said->unheard, seed);
    int64_t heard_ms = said->unheard_ms + (wait_ms < JOB_LOOK_FAILING_MAX_MS ? wait_ms : JOB_LOOK_FAILING_MAX_MS);
    int64_t due_ms = said->unsubmitted ? said->unsubmitted_ms + plan_backoff_ms(said->unsubmitted, seed) : d->in->now.mono_ms;
    return said->unheard && heard_ms > due_ms ? heard_ms : due_ms;
}

/* A Ray that answers with errors of its own is asked again after a growing pause, and not for ever. */
static bool may_submit(struct job_decision *d, const struct job_said *said)
{
    if (said->unsubmitted >= JOB_SUBMIT_TRIES) {
        job_fail(d, "SubmissionFailed",
                 arena_printf(d->a, "Ray did not take the submission in %d tries, the last: %.*s", JOB_SUBMIT_TRIES,
                              SLICE_ARG(said->unsubmitted_why)),
                 RETRY_MAYBE);
        return false;
    }
    int64_t due_ms = next_submit_ms(d, said);
    if (d->in->now.mono_ms >= due_ms)
        return true;
    plan_look_again(d->p, due_ms);
    return false;
}

/* Ray does not know it: it was never submitted, or it is lost. Returns whether that ended it. */
static bool submit(struct job_decision *d, const struct job_said *said)
{
    struct slice id = d->is.id;
    if (d->is.state != JOB_STATE_NONE) {
        lost(d, "JobLost", arena_printf(d->a, "Ray does not know job %.*s any more", SLICE_ARG(id)), RETRY_MAYBE);
        return true;
    }
    if (!slice_empty(said->refused)) {
        job_fail(d, "SubmissionFailed", arena_printf(d->a, "Ray refused the submission: %.*s", SLICE_ARG(said->refused)), RETRY_NEVER);
        return true;
    }
    if (d->job->mode == RAY_JOB_INTERACTIVE) {
        d->to.message = arena_printf(d->a, "Ray does not know job %.*s: submit it with this id", SLICE_ARG(id));
        return false;
    }
    if (d->in->errors->count || said->asking || d->in->namespace_going)
        return false; /* the submission would differ from the intended one */
    if (!slice_empty(d->job->selected) && !d->job->finalizer)
        plan_add(d->p, &rayjob_add_finalizer)->text = SLICE(RAY_JOB_FINALIZER); /* stored before the job is submitted */
    else if (job_uses_pod(d))
        decide_submitter(d, said);
    else if (may_submit(d, said))
        ask(d, &rayjob_submit, id);
    return d->to.phase != d->is.phase;
}

/* Message of HeadLost, with the cause if it is known: killed for memory, evicted, lost with its node. */
static struct slice head_lost_text(const struct job_decision *d)
{
    struct slice end = d->cluster ? d->cluster->head_end : SLICE_NONE;
    return arena_printf(d->a, "the head was restarted, and Ray has forgotten the job%s%.*s", end.len ? ": " : "", SLICE_ARG(end));
}

/* The dashboard's answer decides first: an end that is known beats every deadline. Returns whether the run is over. */
static bool hear(struct job_decision *d, const struct job_said *said)
{
    if (slice_empty(said->session))
        return false;
    bool unseen = d->job->mode == RAY_JOB_INTERACTIVE && d->is.state == JOB_STATE_NONE; /* so it cannot be lost with a former head */
    if (slice_empty(d->is.session) || unseen) {
        d->to.session = said->session; /* of a job that somebody else began */
    } else if (!slice_eq(said->session, d->is.session)) {
        lost(d, "HeadLost", head_lost_text(d), RETRY_MAYBE);
        return true;
    }
    if (!slice_eq(said->id, d->is.id) || slice_empty(d->is.id))
        return false;
    return said->known ? follow(d, said) : submit(d, said);
}

static bool submits(const struct plan *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb == &rayjob_submit)
            return true;
    return false;
}

/* Why a connection fails changes from one try to the next, and is in the log; a no is the same each time, and for somebody to act on. */
struct slice job_silence(const struct job_decision *d, const struct job_said *said, struct slice silent)
{
    if (said->failures == 0)
        return SLICE("");
    return said->says_no ? arena_dup(d->a, said->trouble) : silent;
}

/* Whether the dashboard has been silent for most_s since the time that an earlier process wrote to status, and for JOB_HEARD_MS in this
 * process: an operator that is restarted often gives up a dead job, too. Silence that began in this process is measured by the monotonic
 * clock. */
static bool silent_before(const struct job_decision *d, int64_t silent_ms, int64_t most_s)
{
    return d->in->silent_before && silent_ms >= JOB_HEARD_MS && d->in->now.wall_us - d->is.silent_us >= most_s * 1000000;
}

/* Gives up a job whose dashboard is silent for too long. The time in status is for users and for the next leader (silent_before). */
static void lose_patience(struct job_decision *d, const struct job_said *said)
{
    const struct job_cluster *c = d->cluster;
    int64_t silent_ms = d->in->now.mono_ms - said->failing_ms, since = d->is.silent_us,
            most_s = d->in->silence_s ? d->in->silence_s : JOB_CHECK_TIMEOUT_MS / 1000;
    if (said->failures == 0) {
        if (said->answered_ms)
            d->to.silent_us = 0;
        return;
    }
    if (since == 0 && silent_ms < JOB_TROUBLE_MS) {
        plan_look_again(d->p, said->failing_ms + JOB_TROUBLE_MS);
        return;
    }
    d->to.silent_us = since ? since : d->in->now.wall_us - silent_ms * 1000;
    d->to.message = job_silence(d, said, SLICE("the dashboard does not answer"));
    if (c->head_failures >= JOB_HEAD_FAILURES)
        lost(d, "HeadLost", arena_printf(d->a, "the head does not come back: %.*s", SLICE_ARG(c->why)), RETRY_MAYBE);
    else if (silent_ms < most_s * 1000 && !silent_before(d, silent_ms, most_s))
        plan_look_again(d->p, said->failing_ms + (d->in->silent_before && silent_ms < JOB_HEARD_MS ? JOB_HEARD_MS : most_s * 1000));
    else if (c->head_runs) /* and maybe the job with it: not a second one */
        lost(d, "JobStatusCheckTimeoutExceeded",
             arena_printf(d->a, "the dashboard has not answered for %d s: %.*s", (int)most_s, SLICE_ARG(said->trouble)), RETRY_NEVER);
    else
        lost(d, "HeadLost",
             arena_printf(d->a, "the dashboard has not answered for %d s, and no head runs: %.*s", (int)most_s,
                          SLICE_ARG(c->why.len ? c->why : said->trouble)),
             RETRY_MAYBE);
}

static void run(struct job_decision *d)
{
    struct job_said said = job_heard(d);
    const struct job_cluster *c = d->cluster;
    bool mine = slice_empty(d->job->selected) && d->in->errors->count == 0; /* of a spec that cannot be read nobody knows whose it is */
    bool over = d->is.state >= JOB_STOPPED;                                 /* its end is known, and on its way into status */
    d->to.message = unheard_text(d, &said);
    decide_remove(d, false, "it is of an earlier attempt");
    if (hear(d, &said))
        return;
    if (d->job->suspend && !over && slice_empty(d->job->selected)) { /* of a selected cluster it is an error, which deletes nothing */
        d->to.phase = JOB_PHASE_SUSPENDING;
    } else if (!over && job_passed(d, d->is.start_us, d->in->start_known_ms, d->job->active_deadline_s)) {
        struct slice waited = d->to.message;
        job_fail(d, "DeadlineExceeded",
                 arena_printf(d->a, "the job was not finished after %d s (activeDeadlineSeconds)%s%.*s", (int)d->job->active_deadline_s,
                              waited.len ? ": " : "", SLICE_ARG(waited)),
                 RETRY_NEVER);
    } else if (!c || c->deleting || (mine && !c->owned)) {
        lost(d, "ClusterLost", arena_printf(d->a, "RayCluster %.*s was deleted", SLICE_ARG(d->is.cluster)), RETRY_MAYBE);
    } else {
        lose_patience(d, &said);
        if (slice_empty(d->to.message) && c->why.len) /* its pods are lost or cannot start: the program may wait for them */
            d->to.message = arena_printf(d->a, "RayCluster %.*s: %.*s", SLICE_ARG(c->name), SLICE_ARG(c->why));
        if (d->to.phase == d->is.phase && !submits(d->p))
            decide_look(d, d->is.id);
    }
}

/* A job that moves on to another attempt, or has failed, is not submitted any more: it would run where it is not followed. Its
 * finalizer is not written before that status either. */
static void withhold(struct plan *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb != &rayjob_submit && p->actions[i].verb != &rayjob_create_submitter &&
            p->actions[i].verb != &rayjob_add_finalizer)
            p->actions[kept++] = p->actions[i];
    p->count = kept;
}

void decide_job_running(struct job_decision *d)
{
    run(d);
    if (d->to.phase != d->is.phase)
        withhold(d->p);
}
