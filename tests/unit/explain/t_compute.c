#include "../test.h"

#include <mobula/explain.h>
#include <mobula/yaml.h>

static const struct compute_how plain = {.name = SLICE("c"), .image = SLICE("i"), .ray_version = SLICE("")};

static bool run(struct slice text, struct arena *a, struct buf *out, struct buf *notes)
{
    buf_clear(out);
    buf_clear(notes);
    return compute_text("F", text, &plain, a, out, notes);
}

static void test_texts(struct arena *a, struct buf *out, struct buf *notes)
{
    static const struct {
        const char *text, *told; /* the beginning of each line; NULL: nothing */
    } cases[] = {
        {"head_node: {instance_type: a}\n", NULL},
        {"a: [\n", "F:2: "},
        {"", "F:1: holds no compute config"},
        {"head_node: {instance_type: a}\n---\na: 1\n", "F:2: holds a second document"},
        {"head_node:\n  instance_type: ''\n", "F:2: head_node.instance_type: is no name"},
        {"head_node: {instance_type: a}\nworker_nodes:\n- instance_type: a\n- instance_type: a\n"
         "  advanced_instance_config: {spec: {tolerations: 1}}\n",
         "F:4: makes spec.workerGroupSpecs[1].template.spec.tolerations: "},
        {"head_node:\n  instance_type: a\n  advanced_instance_config: {spec: {nodeSelektor: {a: b}}}\n",
         "F:1: makes spec.headGroupSpec.template.spec.nodeSelektor: "},
        {"head_node:\n  required_resources: {CPU: 1, memory: 1Gi}\n"
         "  advanced_instance_config: {spec: {containers: [{name: s, resources: {limits: {cpu: 2}}}]}}\n",
         "F:1: head_node: instance type 1CPU-1Gi has 1 of cpu"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].text);
        CHECK_INT(run(slice_of(cases[i].text), a, out, notes), cases[i].told == NULL);
        if (!CHECK(slice_starts(buf_slice(notes), slice_of(cases[i].told ? cases[i].told : ""))))
            printf("  got %.*s\n", SLICE_ARG(buf_slice(notes)));
    }
}

/* What cannot be applied to an object of the cluster is an error; a type is applied first. */
static void test_patches(struct arena *a, struct buf *out, struct buf *notes)
{
    struct shape_patches set;
    struct spec_errors errors = {0};
    struct compute_how how = plain;
    static const struct slice config =
        SLICE("head_node: {instance_type: a}\nworker_nodes:\n- {instance_type: a, min_nodes: 1, max_nodes: 1}\n");
    test_case("patches");
    CHECK(shape_patches_read(SLICE("- kind: Pod\n  selector: ray.io/node-type=worker\n  patch: [{op: remove, path: /spec/tolerations}]\n"),
                             a, &set, &errors));
    set.name = SLICE("P");
    how.patches = &set;
    buf_clear(out);
    buf_clear(notes);
    CHECK(!compute_text("F", config, &how, a, out, notes));
    if (!CHECK(slice_has(buf_slice(notes), "F:1: Pod c-a-worker-0-") &&
               slice_has(buf_slice(notes), ": P: patch 1 (line 1), operation 1 (remove ")))
        printf("  got %.*s\n", SLICE_ARG(buf_slice(notes)));
    CHECK(shape_patches_read(SLICE("- patch: [{op: add, path: /metadata/labels/a, value: b}]\n"), a, &set, &errors));
    buf_clear(out);
    buf_clear(notes);
    CHECK(compute_text("F", config, &how, a, out, notes) && notes->len == 0 && slice_has(buf_slice(out), "kind: RayCluster"));
}

/* The text of each block of the page that is indented, and begins with this. */
static struct slice block(struct slice page, const char *begins, struct arena *a)
{
    ptrdiff_t at = slice_find_text(page, arena_printf(a, "\n    %s", begins).ptr);
    struct buf b;
    buf_init(&b, MIB);
    if (CHECK(at >= 0))
        page = slice_skip(page, (size_t)at + 1);
    while (slice_starts(page, SLICE("    "))) {
        buf_put(&b, slice_skip(slice_cut(&page, '\n'), 4));
        buf_putc(&b, '\n');
    }
    struct slice text = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return text;
}

/* The examples of the page are right, and what is printed of them is YAML. */
static void test_page(struct arena *a, struct buf *out, struct buf *notes)
{
    static const char *const examples[] = {"cloud: aws-cloud", "advanced_instance_config:"};
    struct slice page = read_file("docs/compute-configs.md", a);
    struct yaml_docs docs;
    struct err e = {0};
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        test_case("%s", examples[i]);
        CHECK(run(block(page, examples[i], a), a, out, notes));
        CHECK(slice_starts(buf_slice(out), SLICE("apiVersion: ray.io/v1\nkind: RayCluster\n")));
        CHECK(yaml_parse(buf_slice(out), a, &docs, &e));
    }
    CHECK(slice_has(buf_slice(out), "queue-name: batch") && slice_has(buf_slice(out), "mountPath: /mnt/local_storage"));
}

int main(void)
{
    struct arena a = {0};
    struct buf out, notes;
    buf_init(&out, MIB);
    buf_init(&notes, MIB);
    test_texts(&a, &out, &notes);
    test_page(&a, &out, &notes);
    test_patches(&a, &out, &notes);
    buf_free(&out);
    buf_free(&notes);
    arena_free(&a);
    return test_done();
}
