/* RayJobs: what the reader says of them, and what is made of them. */
#include "../spec/errors.h"

#include <mobula/ray.h>

/* In short, with single quotes for the reader's sake. */
#define POD "{'spec':{'containers':[{'name':'r','image':'i'}]}}"
#define CLUSTER "'rayClusterSpec':{'headGroupSpec':{'template':" POD "}}"
#define RUN "'entrypoint':'python x.py'," CLUSTER
#define SELECTED "'entrypoint':'python x.py','clusterSelector':{'ray.io/cluster':'c'}"
#define JOB(spec) "{'apiVersion':'ray.io/v1','kind':'RayJob','metadata':{'name':'demo','namespace':'n','uid':'u'},'spec':{" spec "}}"
#define RULE(policy, when, ttl) "{'policy':'" policy "','condition':{" when ",'ttlSeconds':" ttl "}}"
#define RULES(list) JOB(RUN ",'deletionStrategy':{'deletionRules':[" list "]}")
#define OK_ "'jobStatus':'SUCCEEDED'"
#define BAD_ "'jobStatus':'FAILED'"
#define GIVEN_UP_ "'jobDeploymentStatus':'Failed'"

/* errors: one a line, in order: the path and how the text begins; NULL: none. */
static const struct {
    const char *id, *json, *errors;
} cases[] = {
    {"smallest", JOB(RUN), NULL},
    {"null is nothing", JOB(RUN ",'clusterSelector':null,'metadata':null,'runtimeEnvYAML':null,'deletionStrategy':null,'suspend':null"),
     NULL},
    {"not an object", "3", ": the resource is not an object"},
    {"another version", "{'apiVersion':'ray.io/v1alpha1','metadata':{'name':'demo'},'spec':{" RUN "}}", "apiVersion: is ray.io/v1alpha1"},
    {"another kind", "{'kind':'RayCluster','metadata':{'name':'demo'},'spec':{" RUN "}}", "kind: is RayCluster: must be RayJob"},
    {"no metadata", "{'spec':{" RUN "}}", "metadata: is missing"},
    {"no spec", "{'metadata':{'name':'demo'}}", "spec: is missing"},
    {"26 name of 47", "{'metadata':{'name':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstu'},'spec':{" RUN "}}", NULL},
    {"26 name of 48", "{'metadata':{'name':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv'},'spec':{" RUN "}}",
     "metadata.name: has 48 bytes: at most 47"},
    {"26 generateName of 42", "{'metadata':{'generateName':'abcdefghijklmnopqrstuvwxyzabcdefghijklmno-'},'spec':{" RUN "}}", NULL},
    {"26 generateName of 43", "{'metadata':{'generateName':'abcdefghijklmnopqrstuvwxyzabcdefghijklmnop-'},'spec':{" RUN "}}",
     "metadata.generateName: has 48 bytes with the five that are added: at most 47"},
    {"26 name with a digit first", "{'metadata':{'name':'1a'},'spec':{" RUN "}}", "metadata.name: is \"1a\""},
    {"27 suspend", JOB(RUN ",'suspend':true"), "spec.suspend: needs shutdownAfterJobFinishes"},
    {"27 suspend with shutdown", JOB(RUN ",'suspend':true,'shutdownAfterJobFinishes':true"), NULL},
    {"27 suspend with a selector", JOB(SELECTED ",'suspend':true,'shutdownAfterJobFinishes':true"),
     "spec.suspend: is true, which deletes the cluster"},
    {"28 ttl", JOB(RUN ",'ttlSecondsAfterFinished':1"), "spec.ttlSecondsAfterFinished: needs shutdownAfterJobFinishes"},
    {"28 ttl below 0", JOB(RUN ",'ttlSecondsAfterFinished':-1,'shutdownAfterJobFinishes':true"), "spec.ttlSecondsAfterFinished: is -1"},
    {"runtime environment with variables that are no texts",
     JOB(RUN ",'runtimeEnvYAML':'env_vars: {A: 1, B: true, C: x, D: !!str 1, E: null}'"),
     "spec.runtimeEnvYAML: env_vars.A is a number: Ray takes strings\nspec.runtimeEnvYAML: env_vars.B is true or false\n"
     "spec.runtimeEnvYAML: env_vars.E is null"},
    {"a working_dir that Ray refuses by its ending", JOB(RUN ",'runtimeEnvYAML':'{working_dir: https://h/main}'"),
     "spec.runtimeEnvYAML: working_dir: \"https://h/main\" does not end with .zip"},
    {"a working_dir that Ray refuses by its scheme", JOB(RUN ",'runtimeEnvYAML':'{working_dir: ftp://h/a.zip}'"),
     "spec.runtimeEnvYAML: working_dir: \"ftp://h/a.zip\" is of a scheme"},
    {"a working_dir in the image", JOB(RUN ",'runtimeEnvYAML':'{working_dir: local:///app}'"), NULL},
    {"an archive in the image", JOB(RUN ",'runtimeEnvYAML':'{working_dir: local:///app.zip}'"), "spec.runtimeEnvYAML: working_dir: "},
    {"a package with a query", JOB(RUN ",'runtimeEnvYAML':'{working_dir: HTTPS://h/a.tgz?x=1#y, py_modules: [s3://b/a.whl]}'"), NULL},
    {"modules that are none", JOB(RUN ",'runtimeEnvYAML':'{py_modules: [1, s3://b/a.jar], pip: [a], conda: b}'"),
     "spec.runtimeEnvYAML: py_modules is a number\nspec.runtimeEnvYAML: py_modules: \"s3://b/a.jar\" does not end with .whl, .zip\n"
     "spec.runtimeEnvYAML: has pip and conda"},
    {"runtime environment of wrong types", JOB(RUN ",'runtimeEnvYAML':'{env_vars: [a], working_dir: 1}'"),
     "spec.runtimeEnvYAML: env_vars is an array\nspec.runtimeEnvYAML: working_dir is a number"},
    {"29 no cluster", JOB("'entrypoint':'x'"), "spec.rayClusterSpec: is missing: describe a cluster here, or name one"},
    {"29 selector", JOB(SELECTED), NULL},
    {"29 selector without the key", JOB("'entrypoint':'x','clusterSelector':{'a':'b'}"),
     "spec.clusterSelector[\"ray.io/cluster\"]: is missing"},
    {"29 selector that names none", JOB("'entrypoint':'x','clusterSelector':{'ray.io/cluster':''}"),
     "spec.clusterSelector[\"ray.io/cluster\"]: is \"\": must be the name"},
    {"29 both", JOB(SELECTED "," CLUSTER), NULL},
    {"29 empty selector and a cluster", JOB(RUN ",'clusterSelector':{}"), NULL},
    {"29 selector with SidecarMode and retries", JOB(SELECTED ",'submissionMode':'SidecarMode','backoffLimit':1"),
     "spec.submissionMode: is SidecarMode, which needs\nspec.backoffLimit: must be 0 with clusterSelector"},
    {"30 interactive with retries", JOB(CLUSTER ",'submissionMode':'InteractiveMode','backoffLimit':1"),
     "spec.backoffLimit: must be 0 with InteractiveMode"},
    {"30 interactive without an entrypoint", JOB(CLUSTER ",'submissionMode':'InteractiveMode'"), NULL},
    {"31 sidecar", JOB(RUN ",'submissionMode':'SidecarMode','submitterPodTemplate':" POD ",'submitterConfig':{}"),
     "spec.submitterPodTemplate: is not for SidecarMode\nspec.submitterConfig: is not for SidecarMode"},
    {"31 sidecar and a head that starts again",
     JOB("'entrypoint':'x','submissionMode':'SidecarMode','rayClusterSpec':{'headGroupSpec':{'template':{'spec':{'restartPolicy':'Always',"
         "'containers':[{'name':'r','image':'i'}]}}}}"),
     "spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy: must be Never"},
    {"another mode", JOB(RUN ",'submissionMode':'Batch'"), "spec.submissionMode: is \"Batch\": must be one of K8sJobMode"},
    {"no entrypoint", JOB(CLUSTER), "spec.entrypoint: is missing"},
    {"blank entrypoint", JOB("'entrypoint':' '," CLUSTER), "spec.entrypoint: is missing"},
    {"a submitter of one's own needs none",
     JOB(CLUSTER ",'submitterPodTemplate':{'spec':{'containers':[{'name':'s','image':'i','command':['my']}]}}"), NULL},
    {"a submitter without containers", JOB(RUN ",'submitterPodTemplate':{'spec':{'containers':[]}}"),
     "spec.submitterPodTemplate.spec.containers: is empty"},
    {"32 the cluster's errors by their path",
     JOB("'entrypoint':'x','rayClusterSpec':{'headGroupSpec':{'template':" POD "},'workerGroupSpecs':[{'groupName':'g','minReplicas':2,"
         "'maxReplicas':1,'template':" POD "}]}"),
     "spec.rayClusterSpec.workerGroupSpecs[0].minReplicas: is 2, above maxReplicas 1"},
    {"3 upgradeStrategy", JOB("'entrypoint':'x','rayClusterSpec':{'upgradeStrategy':{'type':'None'},'headGroupSpec':{'template':" POD "}}"),
     "spec.rayClusterSpec.upgradeStrategy.type: must not be set"},
    {"33 runtime env", JOB(RUN ",'runtimeEnvYAML':'pip: [a]\\nenv_vars: {A: \\\"1\\\"}'"), NULL},
    {"33 runtime env of JSON", JOB(RUN ",'runtimeEnvYAML':'\\n{\\\"pip\\\": []}\\n'"), NULL},
    {"33 runtime env with anchors, and variables called N and 007",
     JOB(RUN ",'runtimeEnvYAML':'a: &x {A: \\\"1\\\"}\\nenv_vars: {<<: *x, N: \\\"3\\\", 007: y}'"), NULL},
    {"33 runtime env of comments", JOB(RUN ",'runtimeEnvYAML':'# nothing'"), NULL},
    {"33 runtime env that is no YAML", JOB(RUN ",'runtimeEnvYAML':'a: [1'"), "spec.runtimeEnvYAML: cannot be read: line 2"},
    {"33 runtime env that is a list", JOB(RUN ",'runtimeEnvYAML':'[1]'"), "spec.runtimeEnvYAML: is no object"},
    {"33 two runtime envs", JOB(RUN ",'runtimeEnvYAML':'a: 1\\n---\\nb: 2'"), "spec.runtimeEnvYAML: holds 2 YAML documents"},
    {"33 deadlines and retries", JOB(RUN ",'activeDeadlineSeconds':0,'preRunningDeadlineSeconds':0,'backoffLimit':-1"),
     "spec.backoffLimit: is -1\nspec.activeDeadlineSeconds: is 0\nspec.preRunningDeadlineSeconds: is 0"},
    {"resources", JOB(RUN ",'entrypointResources':'{\\\"a\\\": 1.5}','entrypointNumCpus':0.5,'entrypointNumGpus':1"), NULL},
    {"resources that are none", JOB(RUN ",'entrypointResources':'{\\\"a\\\": \\\"1\\\"}','entrypointNumCpus':-1,'entrypointNumGpus':'1'"),
     "spec.entrypointNumCpus: is below 0\nspec.entrypointNumGpus: must be a number\nspec.entrypointResources: must be a JSON object"},
    {"negative resources", JOB(RUN ",'entrypointResources':'{\\\"a\\\": -1}'"),
     "spec.entrypointResources: must be a JSON object of amounts"},
    {"job id", JOB(RUN ",'jobId':'raysubmit_a.b-1'"), NULL},
    {"job id that is a path", JOB(RUN ",'jobId':'../x'"), "spec.jobId: is no job id"},
    {"job id with a space", JOB(RUN ",'jobId':'a b'"), "spec.jobId: is no job id"},
    {"34 an empty strategy", JOB(RUN ",'deletionStrategy':{}"), "spec.deletionStrategy: says nothing"},
    {"34 no rules", RULES(""), "spec.deletionStrategy.deletionRules: has 0 rules"},
    {"34 rules and shutdown",
     JOB(RUN ",'shutdownAfterJobFinishes':true,'deletionStrategy':{'deletionRules':[" RULE("DeleteSelf", OK_, "0") "]}"),
     "spec.deletionStrategy.deletionRules: and shutdownAfterJobFinishes exclude"},
    {"34 rules and onSuccess",
     JOB(RUN ",'deletionStrategy':{'onSuccess':{'policy':'DeleteSelf'},'deletionRules':[" RULE("DeleteSelf", OK_, "0") "]}"),
     "spec.deletionStrategy.deletionRules: and onSuccess or onFailure exclude"},
    {"35 one condition", RULES(RULE("DeleteSelf", OK_ "," GIVEN_UP_, "0")),
     "spec.deletionStrategy.deletionRules[0].condition: must have one"},
    {"35 no condition", RULES("{'policy':'DeleteSelf','condition':{}}"), "spec.deletionStrategy.deletionRules[0].condition: must have one"},
    {"35 no policy", RULES("{'condition':{" OK_ "}}"), "spec.deletionStrategy.deletionRules[0].policy: is missing"},
    {"35 ttl", RULES(RULE("DeleteSelf", OK_, "-1")), "spec.deletionStrategy.deletionRules[0].condition.ttlSeconds: is -1"},
    {"35 the same twice", RULES(RULE("DeleteSelf", OK_, "0") "," RULE("DeleteSelf", OK_, "1")),
     "spec.deletionStrategy.deletionRules[1]: has the condition and policy of an earlier rule"},
    {"35 in the order of what they delete",
     RULES(RULE("DeleteSelf", OK_, "9") "," RULE("DeleteWorkers", OK_, "1") "," RULE("DeleteCluster", OK_, "1") "," RULE("DeleteNone", OK_,
                                                                                                                         "99")),
     NULL},
    {"35 the whole before a part", RULES(RULE("DeleteSelf", BAD_, "1") "," RULE("DeleteCluster", BAD_, "2")),
     "spec.deletionStrategy.deletionRules[1]: DeleteCluster comes after 2 s and DeleteSelf after 1 s"},
    {"35 other conditions are not compared", RULES(RULE("DeleteSelf", BAD_, "1") "," RULE("DeleteCluster", GIVEN_UP_, "2")), NULL},
    {"35 a selected cluster stays",
     JOB(SELECTED ",'deletionStrategy':{'deletionRules':[" RULE("DeleteCluster", OK_, "0") "," RULE("DeleteSelf", OK_, "1") "]}"),
     "spec.deletionStrategy.deletionRules[0].policy: is DeleteCluster: a cluster that clusterSelector names"},
    {"35 workers of the autoscaler",
     JOB("'entrypoint':'x','rayClusterSpec':{'enableInTreeAutoscaling':true,'headGroupSpec':{'template':" POD
         "}},'deletionStrategy':{'deletionRules':[" RULE("DeleteWorkers", OK_, "0") "]}"),
     "spec.deletionStrategy.deletionRules[0].policy: is DeleteWorkers: not possible"},
    {"36 the older spelling", JOB(RUN ",'deletionStrategy':{'onSuccess':{'policy':'DeleteSelf'},'onFailure':{'policy':'DeleteNone'}}"),
     NULL},
    {"36 half of it", JOB(RUN ",'deletionStrategy':{'onSuccess':{'policy':'DeleteSelf'}}"), "spec.deletionStrategy.onFailure: is missing"},
    {"36 nothing and shutdown",
     JOB(RUN
         ",'shutdownAfterJobFinishes':true,'deletionStrategy':{'onSuccess':{'policy':'DeleteSelf'},'onFailure':{'policy':'DeleteNone'}}"),
     "spec.deletionStrategy.onFailure.policy: is DeleteNone, and shutdownAfterJobFinishes"},
    {"all at once", JOB("'entrypoint':1,'metadata':[],'clusterSelector':3,'shutdownAfterJobFinishes':'yes'"),
     "spec.entrypoint: is a number\nspec.metadata: is an array\nspec.entrypoint: is missing\nspec.shutdownAfterJobFinishes: is a string\n"
     "spec.clusterSelector: is a number\nspec.rayClusterSpec: is missing"},
};

