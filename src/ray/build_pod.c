/* One pod out of a group's template. All that is not ours goes through untouched, unknown fields too: an object is copied member by
 * member but for the names below, and those are written after the rest. */
#include "build.h"

static void pod_annotations(const struct pod_build *b, struct pairs *out)
{
    char *hash = arena_alloc(b->arena, RAY_HASH_TEXT);
    ray_hash_format(b->group->hash_now ? b->group->hash_now : b->group->hash, hash);
    pairs_set_all(out, json_get(b->group->template, "metadata.annotations"));
    struct jval overwrite = json_child(b->cluster->annotations, RAY_OVERWRITE_COMMAND);
    if (json_type(overwrite) == JSON_STRING)
        pairs_set(out, SLICE(RAY_OVERWRITE_COMMAND), json_str(overwrite, b->arena));
    pairs_set(out, SLICE(RAY_ANNOTATION_HASH), (struct slice){hash, RAY_HASH_TEXT});
}

/* The port that Prometheus looks for by name. */
static bool wants_metrics_port(const struct pod_build *b)
{
    return b->cluster->kind == RAY_V1 && !list_has(json_get(b->container, "ports"), "name", SLICE("metrics"));
}

void write_ports(struct jout *w, const struct pod_build *b)
{
    struct jval given = json_get(b->container, "ports");
    bool metrics = wants_metrics_port(b);
    if (!json_len(given) && !metrics)
        return;
    jout_karray(w, "ports");
    splice_elements(w, given);
    if (metrics)
        jout_form(w, "{containerPort:%d,name:'metrics'}", start_port(b->group, "metrics-export-port", RAY_METRICS_PORT, b->arena));
    jout_end(w);
}

/* Members of the Ray container that are the user's, given as null, count as not given; ours then take their place. */
static void write_ray_container(struct jout *w, const struct pod_build *b)
{
    const char *skip[8] = {"env", "ports", "volumeMounts"};
    size_t n = 3;
    bool command = writes_command(b);
    if (command) {
        skip[n++] = "command";
        skip[n++] = "args";
    }
    static const char *const probes[] = {"livenessProbe", "readinessProbe"};
    for (size_t i = 0; i < COUNT_OF(probes); i++)
        if (!value_given(json_child(b->container, probes[i])))
            skip[n++] = probes[i];
    jout_object(w);
    splice_members(w, b->container, skip, b->arena);
    if (command)
        write_command(w, b);
    write_env(w, b);
    write_ports(w, b);
    write_probes(w, b);
    write_volume_mounts(w, b);
    jout_end(w);
}

static void write_containers(struct jout *w, const struct pod_build *b)
{
    struct jval k, v;
    bool first = true;
    jout_karray(w, "containers");
    for (struct jiter it = json_iter(json_get(b->spec, "containers")); json_next(&it, &k, &v); first = false) {
        if (first)
            write_ray_container(w, b);
        else
            jout_val(w, v);
    }
    write_sidecar(w, b);
    jout_end(w);
}

/* A node that the autoscaler drained must not come back in the same pod. KubeRay's first version does not drain. */
static bool never_restarts(const struct pod_build *b)
{
    const struct ray_cluster *c = b->cluster;
    bool drains = !ray_has_sidecar(c, b->options) || json_is(json_get(c->spec, "autoscalerOptions.version"), "v2");
    return c->scale.on && drains && !value_given(json_get(b->spec, "restartPolicy"));
}

bool in_tpu_slice(const struct pod_build *b)
{
    const struct ray_group *g = b->group;
    int64_t tpus;
    return !g->head && g->hosts > 1 && container_amount(b->container, "limits", "google.com/tpu", 0, &tpus, b->arena) &&
           !value_given(json_get(b->spec, "hostname")) && !value_given(json_get(b->spec, "subdomain"));
}

static void write_spec(struct jout *w, const struct pod_build *b)
{
    const char *skip[7] = {"containers", "initContainers", "volumes"};
    size_t n = 3;
    bool never = never_restarts(b), sidecar = has_sidecar(b);
    if (never)
        skip[n++] = "restartPolicy";
    if (sidecar) {
        skip[n++] = "serviceAccountName";
        skip[n++] = "automountServiceAccountToken"; /* it acts by that account */
    }
    jout_kobject(w, "spec");
    splice_members(w, b->spec, skip, b->arena);
    if (never)
        jout_kstr(w, "restartPolicy", SLICE("Never"));
    if (sidecar)
        jout_kstr(w, "serviceAccountName", ray_account_name(b->cluster, RAY_ACCOUNT, b->arena));
    if (in_tpu_slice(b)) {
        jout_kstr(w, "hostname", host_name(b->cluster, b->group, b->index, b->arena));
        jout_kstr(w, "subdomain", ray_headless_service_name(b->cluster, b->arena));
    }
    write_init_containers(w, b);
    write_containers(w, b);
    write_volumes(w, b);
    jout_end(w);
}

static bool write_pod(struct pod_build *b, struct buf *out, struct err *e)
{
    const struct ray_group *g = b->group;
    b->spec = json_get(g->template, "spec");
    b->container = json_at(json_get(b->spec, "containers"), 0);
    b->fqdn = head_fqdn(b->cluster, b->options, b->arena);
    if (has_tls(b->cluster) && b->options->tools == RAY_TOOLS_NONE)
        return err_set(e, ERR_CONFIG, "tlsOptions: with --tools=none no pod gets the program that makes its certificate");
    if (!ray_start_command(b->cluster, g, b->options, b->arena, &b->command, e))
        return false;
    struct pairs labels = pairs_new(b->arena), annotations = pairs_new(b->arena);
    pod_labels(b->cluster, g, b->index, &labels);
    pod_annotations(b, &annotations);
    struct jout w;
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'v1',kind:'Pod'");
    const struct owner owner = owner_cluster(b->cluster);
    write_metadata(&w, &owner, b->name, json_get(g->template, "metadata"), &labels, &annotations, b->arena);
    write_spec(&w, b);
    jout_end(&w);
    return !out->full || err_set(e, ERR_LIMIT, "pod %.*s is larger than %zu bytes (LIMIT_JSON_ITEM)", SLICE_ARG(b->name), out->max);
}

bool ray_build_head_pod(const struct ray_cluster *c, const struct ray_options *o, struct arena *a, struct buf *out, struct err *e)
{
    const struct ray_cluster next = ray_next(c);
    struct pod_build b = {.cluster = &next, .group = &next.head, .options = o, .arena = a, .name = ray_head_pod_name(c, a)};
    return write_pod(&b, out, e);
}

bool ray_build_worker_pod(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct slice replaces_uid,
                          const struct ray_options *o, struct arena *a, struct buf *out, struct err *e)
{
    struct pod_build b = {.cluster = c, .group = g, .options = o, .arena = a, .index = index};
    b.name = ray_worker_pod_name(c, g, index, replaces_uid, a);
    return write_pod(&b, out, e);
}
