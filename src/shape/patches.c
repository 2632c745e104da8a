/* The text of patches: a list of JSON patches, each with the objects that it is for. */
#include "types.h"

#include <mobula/text.h>

#include <mobula/patches.h>

/* The fields by which the operator recognises its objects. A whole map that holds one of them counts, too: its members can be changed one
 * by one. */
static bool is_protected(struct slice path)
{
    static const char *const whole[] = {
        "",
        "/apiVersion",
        "/kind",
        "/metadata",
        "/metadata/name",
        "/metadata/generateName",
        "/metadata/namespace",
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/labels",
        "/metadata/annotations",
        "/metadata/annotations/mobula.dev~1template-hash",
        "/metadata/annotations/mobula.dev~1executable-hash",
        "/metadata/labels/ray-cluster-name",
        "/metadata/labels/ray-node-type",
        "/metadata/labels/ray-user-node-type",
        "/metadata/labels/anyscale.com~1market-type",
        "/metadata/labels/anyscale.com~1zone",
    };
    static const char *const begins[] = {"/metadata/ownerReferences", "/metadata/labels/ray.io~1", "/metadata/labels/mobula.dev~1",
                                         "/metadata/labels/cluster.ray.io~1"};
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        if (slice_is(path, whole[i]))
            return true;
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (slice_starts(path, slice_of(begins[i])))
            return true;
    return false;
}

static void check_protected(struct reader *r, const struct place *at, const struct json_op *op)
{
    const struct slice *path = op->what != JSON_OP_TEST && is_protected(op->path) ? &op->path : NULL;
    if (op->what == JSON_OP_MOVE && is_protected(op->from))
        path = &op->from;
    if (path)
        place_bad(r, at, "changes \"%.*s\", by which the operator recognises its objects%s", SLICE_ARG(*path),
                  slice_is(*path, "/metadata/labels") || slice_is(*path, "/metadata/annotations") ? ": add or remove its members one by one"
                                                                                                  : ": it cannot be patched");
}

/* ---- strings: the API server refuses a pod in which one of these is a number or a bool, as YAML's plain true and 1 are ---- */

void type_strings(struct reader *r, const struct place *at, bool all)
{
    enum json_type type = json_type(at->value);
    struct jval k, v;
    size_t i = 0;
    if (all && (type == JSON_BOOL || type == JSON_NUMBER))
        place_bad(r, at, "is %s: must be a string; put it in quotes", value_no_string(type));
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v); i++) {
        struct slice key = type == JSON_OBJECT ? json_str(k, r->arena) : SLICE("");
        const struct place *one = type == JSON_OBJECT ? place_member(at, key, v) : place_element(at, i, v);
        type_strings(r, one, all || slice_is(key, "value") || slice_is(key, "values"));
    }
}

/* In a path into a map of strings (labels, annotations, ...) the last part is the key. If it has a slash, JSON Pointer wants ~1 for it. */
static void check_slash(struct reader *r, const struct place *at, struct slice path)
{
    static const char *const maps[] = {"labels", "annotations", "nodeSelector", "limits", "requests", "matchLabels"};
    struct slice rest = path;
    bool below = false;
    while (rest.ptr && !below) {
        struct slice part = slice_cut(&rest, '/');
        for (size_t i = 0; i < COUNT_OF(maps); i++)
            below |= slice_is(part, maps[i]);
    }
    struct slice more = rest, first = slice_cut(&more, '/');
    if (below && rest.ptr && more.ptr)
        place_bad(r, at, "has a slash in a key: write %.*s~1%.*s behind .../", SLICE_ARG(slice_head(first, 64)),
                  SLICE_ARG(slice_head(more, 64)));
}

static void check_text(struct reader *r, const struct place *at, const struct json_op *op)
{
    static const char *const maps[] = {"/metadata/labels/", "/metadata/annotations/", "/spec/nodeSelector"};
    bool all = slice_ends(op->path, SLICE("/value"));
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        all |= slice_starts(op->path, slice_of(maps[i]));
    type_strings(r, at, all);
}