static void test_errors(struct arena *a)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].id);
        struct ray_job job;
        struct spec_errors errors = {0};
        bool ok = ray_read_job(parse_quoted(cases[i].json, a), a, &job, &errors);
        CHECK_INT(ok, cases[i].errors == NULL);
        check_spec_errors(&errors, cases[i].errors, a);
        arena_reset(a, MIB);
    }
}

/* At the limit all are read, one past it none is; that they are all the same is another complaint. */
static void test_rules_limit(struct arena *a)
{
    for (int n = LIMIT_RAY_RULES; n <= LIMIT_RAY_RULES + 1; n++) {
        test_case("%d rules", n);
        struct buf b;
        buf_init(&b, MIB);
        buf_put(&b, SLICE("{'metadata':{'name':'demo'},'spec':{" RUN ",'deletionStrategy':{'deletionRules':["));
        for (int i = 0; i < n; i++)
            buf_printf(&b, "%s{'policy':'DeleteNone','condition':{'jobStatus':'SUCCEEDED'}}", i ? "," : "");
        buf_put(&b, SLICE("]}}}"));
        struct ray_job job;
        struct spec_errors errors = {0};
        ray_read_job(parse_quoted(arena_dup(a, buf_slice(&b)).ptr, a), a, &job, &errors);
        bool named = errors.count == 1 && slice_starts(errors.list[0].text, SLICE("has 17 rules: must have 1 to 16 (LIMIT_RAY_RULES)"));
        CHECK_INT(named, n > LIMIT_RAY_RULES);
        CHECK_INT(job.rule_count, n > LIMIT_RAY_RULES ? 0 : n);
        buf_free(&b);
    }
}

