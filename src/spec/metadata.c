/* The metadata of every custom resource. */
#include <mobula/spec.h>

/* The API server puts five letters behind a generateName. A name with five others stands for the one that it will choose. */
static bool read_generated(struct reader *r, const struct place *meta, const struct place **at, struct slice *out)
{
    struct slice prefix;
    *at = place_key(meta, "generateName");
    if (place_given(*at) && read_text(r, *at, REQUIRED, &prefix) && !slice_empty(prefix))
        *out = arena_printf(r->arena, "%.*sxxxxx", SLICE_ARG(prefix));
    return !slice_empty(*out);
}

static void read_name(struct reader *r, const struct spec_object *from, int max, const char *why, struct slice *out)
{
    const struct place *name = place_key(from->metadata, "name"), *at = name;
    if (!from->kept && !read_text(r, name, OPTIONAL, out) && place_given(name))
        return;
    bool given = !slice_empty(*out);
    if (!given && !read_generated(r, from->metadata, &at, out)) {
        place_bad(r, name, "is missing: must be a string, unless there is a generateName");
        return;
    }
    if (out->len > (size_t)max)
        place_bad(r, at, "has %zu bytes%s: at most %d, so that %s", out->len, given ? "" : " with the five that are added", max, why);
    else if (!name_dns1035_label(*out))
        place_bad(r, at, "is \"%.*s\": must be lower case letters, digits and dashes, with a letter first and no dash last",
                  SLICE_ARG(slice_head(given ? *out : json_str(at->value, r->arena), 60)));
}

struct spec_object spec_object_of(struct jval object, struct arena *a)
{
    const struct place *root = place_root(object, a);
    return (struct spec_object){.root = root, .metadata = place_key(root, "metadata"), .spec = place_key(root, "spec")};
}

static void read_identity(struct reader *r, const struct place *meta, struct metadata *out)
{
    const struct place *ns = place_key(meta, "namespace"), *uid = place_key(meta, "uid");
    struct jval time = json_get(meta->value, "deletionTimestamp");
    read_text(r, ns, OPTIONAL, &out->ns);
    read_text(r, uid, OPTIONAL, &out->uid);
    json_int(json_get(meta->value, "generation"), &out->generation);
    out->deleting = value_given(time);
    if (!time_parse(json_str(time, r->arena), &out->deleted_us, NULL))
        out->deleted_us = 0;
}

bool read_metadata(struct reader *r, const struct spec_object *from, int max, const char *why, struct metadata *out)
{
    const struct place *meta = from->metadata;
    *out = (struct metadata){.ns = from->ns,
                             .name = from->name,
                             .uid = from->uid,
                             .generation = from->generation,
                             .deleted_us = from->deleted_us,
                             .deleting = from->deleting,
                             .labels = NO_VALUE,
                             .annotations = NO_VALUE};
    if (!read_object(r, meta, REQUIRED))
        return false;
    const struct place *labels = place_key(meta, "labels"), *annotations = place_key(meta, "annotations");
    read_name(r, from, max, why, &out->name);
    if (!from->kept)
        read_identity(r, meta, out);
    if (read_text_map(r, labels))
        out->labels = labels->value;
    if (read_text_map(r, annotations))
        out->annotations = annotations->value;
    return true;
}

bool has_finalizer(struct jval metadata, const char *name)
{
    struct jval k, v;
    for (struct jiter it = json_iter(json_get(metadata, "finalizers")); json_next(&it, &k, &v);)
        if (json_is(v, name))
            return true;
    return false;
}

void read_type_meta(struct reader *r, const struct place *root, const char *version, const char *kind)
{
    const struct place *version_at = place_key(root, "apiVersion"), *kind_at = place_key(root, "kind");
    struct slice text;
    if (read_text(r, version_at, OPTIONAL, &text) && !slice_is(text, version))
        place_bad(r, version_at, "is %.*s: write %s", SLICE_ARG(slice_head(text, 60)), version);
    if (read_text(r, kind_at, OPTIONAL, &text) && !slice_is(text, kind))
        place_bad(r, kind_at, "is %.*s: must be %s", SLICE_ARG(slice_head(text, 60)), kind);
}
