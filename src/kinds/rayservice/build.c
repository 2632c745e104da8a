/* Builds the objects of a RayService: its RayClusters, and the Services that lead to one of them. */
#include "rayservice.h"

#include <mobula/pairs.h>

/* ---- hashes ---- */

static uint64_t hash_canonical(struct buf *text, struct arena *a)
{
    struct jval doc;
    __attribute__((cleanup(buf_free))) struct buf canonical = {.max = LIMIT_JSON_ITEM};
    if (text->full || !json_read(&doc, buf_slice(text), a, NULL) || !json_canonical(doc, &canonical))
        return 0;
    return hash64(buf_slice(&canonical), 0) | 1;
}

static const char *const scale_members[] = {"replicas", "minReplicas", "maxReplicas", "scaleStrategy", "suspend", NULL};

uint64_t rayservice_hash(struct jval cluster_spec, uint32_t groups, struct arena *a)
{
    static const char *const skipped[] = {"workerGroupSpecs", "suspend", NULL};
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    struct jval k, group;
    jout_init(&w, &text);
    jout_object(&w);
    splice_members(&w, cluster_spec, skipped, a);
    jout_karray(&w, "workerGroupSpecs");
    for (struct jiter it = json_iter(json_get(cluster_spec, "workerGroupSpecs")); groups && json_next(&it, &k, &group); groups--) {
        jout_object(&w);
        splice_members(&w, group, scale_members, a);
        jout_end(&w);
    }
    jout_end(&w);
    jout_end(&w);
    return hash_canonical(&text, a);
}

uint64_t rayservice_scale_hash(struct jval cluster_spec, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    struct jval k, group;
    jout_init(&w, &text);
    jout_array(&w);
    for (struct jiter it = json_iter(json_get(cluster_spec, "workerGroupSpecs")); json_next(&it, &k, &group);) {
        jout_object(&w);
        jout_kval(&w, "groupName", json_get(group, "groupName"));
        for (size_t i = 0; scale_members[i]; i++)
            jout_kval(&w, scale_members[i], json_get(group, scale_members[i]));
        jout_end(&w);
    }
    jout_end(&w);
    return hash_canonical(&text, a);
}

/* ---- names ---- */

struct slice rayservice_cluster_name(const struct rayservice *s, bool second, struct arena *a)
{
    char five[NAME_SUFFIX];
    struct slice key = arena_printf(a, "%.*s\n%llx%s", SLICE_ARG(s->uid), (unsigned long long)s->cluster_hash, second ? "\n2" : "");
    hash_suffix(hash64(key, 0), five);
    return arena_printf(a, "%.*s-%.*s", SLICE_ARG(s->name), (int)sizeof five, five);
}

struct slice rayservice_head_name(const struct rayservice *s, struct arena *a)
{
    return arena_printf(a, "%.*s-head-svc", SLICE_ARG(s->name));
}

struct slice rayservice_serve_name(struct slice name, struct jval serve_service, struct arena *a)
{
    struct slice given = json_get_str(serve_service, "metadata.name", a);
    return slice_empty(given) ? arena_printf(a, "%.*s-serve-svc", SLICE_ARG(name)) : given;
}

struct owner rayservice_owner(const struct rayservice *s)
{
    return (struct owner){.api_version = SLICE("ray.io/v1"), .kind = SLICE("RayService"), .ns = s->ns, .name = s->name, .uid = s->uid};
}

/* ---- the cluster ---- */

static struct slice hash_text(uint64_t hash, struct arena *a)
{
    char *text = arena_alloc(a, RAY_HASH_TEXT);
    ray_hash_format(hash, text);
    return (struct slice){text, RAY_HASH_TEXT};
}

/* grows: its autoscaler begins with minReplicas, and follows the target capacity. */
static void write_spec(struct jout *w, const struct rayservice *s, bool grows, struct arena *a)
{
    static const char *const groups[] = {"workerGroupSpecs", NULL}, *const none[] = {NULL}, *const replicas[] = {"replicas", NULL};
    struct jval k, group;
    jout_kobject(w, "spec");
    splice_members(w, s->cluster_spec, grows ? groups : none, a);
    if (grows)
        jout_karray(w, "workerGroupSpecs");
    for (struct jiter it = json_iter(json_get(s->cluster_spec, "workerGroupSpecs")); grows && json_next(&it, &k, &group);) {
        jout_object(w);
        splice_members(w, group, replicas, a);
        jout_end(w);
    }
    if (grows)
        jout_end(w);
    jout_end(w);
}

