/* Reads RayServices: KubeRay 1.7's fields and rules. */
#include "rayservice.h"

#include <mobula/yaml.h>

const struct kube_resource rayservice_resource = {SLICE("ray.io"), SLICE("v1"), SLICE("rayservices")};

/* ---- metadata ---- */

bool rayservice_timeout_parse(struct slice text, int64_t *ms)
{
    int64_t n = 0;
    if (!slice_int(text, &n))
        return duration_parse(text, ms, NULL) && *ms > 0;
    *ms = n > 0 && n <= INT32_MAX ? n * 1000 : 0;
    return *ms > 0;
}

static void read_timeout(struct reader *r, const struct place *annotations, struct rayservice *s)
{
    const struct place *at = place_key(annotations, RAYSERVICE_TIMEOUT);
    struct slice text = json_str(at->value, r->arena);
    if (json_there(at->value) && !rayservice_timeout_parse(text, &s->initializing_ms))
        place_bad(r, at, "is \"%.*s\": must be a time above 0 such as 10m, or a number of seconds", SLICE_ARG(slice_head(text, 60)));
}

static void read_service_metadata(struct reader *r, const struct spec_object *from, struct rayservice *s)
{
    struct metadata m;
    if (!read_metadata(r, from, RAYSERVICE_NAME_MAX, "the names of its clusters and of their services fit", &m))
        return;
    s->ns = m.ns;
    s->name = m.name;
    s->uid = m.uid;
    s->generation = m.generation;
    s->deleting = m.deleting;
    s->labels = m.labels;
    s->annotations = m.annotations;
    s->finalizer = has_finalizer(from->metadata->value, RAY_SERVICE_FINALIZER);
    time_parse(json_get_str(from->metadata->value, "creationTimestamp", r->arena), &s->created_us, NULL);
    read_timeout(r, place_member(from->metadata, SLICE("annotations"), m.annotations), s);
}

/* ---- serveConfigV2 ---- */

/* Reports application i if an earlier one has the same value of `key`. */
static void read_distinct(struct reader *r, const struct place *at, struct jval apps, size_t i, const char *key)
{
    struct slice text = json_get_str(json_at(apps, i), key, r->arena);
    for (size_t j = 0; j < i && !slice_empty(text); j++)
        if (json_str_eq(json_get(json_at(apps, j), key), text)) {
            place_bad(r, at, "applications[%zu] and applications[%zu] have the same %s \"%.*s\": each needs its own", j, i, key,
                      SLICE_ARG(slice_head(text, 60)));
            return;
        }
}

static void read_apps(struct reader *r, const struct place *at, struct jval config, struct rayservice *s)
{
    struct jval apps = json_get(config, "applications");
    size_t count = json_len(apps);
    if (json_type(apps) != JSON_ARRAY || count == 0) {
        place_bad(r, at, "has no list `applications` of at least one: an application has name, route_prefix and import_path");
        return;
    }
    if (count > RAYSERVICE_APPS_MAX) {
        place_bad(r, at, "has %zu applications: at most %d (RAYSERVICE_APPS_MAX)", count, (int)RAYSERVICE_APPS_MAX);
        return;
    }
    s->apps = arena_array(r->arena, count, sizeof *s->apps);
    for (size_t i = 0; i < count; i++) {
        struct jval app = json_at(apps, i), import = json_get(app, "import_path");
        struct slice name = json_get_str(app, "name", r->arena);
        if (json_type(import) != JSON_STRING || json_is(import, ""))
            place_bad(r, at, "applications[%zu] has no import_path: write module:application", i);
        read_distinct(r, at, apps, i, "name");
        read_distinct(r, at, apps, i, "route_prefix");
        s->apps[s->app_count++] = slice_empty(name) ? SLICE("default") : name;
    }
}