/* What comes after the end, as rules: bits of ends, what, when. */
static void test_rules(struct arena *a)
{
    static const struct {
        const char *id, *json, *rules;
    } all[] = {
        {"none", JOB(RUN), ""},
        {"shutdown", JOB(RUN ",'shutdownAfterJobFinishes':true,'ttlSecondsAfterFinished':7"), "1 2 7;"},
        {"shutdown of what is not ours", JOB(SELECTED ",'shutdownAfterJobFinishes':true"), ""},
        {"the older spelling",
         JOB(RUN ",'shutdownAfterJobFinishes':true,'ttlSecondsAfterFinished':7,'deletionStrategy':{'onSuccess':{'policy':'DeleteSelf'},"
                 "'onFailure':{'policy':'DeleteWorkers'}}"),
         "2 3 7;12 1 7;"},
        {"rules", RULES(RULE("DeleteWorkers", BAD_, "1") "," RULE("DeleteCluster", GIVEN_UP_, "2") "," RULE("DeleteNone", OK_, "3")),
         "4 1 1;8 2 2;2 0 3;"},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        test_case("rules: %s", all[i].id);
        struct ray_job job;
        struct spec_errors errors = {0};
        struct buf b;
        buf_init(&b, KIB);
        CHECK(ray_read_job(parse_quoted(all[i].json, a), a, &job, &errors));
        for (uint32_t k = 0; k < job.rule_count; k++)
            buf_printf(&b, "%d %d %d;", job.rules[k].ends, job.rules[k].what, job.rules[k].ttl_s);
        CHECK_STR(buf_slice(&b), all[i].rules);
        buf_free(&b);
    }
}

