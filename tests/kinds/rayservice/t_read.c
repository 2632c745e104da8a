/* RayServices: errors of the reader, and the hashes that decide whether a new cluster is needed. */
#include "tests/unit/spec/errors.h"

#include "src/kinds/rayservice/rayservice.h"

#define POD "'template':{'spec':{'containers':[{'name':'r','image':'i'}]}}"
#define HEAD "'headGroupSpec':{" POD "}"
#define CLUSTER "'rayClusterConfig':{" HEAD "}"
#define SERVICE(spec) "{'apiVersion':'ray.io/v1','kind':'RayService','metadata':{'name':'demo'},'spec':{" spec "}}"
#define WITH(fields) SERVICE(CLUSTER "," fields)
#define CONFIG(yaml) WITH("'serveConfigV2':'" yaml "'")
#define NOTED(notes) "{'metadata':{'name':'demo','annotations':{" notes "}},'spec':{" CLUSTER "}}"
#define NAMED(name) "{'metadata':{'name':'" name "'},'spec':{" CLUSTER "}}"
#define STEPS(options)                                                                                                                     \
    SERVICE("'upgradeStrategy':{'type':'NewClusterWithIncrementalUpgrade'" options                                                         \
            "},'rayClusterConfig':{'enableInTreeAutoscaling':true," HEAD "}")
#define ROLLING(options, cluster)                                                                                                          \
    SERVICE("'upgradeStrategy':{'type':'mobula.dev/RollingUpdate','rollingUpdate':{" options "}},'rayClusterConfig':{" cluster HEAD "}")
#define APP(name, route) "{name: " name ", route_prefix: " route ", import_path: m}"

