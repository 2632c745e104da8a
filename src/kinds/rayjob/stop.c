/* A job that was given up, or lost its RayJob, is stopped where its cluster goes on. Ray's answer to a stop proves nothing: it says
 * "stopped" of a job that waits for a place, too, and leaves it PENDING. So the job is looked at after each stop, until it is over or the
 * time is. */
#include "decide.h"

/* A job that Ray has accepted is not started again. One that it has not accepted, a submitter that lives may submit after the stop. */
static bool may_stop(const struct job_decision *d, const struct job_said *said, bool submitters_gone)
{
    return submitters_gone || (said->known && slice_eq(said->id, d->is.id));
}

/* Whether Ray says that it does not run. That it does not know it counts only after a stop: before, a submission may have been on its way.
 */
static bool is_stopped(const struct job_decision *d)
{
    struct job_said said = job_heard(d);
    if (!slice_eq(said.id, d->is.id))
        return false;
    return said.known ? said.state >= JOB_STOPPED : said.stops && !said.stopping;
}

static bool must_stop(const struct job_decision *d)
{
    /* Nothing is submitted before the session is known. A server with KubeRay's definition drops it; but what is Running has one. */
    bool begun = d->is.state != JOB_STATE_NONE || d->is.phase == JOB_PHASE_RUNNING;
    begun |= !slice_empty(d->is.session) || !slice_empty(job_heard(d).session);
    bool over = d->is.state >= JOB_STOPPED || slice_empty(d->is.id) || !begun;
    bool reachable = d->cluster && !d->cluster->deleting;
    return !over && reachable && !is_stopped(d);
}

/* When it is time for the next question: a stop, or what the last one has done. Both come after a growing pause. */
static int64_t next_stop_ms(const struct job_decision *d, const struct job_said *said)
{
    uint32_t tries = said->failures ? said->failures : said->stops;
    int64_t wait_ms = plan_backoff_ms(tries, hash64(d->job->uid, 0)), since_ms = said->failures ? said->failed_ms : said->stop_ms;
    if (tries == 0)
        return d->in->now.mono_ms;
    if (said->stopping && !said->failures)
        return since_ms + JOB_LOOK_MS;
    return since_ms + (wait_ms < JOB_LOOK_FAILING_MAX_MS ? wait_ms : JOB_LOOK_FAILING_MAX_MS);
}

static void decide_stop(struct job_decision *d, bool submitters_gone)
{
    struct job_said said = job_heard(d);
    int64_t due_ms = next_stop_ms(d, &said);
    if (said.asking || (!said.stopping && !may_stop(d, &said, submitters_gone)))
        return;
    if (d->in->now.mono_ms < due_ms) {
        plan_look_again(d->p, due_ms);
        return;
    }
    struct action *act = plan_add(d->p, said.stopping ? &rayjob_look : &rayjob_stop);
    act->name = d->is.cluster;
    act->text = d->is.id;
}

/* ---- jobs that could not be stopped ---- */

static struct slice why_left(const struct job_decision *d, bool submitters_gone)
{
    struct job_said said = job_heard(d);
    bool pending = said.known && said.state == JOB_PENDING;
    if (said.stops)
        return arena_printf(d->a, "it was told to stop (%u times), and Ray's last word on it is %s%s", said.stops,
                            said.known ? job_state_name(said.state) : "none", pending ? ", which no stop ends" : "");
    if (said.failures)
        return arena_printf(d->a, "its dashboard took no stop for %lld s (%.*s)",
                            (long long)((d->in->now.mono_ms - said.failing_ms) / 1000), SLICE_ARG(said.trouble));
    return submitters_gone ? SLICE("it was not told to stop") : SLICE("a submitter pod has not ended");
}

static void say_left(struct job_decision *d, struct slice text)
{
    struct action *act = plan_add(d->p, &verb_event);
    act->warning = act->logged = true;
    act->why = "FailedToStopRayJob";
    act->text = job_shorten(text, LIMIT_KUBE_EVENT_NOTE, d->a);
}

