#include "../test.h"

#include <mobula/ray.h>

/* A resource in short: %s stands for what the case adds. Quotes are single ones, for the reader's sake. */
#define POD "{'spec':{'containers':[{'name':'r','image':'i'}]}}"
#define V1(spec) "{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'name':'demo','namespace':'n','uid':'u'},'spec':{" spec "}}"
#define HEAD "'headGroupSpec':{'template':" POD "}"
#define HEAD_WITH(more) "'headGroupSpec':{'template':" POD "," more "}"
#define HEAD_ENV(env) "'headGroupSpec':{'template':{'spec':{'containers':[{'name':'r','image':'i','env':[" env "]}]}}}"
#define GROUP(more) HEAD ",'workerGroupSpecs':[{'groupName':'g','template':" POD "," more "}]"
#define TEMPLATE(pod) HEAD ",'workerGroupSpecs':[{'groupName':'g','template':" pod "}]"
#define CONTAINER(more) TEMPLATE("{'spec':{'containers':[{'name':'r','image':'i'," more "}]}}")
#define LEGACY(spec)                                                                                                                       \
    "{'apiVersion':'cluster.ray.io/v1','kind':'RayCluster','metadata':{'name':'demo','namespace':'n','uid':'u'},'spec':{" spec "}}"
#define TYPES "'headPodType':'h','podTypes':[{'name':'h','podConfig':" POD "},{'name':'w','minWorkers':1,'podConfig':" POD "}]"
#define TYPE(more) "'headPodType':'h','podTypes':[{'name':'h','podConfig':" POD "},{'name':'w','podConfig':" POD "," more "}]"
#define SCALING "'enableInTreeAutoscaling':true,"
#define SIDECAR(spec)                                                                                                                      \
    "{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'name':'demo','annotations':{'mobula.dev/autoscaler':'sidecar'}},"          \
    "'spec':{" spec "}}"
#define V2 SCALING "'autoscalerOptions':{'version':'v2'},"

#define FT_OPTIONS "spec.gcsFaultToleranceOptions: asks for GCS fault tolerance, which is not supported yet"
#define FT_ANNOTATION "metadata.annotations[\"ray.io/ft-enabled\"]: asks for GCS fault tolerance, which is not supported yet"