static const struct {
    const char *id, *json, *errors;
} cases[] = {
    {"smallest", SERVICE(CLUSTER), NULL},
    {"null is nothing", WITH("'serveConfigV2':null,'upgradeStrategy':null,'serveService':null,'suspend':null"), NULL},
    {"another kind", "{'apiVersion':'v1','kind':'Service','metadata':{'name':'demo'},'spec':{" CLUSTER "}}",
     "apiVersion: is v1: write ray.io/v1\nkind: is Service: must be RayService"},
    {"nothing", "{}", "metadata: is missing\nspec: is missing"},
    {"no cluster", SERVICE(""), "spec.rayClusterConfig: is missing"},
    {"name of 47", NAMED("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstu"), NULL},
    {"name of 48", NAMED("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv"), "metadata.name: has 48 bytes: at most 47"},
    {"errors of the cluster have their whole path",
     SERVICE("'rayClusterConfig':{" HEAD ",'workerGroupSpecs':[{'groupName':'w','minReplicas':3,'maxReplicas':1," POD "}]}"),
     "spec.rayClusterConfig.workerGroupSpecs[0].minReplicas: "},
    {"strategies of the cluster", SERVICE("'rayClusterConfig':{'upgradeStrategy':{'type':'Recreate'}," HEAD "}"),
     "spec.rayClusterConfig.upgradeStrategy.type: must not be set on a cluster that a RayService makes"},
    {"a head service with a name", SERVICE("'rayClusterConfig':{'headGroupSpec':{'headService':{'metadata':{'name':'x'}}," POD "}}"),
     "spec.rayClusterConfig.headGroupSpec.headService.metadata.name: must not be set"},
    {"a serve service that is called like the head service", WITH("'serveService':{'metadata':{'name':'demo-head-svc'}}"),
     "spec.serveService.metadata.name: is the name of this RayService's head service"},
    {"a serve service without a good name", WITH("'serveService':{'metadata':{'name':'A'}}"),
     "spec.serveService.metadata.name: is no name of a service"},
    {"a serve service with a name", WITH("'serveService':{'metadata':{'name':'front'}}"), NULL},
    {"configuration", CONFIG("applications: [" APP("a", "/a") "," APP("b", "/b") "]"), NULL},
    {"configuration that is no YAML", CONFIG("applications: ["), "spec.serveConfigV2: cannot be read: "},
    {"two documents", CONFIG("a: 1\\n---\\nb: 1"), "spec.serveConfigV2: holds 2 YAML documents"},
    {"configuration that is a list", CONFIG("[1]"), "spec.serveConfigV2: is no object"},
    {"no applications", CONFIG("proxy_location: EveryNode"), "spec.serveConfigV2: has no list `applications`"},
    {"an application twice", CONFIG("applications: [" APP("a", "/a") "," APP("a", "/b") "]"),
     "spec.serveConfigV2: applications[0] and applications[1] have the same name \"a\""},
    {"a route twice", CONFIG("applications: [" APP("a", "/") "," APP("b", "/") "]"),
     "spec.serveConfigV2: applications[0] and applications[1] have the same route_prefix \"/\""},
    {"no import path", CONFIG("applications: [{name: a}]"), "spec.serveConfigV2: applications[0] has no import_path"},
    {"strategies", WITH("'upgradeStrategy':{'type':'None'}"), NULL},
    {"rolling", ROLLING("", ""), NULL},
    {"rolling with all fields", ROLLING("'maxSurgePercent':0,'maxUnavailablePercent':100,'ifNotPossible':'NewCluster'", ""), NULL},
    {"rolling that does nothing", ROLLING("'maxSurgePercent':0", ""),
     "spec.upgradeStrategy.rollingUpdate: maxSurgePercent and maxUnavailablePercent are both 0"},
    {"rolling with more than all", ROLLING("'maxSurgePercent':101", ""), "spec.upgradeStrategy.rollingUpdate.maxSurgePercent: "},
    {"rolling with less than none", ROLLING("'maxUnavailablePercent':-1", ""),
     "spec.upgradeStrategy.rollingUpdate.maxUnavailablePercent: "},
    {"rolling, or else something unknown", ROLLING("'ifNotPossible':'Never'", ""), "spec.upgradeStrategy.rollingUpdate.ifNotPossible: is "},
    {"rolling with an autoscaler and nothing that may be missing", ROLLING("", "'enableInTreeAutoscaling':true,"),
     "spec.upgradeStrategy.rollingUpdate: maxUnavailablePercent is 0: with enableInTreeAutoscaling"},
    {"rolling with an autoscaler", ROLLING("'maxUnavailablePercent':1", "'enableInTreeAutoscaling':true,"), NULL},
    {"unknown strategy", WITH("'upgradeStrategy':{'type':'Rolling'}"), "spec.upgradeStrategy.type: is "},
    {"steps without options", STEPS(""), "spec.upgradeStrategy.clusterUpgradeOptions: is missing: must be an object"},
    {"steps", STEPS(",'clusterUpgradeOptions':{'gatewayClassName':'c','stepSizePercent':0,'intervalSeconds':1,'maxSurgePercent':0}"), NULL},
    {"the largest steps",
     STEPS(",'clusterUpgradeOptions':{'gatewayClassName':'c','stepSizePercent':100,'intervalSeconds':2147483647,'maxSurgePercent':100}"),
     NULL},
    {"a surge above 100",
     STEPS(",'clusterUpgradeOptions':{'gatewayClassName':'c','stepSizePercent':1,'intervalSeconds':1,'maxSurgePercent':101}"),
     "spec.upgradeStrategy.clusterUpgradeOptions.maxSurgePercent: is 101: must be from 0"},
    {"a step below 0",
     STEPS(",'clusterUpgradeOptions':{'gatewayClassName':'c','stepSizePercent':-1,'intervalSeconds':1,'maxSurgePercent':1}"),
     "spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent: is -1: must be from 0"},
    {"a step above the surge",
     STEPS(",'clusterUpgradeOptions':{'gatewayClassName':'c','stepSizePercent':20,'intervalSeconds':1,'maxSurgePercent':10}"),
     "spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent: is 20, above maxSurgePercent 10: lower it or raise maxSurgePercent"},
    {"no interval", STEPS(",'clusterUpgradeOptions':{'gatewayClassName':'c','stepSizePercent':1,'intervalSeconds':0,'maxSurgePercent':1}"),
     "spec.upgradeStrategy.clusterUpgradeOptions.intervalSeconds: is 0: must be from 1"},
    {"no step", STEPS(",'clusterUpgradeOptions':{'gatewayClassName':'c','intervalSeconds':1}"),
     "spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent: is missing: the percent of requests that moves at a time"},
    {"no class", STEPS(",'clusterUpgradeOptions':{'stepSizePercent':1,'intervalSeconds':1}"),
     "spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName: is missing"},
    {"no name of a class", STEPS(",'clusterUpgradeOptions':{'gatewayClassName':'C d','stepSizePercent':1,'intervalSeconds':1}"),
     "spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName: is \"C d\": must be the name of a GatewayClass"},
    {"steps without an autoscaler",
     WITH(
         "'upgradeStrategy':{'type':'NewClusterWithIncrementalUpgrade','clusterUpgradeOptions':{'gatewayClassName':'c','stepSizePercent':1,"
         "'intervalSeconds':1}}"),
     "spec.rayClusterConfig.enableInTreeAutoscaling: is not true: an upgrade in steps moves replicas from one cluster to the other"},
    {"delay", WITH("'rayClusterDeletionDelaySeconds':0"), NULL},
    {"delay below 0", WITH("'rayClusterDeletionDelaySeconds':-1"), "spec.rayClusterDeletionDelaySeconds: is -1: must be from 0"},
    {"timeout", NOTED("'ray.io/initializing-timeout':'10m'"), NULL},
    {"timeout in seconds", NOTED("'ray.io/initializing-timeout':'90'"), NULL},
    {"timeout of nothing", NOTED("'ray.io/initializing-timeout':'0'"),
     "metadata.annotations[\"ray.io/initializing-timeout\"]: is \"0\": must be a time above 0"},
    {"timeout in words", NOTED("'ray.io/initializing-timeout':'soon'"),
     "metadata.annotations[\"ray.io/initializing-timeout\"]: is \"soon\": must be a time above 0"},
};

