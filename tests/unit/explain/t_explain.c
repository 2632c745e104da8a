#include "../test.h"

#include <mobula/explain.h>
#include <mobula/json.h>
#include <mobula/yaml.h>

/* What the objects hold is the business of ray's tests; here it is which objects are made. */

static const struct explain_how yaml_how = {
    .ray = {.cluster_domain = SLICE("cluster.local"), .version = SLICE("1.2.3")}, .submitter_pods = true, .now_us = 1800000030LL * 1000000};

/* "Kind namespace/name" of each object, a line each. */
static struct slice names(struct slice out, struct arena *a)
{
    struct yaml_docs docs;
    struct err e = {0};
    struct buf list;
    buf_init(&list, MIB);
    if (!CHECK(yaml_parse(out, a, &docs, &e)))
        printf("  %s\n", e.text);
    for (uint32_t i = 0; i < docs.count && e.code == ERR_NONE; i++) {
        struct json json;
        CHECK(json_parse(&json, docs.docs[i].json, a, &e));
        struct jval object = json_root(&json);
        buf_printf(&list, "%.*s %.*s/%.*s\n", SLICE_ARG(json_get_str(object, "kind", a)),
                   SLICE_ARG(json_get_str(object, "metadata.namespace", a)), SLICE_ARG(json_get_str(object, "metadata.name", a)));
    }
    struct slice text = arena_dup(a, buf_slice(&list));
    buf_free(&list);
    return text;
}

#define V1                                                                                                                                 \
    "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec:\n  headGroupSpec: {template: {spec: {containers: [{image: r, "    \
    "name: r}]}}}\n"

static bool has(struct slice text, const char *part)
{
    for (; text.len; text = slice_skip(text, 1))
        if (slice_starts(text, slice_of(part)))
            return true;
    return false;
}

static void instance_types(struct arena *a)
{
    static const char map[] = "kind: ConfigMap\ndata:\n  instance_types.yaml: |\n    small:\n      resources: {CPU: 3, memory: 8Gi}\n";
    static const char cluster[] =
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec:\n  headGroupSpec:\n    template:\n"
        "      metadata: {labels: {anyscale.com/instance-type: %s}}\n      spec: {containers: [{image: r, name: r}]}\n";
    struct shape_types types;
    struct explain_how how = yaml_how;
    struct buf out, notes;
    test_case("instance types");
    buf_init(&out, MIB);
    buf_init(&notes, MIB);
    CHECK(explain_types("T", SLICE("kind: ConfigMap\ndata:\n  instance_types.yaml: |\n    a: 1\n"), a, &types, &notes) == false);
    CHECK_STR(buf_slice(&notes), "T:4: a: is a number: must be an object\n");
    buf_clear(&notes);
    CHECK(explain_types("T", slice_of(map), a, &types, &notes) && types.count == 1);
    how.types = &types;
    CHECK(explain_text("F", slice_of(arena_printf(a, cluster, "small").ptr), &how, a, &out, &notes));
    CHECK(has(buf_slice(&out), "--num-cpus=3") && has(buf_slice(&out), "anyscale.com/ray-node-type: head"));
    CHECK_STR(buf_slice(&notes), "");
    CHECK(!explain_text("F", slice_of(arena_printf(a, cluster, "smal").ptr), &how, a, &out, &notes));
    CHECK_STR(buf_slice(&notes),
              "F:6: group headgroup: names instance type smal, which the ConfigMap does not have: did you mean small (line 1)?\n");
    test_case("instance types of a RayJob's cluster, which has no place in the file");
    buf_clear(&notes);
    CHECK(!explain_text(
        "F",
        SLICE("apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: j}\nspec: {entrypoint: e, rayClusterSpec: {headGroupSpec: "
              "{template: {metadata: {labels: {anyscale.com/instance-type: smal}}, spec: {containers: [{image: r, name: "
              "r}]}}}}}\n"),
        &how, a, &out, &notes));
    CHECK_STR(buf_slice(&notes), "F:1: RayCluster j-wzhcx: group headgroup: names instance type smal, which the ConfigMap does not have: "
                                 "did you mean small (line 1)?\n");
    buf_free(&out);
    buf_free(&notes);
}

