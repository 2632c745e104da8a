/* What the scenarios of this folder share: a world with one namespace and one kind, clusters in it, and looks at the result. */
#ifndef MOBULA_TEST_SCENE_H
#define MOBULA_TEST_SCENE_H

#include "tests/model/sim/world.h"

#include "tests/unit/test.h"

/* Each program uses some of these. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"

static const char v1[] = "/apis/ray.io/v1/namespaces/n/rayclusters";
static const char pods_path[] = "/api/v1/namespaces/n/pods";

/* Only what the API server needs to know of a kind; the real CRDs are tested on a real one. status: the schema of it; empty: anything. */
static void make_definition(struct world *w, const char *group, const char *kind, const char *plural, const char *status)
{
    static const char any[] = "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}";
    struct slice body =
        arena_printf(&w->arena,
                     "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"%s.%s\"},"
                     "\"spec\":{\"group\":\"%s\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\",\"singular\":\"%.*s\","
                     "\"kind\":\"%s\",\"listKind\":\"%sList\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                     "\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":"
                     "{\"spec\":%s,\"status\":%s}}}}]}}",
                     plural, group, group, plural, (int)strlen(plural) - 1, plural, kind, kind, any, *status ? status : any);
    CHECK_INT(world_call(w, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", body), 201);
}

static void make_crd(struct world *w, const char *group, const char *status)
{
    make_definition(w, group, "RayCluster", "rayclusters", status);
}

static void make_namespace(struct world *w)
{
    CHECK_INT(world_call(w, "POST", "/api/v1/namespaces", "application/json",
                         SLICE("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}")),
              201);
}

static void make_world(struct world *w, bool elect)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    make_namespace(w);
    make_crd(w, "ray.io", "");
    world_start_operator(w, elect);
}

/* An operator that watches all namespaces. */
static void launch_for_all(struct world *w)
{
    static const struct slice all[] = {{"", 0}};
    const struct operator_options o = {.namespaces = all,
                                       .namespace_count = 1,
                                       .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0")},
                                       .instance = SLICE("test"),
                                       .seed = 1};
    world_launch(w, 0, &o);
}

static void make_other_namespace(struct world *w)
{
    CHECK_INT(world_call(w, "POST", "/api/v1/namespaces", "application/json",
                         SLICE("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"m\"}}")),
              201);
}

/* A cluster c whose head and workers have these annotations, members of a JSON object. more: members of its spec, a comma behind each. */
static struct slice annotated_body(struct world *w, const char *more, const char *head, int workers, const char *worker)
{
    static const char container[] = "\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}";
    return arena_printf(
        &w->arena,
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},\"spec\":{%s"
        "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"metadata\":{\"annotations\":{%s}},%s}},\"workerGroupSpecs\":[{"
        "\"groupName\":\"small\",\"replicas\":%d,\"minReplicas\":0,\"maxReplicas\":10,\"rayStartParams\":{},"
        "\"template\":{\"metadata\":{\"annotations\":{%s}},%s}}]}}",
        more, head, container, workers, worker, container);
}

static void create_annotated(struct world *w, const char *head, int workers, const char *worker)
{
    CHECK_INT(world_call(w, "POST", v1, "application/json", annotated_body(w, "", head, workers, worker)), 201);
}

static struct slice cluster_body(struct world *w, const char *name, int workers, const char *more)
{
    static const char container[] = "{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}";
    return arena_printf(
        &w->arena,
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{%s"
        "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":%s},\"workerGroupSpecs\":[{\"groupName\":\"small\","
        "\"replicas\":%d,\"minReplicas\":0,\"maxReplicas\":10000,\"rayStartParams\":{},\"template\":%s}]}}",
        name, more, container, workers, container);
}

static void apply(struct world *w, const char *name, int workers)
{
    CHECK_INT(world_call(w, "POST", v1, "application/json", cluster_body(w, name, workers, "")), 201);
}

static void scale(struct world *w, const char *name, int workers)
{
    struct slice patch =
        arena_printf(&w->arena, "[{\"op\":\"replace\",\"path\":\"/spec/workerGroupSpecs/0/replicas\",\"value\":%d}]", workers);
    struct slice path = arena_printf(&w->arena, "%s/%s", v1, name);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/json-patch+json", patch), 200);
}

/* resource: "pods" or "rayclusters" */
static void annotate(struct world *w, const char *resource, const char *name, int value)
{
    bool pods = strcmp(resource, "pods") == 0;
    struct slice path = arena_printf(&w->arena, "%s/%s", pods ? pods_path : v1, name);
    struct slice patch = arena_printf(&w->arena, "{\"metadata\":{\"annotations\":{\"example.com/note\":\"%d\"}}}", value);
    int status = world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch);
    CHECK_INT(status, 200);
}

