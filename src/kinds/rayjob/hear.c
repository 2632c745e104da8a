/* Reads a dashboard's answer about a RayJob. The dashboard is untrusted: a word that is not known is a job that runs, a time that cannot be
 * is none. */
#include "decide.h"

#include <mobula/heads.h>

static void forget_job(struct job_said *said, struct slice id)
{
    bool other = !slice_eq(said->id, id);
    said->id = id;
    said->known = false;
    said->state = JOB_STATE_NONE;
    said->message = SLICE_NONE;
    said->started_us = said->ended_us = 0;
    if (other)
        said->refused = SLICE_NONE;
}

static void no_answer(struct job_said *said, const struct ray_dash_answer *answer, struct now now)
{
    if (said->failures == 0)
        said->failing_ms = now.mono_ms;
    said->failures += said->failures < UINT32_MAX;
    said->failed_ms = now.mono_ms;
    said->trouble = slice_of(answer->err.text);
    said->says_no = answer->err.code == ERR_STATUS;
    if (answer->call != RAY_DASH_SUBMIT)
        return;
    forget_job(said, SLICE_NONE); /* whatever was known of it */
    said->absent = false;
    if (answer->http_status == 0) {
        bool no = said->says_no || answer->err.code == ERR_LIMIT;
        said->unheard += said->unheard < 1000;
        said->unheard_ms = now.mono_ms;
        said->unheard_no = no ? said->trouble : SLICE_NONE;
        return;
    }
    said->unsubmitted += said->unsubmitted < UINT32_MAX;
    said->unsubmitted_ms = now.mono_ms;
    said->unsubmitted_why = said->trouble;
}

static int64_t wall_us(int64_t ms)
{
    const int64_t most_ms = INT64_C(253402300799000); /* the end of the year 9999 */
    return ms > 0 && ms <= most_ms ? ms * 1000 : 0;
}

static void hear_job(struct job_said *said, struct slice id, const struct ray_dash_job *job)
{
    forget_job(said, id);
    said->known = true;
    said->unheard = 0;
    if (!job_state_parse(job->status, &said->state))
        said->state = JOB_RUNNING;
    said->message = job->message;
    said->started_us = wall_us(job->start_ms);
    said->ended_us = wall_us(job->end_ms);
}

static void hear_session(struct job_said *said, struct slice session)
{
    if (!slice_eq(said->session, session)) { /* another Ray, which knows nothing of what this one was told */
        forget_job(said, SLICE_NONE);
        said->refused = SLICE_NONE;
        said->stops = 0;
        said->stopping = said->absent = false;
        said->unsubmitted = said->unheard = 0;
    }
    said->session = session;
}

/* Ray answered that it does not have the job. After a submission without an answer this counts only from the session that got the
 * submission: a head that was restarted between the two requests of a look has no jobs, and the job would run twice. Session ids are
 * unique, so the session of the next look proves it. */
static void hear_absent(struct job_said *said, struct slice id)
{
    bool proven = (!said->unheard && !said->unsubmitted) || said->absent;
    said->absent = true;
    forget_job(said, proven ? id : SLICE_NONE);
}

static void hear_submitted(struct job_said *said, struct slice id)
{
    if (said->known && slice_eq(said->id, id))
        return; /* and more is known of it */
    forget_job(said, id);
    said->known = true;
    said->unheard = 0;
    said->state = JOB_PENDING;
}

/* The effect on a job that Ray knows shows later. */
static void hear_stop(struct job_said *said, struct slice id, bool absent, struct now now)
{
    said->stops += said->stops < UINT32_MAX;
    said->stop_ms = now.mono_ms;
    said->stopping = !absent;
    if (absent)
        forget_job(said, id);
}

/* Whether it is an answer to the question; else it is as if there was none. */
static bool answers(const struct ray_dash_answer *answer)
{
    switch (answer->outcome) {
    case RAY_DASH_OK:
        return answer->call != RAY_DASH_JOB || answer->job_count == 1;
    case RAY_DASH_ABSENT:
        return answer->call == RAY_DASH_JOB || answer->call == RAY_DASH_STOP || answer->call == RAY_DASH_LOG;
    case RAY_DASH_EXISTS:
        return answer->call == RAY_DASH_SUBMIT;
    case RAY_DASH_REFUSED:
        return answer->call == RAY_DASH_SUBMIT || answer->call == RAY_DASH_STOP || answer->call == RAY_DASH_LOG;
    default:
        return false;
    }
}

void job_hear(struct job_said *said, struct slice id, const struct ray_dash_answer *answer, struct now now)
{
    bool ok = answer->outcome == RAY_DASH_OK;
    said->log_asked |= answer->call == RAY_DASH_LOG; /* with an answer or without: a log is not worth a second question */
    if (!answers(answer)) {
        no_answer(said, answer, now);
        return;
    }
    /* Of a look at a job the session is the first half: a dashboard that tells that and fails at the job has not answered. */
    if (answer->call != RAY_DASH_VERSION || slice_empty(id)) {
        said->failures = 0;
        said->answered_ms = now.mono_ms;
    }
    if (answer->call == RAY_DASH_VERSION) {
        hear_session(said, answer->session);
    } else if (answer->call == RAY_DASH_JOB) {
        said->stopping = false;
        if (ok)
            hear_job(said, id, &answer->jobs[0]);
        else
            hear_absent(said, id);
    } else if (answer->call == RAY_DASH_SUBMIT && answer->outcome == RAY_DASH_REFUSED) {
        forget_job(said, id);
        said->refused = slice_of(answer->err.text);
    } else if (answer->call == RAY_DASH_SUBMIT) {
        hear_submitted(said, id);
    } else if (answer->call == RAY_DASH_STOP) {
        hear_stop(said, id, answer->outcome == RAY_DASH_ABSENT, now);
    } else if (answer->call == RAY_DASH_LOG && ok) {
        said->log = answer->log;
    }
}
