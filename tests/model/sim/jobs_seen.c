/* What the store says of RayJobs and their clusters, change by change, and what it may never say. An end is held against what the
 * dashboards know: no job is over, lost or tried again but for a reason that there was. */
#include "crons.h"

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void read_into(struct sim *s, struct jval object, const char *path, char *to, size_t size)
{
    slice_copy(slice_head(json_get_str(object, path, &s->arena), size - 1), to, size);
}

/* ---- looking things up ---- */

struct seen_job *jobs_seen(const struct sim *s, const char *ns, const char *name)
{
    struct seen_job *j = s->jobs->seen;
    while (j && (j->gone || !is(j->ns, ns) || !is(j->name, name)))
        j = j->next;
    return j;
}

struct seen_job *jobs_of_id(const struct sim *s, const char *id)
{
    for (struct seen_job *j = s->jobs->seen; j; j = j->next)
        for (uint32_t i = 0; i < j->id_count; i++)
            if (is(j->ids[i], id))
                return j;
    return NULL;
}

/* Under its name there was never but one, and that is there. */
static bool cluster_stands(const struct sim *s, const char *ns, const char *name)
{
    bool live = false, other = false;
    for (const struct seen_cluster *c = s->jobs->clusters; c; c = c->next)
        if (is(c->ns, ns) && is(c->name, name)) {
            live |= c->live;
            other |= !c->live;
        }
    return live && !other;
}

/* ---- reasons ---- */

static bool head_stands(struct sim *s, const struct seen_job *j)
{
    char session[JOBS_SESSION];
    const struct fakeray *h = fakeray_of(&s->w, "ray.io", j->ns, j->cluster);
    snprintf(session, sizeof session, "session_%s_%u", h->pod, h->sessions);
    return h->pod[0] && is(session, j->session);
}

/* Of the clusters that had the name of the one it ran on. */
static uint32_t troubles_of(const struct sim *s, const struct seen_job *j)
{
    uint32_t most = 0;
    for (const struct seen_cluster *c = s->jobs->clusters; c; c = c->next)
        if (is(c->ns, j->ns) && is(c->name, j->cluster) && c->troubles > most)
            most = c->troubles;
    return most;
}

static bool may_fail(struct sim *s, const struct seen_job *j, struct jval object)
{
    const struct submission *sub = jobs_submission(s, j->id);
    if (is(j->reason, "AppFailed"))
        return sub && sub->state == SUBMISSION_FAILED;
    if (is(j->reason, "HeadLost") || is(j->reason, "JobLost"))
        return !head_stands(s, j);
    if (is(j->reason, "ClusterLost"))
        return !cluster_stands(s, j->ns, j->cluster);
    if (is(j->reason, "DeadlineExceeded"))
        return json_get_int(object, "spec.activeDeadlineSeconds", 0) > 0;
    if (is(j->reason, "SubmissionFailed"))
        return j->tries >= JOB_SUBMIT_TRIES || j->submitter_ended ||
               slice_starts(json_get_str(object, "spec.entrypoint", &s->arena), arena_printf(&s->arena, "run %d ", SCRIPT_REFUSED));
    return is(j->reason, "ClusterFailed") && troubles_of(s, j) >= JOB_HEAD_FAILURES;
}

static void check_reason(struct sim *s, const struct seen_job *j, struct jval object)
{
    const struct submission *sub = jobs_submission(s, j->id);
    if (is(j->phase, "Complete") && !(sub && (sub->state == SUBMISSION_SUCCEEDED || sub->state == SUBMISSION_STOPPED)))
        sim_violation(s, "an end that Ray knows", "%s/%s is Complete, and %s is not", j->ns, j->name, j->id);
    if ((is(j->phase, "Failed") || is(j->phase, "Retrying")) && !may_fail(s, j, object))
        sim_violation(s, "no end without a reason", "%s/%s is %s: %s, which is not so", j->ns, j->name, j->phase, j->reason);
}

/* ---- jobs ---- */

