#include "../test.h"

#include <mobula/inspect.h>
#include <mobula/schema.h>

/* The kinds that people write, as a message has them: "RayCluster, RayJob or RayCronJob". */
static struct slice kinds_said(struct arena *a)
{
    struct inspect_kind k;
    struct slice text = SLICE(""), last = SLICE("");
    for (uint32_t i = 0; inspect_kind(i, &k); i++) {
        if (!k.stored || !k.decided || slice_is(last, k.name))
            continue;
        text = slice_empty(last) ? text : arena_printf(a, "%.*s%s%.*s", SLICE_ARG(text), text.len ? ", " : "", SLICE_ARG(last));
        last = slice_of(k.name);
    }
    return arena_printf(a, "%.*s or %.*s", SLICE_ARG(text), SLICE_ARG(last));
}

/* What was said, with KINDS in the place of these. */
static struct slice said(const struct buf *out, struct arena *a)
{
    struct slice rest = buf_slice(out), kinds = kinds_said(a), text = SLICE("");
    for (const char *at; rest.len && (at = memmem(rest.ptr, rest.len, kinds.ptr, kinds.len)) != NULL;) {
        size_t before = (size_t)(at - rest.ptr);
        text = arena_printf(a, "%.*s%.*sKINDS", SLICE_ARG(text), (int)before, rest.ptr);
        rest = slice_skip(rest, before + kinds.len);
    }
    return arena_printf(a, "%.*s%.*s", SLICE_ARG(text), SLICE_ARG(rest));
}

/* NAME.yaml and what is said about it, line by line, in NAME.out. */
static void files(struct arena *a)
{
    static const struct {
        const char *yaml, *out;
        uint32_t checked, skipped, errors, warnings;
    } cases[] = {
        {"tests/data/cli/good.yaml", NULL, 1, 0, 0, 0},
        {"tests/data/cli/legacy.yaml", NULL, 1, 0, 0, 0},
        {"tests/data/cli/bad-ray.yaml", "tests/data/cli/bad-ray.out", 1, 1, 14, 2},
        {"tests/data/cli/bad-legacy.yaml", "tests/data/cli/bad-legacy.out", 1, 0, 12, 0},
        {"tests/data/cli/good-job.yaml", NULL, 1, 0, 0, 0},
        {"tests/data/cli/bad-job.yaml", "tests/data/cli/bad-job.out", 1, 0, 20, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].yaml);
        struct validated sum = {0};
        struct buf out;
        buf_init(&out, MIB);
        validate_text("FILE", guarded(read_file(cases[i].yaml, a)), a, &sum, &out);
        CHECK_SLICE(said(&out, a), cases[i].out ? read_file(cases[i].out, a) : SLICE(""));
        CHECK_INT(sum.checked, cases[i].checked);
        CHECK_INT(sum.skipped, cases[i].skipped);
        CHECK_INT(sum.errors, cases[i].errors);
        CHECK_INT(sum.warnings, cases[i].warnings);
        buf_free(&out);
    }
}

