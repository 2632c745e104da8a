#include "build.h"

/* The longest names whose services and pods still have one: "<name>-serve-svc" and "<name>-ray-head" must fit 63 bytes. */
enum { V1_NAME_MAX = 53, LEGACY_NAME_MAX = 54 };

/* Ray's default when autoscalerOptions has no value. */
enum { DEFAULT_UPSCALING = 1000, DEFAULT_IDLE_S = 60 };

void cluster_clear(struct ray_cluster *c)
{
    *c = (struct ray_cluster){.spec = NO_VALUE, .labels = NO_VALUE, .annotations = NO_VALUE};
    c->ports.gcs = RAY_GCS_PORT;
    c->ports.dashboard = RAY_DASHBOARD_PORT;
    c->ports.dashboard_agent = RAY_AGENT_PORT;
    c->ports.serve = RAY_SERVE_PORT;
    c->scale.upscaling_speed = DEFAULT_UPSCALING;
    c->scale.idle_timeout_s = DEFAULT_IDLE_S;
    c->scale.max_workers = INT32_MAX;
    c->head = (struct ray_group){.name = SLICE(RAY_HEAD_GROUP),
                                 .head = true,
                                 .replicas = 1,
                                 .min = 1,
                                 .max = 1,
                                 .hosts = 1,
                                 .desired = 1,
                                 .idle_timeout_s = -1,
                                 .template = NO_VALUE,
                                 .start_params = NO_VALUE,
                                 .resources = NO_VALUE,
                                 .labels = NO_VALUE,
                                 .setup_commands = NO_VALUE,
                                 .start_commands = NO_VALUE};
}

static void read_version(struct reader *r, const struct spec_object *from, struct ray_cluster *c)
{
    const struct place *version = place_key(from->root, "apiVersion"), *kind = place_key(from->root, "kind");
    struct slice text = from->api_version;
    /* Objects in a list have neither: whoever asked for the list knows what it asked for, and the legacy kind has podTypes. */
    if (from->kept || read_text(r, version, OPTIONAL, &text)) {
        if (slice_eq(text, ray_api_version(RAY_LEGACY)))
            c->kind = RAY_LEGACY;
        else if (!slice_eq(text, ray_api_version(RAY_V1)))
            place_bad(r, version, "is %.*s: write ray.io/v1, or cluster.ray.io/v1 for the kind with podTypes",
                      SLICE_ARG(slice_head(text, 60)));
    } else if (value_given(json_get(from->spec->value, "podTypes"))) {
        c->kind = RAY_LEGACY;
    }
    if (read_text(r, kind, OPTIONAL, &text) && !slice_is(text, "RayCluster"))
        place_bad(r, kind, "is %.*s: must be RayCluster", SLICE_ARG(slice_head(text, 60)));
}

void read_tools_resources(struct reader *r, const struct place *annotations)
{
    const struct place *at = place_key(annotations, RAY_ANNOTATION_TOOLS_RESOURCES);
    struct ray_tools_resources ignored;
    struct err e = {0};
    if (json_there(at->value) && !ray_tools_resources(json_str(at->value, r->arena), &ignored, &e))
        place_bad(r, at, "%s", e.text);
}

/* Without a number of seconds the default holds. */
static void read_deletion(struct ray_cluster *c, struct jval meta, struct arena *a)
{
    struct slice wait = json_str(json_child(json_get(meta, "annotations"), RAY_ANNOTATION_REDIS_WAIT), a);
    if (!slice_int(wait, &c->redis_wait_s) || c->redis_wait_s < 0 || c->redis_wait_s > INT32_MAX)
        c->redis_wait_s = RAY_REDIS_WAIT_S;
    c->redis_finalizer = has_finalizer(meta, RAY_REDIS_FINALIZER);
}

static void read_cluster_metadata(struct reader *r, const struct spec_object *from, struct ray_cluster *c)
{
    struct metadata m;
    if (!read_metadata(r, from, c->kind == RAY_V1 ? V1_NAME_MAX : LEGACY_NAME_MAX, "names of services made from it fit 63", &m))
        return;
    const struct place *annotations = place_member(from->metadata, SLICE("annotations"), m.annotations);
    c->ns = m.ns;
    c->name = m.name;
    c->uid = m.uid;
    c->generation = m.generation;
    c->deleting = m.deleting;
    c->deleted_us = m.deleted_us;
    c->labels = m.labels;
    c->serves = json_is(json_child(m.labels, RAY_LABEL_MAKER_KIND), "RayService");
    c->annotations = m.annotations;
    c->serve_service = c->kind == RAY_V1 && json_is(json_child(m.annotations, RAY_ANNOTATION_SERVE), "true");
    read_deletion(c, from->metadata->value, r->arena);
    read_scaler(r, annotations, c);
    read_tools_resources(r, annotations);
    read_roll(r, annotations, json_get_bool(from->spec->value, "enableInTreeAutoscaling", false), c);
}

static int32_t clamp(int32_t n, int32_t least, int32_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* As the spec says; an autoscaler says otherwise later. */
void read_desired(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    int64_t pods = 1;
    for (uint32_t i = 0; i < c->group_count; i++) {
        struct ray_group *g = &c->groups[i];
        if (c->suspend || g->suspended)
            continue;
        g->desired = clamp(g->replicas, g->min, g->max);
        pods += (int64_t)g->desired * g->hosts; /* 2^31 * LIMIT_RAY_HOSTS * LIMIT_RAY_GROUPS fits */
    }
    c->head.desired = !c->suspend;
    if (pods > LIMIT_RAY_PODS) {
        place_bad(r, spec, "asks for %lld pods, head and workers: at most %d (LIMIT_RAY_PODS), lower replicas", (long long)pods,
                  (int)LIMIT_RAY_PODS);
        for (uint32_t i = 0; i < c->group_count; i++)
            c->groups[i].desired = 0;
    }
}

static void keep_hashes(struct ray_cluster *c, const uint64_t *known)
{
    c->head.hash = known[0];
    for (uint32_t i = 0; i < c->group_count; i++)
        c->groups[i].hash = known[i + 1];
}

void ray_read_cluster_spec(const struct place *spec, struct jval annotations, struct arena *a, struct ray_cluster *out,
                           struct spec_errors *errors)
{
    struct reader r = {.arena = a, .errors = errors};
    cluster_clear(out);
    out->annotations = annotations;
    out->spec = spec->value;
    read_v1(&r, spec, out);
}

bool ray_read(struct jval object, struct arena *a, struct ray_cluster *out, struct spec_errors *errors)
{
    const struct spec_object from = spec_object_of(object, a);
    return ray_read_resource(&from, NULL, a, out, errors);
}

bool ray_read_resource(const struct spec_object *from, const uint64_t *hashes, struct arena *a, struct ray_cluster *out,
                       struct spec_errors *errors)
{
    struct reader r = {.arena = a, .errors = errors};
    uint32_t before = spec_errors_count(errors);
    cluster_clear(out);
    if (!from->kept && json_type(from->root->value) != JSON_OBJECT) {
        place_bad(&r, from->root, "the resource is not an object");
        return false;
    }
    read_version(&r, from, out);
    read_cluster_metadata(&r, from, out);
    if (read_object(&r, from->spec, REQUIRED)) {
        out->spec = from->spec->value;
        if (out->kind == RAY_V1)
            read_v1(&r, from->spec, out);
        else
            read_legacy(&r, from->spec, out);
        out->roll.on &= !out->recreate;
    }
    bool ok = spec_errors_count(errors) == before;
    if (ok && hashes)
        keep_hashes(out, hashes);
    else if (ok)
        hash_groups(out, a);
    return ok;
}
