/* Rules between fields of ray.io/v1: those of KubeRay 1.7's own validation, so that a manifest that is good for KubeRay is good here. What
 * only Ray's own autoscaler cannot do is refused only where that one is asked for. */
#include "build.h"

static const char v2_flag[] = "RAY_enable_autoscaler_v2";

/* A variable of the Ray container, with its place. */
struct env {
    const struct place *entry;
    bool there;
    struct slice value;
};

static void find_env(struct reader *r, const struct place *group, const char *name, struct env *out)
{
    const struct place *containers = place_key(place_key(place_key(group, "template"), "spec"), "containers");
    const struct place *list = place_key(place_element(containers, 0, json_at(containers->value, 0)), "env");
    out->there = false;
    size_t i = 0;
    struct jval k, v;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
        if (!json_is(json_get(v, "name"), name))
            continue;
        out->entry = place_element(list, i, v);
        out->value = json_get_str(v, "value", r->arena);
        out->there = true;
    }
}

static void forbid_env(struct reader *r, const struct place *group, const char *name, const char *why)
{
    struct env env;
    find_env(r, group, name, &env);
    if (env.there)
        place_bad(r, env.entry, "sets %s: %s", name, why);
}

static void forbid_param(struct reader *r, const struct place *group, const char *name, const char *why)
{
    const struct place *params = place_key(group, "rayStartParams"), *at = place_key(params, name);
    if (place_given(at) && !json_is(at->value, ""))
        place_bad(r, at, "must not be here: %s", why);
}

static bool is_true(struct slice s)
{
    return slice_is(s, "1") || slice_eq_nocase(s, SLICE("true"));
}

/* Whether the autoscaler's second version is asked for, by option or by the head's environment. */
static bool autoscaler_v2(struct reader *r, const struct place *spec)
{
    const struct place *head = place_key(spec, "headGroupSpec");
    struct env env;
    find_env(r, head, v2_flag, &env);
    return json_is(json_get(spec->value, "autoscalerOptions.version"), "v2") || (env.there && is_true(env.value));
}

/* Either `resources` or the flags that it would set. */
static void check_resources(struct reader *r, const struct place *group)
{
    static const char *const flags[] = {"num-cpus", "num-gpus", "memory", "resources"};
    const struct place *params = place_key(group, "rayStartParams"), *labels = place_key(params, "labels");
    if (place_given(labels)) /* an empty one, too: the CRD refuses it */
        place_bad(r, labels, "must not be here: write them in the group's labels");
    if (json_len(json_get(group->value, "resources")) == 0)
        return;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        forbid_param(r, group, flags[i], "the group's resources say it; keep one of the two");
}

int64_t ray_version_number(struct slice version)
{
    int64_t major, minor;
    struct slice rest = version;
    if (!slice_int(slice_cut(&rest, '.'), &major) || !slice_int(slice_cut(&rest, '.'), &minor) || major < 0 || minor < 0 || major > 999 ||
        minor > 999)
        return 0;
    return major * 1000 + minor;
}

int64_t ray_image_version(struct slice image)
{
    struct slice rest = image, name = rest;
    while (rest.ptr)
        name = slice_cut(&rest, '/');
    struct slice tag = name, repository = slice_cut(&tag, ':');
    if (!slice_is(repository, "ray") && !slice_starts(repository, SLICE("ray-")))
        return 0;
    return tag.ptr ? ray_version_number(tag) : 0;
}

static void check_scaling(struct reader *r, const struct place *spec, const struct place *group, const struct ray_cluster *c,
                          struct ray_group *g)
{
    enum { PRIORITY_SINCE = 2056 };
    const struct place *idle = place_key(group, "idleTimeoutSeconds"), *priority = place_key(group, "priority"),
                       *suspend = place_key(group, "suspend");
    int64_t n = 0;
    /* The operator's own autoscaler goes by both, whatever Ray runs; Ray's goes by what its version knows. */
    bool sidecar = c->scale.scaler == RAY_SCALER_SIDECAR, v1 = sidecar && !autoscaler_v2(r, spec);
    if (place_given(idle) && v1)
        place_bad(r, idle, "needs autoscalerOptions.version v2, as the annotation " RAY_ANNOTATION_AUTOSCALER " is sidecar");
    read_int(r, priority, INT32_MIN, INT32_MAX, &n);
    g->priority = (int32_t)n;
    if (n != 0 && v1)
        place_bad(r, priority, "needs autoscalerOptions.version v2, as the annotation " RAY_ANNOTATION_AUTOSCALER " is sidecar");
    if (n != 0 && sidecar && ray_version_number(c->ray_version) < PRIORITY_SINCE)
        place_bad(r, priority, "needs rayVersion 2.56.0 or later, as the annotation " RAY_ANNOTATION_AUTOSCALER " is sidecar");
    if (g->suspended && c->scale.on)
        place_bad(r, suspend, "is true: a group cannot be suspended while enableInTreeAutoscaling is true");
}

