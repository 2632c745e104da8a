/* VersionedServices: errors of the reader. */
#include "tests/unit/spec/errors.h"

#include "src/kinds/versioned/versioned.h"

#define POD "'template':{'spec':{'containers':[{'name':'r','image':'i'}]}}"
#define CONFIG "'rayServiceConfig':{'rayClusterConfig':{'headGroupSpec':{" POD "}}}"
#define ONE(name) "{'name':'" name "'," CONFIG "}"
#define SHARE(name, weight) "{'name':'" name "','weight':" weight "," CONFIG "}"
#define SERVICE(spec) "{'apiVersion':'mobula.dev/v1','kind':'VersionedService','metadata':{'name':'rag'},'spec':{" spec "}}"
#define VERSIONS(list) SERVICE("'gateway':{'name':'g'},'versions':[" list "]")
#define WITH(fields) SERVICE("'versions':[" ONE("v1") "]," fields)

static const struct {
    const char *id, *json, *errors;
} cases[] = {
    {"smallest", VERSIONS(ONE("v1")), NULL},
    {"two", VERSIONS(SHARE("v1", "90") "," SHARE("v2", "10")), NULL},
    {"ten",
     VERSIONS(SHARE("a", "100") "," SHARE("b", "0") "," SHARE("c", "0") "," SHARE("d", "0") "," SHARE("e", "0") "," SHARE(
         "f", "0") "," SHARE("g", "0") "," SHARE("h", "0") "," SHARE("i", "0") "," SHARE("j", "0")),
     NULL},
    {"eleven", VERSIONS("1,2,3,4,5,6,7,8,9,10,11"), "spec.versions: has 11 versions: must be 1 to 10 (VERSIONED_MAX)"},
    {"none", VERSIONS(""), "spec.versions: has 0 versions: must be 1 to 10 (VERSIONED_MAX)"},
    {"a sum of 90", VERSIONS(SHARE("v1", "80") "," SHARE("v2", "10")), "spec.versions: has weights of 90 in all: must be 100"},
    {"no weight", VERSIONS(SHARE("v1", "100") "," ONE("v2")), "spec.versions[1].weight: is missing"},
    {"a weight above 100", VERSIONS(SHARE("v1", "101")), "spec.versions[0].weight: is 101"},
    {"a name twice", VERSIONS(SHARE("v1", "50") "," SHARE("v1", "50")), "spec.versions[1].name: is \"v1\", as another version's"},
    {"a name of 43 bytes beside one of 3", VERSIONS(ONE("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq")), NULL},
    {"a name of 44", VERSIONS(ONE("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqr")), "spec.versions[0].name: is \"abcdefghij"},
    {"a bad name", VERSIONS(ONE("V_1")), "spec.versions[0].name: is \"V_1\": must be"},
    {"errors of a version have their whole path", VERSIONS("{'name':'v1','rayServiceConfig':{'serveConfigV2':'['}}"),
     "spec.versions[0].rayServiceConfig.serveConfigV2: cannot be read: \nspec.versions[0].rayServiceConfig.rayClusterConfig: is missing"},
    {"no config", VERSIONS("{'name':'v1'}"), "spec.versions[0].rayServiceConfig: is missing"},
    {"a route of its own",
     VERSIONS("{'name':'v1','rayServiceConfig':{'upgradeStrategy':{'type':'NewClusterWithIncrementalUpgrade','clusterUpgradeOptions':{"
              "'gatewayClassName':'c','stepSizePercent':1,'intervalSeconds':1}},'rayClusterConfig':{'enableInTreeAutoscaling':true,"
              "'headGroupSpec':{" POD "}}}}"),
     "spec.versions[0].rayServiceConfig.upgradeStrategy.type: asks for a Gateway of its own"},
    {"no route", WITH("'hostnames':[]"), "spec.gateway: or spec.ingressClassName or spec.istio must be given"},
    {"two routes", WITH("'gateway':{'name':'g'},'ingressClassName':'c'"),
     "spec.gateway: or spec.ingressClassName or spec.istio must be given"},
    {"a third", WITH("'istio':{'gateways':['g']},'ingressClassName':'c'"), "spec.gateway: or spec.ingressClassName or spec.istio must be"},
    {"Istio", WITH("'istio':{'gateways':['infra/public','mesh']}"), NULL},
    {"no gateways of Istio", WITH("'istio':{}"), "spec.istio.gateways: is missing"},
    {"an empty list of them", WITH("'istio':{'gateways':[]}"), "spec.istio.gateways: is empty: want at least one"},
    {"a bad one", WITH("'istio':{'gateways':['a/b/c']}"), "spec.istio.gateways: has \"a/b/c\", which is no Gateway: write NAME"},
    {"gRPC", WITH("'gateway':{'name':'g'},'grpc':{'sectionName':'grpc'}"), NULL},
    {"gRPC on the listener of HTTP", WITH("'gateway':{'name':'g','sectionName':'s'},'grpc':{'sectionName':'s'}"),
     "spec.grpc: needs hostnames or a sectionName of its own"},
    {"gRPC through Ingresses", WITH("'ingressClassName':'c','grpc':{'hostnames':['g.example.org']}"), "spec.grpc: needs spec.gateway"},
    {"a port of gRPC of 0", WITH("'gateway':{'name':'g'},'grpc':{'port':0,'sectionName':'s'}"), "spec.grpc.port: is 0"},
    {"a class", WITH("'ingressClassName':'nginx','hostnames':['a.example.org','*.example.org']"), NULL},
    {"a controller", WITH("'ingressClassName':'c','ingressController':'ingress-nginx','rollout':{'maxSurgePercent':1}"), NULL},
    {"an unknown one", WITH("'ingressClassName':'c','ingressController':'traefik'"), "spec.ingressController: is \"traefik\""},
    {"no capacity is held back where requests cannot be divided", WITH("'ingressClassName':'traefik','rollout':{'maxSurgePercent':25}"),
     "spec.rollout.maxSurgePercent: cannot be used: the controller of spec.ingressClassName has no weights"},
    {"whatever the class is called", WITH("'ingressClassName':'nginx','ingressController':'other','rollout':{'maxSurgePercent':25}"),
     "spec.rollout.maxSurgePercent: cannot be used: the controller"},
    {"the edge divides them", WITH("'ingressClassName':'traefik','auth':'token','hostnames':['a'],'rollout':{'maxSurgePercent':25}"), NULL},
    {"no host", WITH("'ingressClassName':'nginx','hostnames':['http://x']"), "spec.hostnames: has \"http://x\", which is no host"},
    {"a token", WITH("'gateway':{'name':'g'},'auth':'token','hostnames':['a.example.org']"), NULL},
    {"no token", WITH("'gateway':{'name':'g'},'auth':'none'"), NULL},
    {"another guard", WITH("'gateway':{'name':'g'},'auth':'users'"), "spec.auth: is \"users\""},
    {"a token without hosts, which --domain may give", WITH("'gateway':{'name':'g'},'auth':'token'"), NULL},
    {"a token for gRPC", WITH("'gateway':{'name':'g'},'auth':'token','hostnames':['a'],'grpc':{'sectionName':'s'}"),
     "spec.auth: needs spec.hostnames, or an operator with --domain, and no spec.grpc"},
    {"no Gateway's name", WITH("'gateway':{}"), "spec.gateway.name: is missing"},
    {"an interval of 14 s", WITH("'gateway':{'name':'g'},'rollout':{'intervalSeconds':14}"), "spec.rollout.intervalSeconds: is 14"},
    {"limits of a rollout",
     WITH("'gateway':{'name':'g'},'rollout':{'intervalSeconds':15,'stepPercent':100,'maxSurgePercent':100,'timeoutMinutes':1}"), NULL},
    {"beyond them", WITH("'gateway':{'name':'g'},'rollout':{'stepPercent':0,'maxSurgePercent':101,'timeoutMinutes':0}"),
     "spec.rollout.maxSurgePercent: is 101\nspec.rollout.stepPercent: is 0\nspec.rollout.timeoutMinutes: is 0"},
};

