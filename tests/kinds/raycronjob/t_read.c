/* RayCronJobs: what the reader says of them, and the RayJob of one run. */
#include "tests/unit/spec/errors.h"

#include "src/kinds/raycronjob/raycronjob.h"

#define CLUSTER "'rayClusterSpec':{'headGroupSpec':{'template':{'spec':{'containers':[{'name':'r','image':'i'}]}}}}"
#define TEMPLATE "'jobTemplate':{'entrypoint':'x'," CLUSTER "}"
#define CRON(spec) "{'apiVersion':'ray.io/v1','kind':'RayCronJob','metadata':{'name':'demo'},'spec':{" spec "}}"
#define NAMED(name) "{'metadata':{'name':'" name "'},'spec':{'schedule':'@daily'," TEMPLATE "}}"
#define WITH(fields) CRON("'schedule':'@daily'," TEMPLATE "," fields)

static const struct {
    const char *id, *json, *errors;
} cases[] = {
    {"smallest", CRON("'schedule':'@daily'," TEMPLATE), NULL},
    {"null is nothing", WITH("'timeZone':null,'suspend':null,'concurrencyPolicy':null,'startingDeadlineSeconds':null"), NULL},
    {"not an object", "3", ": the resource is not an object"},
    {"another kind", "{'apiVersion':'v1','kind':'CronJob','metadata':{'name':'demo'},'spec':{'schedule':'@daily'," TEMPLATE "}}",
     "apiVersion: is v1: write ray.io/v1\nkind: is CronJob: must be RayCronJob"},
    {"nothing", "{}", "metadata: is missing\nspec: is missing"},
    {"no fields", CRON(""), "spec.schedule: is missing\nspec.jobTemplate: is missing"},
    {"40 name of 36", NAMED("abcdefghijklmnopqrstuvwxyzabcdefghij"), NULL},
    {"40 name of 37", NAMED("abcdefghijklmnopqrstuvwxyzabcdefghijk"), "metadata.name: has 37 bytes: at most 36"},
    {"40 schedule with a zone", CRON("'schedule':'TZ=UTC 0 0 * * *'," TEMPLATE), "spec.schedule: names a time zone"},
    {"40 schedule", CRON("'schedule':'0 25 * * *'," TEMPLATE), "spec.schedule: the hour \"25\" is not within 0-23"},
    {"schedule that is never due", CRON("'schedule':'0 0 31 2,4 *'," TEMPLATE), "spec.schedule: is never due"},
    {"schedule of a leap day", CRON("'schedule':'0 0 29 2 *'," TEMPLATE), NULL},
    {"zone", WITH("'timeZone':'Europe/Berlin'"), NULL},
    {"zone that leads elsewhere", WITH("'timeZone':'../../etc/passwd'"), "spec.timeZone: is \"../../etc/passwd\": must be the name"},
    {"zone of whichever machine", WITH("'timeZone':'local'"), "spec.timeZone: is local, the zone of whichever machine"},
    {"zone without a name", WITH("'timeZone':''"), "spec.timeZone: is \"\": must be the name"},
    {"policies", WITH("'concurrencyPolicy':'Forbid','startingDeadlineSeconds':1,'successfulJobsHistoryLimit':0,'failedJobsHistoryLimit':0"),
     NULL},
    {"wrong values everywhere",
     WITH("'concurrencyPolicy':'Never','suspend':1,'startingDeadlineSeconds':0,'successfulJobsHistoryLimit':-1,'failedJobsHistoryLimit':'"
          "1'"),
     "spec.concurrencyPolicy: is \nspec.suspend: is a number\nspec.startingDeadlineSeconds: is 0: must be from 1\n"
     "spec.successfulJobsHistoryLimit: is -1\nspec.failedJobsHistoryLimit: is a string"},
    {"40 template", CRON("'schedule':'@daily','jobTemplate':{'suspend':true," CLUSTER "}"),
     "spec.jobTemplate.entrypoint: is missing\nspec.jobTemplate.suspend: needs shutdownAfterJobFinishes"},
    {"cluster of the template",
     CRON("'schedule':'@daily','jobTemplate':{'entrypoint':'x','rayClusterSpec':{'headGroupSpec':{'template':{'spec':{}}}}}"),
     "spec.jobTemplate.rayClusterSpec.headGroupSpec.template.spec.containers: "},
    {"an id for all runs on one cluster",
     CRON("'schedule':'@daily','jobTemplate':{'entrypoint':'x','jobId':'a','clusterSelector':{'ray.io/cluster':'c'}}"),
     "spec.jobTemplate.jobId: would be the same for each run"},
};

static void test_errors(struct arena *a)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].id);
        struct raycronjob c;
        struct spec_errors errors = {0};
        bool ok = raycronjob_read(parse_quoted(cases[i].json, a), a, &c, &errors);
        CHECK_INT(ok, cases[i].errors == NULL);
        check_spec_errors(&errors, cases[i].errors, a);
        arena_reset(a, MIB);
    }
}

/* What is wrong in the template stands where the user has written it, though it was read as another document. */
static void test_offset(struct arena *a)
{
    static const char text[] =
        "{'metadata':{'name':'demo'},'spec':{'schedule':'@daily','jobTemplate':{'entrypoint':'x','backoffLimit':-77," CLUSTER "}}}";
    struct raycronjob c;
    struct spec_errors errors = {0};
    test_case("where an error of the template stands");
    struct jval object = parse_quoted(text, a);
    CHECK(!raycronjob_read(object, a, &c, &errors));
    CHECK_INT(errors.count, 1);
    CHECK_INT(errors.list[0].offset, strstr(text, "-77") - text);
}