static void check_restart(struct reader *r, const struct place *spec, const struct place *group, const struct ray_cluster *c)
{
    const struct place *template = place_key(group, "template"), *pod = place_key(template, "spec"),
                       *policy = place_key(pod, "restartPolicy");
    if (!c->scale.on || !place_given(policy) || json_is(policy->value, "Never"))
        return;
    if (autoscaler_v2(r, spec))
        place_bad(r, policy, "must be Never, or not set, with the autoscaler v2: a node that was drained must not come back");
}

void check_v1_group(struct reader *r, const struct place *spec, const struct place *group, const struct ray_cluster *c, struct ray_group *g)
{
    check_resources(r, group);
    check_params(r, group, c, g->head);
    check_restart(r, spec, group, c);
    if (!g->head)
        check_scaling(r, spec, group, c, g);
}

static void check_autoscaler(struct reader *r, const struct place *spec, const struct place *head, struct ray_cluster *c)
{
    static const char *const versions[] = {"v1", "v2", NULL}, *const modes[] = {"Default", "Aggressive", "Conservative", NULL};
    const struct place *options = place_key(spec, "autoscalerOptions");
    struct env env;
    struct slice text = SLICE_NONE;
    find_env(r, head, v2_flag, &env);
    if (!c->scale.on && env.there && is_true(env.value))
        place_bad(r, env.entry, "sets %s, which needs enableInTreeAutoscaling: true", v2_flag);
    if (!read_object(r, options, OPTIONAL))
        return;
    const struct place *version = place_key(options, "version"), *mode = place_key(options, "upscalingMode");
    const struct place *idle = place_key(options, "idleTimeoutSeconds"), *list = place_key(options, "env");
    bool named = read_word(r, version, versions, &text);
    if (named && env.there)
        place_bad(r, env.entry, "sets %s, and autoscalerOptions.version says it too: keep the option", v2_flag);
    if (read_word(r, mode, modes, &text) && slice_is(text, "Conservative"))
        c->scale.upscaling_speed = 1; /* the other two are the same to Ray */
    read_int(r, idle, 0, INT32_MAX, &c->scale.idle_timeout_s);
    if (read_array(r, list, OPTIONAL) && list_has(list->value, "name", SLICE("KUBERAY_GEN_AUTOSCALER_START_CMD")))
        place_bad(r, list, "must not set KUBERAY_GEN_AUTOSCALER_START_CMD");
}

static const char unsupported[] = "is not supported yet: the head's state would be lost with its pod. Remove it";

/* KubeRay's older way to ask for it. */
static void check_fault_annotation(struct reader *r, const struct ray_cluster *c)
{
    const struct place *root = place_root(NO_VALUE, r->arena), *meta = place_member(root, SLICE("metadata"), NO_VALUE);
    const struct place *annotations = place_member(meta, SLICE("annotations"), c->annotations);
    const struct place *enabled = place_key(annotations, "ray.io/ft-enabled");
    if (slice_eq_nocase(json_str(enabled->value, r->arena), SLICE("true")))
        place_bad(r, enabled, "asks for GCS fault tolerance, which %s", unsupported);
}

/* The head's state outside of it: who asks for it counts on it, so all ways to do so are refused. */
static void check_fault_tolerance(struct reader *r, const struct place *spec, const struct place *head, const struct ray_cluster *c)
{
    static const char why[] = "it is for GCS fault tolerance, which is not supported yet";
    static const char *const backends[] = {"redis", "rocksdb", NULL};
    const struct place *options = place_key(spec, "gcsFaultToleranceOptions");
    struct slice text;
    check_fault_annotation(r, c);
    forbid_param(r, head, "redis-username", why);
    forbid_env(r, head, "REDIS_USERNAME", why);
    forbid_env(r, head, "RAY_REDIS_ADDRESS", why);
    if (!read_object(r, options, OPTIONAL))
        return;
    forbid_param(r, head, "redis-password", why);
    forbid_env(r, head, "REDIS_PASSWORD", why);
    const struct place *backend = place_key(options, "backend");
    if (read_word(r, backend, backends, &text))
        place_bad(r, backend, "is %.*s, which %s", SLICE_ARG(text), unsupported);
    else
        place_bad(r, options, "asks for GCS fault tolerance, which %s", unsupported);
}

void check_v1(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    const struct place *head = place_key(spec, "headGroupSpec"), *upgrade = place_key(spec, "upgradeStrategy"),
                       *type = place_key(upgrade, "type");
    struct jval maker = json_child(c->labels, RAY_LABEL_MAKER_KIND);
    if (place_given(type) && (json_is(maker, "RayJob") || json_is(maker, "RayService")))
        place_bad(r, type, "must not be set on a cluster that a RayJob or RayService made");
    check_autoscaler(r, spec, head, c);
    check_fault_tolerance(r, spec, head, c);
}

/* Refuses security fields that are not implemented: to ignore them would leave the cluster open. */
void check_v1_features(struct reader *r, const struct place *spec)
{
    const struct place *policy = place_key(spec, "networkPolicy");
    if (read_object(r, policy, OPTIONAL))
        place_bad(r, policy, "is not supported yet: the network would stay open. Remove it and write a NetworkPolicy of your own");
}