static void phase_changed(struct sim *s, struct seen_job *j, const char *before, struct jval object)
{
    if (j->over)
        sim_violation(s, "what is over stays so", "%s/%s was %s and is %s", j->ns, j->name, before, j->phase);
    j->over = is(j->phase, "Complete") || is(j->phase, "Failed");
    j->resumes += is(before, "Suspended") || is(before, "ValidationFailed");
    sim_say(s, "job %s/%s: %s", j->ns, j->name, j->phase);
    check_reason(s, j, object);
}

static void note_id(struct sim *s, struct seen_job *j)
{
    if (!j->id[0] || (j->id_count && is(j->ids[j->id_count - 1], j->id)))
        return;
    if (j->id_count == JOBS_IDS)
        sim_violation(s, "model", "more than %d attempts of a job", JOBS_IDS);
    else
        memcpy(j->ids[j->id_count++], j->id, sizeof j->id);
    j->tries = 0;
    j->submitter_ended = false;
}

static void read_job(struct sim *s, struct seen_job *j, struct jval object)
{
    char before[JOBS_WORD];
    int64_t attempt = json_get_int(object, "status.attempt", 0), most;
    snprintf(before, sizeof before, "%s", j->phase);
    read_into(s, object, "status.jobDeploymentStatus", j->phase, sizeof j->phase);
    read_into(s, object, "status.reason", j->reason, sizeof j->reason);
    read_into(s, object, "status.jobId", j->id, sizeof j->id);
    read_into(s, object, "status.rayClusterName", j->cluster, sizeof j->cluster);
    read_into(s, object, "status.raySession", j->session, sizeof j->session);
    note_id(s, j);
    if (!is(before, j->phase))
        phase_changed(s, j, before, object);
    most = json_get_int(object, "spec.backoffLimit", 0) + 1 + j->resumes;
    if (attempt > most || attempt < j->attempt)
        sim_violation(s, "attempts are bounded", "%s/%s: attempt %d after %d, at most %d", j->ns, j->name, (int)attempt, (int)j->attempt,
                      (int)most);
    s->jobs->attempts += attempt > j->attempt;
    j->attempt = attempt;
    j->retries = most;
}

static void job_changed(struct sim *s, const struct apiserver_change *c, struct jval object)
{
    struct seen_job *j = s->jobs->seen;
    while (j && !slice_eq(slice_of(j->uid), c->uid))
        j = j->next;
    if (!j) {
        j = mem_alloc(sizeof *j);
        j->next = s->jobs->seen;
        s->jobs->seen = j;
        slice_copy(c->uid, j->uid, sizeof j->uid);
        slice_copy(c->ns, j->ns, sizeof j->ns);
        slice_copy(c->name, j->name, sizeof j->name);
        j->deletes_self = memmem(c->json.ptr, c->json.len, "DeleteSelf", 10) != NULL;
    }
    j->gone = c->what == APISERVER_DELETED;
    if (!j->gone)
        read_job(s, j, object);
}

/* ---- clusters ---- */

static void read_cluster(struct sim *s, struct seen_cluster *c, struct jval object)
{
    struct jval k, group, owner = json_at(json_get(object, "metadata.ownerReferences"), 0);
    c->live = !json_there(json_get(object, "metadata.deletionTimestamp"));
    c->job[0] = '\0';
    if (json_str_eq(json_get(owner, "kind"), SLICE("RayJob")))
        read_into(s, owner, "uid", c->job, sizeof c->job);
    c->ready = json_str_eq(json_get(object, "status.state"), SLICE("ready"));
    c->workers_suspended = true;
    for (struct jiter it = json_iter(json_get(object, "spec.workerGroupSpecs")); json_next(&it, &k, &group);)
        c->workers_suspended &= json_get_bool(group, "suspend", false);
}

