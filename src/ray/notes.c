/* Fields that are accepted and have no effect. The tables name every field of both kinds: KubeRay v1.7.0's, and Ray's own operator's. */
#include "reader.h"

#include <mobula/yaml.h>

static const char *const v1_spec[] = {"upgradeStrategy",
                                      "authOptions",
                                      "suspend",
                                      "managedBy",
                                      "enableInTreeAutoscaling",
                                      "autoscalerOptions",
                                      "headServiceAnnotations",
                                      "gcsFaultToleranceOptions",
                                      "historyServerOptions",
                                      "networkPolicy",
                                      "tlsOptions",
                                      "rayVersion",
                                      "headGroupSpec",
                                      "workerGroupSpecs",
                                      NULL};
static const char *const v1_head[] = {"template",    "rayStartParams", "resources",      "labels", "headService",
                                      "serviceType", "enableIngress",  "ingressOptions", NULL};
static const char *const v1_group[] = {"groupName", "replicas", "minReplicas",   "maxReplicas", "numOfHosts",     "idleTimeoutSeconds",
                                       "priority",  "suspend",  "scaleStrategy", "template",    "rayStartParams", "resources",
                                       "labels",    NULL};
static const char *const v1_options[] = {"version",
                                         "image",
                                         "imagePullPolicy",
                                         "resources",
                                         "idleTimeoutSeconds",
                                         "upscalingMode",
                                         "env",
                                         "envFrom",
                                         "volumeMounts",
                                         "securityContext",
                                         "command",
                                         "args",
                                         NULL};
static const char *const legacy_spec[] = {
    "maxWorkers",           "upscalingSpeed",         "idleTimeoutMinutes", "headPodType",         "headServicePorts", "podTypes",
    "headStartRayCommands", "workerStartRayCommands", "headSetupCommands",  "workerSetupCommands", "SetupCommands",    NULL};
static const char *const legacy_type[] = {"name",          "minWorkers",          "maxWorkers", "rayResources",
                                          "setupCommands", "workerSetupCommands", "podConfig",  NULL};

static void unknown_in_list(struct reader *r, const struct place *object, const char *key, const char *const *known)
{
    const struct place *list = place_key(object, key);
    size_t i = 0;
    struct jval k, v;
    if (place_type(list) != JSON_ARRAY)
        return;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
        const struct place *at = place_element(list, i, v);
        note_unknown(r, at, known);
    }
}

static void later(struct reader *r, const struct place *object, const char *key, const char *what)
{
    const struct place *at = place_key(object, key);
    if (place_given(at) && (json_type(at->value) != JSON_BOOL || json_bool(at->value, false)))
        place_bad(r, at, "%s", what);
}

/* Fields that describe a container that is not made, and fields that ask for scaling where none takes place. */
static void note_scaling(struct reader *r, const struct place *spec, const struct place *annotations)
{
    static const char *const container[] = {"image",        "imagePullPolicy", "resources", "env", "envFrom",
                                            "volumeMounts", "securityContext", "command",   "args"};
    static const char off[] = "has no effect: enableInTreeAutoscaling is not true";
    const struct place *options = place_key(spec, "autoscalerOptions"), *groups = place_key(spec, "workerGroupSpecs");
    const struct place *scaler = place_key(annotations, RAY_ANNOTATION_AUTOSCALER);
    bool scaled = json_bool(json_get(spec->value, "enableInTreeAutoscaling"), false);
    bool sidecar = json_is(scaler->value, "sidecar");
    for (size_t i = 0; i < COUNT_OF(container) && !sidecar; i++)
        later(r, options, container[i],
              "has no effect where the operator scales the cluster itself: it is for the annotation " RAY_ANNOTATION_AUTOSCALER
              ": sidecar");
    for (size_t i = 0; scaled && !sidecar && place_type(groups) == JSON_ARRAY && i < json_len(groups->value); i++) {
        const struct place *group = place_element(groups, i, json_at(groups->value, i)), *strategy = place_key(group, "scaleStrategy");
        if (json_len(json_get(strategy->value, "workersToDelete")))
            place_bad(r, place_key(strategy, "workersToDelete"),
                      "has no effect while the operator's autoscaler chooses which workers go: to replace one, delete its pod");
    }
    if (scaled)
        return;
    if (place_given(scaler))
        place_bad(r, scaler, "%s", off);
    for (size_t i = 0; place_type(groups) == JSON_ARRAY && i < json_len(groups->value); i++) {
        const struct place *group = place_element(groups, i, json_at(groups->value, i));
        later(r, group, "idleTimeoutSeconds", off);
    }
}

