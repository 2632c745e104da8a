/* What both targets of RayClusters do: whatever the reader lets through, the builders make well-formed objects of it. */
#ifndef MOBULA_FUZZ_RAY_OBJECTS_H
#define MOBULA_FUZZ_RAY_OBJECTS_H

#include <mobula/ray.h>

#include <stdlib.h>

/* A well-formed object with a good name and the labels that we watch by; its document in *doc. */
static void check_object(const struct buf *b, struct json *doc, struct arena *a)
{
    if (!json_parse(doc, buf_slice(b), a, NULL))
        abort();
    struct jval root = json_root(doc), labels = json_get(root, "metadata.labels");
    if (!name_dns1123_label(json_get_str(root, "metadata.name", a)) || !json_there(json_key(labels, SLICE(RAY_LABEL_CLUSTER))) ||
        !json_there(json_key(labels, SLICE(RAY_LABEL_OWNER_UID))) || json_len(json_get(root, "metadata.ownerReferences")) != 1)
        abort();
}

static void check_pod(const struct buf *b, struct arena *a)
{
    struct json doc;
    check_object(b, &doc, a);
    struct jval containers = json_get(json_root(&doc), "spec.containers");
    if (json_len(containers) == 0 || json_type(json_key(json_at(containers, 0), SLICE("env"))) != JSON_ARRAY)
        abort();
}

static void build_all(const struct ray_cluster *c, struct arena *a)
{
    struct ray_options o = {.cluster_domain = SLICE("cluster.local")};
    struct buf b;
    struct json doc;
    struct ray_sums sums;
    buf_init(&b, LIMIT_JSON_ITEM);
    if (ray_build_head_pod(c, &o, a, &b, NULL))
        check_pod(&b, a);
    buf_clear(&b);
    if (ray_build_head_service(c, a, &b, NULL)) {
        check_object(&b, &doc, a);
        ray_service_hash(json_root(&doc));
    }
    for (uint32_t i = 0; i < c->group_count && i < 4; i++) {
        buf_clear(&b);
        if (ray_build_worker_pod(c, &c->groups[i], LIMIT_RAY_PODS - 1, SLICE("uid"), &o, a, &b, NULL))
            check_pod(&b, a);
    }
    ray_desired_sums(c, a, &sums, NULL);
    buf_free(&b);
}

static void read_and_build(struct jval object, struct arena *a)
{
    static struct ray_errors errors;
    struct ray_cluster c;
    errors.count = errors.beyond = 0;
    bool ok = ray_read(object, a, &c, &errors);
    if (ok != (errors.count == 0))
        abort();
    for (uint32_t i = 0; i < errors.count; i++)
        if (errors.list[i].offset > object.doc->text.len || slice_empty(errors.list[i].text))
            abort();
    if (ok)
        build_all(&c, a);
    errors.count = errors.beyond = 0;
    ray_notes(object, a, &errors);
}

#endif