static void test_errors(struct arena *a)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].id);
        struct rayservice s;
        struct spec_errors errors = {0};
        const struct spec_object from = spec_object_of(parse_quoted(cases[i].json, a), a);
        bool ok = rayservice_read(&from, a, &s, &errors);
        CHECK_INT(ok, cases[i].errors == NULL);
        check_spec_errors(&errors, cases[i].errors, a);
        arena_reset(a, MIB);
    }
}

/* RAYSERVICE_APPS_MAX applications are accepted, one more is refused. */
static void test_limit(struct arena *a)
{
    for (int more = 0; more < 2; more++) {
        test_case("%d applications", RAYSERVICE_APPS_MAX + more);
        struct buf b = {.max = MIB};
        struct rayservice s;
        struct spec_errors errors = {0};
        buf_printf(&b, "{\"metadata\":{\"name\":\"demo\"},\"spec\":{\"rayClusterConfig\":{\"headGroupSpec\":{\"template\":{\"spec\":"
                       "{\"containers\":[{\"name\":\"r\",\"image\":\"i\"}]}}}},\"serveConfigV2\":\"applications: [");
        for (int i = 0; i < RAYSERVICE_APPS_MAX + more; i++)
            buf_printf(&b, "%s{name: a%d, route_prefix: /%d, import_path: m}", i ? "," : "", i, i);
        buf_printf(&b, "]\"}}");
        struct jval doc;
        CHECK(json_read(&doc, buf_slice(&b), a, NULL));
        const struct spec_object from = spec_object_of(doc, a);
        CHECK_INT(rayservice_read(&from, a, &s, &errors), !more);
        CHECK_INT(s.app_count, more ? 0 : RAYSERVICE_APPS_MAX);
        buf_free(&b);
        arena_reset(a, MIB);
    }
}

#define GROUP(name, more) "{'groupName':'" name "'," more POD "}"
#define SPEC(groups) "{" HEAD ",'workerGroupSpecs':[" groups "]}"

/* same: the two specs have the same rayservice_hash; scaled: their scale hashes differ. */
static void test_hashes(struct arena *a)
{
    static const struct {
        const char *id, *one, *two;
        bool same, scaled;
    } pairs[] = {
        {"the same", SPEC(GROUP("a", "")), SPEC(GROUP("a", "")), true, false},
        {"members in another order", "{'rayVersion':'2'," HEAD "}", "{" HEAD ",'rayVersion':'2'}", true, false},
        {"replicas", SPEC(GROUP("a", "'replicas':1,")), SPEC(GROUP("a", "'replicas':2,")), true, true},
        {"limits", SPEC(GROUP("a", "'minReplicas':1,'maxReplicas':2,")), SPEC(GROUP("a", "'minReplicas':0,'maxReplicas':9,")), true, true},
        {"workers to delete", SPEC(GROUP("a", "")), SPEC(GROUP("a", "'scaleStrategy':{'workersToDelete':['x']},")), true, true},
        {"suspend", SPEC(GROUP("a", "")), SPEC(GROUP("a", "'suspend':true,")), true, true},
        {"the name of a group", SPEC(GROUP("a", "")), SPEC(GROUP("b", "")), false, true},
        {"one group more", SPEC(GROUP("a", "")), SPEC(GROUP("a", "") "," GROUP("b", "")), false, true},
        {"a version", "{'rayVersion':'2'," HEAD "}", "{'rayVersion':'3'," HEAD "}", false, false},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        test_case("hash: %s", pairs[i].id);
        struct jval spec = parse_quoted(pairs[i].one, a);
        uint64_t hash = rayservice_hash(spec, UINT32_MAX, a), scale = rayservice_scale_hash(spec, a);
        CHECK(hash != 0);
        spec = parse_quoted(pairs[i].two, a); /* overwrites the first spec */
        CHECK_INT(hash == rayservice_hash(spec, UINT32_MAX, a), pairs[i].same);
        CHECK_INT(scale != rayservice_scale_hash(spec, a), pairs[i].scaled);
    }
    test_case("hash: the first group of two");
    uint64_t one = rayservice_hash(parse_quoted(SPEC(GROUP("a", "")), a), 1, a);
    CHECK(one == rayservice_hash(parse_quoted(SPEC(GROUP("a", "'replicas':7,") "," GROUP("b", "")), a), 1, a));
}