bool rayservice_build_cluster(const struct rayservice *s, struct slice name, bool grows, struct buf *out, struct arena *a)
{
    struct pairs labels = pairs_new(a), annotations = pairs_new(a);
    struct owner owner = rayservice_owner(s);
    struct jout w;
    struct jval k, v;
    pairs_set_all(&labels, s->labels);
    pairs_set(&labels, SLICE(RAY_LABEL_MAKER_NAME), s->name);
    pairs_set(&labels, SLICE(RAY_LABEL_MAKER_KIND), SLICE("RayService"));
    for (struct jiter it = json_iter(s->annotations); json_next(&it, &k, &v);)
        if (!json_is(k, "kubectl.kubernetes.io/last-applied-configuration")) /* it describes the RayService */
            pairs_set(&annotations, json_str(k, a), json_str(v, a));
    if (s->upgrade == SERVICE_UPGRADE_STEPS)
        pairs_set(&annotations, SLICE(RAY_ANNOTATION_SERVE), SLICE("true"));
    if (s->upgrade == SERVICE_UPGRADE_ROLLING)
        pairs_set(&annotations, SLICE(RAY_ANNOTATION_ROLL), rayservice_roll_text(s, a));
    pairs_set(&annotations, SLICE(RAYSERVICE_HASH), hash_text(s->cluster_hash, a));
    pairs_set(&annotations, SLICE(RAYSERVICE_SCALE), hash_text(s->scale_hash, a));
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'ray.io/v1',kind:'RayCluster'");
    write_metadata(&w, &owner, name, NO_VALUE, &labels, &annotations, a);
    write_spec(&w, s, grows, a);
    jout_end(&w);
    return !out->full;
}

/* scaled: an autoscaler sets replicas and scaleStrategy, so a group that exists keeps those of `live`. */
static void write_group(struct jout *w, struct jval group, struct jval live, bool scaled, struct arena *a)
{
    static const char *const scalers[] = {"replicas", "scaleStrategy", NULL}, *const none[] = {NULL};
    struct jval own = list_find(json_get(live, "workerGroupSpecs"), "groupName", json_get_str(group, "groupName", a));
    bool keep = scaled && json_there(own);
    jout_object(w);
    splice_members(w, group, keep ? scalers : none, a);
    for (size_t i = 0; keep && scalers[i]; i++)
        jout_kval(w, scalers[i], json_get(own, scalers[i]));
    jout_end(w);
}

bool rayservice_build_update(const struct rayservice *s, struct slice uid, struct slice version, struct jval live, struct buf *out,
                             struct arena *a)
{
    struct jout w;
    struct jval k, group;
    bool scaled = json_get_bool(s->cluster_spec, "enableInTreeAutoscaling", false);
    struct slice hash = hash_text(s->cluster_hash, a), scale = hash_text(s->scale_hash, a), roll = rayservice_roll_text(s, a);
    jout_init(&w, out);
    jout_form(&w, "{metadata:{uid:'%.*s',resourceVersion:'%.*s',annotations:{%s:'%.*s',%s:'%.*s'", SLICE_ARG(uid), SLICE_ARG(version),
              RAYSERVICE_HASH, SLICE_ARG(hash), RAYSERVICE_SCALE, SLICE_ARG(scale));
    jout_key(&w, SLICE(RAY_ANNOTATION_ROLL));
    if (slice_empty(roll))
        jout_null(&w);
    else
        jout_str(&w, roll);
    jout_form(&w, "}},spec:{workerGroupSpecs:[");
    for (struct jiter it = json_iter(json_get(s->cluster_spec, "workerGroupSpecs")); json_next(&it, &k, &group);)
        write_group(&w, group, live, scaled, a);
    jout_form(&w, "]}}");
    return !out->full;
}

struct slice rayservice_build_marks(const struct rayservice *s, struct slice uid, bool serve, bool hashes, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = KIB};
    struct slice hash = hashes ? hash_text(s->cluster_hash, a) : SLICE(""), scale = hashes ? hash_text(s->scale_hash, a) : SLICE("");
    struct jout w;
    jout_init(&w, &out);
    jout_form(&w, "{metadata:{uid:'%.*s',annotations:{%s?:'%s',%s?:'%.*s',%s?:'%.*s'}}}", SLICE_ARG(uid), RAY_ANNOTATION_SERVE,
              serve ? "true" : "", RAYSERVICE_HASH, SLICE_ARG(hash), RAYSERVICE_SCALE, SLICE_ARG(scale));
    return arena_dup(a, buf_slice(&out));
}

/* ---- services ---- */

bool rayservice_build_service(const struct rayservice *s, const struct ray_cluster *to, bool head, struct arena *a, struct buf *out,
                              struct err *e)
{
    struct owner owner = rayservice_owner(s);
    if (head)
        return ray_build_service_head(to, &owner, rayservice_head_name(s, a), a, out, e);
    return ray_build_service_serve(to, &owner, rayservice_serve_name(s->name, s->serve_service, a), s->serve_service, a, out, e);
}
