#include "build.h"

/* One variable of ours: a value, or a field of the pod. */
struct variable {
    const char *name;
    struct slice value;
    const char *field;
    bool fixed; /* the user's of the same name is dropped: Ray and the operator must agree on it */
};

enum { VARIABLES_MAX = 24 };
struct variables {
    struct variable list[VARIABLES_MAX];
    uint32_t count;
};

static void value(struct variables *v, bool fixed, const char *name, struct slice text)
{
    v->list[v->count++] = (struct variable){.name = name, .value = text, .fixed = fixed};
}

static void field(struct variables *v, const char *name, const char *path)
{
    v->list[v->count++] = (struct variable){.name = name, .field = path, .fixed = true};
}

/* Where the head is, as init containers of users know it too. */
static void head_variables(const struct pod_build *b, bool fixed, struct variables *v)
{
    value(v, fixed, "FQ_RAY_IP", b->fqdn);
    value(v, fixed, "RAY_IP", ray_head_service_name(b->cluster, b->arena));
}

/* Usage reports do not leave the pod. Ray reports even that statistics are off, so the report URL is a closed port of the pod. If the
 * template sets RAY_USAGE_STATS_ENABLED, to any value, neither variable is added and Ray's own URL is used. */
static void usage_variables(const struct pod_build *b, struct variables *v)
{
    if (list_has(json_get(b->container, "env"), "name", SLICE("RAY_USAGE_STATS_ENABLED")))
        return;
    value(v, false, "RAY_USAGE_STATS_ENABLED", SLICE("0"));
    value(v, false, "RAY_USAGE_STATS_REPORT_URL", SLICE("http://127.0.0.1:9/"));
}

/* By these libtpu and Ray know a host of a slice. A single host finds them out by itself. */
static void tpu_variables(const struct pod_build *b, struct variables *v)
{
    const struct ray_group *g = b->group;
    struct arena *a = b->arena;
    struct slice service = ray_headless_service_name(b->cluster, a);
    int32_t replica = b->index / g->hosts;
    __attribute__((cleanup(buf_free))) struct buf hosts = {.max = LIMIT_JSON_ITEM};
    for (int32_t i = 0; i < g->hosts; i++)
        buf_printf(&hosts, "%s%.*s.%.*s", i ? "," : "", SLICE_ARG(host_name(b->cluster, g, replica * g->hosts + i, a)), SLICE_ARG(service));
    value(v, false, "TPU_WORKER_ID", arena_printf(a, "%d", (int)(b->index % g->hosts)));
    value(v, false, "TPU_WORKER_HOSTNAMES", arena_dup(a, buf_slice(&hosts)));
    value(v, false, "TPU_NAME", replica_name(b->cluster, g, replica, a));
}

/* Serve replicas and proxies wait seconds, not minutes, for a head that restarts. */
static void serve_variables(struct variables *v)
{
    value(v, false, "RAY_timeout_ms_task_wait_for_death_info", SLICE("0"));
    value(v, false, "RAY_gcs_server_request_timeout_seconds", SLICE("5"));
    value(v, false, "RAY_SERVE_KV_TIMEOUT_S", SLICE("5"));
}

static void v1_variables(const struct pod_build *b, struct variables *v)
{
    struct arena *a = b->arena;
    bool head = b->group->head;
    struct slice port = arena_printf(a, "%d", (int)b->cluster->ports.gcs);
    if (!head)
        head_variables(b, true, v);
    field(v, "RAY_CLUSTER_NAME", "metadata.labels['" RAY_LABEL_CLUSTER "']");
    field(v, "RAY_CLUSTER_NAMESPACE", "metadata.namespace");
    field(v, "RAY_CLOUD_INSTANCE_ID", "metadata.name");
    field(v, "RAY_NODE_TYPE_NAME", "metadata.labels['" RAY_LABEL_GROUP "']");
    value(v, true, "KUBERAY_GEN_RAY_START_CMD", b->command);
    value(v, false, "RAY_PORT", port);
    value(v, false, "RAY_ADDRESS",
          head ? arena_printf(a, "127.0.0.1:%.*s", SLICE_ARG(port)) : arena_printf(a, "%.*s:%.*s", SLICE_ARG(b->fqdn), SLICE_ARG(port)));
    value(v, false, "RAY_USAGE_STATS_KUBERAY_IN_USE", SLICE("1"));
    value(v, false, "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", SLICE("1"));
    if (in_tpu_slice(b))
        tpu_variables(b, v);
    if (b->cluster->serves)
        serve_variables(v);
}

