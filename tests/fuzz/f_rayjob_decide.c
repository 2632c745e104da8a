/* What a dashboard answers, and what stands in the status, become decisions on a RayJob on a cluster that its user owns. Parts separated by
 * NUL: the status, then answers: a letter for the question (v its session, j the job, s the submission, x the stop, l the log), three
 * digits of HTTP status, the body. After each the same view gives the same plan, a status is JSON, nothing is submitted but the id that
 * the status has in a session that has answered, and the user's cluster stays. */
#include <mobula/heads.h>
#include <mobula/rayjob.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARTS_MAX = 16, PARTS_MS = 1000 };

static const char job_text[] =
    "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\",\"generation\":1,"
    "\"finalizers\":[\"ray.io/rayjob-finalizer\"]},\"spec\":{\"entrypoint\":\"true\",\"jobId\":\"j1\",\"submissionMode\":\"HTTPMode\","
    "\"clusterSelector\":{\"ray.io/cluster\":\"other\"}}}";

static void check_action(const struct action *act, const struct job_view *v, struct slice id, struct arena *a)
{
    struct json doc;
    if (act->verb == &verb_status && !json_parse(&doc, act->text, a, NULL))
        abort();
    if (act->verb == &rayjob_submit && (slice_empty(v->said.session) || !slice_eq(act->text, id)))
        abort();
    if (act->verb == &rayjob_delete_cluster || act->verb == &rayjob_create_cluster || act->verb == &rayjob_suspend_workers)
        abort();
}

static void decide(const struct job_view *v, struct slice id, struct arena *a)
{
    struct plan p, q;
    rayjob_decide(v, a, &p);
    rayjob_decide(v, a, &q);
    if (p.count > PLAN_ACTIONS || p.count != q.count || p.next_ms != q.next_ms)
        abort();
    for (uint32_t i = 0; i < p.count; i++) {
        if (p.actions[i].verb != q.actions[i].verb || !slice_eq(p.actions[i].text, q.actions[i].text))
            abort();
        check_action(&p.actions[i], v, id, a);
    }
}

static void hear(struct job_view *v, struct slice part, struct slice id, struct arena *a)
{
    static const char letters[] = "vjsxl";
    static const enum ray_dash_call calls[] = {RAY_DASH_VERSION, RAY_DASH_JOB, RAY_DASH_SUBMIT, RAY_DASH_STOP, RAY_DASH_LOG};
    const char *at = part.len ? memchr(letters, part.ptr[0], sizeof letters - 1) : NULL;
    int64_t status = 0, before_ms = v->said.answered_ms;
    struct ray_dash_answer *answer = arena_new(a, struct ray_dash_answer); /* what was heard points into it */
    if (!at || part.len < 4 || !slice_int(slice_head(slice_skip(part, 1), 3), &status))
        return;
    if (slice_empty(id) && at != letters)
        return; /* nobody asks about a job that has no id */
    ray_dash_read(calls[at - letters], (int)status, slice_skip(part, 4), false, a, answer);
    job_hear(&v->said, id, answer, v->now);
    if (v->said.known && slice_empty(v->said.id))
        abort();
    bool half = at == letters && !slice_empty(id); /* of a look at a job, which has been answered when the job is told */
    if (half ? v->said.answered_ms != before_ms : !v->said.failures && v->said.answered_ms != v->now.mono_ms)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct spec_errors errors;
    struct arena a = {0};
    struct json doc;
    struct ray_job job;
    struct slice rest = {(const char *)data, size}, prior = slice_cut(&rest, '\0'), id = SLICE_NONE;
    const struct job_cluster cluster = {.name = SLICE("other"), .uid = SLICE("c"), .ready = true, .dashboard = SLICE("10.0.0.1:8265")};
    errors.count = errors.beyond = 0;
    if (!json_parse(&doc, slice_of(job_text), &a, NULL) || !ray_read_job(json_root(&doc), &a, &job, &errors))
        abort();
    struct job_view v = {.job = &job, .errors = &errors, .clusters = &cluster, .cluster_count = 1};
    if (json_read(&v.status, prior, &a, NULL))
        id = json_get_str(v.status, "jobId", &a);
    v.said.cluster = cluster.name;
    v.now = (struct now){.mono_ms = 1000000, .wall_us = 1800000000LL * 1000000};
    decide(&v, id, &a);
    for (int i = 0; rest.ptr && i < PARTS_MAX; i++) {
        v.now = (struct now){v.now.mono_ms + PARTS_MS, v.now.wall_us + PARTS_MS * 1000};
        hear(&v, slice_cut(&rest, '\0'), id, &a);
        decide(&v, id, &a);
    }
    arena_free(&a);
    return 0;
}
