/* What the store says of RayCronJobs and their runs, change by change, and what it may never say: the times at which runs are due are
 * computed here once more. */
#include "crons.h"

#include <mobula/inspect.h>
#include <mobula/spec.h>

enum {
    MINUTE_S = 60,
    EVERY_S = 90,
    LATE_MS = 40 * 1000, /* a view is never so old, unless a connection has fallen silent */
    PLAN_S = OPERATOR_PLAN_MS / 1000 + 10,
    GOING_MS = 60 * 1000, /* a run that is being deleted so long is in nobody's way */
    MISSED_MAX = 100,
};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* ---- schedules ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t pace_of(const struct seen_cron *c)
{
    static const int64_t paces[PATTERNS] = {MINUTE_S, 2 * MINUTE_S, EVERY_S};
    return paces[c->want->pattern];
}

/* How many times it was due until then. */
static int64_t times_until(const struct seen_cron *c, int64_t s)
{
    return floor_div(s - (c->want->pattern == PATTERN_EVERY ? c->created_s : 0), pace_of(c));
}

static int64_t last_due(const struct seen_cron *c, int64_t s)
{
    return times_until(c, s) * pace_of(c) + (c->want->pattern == PATTERN_EVERY ? c->created_s : 0);
}

/* ---- looking things up ---- */

static struct seen_cron *cron_find(const struct sim *s, struct slice uid)
{
    struct seen_cron *c = s->crons->seen;
    while (c && !slice_eq(slice_of(c->uid), uid))
        c = c->next;
    return c;
}

static struct seen_cron *cron_named(const struct sim *s, const struct want_cron *w)
{
    struct seen_cron *c = s->crons->seen;
    while (c && (c->gone || !is(c->ns, w->run.ns) || !is(c->name, w->run.name)))
        c = c->next;
    return c;
}

static struct slice owner_of(struct jval object, struct arena *a)
{
    struct jval owner = json_at(json_get(object, "metadata.ownerReferences"), 0);
    return json_str_eq(json_get(owner, "kind"), SLICE("RayCronJob")) ? json_get_str(owner, "uid", a) : SLICE_NONE;
}

static int64_t time_of(struct sim *s, struct jval object, const char *path)
{
    int64_t us;
    return time_parse(json_get_str(object, path, &s->arena), &us, NULL) ? us / 1000000 : INT64_MIN;
}

static enum cron_rule rule_of(struct jval policy)
{
    return json_str_eq(policy, SLICE("Forbid")) ? RULE_FORBID : json_str_eq(policy, SLICE("Replace")) ? RULE_REPLACE : RULE_ALLOW;
}

/* ---- RayCronJobs ---- */

static struct seen_cron *cron_new(struct sim *s, const struct apiserver_change *change, struct jval object)
{
    struct seen_cron *c = mem_alloc(sizeof *c);
    *c = (struct seen_cron){.next = s->crons->seen, .told_s = INT64_MIN, .suspended_ms = sim_now(s), .ruled_ms = sim_now(s)};
    s->crons->seen = c;
    slice_copy(change->uid, c->uid, sizeof c->uid);
    slice_copy(change->ns, c->ns, sizeof c->ns);
    slice_copy(change->name, c->name, sizeof c->name);
    c->created_s = time_of(s, object, "metadata.creationTimestamp");
    for (uint32_t i = 0; i < SIM_CRONS; i++)
        if (is(c->ns, s->crons->want[i].run.ns) && is(c->name, s->crons->want[i].run.name))
            c->want = &s->crons->want[i];
    return c;
}

static void cron_changed(struct sim *s, const struct apiserver_change *change, struct jval object)
{
    struct seen_cron *c = cron_find(s, change->uid);
    c = c ? c : cron_new(s, change, object);
    c->gone = change->what == APISERVER_DELETED;
    if (c->gone)
        return;
    bool suspend = json_get_bool(object, "spec.suspend", false);
    enum cron_rule rule = rule_of(json_get(object, "spec.concurrencyPolicy"));
    c->suspended_ms = suspend == c->suspend ? c->suspended_ms : sim_now(s);
    c->ruled_ms = rule == c->rule ? c->ruled_ms : sim_now(s);
    c->suspend = suspend;
    c->rule = rule;
    int64_t told_s = time_of(s, object, "status.lastScheduleTime");
    if (told_s < c->told_s)
        sim_violation(s, "the last run is the latest", "%s/%s: lastScheduleTime goes back", c->ns, c->name);
    c->told_s = told_s;
    c->missed = json_get_int(object, "status.missedRuns", 0);
    c->active = (int64_t)json_len(json_get(object, "status.active"));
    c->generation_seen = json_get_int(object, "status.observedGeneration", -1) - json_get_int(object, "metadata.generation", 0);
    struct jval k, v;
    c->suspended_told = false;
    for (struct jiter it = json_iter(json_get(object, "status.conditions")); json_next(&it, &k, &v);)
        c->suspended_told |= json_str_eq(json_get(v, "type"), SLICE("Suspended")) && json_str_eq(json_get(v, "status"), SLICE("True"));
}

