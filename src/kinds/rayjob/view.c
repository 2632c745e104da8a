/* RayJobs: what a decision about one may look at, and how it is watched over. Its clusters are records like any others; what the
 * dashboard said is kept beside its record (ask.c). */
#include "record.h"

/* ---- the record's other half ---- */

struct job *job_there(const struct record *c)
{
    return c->kind == &kind_rayjob ? c->own : NULL;
}

const struct verb *job_asks(const struct record *c)
{
    const struct job *j = job_there(c);
    return j && j->said.asking ? j->verb : NULL;
}

bool job_follows(const struct record *c)
{
    const struct job *j = job_there(c);
    return j && j->follows.at;
}

bool job_matches_record(const struct record *c)
{
    const struct job *j = job_there(c);
    return !j || j->c == c;
}

struct job *job_of(struct op *op, struct record *c)
{
    struct job *j = job_there(c);
    if (j)
        return j;
    c->own = j = mem_alloc(sizeof *j);
    j->op = op;
    j->c = c;
    j->follows.who = c;
    return j;
}

void job_drop(struct op *op, struct record *c)
{
    struct job *j = job_there(c);
    if (!j)
        return;
    heads_forget(op, j);
    name_unwatch(op, &j->follows);
    mem_free(j->texts);
    mem_free(j);
    c->own = NULL;
}

/* ---- a cluster, as its jobs see it ---- */

/* Of a cluster that was well once: what its head waits for. */
static struct slice why_no_head(struct jval status, struct arena *a)
{
    struct slice text = json_get_str(status_condition(status, SLICE("HeadPodReady")), "message", a);
    return condition_is(status, "HeadPodReady", "False") ? text : SLICE_NONE;
}

/* The first of what keeps a cluster from being ready. */
static struct slice why_not_ready(struct jval status, struct arena *a)
{
    static const struct {
        const char *type, *word;
    } reasons[] = {{"Valid", "False"},
                   {"InstanceTypesReady", "False"}, /* no pod is made then, so the conditions below say less */
                   {"ReplicaFailure", "True"},
                   {STATUS_ZONES, "True"},
                   {"WorkersNotReady", "True"},
                   {"RayClusterSuspended", "True"},
                   {"RayClusterProvisioned", "False"}};
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (!condition_is(status, reasons[i].type, reasons[i].word))
            continue;
        struct slice text = json_get_str(status_condition(status, slice_of(reasons[i].type)), "message", a);
        return slice_empty(text) ? slice_of("it is suspended") : text;
    }
    struct slice head = why_no_head(status, a);
    return slice_empty(head) ? json_get_str(status, "reason", a) : head;
}

/* For programs inside the cluster: the service's own port, not the node port that status.endpoints has of it. */
static struct slice dashboard_address(const struct op *op, const struct record *c, struct jval status, struct arena *a)
{
    struct slice service = json_get_str(status, "head.serviceName", a), port = json_get_str(status, "endpoints.dashboard", a);
    const struct service_record *s = service_of(c, service);
    if (slice_empty(service))
        return SLICE_NONE;
    if (s && s->service.dashboard)
        port = arena_printf(a, "%u", s->service.dashboard);
    return arena_printf(a, "%.*s.%.*s.svc.%.*s:%.*s", SLICE_ARG(service), SLICE_ARG(istr_slice(c->ns)), SLICE_ARG(op->o.ray.cluster_domain),
                        SLICE_ARG(slice_empty(port) ? SLICE("8265") : port));
}

static bool workers_suspended(const struct record *c, struct arena *a)
{
    struct jval doc;
    struct jval k, group;
    if (!json_read(&doc, istr_slice(c->seen.spec), a, NULL))
        return false;
    for (struct jiter it = json_iter(json_get(doc, "workerGroupSpecs")); json_next(&it, &k, &group);)
        if (!json_get_bool(group, "suspend", false))
            return false;
    return true;
}

static bool suspends_workers(const struct ray_job *job)
{
    for (uint32_t i = 0; i < job->rule_count; i++)
        if (job->rules[i].what == RAY_REMOVE_WORKERS)
            return true;
    return false;
}

/* One on a node that is lost runs there for all one knows, also while it is being deleted. */
static bool head_runs(const struct record *c)
{
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        if (r->pod.head && !r->pod.ended && (r->pod.phase == POD_RUNNING || r->pod.phase == POD_UNKNOWN))
            return true;
    return false;
}

/* Finds the pod that delays the end of a cluster's deletion. */
static void view_stays(struct op *op, const struct record *c, struct job_cluster *v)
{
    const struct pod **list = arena_array(&op->arenas.plan, c->children.pod_count + 1, sizeof(const struct pod *));
    uint32_t count = 0;
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        list[count++] = &r->pod;
    v->stays = pods_going_text(list, count, op->now.wall_us, &op->arenas.plan, &v->stays_again_us);
}

/* How the head of the cluster ended last: from a head pod whose container was restarted, else from the last failure of a head pod. */
static struct slice head_end(const struct record *c, const struct group_failures *failed, struct arena *a)
{
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        if (r->pod.head && r->pod.restarted && !slice_empty(r->pod.words))
            return arena_printf(a, "pod %s: %.*s", r->pod.name, SLICE_ARG(r->pod.words));
    return failed && failed->ended ? slice_of(failed->reason) : SLICE_NONE;
}

