/* The command line's questions to a RayJob's manifest: kind.check and kind.preview. */
#include "record.h"

void rayjob_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes)
{
    ray_read_job(object, a, arena_new(a, struct ray_job), errors);
    ray_job_notes(object, a, notes);
}

/* HOST:PORT of the dashboard, as the cluster's status will have it. */
static struct slice dashboard(const struct ray_cluster *c, const struct preview *p)
{
    struct slice head = ray_head_service_name(c, p->arena);
    return arena_printf(p->arena, "%.*s.%.*s.svc.%.*s:%d", SLICE_ARG(head), SLICE_ARG(c->ns), SLICE_ARG(p->ray.cluster_domain),
                        (int)c->ports.dashboard);
}

static bool put_submitter(const struct ray_job *job, const struct ray_cluster *on, struct preview *p)
{
    const struct ray_submitter s = {.name = ray_job_submitter_name(job, 1, 0, p->arena),
                                    .id = ray_job_submission_id(job, 1, p->arena),
                                    .cluster = on->name,
                                    .dashboard = dashboard(on, p),
                                    .secret = on->auth.secret,
                                    .spec = job->cluster_spec};
    __attribute__((cleanup(buf_free))) struct buf pod;
    struct ray_job typed = *job;
    buf_init(&pod, LIMIT_JSON_ITEM);
    if (p->types && !shape_pod(p->types, SLICE("submitter"), &typed.submitter_template, p->arena, &p->err))
        return false;
    return ray_build_submitter_pod(&typed, &s, &p->ray, p->arena, &pod, &p->err) && p->put(p, buf_slice(&pod));
}

/* The cluster of its first attempt, and the pod that submits it. */
static bool put_attempt(const struct ray_job *job, struct preview *p)
{
    struct ray_cluster *cluster = arena_new(p->arena, struct ray_cluster);
    struct jval doc;
    struct slice name = ray_job_cluster_name(job, 1, p->arena);
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, LIMIT_JSON_ITEM);
    if (!ray_build_job_cluster(job, name, &text, p->arena))
        return err_set(&p->err, ERR_LIMIT, "RayCluster %.*s does not fit %d bytes (LIMIT_JSON_ITEM)", SLICE_ARG(name), LIMIT_JSON_ITEM);
    if (!p->put(p, buf_slice(&text)))
        return false;
    if (!job->own_submitter && !(job->mode == RAY_JOB_K8S && p->submitter_pods))
        return true;
    return json_read(&doc, buf_slice(&text), p->arena, &p->err) && ray_read(doc, p->arena, cluster, p->errors) &&
           put_submitter(job, cluster, p);
}

bool rayjob_preview(struct jval object, struct preview *p)
{
    struct ray_job *job = arena_new(p->arena, struct ray_job);
    if (!ray_read_job(object, p->arena, job, p->errors))
        return false;
    if (slice_empty(job->ns))
        job->ns = SLICE("default");
    if (slice_empty(job->uid))
        job->uid = SLICE(PREVIEW_UID);
    if (job->managed_elsewhere)
        p->note = SLICE("nothing is made: spec.managedBy leaves it to another controller");
    else if (job->suspend)
        p->note = SLICE("nothing is made: spec.suspend is true");
    else if (!slice_empty(job->selected))
        p->note = arena_printf(p->arena, "no cluster is made: spec.clusterSelector names RayCluster %.*s", SLICE_ARG(job->selected));
    return !slice_empty(p->note) || put_attempt(job, p);
}
