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

static void build_services(const struct ray_cluster *c, struct arena *a)
{
    struct buf b;
    struct json doc;
    buf_init(&b, LIMIT_JSON_ITEM);
    for (enum ray_service k = 0; k < RAY_SERVICES; k++) {
        buf_clear(&b);
        if (!ray_wants_service(c, k))
            continue;
        if (ray_build_service(c, k, a, &b, NULL)) {
            check_object(&b, &doc, a);
            ray_service_hash(json_root(&doc));
        } else if (k == RAY_SERVICE_HEADLESS) {
            abort(); /* it has no user's text but names, so it always fits */
        }
    }
    buf_free(&b);
}

/* Its name is one that the API server takes, and its owner is the cluster. A token goes into the Secret and nowhere else. */
static void build_accounts(const struct ray_cluster *c, const struct ray_options *o, struct arena *a)
{
    struct buf b, other;
    struct json doc;
    buf_init(&b, LIMIT_JSON_ITEM);
    buf_init(&other, LIMIT_JSON_ITEM);
    for (enum ray_account which = RAY_ACCOUNT; which < RAY_ACCOUNT_OBJECTS; which++) {
        if (!ray_wants_account(c, which, o, a))
            continue;
        buf_clear(&b);
        buf_clear(&other);
        if (!ray_build_account(c, which, SLICE("one"), a, &b) || !ray_build_account(c, which, SLICE("two"), a, &other))
            abort();
        if (!json_parse(&doc, buf_slice(&b), a, NULL))
            abort();
        struct slice name = json_get_str(json_root(&doc), "metadata.name", a);
        if (!slice_eq(name, ray_account_name(c, which, a)) || !name_dns1123_subdomain(name) ||
            json_len(json_get(json_root(&doc), "metadata.ownerReferences")) != 1)
            abort();
        if (slice_eq(buf_slice(&b), buf_slice(&other)) == (which == RAY_ACCOUNT_SECRET)) /* the token is in its Secret, and nowhere else */
            abort();
    }
    buf_free(&other);
    buf_free(&b);
}

static uint32_t depth_of(struct jval v)
{
    struct jval key, one;
    uint32_t most = 0;
    if (json_type(v) != JSON_ARRAY && json_type(v) != JSON_OBJECT)
        return 0;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        uint32_t depth = depth_of(one);
        most = depth > most ? depth : most;
    }
    return 1 + most;
}

/* What stands in autoscalerOptions stands one deeper in the pod, in its container: all else that is a user's rises. One that fills the
 * depth makes a sidecar's pod beyond it. That is left to the API server, which knows the types of all that is in a container: none of
 * them is so deep, and it refuses the pod or leaves out what it does not know. */
static bool fits_sidecar(const struct ray_cluster *c)
{
    return depth_of(json_get(c->spec, "autoscalerOptions")) + 3 <= LIMIT_JSON_DEPTH;
}

static void build_all(const struct ray_cluster *c, struct arena *a)
{
    static const struct ray_options options[] = {
        {.cluster_domain = SLICE("cluster.local")},
        {.cluster_domain = SLICE("cluster.local"), .tools = RAY_TOOLS_NONE, .sidecar = true},
    };
    struct buf b;
    struct ray_sums sums;
    buf_init(&b, LIMIT_JSON_ITEM);
    for (size_t k = 0; k < COUNT_OF(options) - !fits_sidecar(c); k++) {
        buf_clear(&b);
        if (ray_build_head_pod(c, &options[k], a, &b, NULL))
            check_pod(&b, a);
        for (uint32_t i = 0; i < c->group_count && i < 4; i++) {
            buf_clear(&b);
            if (ray_build_worker_pod(c, &c->groups[i], LIMIT_RAY_PODS - 1, SLICE("uid"), &options[k], a, &b, NULL))
                check_pod(&b, a);
        }
        build_accounts(c, &options[k], a);
    }
    build_services(c, a);
    ray_desired_sums(c, a, &sums, NULL);
    buf_free(&b);
}

static void read_and_build(struct jval object, struct arena *a)
{
    static struct spec_errors errors;
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