static const char full[] =
    "{'metadata':{'name':'demo','namespace':'n','uid':'u','generation':3,'deletionTimestamp':'x','finalizers':['a','ray.io/"
    "rayjob-finalizer'],"
    "'labels':{'kueue.x-k8s.io/queue-name':'q','ray.io/originated-from-crd':'me'},'annotations':{'a':'b',"
    "'kubectl.kubernetes.io/last-applied-configuration':'{}'}},'spec':{'entrypoint':'python \\\"a "
    "b\\\".py','jobId':'mine','submissionMode':"
    "'HTTPMode','runtimeEnvYAML':'pip: [a]\\nworking_dir: "
    "\\\"s3://x/a.zip\\\"','metadata':{'k':'v'},'entrypointNumCpus':1.50,'entrypointNumGpus':2,"
    "'entrypointResources':'{\\\"r\\\": 1e1}','backoffLimit':4,'activeDeadlineSeconds':5,'preRunningDeadlineSeconds':6,"
    "'managedBy':'kueue.x-k8s.io/multikueue','submitterConfig':{'backoffLimit':9},'rayClusterSpec':{'headGroupSpec':{'template':" POD
    "},'tomorrow':[1]}}}";

static void test_fields(struct arena *a)
{
    struct ray_job job;
    struct spec_errors errors = {0};
    test_case("fields");
    CHECK(ray_read_job(parse_quoted(full, a), a, &job, &errors));
    CHECK_INT(job.generation, 3);
    CHECK(job.deleting && job.finalizer && job.managed_elsewhere && !job.suspend && !job.own_submitter);
    CHECK_INT(job.mode, RAY_JOB_HTTP);
    CHECK_INT(job.retries, 4);
    CHECK_INT(job.submitter_retries, 9);
    CHECK_INT(job.active_deadline_s, 5);
    CHECK_INT(job.pre_running_deadline_s, 6);
    CHECK_STR(ray_job_submission_id(&job, 1, a), "mine");
    CHECK_STR(ray_job_submission_id(&job, 2, a), "mine");
}

