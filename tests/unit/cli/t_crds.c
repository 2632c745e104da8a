#include "../test.h"

#include <mobula/json.h>
#include <mobula/yaml.h>

#include <dirent.h>

static struct jval load_schema(const char *path, struct arena *a)
{
    struct yaml_docs docs;
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    if (!CHECK(yaml_parse(read_file(path, a), a, &docs, &e) && docs.count == 1 && json_parse(doc, docs.docs[0].json, a, &e)))
        return (struct jval){.at = -1};
    return json_get(json_at(json_get(json_root(doc), "spec.versions"), 0), "schema.openAPIV3Schema");
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
    struct jval cluster = bare(json_get(load_schema("airgap/crds/rayclusters.ray.io.yaml", a), "properties.spec"), a);
    struct jval job = load_schema("airgap/crds/rayjobs.ray.io.yaml", a);
    struct jval embedded = bare(json_get(job, "properties.spec.properties.rayClusterSpec"), a);
    CHECK(json_len(json_get(cluster, "properties")) > 10);
    CHECK(json_equal(cluster, embedded));
}

/* The schema of rayClusterConfig of a RayService is that of a RayCluster's spec, too. */
static void same_service_cluster(struct arena *a)
{
    test_case("rayClusterConfig");
    struct jval cluster = bare(json_get(load_schema("airgap/crds/rayclusters.ray.io.yaml", a), "properties.spec"), a);
    struct jval service = load_schema("airgap/crds/rayservices.ray.io.yaml", a);
    CHECK(json_equal(cluster, bare(json_get(service, "properties.spec.properties.rayClusterConfig"), a)));
}

/* What a RayCronJob says of its jobs is what a RayJob says of itself. */
static void same_job(struct arena *a)
{
    test_case("jobTemplate");
    struct jval job = bare(json_get(load_schema("airgap/crds/rayjobs.ray.io.yaml", a), "properties.spec"), a);
    struct jval cron = load_schema("airgap/crds/raycronjobs.ray.io.yaml", a);
    CHECK(json_len(json_get(job, "properties")) > 10);
    CHECK(json_equal(job, bare(json_get(cron, "properties.spec.properties.jobTemplate"), a)));
}

/* Words that a schema may hold. The API server drops others without a word, unless it is asked to be strict: a comma in a description that
 * is not quoted makes one. */
static void check_words(struct jval schema, struct arena *a)
{
    static const char *const words[] = {"description",   "type",          "format",   "properties", "items",
                                        "required",      "enum",          "default",  "minimum",    "maxLength",
                                        "minLength",     "maxItems",      "minItems", "nullable",   "additionalProperties",
                                        "maxProperties", "minProperties", "maximum"};
    struct jval k, v, name, field;
    for (struct jiter it = json_iter(schema); json_next(&it, &k, &v);) {
        struct slice key = json_str(k, a);
        bool known = slice_starts(key, SLICE("x-kubernetes-"));
        for (size_t i = 0; i < COUNT_OF(words); i++)
            known |= slice_eq(key, slice_of(words[i]));
        if (!CHECK(known && json_type(v) != JSON_NULL))
            printf("  \"%.*s\" in %.*s\n", SLICE_ARG(key), SLICE_ARG(slice_head(json_raw(schema), 120)));
        if (slice_eq(key, SLICE("items")) || slice_eq(key, SLICE("additionalProperties")))
            check_words(v, a);
        if (slice_eq(key, SLICE("properties")))
            for (struct jiter in = json_iter(v); json_next(&in, &name, &field);)
                check_words(field, a);
    }
}

static void known_words(struct arena *a)
{
    DIR *folder = opendir("airgap/crds");
    uint32_t count = 0;
    CHECK(folder != NULL);
    for (struct dirent *f; folder && (f = readdir(folder));) {
        if (f->d_name[0] == '.')
            continue;
        test_case("words of %s", f->d_name);
        check_words(load_schema(arena_printf(a, "airgap/crds/%s", f->d_name).ptr, a), a);
        count++;
    }
    closedir(folder);
    CHECK(count > 6);
}

int main(void)
{
    struct arena a = {0};
    same_cluster(&a);
    same_service_cluster(&a);
    same_job(&a);
    known_words(&a);
    arena_free(&a);
    return test_done();
}