/* The objects, or with steps only what changes in them. */
static void patches(struct arena *a)
{
    static const char map[] = "kind: ConfigMap\ndata:\n  patches.yaml: |\n    - kind: Service\n      patch:\n      - op: add\n"
                              "        path: /metadata/annotations/team\n        value: a\n";
    struct shape_patches set, wrong;
    struct explain_how how = yaml_how;
    struct buf out, notes;
    test_case("patches");
    buf_init(&out, MIB);
    buf_init(&notes, MIB);
    CHECK(!explain_patches("P", SLICE("kind: ConfigMap\ndata:\n  patches.yaml: |\n    - {}\n"), a, &wrong, &notes));
    CHECK_STR(buf_slice(&notes), "P:4: [0].patch: is missing: must be an array\n");
    buf_clear(&notes);
    CHECK(explain_patches("P", slice_of(map), a, &set, &notes) && set.count == 1);
    how.patches = &set;
    CHECK(explain_text("F", SLICE(V1), &how, a, &out, &notes));
    CHECK(has(buf_slice(&out), "kind: Pod") && has(buf_slice(&out), "    team: a\n"));
    buf_clear(&out);
    how.steps = true;
    CHECK(explain_text("F", SLICE(V1), &how, a, &out, &notes));
    CHECK_STR(buf_slice(&notes), "");
    CHECK_SLICE(buf_slice(&out), read_file("tests/data/cli/explain-patches.out", a));
    CHECK(explain_patches("P", SLICE("- patch: [{op: remove, path: /spec/nodeName}]"), a, &set, &notes));
    CHECK(!explain_text("F", SLICE(V1), &how, a, &out, &notes));
    CHECK(has(buf_slice(&notes), "F:1: Service a-head-svc: patch 1 (line 1), operation 1 (remove /spec/nodeName): nothing is at "
                                 "\"/spec/nodeName\"\n"));
    buf_free(&out);
    buf_free(&notes);
}

/* A type is a step, too: what it makes of each pod that names it. */
static void type_steps(struct arena *a)
{
    static const char cluster[] =
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec:\n  headGroupSpec:\n    template:\n"
        "      metadata: {labels: {anyscale.com/instance-type: small}}\n      spec: {containers: [{image: r, name: r}]}\n";
    struct shape_types types;
    struct explain_how how = yaml_how;
    struct buf out, notes;
    test_case("type steps");
    buf_init(&out, MIB);
    buf_init(&notes, MIB);
    CHECK(explain_types("T", SLICE("small: {resources: {CPU: 3, memory: 8Gi}}"), a, &types, &notes));
    how.types = &types;
    how.steps = true;
    CHECK(explain_text("F", slice_of(cluster), &how, a, &out, &notes));
    CHECK_STR(buf_slice(&notes), "");
    CHECK(slice_starts(buf_slice(&out), SLICE("Service a-head-svc: nothing changes it\n--- Pod a-head\n+++ instance type small\n@@ -")));
    CHECK(has(buf_slice(&out), "\n+    anyscale.com/ray-node-type: head\n") && has(buf_slice(&out), "\n+        memory: 8Gi\n"));
    buf_free(&out);
    buf_free(&notes);
}

