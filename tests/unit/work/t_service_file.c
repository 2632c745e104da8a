/* The file of a service becomes a version, and how far the rollout of a Workload is. */
#include "tests/unit/test.h"

#include <mobula/work.h>

static struct jval doc(const char *text, struct arena *a)
{
    struct jval value = NO_VALUE;
    char *copy = (char *)(uintptr_t)arena_dup(a, slice_of(text)).ptr;
    for (char *at = copy; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    CHECK(json_read(&value, slice_of(copy), a, NULL));
    return value;
}

static void files(void)
{
    static const struct {
        const char *file, *image, *config, *version;
    } cases[] = {
        {"{'name':'rag','applications':[{'name':'a'}],'ray_version':'2.60.0'}", "", NULL,
         "{\"applications\":[{\"name\":\"a\"}],\"rayVersion\":\"2.60.0\"}"},
        {"{'image_uri':'i:1','registry_login_secret':'pull','env_vars':{'A':'b'}}", "", NULL,
         "{\"image\":\"i:1\",\"imagePullSecret\":\"pull\",\"env\":{\"A\":\"b\"}}"},
        {"{'image_uri':'i:1','compute_config':'small'}", "i:2", "{'head_node':{}}",
         "{\"image\":\"i:2\",\"computeConfig\":{\"inline\":{\"head_node\":{}}}}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct buf out = {.max = KIB};
        struct jout w;
        struct work_service_file has;
        struct jval file = doc(cases[i].file, &a);
        test_case("a file becomes a version, %zu", i);
        CHECK(work_service_file_read(file, "f", &a, &has, NULL));
        jout_init(&w, &out);
        jout_object(&w);
        work_service_version_write(file, slice_of(cases[i].image), cases[i].config ? doc(cases[i].config, &a) : NO_VALUE, NULL, &w);
        jout_end(&w);
        CHECK_STR(buf_slice(&out), cases[i].version);
        buf_free(&out);
        arena_free(&a);
    }
}

static void code(void)
{
    static const struct {
        const char *dir, *pip, *file, *version;
    } cases[] = {
        {"s3://b/d.zip", NULL, "{'applications':[{'name':'a','import_path':'m:a'},{'name':'b'}],'image_uri':'i'}",
         "{\"applications\":[{\"name\":\"a\",\"import_path\":\"m:a\",\"runtime_env\":{\"working_dir\":\"s3://b/d.zip\"}},{\"name\":\"b\","
         "\"runtime_env\":{\"working_dir\":\"s3://b/d.zip\"}}],\"image\":\"i\"}"},
        {"s3://b/d.zip", "['emoji==2']",
         "{'applications':[{'runtime_env':{'env_vars':{'A':'b'},'working_dir':'s3://own.zip'}},{'runtime_env':{'pip':['x']}}]}",
         "{\"applications\":[{\"runtime_env\":{\"env_vars\":{\"A\":\"b\"},\"working_dir\":\"s3://own.zip\",\"pip\":[\"emoji==2\"]}},"
         "{\"runtime_env\":{\"pip\":[\"x\"],\"working_dir\":\"s3://b/d.zip\"}}]}"},
        {"s3://b/d.zip", "['y']", "{'applications':[{'runtime_env':{'uv':['x'],'working_dir':null,'pip':null}},{'runtime_env':'odd'},5]}",
         "{\"applications\":[{\"runtime_env\":{\"uv\":[\"x\"],\"pip\":null,\"working_dir\":\"s3://b/"
         "d.zip\"}},{\"runtime_env\":\"odd\"},5]}"},
        {"s3://b/d.zip", NULL, "{'applications':{'a':1}}", "{\"applications\":{\"a\":1}}"},
        {"s3://b/d.zip", NULL, "{'image_uri':'i'}", "{\"image\":\"i\"}"},
        {"", NULL, "{'applications':[{'name':'a'}],'working_dir':'.','excludes':['x'],'requirements':['y']}",
         "{\"applications\":[{\"name\":\"a\"}]}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct buf out = {.max = KIB};
        struct jout w;
        struct work_code c = {slice_of(cases[i].dir), cases[i].pip ? doc(cases[i].pip, &a) : NO_VALUE, &a};
        test_case("code of applications that name none, %zu", i);
        jout_init(&w, &out);
        jout_object(&w);
        work_service_version_write(doc(cases[i].file, &a), SLICE(""), NO_VALUE, &c, &w);
        jout_end(&w);
        CHECK_STR(buf_slice(&out), cases[i].version);
        buf_free(&out);
        arena_free(&a);
    }
}

static void members(void)
{
    struct arena a = {0};
    struct work_service_file has;
    struct err e = {0};
    test_case("what is not of a version");
    CHECK(work_service_file_read(
        doc("{'name':'rag','cloud':'c','version_name':'v1','compute_config':'small:2','query_auth_token_enabled':true}", &a), "f", &a, &has,
        &e));
    CHECK_STR(has.name, "rag");
    CHECK_STR(has.cloud, "c");
    CHECK_STR(has.version, "v1");
    CHECK_STR(has.config, "small:2");
    CHECK(has.token);
    test_case("a compute config in the file has no name");
    CHECK(work_service_file_read(doc("{'compute_config':{'head_node':{}}}", &a), "f", &a, &has, &e) && !has.token);
    CHECK_STR(has.config, "");
    test_case("code");
    CHECK(work_service_file_read(doc("{'working_dir':'.','requirements':'r.txt','excludes':['*.md']}", &a), "f", &a, &has, &e));
    CHECK_STR(has.dir, ".");
    CHECK_STR(has.requirements, "r.txt");
    CHECK(work_service_file_read(doc("{'requirements':['y']}", &a), "f", &a, &has, &e));
    CHECK_STR(has.requirements, "");
    static const char *const wrong[] = {"{'working_dir':5}", "{'excludes':'*.md'}", "{'excludes':[5]}", "{'requirements':5}",
                                        "{'requirements':[[]]}"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        test_case("code of a wrong type, %zu", i);
        e = (struct err){0};
        CHECK(!work_service_file_read(doc(wrong[i], &a), "f", &a, &has, &e) && slice_starts(slice_of(e.text), SLICE("f: ")));
    }
    test_case("a field that a service cannot have");
    e = (struct err){0};
    CHECK(!work_service_file_read(doc("{'name':'rag','gpu':1}", &a), "a.yaml", &a, &has, &e));
    CHECK_STR(slice_of(e.text), "a.yaml: \"gpu\" is no field that a service can have here: remove it");
    arena_free(&a);
}

static void rollouts(void)
{
    static const struct {
        const char *observed, *state, *reason; /* observed: of generation 2 */
        bool ended;
        enum work_rollout want;
    } cases[] = {
        {"1", "RUNNING", "", false, WORK_ROLLOUT_GOES_ON},
        {"2", "RUNNING", "", false, WORK_ROLLOUT_OVER},
        {"2", "RUNNING", "Progressing", false, WORK_ROLLOUT_GOES_ON},
        {"2", "RUNNING", "Frozen", false, WORK_ROLLOUT_GOES_ON},
        {"2", "STARTING", "", false, WORK_ROLLOUT_GOES_ON},
        {"2", "RUNNING", "RolledBack", false, WORK_ROLLOUT_FAILED},
        {"1", "RUNNING", "RolledBack", false, WORK_ROLLOUT_GOES_ON},
        {"2", "FAILED", "", true, WORK_ROLLOUT_FAILED},
        {"1", "FAILED", "", true, WORK_ROLLOUT_GOES_ON},
        {"2", "RUNNING", "InvalidSpec", false, WORK_ROLLOUT_FAILED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct jval workload =
            doc(arena_printf(&a, "{'metadata':{'generation':2},'status':{'observedGeneration':%s}}", cases[i].observed).ptr, &a);
        test_case("a rollout, %zu: generation %s is %s %s", i, cases[i].observed, cases[i].state, cases[i].reason);
        CHECK_INT(work_rollout(workload, slice_of(cases[i].state), cases[i].ended, slice_of(cases[i].reason)), cases[i].want);
        arena_free(&a);
    }
}

int main(void)
{
    files();
    code();
    members();
    rollouts();
    return test_done();
}
