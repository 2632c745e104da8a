/* Reading ray.io/v1 RayJobs: KubeRay 1.7's own rules, so that a manifest that is good for one is good for both. */
#include "build.h"

#include <mobula/yaml.h>

/* The longest name whose clusters still have one: "<job>-<5>" must be a RayCluster's. */
enum { JOB_NAME_MAX = 47, SUBMITTER_RETRIES = 2, TTL_MAX = INT32_MAX };

struct job_reader {
    struct reader r;
    struct ray_job *job;
    struct ray_cluster *cluster; /* of rayClusterSpec */
    bool shutdown;               /* shutdownAfterJobFinishes */
    int32_t ttl_s;               /* ttlSecondsAfterFinished */
};

static void clear_job(struct ray_job *job)
{
    *job = (struct ray_job){.submitter_retries = SUBMITTER_RETRIES,
                            .spec = NO_VALUE,
                            .labels = NO_VALUE,
                            .annotations = NO_VALUE,
                            .cluster_spec = NO_VALUE,
                            .metadata = NO_VALUE,
                            .num_cpus = NO_VALUE,
                            .num_gpus = NO_VALUE,
                            .submitter_template = NO_VALUE};
}

static void read_job_metadata(struct reader *r, const struct spec_object *from, struct ray_job *job)
{
    struct metadata m;
    if (!read_metadata(r, from, JOB_NAME_MAX, "the cluster's name made from it has one of its own", &m))
        return;
    const struct place *annotations = place_member(from->metadata, SLICE("annotations"), m.annotations);
    job->ns = m.ns;
    job->name = m.name;
    job->uid = m.uid;
    job->generation = m.generation;
    job->deleting = m.deleting;
    job->labels = m.labels;
    job->annotations = m.annotations;
    job->finalizer = has_finalizer(from->metadata->value, RAY_JOB_FINALIZER);
    read_tools_resources(r, annotations);
}

/* ---- the submission ---- */

static void read_runtime_env(struct job_reader *j, const struct place *spec)
{
    const struct place *at = place_key(spec, "runtimeEnvYAML");
    struct slice text;
    struct yaml_docs docs;
    struct err e = {0};
    if (!read_text(&j->r, at, OPTIONAL, &text) || slice_empty(slice_trim(text)))
        return;
    if (!yaml_parse_runtime_env(text, j->r.arena, &docs, &e))
        place_bad(&j->r, at, "cannot be read: %s", e.text);
    else if (docs.count > 1)
        place_bad(&j->r, at, "holds %u YAML documents: must be one", docs.count);
    else if (docs.count == 1 && docs.docs[0].json.ptr[0] != '{')
        place_bad(&j->r, at, "is no object: must be fields such as working_dir, pip or env_vars");
    else if (docs.count == 1) {
        j->job->runtime_env = docs.docs[0].json;
        check_runtime_env(&j->r, at, docs.docs[0].json);
    }
}

/* Ray takes a number of each, in an object that the CR holds as text. */
static void read_entry_resources(struct job_reader *j, const struct place *spec)
{
    const struct place *at = place_key(spec, "entrypointResources");
    struct slice text;
    struct jval doc;
    struct err e = {0};
    struct jval k, v;
    double n;
    if (!read_text(&j->r, at, OPTIONAL, &text) || slice_empty(slice_trim(text)))
        return;
    if (!json_read(&doc, text, j->r.arena, &e)) {
        place_bad(&j->r, at, "is not JSON: %s; write '{\"name\": 1}'", e.text);
        return;
    }
    bool numbers = json_type(doc) == JSON_OBJECT;
    for (struct jiter it = json_iter(doc); json_next(&it, &k, &v);)
        numbers &= json_num(v, &n) && n >= 0;
    if (numbers)
        j->job->resources = text;
    else
        place_bad(&j->r, at, "must be a JSON object of amounts: '{\"name\": 1}'");
}

