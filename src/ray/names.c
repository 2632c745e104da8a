#include "build.h"

enum { POD_NAME_MAX = 63 };

const struct kube_resource ray_resources[2] = {
    [RAY_V1] = {SLICE("ray.io"), SLICE("v1"), SLICE("rayclusters")},
    [RAY_LEGACY] = {SLICE("cluster.ray.io"), SLICE("v1"), SLICE("rayclusters")},
};

struct slice ray_api_version(enum ray_kind kind)
{
    return kind == RAY_V1 ? SLICE("ray.io/v1") : SLICE("cluster.ray.io/v1");
}

bool ray_removes_finalizer(struct slice name)
{
    static const char *const all[] = {RAY_REDIS_FINALIZER, RAY_JOB_FINALIZER, RAY_SERVICE_FINALIZER};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (slice_is(name, all[i]))
            return true;
    return false;
}

struct owner owner_cluster(const struct ray_cluster *c)
{
    return (struct owner){
        .api_version = ray_api_version(c->kind), .kind = SLICE("RayCluster"), .ns = c->ns, .name = c->name, .uid = c->uid};
}

struct owner owner_job(const struct ray_job *job)
{
    return (struct owner){
        .api_version = ray_api_version(RAY_V1), .kind = SLICE("RayJob"), .ns = job->ns, .name = job->name, .uid = job->uid};
}

/* Five characters made of texts and a number. The texts are kept apart by a byte that none of them can hold. */
static struct slice suffix(const struct slice *texts, size_t count, int64_t number, struct arena *a)
{
    struct buf key;
    buf_init(&key, 4 * KIB);
    for (size_t i = 0; i < count; i++) {
        buf_put(&key, texts[i]);
        buf_putc(&key, '\n');
    }
    buf_printf(&key, "%lld", (long long)number);
    char *text = arena_alloc(a, NAME_SUFFIX);
    hash_suffix(hash64(buf_slice(&key), 0), text);
    buf_free(&key);
    return (struct slice){text, NAME_SUFFIX};
}

/* prefix and tail as one name of at most POD_NAME_MAX bytes: what is too long is cut from the prefix. What names may not hold becomes a
 * dash; the hash in the tail keeps names apart that this makes alike. */
static struct slice pod_name(struct slice prefix, struct slice tail, struct arena *a)
{
    prefix = slice_head(prefix, POD_NAME_MAX - tail.len);
    char *text = arena_alloc(a, prefix.len + tail.len + 1);
    for (size_t i = 0; i < prefix.len; i++) {
        char c = prefix.ptr[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        text[i] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
    }
    memcpy(text + prefix.len, tail.ptr, tail.len);
    return (struct slice){text, prefix.len + tail.len};
}

/* "<cluster>-" + generateName, unless that begins so already. */
static struct slice legacy_prefix(const struct ray_cluster *c, const struct ray_group *g, struct arena *a)
{
    struct slice given = json_get_str(g->template, "metadata.generateName", a);
    if (slice_empty(given))
        given = g->head ? SLICE("ray-head-") : SLICE("ray-worker-");
    struct slice own = arena_printf(a, "%.*s-", SLICE_ARG(c->name));
    return slice_starts(given, own) ? given : arena_printf(a, "%.*s%.*s", SLICE_ARG(own), SLICE_ARG(given));
}

struct slice legacy_head_suffix(struct slice uid, struct arena *a)
{
    struct slice key[] = {uid, SLICE(RAY_HEAD_GROUP)};
    return suffix(key, COUNT_OF(key), 0, a);
}

struct slice ray_head_pod_name(const struct ray_cluster *c, struct arena *a)
{
    return c->kind == RAY_V1 ? arena_printf(a, "%.*s-head", SLICE_ARG(c->name))
                             : pod_name(legacy_prefix(c, &c->head, a), legacy_head_suffix(c->uid, a), a);
}

struct slice ray_worker_pod_name(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct slice replaces_uid,
                                 struct arena *a)
{
    struct slice key[] = {c->uid, g->name, replaces_uid};
    struct slice five = suffix(key, COUNT_OF(key), index, a);
    if (c->kind == RAY_LEGACY)
        return pod_name(legacy_prefix(c, g, a), arena_printf(a, "%d-%.*s", (int)index, SLICE_ARG(five)), a);
    struct slice prefix = arena_printf(a, "%.*s-%.*s-worker", SLICE_ARG(c->name), SLICE_ARG(g->name));
    return pod_name(prefix, arena_printf(a, "-%d-%.*s", (int)index, SLICE_ARG(five)), a);
}

bool ray_named_for(const struct ray_cluster *c, struct slice group, struct slice pod, struct arena *a)
{
    enum { WHOLE = 48 }; /* ours and KubeRay's names have so much of it in any case, however long they are */
    if (c->kind == RAY_LEGACY || slice_empty(group))
        return !slice_empty(group);
    struct slice prefix = pod_name(arena_printf(a, "%.*s-%.*s-", SLICE_ARG(c->name), SLICE_ARG(group)), SLICE(""), a);
    return slice_starts(pod_name(pod, SLICE(""), a), slice_head(prefix, WHOLE));
}

struct slice replica_name(const struct ray_cluster *c, const struct ray_group *g, int32_t replica, struct arena *a)
{
    struct slice key[] = {c->uid, g->name};
    struct slice end = suffix(key, COUNT_OF(key), replica, a);
    return arena_printf(a, "%.*s-%.*s", SLICE_ARG(g->name), SLICE_ARG(end));
}

struct slice host_name(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct arena *a)
{
    struct slice key[] = {c->uid, g->name};
    struct slice five = suffix(key, COUNT_OF(key), index / g->hosts, a);
    return pod_name(g->name, arena_printf(a, "-%.*s-%d", SLICE_ARG(five), (int)(index % g->hosts)), a);
}

struct slice ray_head_service_name(const struct ray_cluster *c, struct arena *a)
{
    if (c->kind == RAY_LEGACY)
        return arena_printf(a, "%.*s-ray-head", SLICE_ARG(c->name));
    struct slice given = json_get_str(c->spec, "headGroupSpec.headService.metadata.name", a);
    return slice_empty(given) ? arena_printf(a, "%.*s-head-svc", SLICE_ARG(c->name)) : given;
}

struct slice ray_headless_service_name(const struct ray_cluster *c, struct arena *a)
{
    return arena_printf(a, "%.*s-headless", SLICE_ARG(c->name));
}

struct slice head_fqdn(const struct ray_cluster *c, const struct ray_options *o, struct arena *a)
{
    struct slice service = ray_head_service_name(c, a);
    return arena_printf(a, "%.*s.%.*s.svc.%.*s", SLICE_ARG(service), SLICE_ARG(c->ns), SLICE_ARG(o->cluster_domain));
}
