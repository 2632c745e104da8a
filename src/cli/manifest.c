#include "manifest.h"
#include "findings.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

/* ---- kinds ---- */

static struct slice text_of(struct jval v, struct arena *a)
{
    return json_there(v) ? json_str(v, a) : SLICE("");
}

/* Kinds of KubeRay's group. */
static const struct {
    const char *name, *plural;
    enum manifest what; /* MANIFEST_WRONG: it is not carried out */
} kinds[] = {{"RayCluster", "RayClusters", MANIFEST_CLUSTER},
             {"RayJob", "RayJobs", MANIFEST_JOB},
             {"RayService", "RayServices", MANIFEST_WRONG},
             {"RayCronJob", "RayCronJobs", MANIFEST_CRONJOB}};
enum { KIND_NONE = COUNT_OF(kinds) };

static size_t kind_exact(struct slice kind)
{
    size_t i = 0;
    while (i < KIND_NONE && !slice_eq(kind, slice_of(kinds[i].name)))
        i++;
    return i;
}

/* The kind that was meant: another case, the plural, or a slip of the pen. */
static size_t kind_meant(struct slice kind)
{
    struct nearest n = {.typed = kind};
    for (size_t i = 0; i < KIND_NONE; i++) {
        if (slice_eq_nocase(kind, slice_of(kinds[i].name)) || slice_eq_nocase(kind, slice_of(kinds[i].plural)))
            return i;
        nearest_try(&n, slice_of(kinds[i].name));
    }
    return n.best.ptr ? kind_exact(n.best) : KIND_NONE;
}

/* ray.io, cluster.ray.io, and what was meant to be one of them: Ray.io, rayclusters.ray.io. */
static bool group_near(struct slice version)
{
    static const struct slice ours = SLICE("ray.io");
    struct slice group = slice_cut(&version, '/');
    return group.len >= ours.len && slice_eq_nocase(slice_skip(group, group.len - ours.len), ours);
}

static enum manifest wrong(struct manifest_fault *fault, const char *path, struct jval object, struct slice text)
{
    struct jval at = json_key(object, slice_of(path));
    *fault = (struct manifest_fault){slice_of(path), json_there(at) ? at : object, text};
    return MANIFEST_WRONG;
}

static enum manifest wrong_kind(struct jval object, struct slice kind, struct arena *a, struct manifest_fault *fault)
{
    size_t meant = kind_meant(kind);
    if (meant == KIND_NONE)
        return wrong(fault, "kind", object,
                     arena_printf(a, "is \"%.*s\", which is no kind of ray.io: write RayCluster, RayJob or RayCronJob",
                                  SLICE_ARG(slice_head(kind, 64))));
    return wrong(fault, "kind", object, arena_printf(a, "is \"%.*s\": write %s", SLICE_ARG(slice_head(kind, 64)), kinds[meant].name));
}

static enum manifest wrong_version(struct jval object, struct slice version, size_t kind, struct arena *a, struct manifest_fault *fault)
{
    bool legacy = kind == 0 && slice_starts(version, SLICE("cluster."));
    const char *right = legacy ? "cluster.ray.io/v1" : "ray.io/v1";
    if (slice_empty(version))
        return wrong(fault, "apiVersion", object, arena_printf(a, "is missing: write %s", right));
    return wrong(fault, "apiVersion", object, arena_printf(a, "is \"%.*s\": write %s", SLICE_ARG(slice_head(version, 64)), right));
}

enum manifest manifest_what(struct jval object, struct arena *a, enum ray_kind *ray, struct manifest_fault *fault)
{
    if (json_type(object) != JSON_OBJECT)
        return wrong(fault, "", object, SLICE("is no Kubernetes object: it must have apiVersion, kind, metadata and spec"));
    struct slice version = text_of(json_key(object, SLICE("apiVersion")), a), kind = text_of(json_key(object, SLICE("kind")), a);
    if (slice_ends(kind, SLICE("List")) && json_type(json_key(object, SLICE("items"))) == JSON_ARRAY)
        return MANIFEST_LIST;
    bool near = group_near(version), v1 = slice_eq(version, ray_api_version(RAY_V1));
    bool legacy = slice_eq(version, ray_api_version(RAY_LEGACY));
    size_t exact = kind_exact(kind);
    if (slice_empty(kind))
        return wrong(fault, "kind", object, SLICE("is missing: write RayCluster, RayJob or RayCronJob"));
    if (exact == KIND_NONE && !near && !slice_empty(version))
        return MANIFEST_OTHER;
    if (exact == KIND_NONE)
        return near ? wrong_kind(object, kind, a, fault) : wrong_version(object, version, exact, a, fault);
    if (kinds[exact].what == MANIFEST_WRONG)
        return wrong(
            fault, "kind", object,
            arena_printf(a, "is %s, which mobula does not carry out: write a RayCluster, RayJob or RayCronJob", kinds[exact].name));
    if (!v1 && !(legacy && exact == 0))
        return wrong_version(object, version, exact, a, fault);
    *ray = legacy ? RAY_LEGACY : RAY_V1;
    return kinds[exact].what;
}

void manifest_skip(const char *file, uint32_t line, struct jval object, const char *because, struct arena *a, struct buf *out)
{
    size_t from = out->len;
    struct slice version = text_of(json_key(object, SLICE("apiVersion")), a), name = text_of(json_key(object, SLICE("kind")), a);
    buf_printf(out, "%s:%u: skipped: \"%.*s %.*s\" %s", file, line, SLICE_ARG(version), SLICE_ARG(name), because);
    findings_end_line(out, from);
}

/* ---- files ---- */

static bool is_manifest(struct slice name)
{
    return slice_ends(name, SLICE(".yaml")) || slice_ends(name, SLICE(".yml")) || slice_ends(name, SLICE(".json"));
}

static int by_name(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static bool add_file(struct manifest_files *out, struct slice path, struct err *e)
{
    if (out->count == LIMIT_CLI_FILES)
        return err_set(e, ERR_LIMIT, "%.*s: more than %d files (LIMIT_CLI_FILES): check them in parts", SLICE_ARG(path), LIMIT_CLI_FILES);
    out->list[out->count++] = path;
    return true;
}

static bool add_folder(struct manifest_files *out, struct slice path, DIR *folder, struct arena *a, struct err *e)
{
    uint32_t first = out->count;
    struct dirent *one;
    while ((one = readdir(folder))) {
        struct slice name = slice_of(one->d_name);
        if (is_manifest(name) && !add_file(out, arena_printf(a, "%.*s/%.*s", SLICE_ARG(path), SLICE_ARG(name)), e))
            return false;
    }
    if (out->count == first)
        return err_set(e, ERR_CONFIG, "%.*s: no *.yaml, *.yml or *.json in this folder", SLICE_ARG(path));
    qsort(out->list + first, out->count - first, sizeof out->list[0], by_name);
    return true;
}

bool manifest_files(const struct flag_texts *given, struct arena *a, struct manifest_files *out, struct err *e)
{
    *out = (struct manifest_files){.list = arena_array(a, LIMIT_CLI_FILES, sizeof *out->list)};
    for (uint32_t i = 0; i < given->count; i++) {
        struct slice path = given->list[i];
        DIR *folder = opendir(path.ptr);
        bool well = folder ? add_folder(out, path, folder, a, e) : add_file(out, path, e); /* what cannot be read is said by who reads it */
        if (folder)
            closedir(folder);
        if (!well)
            return false;
    }
    return true;
}