static struct jval read_amount(struct job_reader *j, const struct place *spec, const char *key)
{
    const struct place *at = place_key(spec, key);
    double n;
    if (!place_given(at))
        return NO_VALUE;
    if (!json_num(at->value, &n))
        place_bad(&j->r, at, "must be a number");
    else if (n < 0)
        place_bad(&j->r, at, "is below 0");
    else
        return at->value;
    return NO_VALUE;
}

static void read_submission(struct job_reader *j, const struct place *spec)
{
    struct ray_job *job = j->job;
    const struct place *entrypoint = place_key(spec, "entrypoint"), *id = place_key(spec, "jobId"), *metadata = place_key(spec, "metadata");
    read_text(&j->r, entrypoint, OPTIONAL, &job->entrypoint);
    if (read_text(&j->r, id, OPTIONAL, &job->job_id)) {
        bool plain = job->job_id.len <= 253;
        for (size_t i = 0; i < job->job_id.len; i++)
            plain &= job->job_id.ptr[i] > ' ' && job->job_id.ptr[i] < 127 && !strchr("/?#%", job->job_id.ptr[i]);
        if (!plain)
            place_bad(&j->r, id, "is no job id: at most 253 printable characters without spaces and without / ? # %%");
    }
    if (read_text_map(&j->r, metadata))
        job->metadata = metadata->value;
    job->num_cpus = read_amount(j, spec, "entrypointNumCpus");
    job->num_gpus = read_amount(j, spec, "entrypointNumGpus");
    read_entry_resources(j, spec);
    read_runtime_env(j, spec);
    if (slice_empty(slice_trim(job->entrypoint)) && job->mode != RAY_JOB_INTERACTIVE && !job->own_submitter)
        place_bad(&j->r, entrypoint, "is missing: the shell command that the job runs");
}

static void read_mode(struct job_reader *j, const struct place *spec)
{
    static const char *const modes[] = {"K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode", NULL};
    struct ray_job *job = j->job;
    const struct place *mode = place_key(spec, "submissionMode"), *template = place_key(spec, "submitterPodTemplate");
    const struct place *config = place_key(spec, "submitterConfig"), *retries = place_key(config, "backoffLimit");
    struct slice text;
    int64_t n = SUBMITTER_RETRIES;
    if (read_word(&j->r, mode, modes, &text))
        for (int i = 0; modes[i]; i++)
            if (slice_is(text, modes[i]))
                job->mode = (enum ray_job_mode)i;
    if (read_object(&j->r, template, OPTIONAL)) {
        check_pod_template(&j->r, template, RAY_TOOLS_VOLUME);
        job->submitter_template = template->value;
        struct jval container = json_at(json_get(template->value, "spec.containers"), 0);
        job->own_submitter = job->mode == RAY_JOB_K8S && json_len(json_get(container, "command")) > 0;
    }
    if (read_object(&j->r, config, OPTIONAL) && read_int(&j->r, retries, 0, INT32_MAX, &n))
        job->submitter_retries = (int32_t)n;
    if (job->mode != RAY_JOB_SIDECAR)
        return;
    if (place_given(template))
        place_bad(&j->r, template, "is not for SidecarMode: remove it");
    if (place_given(config))
        place_bad(&j->r, config, "is not for SidecarMode: remove it");
}

/* ---- the cluster ---- */

static void read_selector(struct job_reader *j, const struct place *spec)
{
    const struct place *all = place_key(spec, "clusterSelector"), *at = place_key(all, RAY_LABEL_CLUSTER);
    if (!read_text_map(&j->r, all) || json_len(all->value) == 0)
        return;
    read_text(&j->r, at, REQUIRED, &j->job->selected);
    if (place_type(at) == JSON_STRING && !name_dns1123_label(j->job->selected)) {
        place_bad(&j->r, at, "is \"%.*s\": must be the name of a RayCluster", SLICE_ARG(slice_head(j->job->selected, 60)));
        j->job->selected = SLICE_NONE;
    }
}