/* The policy, as a file and in its ConfigMap. */
static void policies(struct arena *a)
{
    static const struct {
        const char *text, *out;
        uint32_t errors;
    } cases[] = {
        {"# mine\nimages: ['*']\nmaxPods: many\nimagez: []\n",
         "FILE:3: maxPods: is a string: must be a number\nFILE:4: imagez: is no field of a policy: what nobody knows may be a rule that is "
         "misspelt\n",
         2},
        {"apiVersion: v1\nkind: ConfigMap\ndata:\n  policy.yaml: |\n    frozen: false\n    maxPods: 0\n",
         "FILE:6: data[\"policy.yaml\"]: maxPods: is 0", 1},
        {"newPerMinute: 60\nmaxTotalMemory: 2Ti\n", "", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("policy %zu", i);
        struct validated sum = {0};
        struct buf out;
        buf_init(&out, MIB);
        validate_text("FILE", guarded(slice_of(cases[i].text)), a, &sum, &out);
        if (!CHECK(slice_starts(buf_slice(&out), slice_of(cases[i].out)) && (out.len > 0) == (cases[i].errors > 0)))
            printf("  %.*s\n", SLICE_ARG(buf_slice(&out)));
        CHECK_INT(sum.checked, 1);
        CHECK_INT(sum.errors, cases[i].errors);
        buf_free(&out);
    }
}

/* Texts that never become a RayCluster. */
static void texts(struct arena *a)
{
    static const struct {
        const char *text, *out;
        uint32_t skipped, errors;
    } cases[] = {
        {"", "FILE:1: warning: holds no document\n", 0, 0},
        {"# nothing\n---\n", "FILE:1: warning: holds no document\n", 0, 0},
        {"a: [1\n", "FILE:2: column 1: ", 0, 1},
        {"a: 1\na: 2\n", "FILE:2: column ", 0, 1},
        {"<!DOCTYPE html>\n<html></html>\n", "FILE:1: is no Kubernetes object: it must have apiVersion, kind, metadata and spec\n", 0, 1},
        {"kind: RayCluster\n", "FILE:1: apiVersion: is missing: write ray.io/v1\n", 0, 1},
        {"# old\nkind: RayCluster\napiVersion: ray.io/v1alpha1\n", "FILE:3: apiVersion: is \"ray.io/v1alpha1\": write ray.io/v1\n", 0, 1},
        {"apiVersion: cluster.ray.io/v1alpha1\nkind: RayCluster\n",
         "FILE:1: apiVersion: is \"cluster.ray.io/v1alpha1\": write cluster.ray.io/v1\n", 0, 1},
        {"apiVersion: cluster.ray.io/v1\nkind: RayJob\n", "FILE:1: apiVersion: is \"cluster.ray.io/v1\": write ray.io/v1\n", 0, 1},
        {"apiVersion: Ray.io/v1\nkind: RayCluster\n", "FILE:1: apiVersion: is \"Ray.io/v1\": write ray.io/v1\n", 0, 1},
        {"apiVersion: ray.io/v1\nkind: rayjobs\n", "FILE:2: kind: is \"rayjobs\": write RayJob\n", 0, 1},
        {"apiVersion: ray.io/v1\nkind: RayClutser\n", "FILE:2: kind: is \"RayClutser\": write RayCluster\n", 0, 1},
        {"apiVersion: ray.io/v1\nkind: Rake\n", "FILE:2: kind: is \"Rake\", which is no kind of ray.io: write KINDS\n", 0, 1},
        {"apiVersion: ray.io/v1\nkind: RayServise\n", "FILE:2: kind: is \"RayServise\": write RayService\n", 0, 1},
        {"apiVersion: ray.io/v1\n", "FILE:1: kind: is missing: write KINDS\n", 0, 1},
        {"apiVersion: [ray.io/v1]\nkind: 3\n", "FILE:2: kind: is missing", 0, 1},
        {"apiVersion: v1\nkind: List\n", "FILE:1: skipped: \"v1 List\" is no KINDS", 1, 0},
        {"apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  apiVersion: v1\n- apiVersion: v1\n  kind: List\n  items:\n  - kind: "
         "RayCluster\n",
         "FILE:4: skipped: \"v1 Pod\" is no KINDS\nFILE:9: items[1].items[0].apiVersion: is missing: write "
         "ray.io/v1\n",
         1, 1},
        {"---\napiVersion: v1\nkind: Secret\n---\n[1, 2]\n",
         "FILE:2: skipped: \"v1 Secret\" is no KINDS\nFILE:5: is no Kubernetes object: ", 1, 1},
        {"apiVersion: \"v1\\e[2J\"\nkind: \"P\\nFILE:1: \\u009bod\\x7f\"\n", "FILE:1: skipped: \"v1?[2J P?FILE:1: ??od?\" is no KINDS", 1,
         0},
        {"{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}", "FILE:1: skipped: \"v1 Pod\" is no KINDS", 1, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("text %zu", i);
        struct validated sum = {0};
        struct buf out;
        buf_init(&out, MIB);
        validate_text("FILE", guarded(slice_of(cases[i].text)), a, &sum, &out);
        if (!CHECK(slice_starts(said(&out, a), slice_of(cases[i].out)) && (out.len > 0) == (cases[i].out[0] != 0)))
            printf("  got \"%.*s\"\n", SLICE_ARG(buf_slice(&out)));
        CHECK_INT(sum.checked, 0);
        CHECK_INT(sum.skipped, cases[i].skipped);
        CHECK_INT(sum.errors, cases[i].errors);
        buf_free(&out);
    }
}

/* Instance types and patches are read by room shape: here are their lines in the manifest around them. */
static void config_maps(struct arena *a)
{
    static const struct {
        const char *text, *out;
    } cases[] = {
        {"apiVersion: v1\nkind: ConfigMap\ndata:\n  version: v1\n  instance_types.yaml: |-\n    a:\n      resources: {CPU: 1, memory: "
         "1Gi}\n",
         ""},
        {"apiVersion: v1\nkind: ConfigMap\ndata:\n  instance_types.yaml: |\n    # small\n    a:\n      resources:\n        CPU: -1\n"
         "        memory: 8\n",
         "FILE:8: data[\"instance_types.yaml\"]: a.resources.CPU: is no amount: quantity \"-1\" is negative\n"
         "FILE:9: data[\"instance_types.yaml\"]: a.resources.memory: is 8 bytes: write the unit, such as 8Gi\n"},
        {"apiVersion: v1\nkind: ConfigMap\ndata: {instance_types.yaml: 'a: {}'}\n",
         "FILE:3: data[\"instance_types.yaml\"]: a: has no resources: write at least CPU and memory\n"},
        {"apiVersion: v1\nkind: ConfigMap\ndata:\n  patches.yaml: |\n    # none\n", ""},
        {"apiVersion: v1\nkind: ConfigMap\ndata:\n  instance_types.yaml: 'a: 1'\n  patches.yaml: |\n    - selector: a b\n      patch:\n"
         "      - {op: remove, path: /metadata/labels}\n",
         "FILE:4: data[\"instance_types.yaml\"]: a: is a number: must be an object\n"
         "FILE:6: data[\"patches.yaml\"]: [0].selector: want =, ==, !=, in or notin behind \"a\"\n"
         "FILE:8: data[\"patches.yaml\"]: [0].patch[0]: changes \"/metadata/labels\", by which the operator recognises its objects: add or "
         "remove its members one by one\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("config map %zu", i);
        struct validated sum = {0};
        struct buf out;
        buf_init(&out, MIB);
        validate_text("FILE", guarded(slice_of(cases[i].text)), a, &sum, &out);
        CHECK_STR(buf_slice(&out), cases[i].out);
        CHECK_INT(sum.checked, 1);
        CHECK_INT(sum.errors > 0, cases[i].out[0] != 0);
        buf_free(&out);
    }
}

#define TEMPLATE "template: {spec: {containers: [{name: a, image: a}]}}"

/* Each field of the schema, once right and once wrong, where no reader of ours looks. */
static const struct {
    const char *spec, *found; /* NULL: nothing */
} schemas[] = {
    {"{headGroupSpec: {" TEMPLATE "}}", NULL},
    {"{}", "1: spec.headGroupSpec: is required\n"},
    {"[]", "1: spec: is an array: must be an object\n"},
    {"null", "1: spec: is null: must be an object\n"},
    {"{headGroupSpec: {" TEMPLATE "}, authOptions: {mode: token}}", NULL},
    {"{headGroupSpec: {" TEMPLATE "}, authOptions: {mode: \"\"}}", "1: spec.authOptions.mode: is \"\": must be one of disabled, token\n"},
    {"{headGroupSpec: {" TEMPLATE "}, authOptions: {mod: token}}",
     "1: spec.authOptions.mod: is no field of this kind, and the API server leaves it out: did you mean mode?\n"},
    {"{headGroupSpec: {" TEMPLATE "}, gcsFaultToleranceOptions: {storage: {size: 1, more: 2}}}", NULL},
    {"{headGroupSpec: {" TEMPLATE "}, gcsFaultToleranceOptions: {storage: {size: 1.5}}}",
     "1: spec.gcsFaultToleranceOptions.storage.size: is a number: must be an integer or a string\n"},
    {"{headGroupSpec: {" TEMPLATE "}, headServiceAnnotations: {a: b, c: 1}}",
     "1: spec.headServiceAnnotations.c: is a number: must be a string\n"},
    {"{headGroupSpec: {" TEMPLATE "}, managedBy: ray.io/kuberay-operator}", NULL},
    {"{headGroupSpec: {" TEMPLATE "}, managedBy: kueue.x-k8s.io/multikueue}", NULL},
    {"{headGroupSpec: {rayStartParams: {resources: x, env: z}, " TEMPLATE
     "}, autoscalerOptions: {imagePullPolicy: a, resources: {limit: {}}}}",
     "1: spec.autoscalerOptions.imagePullPolicy: is \"a\": must be one of Always,IfNotPresent,Never\n"
     "F:1: spec.autoscalerOptions.resources.limit: is no field here, and Kubernetes leaves it out: did you mean limits?\n"},
    {"{headGroupSpec: {rayStartParams: {nun-cpus: '1', num-cpus: '2', a-new-flag: '3'}, " TEMPLATE "}}",
     "1: warning: spec.headGroupSpec.rayStartParams.nun-cpus: is no flag of ray start that is known here: did you mean num-cpus?\n"},
    {"{headGroupSpec: {rayStartParams: null, " TEMPLATE "}, workerGroupSpecs: null}",
     "1: warning: spec.headGroupSpec.rayStartParams: is null: kubectl apply leaves it out, kubectl apply --server-side refuses it; remove "
     "it\n"
     "F:1: warning: spec.workerGroupSpecs: is null: kubectl apply leaves it out, kubectl apply --server-side refuses it; remove it\n"},
    {"{headGroupSpec: {template: null}, workerGroupSpecs: [null]}",
     "1: spec.headGroupSpec.template: is required\nF:1: warning: spec.headGroupSpec.template: is null: kubectl apply leaves it out, "
     "kubectl apply "
     "--server-side refuses it; remove it\nF:1: spec.workerGroupSpecs[0]: is null: must be an object\n"},
    {"{headGroupSpec: {" TEMPLATE "}, managedBy: kueue}",
     "1: spec.managedBy: is \"kueue\": the managedBy field value must be either 'ray.io/kuberay-operator' or "
     "'kueue.x-k8s.io/multikueue'\n"},
    {"{headGroupSpec: {" TEMPLATE "}, managedBy: \"', '\"}",
     "1: spec.managedBy: is \"', '\": the managedBy field value must be either 'ray.io/kuberay-operator' or "
     "'kueue.x-k8s.io/multikueue'\n"},
    {"{headGroupSpec: {" TEMPLATE "}, workerGroupSpecs: [{groupName: a, " TEMPLATE ", replicas: null}]}", NULL},
    {"{headGroupSpec: {" TEMPLATE "}, workerGroupSpecs: [{groupName: a, " TEMPLATE ", priority: -3000000000}]}",
     "1: spec.workerGroupSpecs[0].priority: is -3000000000: must fit in 32 bits\n"},
    {"{headGroupSpec: {" TEMPLATE "}, workerGroupSpecs: [{groupName: a, " TEMPLATE ", priority: 1.5}]}",
     "1: spec.workerGroupSpecs[0].priority: is not a whole number: must be an integer\n"},
    {"{headGroupSpec: {" TEMPLATE "}, workerGroupSpecs: [{groupName: a123456789b123456789c123456789d123456789e123456789f1234567896364, "
     "" TEMPLATE "}]}",
     "1: spec.workerGroupSpecs[0].groupName: has 64 characters: must have at most 63\n"},
    {"{headGroupSpec: {" TEMPLATE "}, workerGroupSpecs: [{groupName: '\u00e9\u00e9\u00e9\u00e9"
     "123456789b123456789c123456789d123456789e123456789f123456789', " TEMPLATE "}]}",
     NULL},
};

static void schema(struct arena *a)
{
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        test_case("schema %zu", i);
        struct yaml_docs docs;
        struct json json;
        struct err e = {0};
        struct slice text = arena_printf(a, "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: %s}", schemas[i].spec);
        if (!CHECK(yaml_parse(guarded(text), a, &docs, &e)) || !CHECK(json_parse(&json, docs.docs[0].json, a, &e)))
            continue;
        struct findings *f = arena_new(a, struct findings);
        struct buf out;
        buf_init(&out, MIB);
        f->arena = a;
        schema_check("rayclusters.ray.io", json_root(&json), f);
        findings_write(f, "F", &docs.docs[0], &out);
        struct slice want = schemas[i].found ? arena_printf(a, "F:%s", schemas[i].found) : SLICE("");
        CHECK_SLICE(buf_slice(&out), want);
        buf_free(&out);
    }
}

/* A value in which every field that a schema knows is there. */
static void write_all(struct jout *w, struct jval schema, struct arena *a)
{
    struct slice type = json_get_str(schema, "type", a);
    struct jval key, one;
    if (slice_eq(type, SLICE("array"))) {
        jout_array(w);
        write_all(w, json_key(schema, SLICE("items")), a);
        jout_end(w);
    } else if (slice_eq(type, SLICE("object"))) {
        jout_object(w);
        for (struct jiter it = json_iter(json_key(schema, SLICE("properties"))); json_next(&it, &key, &one);) {
            jout_key(w, json_str(key, a));
            write_all(w, one, a);
        }
        jout_end(w);
    } else
        jout_null(w);
}

/* The CRDs and the reader know the same fields. */
static void same_fields(struct arena *a)
{
    static const struct {
        const char *crd, *version, *kind;
        void (*notes)(struct jval object, struct arena *a, struct spec_errors *notes);
    } cases[] = {
        {"airgap/crds/rayclusters.ray.io.yaml", "ray.io/v1", "RayCluster", ray_notes},
        {"airgap/crds/rayclusters.cluster.ray.io.yaml", "cluster.ray.io/v1", "RayCluster", ray_notes},
        {"airgap/crds/rayjobs.ray.io.yaml", "ray.io/v1", "RayJob", ray_job_notes},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("fields of %s", cases[i].crd);
        struct yaml_docs docs;
        struct json crd, object;
        struct err e = {0};
        struct buf text;
        struct jout w;
        buf_init(&text, MIB);
        CHECK(yaml_parse(read_file(cases[i].crd, a), a, &docs, &e) && json_parse(&crd, docs.docs[0].json, a, &e));
        CHECK(docs.docs[0].json.len < 40 * KIB);
        jout_init(&w, &text);
        jout_object(&w);
        jout_kstr(&w, "apiVersion", slice_of(cases[i].version));
        jout_kstr(&w, "kind", slice_of(cases[i].kind));
        jout_key(&w, SLICE("spec"));
        write_all(&w, json_get(json_at(json_get(json_root(&crd), "spec.versions"), 0), "schema.openAPIV3Schema.properties.spec"), a);
        jout_end(&w);
        struct spec_errors *notes = arena_new(a, struct spec_errors);
        CHECK(json_parse(&object, buf_slice(&text), a, &e));
        cases[i].notes(json_root(&object), a, notes);
        for (uint32_t n = 0; n < notes->count; n++)
            if (!CHECK(!slice_starts(notes->list[n].text, SLICE("is no field of this kind"))))
                printf("  %.*s\n", SLICE_ARG(notes->list[n].path));
        CHECK_INT(notes->beyond, 0);
        buf_free(&text);
    }
}

/* What the CRD says of the number of members. */
static void members(struct arena *a)
{
    for (unsigned count = 16; count <= 17; count++) {
        test_case("a clusterSelector of %u labels", count);
        struct validated sum = {0};
        struct buf text, out;
        buf_init(&text, MIB);
        buf_init(&out, MIB);
        buf_put(&text, SLICE("{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: a}, spec: {entrypoint: x, clusterSelector: {"
                             "ray.io/cluster: c"));
        for (unsigned i = 1; i < count; i++)
            buf_printf(&text, ", l%u: x", i);
        buf_put(&text, SLICE("}}}"));
        validate_text("F", guarded(buf_slice(&text)), a, &sum, &out);
        CHECK_SLICE(buf_slice(&out), count <= 16 ? SLICE("") : SLICE("F:1: spec.clusterSelector: has 17 members: must have at most 16\n"));
        CHECK_INT(sum.errors, count > 16);
        buf_free(&text);
        buf_free(&out);
    }
}

static void two_errors(struct arena *a)
{
    struct validated sum = {0};
    struct buf out;
    buf_init(&out, MIB);
    test_case("two errors at one field");
    validate_text("F",
                  guarded(SLICE("{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: a}, spec: {entrypoint: x, suspend: true, "
                                "clusterSelector: {ray.io/cluster: c}}}")),
                  a, &sum, &out);
    CHECK_SLICE(buf_slice(&out), SLICE("F:1: spec.suspend: needs shutdownAfterJobFinishes: true, because suspending deletes the cluster\n"
                                       "F:1: spec.suspend: is true, which deletes the cluster: not possible with clusterSelector\n"));
    CHECK_INT(sum.errors, 2);
    buf_free(&out);
}

static void findings_limit(struct arena *a)
{
    struct findings *f = arena_new(a, struct findings);
    struct yaml_doc doc = {.line = 7};
    struct buf out;
    buf_init(&out, MIB);
    f->arena = a;
    test_case("FINDINGS_MAX");
    for (unsigned i = 0; i < FINDINGS_MAX; i++)
        findings_add(f, i % 2, arena_printf(a, "p%u", i), 1000 - i, SLICE("is wrong"));
    CHECK_INT(f->count, FINDINGS_MAX);
    CHECK_INT(f->beyond, 0);
    f->source++;
    findings_add(f, false, SLICE("p1"), 0, SLICE("is known"));
    CHECK_INT(f->errors, FINDINGS_MAX / 2);
    findings_add(f, false, SLICE("one more"), 0, SLICE("is wrong"));
    CHECK_INT(f->count, FINDINGS_MAX);
    CHECK_INT(f->beyond, 1);
    CHECK_INT(f->errors, FINDINGS_MAX / 2 + 1);
    CHECK_INT(f->warnings, FINDINGS_MAX / 2);
    findings_write(f, "F", &doc, &out);
    CHECK(slice_ends(buf_slice(&out), SLICE("F:7: and 1 more\n")));
    CHECK(f->list[0].offset < f->list[FINDINGS_MAX - 1].offset);
    buf_free(&out);
}

int main(void)
{
    struct arena a = {0};
    files(&a);
    policies(&a);
    texts(&a);
    config_maps(&a);
    schema(&a);
    same_fields(&a);
    members(&a);
    two_errors(&a);
    findings_limit(&a);
    arena_free(&a);
    return test_done();
}