static struct slice status_of(struct world *w, const char *name, const char *path)
{
    struct jval object = world_object(w, "rayclusters.ray.io", name);
    return json_there(object) ? json_get_str(object, path, &w->arena) : SLICE_NONE;
}

/* By somebody else's hand: labelled as Ray's pods are and owned by cluster n/c, with no index and no annotation of ours. */
static void make_pod_of_c(struct world *w, const char *path, const char *name, const char *type, const char *group)
{
    struct slice body = arena_printf(
        &w->arena,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"labels\":{\"ray.io/cluster\":\"c\",\"ray.io/node-type\":"
        "\"%s\",\"ray.io/group\":\"%s\",\"ray.io/is-ray-node\":\"yes\"},\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":"
        "\"RayCluster\",\"name\":\"c\",\"uid\":\"%.*s\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":"
        "\"ray:1\"}]}}",
        name, type, group, SLICE_ARG(status_of(w, "c", "metadata.uid")));
    CHECK_INT(world_call(w, "POST", path, "application/json", body), 201);
}

static bool says(struct world *w, const char *resource, const char *name, const char *text)
{
    struct slice object = apiserver_get(w->server, slice_of(resource), SLICE("n"), slice_of(name), &w->arena);
    return object.ptr && strstr(object.ptr, text);
}

/* Names of the pods of this node type, in the world's arena. */
static uint32_t pod_names(struct world *w, const char *type, struct slice *names, uint32_t most)
{
    struct slice list, path = arena_printf(&w->arena, "%s?labelSelector=ray.io%%2Fnode-type%%3D%s", pods_path, type);
    CHECK_INT(world_ask(w, "GET", path.ptr, "application/json", SLICE_NONE, &list), 200);
    struct json *doc = arena_new(&w->arena, struct json);
    struct err e = {0};
    uint32_t count = 0;
    if (!CHECK(json_parse(doc, list, &w->arena, &e)))
        return 0;
    struct jval k, pod;
    for (struct jiter it = json_iter(json_get(json_root(doc), "items")); json_next(&it, &k, &pod) && count < most;)
        names[count++] = arena_dup(&w->arena, json_get_str(pod, "metadata.name", &w->arena));
    return count;
}

/* Pods that carry the cluster's name. */
static uint32_t pods_of(struct world *w, const char *cluster)
{
    struct arena a = {0};
    struct slice list, path = arena_printf(&a, "%s?labelSelector=ray.io%%2Fcluster%%3D%s", pods_path, cluster);
    CHECK_INT(world_ask(w, "GET", path.ptr, "application/json", SLICE_NONE, &list), 200);
    struct json doc;
    struct err e = {0};
    uint32_t count = json_parse(&doc, list, &a, &e) ? (uint32_t)json_len(json_get(json_root(&doc), "items")) : 0;
    arena_free(&a);
    return count;
}

/* Whether an event of this reason says this. */
__attribute__((unused)) static bool tells(struct world *w, const char *reason, const char *text)
{
    struct arena a = {0};
    struct slice list = SLICE_NONE;
    struct json doc;
    struct err e = {0};
    struct jval k, event;
    bool told = false;
    CHECK_INT(world_ask(w, "GET", "/apis/events.k8s.io/v1/namespaces/n/events", "application/json", SLICE_NONE, &list), 200);
    CHECK(json_parse(&doc, list, &a, &e));
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &event);)
        told |= json_str_eq(json_get(event, "reason"), slice_of(reason)) && strstr(json_get_str(event, "note", &a).ptr, text);
    arena_free(&a);
    return told;
}

static bool is_ready(struct world *w, const char *name)
{
    return slice_eq(status_of(w, name, "status.state"), SLICE("ready"));
}

static void check_fixed_point(struct world *w)
{
    world_run(w, 100); /* the events of a status are sent once it is stored */
    uint64_t before = apiserver_revision(w->server);
    world_run(w, 60 * 1000);
    CHECK_INT(apiserver_revision(w->server), before);
}

static void override(struct world *w, const char *method, const char *path, int status, bool commit, uint32_t times)
{
    apiserver_faults(w->server)->next = (struct apiserver_override){.method = slice_of(method),
                                                                    .path = slice_of(path),
                                                                    .status = status,
                                                                    .reason = status == 403 ? "Forbidden" : "",
                                                                    .commit = commit,
                                                                    .times = times};
}

/* Somebody else holds the lease, from now on for `seconds`. */
static void take_lease(struct world *w, const char *holder, int seconds)
{
    char now[TIME_TEXT_MAX];
    time_format_micro(w->now.wall_us, now);
    struct slice patch = arena_printf(&w->arena, "{\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,\"renewTime\":\"%s\"}}",
                                      holder, seconds, now);
    CHECK_INT(world_call(w, "PATCH", "/apis/coordination.k8s.io/v1/namespaces/n/leases/mobula", "application/merge-patch+json", patch),
              200);
}

#pragma GCC diagnostic pop

#endif