/* Whether ray start is given a value that a shell must not split: JSON, or what the user put quotes or blanks into. */
static bool start_has_quotes(const struct place *group, struct jval container, struct arena *a)
{
    static const char *const lists[] = {"resources", "labels"}, *const accelerators[] = {"google.com/tpu", "aws.amazon.com/neuroncore"};
    struct jval k, v, limits = json_get(container, "resources.limits");
    for (struct jiter it = json_iter(json_get(group->value, "rayStartParams")); json_next(&it, &k, &v);) {
        struct slice text = json_str(v, a);
        for (size_t i = 0; i < text.len; i++)
            if (text.ptr[i] && strchr(" \t\n'\"\\{", text.ptr[i]))
                return true;
    }
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        if (json_len(json_child(group->value, lists[i])) || value_given(json_child(limits, accelerators[i])))
            return true;
    return false;
}

/* A shell that replaces the variable splits it at its blanks and leaves the quotes in place, so Ray would be given halves of a value. */
static void note_start_variable(struct reader *r, const struct place *group)
{
    static const char *const parts[] = {"command", "args"};
    const struct place *template = place_key(group, "template"), *spec = place_key(template, "spec"),
                       *containers = place_key(spec, "containers");
    const struct place *container = place_element(containers, 0, json_at(containers->value, 0));
    if (!start_has_quotes(group, container->value, r->arena))
        return;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const struct place *list = place_key(container, parts[i]);
        struct jval k, v;
        size_t n = 0;
        for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); n++) {
            struct slice text = json_str(v, r->arena);
            ptrdiff_t at = slice_find_text(text, "KUBERAY_GEN_RAY_START_CMD");
            const struct place *word = place_element(list, n, v);
            if (at > 0 && strchr("${", text.ptr[at - 1]) && !slice_has(slice_head(text, (size_t)at), "eval"))
                place_bad(r, word,
                          "splits a value of rayStartParams or of resources at its blanks: write eval \"$KUBERAY_GEN_RAY_START_CMD\"");
        }
    }
}

static void note_start_variables(struct reader *r, const struct place *spec)
{
    const struct place *head = place_key(spec, "headGroupSpec"), *groups = place_key(spec, "workerGroupSpecs");
    note_start_variable(r, head);
    for (size_t i = 0; place_type(groups) == JSON_ARRAY && i < json_len(groups->value); i++) {
        const struct place *group = place_element(groups, i, json_at(groups->value, i));
        note_start_variable(r, group);
    }
}

/* Labels and annotations by which KubeRay asks a batch scheduler for a gang or a queue. */
static void note_schedulers(struct reader *r, const struct place *metadata)
{
    static const char *const keys[] = {"ray.io/gang-scheduling-enabled", "ray.io/priority-class-name", "ray.io/scheduler-name",
                                       "volcano.sh/queue-name",          "volcano.sh/job-name",        "yunikorn.apache.org/queue",
                                       "yunikorn.apache.org/app-id",     "kai.scheduler/queue"};
    static const char *const parts[] = {"labels", "annotations"};
    for (size_t p = 0; p < COUNT_OF(parts); p++) {
        const struct place *map = place_key(metadata, parts[p]);
        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            const struct place *at = place_key(map, keys[i]);
            if (value_given(at->value))
                place_bad(r, at,
                          "is not carried out: no pod group is made, and pods do not get it. Put it into the pod templates, with their "
                          "schedulerName, or use Kueue");
        }
    }
}

