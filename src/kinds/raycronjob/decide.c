/* Finds the due run, and the obstacles to it. */
#include "decide.h"

#include <mobula/spec.h>

#include <stdlib.h>

struct slice cron_time(const struct cron_decision *d, int64_t s)
{
    char text[TIME_TEXT_MAX];
    return arena_dup(d->a, time_format(s * 1000000, text));
}

/* The monotonic time of a time of the wall clock: later than now, and not so late that a clock that is set would be noticed late. */
static void look_at(struct cron_decision *d, int64_t wall_us)
{
    int64_t ms = (wall_us - d->in->now.wall_us + 999) / 1000;
    plan_look_again(d->p, d->in->now.mono_ms + (ms < 1 ? 1 : ms > CRON_LOOK_MS ? CRON_LOOK_MS : ms));
}

/* A time of deletion in the future was told by a clock that is ahead of ours; of one that is far ahead nobody knows when it was. */
static bool going(const struct cron_decision *d, const struct cron_child *job)
{
    int64_t gone_ms = (d->in->now.wall_us - job->deleting_us) / 1000;
    return job->deleting_us && gone_ms < CRON_GOING_MS && gone_ms > -CRON_GOING_MS;
}

bool cron_active(const struct cron_decision *d, const struct cron_child *job)
{
    return job->deleting_us ? job->pods || (!job->finished && going(d, job)) : !job->finished;
}

static void look_back(struct cron_decision *d)
{
    int64_t us = 0;
    d->told_s = time_parse(json_get_str(d->prior, "lastScheduleTime", d->a), &us, NULL) ? us / 1000000 : CRON_NEVER;
    d->last_s = d->told_s;
    if (time_parse(json_get_str(d->prior, "lastSuccessfulTime", d->a), &us, NULL))
        d->success_us = us;
    const struct cron_child *ended = NULL;
    for (uint32_t i = 0; i < d->in->job_count; i++) {
        const struct cron_child *job = &d->in->jobs[i];
        if (job->finished && (!ended || job->ended_us > ended->ended_us))
            ended = job;
        if (job->scheduled_s > d->last_s)
            d->last_s = job->scheduled_s;
        if (job->succeeded && job->ended_us > d->success_us)
            d->success_us = job->ended_us;
    }
    bool later = ended && ended->ended_us >= d->success_us; /* a RayJob that succeeded may have been deleted since */
    d->failed = later && !slice_empty(ended->reason) ? ended : NULL;
    d->since_s = d->last_s == CRON_NEVER ? d->cron->created_us / 1000000 : d->last_s;
}

static void wait(struct cron_decision *d, const char *reason, struct slice why)
{
    d->waiting = reason;
    d->why = why;
}

/* Whether a run may be started beside what is there. What the policy puts aside goes first, when status tells of its run. */
static bool has_turn(struct cron_decision *d)
{
    const struct cron_child *first = NULL;
    for (uint32_t i = 0; i < d->in->job_count && d->cron->policy != CRON_ALLOW; i++) {
        const struct cron_child *job = &d->in->jobs[i];
        if (!cron_active(d, job))
            continue;
        first = first ? first : job;
        if (job->deleting_us)
            look_at(d,
                    going(d, job) ? job->deleting_us + CRON_GOING_MS * INT64_C(1000) : d->in->now.wall_us + CRON_GOING_MS * INT64_C(1000));
        else if (d->cron->policy == CRON_REPLACE && job->scheduled_s <= d->told_s) {
            struct action *act = plan_add(d->p, &raycronjob_delete_job);
            act->name = job->name;
            act->uid = job->uid;
            act->why = "a later run is due, and concurrencyPolicy is Replace";
        }
    }
    if (first && d->cron->policy == CRON_FORBID)
        wait(d, "JobAlreadyActive",
             arena_printf(d->a, "a run is due and waits for the end of RayJob %.*s (concurrencyPolicy Forbid)%s%.*s",
                          SLICE_ARG(first->name), first->stays.len ? ": " : "", SLICE_ARG(first->stays)));
    else if (first && first->deleting_us && d->in->now.wall_us - first->deleting_us >= CRON_GOING_MS * INT64_C(1000))
        wait(d, "PodsHang",
             arena_printf(d->a, "a run is due and waits for the end of RayJob %.*s, which is being deleted%s%.*s", SLICE_ARG(first->name),
                          first->stays.len ? ": " : "", SLICE_ARG(first->stays)));
    return !first;
}

