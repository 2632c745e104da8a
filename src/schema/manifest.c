#include <mobula/kinds.h>
#include <mobula/schema.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

/* ---- kinds ---- */

static struct slice text_of(struct jval v, struct arena *a)
{
    return json_there(v) ? json_str(v, a) : SLICE("");
}

/* Of what manifests are written for, the first of each name. */
static bool is_written(size_t i)
{
    return kinds[i]->check && (i == 0 || strcmp(kinds[i]->name, kinds[i - 1]->name) != 0);
}

struct slice manifest_kinds(struct arena *a)
{
    size_t left = 0, all = 0;
    __attribute__((cleanup(buf_free))) struct buf b;
    buf_init(&b, KIB);
    for (size_t i = 0; kinds[i]; i++)
        left += is_written(i);
    all = left;
    for (size_t i = 0; kinds[i]; i++)
        if (is_written(i)) {
            buf_printf(&b, "%s%s", left == all ? "" : left == 1 ? " or " : ", ", kinds[i]->name);
            left--;
        }
    return arena_dup(a, buf_slice(&b));
}

static struct slice group_of(const struct kind *k)
{
    return k->resource ? k->resource->group : SLICE("");
}

/* The kind of this name and, if there are several, the one that this apiVersion speaks of. */
static const struct kind *kind_named(struct slice name, struct slice version)
{
    const struct kind *found = NULL;
    for (size_t i = 0; kinds[i]; i++) {
        const struct kind *k = kinds[i];
        struct slice group = group_of(k), first = slice_head(group, (size_t)(slice_find(group, '.') + 1)); /* "cluster." */
        if (k->check && slice_eq(name, slice_of(k->name)) && (!found || slice_starts(version, first)))
            found = k;
    }
    return found;
}

/* The name that was meant: another case, the plural, or a slip of the pen. */
static struct slice name_meant(struct slice kind, struct arena *a)
{
    struct nearest n = {.typed = kind};
    for (size_t i = 0; kinds[i]; i++) {
        struct slice name = slice_of(kinds[i]->name);
        if (!is_written(i))
            continue;
        if (slice_eq_nocase(kind, name) || slice_eq_nocase(kind, arena_printf(a, "%.*ss", SLICE_ARG(name))))
            return name;
        nearest_try(&n, name);
    }
    return n.best;
}

/* The group of one of our kinds, or what was meant to be it (Ray.io, rayclusters.ray.io); empty: another's. */
static struct slice group_near(struct slice version)
{
    struct slice given = slice_cut(&version, '/');
    for (size_t i = 0; kinds[i]; i++) {
        struct slice ours = group_of(kinds[i]);
        if (kinds[i]->check && given.len >= ours.len && slice_eq_nocase(slice_skip(given, given.len - ours.len), ours))
            return ours;
    }
    return SLICE_NONE;
}

static enum manifest wrong(struct manifest_fault *fault, const char *path, struct jval object, struct slice text)
{
    struct jval at = json_key(object, slice_of(path));
    *fault = (struct manifest_fault){slice_of(path), json_there(at) ? at : object, text};
    return MANIFEST_WRONG;
}

static enum manifest wrong_kind(struct jval object, struct slice kind, struct slice group, struct arena *a, struct manifest_fault *fault)
{
    struct slice meant = name_meant(kind, a), given = slice_head(kind, 64);
    if (slice_empty(meant))
        return wrong(fault, "kind", object,
                     arena_printf(a, "is \"%.*s\", which is no kind of %.*s: write %.*s", SLICE_ARG(given), SLICE_ARG(group),
                                  SLICE_ARG(manifest_kinds(a))));
    return wrong(fault, "kind", object, arena_printf(a, "is \"%.*s\": write %.*s", SLICE_ARG(given), SLICE_ARG(meant)));
}

static enum manifest wrong_version(struct jval object, struct slice version, struct slice right, struct arena *a,
                                   struct manifest_fault *fault)
{
    if (slice_empty(version))
        return wrong(fault, "apiVersion", object, arena_printf(a, "is missing: write %.*s", SLICE_ARG(right)));
    return wrong(fault, "apiVersion", object,
                 arena_printf(a, "is \"%.*s\": write %.*s", SLICE_ARG(slice_head(version, 64)), SLICE_ARG(right)));
}

enum manifest manifest_what(struct jval object, struct arena *a, const struct kind **what, struct manifest_fault *fault)
{
    if (json_type(object) != JSON_OBJECT)
        return wrong(fault, "", object, SLICE("is no Kubernetes object: it must have apiVersion, kind, metadata and spec"));
    struct slice version = text_of(json_key(object, SLICE("apiVersion")), a), kind = text_of(json_key(object, SLICE("kind")), a);
    if (slice_ends(kind, SLICE("List")) && json_type(json_key(object, SLICE("items"))) == JSON_ARRAY)
        return MANIFEST_LIST;
    if (slice_empty(kind))
        return wrong(fault, "kind", object, arena_printf(a, "is missing: write %.*s", SLICE_ARG(manifest_kinds(a))));
    struct slice near = group_near(version);
    bool foreign = slice_empty(near) && !slice_empty(version);
    *what = kind_named(kind, version);
    if (foreign && !slice_starts(kind, SLICE("Ray"))) /* other groups may have a Workload, too, but nobody else has a RayJob */
        return MANIFEST_OTHER;
    if (!*what && foreign)
        return MANIFEST_OTHER;
    if (!*what && slice_empty(near))
        return wrong_version(object, version, ray_api_version(RAY_V1), a, fault);
    if (!*what)
        return wrong_kind(object, kind, near, a, fault);
    return slice_eq(version, (*what)->api_version) ? MANIFEST_KIND : wrong_version(object, version, (*what)->api_version, a, fault);
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
        bool well =
            folder ? add_folder(out, path, folder, a, e) : add_file(out, path, e); /* the reader reports a text that cannot be read */
        if (folder)
            closedir(folder);
        if (!well)
            return false;
    }
    return true;
}
