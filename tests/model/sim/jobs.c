/* What users do with RayJobs. Like all moves they go to the server past all faults. What becomes of a job depends on when a head is lost,
 * and so differs between the two runs of a seed: its end is checked against what its dashboards know (jobs_end.c). */
#include "jobs.h"

enum { RUN_MS = 20 * 1000, WORKERS = 3, RETRIES = 3, DEADLINE_S = 40, TTL_S = 12 };

/* In the namespace that is deleted now and then none has a finalizer, which would keep the namespace for as long as the operator is away.
 */
static const struct {
    const char *ns, *name, *selected;
} places[SIM_JOBS] = {{"n", "j", NULL}, {"n", "k", NULL}, {"n", "s", "a"}, {SIM_FRAGILE, "f", NULL}};

static struct slice path_of(struct sim *s, const struct want_job *j, bool named)
{
    return arena_printf(&s->w.arena, "/apis/ray.io/v1/namespaces/%s/rayjobs%s%s", j->ns, named ? "/" : "", named ? j->name : "");
}

/* ---- bodies ---- */

static void write_cluster(struct sim *s, struct buf *b, const struct want_job *j)
{
    static const char container[] = "{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\",\"resources\":{\"limits\":{\"cpu\":"
                                    "\"2\"}},\"env\":[{\"name\":\"PASSWORD\",\"value\":\"" SIM_CANARY "\"}]}]}}";
    buf_printf(b,
               ",\"rayClusterSpec\":{%s\"headGroupSpec\":{\"rayStartParams\":{},\"template\":%s},\"workerGroupSpecs\":[{\"groupName\":"
               "\"g0\",\"replicas\":%u,\"minReplicas\":0,\"maxReplicas\":10,\"rayStartParams\":{},\"template\":%s}]}",
               s->plan->setup.job_tokens ? TOKENS_OPTIONS("") : "", container, j->workers, container);
}

static void write_after(struct buf *b, const struct want_job *j)
{
    static const char *const policies[AFTERS] = {
        [AFTER_CLUSTER] = "DeleteCluster", [AFTER_WORKERS] = "DeleteWorkers", [AFTER_SELF] = "DeleteSelf"};
    const char *policy = policies[j->after];
    if (j->after == AFTER_SHUTDOWN)
        buf_printf(b, ",\"shutdownAfterJobFinishes\":true,\"ttlSecondsAfterFinished\":%u", j->ttl_s);
    if (policy)
        buf_printf(b,
                   ",\"deletionStrategy\":{\"deletionRules\":[{\"policy\":\"%s\",\"condition\":{\"jobStatus\":\"SUCCEEDED\",\"ttlSeconds\":"
                   "%u}},{\"policy\":\"%s\",\"condition\":{\"jobDeploymentStatus\":\"Failed\",\"ttlSeconds\":%u}}]}",
                   policy, j->ttl_s, policy, j->ttl_s);
}

void jobs_write_spec(struct sim *s, struct buf *b, const struct want_job *j)
{
    static const char *const modes[MODES] = {"K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"};
    buf_printf(b, "{\"submissionMode\":\"%s\",\"entrypoint\":\"run %u %u\"", modes[j->mode], j->script, j->run_ms);
    if (j->retries)
        buf_printf(b, ",\"backoffLimit\":%u", j->retries);
    if (j->deadline_s)
        buf_printf(b, ",\"activeDeadlineSeconds\":%u", j->deadline_s);
    if (j->suspend)
        buf_put(b, SLICE(",\"suspend\":true"));
    write_after(b, j);
    if (j->selected)
        buf_printf(b, ",\"clusterSelector\":{\"" RAY_LABEL_CLUSTER "\":\"%s\"}", j->selected);
    else
        write_cluster(s, b, j);
    buf_putc(b, '}');
}

static struct slice body_of(struct sim *s, const struct want_job *j)
{
    struct buf b;
    buf_init(&b, 64 * KIB);
    buf_printf(&b,
               "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"metadata\":{\"name\":\"%s\",\"annotations\":{\"example.com/note\":"
               "\"%u\"}},\"spec\":",
               j->name, j->note);
    jobs_write_spec(s, &b, j);
    buf_putc(&b, '}');
    struct slice body = arena_dup(&s->w.arena, buf_slice(&b));
    buf_free(&b);
    return body;
}

/* ---- moves ---- */

static void create(struct sim *s, struct want_job *j, const uint32_t dice[3])
{
    uint32_t more = dice[2];
    if (!mishaps_usable(s, j->ns))
        return;
    j->mode = (enum job_mode)(dice[1] % MODES);
    j->script = (enum job_script)((dice[1] >> 3) % SCRIPTS);
    j->after = (enum job_after)((dice[1] >> 8) % AFTERS);
    j->run_ms = 200 + (dice[1] >> 12) % RUN_MS;
    j->workers = more % WORKERS;
    j->retries = j->mode == MODE_INTERACTIVE || j->selected ? 0 : (more >> 2) % RETRIES;
    j->deadline_s = more >> 5 & 3 ? 0 : 2 + (more >> 7) % DEADLINE_S;
    j->ttl_s = (more >> 13) % TTL_S;
    j->named = false;
    if (j->selected) {
        j->mode = j->mode == MODE_SIDECAR ? MODE_HTTP : j->mode;
        j->after = j->after == AFTER_SELF ? AFTER_SELF : AFTER_NOTHING;
    }
    j->suspend = j->after == AFTER_SHUTDOWN && (more >> 20 & 3) == 0;
    j->there = world_call(&s->w, "POST", path_of(s, j, false).ptr, "application/json", body_of(s, j)) == 201;
}