/* errors: one a line, in order: the path and how the text begins; NULL: none. */
static const struct {
    const char *id, *json, *errors;
} cases[] = {
    {"v1 smallest", V1(HEAD), NULL},
    {"v1 null is nothing", V1(HEAD ",'workerGroupSpecs':null,'rayVersion':null,'suspend':null,'authOptions':null"), NULL},
    {"not an object", "[]", ": the resource is not an object"},
    {"another version", "{'apiVersion':'ray.io/v1alpha1','kind':'RayCluster','metadata':{'name':'demo'},'spec':{" HEAD "}}",
     "apiVersion: is ray.io/v1alpha1: write ray.io/v1"},
    {"another kind", "{'apiVersion':'ray.io/v1','kind':'RayJob','metadata':{'name':'demo'},'spec':{" HEAD "}}", "kind: is RayJob"},
    {"no metadata", "{'spec':{" HEAD "}}", "metadata: is missing"},
    {"no name", "{'metadata':{},'spec':{" HEAD "}}", "metadata.name: is missing"},
    {"no spec", "{'metadata':{'name':'demo'}}", "spec: is missing"},
    {"1 name of 53", "{'metadata':{'name':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyza'},'spec':{" HEAD "}}", NULL},
    {"1 name of 54", "{'metadata':{'name':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzab'},'spec':{" HEAD "}}",
     "metadata.name: has 54 bytes"},
    {"1 generateName of 48", "{'metadata':{'generateName':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstu-'},'spec':{" HEAD "}}", NULL},
    {"1 generateName of 49", "{'metadata':{'generateName':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv-'},'spec':{" HEAD "}}",
     "metadata.generateName: has 54 bytes with the five that are added: at most 53"},
    {"1 generateName with a dot", "{'metadata':{'generateName':'a.'},'spec':{" HEAD "}}", "metadata.generateName: is \"a.\""},
    {"1 name beside a generateName", "{'metadata':{'name':'a','generateName':'A'},'spec':{" HEAD "}}", NULL},
    {"1 neither name nor generateName", "{'metadata':{'name':'','generateName':''},'spec':{" HEAD "}}", "metadata.name: is missing"},
    {"1 name that is a number", "{'metadata':{'name':1,'generateName':'a'},'spec':{" HEAD "}}", "metadata.name: is a number"},
    {"1 name with a digit first", "{'metadata':{'name':'1a'},'spec':{" HEAD "}}", "metadata.name: is \"1a\""},
    {"1 name with a dot", "{'metadata':{'name':'a.b'},'spec':{" HEAD "}}", "metadata.name: is \"a.b\""},
    {"every error at once", V1("'rayVersion':2,'suspend':'yes','workerGroupSpecs':[{'minReplicas':-1},3]"),
     "spec.rayVersion: is a number\nspec.suspend: is a string\nspec.headGroupSpec: is missing\n"
     "spec.workerGroupSpecs[0].minReplicas: is -1\nspec.workerGroupSpecs[0].groupName: is missing\n"
     "spec.workerGroupSpecs[0].template: is missing\nspec.workerGroupSpecs[1]: is a number"},
    {"3 upgrade type", V1(HEAD ",'upgradeStrategy':{'type':'Rolling'}"), "spec.upgradeStrategy.type: is \"Rolling\""},
    {"3 of a RayJob",
     "{'metadata':{'name':'demo','labels':{'ray.io/originated-from-crd':'RayJob'}},'spec':{" HEAD ",'upgradeStrategy':{'type':'None'}}}",
     "spec.upgradeStrategy.type: must not be set"},
    {"4 no containers", V1("'headGroupSpec':{'template':{'spec':{}}}"), "spec.headGroupSpec.template.spec.containers: is missing"},
    {"4 empty containers", V1(TEMPLATE("{'spec':{'containers':[]}}")), "spec.workerGroupSpecs[0].template.spec.containers: is empty"},
    {"5 resources and num-cpus", V1(HEAD_WITH("'resources':{'CPU':'1'},'rayStartParams':{'num-cpus':'1'}")),
     "spec.headGroupSpec.rayStartParams.num-cpus: must not be here"},
    {"5 resources and empty num-cpus", V1(HEAD_WITH("'resources':{'CPU':'1'},'rayStartParams':{'num-cpus':''}")), NULL},
    {"5 resources and all four", V1(GROUP("'resources':{'x':'1'},'rayStartParams':{'num-gpus':'1','memory':'1','resources':'{}'}")),
     "spec.workerGroupSpecs[0].rayStartParams.num-gpus: \nspec.workerGroupSpecs[0].rayStartParams.memory: \n"
     "spec.workerGroupSpecs[0].rayStartParams.resources: "},
    {"a fraction of a node's resource", V1(GROUP("'resources':{'x':'500m','CPU':'500m','nvidia.com/gpu':'1500m'}")),
     "spec.workerGroupSpecs[0].resources.x: is 500m: Ray takes whole numbers"},
    {"parameters of the head", V1(GROUP("'rayStartParams':{'include-dashboard':'false','system-config':'{}'}")),
     "spec.workerGroupSpecs[0].rayStartParams.include-dashboard: is for the head alone\n"
     "spec.workerGroupSpecs[0].rayStartParams.system-config: is for the head alone"},
    {"a unit, and what it comes to", V1(GROUP("'rayStartParams':{'memory':'8Gi'}")),
     "spec.workerGroupSpecs[0].rayStartParams.memory: is \"8Gi\": ray start takes a whole number without a unit: write 8589934592"},
    {"a port of two components", V1(GROUP("'rayStartParams':{'ray-client-server-port':'8265'}")),
     "spec.workerGroupSpecs[0].rayStartParams.ray-client-server-port: is 8265, which is dashboard-port, too"},
    {"a worker's ports upside down", V1(GROUP("'rayStartParams':{'min-worker-port':'20000'}")),
     "spec.workerGroupSpecs[0].rayStartParams.min-worker-port: is 20000: max-worker-port, 19999, must be above min-worker-port, 20000"},
    {"a command of one's own",
     "{'metadata':{'name':'demo','annotations':{'ray.io/overwrite-container-cmd':'true'}},'spec':{" HEAD_WITH(
         "'rayStartParams':{'num-cpus':'500m','port':'x'}") "}}",
     "spec.headGroupSpec.rayStartParams.port: is no port"},
    {"6 labels in params", V1(GROUP("'rayStartParams':{'labels':'a=b'}")),
     "spec.workerGroupSpecs[0].rayStartParams.labels: must not be here"},
    {"6 empty labels in params", V1(GROUP("'rayStartParams':{'labels':''}")),
     "spec.workerGroupSpecs[0].rayStartParams.labels: must not be here"},
    {"6 label key", V1(GROUP("'labels':{'a b':'c'}")), "spec.workerGroupSpecs[0].labels[\"a b\"]: is no label key"},
    {"6 label value", V1(GROUP("'labels':{'a':'b c'}")), "spec.workerGroupSpecs[0].labels.a: is no label value"},
    {"8 min above max", V1(GROUP("'minReplicas':5,'maxReplicas':3")),
     "spec.workerGroupSpecs[0].minReplicas: is 5, above maxReplicas 3: lower it or raise maxReplicas"},
    {"8 negative", V1(GROUP("'replicas':-1,'minReplicas':-2,'maxReplicas':-3")),
     "spec.workerGroupSpecs[0].replicas: is -1\nspec.workerGroupSpecs[0].minReplicas: is -2\nspec.workerGroupSpecs[0].maxReplicas: is -3"},
    {"8 int32", V1(GROUP("'replicas':2147483648")), "spec.workerGroupSpecs[0].replicas: is 2147483648: must be from 0 to 2147483647"},
    {"8 int64 and more", V1(GROUP("'replicas':1e30")), "spec.workerGroupSpecs[0].replicas: is 1e30: must be a whole number"},
    {"8 fraction", V1(GROUP("'replicas':1.5")), "spec.workerGroupSpecs[0].replicas: is 1.5: must be a whole number"},
    {"8 text", V1(GROUP("'replicas':'1'")), "spec.workerGroupSpecs[0].replicas: is a string: must be a number"},
    {"9 idle, which the operator's own autoscaler goes by", V1(SCALING GROUP("'idleTimeoutSeconds':1")), NULL},
    {"9 idle without v2", SIDECAR(SCALING GROUP("'idleTimeoutSeconds':1")),
     "spec.workerGroupSpecs[0].idleTimeoutSeconds: needs autoscalerOptions.version v2"},
    {"9 idle with v2", SIDECAR(V2 GROUP("'idleTimeoutSeconds':1")), NULL},
    {"9 idle negative", V1(V2 GROUP("'idleTimeoutSeconds':-1")), "spec.workerGroupSpecs[0].idleTimeoutSeconds: is -1"},
    {"9 idle with v2 by env",
     SIDECAR(SCALING HEAD_ENV(
         "{'name':'RAY_enable_autoscaler_v2','value':'true'}") ",'workerGroupSpecs':[{'groupName':'g','idleTimeoutSeconds':"
                                                               "1,'template':" POD "}]"),
     NULL},
    {"10 priority, which the operator's own autoscaler goes by", V1(SCALING GROUP("'priority':1")), NULL},
    {"10 priority", SIDECAR(GROUP("'priority':1")),
     "spec.workerGroupSpecs[0].priority: needs autoscalerOptions.version v2\nspec.workerGroupSpecs[0].priority: needs rayVersion 2.56.0"},
    {"10 priority of an old Ray", SIDECAR(V2 "'rayVersion':'2.55.9'," GROUP("'priority':1")),
     "spec.workerGroupSpecs[0].priority: needs rayVersion 2.56.0"},
    {"10 priority as it may be", SIDECAR(V2 "'rayVersion':'2.56.0'," GROUP("'priority':1")), NULL},
    {"10 priority 0", V1(GROUP("'priority':0")), NULL},
    {"scaled by somebody else", "{'metadata':{'name':'demo','annotations':{'mobula.dev/autoscaler':'me'}},'spec':{" HEAD "}}",
     "metadata.annotations[\"mobula.dev/autoscaler\"]: is \"me\": must be one of operator, sidecar"},
    {"the old kind with a sidecar",
     "{'apiVersion':'cluster.ray.io/v1','metadata':{'name':'demo','annotations':{'mobula.dev/autoscaler':'sidecar'}},'spec':{" TYPES "}}",
     "metadata.annotations[\"mobula.dev/autoscaler\"]: is sidecar, which only knows ray.io/v1"},
    {"11 annotation and options",
     "{'metadata':{'name':'demo','annotations':{'ray.io/ft-enabled':'true','ray.io/external-storage-namespace':'x'}},'spec':{" HEAD
     ",'gcsFaultToleranceOptions':{}}}",
     FT_ANNOTATION "\n" FT_OPTIONS},
    {"11 annotation alone, as KubeRay reads it",
     "{'metadata':{'name':'demo','annotations':{'ray.io/ft-enabled':'True'}},'spec':{" HEAD "}}", FT_ANNOTATION},
    {"11 annotation that asks for nothing", "{'metadata':{'name':'demo','annotations':{'ray.io/ft-enabled':'false'}},'spec':{" HEAD "}}",
     NULL},
    {"11 null asks for nothing", V1(HEAD ",'gcsFaultToleranceOptions':null"), NULL},
    {"12 redis address", V1(HEAD_ENV("{'name':'RAY_REDIS_ADDRESS','value':'r'}")),
     "spec.headGroupSpec.template.spec.containers[0].env[0]: sets RAY_REDIS_ADDRESS: it is for GCS fault tolerance, which is not "
     "supported"},
    {"13 redis address beside options",
     V1(HEAD_ENV("{'name':'A'},{'name':'RAY_REDIS_ADDRESS'},{'name':'REDIS_PASSWORD'}") ",'gcsFaultToleranceOptions':{}"),
     "spec.headGroupSpec.template.spec.containers[0].env[1]: sets RAY_REDIS\nspec.headGroupSpec.template.spec.containers[0].env[2]: "
     "sets REDIS_PASSWORD\n" FT_OPTIONS},
    {"13 password", V1(HEAD_WITH("'rayStartParams':{'redis-password':'x'}") ",'gcsFaultToleranceOptions':{}"),
     "spec.headGroupSpec.rayStartParams.redis-password: \n" FT_OPTIONS},
    {"14 user name", V1(HEAD_WITH("'rayStartParams':{'redis-username':'x'}")), "spec.headGroupSpec.rayStartParams.redis-username: "},
    {"14 user name by env", V1(HEAD_ENV("{'name':'REDIS_USERNAME','value':'x'}")),
     "spec.headGroupSpec.template.spec.containers[0].env[0]: sets REDIS_USERNAME"},
    {"15 rocksdb", V1(HEAD ",'gcsFaultToleranceOptions':{'backend':'rocksdb','storage':{}}"),
     "spec.gcsFaultToleranceOptions.backend: is rocksdb, which is not supported yet"},
    {"16 redis", V1(HEAD ",'gcsFaultToleranceOptions':{'redisAddress':'r:6379','redisPassword':{'value':'x'}}"), FT_OPTIONS},
    {"16 redis by name", V1(HEAD ",'gcsFaultToleranceOptions':{'backend':'redis'}"),
     "spec.gcsFaultToleranceOptions.backend: is redis, which is not supported yet"},
    {"17 suspended group", V1(SCALING GROUP("'suspend':true")), "spec.workerGroupSpecs[0].suspend: is true"},
    {"18 v2 by env, no scaling", V1(HEAD_ENV("{'name':'RAY_enable_autoscaler_v2','value':'1'}")),
     "spec.headGroupSpec.template.spec.containers[0].env[0]: sets RAY_enable"},
    {"19 v2 twice", V1(V2 HEAD_ENV("{'name':'RAY_enable_autoscaler_v2','value':'1'}")),
     "spec.headGroupSpec.template.spec.containers[0].env[0]: sets RAY_enable"},
    {"20 restartPolicy", V1(V2 TEMPLATE("{'spec':{'restartPolicy':'Always','containers':[{'name':'r','image':'i'}]}}")),
     "spec.workerGroupSpecs[0].template.spec.restartPolicy: must be Never"},
    {"20 restartPolicy with v1", V1(SCALING TEMPLATE("{'spec':{'restartPolicy':'Always','containers':[{'name':'r','image':'i'}]}}")), NULL},
    {"21 idle", V1(HEAD ",'autoscalerOptions':{'idleTimeoutSeconds':-1,'version':'v3','upscalingMode':'Fast'}"),
     "spec.autoscalerOptions.version: is \"v3\": must be one of v1, v2\nspec.autoscalerOptions.upscalingMode: is "
     "\"Fast\"\nspec.autoscalerOptions.idleTimeoutSeconds: is -1"},
    {"21 env", V1(HEAD ",'autoscalerOptions':{'env':[{'name':'KUBERAY_GEN_AUTOSCALER_START_CMD'}]}"),
     "spec.autoscalerOptions.env: must not set"},
    {"23 token", V1(HEAD ",'rayVersion':'2.52.0','authOptions':{'mode':'token'}"), NULL},
    {"23 token, a Secret of the user's", V1(HEAD ",'rayVersion':'3.0','authOptions':{'mode':'token','secretName':'s.a-1'}"), NULL},
    {"23 token, one too old", V1(HEAD ",'rayVersion':'2.51.9','authOptions':{'mode':'token'}"),
     "spec.rayVersion: is 2.51.9: token authentication needs Ray 2.52.0"},
    {"23 token, no version", V1(HEAD ",'authOptions':{'mode':'token'}"), "spec.rayVersion: is not given: token authentication needs"},
    {"23 token, no such version", V1(HEAD ",'rayVersion':'nightly','authOptions':{'mode':'token'}"),
     "spec.rayVersion: is \"nightly\", which is no version"},
    {"23 no mode is token", V1(HEAD ",'rayVersion':'2.51.0','authOptions':{}"), "spec.rayVersion: is 2.51.0: token authentication"},
    {"23 null is no mode", V1(HEAD ",'rayVersion':'2.51.0','authOptions':{'mode':null}"), "spec.rayVersion: is 2.51.0: token"},
    {"23 disabled", V1(HEAD ",'authOptions':{'mode':'disabled'}"), NULL},
    {"23 another mode", V1(HEAD ",'authOptions':{'mode':'basic'}"), "spec.authOptions.mode: is \"basic\": must be one of"},
    {"23 wrong types", V1(HEAD ",'rayVersion':'2.60.0','authOptions':{'secretName':1,'enableK8sTokenAuth':'x'}"),
     "spec.authOptions.secretName: is a number\nspec.authOptions.enableK8sTokenAuth: is a string"},
    {"23 no name of a Secret", V1(HEAD ",'rayVersion':'2.60.0','authOptions':{'secretName':'a/../b'}"),
     "spec.authOptions.secretName: is no name of a Secret"},
    {"23 tokens of service accounts", V1(HEAD ",'rayVersion':'2.55.0','authOptions':{'mode':'token','enableK8sTokenAuth':true}"),
     "spec.authOptions.enableK8sTokenAuth: is true, which is not supported"},
    {"23 tokens of service accounts, too old and beside a Secret",
     V1(HEAD ",'rayVersion':'2.54.1','authOptions':{'mode':'token','enableK8sTokenAuth':true,'secretName':'s'}"),
     "spec.authOptions.enableK8sTokenAuth: is true\nspec.rayVersion: is 2.54.1: enableK8sTokenAuth needs Ray 2.55.0\n"
     "spec.authOptions.secretName: excludes enableK8sTokenAuth"},
    {"23 no tokens of service accounts", V1(HEAD ",'rayVersion':'2.52.0','authOptions':{'enableK8sTokenAuth':false}"), NULL},
    {"24 networkPolicy", V1(HEAD ",'networkPolicy':{}"), "spec.networkPolicy: is not supported yet"},
    {"25 tls", V1(HEAD ",'tlsOptions':{'enabled':true}"), NULL},
    {"25 tls of a wrong type", V1(HEAD ",'tlsOptions':{'enabled':'x'}"), "spec.tlsOptions.enabled: is a string"},
    {"25 own variables and mounts of tls",
     V1("'headGroupSpec':{'template':{'spec':{'containers':[{'name':'ray','image':'i','env':[{'name':'RAY_TLS_CA_CERT','value':'/x'}],"
        "'volumeMounts':[{'name':'mine','mountPath':'/etc/ray/tls'}]}]}}},'workerGroupSpecs':[{'groupName':'g','template':{'spec':{"
        "'containers':[{'name':'ray','image':'i','env':[{'name':'RAY_USE_TLS','value':'0'}]}]}}}],'tlsOptions':{'enabled':true},"
        "'autoscalerOptions':{'env':[{'name':'RAY_TLS_SERVER_KEY','value':'k'}],'volumeMounts':[{'name':'ray-tls','mountPath':'/x'}]}"),
     "spec.headGroupSpec.template.spec.containers[0].env: sets RAY_TLS_CA_CERT: with tlsOptions the operator sets it\n"
     "spec.headGroupSpec.template.spec.containers[0].volumeMounts: has ray-tls or /etc/ray/tls\n"
     "spec.workerGroupSpecs[0].template.spec.containers[0].env: sets RAY_USE_TLS\n"
     "spec.autoscalerOptions.env: sets RAY_TLS_SERVER_KEY\nspec.autoscalerOptions.volumeMounts: has ray-tls"},
    {"25 a volume of a name that tlsOptions uses",
     V1("'headGroupSpec':{'template':{'spec':{'volumes':[{'name':'ray-ca'}],'containers':[{'name':'ray','image':'i'}]}}},"
        "'tlsOptions':{'enabled':true}"),
     "spec.headGroupSpec.template.spec.volumes: has ray-tls or ray-ca: with tlsOptions the operator makes it"},
    {"25 own variables without tlsOptions", V1(HEAD_ENV("{'name':'RAY_USE_TLS','value':'1'}")), NULL},
    {"25 tls off", V1(HEAD ",'tlsOptions':{'enabled':false}"), NULL},
    {"carried",
     V1(HEAD ",'historyServerOptions':{'collectorOptions':{}},'headServiceAnnotations':{'a':'b'},'managedBy':'ray.io/kuberay-operator'"),
     NULL},
    {"group names",
     V1(HEAD ",'workerGroupSpecs':[{'groupName':'a b','template':" POD "},{'groupName':'headgroup','template':" POD
             "},{'groupName':'g','template':" POD "},{'groupName':'g','template':" POD "},{'groupName':'','template':" POD "}]"),
     "spec.workerGroupSpecs[0].groupName: is \"a b\"\nspec.workerGroupSpecs[1].groupName: is "
     "headgroup\nspec.workerGroupSpecs[3].groupName: is \"g\", as that of workerGroupSpecs[2]\n"
     "spec.workerGroupSpecs[4].groupName: is \"\""},
    {"hosts", V1(GROUP("'numOfHosts':0")), "spec.workerGroupSpecs[0].numOfHosts: is 0: must be from 1 to 1024"},
    {"hosts at the limit", V1(GROUP("'numOfHosts':1024")), NULL},
    {"hosts one past it", V1(GROUP("'numOfHosts':1025")), "spec.workerGroupSpecs[0].numOfHosts: is 1025"},
    {"pods at the limit", V1(GROUP("'replicas':33333,'numOfHosts':3")), NULL},
    {"pods one past it", V1(GROUP("'replicas':100000")), "spec: asks for 100001 pods, head and workers: at most 100000"},
    {"pods beyond int32", V1(GROUP("'replicas':2147483647,'numOfHosts':1024")), "spec: asks for 2199023254529 pods"},
    {"params", V1(HEAD_WITH("'rayStartParams':{'a b':'1','--x':'1','':'1','port':'6379;','block':true}")),
     "spec.headGroupSpec.rayStartParams.block: is true or false, as y, yes, on, n, no and off are in YAML 1.1: must be a string, put it in "
     "quotes"},
    {"param names", V1(HEAD_WITH("'rayStartParams':{'a b':'1','--x':'1','':'1','port':'6379;','dashboard-port':'0'}")),
     "spec.headGroupSpec.rayStartParams[\"a b\"]: is no flag\nspec.headGroupSpec.rayStartParams.--x: is no "
     "flag\nspec.headGroupSpec.rayStartParams[\"\"]: is no flag\n"
     "spec.headGroupSpec.rayStartParams.port: is no port\nspec.headGroupSpec.rayStartParams.dashboard-port: is no port"},
    {"resources", V1(GROUP("'resources':{'a':'x','':'1','b':'-1'}")),
     "spec.workerGroupSpecs[0].resources.a: is no amount\nspec.workerGroupSpecs[0].resources[\"\"]: is a "
     "resource\nspec.workerGroupSpecs[0].resources.b: is no amount"},
    {"service type", V1(HEAD_WITH("'serviceType':'ExternalName'")),
     "spec.headGroupSpec.serviceType: is \"ExternalName\": must be one of \"\", ClusterIP"},
    {"head service that is called like the headless one",
     V1("'headGroupSpec':{'template':" POD ",'headService':{'metadata':{'name':'demo-headless'}}},'workerGroupSpecs':[{'groupName':'g',"
        "'numOfHosts':2,'template':" POD "}]"),
     "spec.headGroupSpec.headService.metadata.name: is the name of another service of this cluster"},
    {"the same where no group has several hosts", V1(HEAD_WITH("'headService':{'metadata':{'name':'demo-headless'}}")), NULL},
    {"head service that is called like the serve service",
     "{'apiVersion':'ray.io/"
     "v1','kind':'RayCluster','metadata':{'name':'demo','namespace':'n','uid':'u','annotations':{'" RAY_ANNOTATION_SERVE
     "':'true'}},'spec':{" HEAD_WITH("'headService':{'metadata':{'name':'demo-serve-svc'}}") "}}",
     "spec.headGroupSpec.headService.metadata.name: is the name of another service of this cluster"},
    {"head service", V1(HEAD_WITH("'headService':{'metadata':{'name':'A'},'spec':{'ports':[{'port':0},{'name':'x'},1]}}")),
     "spec.headGroupSpec.headService.metadata.name: is no name\nspec.headGroupSpec.headService.spec.ports[0].name: is "
     "missing\nspec.headGroupSpec.headService.spec.ports[0].port: is 0\n"
     "spec.headGroupSpec.headService.spec.ports[1].port: is missing\nspec.headGroupSpec.headService.spec.ports[2]: is a number"},
    {"container",
     V1(CONTAINER("'env':[{},{'name':''},{'name':'a','value':1}],'ports':[{'containerPort':65536,'protocol':'X'},{}],'volumeMounts':[{'"
                  "name':'x'}],'command':'x','args':[1]")),
     "spec.workerGroupSpecs[0].template.spec.containers[0].env[0].name: is "
     "missing\nspec.workerGroupSpecs[0].template.spec.containers[0].env[1].name: is empty\n"
     "spec.workerGroupSpecs[0].template.spec.containers[0].env[2].value: is a "
     "number\nspec.workerGroupSpecs[0].template.spec.containers[0].ports[0].containerPort: is 65536\n"
     "spec.workerGroupSpecs[0].template.spec.containers[0].ports[0].protocol: is "
     "\"X\"\nspec.workerGroupSpecs[0].template.spec.containers[0].ports[1].containerPort: is missing\n"
     "spec.workerGroupSpecs[0].template.spec.containers[0].volumeMounts[0].mountPath: is "
     "missing\nspec.workerGroupSpecs[0].template.spec.containers[0].command: is a string\n"
     "spec.workerGroupSpecs[0].template.spec.containers[0].args[0]: is a number"},
    {"no image", V1("'headGroupSpec':{'template':{'spec':{'containers':[{'name':'r'}]}}}"),
     "spec.headGroupSpec.template.spec.containers[0].image: is missing"},
    {"amounts", V1(CONTAINER("'resources':{'limits':{'cpu':1,'memory':1.5e9,'x':'1Q'},'requests':3}")),
     "spec.workerGroupSpecs[0].template.spec.containers[0].resources.limits.x: is no "
     "amount\nspec.workerGroupSpecs[0].template.spec.containers[0].resources.requests: is a number"},
    {"our volume",
     V1(TEMPLATE("{'metadata':{'labels':{'a':1}},'spec':{'volumes':[{'name':'mobula-tools'}],'initContainers':{},'containers':[{'name':'r',"
                 "'image':'i'},2]}}")),
     "spec.workerGroupSpecs[0].template.metadata.labels.a: is a number\nspec.workerGroupSpecs[0].template.spec.containers[1]: is a number\n"
     "spec.workerGroupSpecs[0].template.spec.initContainers: is an object\nspec.workerGroupSpecs[0].template.spec.volumes[0].name: is "
     "mobula-tools"},
    {"legacy smallest", LEGACY(TYPES), NULL},
    {"legacy by its fields", "{'metadata':{'name':'demo'},'spec':{" TYPES "}}", NULL},
    {"legacy name of 54",
     "{'apiVersion':'cluster.ray.io/v1','metadata':{'name':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzab'},'spec':{" TYPES "}}",
     NULL},
    {"legacy name of 55",
     "{'apiVersion':'cluster.ray.io/v1','metadata':{'name':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabc'},'spec':{" TYPES "}}",
     "metadata.name: has 55 bytes: at most 54"},
    {"legacy empty", LEGACY(""), "spec.headPodType: is missing\nspec.podTypes: is missing"},
    {"legacy head type", LEGACY("'headPodType':'x','podTypes':[]"), "spec.headPodType: is \"x\": must be the name of one of podTypes"},
    {"legacy two of a name", LEGACY("'headPodType':'h','podTypes':[{'name':'h','podConfig':" POD "},{'name':'h','podConfig':" POD "}]"),
     "spec.podTypes[1].name: is \"h\", as that of podTypes[0]"},
    {"legacy type", LEGACY(TYPE("'minWorkers':2,'maxWorkers':1,'rayResources':{'a':'1','b':-1,'':1},'setupCommands':'x'")),
     "spec.podTypes[1].minWorkers: is 2, above maxWorkers 1\nspec.podTypes[1].rayResources.a: must be a "
     "number\nspec.podTypes[1].rayResources.b: must be a number\n"
     "spec.podTypes[1].rayResources[\"\"]: is a resource\nspec.podTypes[1].setupCommands: is a string"},
    {"legacy more than maxWorkers", LEGACY("'maxWorkers':0," TYPES),
     "spec.podTypes[1].minWorkers: is 1, above maxWorkers 0: lower it or raise maxWorkers of the cluster\nspec.maxWorkers: is 0, below the "
     "sum of minWorkers, 1"},
    {"legacy more than the default", LEGACY(TYPE("'minWorkers':3,'maxWorkers':3")),
     "spec.maxWorkers: is 2 when not set, below the sum of minWorkers, 3"},
    {"legacy head numbers do not matter",
     LEGACY("'headPodType':'h','podTypes':[{'name':'h','minWorkers':9,'maxWorkers':0,'podConfig':" POD "}]"), NULL},
    {"legacy numbers", LEGACY("'maxWorkers':-1,'idleTimeoutMinutes':1.5,'upscalingSpeed':-1," TYPES),
     "spec.maxWorkers: is -1\nspec.idleTimeoutMinutes: is 1.5\nspec.upscalingSpeed: must be a number"},
    {"legacy ports",
     LEGACY(TYPES ",'headServicePorts':[{'name':'A','port':1,'targetPort':1},{'name':'b','port':0,'targetPort':'x'},{'name':'c','port':"
                  "6379,'targetPort':1},{'name':'gcs-server','port':5,'targetPort':5},{}]"),
     "spec.headServicePorts[0].name: is no name\nspec.headServicePorts[1].port: is 0\nspec.headServicePorts[2]: must lead from 6379 to "
     "6379\nspec.headServicePorts[3]: must lead\n"
     "spec.headServicePorts[4].name: is missing\nspec.headServicePorts[4].port: is missing\nspec.headServicePorts[4].targetPort: is "
     "missing"},
    {"legacy port", LEGACY(TYPES ",'headStartRayCommands':['ray start --head --port=70000']"),
     "spec.headStartRayCommands: has a --port that is no number"},
    {"legacy password", LEGACY(TYPES ",'headStartRayCommands':['x','ray start --head --redis-password=1']"),
     "spec.headStartRayCommands[1]: sets redis-password"},
    {"legacy GPUs",
     LEGACY("'headPodType':'h','podTypes':[{'name':'h','podConfig':{'spec':{'containers':[{'name':'r','image':'i','resources':{'limits':{'"
            "nvidia.com/gpu':1,'amd.com/GPU':1}}}]}}}]"),
     "spec.podTypes[0].podConfig.spec.containers[0].resources: names more than one kind of GPU"},
    {"legacy generateName",
     LEGACY("'headPodType':'h','podTypes':[{'name':'h','podConfig':{'metadata':{'generateName':'A_'},'spec':{'containers':[{'name':'r','"
            "image':'i'}]}}}]"),
     "spec.podTypes[0].podConfig.metadata.generateName: is \"A_\""},
};