static void note_v1(struct reader *r, const struct place *annotations, const struct place *spec)
{
    const struct place *head = place_key(spec, "headGroupSpec"), *options = place_key(spec, "autoscalerOptions");
    note_unknown(r, spec, v1_spec);
    note_unknown(r, head, v1_head);
    note_unknown(r, options, v1_options);
    unknown_in_list(r, spec, "workerGroupSpecs", v1_group);
    note_scaling(r, spec, annotations);
    if (json_is(json_get(spec->value, "upgradeStrategy.type"), "Recreate"))
        later(r, annotations, RAY_ANNOTATION_ROLL, "has no effect: upgradeStrategy.type Recreate replaces all pods at once");
    note_start_variables(r, spec);
    note_groups(r, spec);
    later(r, spec, "historyServerOptions", "is not carried out yet: no logs are collected");
    note_ingress(r, annotations, head);
}

static void note_legacy(struct reader *r, const struct place *spec)
{
    const struct place *types = place_key(spec, "podTypes");
    note_unknown(r, spec, legacy_spec);
    unknown_in_list(r, spec, "podTypes", legacy_type);
    for (size_t i = 0; place_type(types) == JSON_ARRAY && i < json_len(types->value); i++) {
        const struct place *type = place_element(types, i, json_at(types->value, i)), *config = place_key(type, "podConfig");
        note_containers(r, place_key(config, "spec"));
    }
}

void ray_notes(struct jval object, struct arena *a, struct spec_errors *notes)
{
    struct reader r = {.arena = a, .errors = notes};
    const struct spec_object from = spec_object_of(object, a);
    note_schedulers(&r, from.metadata);
    if (value_given(json_get(from.spec->value, "podTypes")))
        note_legacy(&r, from.spec);
    else
        note_v1(&r, place_key(from.metadata, "annotations"), from.spec);
}

void ray_cluster_spec_notes(const struct place *spec, struct jval annotations, struct arena *a, struct spec_errors *notes)
{
    struct reader r = {.arena = a, .errors = notes};
    const struct place *metadata = place_key(place_root(NO_VALUE, a), "metadata");
    note_v1(&r, place_member(metadata, SLICE("annotations"), annotations), spec);
}

/* ---- RayJob ---- */

static const char *const job_spec[] = {"entrypoint",
                                       "submissionMode",
                                       "rayClusterSpec",
                                       "clusterSelector",
                                       "jobId",
                                       "runtimeEnvYAML",
                                       "metadata",
                                       "entrypointNumCpus",
                                       "entrypointNumGpus",
                                       "entrypointResources",
                                       "submitterPodTemplate",
                                       "submitterConfig",
                                       "backoffLimit",
                                       "activeDeadlineSeconds",
                                       "preRunningDeadlineSeconds",
                                       "shutdownAfterJobFinishes",
                                       "ttlSecondsAfterFinished",
                                       "deletionStrategy",
                                       "suspend",
                                       "managedBy",
                                       NULL};

/* Every way in which a RayJob can end, and the rule conditions that match that end; 0: no rule can. */
static const struct {
    const char *name;
    uint8_t ends;
} job_ends[] = {{"SUCCEEDED", RAY_END_SUCCEEDED},
                {"FAILED", RAY_END_FAILED | RAY_END_GIVEN_UP},
                {"STOPPED", 0},
                {"the deadline", RAY_END_GIVEN_UP},
                {"a lost head", RAY_END_GIVEN_UP},
                {"a cluster that fails", RAY_END_GIVEN_UP},
                {"a submission that fails", RAY_END_GIVEN_UP}};

static uint8_t rule_ends(struct jval rule)
{
    struct jval condition = json_get(rule, "condition"), status = json_get(condition, "jobStatus");
    if (json_is(status, "SUCCEEDED"))
        return RAY_END_SUCCEEDED;
    return json_is(status, "FAILED") ? RAY_END_FAILED : json_there(json_get(condition, "jobDeploymentStatus")) ? RAY_END_GIVEN_UP : 0;
}

