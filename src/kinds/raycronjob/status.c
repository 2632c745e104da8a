/* A RayCronJob's status: lastScheduleTime is KubeRay's, lastSuccessfulTime and active are a CronJob's, missedRuns and conditions are ours.
 */
#include "decide.h"

#include <mobula/rayjob.h>
#include <mobula/status.h>

static struct slice invalid_text(const struct cron_decision *d, size_t max)
{
    if (d->in->errors->count)
        return spec_errors_text(d->in->errors, max, d->a);
    return d->in->zone ? SLICE("") : arena_cut(d->a, arena_printf(d->a, "spec.timeZone: %.*s", SLICE_ARG(d->in->zone_why)), max);
}

/* ---- writing ---- */

static void write_active(const struct cron_decision *d, struct jout *w)
{
    uint32_t told = 0;
    jout_karray(w, "active");
    for (uint32_t i = 0; i < d->in->job_count && told < CRON_ACTIVE_TOLD; i++) {
        const struct cron_child *job = &d->in->jobs[i];
        if (!cron_active(d, job))
            continue;
        told++;
        jout_form(w, "{apiVersion:'ray.io/v1',kind:'RayJob',namespace:'%.*s',name:'%.*s',uid:'%.*s'}", SLICE_ARG(d->cron->ns),
                  SLICE_ARG(job->name), SLICE_ARG(job->uid));
    }
    jout_end(w);
}

static struct slice failed_text(const struct cron_decision *d, size_t max)
{
    const struct cron_child *job = d->failed;
    return job_shorten(
        arena_printf(d->a, "RayJob %.*s failed (%.*s): %.*s", SLICE_ARG(job->name), SLICE_ARG(job->reason), SLICE_ARG(job->message)), max,
        d->a);
}

static void write_conditions(const struct cron_decision *d, struct jout *w, struct slice stamp)
{
    struct slice wrong = invalid_text(d, LIMIT_JOB_MESSAGE);
    int64_t generation = d->cron->generation;
    static const char *const ours[] = {"Valid", "Suspended", "Waiting", "LastRunFailed", NULL};
    struct condition all[4] = {{"Valid", slice_empty(wrong),
                                slice_empty(wrong)     ? SLICE("SpecAccepted")
                                : d->in->errors->count ? SLICE("InvalidSpec")
                                                       : SLICE("UnknownTimeZone"),
                                wrong, generation}};
    size_t count = 1;
    if (d->cron->suspend || json_there(status_condition(d->prior, SLICE("Suspended"))))
        all[count++] = (struct condition){"Suspended", d->cron->suspend, SLICE("Suspend"), SLICE(""), generation};
    if (d->waiting)
        all[count++] = (struct condition){"Waiting", true, slice_of(d->waiting), arena_cut(d->a, d->why, LIMIT_JOB_MESSAGE), generation};
    if (d->failed)
        all[count++] = (struct condition){"LastRunFailed", true, d->failed->reason, failed_text(d, LIMIT_JOB_MESSAGE), generation};
    status_write_all(w, all, count, d->prior, stamp, d->a, ours);
}

static void write_status(const void *about, struct jout *w, struct slice stamp)
{
    const struct cron_decision *d = about;
    char text[TIME_TEXT_MAX];
    status_put(w, d->prior, "lastScheduleTime", d->last_s == CRON_NEVER ? SLICE("") : cron_time(d, d->last_s));
    status_put(w, d->prior, "lastSuccessfulTime", d->success_us ? time_format(d->success_us, text) : SLICE(""));
    write_active(d, w);
    jout_kint(w, "missedRuns", d->missed);
    jout_kint(w, "observedGeneration", d->cron->generation);
    write_conditions(d, w, stamp);
}

/* ---- telling ---- */

static void say_missed(const struct cron_decision *d, int64_t from_s, uint32_t count, bool more)
{
    if (count && json_get_int(d->prior, "missedRuns", 0) == 0)
        plan_event(d->p, true, "MissedRuns",
                   arena_printf(d->a, "%s%u run%s due after %s %s not started", more ? "more than " : "", count, count == 1 ? "" : "s",
                                cron_time(d, from_s).ptr, count == 1 ? "was" : "were"));
}

/* A run that status does not tell of yet: that it was started, and what was passed over for it. */
static void say_started(const struct cron_decision *d)
{
    int64_t created_s = d->cron->created_us / 1000000, from_s = d->told_s == CRON_NEVER ? created_s : d->told_s;
    uint32_t between = 0;
    for (uint32_t i = 0; i < d->in->job_count; i++) {
        const struct cron_child *job = &d->in->jobs[i];
        between += job->scheduled_s > from_s && job->scheduled_s < d->last_s;
        if (job->scheduled_s == d->last_s)
            plan_event(d->p, false, "CreatedRayJob",
                       arena_printf(d->a, "created RayJob %.*s, due at %s", SLICE_ARG(job->name), cron_time(d, d->last_s).ptr));
    }
    if (!d->in->zone || d->in->errors->count || from_s >= d->last_s)
        return;
    struct schedule_due over = schedule_due(&d->cron->schedule, d->in->zone, created_s, from_s, d->last_s - 1);
    say_missed(d, from_s, over.count > between ? over.count - between : 0, over.more);
}

static void say_waiting(const struct cron_decision *d)
{
    struct jval before = status_condition(d->prior, SLICE("Waiting"));
    bool told = d->waiting && slice_is(slice_of(d->waiting), "CreateRefused"); /* with the refusal itself */
    if (d->waiting && !told && !json_is(json_get(before, "reason"), d->waiting))
        plan_event(d->p, d->cron->policy != CRON_FORBID || !slice_is(slice_of(d->waiting), "JobAlreadyActive"), d->waiting,
                   arena_cut(d->a, d->why, LIMIT_KUBE_EVENT_NOTE));
}

/* Event and log line for a failed run, once for each. */
static void say_failed(const struct cron_decision *d)
{
    struct slice before = json_get_str(status_condition(d->prior, SLICE("LastRunFailed")), "message", d->a);
    if (d->failed && !slice_eq(before, failed_text(d, LIMIT_JOB_MESSAGE)))
        plan_event(d->p, true, "LastRunFailed", failed_text(d, LIMIT_KUBE_EVENT_NOTE));
}

bool cron_decide_status(struct cron_decision *d)
{
    struct status_writer w = {.plan = d->p,
                              .prior = d->prior,
                              .hash = d->in->status_hash,
                              .not_before_ms = d->in->status_not_before_ms,
                              .now = d->in->now,
                              .uid = d->cron->uid,
                              .about = d,
                              .write = write_status};
    enum status_news news = status_look(&w);
    if (news != STATUS_NEWS)
        return news == STATUS_SAME;
    status_say_invalid(&w, d->cron->generation, "InvalidRayCronJobSpec", invalid_text(d, LIMIT_KUBE_EVENT_NOTE));
    if (d->last_s != d->told_s)
        say_started(d);
    else
        say_missed(d, d->since_s, d->missed, d->due.more);
    say_waiting(d);
    say_failed(d);
    status_send(&w);
    return false;
}
