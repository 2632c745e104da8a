#include "../json/cases.h"

#include <mobula/ray.h>
#include <mobula/yaml.h>

/* The fields of a case close the object that they stand in. */
static const char v1[] =
    "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"demo\",\"namespace\":\"n\",\"uid\":\"u\"},"
    "\"spec\":{\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\","
    "\"image\":\"i\",%.*s]}}}}}";
static const char legacy[] =
    "{\"apiVersion\":\"cluster.ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"demo\",\"namespace\":\"n\",\"uid\":\"u\"},"
    "\"spec\":{\"maxWorkers\":1,\"headPodType\":\"h\",\"podTypes\":[{\"name\":\"h\",\"podConfig\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
    "\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"i\"}]}}},{\"name\":\"w\",\"maxWorkers\":1,\"podConfig\":{\"apiVersion\":"
    "\"v1\","
    "\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"i\"}]}}}],%.*s}";

/* The text that bash is given in the head's container. */
static struct slice head_script(struct slice fields, struct arena *a)
{
    struct ray_cluster cluster;
    struct spec_errors errors = {0};
    struct ray_options options = {.cluster_domain = SLICE("cluster.local"), .version = SLICE("0"), .tools = RAY_TOOLS_NONE};
    struct json *doc = arena_new(a, struct json), *pod = arena_new(a, struct json);
    struct buf out;
    struct err e = {0};
    buf_init(&out, MIB);
    struct slice rest = slice_skip(fields, 1); /* without the brace */
    struct slice text =
        slice_has(fields, "headStartRayCommands") ? arena_printf(a, legacy, SLICE_ARG(rest)) : arena_printf(a, v1, SLICE_ARG(rest));
    bool ok = json_parse(doc, text, a, &e) && ray_read(json_root(doc), a, &cluster, &errors) &&
              ray_build_head_pod(&cluster, &options, a, &out, &e) && json_parse(pod, arena_dup(a, buf_slice(&out)), a, &e);
    if (!CHECK(ok))
        printf("  %s %.*s\n", e.text, SLICE_ARG(spec_errors_text(&errors, 4096, a)));
    buf_free(&out);
    return ok ? json_str(json_at(json_get(json_at(json_get(json_root(pod), "spec.containers"), 0), "args"), 0), a) : SLICE_NONE;
}

/* What bash prints, with a ray that says how it was called, and without a limit that this machine may refuse. */
static void ask_bash(struct slice script, struct slice want, struct arena *a)
{
    static const char run[] = "ray() { printf '[ray]'; for w; do case $w in *=*) ;; *) printf ' [%s]' \"$w\";; esac; done; echo; }\n"
                              "ulimit() { :; }\n"
                              "export -f ray ulimit; HOME=/home/test bash -c -- \"$MOBULA_TEST_SCRIPT\" 2>&1";
    char got[1024];
    setenv("MOBULA_TEST_SCRIPT", arena_dup(a, script).ptr, 1);
    setenv("MOBULA_TEST_RUN", run, 1);
    FILE *f = popen("bash -c \"$MOBULA_TEST_RUN\"", "r");
    if (!CHECK(f != NULL))
        return;
    size_t n = fread(got, 1, sizeof got, f);
    pclose(f);
    CHECK_SLICE(slice_trim((struct slice){got, n}), slice_trim(want));
}

/* A command of the user's own that has the start command in a variable. */
static void test_variable(void)
{
    static const struct {
        const char *params, *args;
        bool noted;
    } cases[] = {
        {"{'resources':'\\\"{\\\\\\\"a\\\\\\\": 1, \\\\\\\"b\\\\\\\": 2}\\\"'}", "ulimit -n 65536; $KUBERAY_GEN_RAY_START_CMD", true},
        {"{'resources':'{\\\"a\\\": 1, \\\"b\\\": 2}'}", "echo head; ${KUBERAY_GEN_RAY_START_CMD}", true},
        {"{'resources':'{\\\"a\\\": 1, \\\"b\\\": 2}'}", "eval \\\"$KUBERAY_GEN_RAY_START_CMD\\\"", false},
        {"{'num-cpus':'1'}", "$KUBERAY_GEN_RAY_START_CMD", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct spec_errors notes = {0};
        struct json doc;
        struct err e = {0};
        test_case("KUBERAY_GEN_RAY_START_CMD %zu", i);
        char text[1024];
        int len =
            snprintf(text, sizeof text,
                     "{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'name':'d'},'spec':{'headGroupSpec':{'rayStartParams':%s,"
                     "'template':{'spec':{'containers':[{'name':'ray','image':'i','args':['%s']}]}}}}}",
                     cases[i].params, cases[i].args);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        CHECK(json_parse(&doc, (struct slice){text, (size_t)len}, &a, &e));
        ray_notes(json_root(&doc), &a, &notes);
        CHECK_INT(notes.count, cases[i].noted);
        if (notes.count)
            CHECK(slice_ends(notes.list[0].text, SLICE("write eval \"$KUBERAY_GEN_RAY_START_CMD\"")));
        arena_free(&a);
    }
    struct arena a = {0};
    test_case("the start command in a variable, with JSON, by eval");
    setenv("KUBERAY_GEN_RAY_START_CMD", "ray start --resources='{\"a\": 1, \"b\": 2}' end", 1);
    ask_bash(SLICE("words() { echo $#; }; ray() { words \"$@\"; }; eval \"$KUBERAY_GEN_RAY_START_CMD\""), SLICE("3"), &a);
    ask_bash(SLICE("words() { echo $#; }; ray() { words \"$@\"; }; $KUBERAY_GEN_RAY_START_CMD"), SLICE("6"), &a);
    arena_free(&a);
}

int main(void)
{
    test_variable();
    struct arena files = {0};
    struct slice file = read_file("tests/data/ray/commands.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        struct yaml_docs docs;
        struct err e = {0};
        if (CHECK(yaml_parse(case_part(&c, "yaml"), &a, &docs, &e) && docs.count == 1))
            ask_bash(head_script(docs.docs[0].json, &a), case_part(&c, "output"), &a);
        arena_free(&a);
    }
    arena_free(&files);
    return test_done();
}