/* As a cluster of its own that the job makes. */
static void read_own_cluster(struct job_reader *j, const struct place *spec)
{
    struct ray_job *job = j->job;
    const struct place *cluster = place_key(spec, "rayClusterSpec"), *upgrade = place_key(cluster, "upgradeStrategy"),
                       *type = place_key(upgrade, "type");
    const struct place *head = place_key(cluster, "headGroupSpec"), *template = place_key(head, "template"),
                       *pod = place_key(template, "spec"), *restart = place_key(pod, "restartPolicy");
    cluster_clear(j->cluster);
    if (!read_object(&j->r, cluster, OPTIONAL))
        return;
    job->cluster_spec = cluster->value;
    j->cluster->annotations = job->annotations; /* the cluster will carry them */
    read_v1(&j->r, cluster, j->cluster);
    if (place_given(type))
        place_bad(&j->r, type, "must not be set on a cluster that a RayJob makes");
    if (job->mode == RAY_JOB_SIDECAR && place_given(restart) && !json_is(restart->value, "Never"))
        place_bad(&j->r, restart, "must be Never, or not set, with SidecarMode");
}

static void read_cluster(struct job_reader *j, const struct place *spec)
{
    struct ray_job *job = j->job;
    const struct place *cluster = place_key(spec, "rayClusterSpec"), *mode = place_key(spec, "submissionMode");
    const struct place *suspend = place_key(spec, "suspend"), *retries = place_key(spec, "backoffLimit");
    read_selector(j, spec);
    read_own_cluster(j, spec);
    if (slice_empty(job->selected)) {
        if (!place_given(cluster) && json_len(json_get(spec->value, "clusterSelector")) == 0)
            place_bad(&j->r, cluster, "is missing: describe a cluster here, or name one in clusterSelector");
        return;
    }
    if (job->mode == RAY_JOB_SIDECAR)
        place_bad(&j->r, mode, "is SidecarMode, which needs a cluster of the job's own: remove clusterSelector");
    if (job->retries)
        place_bad(&j->r, retries, "must be 0 with clusterSelector: each try would need a new cluster");
    if (job->suspend)
        place_bad(&j->r, suspend, "is true, which deletes the cluster: not possible with clusterSelector");
}

/* ---- the course of it ---- */

static void read_course(struct job_reader *j, const struct place *spec)
{
    struct ray_job *job = j->job;
    const struct place *suspend = place_key(spec, "suspend"), *managed = place_key(spec, "managedBy"),
                       *retries = place_key(spec, "backoffLimit");
    const struct place *active = place_key(spec, "activeDeadlineSeconds"), *before = place_key(spec, "preRunningDeadlineSeconds");
    const struct place *shutdown = place_key(spec, "shutdownAfterJobFinishes"), *ttl = place_key(spec, "ttlSecondsAfterFinished");
    struct slice text;
    int64_t n = 0;
    read_flag(&j->r, suspend, &job->suspend);
    read_flag(&j->r, shutdown, &j->shutdown);
    if (read_text(&j->r, managed, OPTIONAL, &text))
        job->managed_elsewhere = ray_managed_elsewhere(text);
    if (read_int(&j->r, retries, 0, INT32_MAX, &n))
        job->retries = (int32_t)n;
    if (read_int(&j->r, active, 1, INT32_MAX, &n))
        job->active_deadline_s = (int32_t)n;
    if (read_int(&j->r, before, 1, INT32_MAX, &n))
        job->pre_running_deadline_s = (int32_t)n;
    if (read_int(&j->r, ttl, 0, TTL_MAX, &n))
        j->ttl_s = (int32_t)n;
    if (job->suspend && !j->shutdown)
        place_bad(&j->r, suspend, "needs shutdownAfterJobFinishes: true, because suspending deletes the cluster");
    if (j->ttl_s && !j->shutdown)
        place_bad(&j->r, ttl, "needs shutdownAfterJobFinishes: true");
    if (job->mode == RAY_JOB_INTERACTIVE && job->retries)
        place_bad(&j->r, retries, "must be 0 with InteractiveMode: nobody would submit the next try");
}

/* ---- deletion ---- */

static const char *const policies[] = {[RAY_REMOVE_NONE] = "DeleteNone",
                                       [RAY_REMOVE_WORKERS] = "DeleteWorkers",
                                       [RAY_REMOVE_CLUSTER] = "DeleteCluster",
                                       [RAY_REMOVE_SELF] = "DeleteSelf",
                                       NULL};