/* ---- their runs ---- */

static bool in_the_way(const struct sim *s, const struct cron_run *run)
{
    return !run->gone && !run->over && !run->deleting && (s->silenced || sim_now(s) >= run->added_ms + LATE_MS);
}

static void check_alone(struct sim *s, const struct seen_cron *c, const struct cron_run *run)
{
    bool late = s->silenced || sim_now(s) < c->ruled_ms + LATE_MS;
    for (const struct cron_run *other = s->crons->runs; other && c->rule != RULE_ALLOW && !late; other = other->next)
        if (other->of == c && other != run && in_the_way(s, other))
            sim_violation(s, "no run beside another", "%s is made, and %s has not ended", run->name, other->name);
}

/* It went with its RayCronJob before status had told of it. Who has not heard of either makes it again, and that goes as well. */
static bool went_with_cron(const struct cron_run *run)
{
    return run->gone && run->of->gone && run->due_s > run->of->told_s;
}

static void run_made(struct sim *s, const struct cron_run *run)
{
    struct seen_cron *c = run->of;
    sim_say(s, "run %s of %s/%s", run->name, c->ns, c->name);
    for (const struct cron_run *other = run->next; other; other = other->next)
        if (other->of == c && other->due_s >= run->due_s && !(other->due_s == run->due_s && went_with_cron(other)))
            sim_violation(s, "a run is started once", "%s of %s/%s after %s", run->name, c->ns, c->name, other->name);
    /* The schedule of a deleted RayCronJob is not known any more: the user may have created another one with its name. */
    bool due = c->gone || last_due(c, run->due_s) == run->due_s;
    if (run->due_s <= c->created_s || !due || run->due_s * 1000000 > s->crons->latest_us)
        sim_violation(s, "a run when it is due", "%s of %s/%s", run->name, c->ns, c->name);
    if (c->suspend && !s->silenced && sim_now(s) >= c->suspended_ms + LATE_MS)
        sim_violation(s, "no run of what is suspended", "%s of %s/%s", run->name, c->ns, c->name);
    check_alone(s, c, run);
}

static void run_changed(struct sim *s, const struct apiserver_change *change, struct jval object)
{
    struct seen_cron *c = cron_find(s, owner_of(object, &s->arena));
    struct cron_run *run = s->crons->runs;
    while (run && !slice_eq(slice_of(run->uid), change->uid))
        run = run->next;
    if (!c && !run)
        return;
    bool made = !run;
    if (made) {
        run = mem_alloc(sizeof *run);
        *run = (struct cron_run){.next = s->crons->runs, .of = c, .added_ms = sim_now(s)};
        s->crons->runs = run;
        slice_copy(change->uid, run->uid, sizeof run->uid);
        slice_copy(change->name, run->name, sizeof run->name);
        struct jval due = json_key(json_get(object, "metadata.annotations"), SLICE("ray.io/cronjob-scheduled-timestamp"));
        int64_t us = 0;
        time_parse(json_str(due, &s->arena), &us, NULL);
        run->due_s = us / 1000000;
    }
    struct jval phase = json_get(object, "status.jobDeploymentStatus");
    bool complete = json_str_eq(phase, SLICE("Complete"));
    run->gone = change->what == APISERVER_DELETED;
    run->deleting = json_there(json_get(object, "metadata.deletionTimestamp"));
    run->over = complete || json_str_eq(phase, SLICE("Failed"));
    run->succeeded = complete && json_str_eq(json_get(object, "status.jobStatus"), SLICE("SUCCEEDED"));
    if (made)
        run_made(s, run);
}

void crons_changed(struct sim *s, const struct apiserver_change *c)
{
    struct json doc;
    struct err e = {0};
    bool cron = slice_eq(c->plural, SLICE("raycronjobs")), job = slice_eq(c->plural, SLICE("rayjobs"));
    if (!s->crons || !(cron || job))
        return;
    crons_step(s);
    if (!json_parse(&doc, c->json, &s->arena, &e))
        sim_violation(s, "model", "a stored object: %s", e.text);
    else
        (cron ? cron_changed : run_changed)(s, c, json_root(&doc));
}