#define IMAGE(image) "'template':{'spec':{'containers':[{'name':'r','image':'" image "'}]}}"
#define HEADED(image, groups) "{'headGroupSpec':{" IMAGE(image) "},'workerGroupSpecs':[" groups "]}"
#define WORKER(name, image, more) "{'groupName':'" name "'," more IMAGE(image) "}"

/* Changes that can be made in the running cluster, or not. why: the beginning of the reason; NULL: the change can be made. */
static void test_in_place(struct arena *a)
{
    static const struct {
        const char *id, *live, *want, *why;
    } changes[] = {
        {"a worker's image", HEADED("i", WORKER("a", "i", "")), HEADED("i", WORKER("a", "j", "")), NULL},
        {"replicas", HEADED("i", WORKER("a", "i", "'replicas':1,")), HEADED("i", WORKER("a", "i", "'replicas':2,")), NULL},
        {"a group before the others", HEADED("i", WORKER("a", "i", "")), HEADED("i", WORKER("b", "i", "") "," WORKER("a", "i", "")), NULL},
        {"suspend", HEADED("i", ""), "{'suspend':false,'headGroupSpec':{" IMAGE("i") "},'workerGroupSpecs':[]}", NULL},
        {"the head's image", HEADED("i", ""), HEADED("j", ""),
         "spec.rayClusterConfig.headGroupSpec.template.spec.containers[0].image has changed: a new head starts without the "
         "applications"},
        {"a member of the head that is new", "{" HEAD "}", "{'headGroupSpec':{'serviceType':'NodePort'," POD "}}",
         "spec.rayClusterConfig.headGroupSpec.serviceType has changed"},
        {"a member of the head that is gone", "{'headGroupSpec':{'serviceType':'NodePort'," POD "}}", "{" HEAD "}",
         "spec.rayClusterConfig.headGroupSpec.serviceType has changed"},
        {"one container more", "{" HEAD "}",
         "{'headGroupSpec':{'template':{'spec':{'containers':[{'name':'r','image':'i'},{'name':'s','image':'i'}]}}}}",
         "spec.rayClusterConfig.headGroupSpec.template.spec.containers has changed"},
        {"the version of Ray", "{'rayVersion':'2.1.0'," HEAD "}", "{'rayVersion':'2.2.0'," HEAD "}",
         "spec.rayClusterConfig.rayVersion has changed: all nodes of a cluster run the same Ray"},
        {"the autoscaler", "{" HEAD "}", "{'enableInTreeAutoscaling':true," HEAD "}",
         "spec.rayClusterConfig.enableInTreeAutoscaling has changed: it applies to the whole cluster"},
        {"a group less", HEADED("i", WORKER("a", "i", "") "," WORKER("b", "i", "")), HEADED("i", WORKER("a", "i", "")),
         "worker group b was removed or renamed: it would lose all pods at once"},
        {"hosts of a replica", HEADED("i", WORKER("a", "i", "")), HEADED("i", WORKER("a", "i", "'numOfHosts':2,")),
         "numOfHosts of worker group a has changed"},
        {"one host, explicitly and by default", HEADED("i", WORKER("a", "i", "")), HEADED("i", WORKER("a", "i", "'numOfHosts':1,")), NULL},
        {"another Ray on a worker", HEADED("h/ray:2.46.0", WORKER("a", "h/ray:2.46.0", "")),
         HEADED("h/ray:2.46.0", WORKER("a", "h/ray-ml:2.46.1-gpu", "")),
         "worker group a has an image of Ray 2.46.1 and the head one of Ray 2.46.0: Ray needs the same on all nodes"},
        {"another Python on a worker", HEADED("ray:2.46.0-py310", WORKER("a", "ray:2.46.0-py310", "")),
         HEADED("ray:2.46.0-py310", WORKER("a", "ray:2.46.0-py311-gpu", "")),
         "worker group a has an image of py311 and the head one of py310: Ray needs the same on all nodes"},
        {"another variant of the same", HEADED("ray:2.46.0", WORKER("a", "ray:2.46.0", "")),
         HEADED("ray:2.46.0", WORKER("a", "ray:2.46.0-gpu", "")), NULL},
        {"images of which nobody knows the Ray", HEADED("app:1.0.0", WORKER("a", "app:1.0.0", "")),
         HEADED("app:1.0.0", WORKER("a", "app:1.1.0", "")), NULL},
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        test_case("in place: %s", changes[i].id);
        struct jval both = parse_quoted(arena_printf(a, "{'live':%s,'want':%s}", changes[i].live, changes[i].want).ptr, a);
        struct slice why = rayservice_apart(json_get(both, "live"), json_get(both, "want"), a);
        if (!changes[i].why)
            CHECK_SLICE(why, SLICE(""));
        else if (!CHECK(slice_starts(why, slice_of(changes[i].why))))
            printf("  why: %.*s\n", SLICE_ARG(why));
    }
}