static void cluster_changed(struct sim *s, const struct apiserver_change *change, struct jval object)
{
    struct seen_cluster *c = s->jobs->clusters;
    while (c && !slice_eq(slice_of(c->uid), change->uid))
        c = c->next;
    if (!c) {
        c = mem_alloc(sizeof *c);
        c->next = s->jobs->clusters;
        s->jobs->clusters = c;
        slice_copy(change->uid, c->uid, sizeof c->uid);
        slice_copy(change->ns, c->ns, sizeof c->ns);
        slice_copy(change->name, c->name, sizeof c->name);
    }
    c->gone = change->what == APISERVER_DELETED;
    c->live = false;
    if (!c->gone)
        read_cluster(s, c, object);
    for (const struct seen_cluster *other = s->jobs->clusters; other && c->live && c->job[0]; other = other->next)
        if (other != c && !other->gone && is(other->job, c->job))
            sim_violation(s, "one cluster of a job", "%s/%s beside %s", c->ns, c->name, other->name);
}

void jobs_changed(struct sim *s, const struct apiserver_change *c)
{
    struct json doc;
    struct err e = {0};
    if (slice_eq(c->plural, SLICE("pods")))
        jobs_pod_changed(s, c);
    bool job = slice_eq(c->plural, SLICE("rayjobs")), cluster = slice_eq(c->plural, SLICE("rayclusters"));
    if (!s->jobs || !slice_eq(c->group, SLICE("ray.io")) || !(job || cluster))
        return;
    if (!json_parse(&doc, c->json, &s->arena, &e)) {
        sim_violation(s, "model", "a stored object: %s", e.text);
        return;
    }
    if (job)
        job_changed(s, c, json_root(&doc));
    else
        cluster_changed(s, c, json_root(&doc));
}

void jobs_head_ended(struct sim *s, const char *owner)
{
    for (struct seen_cluster *c = s->jobs ? s->jobs->clusters : NULL; c; c = c->next)
        c->troubles += is(c->uid, owner);
}

/* ---- requests ---- */

void jobs_refused(struct sim *s, const struct world_request *q)
{
    for (struct seen_cluster *c = s->jobs ? s->jobs->clusters : NULL; c; c = c->next)
        c->troubles += q->body.len && memmem(q->body.ptr, q->body.len, c->uid, strlen(c->uid)) != NULL;
}

/* The user's clusters are never deleted, and of the jobs only those that are over and whose rules say so. */
void jobs_check_request(struct sim *s, const struct world_request *q)
{
    static const struct slice base = SLICE("/apis/ray.io/v1/namespaces/");
    struct slice path = q->target;
    if (!s->jobs || !slice_eq(q->method, SLICE("DELETE")) || !slice_starts(path, base))
        return;
    path = slice_skip(path, base.len);
    struct slice ns = slice_cut(&path, '/'), kind = slice_cut(&path, '/'), name = slice_cut(&path, '?');
    for (const struct seen_cluster *c = s->jobs->clusters; c; c = c->next)
        if (slice_eq(kind, SLICE("rayclusters")) && !c->gone && !c->job[0] && slice_eq(slice_of(c->ns), ns) &&
            slice_eq(slice_of(c->name), name))
            sim_violation(s, "users' clusters stay", "%s/%s is to be deleted", c->ns, c->name);
    for (const struct seen_job *j = s->jobs->seen; j; j = j->next)
        if (slice_eq(kind, SLICE("rayjobs")) && memmem(q->body.ptr, q->body.len, j->uid, strlen(j->uid)) && !(j->over && j->deletes_self) &&
            !crons_run_goes(s, j->uid))
            sim_violation(s, "users' jobs stay", "%s/%s is to be deleted", j->ns, j->name);
}

void jobs_check_submit(struct sim *s, const char *id, const struct process *from)
{
    struct seen_job *j = jobs_of_id(s, id);
    if (!j) {
        sim_violation(s, "status has the id first", "%s is submitted, and no job's status has it", id);
        return;
    }
    for (const struct submission *sub = s->jobs->taken; sub; sub = sub->next)
        if (is(sub->id, id))
            sim_violation(s, "a job is started once", "%s again, of %s/%s", id, j->ns, j->name);
    if (++j->taken > j->retries)
        sim_violation(s, "attempts are bounded", "%s/%s: %u submissions, at most %d", j->ns, j->name, j->taken, (int)j->retries);
    if (from && !lease_holds(s, from->number))
        sim_violation(s, "no submission without the lease", "op-%u: %s", from->number, id);
}