static void manifests(struct arena *a)
{
    static const struct {
        const char *file, *text; /* one of them */
        const char *names, *notes;
        bool well;
    } cases[] = {
        {"tests/data/cli/good.yaml", NULL, "tests/data/cli/good.names", "", true},
        {"tests/data/cli/legacy.yaml", NULL, "tests/data/cli/legacy.names", "", true},
        {"tests/data/cli/sidecar.yaml", NULL, "tests/data/cli/sidecar.names", "", true},
        {NULL, "# nothing\n", NULL, "", true},
        {"tests/data/cli/explain-job.yaml", NULL, "tests/data/cli/explain-job.names", "", true},
        {"tests/data/cli/explain-cron.yaml", NULL, "tests/data/cli/explain-cron.names", "", true},
        {NULL, "apiVersion: ray.io/v1\nkind: RayJob\n", NULL, "F:1: metadata: is missing", false},
        {NULL, "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: j}\nspec: {entrypoint: e, clusterSelector: {ray.io/cluster: c}}\n",
         NULL, "F:1: no cluster is made: spec.clusterSelector names RayCluster c\n", true},
        {NULL, "apiVersion: ray.io/v1\nkind: RayCronJob\nmetadata: {name: j}\nspec: {schedule: '61 * * * *'}\n", NULL, "F:4: spec", false},
        {NULL, "---\n---\n[1]\n---\napiVersion: \"v1\\e[2J\"\nkind: \"P\\nF:1: od\"\n", NULL,
         "F:3: is no Kubernetes object: it must have apiVersion, kind, metadata and spec\n"
         "F:5: skipped: \"v1?[2J P?F:1: od\" is nothing of which the operator makes objects\n",
         false},
        {NULL, "kind: RayCluster\n", NULL, "F:1: apiVersion: is missing: write ray.io/v1\n", false},
        {NULL, "apiVersion: v1\nkind: List\nitems:\n- apiVersion: ray.io/v1\n  kind: RayCluster\n  metadata: {name: 1}\n  spec: {}\n", NULL,
         "F:6: items[0].metadata.name: is a number", false},
        {NULL, "a: [", NULL, "F:2: column ", false},
        {NULL, V1 "  suspend: true\n", NULL, "F:1: no pods are made: spec.suspend is true\n", true},
        {NULL, V1 "  managedBy: kueue.x-k8s.io/multikueue\n", NULL,
         "F:1: nothing is made: spec.managedBy leaves it to another controller\n", true},
        {NULL, V1 "  suspend: 1\n", NULL, "F:6: spec.suspend: is a number: must be true or false\n", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("manifest %zu", i);
        struct buf out, notes;
        buf_init(&out, MIB);
        buf_init(&notes, MIB);
        struct slice text = cases[i].file ? read_file(cases[i].file, a) : slice_of(cases[i].text);
        CHECK_INT(explain_text("F", guarded(text), &yaml_how, a, &out, &notes), cases[i].well);
        if (cases[i].names)
            CHECK_SLICE(names(buf_slice(&out), a), read_file(cases[i].names, a));
        if (!CHECK(slice_starts(buf_slice(&notes), slice_of(cases[i].notes)) && (notes.len > 0) == (cases[i].notes[0] != 0)))
            printf("  got \"%.*s\"\n", SLICE_ARG(buf_slice(&notes)));
        buf_free(&out);
        buf_free(&notes);
    }
}

/* More pods than one plan holds. */
static void many(struct arena *a)
{
    test_case("many");
    enum { WORKERS = PLAN_ACTIONS + 1 };
    struct slice text = arena_printf(a,
                                     V1 "  workerGroupSpecs:\n  - {groupName: w, replicas: %d, template: {spec: {containers: [{image: r, "
                                        "name: r}]}}}\n",
                                     WORKERS);
    struct explain_how how = yaml_how;
    struct buf out, notes;
    struct json json;
    struct err e = {0};
    how.json = true;
    buf_init(&out, 16 * MIB);
    buf_init(&notes, MIB);
    explain_begin(&how, &out);
    CHECK(explain_text("F", text, &how, a, &out, &notes));
    explain_end(&how, &out);
    CHECK(json_parse(&json, buf_slice(&out), a, &e));
    size_t pods = 0;
    struct jval key, one;
    for (struct jiter it = json_iter(json_get(json_root(&json), "items")); json_next(&it, &key, &one);)
        pods += json_str_eq(json_key(one, SLICE("kind")), SLICE("Pod"));
    CHECK_INT(pods, WORKERS + 1);
    buf_free(&out);
    buf_free(&notes);
}

int main(void)
{
    struct arena a = {0};
    manifests(&a);
    instance_types(&a);
    patches(&a);
    type_steps(&a);
    many(&a);
    arena_free(&a);
    return test_done();
}