static void add_rule(struct job_reader *j, uint8_t ends, enum ray_job_removal what, int32_t ttl_s)
{
    if (j->job->rule_count < LIMIT_RAY_RULES)
        j->job->rules[j->job->rule_count++] = (struct ray_job_rule){ends, (uint8_t)what, ttl_s};
}

static bool read_policy(struct job_reader *j, const struct place *holder, enum ray_job_removal *out)
{
    const struct place *at = place_key(holder, "policy");
    struct slice word;
    if (!place_given(at))
        place_bad(&j->r, at, "is missing: must be DeleteCluster, DeleteWorkers, DeleteSelf or DeleteNone");
    if (!read_word(&j->r, at, policies, &word))
        return false;
    for (int i = 0; policies[i]; i++)
        if (slice_is(word, policies[i]))
            *out = (enum ray_job_removal)i;
    bool touches = *out == RAY_REMOVE_WORKERS || *out == RAY_REMOVE_CLUSTER;
    if (touches && !slice_empty(j->job->selected))
        place_bad(&j->r, at, "is %s: a cluster that clusterSelector names is not the job's to change", policies[*out]);
    else if (*out == RAY_REMOVE_WORKERS && j->cluster->scale.on)
        place_bad(&j->r, at, "is DeleteWorkers: not possible while enableInTreeAutoscaling is true");
    return true;
}

/* onSuccess and onFailure: the older spelling. */
static void read_older(struct job_reader *j, const struct place *strategy)
{
    static const struct {
        const char *key;
        uint8_t ends;
    } both[] = {{"onSuccess", RAY_END_SUCCEEDED}, {"onFailure", RAY_END_FAILED | RAY_END_GIVEN_UP}};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        const struct place *at = place_key(strategy, both[i].key), *policy = place_key(at, "policy");
        enum ray_job_removal what = RAY_REMOVE_NONE;
        if (!read_object(&j->r, at, REQUIRED) || !read_policy(j, at, &what))
            continue;
        if (what == RAY_REMOVE_NONE && j->shutdown)
            place_bad(&j->r, policy, "is DeleteNone, and shutdownAfterJobFinishes is true: keep one of the two");
        add_rule(j, both[i].ends, what, j->ttl_s);
    }
}

static bool read_condition(struct job_reader *j, const struct place *at, uint8_t *ends, int32_t *ttl_s)
{
    static const char *const statuses[] = {"SUCCEEDED", "FAILED", NULL}, *const deployment[] = {"Failed", NULL};
    const struct place *job = place_key(at, "jobStatus"), *other = place_key(at, "jobDeploymentStatus"), *ttl = place_key(at, "ttlSeconds");
    struct slice word;
    int64_t n = 0;
    if (!read_object(&j->r, at, REQUIRED))
        return false;
    read_int(&j->r, ttl, 0, TTL_MAX, &n);
    *ttl_s = (int32_t)n;
    if (place_given(job) == place_given(other)) {
        place_bad(&j->r, at, "must have one of jobStatus and jobDeploymentStatus");
        return false;
    }
    *ends = RAY_END_GIVEN_UP;
    if (place_given(other))
        return read_word(&j->r, other, deployment, &word);
    if (!read_word(&j->r, job, statuses, &word))
        return false;
    *ends = slice_is(word, "FAILED") ? RAY_END_FAILED : RAY_END_SUCCEEDED;
    return true;
}

/* Of two rules for the same end the one that deletes more must not come first. */
static void compare_rules(struct job_reader *j, const struct place *at, const struct ray_job_rule *rule)
{
    for (uint32_t i = 0; i < j->job->rule_count; i++) {
        const struct ray_job_rule *other = &j->job->rules[i];
        if (other->ends != rule->ends)
            continue;
        if (other->what == rule->what)
            place_bad(&j->r, at, "has the condition and policy of an earlier rule");
        else if (other->what && rule->what && (other->what < rule->what) != (other->ttl_s <= rule->ttl_s) && other->ttl_s != rule->ttl_s)
            place_bad(&j->r, at, "%s comes after %d s and %s after %d s: what deletes more must not come earlier", policies[rule->what],
                      (int)rule->ttl_s, policies[other->what], (int)other->ttl_s);
    }
}