static struct job_cluster view_cluster(struct op *op, const struct record *job, struct record *c)
{
    struct arena *a = &op->arenas.plan;
    struct jval status = record_status(c, a);
    const struct group_failures *head = failures_of(op, c, SLICE_NONE, true, false);
    struct job_cluster v = {.name = slice_of(c->name),
                            .uid = slice_of(c->uid),
                            .owned = c->family.owner == job,
                            .deleting = c->deleting,
                            .head_runs = head_runs(c),
                            .head_failures = head ? head->ends : 0,
                            .status = status};
    v.ready = json_is(json_get(status, "state"), "ready");
    v.refused = condition_is(status, "Valid", "False");
    v.why = why_not_ready(status, a);
    v.head_end = head_end(c, head, a);
    if (condition_is(status, "ReplicaFailure", "True"))
        v.pods_failed = json_get_str(status_condition(status, SLICE("ReplicaFailure")), "message", a);
    v.dashboard = dashboard_address(op, c, status, a);
    if (c->deleting)
        view_stays(op, c, &v);
    v.workers_suspended = v.owned && suspends_workers(job_model(op)) && workers_suspended(c, a);
    return v;
}

/* ---- the view ---- */

/* Those that it owns, and the one that status names. */
static void view_clusters(struct op *op, struct record *c, struct slice name, struct job_view *v)
{
    uint32_t count = 0;
    for (struct record *own = c->family.owned; own; own = own->family.next)
        count++;
    struct job_cluster *list = arena_array(&op->arenas.plan, count + 1, sizeof *list);
    bool named = slice_empty(name);
    for (struct record *own = c->family.owned; own; own = own->family.next) {
        if (!own->present)
            continue;
        named |= slice_eq(slice_of(own->name), name);
        list[v->cluster_count++] = view_cluster(op, c, own);
    }
    /* Those of a cluster that it owns find it by themselves. */
    name_watch(op, &job_of(op, c)->follows, &kind_raycluster, c->ns, named ? SLICE_NONE : name);
    struct record *other = named ? NULL : cluster_named(op, c, name);
    if (other)
        list[v->cluster_count++] = view_cluster(op, c, other);
    v->clusters = list;
}

/* A finalizer is written against the version that was seen. A status of the same plan would change that, and comes with the next. */
static void finalizer_first(struct plan *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb == &rayjob_add_finalizer) {
            p->actions[0] = p->actions[i];
            p->count = 1;
        }
}

/* Times of status are of the wall clock of whoever wrote them, which may have been ahead of what ours is now. */
static int64_t known_since(struct op *op, struct job_time *t, struct jval status, const char *path)
{
    struct slice text = json_get_str(status, path, &op->arenas.plan);
    uint64_t what = slice_empty(text) ? 0 : hash64(text, (uint64_t)json_get_int(status, "attempt", 0));
    if (t->what != what)
        *t = (struct job_time){what, op->now.mono_ms};
    return what ? t->since_ms : 0;
}

void job_decide(struct op *op, struct record *c, struct plan *p)
{
    struct arena *a = &op->arenas.plan;
    struct job *j = job_of(op, c);
    struct jval status = record_status(c, a);
    struct job_view v = {.job = job_model(op),
                         .errors = &op->models.loaded->errors,
                         .status = status,
                         .status_hash = c->status_ours ? c->status.hash : 0,
                         .status_not_before_ms = c->status.not_before_ms,
                         .refusals = failures_of(op, c, SLICE_NONE, true, false),
                         .submitter_pods = op->o.submitter_pods,
                         .namespace_going = c->space->going == c->ns,
                         .now = op->now};
    if (c->deleting && !j->leaving_ms)
        j->leaving_ms = op->now.mono_ms;
    v.leaving_ms = j->leaving_ms;
    struct slice phase = json_get_str(status, "jobDeploymentStatus", a);
    bool giving_up = slice_is(phase, "Suspending") || slice_is(phase, "Retrying");
    j->giving_up_ms = giving_up ? (j->giving_up_ms ? j->giving_up_ms : op->now.mono_ms) : 0;
    v.giving_up_ms = j->giving_up_ms;
    v.submitter_ms = j->submitter_ms;
    v.start_known_ms = known_since(op, &j->started, status, "startTime");
    v.end_known_ms = known_since(op, &j->ended, status, "endTime");
    v.ray_end_known_ms = known_since(op, &j->ray_ended, status, "rayJobInfo.endTime");
    bool silent = !slice_empty(json_get_str(status, "jobStatusCheckFailureStartTime", a));
    v.silent_before = j->silent_before = silent && (j->silent_before || !j->seen);
    j->seen = true;
    v.silence_s = op->o.job_silence_s;
    v.delete_jobs = op->o.delete_jobs;
    v.unmarked = !json_there(json_child(job_model(op)->annotations, RAY_ANNOTATION_ENDED));
    struct slice cluster = json_get_str(status, "rayClusterName", a);
    if (slice_empty(cluster) && !slice_empty(j->said.cluster))
        job_forget_answers(op, j); /* the next attempt's cluster may have the same name */
    view_clusters(op, c, cluster, &v);
    v.submitters = view_pods(op, c, &v.submitter_count);
    if (slice_is(phase, "Failed") || slice_is(phase, "Complete"))
        job_forget_words(j); /* status has them */
    v.said = j->said;
    rayjob_decide(&v, a, p);
    finalizer_first(p);
}

void read_job(struct op *op, struct record *c, const struct spec_object *from)
{
    struct ray_job *model = arena_new(&op->models.loaded->arena, struct ray_job);
    (void)c;
    ray_read_job_resource(from, &op->models.loaded->arena, model, &op->models.loaded->errors);
    op->models.loaded->model = model;
}

int64_t decide_job(struct op *op, struct record *c, struct plan *p)
{
    arena_reset(&op->arenas.plan, 256 * KIB);
    job_decide(op, c, p);
    op->stats.decisions++;
    return p->next_ms;
}

void kept_job(struct op *op, struct record *c, struct jval object, uint32_t round, bool status)
{
    if (status && round != 0 && !slice_empty(json_get_str(object, "status.jobStatus", &op->arenas.event)))
        job_doubt(c);
}