static void check_members(struct reader *r, const struct place *object, const char *const *known)
{
    struct jval k, v;
    for (struct jiter it = json_iter(object->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(object, json_str(k, r->arena), v);
        const char *const *word = known;
        while (*word && !slice_is(one->key, *word))
            word++;
        if (!*word)
            place_bad(r, one, "is not known here: write %s, %s or %s", known[0], known[1], known[2]);
    }
}

static void read_operation(struct reader *r, const struct place *at, struct json_op *op)
{
    static const char *const known[] = {"op", "path", "value", "from", NULL};
    struct err e = {0};
    if (!read_object(r, at, REQUIRED))
        return;
    check_members(r, at, known);
    if (!json_op_read(at->value, true, r->arena, op, &e)) {
        place_bad(r, at, "%s", e.text);
        return;
    }
    const struct place *value = place_key(at, "value"), *path = place_key(at, "path");
    check_slash(r, path, op->path);
    check_protected(r, at, op);
    check_text(r, value, op);
}

/* left: operations that there may still be */
static void read_operations(struct reader *r, const struct place *list, size_t *left, struct shape_patch *p)
{
    struct jval k, v;
    if (!read_array(r, list, REQUIRED))
        return;
    size_t count = json_len(list->value);
    if (count > *left) {
        place_bad(r, list, "is too long: all patches together have at most %d operations (LIMIT_PATCHES_OPS)", LIMIT_PATCHES_OPS);
        *left = 0;
        return;
    }
    *left -= count;
    struct json_op *ops = arena_array(r->arena, count + 1, sizeof *ops);
    p->ops = ops;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); p->op_count++) {
        const struct place *one = place_element(list, p->op_count, v);
        read_operation(r, one, &ops[p->op_count]);
    }
}

static void read_kind(struct reader *r, const struct place *at, struct slice *kind)
{
    static const char *const made[] = {"Pod",       "Service", "RayCluster",  "RayJob", "RayCronJob",    "RayService",
                                       "ConfigMap", "Role",    "RoleBinding", "Secret", "ServiceAccount"};
    if (!read_text(r, at, OPTIONAL, kind))
        return;
    bool word = !slice_empty(*kind) && kind->ptr[0] >= 'A' && kind->ptr[0] <= 'Z';
    for (size_t i = 0; i < kind->len; i++)
        word &= (kind->ptr[i] >= 'a' && kind->ptr[i] <= 'z') || (kind->ptr[i] >= 'A' && kind->ptr[i] <= 'Z') ||
                (kind->ptr[i] >= '0' && kind->ptr[i] <= '9');
    for (size_t i = 0; i < COUNT_OF(made); i++)
        if (slice_is(*kind, made[i]))
            return;
        else if (slice_eq_nocase(*kind, slice_of(made[i])) ||
                 (slice_ends(*kind, SLICE("s")) && slice_eq_nocase(slice_head(*kind, kind->len - 1), slice_of(made[i])))) {
            place_bad(r, at, "is \"%.*s\", which matches nothing: write %s", SLICE_ARG(*kind), made[i]);
            return;
        }
    if (!word)
        place_bad(r, at, "is no kind: write one as it stands in manifests, such as Pod or Service");
}

static void read_patch(struct reader *r, const struct place *at, size_t *left, struct shape_patch *p)
{
    static const char *const known[] = {"kind", "selector", "patch", NULL};
    const struct place *kind = place_key(at, "kind"), *selector = place_key(at, "selector"), *list = place_key(at, "patch");
    struct slice text = SLICE("");
    struct err e = {0};
    if (!read_object(r, at, REQUIRED))
        return;
    check_members(r, at, known);
    read_kind(r, kind, &p->kind);
    if (read_text(r, selector, OPTIONAL, &text) && !shape_selector_read(text, r->arena, &p->selector, &e))
        place_bad(r, selector, "%s", e.text);
    read_operations(r, list, left, p);
}

static void read_list(struct reader *r, const struct place *list, const struct yaml_doc *doc, struct shape_patches *out)
{
    struct jval k, v;
    size_t count = json_len(list->value), left = LIMIT_PATCHES_OPS;
    if (!read_array(r, list, OPTIONAL))
        return;
    if (count > LIMIT_PATCHES) {
        place_bad(r, list, "has %zu patches: at most %d (LIMIT_PATCHES)", count, LIMIT_PATCHES);
        return;
    }
    struct shape_patch *patches = arena_array(r->arena, count + 1, sizeof *patches);
    out->list = patches;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); out->count++) {
        const struct place *one = place_element(list, out->count, v);
        patches[out->count].line = yaml_line(doc, json_offset(v));
        read_patch(r, one, &left, &patches[out->count]);
    }
}

bool shape_patches_read(struct slice text, struct arena *a, struct shape_patches *out, struct spec_errors *errors)
{
    static const char *const known[] = {"patches", "version", "nothing else", NULL};
    struct yaml_doc doc;
    struct reader r = {.arena = a, .errors = errors};
    struct jval whole;
    *out = (struct shape_patches){.name = SLICE(""), .revision = hash64(text, 0)};
    if (!spec_text_open(text, "patches", a, &doc, &whole, errors))
        return false;
    const struct place *root = place_root(whole, a), *list = json_type(root->value) == JSON_OBJECT ? place_key(root, "patches") : root;
    if (json_type(root->value) == JSON_OBJECT)
        check_members(&r, root, known);
    read_list(&r, list, &doc, out);
    return spec_text_lines(&doc, errors);
}
