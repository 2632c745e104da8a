/* Objects that are made of a resource: what is copied from it untouched, and whose they are. */
#include <mobula/pairs.h>
#include <mobula/spec.h>

static bool is_one_of(struct slice text, const char *const *words)
{
    for (; *words; words++)
        if (slice_is(text, *words))
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
        jout_val(w, v);
    }
}

void splice_elements(struct jout *w, struct jval array)
{
    struct jval k, v;
    for (struct jiter it = json_iter(array); json_next(&it, &k, &v);)
        jout_val(w, v);
}

void write_owner(struct jout *w, const struct owner *o)
{
    jout_form(w, "ownerReferences:[{apiVersion:'%.*s',kind:'%.*s',name:'%.*s',uid:'%.*s',controller:true,blockOwnerDeletion:true}]",
              SLICE_ARG(o->api_version), SLICE_ARG(o->kind), SLICE_ARG(o->name), SLICE_ARG(o->uid));
}

void write_metadata(struct jout *w, const struct owner *o, struct slice name, struct jval given, const struct pairs *labels,
                    const struct pairs *annotations, struct arena *a)
{
    static const char *const ours[] = {
        "name", "generateName", "namespace", "labels", "annotations", "ownerReferences",
        /* fields that only the API server may set, and fields of a template that was taken from a living object */
        "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
        "selfLink", NULL};
    jout_form(w, "metadata:{name:'%.*s',namespace:'%.*s',labels:", SLICE_ARG(name), SLICE_ARG(o->ns));
    pairs_write(labels, w);
    if (annotations->count) {
        jout_key(w, SLICE("annotations"));
        pairs_write(annotations, w);
    }
    write_owner(w, o);
    splice_members(w, given, ours, a);
    jout_end(w);
}