static void read_config(struct reader *r, const struct place *spec, struct rayservice *s)
{
    const struct place *at = place_key(spec, "serveConfigV2");
    struct slice text;
    struct yaml_docs docs;
    struct jval config;
    struct err e = {0};
    if (!read_text(r, at, OPTIONAL, &text) || slice_empty(slice_trim(text)))
        return;
    if (!yaml_parse_runtime_env(text, r->arena, &docs, &e))
        place_bad(r, at, "cannot be read: %s", e.text);
    else if (docs.count != 1)
        place_bad(r, at, "holds %u YAML documents: must be one", docs.count);
    else if (!json_read(&config, docs.docs[0].json, r->arena, &e) || json_type(config) != JSON_OBJECT)
        place_bad(r, at, "is no object: must be a configuration of Ray Serve with a list `applications`");
    else {
        s->config = docs.docs[0].json;
        s->config_hash = hash64(s->config, 0) | 1;
        read_apps(r, at, config, s);
    }
}

/* ---- other fields of the spec ---- */

/* KubeRay's rules. A step of 0 is a pause: traffic stays as it is. */
static void read_steps(struct reader *r, const struct place *spec, const struct place *options, struct service_options *o)
{
    const struct place *surge = place_key(options, "maxSurgePercent"), *step = place_key(options, "stepSizePercent"),
                       *interval = place_key(options, "intervalSeconds"), *class = place_key(options, "gatewayClassName"),
                       *scaling = place_key(place_key(spec, "rayClusterConfig"), "enableInTreeAutoscaling");
    int64_t n = 100;
    if (!json_bool(scaling->value, false))
        place_bad(r, scaling, "is not true: an upgrade in steps moves replicas from one cluster to the other, and needs the autoscaler");
    if (!read_object(r, options, REQUIRED))
        return;
    read_int(r, surge, 0, 100, &n);
    o->surge = (int32_t)n;
    if (!place_given(step))
        place_bad(r, step, "is missing: the percent of requests that moves at a time");
    else if (read_int(r, step, 0, 100, &n))
        o->step = (int32_t)n;
    if (o->step > o->surge)
        place_bad(r, step, "is %d, above maxSurgePercent %d: lower it or raise maxSurgePercent", (int)o->step, (int)o->surge);
    n = 0;
    if (!place_given(interval))
        place_bad(r, interval, "is missing: the seconds between two steps");
    else if (read_int(r, interval, 1, INT32_MAX, &n))
        o->interval_ms = n * 1000;
    if (read_text(r, class, REQUIRED, &o->gateway_class) && !name_dns1123_subdomain(o->gateway_class))
        place_bad(r, class, "is \"%.*s\": must be the name of a GatewayClass (kubectl get gatewayclasses)",
                  SLICE_ARG(slice_head(o->gateway_class, 80)));
}

static void read_rolling(struct reader *r, const struct place *spec, const struct place *at, struct service_options *o)
{
    static const char *const otherwise[] = {"Wait", "NewCluster", NULL};
    const struct place *surge = place_key(at, "maxSurgePercent"), *unavailable = place_key(at, "maxUnavailablePercent");
    int64_t extra = RAY_ROLL_SURGE, missing = 0;
    struct slice word;
    struct err e = {0};
    bool scaled = json_get_bool(json_get(spec->value, "rayClusterConfig"), "enableInTreeAutoscaling", false);
    if (read_object(r, at, OPTIONAL)) {
        read_int(r, surge, 0, 100, &extra);
        read_int(r, unavailable, 0, 100, &missing);
        if (read_word(r, place_key(at, "ifNotPossible"), otherwise, &word))
            o->else_new = slice_is(word, "NewCluster");
    }
    o->roll = (struct ray_roll){true, (int32_t)extra, (int32_t)missing};
    if (!ray_roll_check(&o->roll, scaled, &e))
        place_bad(r, at, "%s", e.text);
}

static void read_upgrade(struct reader *r, const struct place *spec, struct rayservice *s)
{
    static const char *const types[] = {"NewCluster", "None", "NewClusterWithIncrementalUpgrade", RAYSERVICE_ROLLING, NULL};
    const struct place *upgrade = place_key(spec, "upgradeStrategy"), *type = place_key(upgrade, "type");
    struct slice word;
    if (!read_object(r, upgrade, OPTIONAL) || !read_word(r, type, types, &word))
        return;
    if (slice_is(word, "None"))
        s->upgrade = SERVICE_UPGRADE_NONE;
    if (slice_is(word, RAYSERVICE_ROLLING)) {
        s->upgrade = SERVICE_UPGRADE_ROLLING;
        read_rolling(r, spec, place_key(upgrade, "rollingUpdate"), &s->options);
    }
    if (!slice_is(word, "NewClusterWithIncrementalUpgrade"))
        return;
    s->upgrade = SERVICE_UPGRADE_STEPS;
    read_steps(r, spec, place_key(upgrade, "clusterUpgradeOptions"), &s->options);
}