static bool refused(struct cron_decision *d)
{
    const struct group_failures *r = d->in->refusals;
    if (!r || !r->count)
        return false;
    wait(d, "CreateRefused", arena_printf(d->a, "the RayJob cannot be created: %s", r->reason));
    if (d->in->now.mono_ms >= r->not_before_ms)
        return false;
    plan_look_again(d->p, r->not_before_ms);
    return true;
}

/* Returns whether a RayJob is to be made. */
static bool start_due(struct cron_decision *d)
{
    const struct raycronjob *c = d->cron;
    if (d->since_s > d->now_s + CRON_AHEAD_MS / 1000)
        wait(
            d, "LastRunInFuture",
            arena_printf(d->a,
                         "the last run was for %s, so a clock was ahead: nothing is started until then; to go on now, delete the RayJob of "
                         "that time and set status.lastScheduleTime right",
                         cron_time(d, d->since_s).ptr));
    d->due = schedule_due(&c->schedule, d->in->zone, c->created_us / 1000000, d->since_s, d->now_s);
    d->missed = d->due.count;
    if (d->due.next_s != INT64_MAX)
        look_at(d, d->due.next_s * 1000000);
    if (d->due.count == 0 || (c->deadline_s >= 0 && d->due.last_s + c->deadline_s <= d->now_s))
        return false;
    d->missed--;
    if (c->deadline_s >= 0)
        look_at(d, (d->due.last_s + c->deadline_s) * 1000000);
    if (!has_turn(d) || refused(d))
        return false;
    struct action *act = plan_add(d->p, &raycronjob_create_job);
    act->name = raycronjob_job_name(c, d->due.last_s, d->a);
    act->text = cron_time(d, d->due.last_s);
    return true;
}

/* ---- history ---- */

static int by_age(const void *a, const void *b)
{
    const struct cron_child *x = *(const struct cron_child *const *)a, *y = *(const struct cron_child *const *)b;
    int64_t x_us = x->scheduled_s == CRON_NEVER ? x->ended_us : x->scheduled_s * 1000000;
    int64_t y_us = y->scheduled_s == CRON_NEVER ? y->ended_us : y->scheduled_s * 1000000;
    return x_us != y_us ? (x_us < y_us ? -1 : 1) : slice_cmp(x->name, y->name);
}

static void trim_history(struct cron_decision *d, bool succeeded, int32_t keep, const char *why)
{
    const struct cron_child **list = arena_array(d->a, d->in->job_count + 1, sizeof(const struct cron_child *));
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->in->job_count; i++)
        if (d->in->jobs[i].finished && d->in->jobs[i].succeeded == succeeded && !d->in->jobs[i].deleting_us)
            list[count++] = &d->in->jobs[i];
    qsort(list, count, sizeof *list, by_age);
    for (uint32_t i = 0; (int64_t)i + keep < count; i++) {
        struct action *act = plan_add(d->p, &raycronjob_delete_job);
        act->name = list[i]->name;
        act->uid = list[i]->uid;
        act->why = why;
    }
}

void raycronjob_decide(const struct cron_view *in, struct arena *a, struct plan *out)
{
    struct jval doc;
    struct cron_decision d = {.in = in, .cron = in->cron, .a = a, .p = out, .prior = NO_VALUE, .now_s = in->now.wall_us / 1000000};
    *out = (struct plan){.next_ms = TIME_NEVER, .arena = a};
    if (in->cron->deleting)
        return;
    if (!slice_empty(in->status) && json_read(&doc, in->status, a, NULL))
        d.prior = doc;
    look_back(&d);
    if (in->errors->count == 0 && !in->zone)
        plan_look_again(out, in->now.mono_ms + CRON_ZONE_MS);
    bool well = in->errors->count == 0 && in->zone;
    /* The answer to the creation brings the RayCronJob here again, and then status tells of both. */
    if (well && !in->cron->suspend && start_due(&d))
        return;
    if (!cron_decide_status(&d) || !well)
        return;
    trim_history(&d, true, in->cron->keep_succeeded, "beyond successfulJobsHistoryLimit");
    trim_history(&d, false, in->cron->keep_failed, "beyond failedJobsHistoryLimit");
}
