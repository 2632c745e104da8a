#include "../test.h"

#include <mobula/json.h>
#include <mobula/yaml.h>

/* The definition's schema of spec. */
static struct jval load_spec(const char *path, struct arena *a)
{
    struct yaml_docs docs;
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    if (!CHECK(yaml_parse(read_file(path, a), a, &docs, &e) && docs.count == 1 && json_parse(doc, docs.docs[0].json, a, &e)))
        return (struct jval){.at = -1};
    return json_get(json_at(json_get(json_root(doc), "spec.versions"), 0), "schema.openAPIV3Schema.properties.spec");
}

/* The schema without its descriptions; fields that are called so stay. */
static void write_bare(struct jout *w, struct jval v, bool fields, struct arena *a)
{
    struct jval k, x;
    if (json_type(v) != JSON_OBJECT && json_type(v) != JSON_ARRAY) {
        jout_raw(w, json_raw(v));
        return;
    }
    if (json_type(v) == JSON_ARRAY)
        jout_array(w);
    else
        jout_object(w);
    for (struct jiter it = json_iter(v); json_next(&it, &k, &x);) {
        if (json_there(k) && !fields && json_str_eq(k, SLICE("description")))
            continue;
        if (json_there(k))
            jout_key(w, json_str(k, a));
        write_bare(w, x, !fields && json_there(k) && json_str_eq(k, SLICE("properties")), a);
    }
    jout_end(w);
}

static struct jval bare(struct jval v, struct arena *a)
{
    struct buf b;
    struct jout w;
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    buf_init(&b, MIB);
    jout_init(&w, &b);
    write_bare(&w, v, false, a);
    CHECK(json_parse(doc, arena_dup(a, buf_slice(&b)), a, &e));
    buf_free(&b);
    return json_root(doc);
}

/* What a RayJob says of its cluster is what a RayCluster says of itself. */
static void same_cluster(struct arena *a)
{
    test_case("rayClusterSpec");
    struct jval cluster = bare(load_spec("airgap/crds/rayclusters.ray.io.yaml", a), a);
    struct jval job = load_spec("airgap/crds/rayjobs.ray.io.yaml", a), embedded = bare(json_get(job, "properties.rayClusterSpec"), a);
    CHECK(json_len(json_get(cluster, "properties")) > 10);
    CHECK(json_equal(cluster, embedded));
}

int main(void)
{
    struct arena a = {0};
    same_cluster(&a);
    arena_free(&a);
    return test_done();
}
