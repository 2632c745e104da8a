#include "private.h"

#include <mobula/kind_rayjob.h>

struct words {
    const struct explain_job *in;
    struct jval spec, status;
    struct slice ns, name, phase, cluster; /* phase: status.jobDeploymentStatus; cluster: of the attempt; empty: none */
    struct arena *a;
    struct buf *out;
};

/* ---- facts ---- */

/* Wall time in microseconds; 0: missing or malformed. */
static int64_t time_at(const struct words *w, const char *path)
{
    int64_t us = 0;
    return time_parse(json_get_str(w->in->object, path, w->a), &us, NULL) ? us : 0;
}

/* ---- lines ---- */

/* Writes text of several lines, each behind two blanks. */
static void put_text(const struct words *w, struct slice text)
{
    while (!slice_empty(text)) {
        struct slice line = slice_cut(&text, '\n');
        buf_printf(w->out, "  %.*s\n", SLICE_ARG(line));
    }
}

static void put_title(const struct words *w)
{
    int64_t created_us = time_at(w, "metadata.creationTimestamp");
    struct slice state = json_get_str(w->status, "jobStatus", w->a), reason = json_get_str(w->status, "reason", w->a);
    buf_printf(w->out, "RayJob %.*s/%.*s", SLICE_ARG(w->ns), SLICE_ARG(w->name));
    if (created_us)
        buf_printf(w->out, ", made %s ago", explain_age(w->in->now_us, created_us, w->a));
    buf_printf(w->out, ": %.*s", SLICE_ARG(slice_empty(w->phase) ? SLICE("not begun") : w->phase));
    if (!slice_empty(reason))
        buf_printf(w->out, " (%.*s)", SLICE_ARG(reason));
    if (!slice_empty(state))
        buf_printf(w->out, ", Ray reports %.*s", SLICE_ARG(state));
    buf_put(w->out, SLICE("\n"));
}

static void put_conditions(const struct words *w)
{
    static const char *const types[] = {"Waiting", "ClusterKept", "MayStillRun"};
    struct jval valid = status_condition(w->status, SLICE("Valid"));
    if (json_is(json_get(valid, "status"), "False"))
        buf_printf(w->out, "  the spec is refused: %.*s\n", SLICE_ARG(json_get_str(valid, "message", w->a)));
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct jval c = status_condition(w->status, slice_of(types[i]));
        if (json_is(json_get(c, "status"), "True"))
            buf_printf(w->out, "  %s: %.*s\n", types[i], SLICE_ARG(json_get_str(c, "message", w->a)));
    }
}

static void put_attempt(const struct words *w)
{
    long long failed = json_get_int(w->status, "failed", 0), retries = json_get_int(w->spec, "backoffLimit", 0);
    struct slice id = json_get_str(w->status, "jobId", w->a), state = json_get_str(w->status, "rayClusterStatus.state", w->a);
    buf_printf(w->out, "\nAttempt %lld (%lld failed, %lld allowed to fail: backoffLimit)\n",
               (long long)json_get_int(w->status, "attempt", 1), failed, retries);
    if (!slice_empty(id))
        buf_printf(w->out, "  submission id %.*s\n", SLICE_ARG(id));
    if (!slice_empty(w->cluster))
        buf_printf(w->out, "  RayCluster %.*s: %.*s\n", SLICE_ARG(w->cluster), SLICE_ARG(slice_empty(state) ? SLICE("not ready") : state));
}

/* ---- the operator's next step ---- */

/* The steps of each phase, as in docs/rayjob.md. */
static const struct {
    const char *phase, *next;
} steps[] = {
    {"", "the operator begins the first attempt"},
    {"Initializing", "the job is submitted when its RayCluster is ready"},
    {"Waiting", "submit a job to the RayCluster and write its id to spec.jobId"},
    {"Running", "Ray is asked for the job's state every 2 s to 10 s"},
    {"Retrying", "the next attempt begins when no pod of this one is left, and after a pause"},
    {"Suspending", "the job is Suspended when no pod of it is left"},
    {"Suspended", "nothing, until spec.suspend is false"},
    {"ValidationFailed", "nothing, until the spec is corrected (mobula validate names each error)"},
    {"Complete", "nothing: the job is over"},
    {"Failed", "nothing: the job is over"},
};

/* Times of the spec, and the time in status from which each is counted. */
static const struct {
    const char *phases, *field, *from, *what;
} deadlines[] = {
    {"Initializing,Waiting", "preRunningDeadlineSeconds", "status.startTime", "the attempt fails, unless the job runs by then"},
    {"Initializing,Running", "activeDeadlineSeconds", "status.startTime", "the job is stopped and fails, unless it is over by then"},
    {"Complete,Failed", "ttlSecondsAfterFinished", "status.endTime", "the RayCluster is deleted"},
};

static void put_deadline(const struct words *w, const char *field, const char *from, const char *what)
{
    int64_t seconds = json_get_int(w->spec, field, 0), from_us = time_at(w, from);
    if (seconds > 0 && seconds <= INT32_MAX && from_us)
        buf_printf(w->out, "  in %s: %s (%s)\n", explain_age(from_us + seconds * 1000000, w->in->now_us, w->a), what, field);
}

static void put_next(const struct words *w)
{
    bool keeps = !json_get_bool(w->spec, "shutdownAfterJobFinishes", false) && !json_there(json_get(w->spec, "deletionStrategy"));
    buf_put(w->out, SLICE("\nNext\n"));
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        if (slice_is(w->phase, steps[i].phase))
            buf_printf(w->out, "  %s\n", steps[i].next);
    for (size_t i = 0; i < COUNT_OF(deadlines); i++)
        if (slice_listed(slice_of(deadlines[i].phases), w->phase))
            put_deadline(w, deadlines[i].field, deadlines[i].from, deadlines[i].what);
    if (slice_empty(w->cluster))
        return;
    if (keeps && slice_listed(SLICE("Complete,Failed"), w->phase))
        buf_put(w->out, SLICE("  the RayCluster stays as long as the RayJob: shutdownAfterJobFinishes is not true\n"));
    buf_printf(w->out, "  more: mobula explain cluster %.*s -n %.*s, mobula logs rayjob %.*s -n %.*s\n", SLICE_ARG(w->cluster),
               SLICE_ARG(w->ns), SLICE_ARG(w->name), SLICE_ARG(w->ns));
}

void explain_job_words(const struct explain_job *f, struct arena *a, struct buf *out)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = EXPLAIN_WORDS_MAX};
    struct words w = {.in = f, .spec = json_get(f->object, "spec"), .status = json_get(f->object, "status"), .a = a, .out = &b};
    w.ns = json_get_str(f->object, "metadata.namespace", a);
    w.name = json_get_str(f->object, "metadata.name", a);
    w.phase = json_get_str(w.status, "jobDeploymentStatus", a);
    w.cluster = json_get_str(w.status, "rayClusterName", a);
    put_title(&w);
    put_text(&w, json_get_str(w.status, "message", a));
    explain_put_operator(f->object, f->unwatched, NULL, a, &b);
    put_conditions(&w);
    if (json_there(w.status)) {
        put_attempt(&w);
        put_next(&w);
    }
    explain_plain(buf_slice(&b), out);
}

bool explain_job_named(struct seek *s, struct slice name, struct buf *out, struct err *e)
{
    struct explain_job f = {.now_us = clock_now().wall_us};
    if (!explain_find_object(s, &kind_rayjob, name, &f.object, e))
        return false;
    f.unwatched = explain_unwatched(s, f.object);
    explain_job_words(&f, s->a, out);
    return true;
}