static struct slice with_quotes(const char *text, struct arena *a)
{
    struct slice s = arena_dup(a, slice_of(text));
    char *p = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++)
        p[i] = s.ptr[i] == '\'' ? '"' : s.ptr[i];
    return (struct slice){p, s.len};
}

static void check_error(const struct spec_error *e, struct slice want, size_t document, struct arena *a)
{
    struct slice got = arena_printf(a, "%.*s: %.*s", SLICE_ARG(e->path), SLICE_ARG(e->text));
    if (!CHECK(slice_starts(got, want)))
        printf("  got  %.*s\n  want %.*s\n", SLICE_ARG(got), SLICE_ARG(want));
    CHECK(e->offset < document);
}

static void check(const char *id, const char *text, const char *want)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    struct ray_cluster c;
    struct spec_errors errors = {0};
    test_case("%s", id);
    if (!CHECK(json_parse(&doc, guarded(with_quotes(text, &a)), &a, &e)))
        printf("  %s\n", e.text);
    CHECK_INT(ray_read(json_root(&doc), &a, &c, &errors), want == NULL);
    struct slice rest = slice_of(want);
    for (uint32_t i = 0; i < errors.count; i++)
        check_error(&errors.list[i], slice_cut(&rest, '\n'), doc.text.len, &a);
    CHECK_STR(rest, "");
    arena_free(&a);
}

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check(cases[i].id, cases[i].json, cases[i].errors);
    return test_done();
}