static struct slice left_text(const struct job_decision *d, bool submitters_gone)
{
    struct slice why = why_left(d, submitters_gone);
    return arena_printf(d->a, "%.*s may still run on RayCluster %.*s: %.*s. To stop it: ray job stop --address http://%.*s %.*s",
                        SLICE_ARG(d->is.id), SLICE_ARG(d->is.cluster), SLICE_ARG(why), SLICE_ARG(d->is.dashboard), SLICE_ARG(d->is.id));
}

/* Whether this process has tried: after a restart it is late at once, and nothing is known yet. */
static bool has_tried(struct job_decision *d, bool submitters_gone)
{
    struct job_said said = job_heard(d);
    bool late = d->in->now.mono_ms >= said.failing_ms + JOB_TROUBLE_MS;
    if (said.failures && !late)
        plan_look_again(d->p, said.failing_ms + JOB_TROUBLE_MS);
    if (said.failures)
        return late;
    return said.stops ? !said.stopping : !submitters_gone;
}

/* By the monotonic clock: one that was put forward would end all attempts at once. Another process tries again. */
static bool stop_is_late(const struct job_decision *d)
{
    int64_t due_ms = d->in->end_known_ms + JOB_STOP_MS;
    bool late = d->is.end_us && d->in->now.mono_ms >= due_ms;
    if (d->is.end_us && !late)
        plan_look_again(d->p, due_ms);
    return late;
}

/* Its end, when Ray tells it, becomes status: then nobody asks again. */
void decide_stop_given_up(struct job_decision *d, bool submitters_gone)
{
    if (d->cluster == NULL || d->cluster->deleting || is_stopped(d))
        d->to.left = SLICE_NONE;
    if (is_stopped(d) && d->is.state < JOB_STOPPED && job_heard(d).known)
        d->to.state = job_heard(d).state;
    if (!must_stop(d) || !slice_empty(d->is.left))
        return;
    if (!stop_is_late(d) || !has_tried(d, submitters_gone)) {
        decide_stop(d, submitters_gone);
        return;
    }
    d->to.left = left_text(d, submitters_gone);
    say_left(d, d->to.left);
}

/* A job that is over, or was reported as one that cannot be stopped, needs no finalizer any more: it would only keep its namespace. */
void decide_let_go(struct job_decision *d, bool submitters_gone)
{
    bool over = submitters_gone && (!must_stop(d) || !slice_empty(d->is.left)) && d->to.state == d->is.state;
    if (d->job->finalizer && over && d->p->count == 0)
        plan_add(d->p, &rayjob_remove_finalizer)->text = SLICE(RAY_JOB_FINALIZER);
}

bool decide_stop_first(struct job_decision *d)
{
    struct job_said said = job_heard(d);
    int64_t until_ms = d->in->giving_up_ms + JOB_STOP_FIRST_MS;
    bool mine = d->cluster && d->cluster->owned && d->cluster->head_runs && d->in->giving_up_ms;
    if (!mine || said.failures || !must_stop(d) || d->in->now.mono_ms >= until_ms)
        return true;
    plan_look_again(d->p, until_ms);
    decide_stop(d, decide_remove_submitters(d, false, "the attempt is given up"));
    return false;
}

/* A cluster of the job's own goes with it, and so does what runs there; what runs on a selected one is stopped. The user waits for that,
 * but not for ever, and the wait is reported. */
void decide_job_deleted(struct job_decision *d)
{
    if (!d->job->finalizer)
        return;
    int64_t until_ms = d->in->leaving_ms + JOB_STOP_DELETED_MS;
    bool given_up = d->is.phase == JOB_PHASE_FAILED && !stop_is_late(d);
    bool runs = (d->is.phase == JOB_PHASE_RUNNING || given_up) && !(d->cluster && d->cluster->owned);
    bool gone = !runs || decide_remove_submitters(d, false, "the job is deleted"), stop = runs && must_stop(d);
    bool late = d->in->now.mono_ms >= until_ms;
    if (stop && late)
        say_left(d, left_text(d, gone));
    if ((gone && !stop) || late) {
        plan_add(d->p, &rayjob_remove_finalizer)->text = SLICE(RAY_JOB_FINALIZER);
        return;
    }
    plan_look_again(d->p, until_ms);
    if (stop)
        decide_stop(d, gone);
}