/* Replaced, or beyond the history: there are as many later ones that ended the same way as are to be kept. Status has told of it. */
bool crons_run_goes(struct sim *s, const char *uid)
{
    const struct cron_run *run = s->crons ? s->crons->runs : NULL;
    uint32_t later = 0;
    while (run && !is(run->uid, uid))
        run = run->next;
    if (!run || run->due_s > run->of->told_s)
        return false;
    for (const struct cron_run *other = s->crons->runs; other; other = other->next)
        later += other->of == run->of && other->over && other->succeeded == run->succeeded && other->due_s > run->due_s;
    bool replaced = run->of->want->rules >> RULE_REPLACE & 1;
    return run->over ? later >= run->of->want->least[run->succeeded] || replaced : replaced;
}

/* ---- requests ---- */

/* Whether the operator knows it, and what and which specification. */
static bool spec_of(struct op *op, const struct seen_cron *seen, struct inspect_record *c, struct json *doc, struct arena *a)
{
    return inspect_record(op, slice_of(seen->uid), slice_of(seen->ns), c) && c->present && json_parse(doc, c->spec, a, NULL);
}

/* A run that has not ended, by the records of this operator; one that is being deleted is not looked at. */
static bool known_active(const struct op *op, const struct inspect_record *c, struct inspect_record *run, struct arena *a)
{
    struct json doc;
    for (uint32_t at = 0; inspect_owned(op, c, &at, run);) {
        struct jval phase = NO_VALUE;
        if (run->status.len && json_parse(&doc, run->status, a, NULL))
            phase = json_get(json_root(&doc), "jobDeploymentStatus");
        if (run->present && !run->deleting && !json_str_eq(phase, SLICE("Complete")) && !json_str_eq(phase, SLICE("Failed")))
            return true;
    }
    return false;
}

/* By what its own operator knows, and has known for longer than a request waits for its turn. */
static void check_run(struct sim *s, const struct world_request *q, const struct seen_cron *seen, struct slice name)
{
    struct json spec;
    struct inspect_record c, active;
    if (!spec_of(q->from->op, seen, &c, &spec, &s->arena) || sim_now(s) < seen->known_ms[q->from->number] + PLAN_S * 1000)
        return;
    struct jval root = json_root(&spec);
    if (json_get_bool(root, "suspend", false))
        sim_violation(s, "no run of what is suspended", "op-%u: %.*s", q->from->number, SLICE_ARG(name));
    bool beside = known_active(q->from->op, &c, &active, &s->arena);
    if (beside && rule_of(json_get(root, "concurrencyPolicy")) != RULE_ALLOW && !slice_eq(active.name, name))
        sim_violation(s, "no run beside another", "op-%u: %.*s beside %.*s", q->from->number, SLICE_ARG(name), SLICE_ARG(active.name));
}

/* What had been missed at a time, with these rules. */
static int64_t missed_at(const struct seen_cron *c, int64_t since_s, int64_t deadline_s, int64_t now_s)
{
    int64_t count = times_until(c, now_s) - times_until(c, since_s);
    bool late = deadline_s >= 0 && last_due(c, now_s) + deadline_s <= now_s;
    count = count < 0 ? 0 : count > MISSED_MAX ? MISSED_MAX : count;
    return count && !late ? count - 1 : count;
}

static void check_missed(struct sim *s, const struct world_request *q, const struct seen_cron *c, struct jval status)
{
    struct json spec;
    struct inspect_record known;
    uint32_t number = q->from->number;
    if (!spec_of(q->from->op, c, &known, &spec, &s->arena) || sim_now(s) < s->crons->set_ms[number] + PLAN_S * 1000)
        return;
    int64_t told = json_get_int(status, "missedRuns", -1), now_s = world_process_now(q->from).wall_us / 1000000;
    int64_t since_s = time_of(s, status, "lastScheduleTime"), deadline_s = json_get_int(json_root(&spec), "startingDeadlineSeconds", -1);
    bool suspend = json_get_bool(json_root(&spec), "suspend", false), right = suspend && told == 0;
    since_s = since_s == INT64_MIN ? c->created_s : since_s;
    for (int64_t t = now_s - PLAN_S; t <= now_s && !suspend; t++)
        right |= missed_at(c, since_s, deadline_s, t) == told;
    if (!right)
        sim_violation(s, "missed runs are counted", "op-%u tells %lld of %s/%s, should be %lld", number, (long long)told, c->ns, c->name,
                      (long long)missed_at(c, since_s, deadline_s, now_s));
}