int main(void)
{
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct spec_errors errors = {.count = 0}, notes = {.count = 0};
        test_case("%s", cases[i].id);
        versioned_check(parse_quoted(cases[i].json, &a), &a, &errors, &notes);
        check_spec_errors(&errors, cases[i].errors ? cases[i].errors : "", &a);
        arena_reset(&a, 0);
    }
    struct spec_errors errors = {.count = 0}, notes = {.count = 0};
    test_case("notes");
    versioned_check(parse_quoted(WITH("'gateway':{'name':'g'},'rollouts':{},'rollout':{'steps':1}"), &a), &a, &errors, &notes);
    check_spec_errors(&notes, "spec.rollouts: \nspec.rollout.steps: \nspec.versions[0].rayServiceConfig.serveConfigV2: is missing", &a);
    test_case("a token without hosts: by an operator without --domain, with it, and checked without an operator");
    const struct spec_object from = spec_object_of(parse_quoted(WITH("'gateway':{'name':'g'},'auth':'token'"), &a), &a);
    struct versioned s;
    errors = notes = (struct spec_errors){.count = 0};
    CHECK(!versioned_read(&from, SLICE(""), &a, &s, &errors));
    check_spec_errors(&errors, "spec.auth: needs spec.hostnames", &a);
    errors.count = 0;
    CHECK(versioned_read(&from, SLICE("example.org"), &a, &s, &errors));
    CHECK(slice_ends(json_str(json_at(s.hosts, 0), &a), SLICE(".s.example.org")));
    versioned_check(parse_quoted(WITH("'gateway':{'name':'g'},'auth':'token'"), &a), &a, &errors, &notes);
    check_spec_errors(&notes, "spec.auth: needs an operator with --domain\nspec.versions[0].rayServiceConfig.serveConfigV2: is missing",
                      &a);
    arena_free(&a);
    return test_done();
}