static void test_submission(struct arena *a)
{
    struct ray_job job;
    struct spec_errors errors = {0};
    struct buf b;
    test_case("submission");
    buf_init(&b, MIB);
    CHECK(ray_read_job(parse_quoted(full, a), a, &job, &errors));
    CHECK(ray_build_submission(&job, SLICE("id"), &b));
    CHECK_STR(buf_slice(&b), "{\"entrypoint\":\"python \\\"a b\\\".py\",\"submission_id\":\"id\",\"runtime_env\":{\"pip\":[\"a\"],"
                             "\"working_dir\":\"s3://x/a.zip\"},\"metadata\":{\"k\":\"v\"},\"entrypoint_num_cpus\":1.50,"
                             "\"entrypoint_num_gpus\":2,\"entrypoint_resources\":{\"r\": 1e1}}");
    buf_clear(&b);
    CHECK(ray_read_job(parse_quoted(JOB(RUN), a), a, &job, &errors));
    CHECK(ray_build_submission(&job, SLICE("id"), &b));
    CHECK_STR(buf_slice(&b), "{\"entrypoint\":\"python x.py\",\"submission_id\":\"id\"}");
    struct buf small;
    buf_init(&small, 16);
    CHECK(!ray_build_submission(&job, SLICE("id"), &small));
    buf_free(&small);
    buf_free(&b);
}