/* A second cluster that grows in steps begins with minReplicas: with replicas it would take up all its capacity beside the first one. */
static void test_growing(struct arena *a)
{
    for (int grows = 0; grows < 2; grows++) {
        test_case("groups of a cluster that grows in steps have no replicas, %d", grows);
        struct buf b = {.max = MIB};
        struct rayservice s;
        struct spec_errors errors = {0};
        const char *text = arena_printf(a, "{'metadata':{'name':'demo'},'spec':{'rayClusterConfig':%s}}",
                                        SPEC(GROUP("a", "'replicas':4,'minReplicas':1,") "," GROUP("b", "")))
                               .ptr;
        const struct spec_object from = spec_object_of(parse_quoted(text, a), a);
        struct jval doc = NO_VALUE, spec, group;
        CHECK(rayservice_read(&from, a, &s, &errors));
        CHECK(rayservice_build_cluster(&s, rayservice_cluster_name(&s, false, a), grows, &b, a) && json_read(&doc, buf_slice(&b), a, NULL));
        spec = json_get(doc, "spec");
        group = json_at(json_get(spec, "workerGroupSpecs"), 0);
        CHECK_INT(json_len(json_get(spec, "workerGroupSpecs")), 2);
        CHECK(json_there(json_get(spec, "headGroupSpec")) && json_there(json_get(group, "template")));
        CHECK_INT(json_get_int(group, "replicas", -1), grows ? -1 : 4);
        CHECK_INT(json_get_int(group, "minReplicas", -1), 1);
        buf_free(&b);
    }
}

static void test_gateway(struct arena *a)
{
    static const char *const texts[] = {NOTED(""), NOTED("'mobula.dev/gateway-tls-secret':'cert'")};
    for (size_t tls = 0; tls < COUNT_OF(texts); tls++) {
        test_case("listeners of the Gateway: %s", tls ? "HTTPS with the Secret that the annotation names" : "HTTP alone");
        struct buf b = {.max = MIB};
        struct rayservice s;
        struct spec_errors errors = {0};
        const struct spec_object from = spec_object_of(parse_quoted(texts[tls], a), a);
        struct jval doc = NO_VALUE;
        CHECK(rayservice_read(&from, a, &s, &errors) && rayservice_build_gateway(&s, 0, a, &b, NULL) &&
              json_read(&doc, buf_slice(&b), a, NULL));
        struct jval all = json_get(doc, "spec.listeners"), one = json_at(all, 1);
        CHECK_INT(json_len(all), 1 + tls);
        CHECK_INT(json_get_int(json_at(all, 0), "port", 0), 80);
        CHECK_INT(json_get_int(one, "port", 0), tls ? 443 : 0);
        CHECK_INT(json_is(json_get(json_at(json_get(one, "tls.certificateRefs"), 0), "name"), "cert"), tls);
        buf_free(&b);
    }
}

int main(void)
{
    struct arena a = {0};
    test_errors(&a);
    test_limit(&a);
    test_hashes(&a);
    test_in_place(&a);
    test_growing(&a);
    test_gateway(&a);
    arena_free(&a);
    return test_done();
}