static void patch(struct sim *s, const struct want_job *j, struct slice body)
{
    int status = world_call(&s->w, "PATCH", path_of(s, j, true).ptr, "application/merge-patch+json", body);
    if (status != 200 && status != 404)
        sim_violation(s, "model", "a user's patch of job %s was answered %d", j->name, status);
}

static void suspend(struct sim *s, struct want_job *j)
{
    if (j->after != AFTER_SHUTDOWN)
        return;
    j->suspend = !j->suspend;
    patch(s, j, j->suspend ? SLICE("{\"spec\":{\"suspend\":true}}") : SLICE("{\"spec\":{\"suspend\":false}}"));
}

/* A user submits something to the cluster of an interactive job, and says so there. */
static void name(struct sim *s, struct want_job *j)
{
    const struct seen_job *seen = jobs_seen(s, j->ns, j->name);
    if (j->mode != MODE_INTERACTIVE || j->named || !seen || !seen->cluster[0])
        return;
    struct fakeray *h = fakeray_of(&s->w, "ray.io", j->ns, seen->cluster);
    if (!h->pod[0] || h->down)
        return;
    struct slice id = arena_printf(&s->w.arena, "by-hand-%u", ++s->jobs->by_hand);
    jobs_submit_by_hand(s, h, id, j->script, j->run_ms);
    patch(s, j, arena_printf(&s->w.arena, "{\"spec\":{\"jobId\":\"%.*s\"}}", SLICE_ARG(id)));
    j->named = true;
}

/* Behind the job's back. */
static void delete_cluster(struct sim *s, const struct want_job *j)
{
    const struct seen_job *seen = jobs_seen(s, j->ns, j->name);
    if (j->selected || !seen || !seen->cluster[0])
        return;
    struct slice path = arena_printf(&s->w.arena, "/apis/ray.io/v1/namespaces/%s/rayclusters/%s", j->ns, seen->cluster);
    world_call(&s->w, "DELETE", path.ptr, "application/json", SLICE("{}"));
}

static void deleted(struct sim *s, struct want_job *j)
{
    world_call(&s->w, "DELETE", path_of(s, j, true).ptr, "application/json", SLICE("{}"));
    j->there = false;
}

static void change(struct sim *s, struct want_job *j, const struct sim_entry *e)
{
    switch (e->kind) {
    case MOVE_JOB_CREATE:
        create(s, j, e->dice);
        break;
    case MOVE_JOB_DELETE:
        deleted(s, j);
        break;
    case MOVE_JOB_SUSPEND:
        suspend(s, j);
        break;
    case MOVE_JOB_NAMED:
        name(s, j);
        break;
    case MOVE_JOB_CLUSTER:
        delete_cluster(s, j);
        break;
    default:
        j->note = e->dice[1] % 1000;
        patch(s, j, arena_printf(&s->w.arena, "{\"metadata\":{\"annotations\":{\"example.com/note\":\"%u\"}}}", j->note));
        break;
    }
}

void jobs_move(struct sim *s, const struct sim_entry *e)
{
    for (uint32_t i = 0; s->jobs && i < SIM_JOBS; i++) {
        struct want_job *j = &s->jobs->want[(e->dice[0] + i) % SIM_JOBS];
        if (j->there == (e->kind == MOVE_JOB_CREATE))
            continue;
        sim_say(s, "of job %s/%s", j->ns, j->name);
        change(s, j, e);
        return;
    }
}

void jobs_namespace_deleted(struct sim *s, const char *ns)
{
    for (uint32_t i = 0; s->jobs && i < SIM_JOBS; i++)
        s->jobs->want[i].there &= strcmp(s->jobs->want[i].ns, ns) != 0;
}

void jobs_delete_all(struct sim *s)
{
    for (uint32_t i = 0; s->jobs && i < SIM_JOBS; i++)
        if (s->jobs->want[i].there)
            deleted(s, &s->jobs->want[i]);
}

/* ---- the beginning and the end ---- */

void jobs_begin(struct sim *s)
{
    if (!s->plan->setup.jobs)
        return;
    s->jobs = mem_alloc(sizeof *s->jobs);
    s->w.rays->dash = jobs_dash;
    for (uint32_t i = 0; i < SIM_JOBS; i++)
        s->jobs->want[i] = (struct want_job){.ns = places[i].ns, .name = places[i].name, .selected = places[i].selected};
}

void jobs_end(struct sim *s)
{
    if (!s->jobs)
        return;
    JOBS_FREE_ALL(s->jobs->seen)
    JOBS_FREE_ALL(s->jobs->clusters)
    JOBS_FREE_ALL(s->jobs->taken)
    JOBS_FREE_ALL(s->jobs->submitters)
    mem_free(s->jobs);
    s->jobs = NULL;
}