static void test_cluster(struct arena *a)
{
    struct ray_job job;
    struct spec_errors errors = {0};
    struct buf b;
    test_case("cluster");
    buf_init(&b, MIB);
    CHECK(ray_read_job(parse_quoted(full, a), a, &job, &errors));
    CHECK(ray_build_job_cluster(&job, SLICE("demo-abcde"), &b, a));
    CHECK_STR(
        buf_slice(&b),
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"demo-abcde\",\"namespace\":\"n\",\"labels\":{"
        "\"kueue.x-k8s.io/queue-name\":\"q\",\"ray.io/originated-from-crd\":\"RayJob\",\"ray.io/originated-from-cr-name\":\"demo\","
        "\"ray.io/job-submission-mode\":\"HTTPMode\"},\"annotations\":{\"a\":\"b\"},\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\","
        "\"kind\":\"RayJob\",\"name\":\"demo\",\"uid\":\"u\",\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{"
        "\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"r\",\"image\":\"i\"}]}}},\"tomorrow\":[1]}}");
    buf_free(&b);
}

/* Each attempt has names of its own, and the same ones whenever it is asked for them. */
static void test_names(struct arena *a)
{
    struct ray_job job = {.name = SLICE("demo"), .uid = SLICE("u")}, other = {.name = SLICE("demo"), .uid = SLICE("v")};
    struct slice seen[40];
    test_case("names");
    for (int32_t i = 0; i < 20; i++) {
        seen[2 * i] = ray_job_cluster_name(&job, i, a);
        seen[2 * i + 1] = ray_job_submission_id(&job, i, a);
        CHECK_SLICE(ray_job_cluster_name(&job, i, a), seen[2 * i]);
        CHECK(slice_starts(seen[2 * i], SLICE("demo-")) && name_dns1035_label(seen[2 * i]) && seen[2 * i].len == 10);
        CHECK(!slice_eq(ray_job_cluster_name(&other, i, a), seen[2 * i]));
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        for (size_t k = 0; k < i; k++)
            CHECK(!slice_eq(seen[i], seen[k]));
}

static void test_notes(struct arena *a)
{
    struct spec_errors notes = {0};
    test_case("notes");
    ray_job_notes(parse_quoted(JOB("'entrypoint':'x','submissionMode':'InteractiveMode','clusterSelector':{'ray.io/cluster':'c'},'extra':1,"
                                   "'rayClusterSpec':{'more':2,'headGroupSpec':{'template':" POD "}}"),
                               a),
                  a, &notes);
    check_spec_errors(
        &notes,
        "spec.extra: is no field of this kind\nspec.rayClusterSpec.more: is no field of this kind\nspec.rayClusterSpec: has no effect\n"
        "spec.entrypoint: has no effect with InteractiveMode",
        a);
}

/* ray_job_notes names the ends of a job that no deletion rule matches. */
static void test_rule_notes(struct arena *a)
{
    static const struct {
        const char *rules, *note;
    } sets[] = {
        {"{'policy':'DeleteCluster','condition':{'jobStatus':'SUCCEEDED'}},{'policy':'DeleteCluster','condition':{'jobStatus':'FAILED'}}",
         "has no rule for these ends: STOPPED, the deadline, a lost head, a cluster that fails, a submission that fails;"},
        {"{'policy':'DeleteSelf','condition':{'jobStatus':'SUCCEEDED'}}", "has no rule for these ends: FAILED, STOPPED, the deadline,"},
        {"{'policy':'DeleteCluster','condition':{'jobDeploymentStatus':'Failed'}}", "has no rule for these ends: SUCCEEDED, STOPPED;"},
        {"{'policy':'DeleteNone','condition':{'jobStatus':'SUCCEEDED'}},"
         "{'policy':'DeleteCluster','condition':{'jobDeploymentStatus':'Failed'}}",
         NULL}}; /* no rule can match STOPPED */
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        struct spec_errors notes = {0};
        test_case("ends without a rule: %s", sets[i].note ? sets[i].note : "none");
        struct slice text = arena_printf(a,
                                         JOB("'entrypoint':'x','deletionStrategy':{'deletionRules':[%s]},'rayClusterSpec':{"
                                             "'headGroupSpec':{'template':" POD "}}"),
                                         sets[i].rules);
        ray_job_notes(parse_quoted(text.ptr, a), a, &notes);
        const char *want = sets[i].note ? arena_printf(a, "spec.deletionStrategy.deletionRules: %s", sets[i].note).ptr : NULL;
        check_spec_errors(&notes, want, a);
    }
}

int main(void)
{
    struct arena a = {0};
    test_errors(&a);
    test_rule_notes(&a);
    test_rules_limit(&a);
    test_rules(&a);
    test_fields(&a);
    test_submission(&a);
    test_cluster(&a);
    test_names(&a);
    test_notes(&a);
    arena_free(&a);
    return test_done();
}