void crons_check_request(struct sim *s, const struct world_request *q)
{
    struct json doc;
    struct err e = {0};
    bool post = slice_eq(q->method, SLICE("POST")) && memmem(q->target.ptr, q->target.len, "/rayjobs", 8);
    bool status = slice_eq(q->method, SLICE("PATCH")) && memmem(q->target.ptr, q->target.len, "/raycronjobs/", 13);
    if (!s->crons || !q->from->op || !(post || status) || !json_parse(&doc, q->body, &s->arena, &e))
        return;
    struct jval root = json_root(&doc);
    struct slice uid = post ? owner_of(root, &s->arena) : json_get_str(root, "metadata.uid", &s->arena);
    const struct seen_cron *c = cron_find(s, uid);
    if (c && post)
        check_run(s, q, c, json_get_str(root, "metadata.name", &s->arena));
    else if (c)
        check_missed(s, q, c, json_get(root, "status"));
}

/* ---- each step ---- */

static void follow_records(struct sim *s, uint32_t process)
{
    struct op *op = s->w.process[process].op;
    for (struct seen_cron *c = s->crons->seen; c && op; c = c->next) {
        struct inspect_record known;
        if (c->gone || !inspect_record(op, slice_of(c->uid), slice_of(c->ns), &known) || known.generation == c->known[process])
            continue;
        c->known[process] = known.generation;
        c->known_ms[process] = sim_now(s);
    }
}

void crons_step(struct sim *s)
{
    for (uint32_t i = 0; s->crons && i < WORLD_PROCESSES; i++) {
        struct now now = world_process_now(&s->w.process[i]);
        int64_t ahead_us = now.wall_us - now.mono_ms * 1000;
        s->crons->latest_us = now.wall_us > s->crons->latest_us ? now.wall_us : s->crons->latest_us;
        if (ahead_us != s->crons->ahead_us[i])
            s->crons->set_ms[i] = sim_now(s);
        s->crons->ahead_us[i] = ahead_us;
        follow_records(s, i);
    }
}

/* ---- the end ---- */

static bool no(char why[SIM_TEXT], const struct want_cron *w, const char *what)
{
    snprintf(why, SIM_TEXT, "cron job %s/%s: %s", w->run.ns, w->run.name, what);
    return false;
}

static bool runs_right(struct sim *s, const struct want_cron *w, const struct seen_cron *c, char why[SIM_TEXT])
{
    uint32_t active = 0, ended[2] = {0, 0};
    int64_t last_s = INT64_MIN;
    for (const struct cron_run *run = s->crons->runs; run; run = run->next) {
        if (run->of != c)
            continue;
        struct want_job job = w->run;
        job.name = run->name;
        last_s = run->due_s > last_s ? run->due_s : last_s;
        active += !run->gone && !run->over;
        ended[run->succeeded] += !run->gone && run->over;
        if (!run->gone && !jobs_run_right(s, &job, why))
            return false;
    }
    if (last_s != c->told_s)
        return no(why, w, "lastScheduleTime is not that of the last run");
    if (ended[0] > w->keep[0] || ended[1] > w->keep[1])
        return no(why, w, "more runs are kept than its history has");
    return active == c->active || no(why, w, "its runs are not those that are active");
}

static bool cron_right(struct sim *s, const struct want_cron *w, char why[SIM_TEXT])
{
    const struct seen_cron *c = cron_named(s, w);
    if (!w->there || !c)
        return (!w->there && !c) || no(why, w, c ? "is there still" : "is not there");
    if (c->missed || c->generation_seen || !c->suspended_told)
        return no(why, w, "its status does not tell that it is suspended");
    return runs_right(s, w, c, why);
}

bool crons_right(struct sim *s, char why[SIM_TEXT])
{
    for (uint32_t i = 0; s->crons && i < SIM_CRONS; i++)
        if (!cron_right(s, &s->crons->want[i], why))
            return false;
    for (const struct cron_run *run = s->crons ? s->crons->runs : NULL; run; run = run->next)
        if (!run->gone && run->of->gone) {
            snprintf(why, SIM_TEXT, "run %s is there without its cron job", run->name);
            return false;
        }
    return true;
}

void crons_residue(struct sim *s)
{
    for (const struct seen_cron *c = s->crons ? s->crons->seen : NULL; c; c = c->next)
        if (!c->gone)
            sim_violation(s, "no object without owner", "cron job %s/%s is there still", c->ns, c->name);
}