static void read_options(struct reader *r, const struct place *spec, struct rayservice *s)
{
    const struct place *suspend = place_key(spec, "suspend"), *managed = place_key(spec, "managedBy"),
                       *exclude = place_key(spec, "excludeHeadPodFromServeSvc"), *delay = place_key(spec, "rayClusterDeletionDelaySeconds");
    const struct place *service = place_key(spec, "serveService"), *name = place_key(place_key(service, "metadata"), "name"),
                       *ports = place_key(place_key(service, "spec"), "ports");
    struct slice text;
    int64_t n = RAYSERVICE_DELETION_S;
    read_flag(r, suspend, &s->suspend);
    read_flag(r, exclude, &s->exclude_head);
    read_int(r, delay, 0, INT32_MAX, &n);
    s->deletion_delay_ms = n * 1000;
    if (read_text(r, managed, OPTIONAL, &text))
        s->managed_elsewhere = ray_managed_elsewhere(text);
    if (!read_object(r, service, OPTIONAL))
        return;
    s->serve_service = service->value;
    if (read_text(r, name, OPTIONAL, &text) && !slice_empty(text) && !name_dns1035_label(text))
        place_bad(r, name, "is no name of a service: at most 63 lower case letters, digits and dashes, a letter first");
    else if (place_given(name) && slice_eq(text, rayservice_head_name(s, r->arena)))
        place_bad(r, name, "is the name of this RayService's head service: choose another");
    if (value_given(json_get(service->value, "spec")))
        read_array(r, ports, OPTIONAL);
}

/* Of its serve Service. */
static int32_t port_of(struct jval serve_service, const struct ray_cluster *cluster, struct arena *a)
{
    struct jval ports = json_get(serve_service, "spec.ports"), serve = list_find(ports, "name", SLICE("serve"));
    int64_t given = json_get_int(json_there(serve) ? serve : json_at(ports, 0), "port", 0);
    return given > 0 && given <= UINT16_MAX ? (int32_t)given : ray_serve_port(cluster, a);
}

static void read_cluster(struct reader *r, const struct place *spec, struct rayservice *s)
{
    const struct place *at = place_key(spec, "rayClusterConfig"), *type = place_key(place_key(at, "upgradeStrategy"), "type"),
                       *name = place_key(place_key(place_key(place_key(at, "headGroupSpec"), "headService"), "metadata"), "name");
    struct ray_cluster *cluster = arena_new(r->arena, struct ray_cluster);
    uint32_t before = spec_errors_count(r->errors);
    if (!read_object(r, at, REQUIRED))
        return;
    ray_read_cluster_spec(at, s->annotations, r->arena, cluster, r->errors);
    if (place_given(type))
        place_bad(r, type, "must not be set on a cluster that a RayService makes");
    if (place_given(name))
        place_bad(r, name, "must not be set: two clusters of one RayService would have a service of the same name");
    s->serve_port = spec_errors_count(r->errors) == before ? port_of(s->serve_service, cluster, r->arena) : 0;
    s->cluster_spec = at->value;
    s->group_count = cluster->group_count;
    s->cluster_hash = rayservice_hash(at->value, UINT32_MAX, r->arena);
    s->scale_hash = rayservice_scale_hash(at->value, r->arena);
}

static void read_spec(struct reader *r, const struct place *spec, struct rayservice *s)
{
    read_config(r, spec, s);
    read_upgrade(r, spec, s);
    read_options(r, spec, s);
    read_cluster(r, spec, s);
}

static struct rayservice nothing(void)
{
    return (struct rayservice){.labels = NO_VALUE, .annotations = NO_VALUE, .cluster_spec = NO_VALUE, .serve_service = NO_VALUE};
}