static void read_rules(struct job_reader *j, const struct place *rules)
{
    size_t count = json_len(rules->value);
    if (count == 0 || count > LIMIT_RAY_RULES) {
        place_bad(&j->r, rules, "has %zu rules: must have 1 to %d (LIMIT_RAY_RULES)", count, (int)LIMIT_RAY_RULES);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct place *at = place_element(rules, i, json_at(rules->value, i)), *condition = place_key(at, "condition");
        enum ray_job_removal what = RAY_REMOVE_NONE;
        uint8_t ends = 0;
        int32_t ttl_s = 0;
        if (!read_object(&j->r, at, REQUIRED))
            continue;
        bool named = read_policy(j, at, &what);
        if (!read_condition(j, condition, &ends, &ttl_s) || !named)
            continue;
        struct ray_job_rule rule = {ends, (uint8_t)what, ttl_s};
        compare_rules(j, at, &rule);
        add_rule(j, ends, what, ttl_s);
    }
}

static void read_deletion(struct job_reader *j, const struct place *spec)
{
    const struct place *strategy = place_key(spec, "deletionStrategy"), *rules = place_key(strategy, "deletionRules");
    const struct place *success = place_key(strategy, "onSuccess"), *failure = place_key(strategy, "onFailure");
    if (!read_object(&j->r, strategy, OPTIONAL)) {
        if (j->shutdown && slice_empty(j->job->selected))
            add_rule(j, RAY_END_ANY, RAY_REMOVE_CLUSTER, j->ttl_s);
        j->job->shutdown = j->shutdown;
        return;
    }
    bool older = place_given(success) || place_given(failure);
    if (older && place_given(rules))
        place_bad(&j->r, rules, "and onSuccess or onFailure exclude each other: keep the rules");
    else if (older)
        read_older(j, strategy);
    else if (!place_given(rules))
        place_bad(&j->r, strategy, "says nothing: write deletionRules");
    else if (j->shutdown)
        place_bad(&j->r, rules, "and shutdownAfterJobFinishes exclude each other: keep one of the two");
    if (!older && read_array(&j->r, rules, OPTIONAL))
        read_rules(j, rules);
}

static void read_job_spec(struct job_reader *j, const struct place *spec)
{
    if (!read_object(&j->r, spec, REQUIRED))
        return;
    j->job->spec = spec->value;
    read_mode(j, spec);
    read_submission(j, spec);
    read_course(j, spec);
    read_cluster(j, spec);
    read_deletion(j, spec);
}

bool ray_read_job_resource(const struct spec_object *from, struct arena *a, struct ray_job *out, struct spec_errors *errors)
{
    struct ray_cluster cluster;
    struct job_reader j = {.r = {.arena = a, .errors = errors}, .job = out, .cluster = &cluster};
    uint32_t before = spec_errors_count(errors);
    clear_job(out);
    cluster_clear(&cluster);
    if (!from->kept && json_type(from->root->value) != JSON_OBJECT) {
        place_bad(&j.r, from->root, "the resource is not an object");
        return false;
    }
    read_type_meta(&j.r, from->root, "ray.io/v1", "RayJob");
    read_job_metadata(&j.r, from, out);
    read_job_spec(&j, from->spec);
    return spec_errors_count(errors) == before;
}

bool ray_read_job(struct jval object, struct arena *a, struct ray_job *out, struct spec_errors *errors)
{
    const struct spec_object from = spec_object_of(object, a);
    return ray_read_job_resource(&from, a, out, errors);
}

void ray_read_job_spec(const struct place *spec, struct arena *a, struct ray_job *out, struct spec_errors *errors)
{
    struct ray_cluster cluster;
    struct job_reader j = {.r = {.arena = a, .errors = errors}, .job = out, .cluster = &cluster};
    clear_job(out);
    cluster_clear(&cluster);
    read_job_spec(&j, spec);
}
