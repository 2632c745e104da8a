/* Builds the objects of a RayJob: a RayCluster, and the body that the dashboard's job API takes. */
#include "build.h"

const struct kube_resource ray_job_resource = {SLICE("ray.io"), SLICE("v1"), SLICE("rayjobs")};

/* ---- names ---- */

static struct slice attempt_name(const struct ray_job *job, const char *what, int32_t attempt, struct arena *a)
{
    char five[NAME_SUFFIX];
    struct slice key = arena_printf(a, "%.*s\n%s\n%d", SLICE_ARG(job->uid), what, (int)attempt);
    hash_suffix(hash64(key, 0), five);
    return arena_printf(a, "%.*s-%.*s", SLICE_ARG(job->name), (int)sizeof five, five);
}

struct slice ray_job_cluster_name(const struct ray_job *job, int32_t attempt, struct arena *a)
{
    return attempt_name(job, "cluster", attempt, a);
}

struct slice ray_job_submission_id(const struct ray_job *job, int32_t attempt, struct arena *a)
{
    return slice_empty(job->job_id) ? attempt_name(job, "job", attempt, a) : job->job_id;
}

struct slice ray_job_submitter_name(const struct ray_job *job, int32_t attempt, int32_t n, struct arena *a)
{
    return attempt_name(job, arena_printf(a, "submitter %d", (int)n).ptr, attempt, a);
}

/* ---- the cluster ---- */

static void copy_annotations(const struct ray_job *job, struct pairs *out)
{
    struct jval k, v;
    for (struct jiter it = json_iter(job->annotations); json_next(&it, &k, &v);)
        if (!json_is(k, "kubectl.kubernetes.io/last-applied-configuration")) /* of the job, not of the cluster */
            pairs_set(out, json_str(k, out->arena), json_str(v, out->arena));
}

bool ray_build_job_cluster(const struct ray_job *job, struct slice name, struct buf *out, struct arena *a)
{
    static const char *const modes[] = {"K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"};
    struct pairs labels = pairs_new(a), annotations = pairs_new(a);
    pairs_set_all(&labels, job->labels);
    pairs_set(&labels, SLICE(RAY_LABEL_MAKER_NAME), job->name);
    pairs_set(&labels, SLICE(RAY_LABEL_MAKER_KIND), SLICE("RayJob"));
    pairs_set(&labels, SLICE("ray.io/job-submission-mode"), slice_of(modes[job->mode]));
    copy_annotations(job, &annotations);
    struct jout w;
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'ray.io/v1',kind:'RayCluster',metadata:{name:'%.*s',namespace:'%.*s',labels:", SLICE_ARG(name),
              SLICE_ARG(job->ns));
    pairs_write(&labels, &w);
    if (annotations.count) {
        jout_key(&w, SLICE("annotations"));
        pairs_write(&annotations, &w);
    }
    const struct owner owner = owner_job(job);
    write_owner(&w, &owner);
    jout_end(&w);
    jout_kval(&w, "spec", job->cluster_spec);
    jout_end(&w);
    return !out->full;
}

/* ---- the submission ---- */

struct ray_submission ray_job_submission(const struct ray_job *job, struct slice id)
{
    return (struct ray_submission){
        .entrypoint = job->entrypoint,
        .id = id,
        .runtime_env = job->runtime_env,
        .metadata = json_len(job->metadata) ? json_raw(job->metadata) : SLICE_NONE,
        .num_cpus = json_raw(job->num_cpus),
        .num_gpus = json_raw(job->num_gpus),
        .resources = job->resources,
    };
}

bool ray_write_submission(const struct ray_submission *s, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_form(&w,
              "{entrypoint:'%.*s',submission_id:'%.*s',runtime_env?:%.*s,metadata?:%.*s,entrypoint_num_cpus?:%.*s,"
              "entrypoint_num_gpus?:%.*s,entrypoint_memory?:%.*s,entrypoint_resources?:%.*s}",
              SLICE_ARG(s->entrypoint), SLICE_ARG(s->id), SLICE_ARG(s->runtime_env), SLICE_ARG(s->metadata), SLICE_ARG(s->num_cpus),
              SLICE_ARG(s->num_gpus), SLICE_ARG(s->memory), SLICE_ARG(s->resources));
    return !out->full;
}

bool ray_build_submission(const struct ray_job *job, struct slice id, struct buf *out)
{
    const struct ray_submission s = ray_job_submission(job, id);
    return ray_write_submission(&s, out);
}