bool rayservice_facts_read(const struct place *spec, struct arena *a, struct rayservice_facts *out, struct spec_errors *errors)
{
    struct reader r = {.arena = a, .errors = errors};
    uint32_t before = spec_errors_count(errors);
    struct rayservice s = nothing();
    if (read_object(&r, spec, REQUIRED))
        read_spec(&r, spec, &s);
    *out = (struct rayservice_facts){
        .config = s.config, .config_hash = s.config_hash, .port = s.serve_port, .in_steps = s.upgrade == SERVICE_UPGRADE_STEPS};
    return spec_errors_count(errors) == before;
}

bool rayservice_read(const struct spec_object *from, struct arena *a, struct rayservice *out, struct spec_errors *errors)
{
    struct reader r = {.arena = a, .errors = errors};
    uint32_t before = spec_errors_count(errors);
    *out = nothing();
    if (!from->kept && json_type(from->root->value) != JSON_OBJECT) {
        place_bad(&r, from->root, "the resource is not an object");
        return false;
    }
    read_type_meta(&r, from->root, "ray.io/v1", "RayService");
    read_service_metadata(&r, from, out);
    if (read_object(&r, from->spec, REQUIRED))
        read_spec(&r, from->spec, out);
    return spec_errors_count(errors) == before;
}

static void note_upgrade(struct reader *r, const struct place *spec)
{
    static const char *const strategy[] = {"type", "clusterUpgradeOptions", "rollingUpdate", NULL},
                             *const rolling[] = {"maxSurgePercent", "maxUnavailablePercent", "ifNotPossible", NULL},
                             *const options[] = {"maxSurgePercent", "stepSizePercent", "intervalSeconds", "gatewayClassName", NULL};
    const struct place *upgrade = place_key(spec, "upgradeStrategy"), *at = place_key(upgrade, "clusterUpgradeOptions"),
                       *roll = place_key(upgrade, "rollingUpdate");
    note_unknown(r, upgrade, strategy);
    note_unknown(r, at, options);
    note_unknown(r, roll, rolling);
    if (place_given(roll) && !json_is(json_get(upgrade->value, "type"), RAYSERVICE_ROLLING))
        place_bad(r, roll, "has no effect: upgradeStrategy.type is not " RAYSERVICE_ROLLING);
    if (place_given(at) && !json_is(json_get(upgrade->value, "type"), "NewClusterWithIncrementalUpgrade"))
        place_bad(r, at, "has no effect: upgradeStrategy.type is not NewClusterWithIncrementalUpgrade");
}

void rayservice_spec_notes(const struct place *spec, struct jval annotations, struct arena *a, struct spec_errors *notes)
{
    static const char *const known[] = {"rayClusterConfig",
                                        "serveConfigV2",
                                        "serveService",
                                        "upgradeStrategy",
                                        "rayClusterDeletionDelaySeconds",
                                        "excludeHeadPodFromServeSvc",
                                        "suspend",
                                        "managedBy",
                                        "serviceUnhealthySecondThreshold",
                                        "deploymentUnhealthySecondThreshold",
                                        NULL};
    static const char *const unused[] = {"serviceUnhealthySecondThreshold", "deploymentUnhealthySecondThreshold"};
    struct reader r = {.arena = a, .errors = notes};
    const struct place *cluster = place_key(spec, "rayClusterConfig"), *config = place_key(spec, "serveConfigV2");
    note_unknown(&r, spec, known);
    note_upgrade(&r, spec);
    for (size_t i = 0; i < COUNT_OF(unused); i++) {
        const struct place *at = place_key(spec, unused[i]);
        if (place_given(at))
            place_bad(&r, at, "has no effect: KubeRay has given it up, too");
    }
    if (!place_given(config))
        place_bad(&r, config, "is missing: the service gets no traffic before somebody deploys an application");
    if (json_type(cluster->value) == JSON_OBJECT)
        ray_cluster_spec_notes(cluster, annotations, a, notes);
}

void rayservice_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes)
{
    const struct spec_object from = spec_object_of(object, a);
    struct rayservice *s = arena_new(a, struct rayservice);
    rayservice_read(&from, a, s, errors);
    rayservice_spec_notes(from.spec, s->annotations, a, notes);
}
