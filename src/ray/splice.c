#include "build.h"

static bool is_one_of(struct slice text, const char *const *words)
{
    for (; *words; words++)
        if (slice_eq(text, slice_of(*words)))
            return true;
    return false;
}

void splice_members(struct jout *w, struct jval object, const char *const *skip, struct arena *a)
{
    struct jval k, v;
    for (struct jiter it = json_iter(object); json_next(&it, &k, &v);) {
        struct slice key = json_str(k, a);
        if (is_one_of(key, skip))
            continue;
        jout_key(w, key);
        jout_raw(w, json_raw(v));
    }
}

void splice_elements(struct jout *w, struct jval array)
{
    struct jval k, v;
    for (struct jiter it = json_iter(array); json_next(&it, &k, &v);)
        jout_raw(w, json_raw(v));
}

static void write_owner(struct jout *w, const struct ray_cluster *c)
{
    jout_karray(w, "ownerReferences");
    jout_object(w);
    jout_kstr(w, "apiVersion", ray_api_version(c->kind));
    jout_kstr(w, "kind", SLICE("RayCluster"));
    jout_kstr(w, "name", c->name);
    jout_kstr(w, "uid", c->uid);
    jout_kbool(w, "controller", true);
    jout_kbool(w, "blockOwnerDeletion", true);
    jout_end(w);
    jout_end(w);
}

void write_metadata(struct jout *w, const struct ray_cluster *c, struct slice name, struct jval given, const struct pairs *labels,
                    const struct pairs *annotations, struct arena *a)
{
    static const char *const ours[] = {
        "name", "generateName", "namespace", "labels", "annotations", "ownerReferences",
        /* what only the API server may set, and what stands in a template that was taken from a living object */
        "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
        "selfLink", NULL};
    jout_kobject(w, "metadata");
    jout_kstr(w, "name", name);
    jout_kstr(w, "namespace", c->ns);
    jout_key(w, SLICE("labels"));
    pairs_write(labels, w);
    if (annotations->count) {
        jout_key(w, SLICE("annotations"));
        pairs_write(annotations, w);
    }
    write_owner(w, c);
    splice_members(w, given, ours, a);
    jout_end(w);
}

bool list_has(struct jval array, const char *key, struct slice text)
{
    struct jval k, v;
    for (struct jiter it = json_iter(array); json_next(&it, &k, &v);)
        if (json_str_eq(json_key(v, slice_of(key)), text))
            return true;
    return false;
}