static void legacy_variables(const struct pod_build *b, struct variables *v)
{
    if (!b->group->head)
        value(v, true, "RAY_HEAD_IP", b->fqdn);
    value(v, true, "RAY_OVERRIDE_RESOURCES", legacy_resources(b->group, b->arena));
    field(v, "RAY_CLOUD_INSTANCE_ID", "metadata.name");
    field(v, "RAY_NODE_TYPE_NAME", "metadata.labels['" RAY_LABEL_GROUP "']");
}

static void write_variable(struct jout *w, const struct variable *v)
{
    if (v->field)
        jout_form(w, "{name:'%s',valueFrom:{fieldRef:{fieldPath:'%s'}}}", v->name, v->field);
    else
        jout_form(w, "{name:'%s',value:'%.*s'}", v->name, SLICE_ARG(v->value));
}

static bool fixed_name(const struct variables *ours, struct jval name)
{
    for (uint32_t i = 0; i < ours->count; i++)
        if (ours->list[i].fixed && json_is(name, ours->list[i].name))
            return true;
    return false;
}

/* The user's first, in their order, so that ours may refer to none of them and theirs to none of ours, as under KubeRay. */
static void write_merged(struct jout *w, struct jval users, const struct variables *ours, const struct ray_cluster *c)
{
    struct jval k, v;
    struct slice secret = c ? c->auth.secret : SLICE_NONE;
    jout_karray(w, "env");
    for (struct jiter it = json_iter(users); json_next(&it, &k, &v);) {
        struct jval name = json_get(v, "name");
        if (!fixed_name(ours, name) && (slice_empty(secret) || !is_auth_variable(name)))
            jout_val(w, v);
    }
    for (uint32_t i = 0; i < ours->count; i++)
        if (ours->list[i].fixed || !list_has(users, "name", slice_of(ours->list[i].name)))
            write_variable(w, &ours->list[i]);
    write_auth_env(w, secret);
    if (c)
        write_tls_env(w, c);
    jout_end(w);
}

/* KubeRay leaves the choice to Ray where the options do not make it. */
static void sidecar_variable(const struct pod_build *b, struct variables *v)
{
    struct jval version = json_get(b->cluster->spec, "autoscalerOptions.version");
    if (value_given(version))
        value(v, true, "RAY_enable_autoscaler_v2", json_is(version, "v2") ? SLICE("true") : SLICE("false"));
}

void write_env(struct jout *w, const struct pod_build *b)
{
    struct variables ours = {0};
    /* Where request_resources() goes is decided by this flag in the head; `ray start` sets it by itself in pods that look like KubeRay's.
     */
    if (has_sidecar(b))
        sidecar_variable(b, &ours);
    else if (b->group->head && b->cluster->scale.on)
        value(&ours, true, "RAY_enable_autoscaler_v2", SLICE("1"));
    if (b->cluster->kind == RAY_V1)
        v1_variables(b, &ours);
    else
        legacy_variables(b, &ours);
    usage_variables(b, &ours);
    write_merged(w, json_get(b->container, "env"), &ours, b->cluster);
}

void write_init_env(struct jout *w, const struct pod_build *b, struct jval container)
{
    struct variables ours = {0};
    head_variables(b, false, &ours);
    write_merged(w, json_get(container, "env"), &ours, NULL);
}