/* Notes the ends that no deletion rule matches: after them the cluster is not deleted. A rule with DeleteNone counts: it is intended. */
static void note_rules(struct reader *r, const struct place *spec)
{
    const struct place *strategy = place_key(spec, "deletionStrategy"), *rules = place_key(strategy, "deletionRules");
    struct jval k, rule;
    struct slice missing = SLICE("");
    uint8_t covered = 0;
    if (place_type(rules) != JSON_ARRAY || json_len(json_get(spec->value, "clusterSelector")))
        return;
    for (struct jiter it = json_iter(rules->value); json_next(&it, &k, &rule);)
        covered |= rule_ends(rule);
    for (size_t i = 0; i < COUNT_OF(job_ends); i++)
        if (!(covered & job_ends[i].ends))
            missing = arena_printf(r->arena, "%.*s%s%s", SLICE_ARG(missing), missing.len ? ", " : "", job_ends[i].name);
    if (slice_is(missing, "STOPPED")) /* no rule can match STOPPED; if a cluster stays, condition ClusterKept reports it */
        return;
    place_bad(r, rules, "has no rule for these ends: %.*s; the cluster then stays, with all that it holds, until the RayJob is deleted%s",
              SLICE_ARG(missing),
              covered & RAY_END_GIVEN_UP ? "" : ". A rule for jobDeploymentStatus Failed covers all of them but STOPPED");
}

/* A path is packed where the request is handled, which is the head. */
static void note_folder(struct reader *r, const struct place *spec)
{
    const struct place *at = place_key(spec, "runtimeEnvYAML");
    struct yaml_docs docs;
    struct jval doc;
    if (json_type(at->value) != JSON_STRING || !yaml_parse_runtime_env(json_str(at->value, r->arena), r->arena, &docs, NULL) ||
        docs.count != 1 || !json_read(&doc, docs.docs[0].json, r->arena, NULL))
        return;
    struct slice folder = json_get_str(doc, "working_dir", r->arena);
    if (!slice_empty(folder) && !slice_has(folder, "://"))
        place_bad(r, at,
                  "working_dir: \"%.*s\" is a path, and Ray looks for it in the head's image, not on your machine: write a URI such as "
                  "https://HOST/code.zip, or local:///PATH for a folder of the image; mobula submit takes folders of yours",
                  SLICE_ARG(slice_head(folder, 128)));
}

static void note_job(struct reader *r, const struct place *metadata, const struct place *spec)
{
    const struct place *cluster = place_key(spec, "rayClusterSpec"), *entrypoint = place_key(spec, "entrypoint"),
                       *submitter = place_key(spec, "submitterPodTemplate");
    note_unknown(r, spec, job_spec);
    note_schedulers(r, metadata);
    note_folder(r, spec);
    note_containers(r, place_key(submitter, "spec"));
    note_rules(r, spec);
    note_v1(r, place_key(metadata, "annotations"), cluster);
    if (value_given(cluster->value) && json_len(json_get(spec->value, "clusterSelector")))
        place_bad(r, cluster, "has no effect: clusterSelector names the cluster");
    if (json_is(json_get(spec->value, "submissionMode"), "InteractiveMode") && place_given(entrypoint) && !json_is(entrypoint->value, ""))
        place_bad(r, entrypoint, "has no effect with InteractiveMode: you submit the job yourself");
}

void ray_job_notes(struct jval object, struct arena *a, struct spec_errors *notes)
{
    struct reader r = {.arena = a, .errors = notes};
    const struct spec_object from = spec_object_of(object, a);
    note_job(&r, from.metadata, from.spec);
}

void ray_job_spec_notes(const struct place *spec, struct arena *a, struct spec_errors *notes)
{
    struct reader r = {.arena = a, .errors = notes};
    note_job(&r, place_root(NO_VALUE, a), spec);
}