static void test_fields(struct arena *a)
{
    struct raycronjob c;
    struct spec_errors errors = {0};
    test_case("fields");
    CHECK(raycronjob_read(parse_quoted(CRON("'schedule':'@daily'," TEMPLATE), a), a, &c, &errors));
    CHECK_INT(c.policy, CRON_ALLOW);
    CHECK_INT(c.deadline_s, -1);
    CHECK_INT(c.keep_succeeded, 3);
    CHECK_INT(c.keep_failed, 1);
    CHECK_SLICE(c.zone, SLICE(""));
    CHECK(raycronjob_read(parse_quoted("{'metadata':{'name':'demo','namespace':'n','uid':'u','generation':3,'deletionTimestamp':'x',"
                                       "'creationTimestamp':'2027-01-15T08:00:00Z'},'spec':{'schedule':'5 * * * *','timeZone':'Etc/GMT+5',"
                                       "'suspend':true,'concurrencyPolicy':'Replace','startingDeadlineSeconds':7,"
                                       "'successfulJobsHistoryLimit':8,'failedJobsHistoryLimit':9," TEMPLATE "}}",
                                       a),
                          a, &c, &errors));
    CHECK_SLICE(c.ns, SLICE("n"));
    CHECK_SLICE(c.uid, SLICE("u"));
    CHECK_SLICE(c.zone, SLICE("Etc/GMT+5"));
    CHECK(c.suspend && c.deleting);
    CHECK_INT(c.generation, 3);
    CHECK_INT(c.created_us, INT64_C(1800000000000000));
    CHECK_INT(c.policy, CRON_REPLACE);
    CHECK_INT(c.deadline_s, 7);
    CHECK_INT(c.keep_succeeded, 8);
    CHECK_INT(c.keep_failed, 9);
}

static int64_t scheduled(struct jval job, struct arena *a)
{
    return raycronjob_scheduled(json_get(job, "metadata"), json_get_str(job, "metadata.name", a), a);
}

/* The template goes through to the byte, and the time can be read back from what is made. */
static void test_build(struct arena *a)
{
    static const char want[] =
        "{'apiVersion':'ray.io/v1','kind':'RayJob','metadata':{'name':'demo-30000000','namespace':'n','labels':{'ray.io/"
        "cronjob-name':'demo'},"
        "'annotations':{'ray.io/cronjob-scheduled-timestamp':'2027-01-15T08:00:30Z'},'ownerReferences':[{'apiVersion':'ray.io/v1','kind':"
        "'RayCronJob','name':'demo','uid':'u','controller':true,'blockOwnerDeletion':true}]},'spec':{ 'entrypoint' : 'x'," CLUSTER "}}";
    struct raycronjob c;
    struct spec_errors errors = {0};
    struct buf b;
    test_case("the RayJob of a run");
    CHECK(raycronjob_read(parse_quoted("{'metadata':{'name':'demo','namespace':'n','uid':'u'},'spec':{'schedule':'@every "
                                       "90s','jobTemplate':{ 'entrypoint' : 'x'," CLUSTER "}}}",
                                       a),
                          a, &c, &errors));
    buf_init(&b, MIB);
    CHECK(raycronjob_build_job(&c, 1800000030, &b, a));
    struct slice text = arena_dup(a, buf_slice(&b));
    CHECK_SLICE(text, json_raw(parse_quoted(want, a)));
    struct json job;
    CHECK(json_parse(&job, text, a, NULL));
    CHECK_INT(scheduled(json_root(&job), a), 1800000030);
    buf_free(&b);
}

static void test_scheduled(struct arena *a)
{
    static const struct {
        const char *json;
        int64_t want;
    } times[] = {
        {"{'metadata':{'name':'a-30000000','labels':{'ray.io/cronjob-name':'a'},'annotations':{}}}", 1800000000},
        {"{'metadata':{'name':'a-30000000','labels':{'ray.io/cronjob-name':'a'},'annotations':{'ray.io/cronjob-scheduled-timestamp':'x'}}}",
         1800000000},
        {"{'metadata':{'name':'a-30000000'}}", CRON_NEVER},
        {"{'metadata':{'name':'a-xkcdd','labels':{'ray.io/cronjob-name':'a'}}}", CRON_NEVER},
        {"{'metadata':{'name':'a-9999999999999','labels':{'ray.io/cronjob-name':'a'}}}", CRON_NEVER},
        {"{'metadata':{'name':'a-xkcdd','annotations':{'ray.io/cronjob-scheduled-timestamp':'2027-01-15T08:00:00Z'}}}", 1800000000},
        {"{}", CRON_NEVER},
    };
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        test_case("the time of %s", times[i].json);
        CHECK_INT(scheduled(parse_quoted(times[i].json, a), a), times[i].want);
    }
}

int main(void)
{
    struct arena a = {0};
    test_errors(&a);
    test_offset(&a);
    test_fields(&a);
    test_build(&a);
    test_scheduled(&a);
    arena_free(&a);
    return test_done();
}
